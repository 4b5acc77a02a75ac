/** Keys of the timeline: a table of actions, which the help dialog lists, too. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Stage } from "./stage.js" */

import * as actions from "./actions.js";
import { h, makeDialog } from "./dom.js";
import * as steps from "./steps.js";

const ZOOM = 0.7;
const PAN = 0.15;

/**
 * Keys, description, action.
 * @type {[string[], string, (app: Timeline) => unknown][]}
 */
export const KEYS = [
  [["w", "+", "="], "Zoom in at the pointer", (app) => app.view.zoom(getZoomCenter(app), ZOOM)],
  [["s", "-"], "Zoom out at the pointer", (app) => app.view.zoom(getZoomCenter(app), 1 / ZOOM)],
  [["a"], "Move to earlier times", (app) => app.view.pan(-PAN * app.view.span)],
  [["d"], "Move to later times", (app) => app.view.pan(PAN * app.view.span)],
  [["f"], "Fit the selected area or event", (app) => actions.fitWindow(app)],
  [["0"], "Show the whole capture", (app) => app.view.showAll()],
  [["z"], "Undo the last move", (app) => app.view.undo()],
  [["ArrowRight"], "Next event of the lane", (app) => actions.chooseNext(app, "next")],
  [["ArrowLeft"], "Previous event of the lane", (app) => actions.chooseNext(app, "prev")],
  [["ArrowDown"], "Event of the next lane below", (app) => actions.chooseInOtherLane(app, 1)],
  [["ArrowUp"], "Event of the next lane above", (app) => actions.chooseInOtherLane(app, -1)],
  [["]"], "Follow: launch to kernel, kernel to wait", (app) => actions.followArrow(app, 1)],
  [["["], "Follow back: wait to kernel, kernel to launch", (app) => actions.followArrow(app, -1)],
  [["."], "Next instance of the same name", (app) => actions.chooseSameName(app, { dir: "next" })],
  [[","], "Previous instance of the same name", (app) => actions.chooseSameName(app, { dir: "prev" })],
  [["/"], "Search", (app) => app.search.focus()],
  [["n"], "Next hit of the search (Shift: previous)", (app) => app.search.goToHit(1)],
  [["N"], "", (app) => app.search.goToHit(-1)],
  [["g"], "Go to the longest gap; again: to the next longest", (app) => actions.goToGap(app)],
  [["u"], "Select this time: all pages then show only the area or event", (app) => actions.selectTime(app)],
  [["x"], "Make an area of the time in sight", (app) => app.selectArea({ from: Math.round(Math.max(app.sources.first, app.view.t0)), to: Math.round(Math.min(app.sources.end, app.view.t1)), lanes: [] })],
  [["e"], "Go to the next step", (app) => steps.selectNextStep(app, 1)],
  [["q"], "Go to the step before", (app) => steps.selectNextStep(app, -1)],
  [["m"], "Mark a moment, with a note", (app) => actions.addMark(app)],
  [["t"], "Count times from capture start, selection start, or absolutely", (app) => app.clock.switchOrigin()],
  [["PageDown"], "Scroll the lanes down", (app) => scrollLanes(app, 1)],
  [["PageUp"], "Scroll the lanes up", (app) => scrollLanes(app, -1)],
  [["v"], "Full screen", (app) => app.stage.toggleFullScreen()],
  [["Escape"], "Clear the area or event", (app) => (app.search.active ? app.search.clearSearch() : app.clearSelection())],
  [["?"], "Show these keys", (app) => app.stage.keys?.help()],
];
const MOUSE = [
  ["Wheel", "Scroll the lanes (the settings turn both around)"],
  ["Ctrl + wheel, pinch", "Zoom at the pointer"],
  ["Shift + wheel", "Move in time"],
  ["Drag", "Move in time and through the lanes"],
  ["Shift + drag", "Select an area of time and lanes"],
  ["Drag on the axis", "Select time on all lanes"],
  ["Click", "Choose an event; a second one measures the gap to the first"],
];

/** Return the time that zooming leaves in place: under the pointer, else in the middle. @param {Timeline} app */
function getZoomCenter(app) {
  const { cursor, view } = app;
  return cursor !== null && cursor > view.t0 && cursor < view.t1 ? cursor : (view.t0 + view.t1) / 2;
}

/** @param {Timeline} app @param {1|-1} dir */
function scrollLanes(app, dir) {
  app.stage.scroller.scrollTop += dir * (app.height - app.lanes.topHeight) * 0.8;
}

/** Elements that take letters and arrow keys themselves. */
const TYPING = ["input", "select", "textarea", "dialog", "[contenteditable]", ...["dialog", "listbox", "combobox", "menu", "tablist", "radiogroup", "slider", "grid", "separator"].map((role) => `[role=${role}]`)].join();

/** Return true while something of the page lies over it: a dialog, or an open menu, which Escape closes. */
function isTaken() {
  return document.querySelector('[role="dialog"], [data-baseweb="popover"]') !== null;
}

export class Keys {
  /** @param {Timeline} app @param {Stage} stage @param {AbortSignal} signal */
  constructor(app, stage, signal) {
    this.app = app;
    this.stage = stage;
    this.byKey = new Map(KEYS.flatMap(([keys, , act]) => keys.map((key) => [key, act])));
    stage.root.addEventListener("keydown", (event) => {
      // Streamlit listens to keys of its own (R, C).
      if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
      this.handle(event);
    }, { signal });
    // Before Streamlit, which would take keys of the page for its own.
    window.addEventListener("keydown", (event) => {
      if (app.preferences.keys === "page" && !event.composedPath().includes(stage.root) && !isTaken() && this.handle(event)) event.stopPropagation();
    }, { signal, capture: true });
    const rows = [...KEYS.filter(([, description]) => description).map(([keys, description]) => [keys.map(formatKey).join("  "), description]), ...MOUSE];
    this.dialog = makeDialog("Keys of the timeline", h("dl", {}, ...rows.flatMap(([key, description]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, description)])));
    stage.root.append(this.dialog, h("p", { class: "unseen", id: "tl-keys" }, "Press ? for the keys, arrow keys to step through the events."));
  }

  /**
   * Act on a key unless what has the focus needs it.
   * @param {KeyboardEvent} event
   * @returns {boolean} true if it did
   */
  handle(event) {
    const at = /** @type {HTMLElement} */ (event.composedPath()[0]);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || (event.altKey && event.key !== "?")) return false;
    if (at instanceof Element && (at.closest(TYPING) || (at.closest("button, a, summary") && ["Enter", " "].includes(event.key)))) return false;
    const act = this.byKey.get(event.key) ?? this.byKey.get(event.key.toLowerCase());
    if (!act) return false;
    event.preventDefault();
    act(this.app);
    return true;
  }

  /** Toggle the dialog with the keys. */
  help() {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }
}

/** @param {string} key */
function formatKey(key) {
  return { ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc", PageDown: "Page ↓", PageUp: "Page ↑" }[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

/** Keys of the timeline: a table of actions, which the help dialog lists, too. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Stage } from "./stage.js" */

import * as actions from "./actions.js";
import { makeButton, h } from "./dom.js";
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
  [["x"], "Select the time in sight as an area", (app) => app.selectArea({ from: Math.round(Math.max(app.sources.first, app.view.t0)), to: Math.round(Math.min(app.sources.end, app.view.t1)), lanes: [] })],
  [["e"], "Select the next step", (app) => steps.selectNextStep(app, 1)],
  [["q"], "Select the step before", (app) => steps.selectNextStep(app, -1)],
  [["m"], "Mark a moment, with a note", (app) => actions.addMark(app)],
  [["t"], "Count times from capture start, selection start, or absolutely", (app) => app.clock.switchOrigin()],
  [["PageDown"], "Scroll the lanes down", (app) => scrollLanes(app, 1)],
  [["PageUp"], "Scroll the lanes up", (app) => scrollLanes(app, -1)],
  [["Escape"], "Clear the selection", (app) => (app.search.active ? app.search.clearSearch() : app.clearSelection())],
  [["?"], "Show these keys", (app) => app.stage.keys?.help()],
];
const MOUSE = [
  ["Wheel, pinch", "Zoom at the pointer (Alt: scroll the lanes)"],
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

export class Keys {
  /** @param {Timeline} app @param {Stage} stage @param {AbortSignal} signal */
  constructor(app, stage, signal) {
    this.app = app;
    this.stage = stage;
    const byKey = new Map(KEYS.flatMap(([keys, , act]) => keys.map((key) => [key, act])));
    stage.root.addEventListener("keydown", (event) => {
      // Streamlit listens to keys of its own (R, C).
      if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
      const at = /** @type {HTMLElement} */ (event.target);
      const typed = at.matches("input, select, textarea, dialog, dialog *");
      if (event.ctrlKey || event.metaKey || (event.altKey && event.key !== "?") || typed) return;
      if (at.matches("button, a, summary") && ["Enter", " "].includes(event.key)) return;
      const act = byKey.get(event.key) ?? byKey.get(event.key.toLowerCase());
      if (!act) return;
      event.preventDefault();
      act(app);
    }, { signal });
    this.dialog = h("dialog", { class: "keys", "aria-label": "Keys of the timeline" });
    const rows = [...KEYS.filter(([, description]) => description).map(([keys, description]) => [keys.map(formatKey).join("  "), description]), ...MOUSE];
    this.dialog.append(
      h("div", { class: "dialog-head" }, h("b", {}, "Keys of the timeline"), makeButton("Close", "×", () => this.dialog.close())),
      h("dl", {}, ...rows.flatMap(([key, description]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, description)])),
    );
    stage.root.append(this.dialog, h("p", { class: "unseen", id: "tl-keys" }, "Press ? for the keys, arrow keys to step through the events."));
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

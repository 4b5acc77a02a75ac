/** The titles of the lanes, with their busy share of the window and buttons to fold, pin and hide. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Lane, Slot } from "./types.js" */

import { makeButton, replaceContent, h } from "./dom.js";
import { getBusyShare, listItems } from "./hit_test.js";
import { MAX_LEVELS } from "./lanes.js";
import { formatCount, formatDuration, formatPercent, formatValue } from "./time.js";

/** @typedef {{li: HTMLLIElement, share: HTMLElement, y: number}} Title */

export class Titles {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
    /** @type {Map<string, Title>} */
    this.titles = new Map();
    /** The button that the Tab key reaches; arrow keys go from it to the others. */
    this.reached = "";
    app.stage.titleList.addEventListener("keydown", (event) => this.handleKey(event));
    app.stage.titleList.addEventListener("focusin", (event) => this.reach(/** @type {HTMLElement} */ (event.target).dataset.act ?? ""));
  }

  /** @param {string} act */
  reach(act) {
    this.reached = act;
    this.updateTabStop();
  }

  /** Make the reached button, or the first one, the only one that the Tab key stops at. */
  updateTabStop() {
    const buttons = [.../** @type {NodeListOf<HTMLElement>} */ (this.app.stage.titleList.querySelectorAll("button"))];
    const stop = buttons.find((one) => one.dataset.act === this.reached) ?? this.listRows()[0]?.querySelector("button");
    for (const one of buttons) one.tabIndex = one === stop ? 0 : -1;
  }

  /** Return the titles from top to bottom. */
  listRows() {
    return [...this.titles.values()].sort((a, b) => a.y - b.y).map((one) => one.li);
  }

  /** Go from button to button with the arrow keys: up and down through the lanes, left and right within one. @param {KeyboardEvent} event */
  handleKey(event) {
    const at = /** @type {HTMLElement} */ (event.target), row = at.closest("li"), { scroller } = this.app.stage;
    const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key], down = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!row || (!side && !down)) return;
    event.preventDefault();
    event.stopPropagation();
    const buttons = [...row.querySelectorAll("button")], place = buttons.indexOf(/** @type {HTMLButtonElement} */ (at));
    if (side) return buttons[place + side]?.focus();
    const rows = this.listRows(), index = rows.indexOf(row) + (down ?? 0);
    if (index <= 0 || index >= rows.length - 1) {
      scroller.scrollTop += (down ?? 0) * row.offsetHeight;
      this.app.scroll = scroller.scrollTop;
      this.moveTitles();
    }
    const shown = this.listRows(), next = shown[shown.indexOf(row) + (down ?? 0)]?.querySelectorAll("button");
    next?.[Math.min(place, next.length - 1)]?.focus({ preventScroll: true });
  }

  /** Make all titles anew, after lanes were folded, pinned or hidden. */
  rebuild() {
    const { app } = this, { titleList } = app.stage;
    const focused = /** @type {HTMLElement|null} */ (/** @type {ShadowRoot} */ (titleList.getRootNode()).activeElement)?.dataset?.act;
    titleList.replaceChildren();
    this.titles.clear();
    this.updateCorner();
    this.moveTitles();
    this.updateShares();
    if (focused) /** @type {HTMLElement|null} */ (titleList.querySelector(`[data-act="${CSS.escape(focused)}"]`))?.focus();
  }

  /** Show the number of lanes, hidden lanes, marks, and the time that all pages show. */
  updateCorner() {
    const { app } = this, hidden = app.lanes.hidden.size, { selected } = app;
    replaceContent(app.stage.corner,
      selected && makeButton("All pages show only this time. Click to show the whole capture again", `Selected ${formatDuration(selected.to - selected.from)} ×`, () => app.mounted.setTriggerValue("select", {}), { class: "link" }),
      hidden ? makeButton("Show the hidden lanes again", `Show ${hidden} hidden`, () => {
        app.lanes.hidden.clear();
        app.layOutLanes();
      }, { class: "link" }) : null,
      app.marks.all.length ? makeButton("Show the marks", `${app.marks.all.length} ${app.marks.all.length === 1 ? "mark" : "marks"}`, () => app.marks.showMarks(), { class: "link" }) : null,
      h("span", { class: "quiet" }, countLanes(app.lanes.lanes.filter((lane) => lane.group !== null).length)));
  }

  /** Move the titles to their lanes. */
  moveTitles() {
    const { app } = this, wanted = new Set();
    let changed = false;
    for (const { slot, y } of app.lanes.listVisible(app.scroll, app.height || 600)) {
      const key = `${slot.lane.id}/${slot.pinned}`;
      wanted.add(key);
      let title = this.titles.get(key);
      if (!title) {
        title = this.makeTitle(slot);
        this.titles.set(key, title);
        app.stage.titleList.append(title.li);
        changed = true;
      }
      title.y = y;
      title.li.style.transform = `translateY(${y}px)`;
    }
    for (const [key, title] of this.titles) {
      if (wanted.has(key)) continue;
      title.li.remove();
      this.titles.delete(key);
      changed = true;
    }
    if (changed) this.updateTabStop();
  }

  /** @param {Slot} slot @returns {Title} */
  makeTitle(slot) {
    const { app } = this, { lane } = slot, parent = app.lanes.isParent(lane), folded = app.lanes.folded.has(lane.id);
    const act = (/** @type {"folded"|"pinned"|"hidden"|"deep"} */ state) => () => {
      app.lanes.toggle(state, lane.id);
      app.layOutLanes();
    };
    const whole = `${app.lanes.getPath(lane.id).join(" › ")}${lane.detail ? ` (${lane.detail})` : ""}`;
    const share = h("span", { class: "share" }), deep = !parent && !folded && lane.rows > MAX_LEVELS;
    const li = h("li", { class: `title ${parent ? "parent" : ""} ${deep || slot.lane.kind === "line" ? "tall" : ""} ${deep ? "deep" : ""} ${slot.pinned ? "pinned" : ""}`, title: whole },
      h("span", { style: `--depth:${slot.depth}`, class: "indent" }),
      app.lanes.isFoldable(lane)
        ? makeButton(`${folded ? "Unfold" : "Fold"} ${lane.title}`, folded ? "▸" : "▾", act("folded"), { class: "fold", "aria-expanded": String(!folded), "data-act": `f${lane.id}` })
        : h("span", { class: "fold" }),
      h("span", { class: "name" }, slot.pinned ? app.lanes.getPath(lane.id).slice(-2).join(" › ") : lane.title, !deep && lane.detail && h("span", { class: "detail" }, ` ${lane.detail}`)),
      share,
      deep ? makeButton(`${describeLevels(slot)} (${lane.title})`, describeLevels(slot), act("deep"), { class: "link", style: `--depth:${slot.depth}`, "data-act": `d${lane.id}` }) : null,
      h("span", { class: "acts" },
        !parent && makeButton(`${slot.pinned ? "Unpin" : "Pin"} ${lane.title}`, slot.pinned ? "▼" : "▲", act("pinned"), { "aria-pressed": String(slot.pinned), "data-act": `p${lane.id}` }),
        makeButton(`Hide ${lane.title}`, "×", act("hidden"), { "data-act": `h${lane.id}` })));
    li.style.height = `${slot.h}px`;
    return { li, share, y: 0 };
  }

  /** Show the busy share of each visible lane. */
  updateShares() {
    const { app } = this;
    for (const { slot } of app.lanes.listVisible(app.scroll, app.height)) {
      const title = this.titles.get(`${slot.lane.id}/${slot.pinned}`);
      if (!title || app.lanes.isParent(slot.lane)) continue;
      title.share.textContent = slot.lane.kind === "sample" ? "" : slot.lane.kind === "line" ? describeMaximum(slot.lane) : listItems(app, slot, 1).length ? formatPercent(getBusyShare(app, slot)) : "";
    }
  }
}

/** Describe how many levels a deep lane shows, and what a click does. @param {Slot} slot */
function describeLevels({ lane, rows }) {
  const other = rows === lane.rows ? MAX_LEVELS : lane.detail ? lane.rows : "all";
  return `${rows} of ${lane.detail || `${lane.rows} levels`}: show ${other}`;
}

/** @param {number} many */
function countLanes(many) {
  return many === 1 ? "1 lane" : `${formatCount(many)} lanes`;
}

/** Describe the value at the top of a curve. @param {Lane} lane */
function describeMaximum(lane) {
  return lane.max ? `to ${formatValue(lane.max, lane.unit)}` : "";
}

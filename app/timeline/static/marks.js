/**
 * Marks. The user's own marks are in the URL. Editors can store marks with a note with the report, and everybody who
 * opens it sees them.
 */

/** @import { Mark } from "./types.js" */
/** @import { Timeline } from "./timeline.js" */

import { makeButton, h } from "./dom.js";

export const MAX_NOTE_CHARS = 200;

/** Normalize a note to be stored. @param {string} text */
function tidyNote(text) {
  return text.replace(/\s+/g, " ").trim().slice(0, MAX_NOTE_CHARS);
}

export class Marks {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
    /** @type {Mark[]} marks in the URL */
    this.own = [];
    /** @type {Mark[]} marks stored with the report */
    this.stored = [];
    /** Changes that Python has not confirmed yet; each further change sends all of them again. @type {Map<number, string>} */
    this.sent = new Map();
    this.storedKey = "";
  }

  /** All marks, sorted by time. */
  get all() {
    const stored = new Set(this.stored.map((one) => one.t));
    return [...this.stored, ...this.own.filter((one) => !stored.has(one.t))].sort((a, b) => a.t - b.t);
  }

  /** Take over the stored marks. @param {Mark[]} stored */
  setStored(stored) {
    const key = JSON.stringify(stored);
    if (key === this.storedKey) return;
    this.storedKey = key;
    this.sent.clear();
    this.stored = stored;
    this.own = this.own.filter((mark) => !stored.some((one) => one.t === mark.t));
    const { panel } = this.app.stage, typing = panel.querySelector("input:focus") !== null;
    if (panel.querySelector(".marks") && !typing) this.showMarks();
    this.app.titles.updateCorner();
    this.app.scheduleUpdate();
  }

  /** Store a mark with the report; an empty note removes it. @param {number} t @param {string} note */
  store(t, note) {
    this.sent.set(t, tidyNote(note));
    const marks = [...this.sent].map(([at, text]) => ({ t: at, note: text }));
    this.app.mounted.setTriggerValue("mark", { report: this.app.report, marks });
  }

  /** Add a mark to the URL. @param {number} t */
  addMark(t) {
    if (!this.all.some((one) => one.t === t)) this.own.push({ t, note: "" });
    this.showMarks(t);
    this.app.scheduleUpdate();
  }

  /** @param {Mark} mark @param {boolean} isStored */
  removeMark(mark, isStored) {
    if (isStored) this.store(mark.t, "");
    this.own = this.own.filter((one) => one.t !== mark.t);
    this.stored = this.stored.filter((one) => one.t !== mark.t);
    if (this.all.length) this.showMarks();
    else this.app.clearSelection();
    this.app.titles.updateCorner();
    this.app.scheduleUpdate();
  }

  /** List all marks in the panel, and focus the note of one. @param {number} [at] */
  showMarks(at) {
    const { app } = this, rows = this.all.map((mark) => this.makeRow(mark));
    const hint = app.mounted.data.may_edit
      ? "Marks with a note are kept with the report: everyone who opens it sees them."
      : "Your marks are only in the address of this page. Editors can keep marks with the report.";
    app.panel.showContent("Marks", h("div", { class: "panel-head" }, h("b", {}, "Marks"), h("span", { class: "quiet" }, hint)), h("ul", { class: "marks" }, ...rows));
    if (at !== undefined) /** @type {HTMLInputElement|null} */ (app.stage.panel.querySelector(`[data-t="${at}"] input`))?.focus();
  }

  /** @param {Mark} mark */
  makeRow(mark) {
    const { app } = this, isStored = this.stored.includes(mark), mayEdit = app.mounted.data.may_edit;
    const note = h("input", {
      "aria-label": `Note of the mark at ${app.clock.formatTime(mark.t)}`, placeholder: "Note", maxlength: MAX_NOTE_CHARS, readonly: isStored && !mayEdit,
      oninput: () => {
        if (!isStored) mark.note = note.value;
        app.scheduleUpdate();
      },
      onchange: () => {
        if (mayEdit && tidyNote(note.value)) this.store(mark.t, note.value);
      },
    });
    note.value = mark.note;
    return h("li", { "data-t": mark.t },
      makeButton(`Go to ${app.clock.formatTime(mark.t)}`, app.clock.formatTime(mark.t), () => app.view.setWindow(mark.t - app.view.span / 2, mark.t + app.view.span / 2), { class: "link" }),
      note,
      h("span", { class: "quiet" }, isStored ? "kept with the report" : "only in this address"),
      !isStored && mayEdit && mark.note ? makeButton("Keep this mark with the report", "Keep", () => this.store(mark.t, mark.note)) : h("span", {}),
      mayEdit || !isStored ? makeButton("Remove this mark", "×", () => this.removeMark(mark, isStored)) : h("span", {}));
  }
}

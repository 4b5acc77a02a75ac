/**
 * Marks: those of the reader stand in the address; those with a note are kept beside the report by whoever may change
 * it, and everybody who opens it sees them.
 */

/** @import { Mark } from "./types.js" */
/** @import { Timeline } from "./timeline.js" */

import { makeButton, h } from "./dom.js";

export const MAX_NOTE_CHARS = 200;

/** A note as it is kept. @param {string} text */
function tidyNote(text) {
  return text.replace(/\s+/g, " ").trim().slice(0, MAX_NOTE_CHARS);
}

export class Marks {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
    /** @type {Mark[]} those of the reader */
    this.own = [];
    /** @type {Mark[]} those of the report */
    this.kept = [];
    /** Changes that Python has not answered yet, all of which are sent again with the next. @type {Map<number, string>} */
    this.sent = new Map();
    this.told = "";
  }

  /** All of them in the order of time. */
  get all() {
    const kept = new Set(this.kept.map((one) => one.t));
    return [...this.kept, ...this.own.filter((one) => !kept.has(one.t))].sort((a, b) => a.t - b.t);
  }

  /** Takes over those that are kept. @param {Mark[]} kept */
  tell(kept) {
    const told = JSON.stringify(kept);
    if (told === this.told) return;
    this.told = told;
    this.sent.clear();
    this.kept = kept;
    this.own = this.own.filter((mark) => !kept.some((one) => one.t === mark.t));
    const { panel } = this.app.stage, typing = panel.querySelector("input:focus") !== null;
    if (panel.querySelector(".marks") && !typing) this.show();
    this.app.titles.corner();
    this.app.moved();
  }

  /** Writes the note of a mark of the report; without one the mark goes. @param {number} t @param {string} note */
  keep(t, note) {
    this.sent.set(t, tidyNote(note));
    const marks = [...this.sent].map(([at, text]) => ({ t: at, note: text }));
    this.app.mounted.setTriggerValue("mark", { report: this.app.report, marks });
  }

  /** Marks a moment for the reader. @param {number} t */
  add(t) {
    if (!this.all.some((one) => one.t === t)) this.own.push({ t, note: "" });
    this.show(t);
    this.app.moved();
  }

  /** @param {Mark} mark @param {boolean} kept */
  remove(mark, kept) {
    if (kept) this.keep(mark.t, "");
    this.own = this.own.filter((one) => one.t !== mark.t);
    this.kept = this.kept.filter((one) => one.t !== mark.t);
    if (this.all.length) this.show();
    else this.app.clear();
    this.app.titles.corner();
    this.app.moved();
  }

  /** Shows all in the panel, the cursor in the note of one. @param {number} [at] */
  show(at) {
    const { app } = this, rows = this.all.map((mark) => this.row(mark));
    const words = app.mounted.data.may_edit
      ? "Marks with a note are kept with the report: everyone who opens it sees them."
      : "Your marks stand in the address alone. Marks of editors are kept with the report.";
    app.panel.show("Marks", h("div", { class: "panel-head" }, h("b", {}, "Marks"), h("span", { class: "quiet" }, words)), h("ul", { class: "marks" }, ...rows));
    if (at !== undefined) /** @type {HTMLInputElement|null} */ (app.stage.panel.querySelector(`[data-t="${at}"] input`))?.focus();
  }

  /** @param {Mark} mark */
  row(mark) {
    const { app } = this, kept = this.kept.includes(mark), mine = app.mounted.data.may_edit;
    const note = h("input", {
      "aria-label": `Note of the mark at ${app.clock.text(mark.t)}`, placeholder: "Note", maxlength: MAX_NOTE_CHARS, readonly: kept && !mine,
      oninput: () => {
        if (!kept) mark.note = note.value;
        app.moved();
      },
      onchange: () => {
        if (mine && tidyNote(note.value)) this.keep(mark.t, note.value);
      },
    });
    note.value = mark.note;
    return h("li", { "data-t": mark.t },
      makeButton(`Go to ${app.clock.text(mark.t)}`, app.clock.text(mark.t), () => app.view.set(mark.t - app.view.span / 2, mark.t + app.view.span / 2), { class: "link" }),
      note,
      h("span", { class: "quiet" }, kept ? "kept with the report" : "only in this address"),
      !kept && mine && mark.note ? makeButton("Keep this mark with the report", "Keep", () => this.keep(mark.t, mark.note)) : h("span", {}),
      mine || !kept ? makeButton("Remove this mark", "×", () => this.remove(mark, kept)) : h("span", {}));
  }
}

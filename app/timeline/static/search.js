/** Search over the whole capture: how many hits, where they are, and the next one. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Item } from "./types.js" */

import { makeButton, h } from "./dom.js";
import { formatCount } from "./time.js";
import { fetchJson } from "./wire.js";

const WAIT_MS = 180;

export class Search {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
    /** @type {Set<number>|null} */
    this.hits = null;
    /** @type {number[][]} hits over the capture of each report */
    this.density = [];
    /** @type {Item[]} */
    this.first = [];
    this.total = 0;
    this.at = -1;
    this.timer = 0;
    this.asking = new AbortController();
    this.field = h("input", { type: "search", placeholder: "Search (/)", "aria-label": "Search names of events", maxlength: 200, oninput: () => this.later(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event) });
    this.how = h("select", { "aria-label": "How to search", onchange: () => this.ask() },
      h("option", { value: "part" }, "part of name"), h("option", { value: "exact" }, "exact name"), h("option", { value: "pattern" }, "pattern"));
    this.said = h("span", { class: "hits quiet", role: "status" });
    this.steps = h("span", { class: "tools", hidden: true },
      makeButton("Previous hit (Shift+Enter)", "‹", () => this.go(-1)), makeButton("Next hit (Enter)", "›", () => this.go(1)), makeButton("End the search (Esc)", "×", () => this.clear()));
    this.box = h("div", { class: "search", role: "search" }, this.field, this.how, this.steps, this.said);
  }

  /** Whether something is searched for. */
  get active() {
    return this.field.value !== "";
  }

  focus() {
    this.field.focus();
    this.field.select();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      event.preventDefault();
      this.clear();
      this.app.stage.canvas.focus();
    }
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), WAIT_MS);
  }

  async ask() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking, q = this.field.value;
    if (!q) return this.clear();
    try {
      const told = await Promise.all(this.app.sources.list.map(async (one) => ({ one, found: await fetchJson(one.url("search", { q, how: this.how.value }), signal) })));
      this.total = told.reduce((sum, { found }) => sum + found.hits, 0);
      this.density = told.map(({ found }) => found.density);
      this.first = told.flatMap(({ one, found }) => found.first.map((/** @type {Item} */ hit) => one.item(hit))).sort((a, b) => a.start - b.start);
      this.hits = new Set(told.flatMap(({ one, found }) => found.names.map((/** @type {number} */ name) => name + one.firstName)));
      this.at = -1;
      this.tell();
    } catch (error) {
      if (signal.aborted) return;
      this.nothing();
      this.said.textContent = /** @type {Error} */ (error).message;
    }
    this.steps.hidden = false;
    this.app.schedule();
  }

  tell() {
    const of = `${formatCount(this.total)} ${this.total === 1 ? "hit" : "hits"}`;
    this.said.textContent = !this.total ? "No hits" : this.at >= 0 ? `${formatCount(this.at + 1)} of ${of}` : of;
  }

  /**
   * Goes to the next hit, the first one behind the start of the window at first.
   * @param {1|-1} dir
   */
  async go(dir) {
    if (this.timer) await this.ask();
    const { first, app } = this;
    if (!first.length) return;
    if (this.at < 0) {
      const from = app.chosen?.start ?? app.view.t0, next = first.findIndex((one) => one.start >= from);
      this.at = dir > 0 ? Math.max(0, next) : (next <= 0 ? first.length : next) - 1;
    } else {
      this.at = (this.at + dir + first.length) % first.length;
    }
    this.tell();
    const hit = first[this.at];
    await app.choose(hit.lane, hit.ref, true);
  }

  nothing() {
    this.hits = null;
    this.density = [];
    this.first = [];
    this.total = 0;
    this.at = -1;
  }

  clear() {
    clearTimeout(this.timer);
    this.asking.abort();
    this.field.value = "";
    this.said.textContent = "";
    this.steps.hidden = true;
    this.nothing();
    this.app.schedule();
  }

  close() {
    clearTimeout(this.timer);
    this.asking.abort();
  }
}

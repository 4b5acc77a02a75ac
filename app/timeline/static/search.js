/** Search over the whole capture: number of hits, where they are, and the way to the next. */

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
    this.field = h("input", { type: "search", placeholder: "Search (/)", "aria-label": "Search names of events", maxlength: 200, oninput: () => this.requestLater(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.handleKey(event) });
    this.how = h("select", { "aria-label": "How to search", onchange: () => this.request() },
      h("option", { value: "part" }, "part of name"), h("option", { value: "exact" }, "exact name"), h("option", { value: "pattern" }, "pattern"));
    this.status = h("span", { class: "hits quiet", role: "status" });
    this.steps = h("span", { class: "tools", hidden: true },
      makeButton("Previous hit (Shift+Enter)", "‹", () => this.goToHit(-1)), makeButton("Next hit (Enter)", "›", () => this.goToHit(1)), makeButton("End the search (Esc)", "×", () => this.clearSearch()));
    this.box = h("div", { class: "search", role: "search" }, this.field, this.how, this.steps, this.status);
  }

  /** True while the search field is not empty. */
  get active() {
    return this.field.value !== "";
  }

  focus() {
    this.field.focus();
    this.field.select();
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.goToHit(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      event.preventDefault();
      this.clearSearch();
      this.app.stage.canvas.focus();
    }
  }

  requestLater() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.request(), WAIT_MS);
  }

  async request() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking, q = this.field.value;
    if (!q) return this.clearSearch();
    try {
      const answers = await Promise.all(this.app.sources.list.map(async (source) => ({ source, answer: await fetchJson(source.url("search", { q, how: this.how.value }), signal) })));
      this.total = answers.reduce((sum, { answer }) => sum + answer.hits, 0);
      this.density = answers.map(({ answer }) => answer.density);
      this.first = answers.flatMap(({ source, answer }) => answer.first.map((/** @type {Item} */ hit) => source.item(hit))).sort((a, b) => a.start - b.start);
      this.hits = new Set(answers.flatMap(({ source, answer }) => answer.names.map((/** @type {number} */ name) => name + source.firstName)));
      this.at = -1;
      this.showStatus();
    } catch (error) {
      if (signal.aborted) return;
      this.forgetHits();
      this.status.textContent = /** @type {Error} */ (error).message;
    }
    this.steps.hidden = false;
    this.app.scheduleFrame();
  }

  showStatus() {
    const total = `${formatCount(this.total)} ${this.total === 1 ? "hit" : "hits"}`;
    this.status.textContent = !this.total ? "No hits" : this.at >= 0 ? `${formatCount(this.at + 1)} of ${total}` : total;
  }

  /**
   * Go to the next hit; first to the one after the chosen event or the start of the window.
   * @param {1|-1} dir
   */
  async goToHit(dir) {
    if (this.timer) await this.request();
    const { first, app } = this;
    if (!first.length) return;
    if (this.at < 0) {
      const from = app.chosen?.start ?? app.view.t0, next = first.findIndex((one) => one.start >= from);
      this.at = dir > 0 ? Math.max(0, next) : (next <= 0 ? first.length : next) - 1;
    } else {
      this.at = (this.at + dir + first.length) % first.length;
    }
    this.showStatus();
    const hit = first[this.at];
    await app.chooseEvent(hit.lane, hit.ref, true);
  }

  forgetHits() {
    this.hits = null;
    this.density = [];
    this.first = [];
    this.total = 0;
    this.at = -1;
  }

  clearSearch() {
    clearTimeout(this.timer);
    this.asking.abort();
    this.field.value = "";
    this.status.textContent = "";
    this.steps.hidden = true;
    this.forgetHits();
    this.app.scheduleFrame();
  }

  close() {
    clearTimeout(this.timer);
    this.asking.abort();
  }
}

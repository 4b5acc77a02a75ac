/** Align reports drawn below each other: by steps, collectives, the machines' clocks, capture starts, or by hand. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Source } from "./sources.js" */

import { h } from "./dom.js";
import { formatCount, formatDuration } from "./time.js";
import { fetchJson } from "./wire.js";

/** @typedef {"start"|"clock"|"collective"|"step"|"hand"} How */
/** @typedef {{epoch_ns: string|null, collectives: [string, number][]}} Moments */

/** @type {Record<How, string>} */
const TITLES = { step: "a step", collective: "collectives", clock: "the clock", start: "capture start", hand: "hand" };
/** @type {How[]} */
export const HOWS = ["step", "collective", "clock", "start", "hand"];
const MAX_SHIFT_NS = 2 ** 53;

export class Alignment {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
    /** @type {How} */
    this.how = "start";
    /** @type {Map<Source, Moments>} */
    this.moments = new Map();
    this.ready = !app.sources.several;
    this.field = h("select", { "aria-label": "Reports are aligned by", onchange: () => this.alignBy(/** @type {How} */ (this.field.value)) });
    this.summary = h("span", { class: "quiet", role: "status" });
    this.shiftFields = h("span", { class: "hands" });
    this.box = h("div", { class: "bar aligned", hidden: !app.sources.several }, h("label", {}, "Aligned by ", this.field), this.shiftFields, this.summary);
  }

  /**
   * Load the moments to align by, and align the reports.
   * @param {How|null} how method from the URL; null: the best one
   * @param {number[]} shifts from the URL, ns, if aligned by hand
   */
  async load(how, shifts) {
    const { list } = this.app.sources;
    try {
      const answers = await Promise.all(list.map((one) => fetchJson(one.url("moments"))));
      list.forEach((one, at) => this.moments.set(one, answers[at]));
    } catch (error) {
      this.app.showMessage(/** @type {Error} */ (error).message);
    }
    if (how === "hand") this.shiftReports((one, at) => shifts[at] ?? 0);
    const possible = HOWS.filter((one) => this.isPossible(one));
    this.field.replaceChildren(...possible.map((one) => h("option", { value: one }, TITLES[one])));
    this.ready = true;
    if (!this.app.closed) this.alignBy(how && possible.includes(how) ? how : possible[0]);
  }

  /** Return true if every report has the data of a method. @param {How} how */
  isPossible(how) {
    const [main, ...others] = this.app.sources.list;
    return how === "hand" || others.every((one) => this.getShift(how, main, one) !== null);
  }

  /** @param {How} how */
  alignBy(how) {
    const [main] = this.app.sources.list;
    this.how = this.field.value = how;
    if (how !== "hand") this.shiftReports((one) => this.getShift(how, main, one) ?? 0);
    this.showSummary();
    this.app.redrawShifted();
  }

  /** @param {(source: Source, at: number) => number} getShift ns, by report and its index among those below the first */
  shiftReports(getShift) {
    for (const [at, one] of this.app.sources.list.slice(1).entries()) {
      const shift = Math.round(getShift(one, at));
      one.shift = Math.abs(shift) < MAX_SHIFT_NS ? shift : 0;
    }
  }

  /**
   * Return the shift of a report, ns; null if it lacks the data of the method.
   * @param {How} how @param {Source} main @param {Source} one
   * @returns {number|null}
   */
  getShift(how, main, one) {
    if (how === "start") return 0;
    if (how === "step") {
      const [a, b] = [main, one].map(({ data }) => data.steps?.find((step) => !step.warmup));
      return a && b ? a.start - b.start : null;
    }
    const mine = this.moments.get(main), theirs = this.moments.get(one);
    if (how === "clock") return mine?.epoch_ns && theirs?.epoch_ns ? Number(BigInt(theirs.epoch_ns) - BigInt(mine.epoch_ns)) : null;
    const differences = this.compareCollectives(main, one);
    return differences.length ? computeMedian(differences) : null;
  }

  /** Return how much later each collective ended in the first report than in another one, unshifted, ns. @param {Source} main @param {Source} one */
  compareCollectives(main, one) {
    const mine = this.moments.get(main)?.collectives ?? [], theirs = this.moments.get(one)?.collectives ?? [];
    /** @type {number[]} */
    const differences = [];
    for (let at = 0; at < Math.min(mine.length, theirs.length) && mine[at][0] === theirs[at][0]; at++) differences.push(mine[at][1] - theirs[at][1]);
    return differences;
  }

  /** Show how the reports are aligned, and how well. */
  showSummary() {
    const { list, main } = this.app.sources, others = list.slice(1);
    this.shiftFields.replaceChildren(...(this.how === "hand" ? others.map((one) => this.makeShiftField(one)) : []));
    const errors = others.map((one) => this.compareCollectives(main, one).map((ns) => Math.abs(ns - one.shift)).sort((a, b) => a - b));
    const known = errors.filter((one) => one.length), pairs = known.reduce((sum, one) => sum + one.length, 0);
    const largest = Math.max(...known.map((one) => one[one.length - 1])), median = Math.max(...known.map(computeMedian));
    const ends = known.length ? `The ends of ${formatCount(pairs)} collectives differ by ${formatDuration(median)} (median), ${formatDuration(largest)} at most.` : "";
    const first = main.data.steps?.find((step) => !step.warmup)?.name ?? "";
    /** @type {Record<How, string>} */
    const texts = {
      step: `At the start of ${first}, the first step that counts. ${ends}`,
      collective: ends,
      clock: `By the clocks of the machines. ${ends || "Nothing in these reports tells how far the clocks agree."}`,
      start: `Each capture begins at 0. ${ends}`,
      hand: ends,
    };
    this.summary.textContent = texts[this.how];
  }

  /** @param {Source} one */
  makeShiftField(one) {
    const field = h("input", { type: "number", step: 1000, "aria-label": `Shift of ${one.name}, ns`, title: one.name, onchange: () => {
      const shift = Math.round(Number(field.value));
      one.shift = Math.abs(shift) < MAX_SHIFT_NS ? shift : 0;
      this.showSummary();
      this.app.redrawShifted();
    } });
    field.value = String(one.shift);
    return h("label", {}, `${one.name.slice(0, 24)} `, field, " ns");
  }
}

/** Return the lower median. @param {number[]} values at least one */
function computeMedian(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

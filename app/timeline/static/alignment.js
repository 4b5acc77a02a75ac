/** Where reports that stand below each other begin: by a collective, a step, the clocks of the machines, or by hand. */

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
const FARTHEST_NS = 2 ** 53;

export class Alignment {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
    /** @type {How} */
    this.how = "start";
    /** @type {Map<Source, Moments>} */
    this.moments = new Map();
    this.ready = !app.sources.several;
    this.field = h("select", { "aria-label": "Reports are aligned by", onchange: () => this.set(/** @type {How} */ (this.field.value)) });
    this.words = h("span", { class: "quiet", role: "status" });
    this.hands = h("span", { class: "hands" });
    this.box = h("div", { class: "bar aligned", hidden: !app.sources.several }, h("label", {}, "Aligned by ", this.field), this.hands, this.words);
  }

  /**
   * Reads what the reports can be aligned by, and aligns them.
   * @param {How|null} how as an address says
   * @param {number[]} shifts by hand, ns
   */
  async open(how, shifts) {
    const { list } = this.app.sources;
    try {
      const told = await Promise.all(list.map((one) => fetchJson(one.url("moments"))));
      list.forEach((one, at) => this.moments.set(one, told[at]));
    } catch (error) {
      this.app.say(/** @type {Error} */ (error).message);
    }
    if (how === "hand") this.place((one, at) => shifts[at] ?? 0);
    const possible = HOWS.filter((one) => this.possible(one));
    this.field.replaceChildren(...possible.map((one) => h("option", { value: one }, TITLES[one])));
    this.ready = true;
    if (!this.app.closed) this.set(how && possible.includes(how) ? how : possible[0]);
  }

  /** Whether every report has what it takes. @param {How} how */
  possible(how) {
    const [main, ...others] = this.app.sources.list;
    return how === "hand" || others.every((one) => this.shift(how, main, one) !== null);
  }

  /** @param {How} how */
  set(how) {
    const [main] = this.app.sources.list;
    this.how = this.field.value = how;
    if (how !== "hand") this.place((one) => this.shift(how, main, one) ?? 0);
    this.tell();
    this.app.realigned();
  }

  /** @param {(source: Source, at: number) => number} of ns, by report and its place among those below */
  place(of) {
    for (const [at, one] of this.app.sources.list.slice(1).entries()) {
      const shift = Math.round(of(one, at));
      one.shift = Math.abs(shift) < FARTHEST_NS ? shift : 0;
    }
  }

  /**
   * What the times of a report are moved by; null where it lacks what that takes.
   * @param {How} how @param {Source} main @param {Source} one
   * @returns {number|null}
   */
  shift(how, main, one) {
    if (how === "start") return 0;
    if (how === "step") {
      const [a, b] = [main, one].map(({ data }) => data.steps?.find((step) => !step.warmup));
      return a && b ? a.start - b.start : null;
    }
    const mine = this.moments.get(main), theirs = this.moments.get(one);
    if (how === "clock") return mine?.epoch_ns && theirs?.epoch_ns ? Number(BigInt(theirs.epoch_ns) - BigInt(mine.epoch_ns)) : null;
    const apart = this.apart(main, one);
    return apart.length ? computeMedian(apart) : null;
  }

  /** How much later each collective ended in the first report than in another one, without any shift. @param {Source} main @param {Source} one */
  apart(main, one) {
    const mine = this.moments.get(main)?.collectives ?? [], theirs = this.moments.get(one)?.collectives ?? [];
    /** @type {number[]} */
    const found = [];
    for (let at = 0; at < Math.min(mine.length, theirs.length) && mine[at][0] === theirs[at][0]; at++) found.push(mine[at][1] - theirs[at][1]);
    return found;
  }

  /** Says what the reports are aligned by, and how well that holds. */
  tell() {
    const { list, main } = this.app.sources, others = list.slice(1);
    this.hands.replaceChildren(...(this.how === "hand" ? others.map((one) => this.hand(one)) : []));
    const off = others.map((one) => this.apart(main, one).map((ns) => Math.abs(ns - one.shift)).sort((a, b) => a - b));
    const known = off.filter((one) => one.length), pairs = known.reduce((sum, one) => sum + one.length, 0);
    const most = Math.max(...known.map((one) => one[one.length - 1])), usual = Math.max(...known.map(computeMedian));
    const ends = known.length ? `The ends of ${formatCount(pairs)} collectives differ by ${formatDuration(usual)} (median), ${formatDuration(most)} at most.` : "";
    const first = main.data.steps?.find((step) => !step.warmup)?.name ?? "";
    /** @type {Record<How, string>} */
    const words = {
      step: `At the start of ${first}, the first step that counts. ${ends}`,
      collective: ends,
      clock: `By the clocks of the machines. ${ends || "Nothing in these reports tells how far the clocks agree."}`,
      start: `Each capture begins at 0. ${ends}`,
      hand: ends,
    };
    this.words.textContent = words[this.how];
  }

  /** @param {Source} one */
  hand(one) {
    const field = h("input", { type: "number", step: 1000, "aria-label": `Shift of ${one.name}, ns`, title: one.name, onchange: () => {
      const shift = Math.round(Number(field.value));
      one.shift = Math.abs(shift) < FARTHEST_NS ? shift : 0;
      this.tell();
      this.app.realigned();
    } });
    field.value = String(one.shift);
    return h("label", {}, `${one.name.slice(0, 24)} `, field, " ns");
  }
}

/** The median of numbers. @param {number[]} values at least one */
function computeMedian(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

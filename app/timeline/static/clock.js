/** From when times count: the begin of the capture, that of what is selected, or the clock of the report. */

/** @import { Timeline } from "./timeline.js" */

import { formatMoment, computeTicks } from "./time.js";

/** @typedef {"capture"|"selection"|"absolute"} From */

/** @type {Record<From, string>} */
const WORDS = { capture: "capture start", selection: "selection start", absolute: "the clock of the report" };
/** @type {From[]} */
export const FROM = ["capture", "selection", "absolute"];
const ROUND_NS = 10_000_000_000n;

export class Clock {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
    /** @type {From} */
    this.from = "capture";
    this.origin = BigInt(app.data.origin_ns);
  }

  /** The moment that counts as 0, ns from the begin of the capture; of the report's clock a round one before all. */
  get zero() {
    const { area, chosen, measured } = this.app;
    if (this.from === "absolute") return -Number(this.origin % ROUND_NS);
    return this.from === "selection" ? (area?.from ?? measured?.from ?? chosen?.start ?? 0) : 0;
  }

  /** A moment in words. @param {number} t ns from the begin of the capture */
  text(t) {
    return this.from === "absolute" ? formatAbsolute(this.origin + BigInt(Math.round(t))) : formatMoment(t - this.zero);
  }

  /** Ticks of the axis. @param {number} t0 @param {number} t1 @param {number} most */
  ticks(t0, t1, most) {
    const found = computeTicks(t0, t1, most, this.zero).ticks;
    return this.from === "absolute" ? found.map(({ t }) => ({ t, text: this.text(t) })) : found;
  }

  /** Counts from the next of these on. */
  next() {
    const { app } = this;
    this.set(FROM[(FROM.indexOf(this.from) + 1) % FROM.length]);
    const unset = this.from === "selection" && !app.area && !app.chosen && !app.measured;
    app.say(`Times count from ${WORDS[this.from]}${unset ? ": select something" : ""}.`);
    app.moved();
  }

  /** @param {From} from */
  set(from) {
    this.from = from;
    if (this.app.area) void this.app.panel.showArea(this.app.area);
  }
}

/** A moment on a clock of any age, to the ns. @param {bigint} ns */
function formatAbsolute(ns) {
  const size = ns < 0n ? -ns : ns, second = 1_000_000_000n;
  const part = String(size % second).padStart(9, "0").replace(/0+$/, "");
  return `${ns < 0n ? "−" : ""}${size / second}${part ? `.${part}` : ""} s`;
}

/** The origin of displayed times: the capture's start, the selection's start, or the report's clock. */

/** @import { Timeline } from "./timeline.js" */

import { formatMoment, computeTicks } from "./time.js";

/** @typedef {"capture"|"selection"|"absolute"} From */

/** @type {Record<From, string>} */
const ORIGINS = { capture: "capture start", selection: "selection start", absolute: "the clock of the report" };
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

  /** The time displayed as 0, ns from the start of the capture; with the report's clock, a round time before it. */
  get zero() {
    const { area, chosen, measured } = this.app;
    if (this.from === "absolute") return -Number(this.origin % ROUND_NS);
    return this.from === "selection" ? (area?.from ?? measured?.from ?? chosen?.start ?? 0) : 0;
  }

  /** Format a moment. @param {number} t ns from the start of the capture */
  formatTime(t) {
    return this.from === "absolute" ? formatAbsolute(this.origin + BigInt(Math.round(t))) : formatMoment(t - this.zero);
  }

  /** Return the ticks of the axis. @param {number} t0 @param {number} t1 @param {number} most */
  listTicks(t0, t1, most) {
    const list = computeTicks(t0, t1, most, this.zero).ticks;
    return this.from === "absolute" ? list.map(({ t }) => ({ t, text: this.formatTime(t) })) : list;
  }

  /** Switch to the next origin. */
  switchOrigin() {
    const { app } = this;
    this.setOrigin(FROM[(FROM.indexOf(this.from) + 1) % FROM.length]);
    const unset = this.from === "selection" && !app.area && !app.chosen && !app.measured;
    app.showMessage(`Times count from ${ORIGINS[this.from]}${unset ? ": select something" : ""}.`);
    app.scheduleUpdate();
  }

  /** @param {From} from */
  setOrigin(from) {
    this.from = from;
    if (this.app.area) void this.app.panel.showArea(this.app.area);
  }
}

/** Format a moment of a clock to the ns. @param {bigint} ns */
function formatAbsolute(ns) {
  const size = ns < 0n ? -ns : ns, second = 1_000_000_000n;
  const part = String(size % second).padStart(9, "0").replace(/0+$/, "");
  return `${ns < 0n ? "−" : ""}${size / second}${part ? `.${part}` : ""} s`;
}

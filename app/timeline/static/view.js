/** The visible time window: zoom, pan, undo. */

const MIN_SPAN_NS = 20;
const MARGIN = 0.02;
const MAX_UNDO = 100;

export class View {
  /**
   * @param {number} begin first time of the captures
   * @param {number} end last time of the captures
   * @param {() => void} changed
   */
  constructor(begin, end, changed) {
    this.changed = changed;
    this.begin = this.end = this.low = this.high = 0;
    this.setExtent(begin, end);
    this.t0 = this.low;
    this.t1 = this.high;
    /** @type {[number, number][]} */
    this.past = [];
    /** @type {[number, number]} */
    this.rested = [this.t0, this.t1];
  }

  /** Set the first and last time that can be shown. @param {number} begin @param {number} end */
  setExtent(begin, end) {
    this.begin = begin;
    this.end = Math.max(end, begin + MIN_SPAN_NS);
    const room = MARGIN * (this.end - begin);
    this.low = begin - room;
    this.high = this.end + room;
  }

  get span() {
    return this.t1 - this.t0;
  }

  get whole() {
    return this.span >= this.end - this.begin;
  }

  /**
   * Show a time range, limited to the captures; ignores invalid numbers.
   * @param {number} t0
   * @param {number} t1
   */
  setWindow(t0, t1) {
    if (!(Number.isFinite(t0) && Number.isFinite(t1))) return;
    const { low, high } = this;
    const span = Math.min(Math.max(t1 - t0, MIN_SPAN_NS), high - low);
    const from = Math.min(Math.max(t1 - t0 < MIN_SPAN_NS ? (t0 + t1 - span) / 2 : t0, low), high - span);
    if (from === this.t0 && from + span === this.t1) return;
    this.t0 = from;
    this.t1 = from + span;
    this.changed();
  }

  /**
   * Zoom around a time that stays in place.
   * @param {number} t
   * @param {number} factor above 1: zoom out
   */
  zoom(t, factor) {
    const limited = Math.min(Math.max(factor, MIN_SPAN_NS / this.span), (this.high - this.low) / this.span);
    this.setWindow(t - (t - this.t0) * limited, t + (this.t1 - t) * limited);
  }

  /** @param {number} dt */
  pan(dt) {
    this.setWindow(this.t0 + dt, this.t1 + dt);
  }

  /**
   * Show a time range with some room around it.
   * @param {number} from
   * @param {number} to
   * @param {number} [room] share of its length on either side
   */
  fitRange(from, to, room = 0.05) {
    this.recordWindow();
    const side = Math.max((to - from) * room, MIN_SPAN_NS);
    this.setWindow(from - side, to + side);
  }

  /**
   * Moves, and zooms out if needed, until an event is in sight.
   * @param {number} from
   * @param {number} to
   */
  revealRange(from, to) {
    if (from >= this.t0 && to <= this.t1 && to - from > this.span / 2000) return;
    const span = Math.max(Math.min(this.span, (to - from) * 200), (to - from) * 1.5);
    const middle = (from + to) / 2;
    this.recordWindow();
    this.setWindow(middle - span / 2, middle + span / 2);
  }

  showAll() {
    this.recordWindow();
    this.setWindow(this.low, this.high);
  }

  /** Record the window for `undo`. Jumps call it first, however soon they follow each other. */
  recordWindow() {
    if (this.rested[0] === this.t0 && this.rested[1] === this.t1) return;
    this.past.push(this.rested);
    if (this.past.length > MAX_UNDO) this.past.shift();
    this.rested = [this.t0, this.t1];
  }

  undo() {
    this.recordWindow();
    const last = this.past.pop();
    if (!last) return;
    this.rested = last;
    this.setWindow(...last);
  }
}

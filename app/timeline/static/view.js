/** The window of time in sight: zooming, panning, taking it back. */

const LEAST_NS = 20;
const MARGIN = 0.02;
const MOST_UNDO = 100;

export class View {
  /**
   * @param {number} begin first time of the capture
   * @param {number} end last time of it
   * @param {() => void} changed
   */
  constructor(begin, end, changed) {
    this.changed = changed;
    this.begin = this.end = this.low = this.high = 0;
    this.extent(begin, end);
    this.t0 = this.low;
    this.t1 = this.high;
    /** @type {[number, number][]} */
    this.past = [];
    /** @type {[number, number]} */
    this.rested = [this.t0, this.t1];
  }

  /** Sets the first and the last time that there is to see. @param {number} begin @param {number} end */
  extent(begin, end) {
    this.begin = begin;
    this.end = Math.max(end, begin + LEAST_NS);
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
   * Shows a stretch of time, as far as it is one and lies in the capture.
   * @param {number} t0
   * @param {number} t1
   */
  set(t0, t1) {
    if (!(Number.isFinite(t0) && Number.isFinite(t1))) return;
    const { low, high } = this;
    const span = Math.min(Math.max(t1 - t0, LEAST_NS), high - low);
    const from = Math.min(Math.max(t1 - t0 < LEAST_NS ? (t0 + t1 - span) / 2 : t0, low), high - span);
    if (from === this.t0 && from + span === this.t1) return;
    this.t0 = from;
    this.t1 = from + span;
    this.changed();
  }

  /**
   * Makes the window longer or shorter around a time that stays in its place.
   * @param {number} t
   * @param {number} factor above 1: more in sight
   */
  zoom(t, factor) {
    const kept = Math.min(Math.max(factor, LEAST_NS / this.span), (this.high - this.low) / this.span);
    this.set(t - (t - this.t0) * kept, t + (this.t1 - t) * kept);
  }

  /** @param {number} dt */
  pan(dt) {
    this.set(this.t0 + dt, this.t1 + dt);
  }

  /**
   * Brings a stretch of time into sight with some room around it.
   * @param {number} from
   * @param {number} to
   * @param {number} [room] share of its length on either side
   */
  fit(from, to, room = 0.05) {
    this.rest();
    const side = Math.max((to - from) * room, LEAST_NS);
    this.set(from - side, to + side);
  }

  /**
   * Moves, and zooms out where needed, so that an event is in sight.
   * @param {number} from
   * @param {number} to
   */
  reveal(from, to) {
    if (from >= this.t0 && to <= this.t1 && to - from > this.span / 2000) return;
    const span = Math.max(Math.min(this.span, (to - from) * 200), (to - from) * 1.5);
    const middle = (from + to) / 2;
    this.rest();
    this.set(middle - span / 2, middle + span / 2);
  }

  all() {
    this.rest();
    this.set(this.low, this.high);
  }

  /** Notes where the reader came to rest; `undo` goes back to there. A jump begins from there, however soon it comes. */
  rest() {
    if (this.rested[0] === this.t0 && this.rested[1] === this.t1) return;
    this.past.push(this.rested);
    if (this.past.length > MOST_UNDO) this.past.shift();
    this.rested = [this.t0, this.t1];
  }

  undo() {
    this.rest();
    const last = this.past.pop();
    if (!last) return;
    this.rested = last;
    this.set(...last);
  }
}

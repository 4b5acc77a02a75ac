/** Which tiles the picture needs, the most important first: what is in sight, the whole capture, what comes next. */

/** @import { Timeline } from "./timeline.js" */

import { mapLanes, wholeLevel } from "./ruler.js";
import { span } from "./tiles.js";

const MOST = 160;
const AHEAD_PX = 400;

/**
 * @param {Timeline} app
 * @returns {[number, number, number][]} group, level, number
 */
export function wanted(app) {
  const { view, level } = app, wide = span(level);
  const low = Math.floor((app.data.begin_ns ?? 0) / wide), high = Math.floor(app.data.end_ns / wide);
  const first = Math.max(low, Math.floor(view.t0 / wide)), last = Math.min(high, Math.floor(view.t1 / wide));
  const near = groups(app, 0), around = groups(app, AHEAD_PX).filter((group) => !near.includes(group));
  /** @type {[number, number, number][]} */
  const list = [];
  const add = (/** @type {number[]} */ of, /** @type {number} */ z, /** @type {number} */ from, /** @type {number} */ to) => {
    for (let i = from; i <= to; i++) for (const group of of) list.push([group, z, i]);
  };
  const whole = wholeLevel(app);
  if (!near.every((group) => app.tiles.have(group, whole, 0))) add(near, whole, 0, 0);
  add(near, level, first, last);
  add([...new Set(mapLanes(app).flatMap((lane) => lane.group ?? []))], whole, 0, 0);
  if (first > low) add(near, level, first - 1, first - 1);
  if (last < high) add(near, level, last + 1, last + 1);
  add(around, level, first, last);
  if (level < whole) add(near, level + 1, Math.floor(first / 2), Math.floor(last / 2));
  const middle = Math.floor((view.t0 + view.t1) / 2 / span(Math.max(0, level - 1)));
  if (level > 0) add(near, level - 1, Math.max(low, middle - 1), middle + 1);
  const seen = new Set();
  return list.filter((one) => !seen.has(one.join()) && seen.add(one.join())).slice(0, MOST);
}

/**
 * The groups of lanes in sight, or so many pixels below and above.
 * @param {Timeline} app
 * @param {number} ahead
 */
function groups(app, ahead) {
  /** @type {Set<number>} */
  const found = new Set();
  for (const { slot } of app.lanes.visible(app.scroll - ahead, app.height + 2 * ahead)) {
    if (slot.lane.group !== null) found.add(slot.lane.group);
  }
  return [...found];
}

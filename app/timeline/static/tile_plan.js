/** Which tiles the picture needs, the most important first: what is in sight, the whole capture, what comes next. */

/** @import { Timeline } from "./timeline.js" */

import { listMapLanes, getWholeLevel } from "./minimap.js";
import { getTileSpan } from "./tile_cache.js";

const MOST = 160;
const AHEAD_PX = 400;

/**
 * @param {Timeline} app
 * @returns {[number, number, number][]} group, level, number
 */
export function planTiles(app) {
  const { view, level, sources } = app;
  const shade = app.overhead.flatMap((lane) => lane.group ?? []);
  const near = [...new Set([...listGroups(app, 0), ...shade])], around = listGroups(app, AHEAD_PX).filter((group) => !near.includes(group));
  /** @type {[number, number, number][]} */
  const list = [];
  const whole = (/** @type {number[]} */ of) => of.forEach((group) => list.push([group, getWholeLevel(sources.of(group)), 0]));
  /** Tiles of a stretch of time, and so many more on either side. */
  const add = (/** @type {number[]} */ of, /** @type {number} */ z, /** @type {number} */ t0, /** @type {number} */ t1, beside = 0) => {
    for (const group of of) {
      const { shift, begin, end } = sources.of(group), at = (/** @type {number} */ t) => Math.floor((t - shift) / getTileSpan(z));
      for (let i = Math.max(at(begin), at(t0) - beside); i <= Math.min(at(end), at(t1) + beside); i++) list.push([group, z, i]);
    }
  };
  const coarse = getWholeLevel(sources.main), middle = (view.t0 + view.t1) / 2;
  if (!near.every((group) => app.tiles.have(group, getWholeLevel(sources.of(group)), 0))) whole(near);
  add(near, level, view.t0, view.t1);
  whole([...new Set(sources.list.flatMap((source) => listMapLanes(source).map(({ group }) => group)))]);
  add(near, level, view.t0, view.t1, 1);
  add(around, level, view.t0, view.t1);
  if (level < coarse) add(near, level + 1, view.t0, view.t1);
  if (level > 0) add(near, level - 1, middle, middle, 1);
  const seen = new Set();
  return list.filter((one) => !seen.has(one.join()) && seen.add(one.join())).slice(0, MOST);
}

/**
 * The groups of lanes in sight, or so many pixels below and above.
 * @param {Timeline} app
 * @param {number} ahead
 */
function listGroups(app, ahead) {
  /** @type {Set<number>} */
  const found = new Set();
  for (const { slot } of app.lanes.visible(app.scroll - ahead, app.height + 2 * ahead)) {
    if (slot.lane.group !== null) found.add(slot.lane.group);
  }
  return [...found];
}

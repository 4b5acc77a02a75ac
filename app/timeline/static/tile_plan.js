/** Plan which tiles to fetch, most important first: those in sight, the whole capture, those likely to come next. */

/** @import { Timeline } from "./timeline.js" */

import { listMapLanes, getWholeLevel } from "./minimap.js";
import { getTileSpan } from "./tile_cache.js";

const MAX_TILES = 160;
const AHEAD_PX = 400;

/**
 * @param {Timeline} app
 * @returns {[number, number, number][]} group, level, index
 */
export function planTiles(app) {
  const { view, level, sources } = app;
  const shade = app.overhead.flatMap((lane) => lane.group ?? []);
  const near = [...new Set([...listGroups(app, 0), ...shade])], around = listGroups(app, AHEAD_PX).filter((group) => !near.includes(group));
  /** @type {[number, number, number][]} */
  const list = [];
  const addWhole = (/** @type {number[]} */ groups) => groups.forEach((group) => list.push([group, getWholeLevel(sources.sourceOf(group)), 0]));
  /** Add the tiles of a time range, and `extra` more on either side. */
  const add = (/** @type {number[]} */ groups, /** @type {number} */ z, /** @type {number} */ t0, /** @type {number} */ t1, extra = 0) => {
    for (const group of groups) {
      const { shift, begin, end } = sources.sourceOf(group), at = (/** @type {number} */ t) => Math.floor((t - shift) / getTileSpan(z));
      for (let i = Math.max(at(begin), at(t0) - extra); i <= Math.min(at(end), at(t1) + extra); i++) list.push([group, z, i]);
    }
  };
  const coarse = getWholeLevel(sources.main), middle = (view.t0 + view.t1) / 2;
  if (!near.every((group) => app.tiles.getTile(group, getWholeLevel(sources.sourceOf(group)), 0))) addWhole(near);
  add(near, level, view.t0, view.t1);
  addWhole([...new Set(sources.list.flatMap((source) => listMapLanes(source).map(({ group }) => group)))]);
  add(near, level, view.t0, view.t1, 1);
  add(around, level, view.t0, view.t1);
  if (level < coarse) add(near, level + 1, view.t0, view.t1);
  if (level > 0) add(near, level - 1, middle, middle, 1);
  const seen = new Set();
  return list.filter((one) => !seen.has(one.join()) && seen.add(one.join())).slice(0, MAX_TILES);
}

/**
 * Return the groups of lanes in sight, and up to `ahead` pixels above and below.
 * @param {Timeline} app
 * @param {number} ahead
 */
function listGroups(app, ahead) {
  /** @type {Set<number>} */
  const groups = new Set();
  for (const { slot } of app.lanes.listVisible(app.scroll - ahead, app.height + 2 * ahead)) {
    if (slot.lane.group !== null) groups.add(slot.lane.group);
  }
  return [...groups];
}

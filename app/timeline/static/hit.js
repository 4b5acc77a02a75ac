/** What lies under a point of the picture, and what lies in the window. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Item, Slot } from "./types.js" */

import { item } from "./bars.js";
import { cover } from "./draw.js";
import { collect } from "./lines.js";

const NEAR_PX = 2;

/**
 * The lane at a height, and its row.
 * @param {Timeline} app
 * @param {number} y px from the top of the lanes
 * @returns {{slot: Slot, row: number}|null}
 */
export function laneAt(app, y) {
  const found = app.lanes.visible(app.scroll, app.height).findLast((one) => one.y <= y && y < one.y + one.slot.h && (one.slot.pinned || y >= app.lanes.topHeight));
  if (!found) return null;
  return { slot: found.slot, row: Math.floor((y - found.y - 2) / found.slot.rowHeight) };
}

/**
 * The item that is drawn at a point, or the nearest one within two pixels.
 * @param {Timeline} app
 * @param {number} x
 * @param {number} y
 * @returns {Item|null}
 */
export function itemAt(app, x, y) {
  const at = laneAt(app, y);
  if (!at || at.row >= at.slot.rows || app.lanes.isParent(at.slot.lane)) return null;
  const scale = app.width / app.view.span, t = app.view.t0 + x / scale, near = NEAR_PX / scale;
  let best = null, distance = near;
  for (const { tile, from, to } of cover(app, [at.slot]).get(at.slot.lane.group ?? -1) ?? []) {
    if (to < t - near || from > t + near) continue;
    for (const k of tile.of.get(at.slot.lane.id) ?? []) {
      if (tile.row[k] !== at.row || tile.start[k] >= to || tile.end[k] < from) continue;
      const away = Math.max(tile.start[k] - t, t - Math.max(tile.end[k], tile.start[k] + 1 / scale), 0);
      if (away < distance || (away === distance && !best)) {
        best = item(tile, k);
        distance = away;
        if (!away) return best;
      }
    }
  }
  return best;
}

/**
 * The value of a curve at a point.
 * @param {Timeline} app
 * @param {number} x
 * @param {number} y
 */
export function valueAt(app, x, y) {
  const at = laneAt(app, y);
  if (!at || at.slot.lane.kind !== "line") return null;
  const frame = { t0: app.view.t0, t1: app.view.t1, scale: app.width / app.view.span, width: app.width, endOf: (/** @type {number} */ lane) => app.sources.of(lane).end };
  const points = collect(frame, at.slot, cover(app, [at.slot]).get(at.slot.lane.group ?? -1) ?? []);
  const found = points.findLast((one) => one.x0 <= x && x <= one.x1 + NEAR_PX);
  return found ? { lane: at.slot.lane, start: found.start, mean: found.mean, min: found.min, max: found.max } : null;
}

/**
 * The items of a lane in the window, each once, in the order of time.
 * @param {Timeline} app
 * @param {Pick<Slot, "lane">} slot
 * @param {number} [most]
 * @returns {Item[]}
 */
export function itemsOf(app, slot, most = Infinity) {
  /** @type {Map<string, Item>} */
  const found = new Map();
  for (const { tile, from, to } of cover(app, [slot]).get(slot.lane.group ?? -1) ?? []) {
    for (const k of tile.of.get(slot.lane.id) ?? []) {
      const first = Math.max(from, app.view.t0), last = Math.min(to, app.view.t1);
      if (tile.start[k] >= last || tile.end[k] <= first) continue;
      found.set(`${tile.row[k]}/${tile.start[k]}/${tile.ref[k]}`, item(tile, k));
    }
  }
  const items = [...found.values()].sort((a, b) => a.start - b.start || a.row - b.row);
  return items.length > most ? items.slice(0, most) : items;
}

/**
 * The share of the window in which a lane holds something.
 * @param {Timeline} app
 * @param {Slot} slot
 */
export function busyShare(app, slot) {
  const source = app.sources.of(slot.lane.id), from = Math.max(source.shift, app.view.t0), to = Math.min(source.end, app.view.t1);
  let reached = from, busy = 0;
  for (const one of itemsOf(app, slot)) {
    const start = Math.max(one.start, reached), end = Math.min(one.end, to);
    if (end <= start) continue;
    busy += (end - start) * (one.count === 1 ? 1 : one.busy);
    reached = end;
  }
  return to > from ? Math.min(1, busy / (to - from)) : 0;
}

/**
 * The edge of an event under a point's lane that is near enough to snap to, else the time itself.
 * @param {Timeline} app
 * @param {number} x
 * @param {number} y
 * @param {number} [reach] px
 */
export function snapped(app, x, y, reach = 6) {
  const scale = app.width / app.view.span, t = app.view.t0 + x / scale, at = laneAt(app, y);
  if (!at || app.lanes.isParent(at.slot.lane)) return t;
  let best = t, distance = reach / scale;
  for (const one of itemsOf(app, at.slot)) {
    for (const edge of one.count === 1 ? [one.start, one.end] : []) {
      if (Math.abs(edge - t) < distance) {
        distance = Math.abs(edge - t);
        best = edge;
      }
    }
  }
  return best;
}

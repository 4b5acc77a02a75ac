/** Find events, lanes and values under a point of the picture, and the events of a lane in the window. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Item, Slot } from "./types.js" */

import { readItem } from "./bars.js";
import { coverWindow } from "./pieces.js";
import { collectPoints } from "./curves.js";

const NEAR_PX = 2;

/**
 * Return the lane at a height, and its row.
 * @param {Timeline} app
 * @param {number} y px from the top of the lanes
 * @returns {{slot: Slot, row: number}|null}
 */
export function findLaneAt(app, y) {
  const shown = app.lanes.listVisible(app.scroll, app.height).findLast((one) => one.y <= y && y < one.y + one.slot.h && (one.slot.pinned || y >= app.lanes.topHeight));
  if (!shown) return null;
  return { slot: shown.slot, row: Math.floor((y - shown.y - 2) / shown.slot.rowHeight) };
}

/**
 * Return the item at a point, or the nearest one within two pixels.
 * @param {Timeline} app
 * @param {number} x
 * @param {number} y
 * @returns {Item|null}
 */
export function findItemAt(app, x, y) {
  const at = findLaneAt(app, y);
  if (!at || at.row >= at.slot.rows || app.lanes.isParent(at.slot.lane)) return null;
  const scale = app.width / app.view.span, t = app.view.t0 + x / scale, near = NEAR_PX / scale;
  let best = null, distance = near;
  for (const { tile, from, to } of coverWindow(app, [at.slot]).get(at.slot.lane.group ?? -1) ?? []) {
    if (to < t - near || from > t + near) continue;
    for (const k of tile.items.get(at.slot.lane.id) ?? []) {
      if (tile.row[k] !== at.row || tile.start[k] >= to || tile.end[k] < from) continue;
      const away = Math.max(tile.start[k] - t, t - Math.max(tile.end[k], tile.start[k] + 1 / scale), 0);
      if (away < distance || (away === distance && !best)) {
        best = readItem(tile, k);
        distance = away;
        if (!away) return best;
      }
    }
  }
  return best;
}

/**
 * Return the value of a curve at a point.
 * @param {Timeline} app
 * @param {number} x
 * @param {number} y
 */
export function findValueAt(app, x, y) {
  const at = findLaneAt(app, y);
  if (!at || at.slot.lane.kind !== "line") return null;
  const frame = { t0: app.view.t0, t1: app.view.t1, scale: app.width / app.view.span, width: app.width, endOf: (/** @type {number} */ lane) => app.sources.sourceOf(lane).end };
  const points = collectPoints(frame, at.slot, coverWindow(app, [at.slot]).get(at.slot.lane.group ?? -1) ?? []);
  const point = points.findLast((one) => one.x0 <= x && x <= one.x1 + NEAR_PX);
  return point ? { lane: at.slot.lane, start: point.start, mean: point.mean, min: point.min, max: point.max } : null;
}

/**
 * Return the items of a lane in the window, each once, sorted by start.
 * @param {Timeline} app
 * @param {Pick<Slot, "lane">} slot
 * @param {number} [most]
 * @returns {Item[]}
 */
export function listItems(app, slot, most = Infinity) {
  /** @type {Map<string, Item>} */
  const unique = new Map();
  for (const { tile, from, to } of coverWindow(app, [slot]).get(slot.lane.group ?? -1) ?? []) {
    for (const k of tile.items.get(slot.lane.id) ?? []) {
      const first = Math.max(from, app.view.t0), last = Math.min(to, app.view.t1);
      if (tile.start[k] >= last || tile.end[k] <= first) continue;
      unique.set(`${tile.row[k]}/${tile.start[k]}/${tile.ref[k]}`, readItem(tile, k));
    }
  }
  const items = [...unique.values()].sort((a, b) => a.start - b.start || a.row - b.row);
  return items.length > most ? items.slice(0, most) : items;
}

/**
 * Return the share of the window in which a lane is busy.
 * @param {Timeline} app
 * @param {Slot} slot
 */
export function getBusyShare(app, slot) {
  const source = app.sources.sourceOf(slot.lane.id), from = Math.max(source.shift, app.view.t0), to = Math.min(source.end, app.view.t1);
  let reached = from, busy = 0;
  for (const one of listItems(app, slot)) {
    const start = Math.max(one.start, reached), end = Math.min(one.end, to);
    if (end <= start) continue;
    busy += (end - start) * (one.count === 1 ? 1 : one.busy);
    reached = end;
  }
  return to > from ? Math.min(1, busy / (to - from)) : 0;
}

/**
 * Return the edge of the event to snap to near a point, else the time of the point.
 * @param {Timeline} app
 * @param {number} x
 * @param {number} y
 * @param {number} [reach] px
 */
export function snapTime(app, x, y, reach = 6) {
  const scale = app.width / app.view.span, t = app.view.t0 + x / scale, at = findLaneAt(app, y);
  if (!at || app.lanes.isParent(at.slot.lane)) return t;
  let best = t, distance = reach / scale;
  for (const one of listItems(app, at.slot)) {
    for (const edge of one.count === 1 ? [one.start, one.end] : []) {
      if (Math.abs(edge - t) < distance) {
        distance = Math.abs(edge - t);
        best = edge;
      }
    }
  }
  return best;
}

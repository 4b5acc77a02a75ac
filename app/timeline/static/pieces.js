/** The cached tiles that cover the window. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Piece, Slot } from "./types.js" */

import { getTileSpan } from "./tile_cache.js";

/**
 * Return the pieces to draw by group of lanes: tiles of the window's level, and tiles of other levels until those arrive.
 * @param {Timeline} app
 * @param {Pick<Slot, "lane">[]} slots
 * @returns {Map<number, Piece[]>}
 */
export function coverWindow(app, slots) {
  const { view, tiles, level } = app, tileSpan = getTileSpan(level);
  /** @type {Map<number, Piece[]>} */
  const covers = new Map();
  for (const { lane } of slots) {
    if (lane.group === null || covers.has(lane.group)) continue;
    /** @type {Piece[]} */
    const pieces = [], { shift } = app.sources.sourceOf(lane.group);
    const first = Math.floor((view.t0 - shift) / tileSpan), last = Math.floor((view.t1 - shift) / tileSpan);
    for (let i = first; i <= last; i++) tiles.collectPieces(lane.group, level, i, pieces, shift);
    covers.set(lane.group, pieces);
  }
  return covers;
}

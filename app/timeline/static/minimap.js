/** The minimap above the axis: busy share of each report over its capture, search hits, and the window. */

/** @import { Source } from "./sources.js" */
/** @import { Timeline } from "./timeline.js" */

import { BINS, getTileSpan } from "./tile_cache.js";

const MAP_PX = 18;
const MIN_STRIP_PX = 14;
const HITS_PX = 5;
const MARGIN_PX = 3;

/** Return the height: a strip for each report. @param {number} reports */
export function getMapHeight(reports) {
  return Math.max(MAP_PX, reports * MIN_STRIP_PX);
}

/** Return the level at which one tile covers a whole report. @param {{data: {end_ns: number}}} source */
export function getWholeLevel({ data }) {
  return Math.max(0, Math.ceil(Math.log2(Math.max(1, data.end_ns) / BINS)));
}

/**
 * Return the lanes whose busy time is shown: kernels, else copies, else ranges, else calls, else the first lanes.
 * @param {Source} source
 * @returns {{lane: number, group: number}[]} numbered across all reports
 */
export function listMapLanes(source) {
  const lanes = source.data.lanes.flatMap(({ id, kind, group }) => (group === null || kind === "line" ? [] : [{ kind, lane: id + source.offset, group: group + source.offset }]));
  for (const kinds of [["stream", "kernel"], ["memop"], ["range"], ["api"]]) {
    const matching = lanes.filter((one) => kinds.includes(one.kind));
    if (matching.length) return matching.slice(0, 64);
  }
  return lanes.slice(0, 8);
}

/**
 * Compute how busy those lanes are: for each report, a share for each bin of its coarsest tile.
 * @param {Timeline} app
 * @returns {Float32Array[]}
 */
export function computeBusyShares(app) {
  return app.sources.list.map((source) => computeShares(app, source));
}

/** @param {Timeline} app @param {Source} source */
function computeShares(app, source) {
  const z = getWholeLevel(source), bin = 2 ** z, shares = new Float32Array(BINS);
  for (const { lane, group } of listMapLanes(source)) {
    const tile = app.tiles.getTile(group, z, 0);
    for (const at of tile?.items.get(lane) ?? []) {
      if (!tile || tile.row[at]) continue;
      const start = tile.start[at] - source.shift, end = tile.end[at] - source.shift;
      const first = Math.max(0, Math.floor(start / bin)), last = Math.min(BINS - 1, Math.floor((end - 1e-3) / bin));
      for (let k = first; k <= last; k++) {
        const inside = Math.min(end, (k + 1) * bin) - Math.max(start, k * bin);
        shares[k] = Math.min(1, shares[k] + (Math.max(0, inside) / bin) * (tile.count[at] === 1 ? 1 : tile.busy[at]));
      }
    }
  }
  return shares;
}

/**
 * Draw the minimap and the window in it.
 * @param {Timeline} app
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} width
 * @param {number} height
 */
export function drawMinimap(app, ctx, width, height) {
  const { colors, view } = app, { list } = app.sources, scale = width / (view.high - view.low), strip = height / list.length;
  ctx.fillStyle = colors.faint;
  ctx.fillRect(0, 0, width, height);
  list.forEach((source, at) => {
    drawBusyShares(app, ctx, source, app.busy?.[at] ?? new Float32Array(0), scale, strip * at, strip);
    drawHits(app, ctx, source, app.search.density[at] ?? [], scale, strip * (at + 1));
    if (!at) return;
    ctx.fillStyle = colors.line;
    ctx.fillRect(0, Math.round(strip * at), width, 1);
  });
  const x0 = Math.max(0, (view.t0 - view.low) * scale), x1 = Math.min(width, (view.t1 - view.low) * scale);
  ctx.fillStyle = colors.ground;
  ctx.globalAlpha = 0.6;
  ctx.fillRect(0, 0, x0, height);
  ctx.fillRect(x1, 0, width - x1, height);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = colors.accent;
  ctx.lineWidth = 2;
  ctx.strokeRect(x0 + 1, 1, Math.max(2, x1 - x0 - 2), height - 2);
}

/** Draw the busy shares of a report. @param {Timeline} app @param {CanvasRenderingContext2D} ctx @param {Source} source @param {Float32Array} shares @param {number} scale @param {number} top @param {number} height */
function drawBusyShares(app, ctx, source, shares, scale, top, height) {
  const bin = getTileSpan(getWholeLevel(source)) / BINS, from = source.shift - app.view.low;
  ctx.fillStyle = app.colors.accent;
  ctx.globalAlpha = 0.75;
  for (let k = 0; k < shares.length; k++) {
    const h = shares[k] * (height - MARGIN_PX);
    if (h > 0) ctx.fillRect((from + k * bin) * scale, top + height - Math.max(1, h), Math.max(0.7, bin * scale), Math.max(1, h));
  }
  ctx.globalAlpha = 1;
}

/** Draw where the hits of the search are. @param {Timeline} app @param {CanvasRenderingContext2D} ctx @param {Source} source @param {number[]} hitsByBin @param {number} scale @param {number} bottom */
function drawHits(app, ctx, source, hitsByBin, scale, bottom) {
  const most = Math.max(1, ...app.search.density.flat()), wide = (source.data.end_ns / Math.max(1, hitsByBin.length)) * scale;
  ctx.fillStyle = app.colors.mark;
  hitsByBin.forEach((hits, at) => {
    if (!hits) return;
    ctx.globalAlpha = 0.4 + 0.6 * (hits / most);
    ctx.fillRect((source.shift - app.view.low) * scale + at * wide, bottom - HITS_PX, Math.max(1.5, wide), HITS_PX);
  });
  ctx.globalAlpha = 1;
}

/** The time axis above the lanes, and the minimap of the whole capture above it. */

/** @import { Timeline } from "./timeline.js" */

import { drawSteps, STRIP_PX } from "./steps.js";
import { BINS, span } from "./tiles.js";

/**
 * Draws the axis: ticks, the steps of the program, marks.
 * @param {Timeline} app
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} width
 * @param {number} height
 */
export function axis(app, ctx, width, height) {
  const { view, colors } = app, scale = width / view.span;
  const x = (/** @type {number} */ t) => (t - view.t0) * scale, strip = app.steps.length ? STRIP_PX : 0;
  ctx.fillStyle = colors.ground;
  ctx.fillRect(0, 0, width, height);
  ctx.font = `11px ${colors.font}`;
  ctx.textBaseline = "middle";
  for (const { t, text } of app.clock.ticks(view.t0, view.t1, width / (app.clock.from === "absolute" ? 190 : 110))) {
    ctx.fillStyle = colors.line;
    ctx.fillRect(Math.round(x(t)), height - 7, 1, 7);
    if (x(t) + 4 + ctx.measureText(text).width > width) continue;
    ctx.fillStyle = colors.quiet;
    ctx.textAlign = "left";
    ctx.fillText(text, Math.round(x(t)) + 4, (height + strip) / 2);
  }
  if (strip) drawSteps(app, ctx, app.steps, 0, strip, width);
  if (app.area) {
    ctx.fillStyle = colors.accent;
    ctx.globalAlpha = 0.3;
    ctx.fillRect(x(app.area.from), 0, Math.max(1, x(app.area.to) - x(app.area.from)), height);
    ctx.globalAlpha = 1;
  }
  for (const mark of app.marks.all) flag(app, ctx, x(mark.t), strip, height, mark.note);
  ctx.fillStyle = colors.line;
  ctx.fillRect(0, height - 1, width, 1);
}

/** @param {Timeline} app @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} top @param {number} height @param {string} note */
function flag(app, ctx, x, top, height, note) {
  const text = note.length > 24 ? `${note.slice(0, 23)}…` : note, wide = text ? ctx.measureText(text).width + 10 : 8;
  ctx.fillStyle = app.colors.mark;
  ctx.fillRect(Math.round(x), top, wide, 13);
  ctx.fillRect(Math.round(x), 0, 1, height);
  ctx.fillStyle = app.colors.ground;
  ctx.fillText(text, Math.round(x) + 5, top + 7);
}

/** The level at which one tile covers everything of a report. @param {{data: {end_ns: number}}} of */
export function wholeLevel({ data }) {
  return Math.max(0, Math.ceil(Math.log2(Math.max(1, data.end_ns) / BINS)));
}

/**
 * The lanes whose busy time the minimap shows: kernels and copies of GPUs, else whatever there is.
 * @param {Timeline} app
 */
export function mapLanes(app) {
  const lanes = app.data.lanes.filter((lane) => lane.group !== null && lane.kind !== "line");
  for (const kinds of [["stream", "kernel"], ["memop"], ["range"], ["api"]]) {
    const found = lanes.filter((lane) => kinds.includes(lane.kind));
    if (found.length) return found.slice(0, 64);
  }
  return lanes.slice(0, 8);
}

/**
 * How busy those lanes are over the capture, a share for each bin of the coarsest tile.
 * @param {Timeline} app
 * @returns {Float32Array}
 */
export function busyShares(app) {
  const z = wholeLevel(app), bin = 2 ** z, shares = new Float32Array(BINS);
  for (const lane of mapLanes(app)) {
    const tile = app.tiles.have(lane.group ?? -1, z, 0);
    for (const at of tile?.of.get(lane.id) ?? []) {
      if (!tile || tile.row[at]) continue;
      const first = Math.max(0, Math.floor(tile.start[at] / bin)), last = Math.min(BINS - 1, Math.floor((tile.end[at] - 1e-3) / bin));
      for (let k = first; k <= last; k++) {
        const inside = Math.min(tile.end[at], (k + 1) * bin) - Math.max(tile.start[at], k * bin);
        shares[k] = Math.min(1, shares[k] + (Math.max(0, inside) / bin) * (tile.count[at] === 1 ? 1 : tile.busy[at]));
      }
    }
  }
  return shares;
}

/**
 * Draws the minimap with the window in it.
 * @param {Timeline} app
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} width
 * @param {number} height
 */
export function minimap(app, ctx, width, height) {
  const { colors, view } = app, scale = width / (view.high - view.low), bin = span(wholeLevel(app)) / BINS;
  ctx.fillStyle = colors.faint;
  ctx.fillRect(0, 0, width, height);
  const shares = app.busy ?? new Float32Array(0);
  ctx.fillStyle = colors.accent;
  ctx.globalAlpha = 0.75;
  for (let k = 0; k < shares.length; k++) {
    const h = shares[k] * (height - 4);
    if (h > 0) ctx.fillRect((k * bin - view.low) * scale, height - Math.max(1, h), Math.max(0.7, bin * scale), Math.max(1, h));
  }
  ctx.globalAlpha = 1;
  density(app, ctx, scale, height);
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

/** Where the hits of the search are. @param {Timeline} app @param {CanvasRenderingContext2D} ctx @param {number} scale @param {number} height */
function density(app, ctx, scale, height) {
  const found = app.search.density;
  if (!found.length) return;
  const most = Math.max(1, ...found), wide = (app.data.end_ns / found.length) * scale;
  ctx.fillStyle = app.colors.mark;
  found.forEach((hits, at) => {
    if (!hits) return;
    ctx.globalAlpha = 0.4 + 0.6 * (hits / most);
    ctx.fillRect(-app.view.low * scale + at * wide, height - 5, Math.max(1.5, wide), 5);
  });
  ctx.globalAlpha = 1;
}

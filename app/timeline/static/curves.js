/** Curves of sampled values: the mean of each bin, within its minimum and maximum. */

/** @import { Piece, Slot } from "./types.js" */
/** @import { Frame } from "./bars.js" */

/**
 * @param {Frame} frame
 * @param {Slot} slot
 * @param {number} y top of the lane on the canvas
 * @param {Piece[]} pieces
 * @returns {number} points drawn
 */
export function drawCurve(frame, slot, y, pieces) {
  const { ctx, colors } = frame, points = collectPoints(frame, slot, pieces);
  if (!points.length) return 0;
  const high = slot.h - 8, most = getTopValue(slot, points), base = y + 4 + high;
  const at = (/** @type {number} */ value) => base - (Math.max(0, Math.min(value, most)) / most) * high;
  ctx.fillStyle = ctx.strokeStyle = colors.accent;
  ctx.globalAlpha = 0.18;
  ctx.beginPath();
  traceSteps(ctx, points, (one) => at(one.max));
  for (let k = points.length - 1; k >= 0; k--) {
    ctx.lineTo(points[k].x1, at(points[k].min));
    ctx.lineTo(points[k].x0, at(points[k].min));
  }
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.2;
  ctx.beginPath();
  traceSteps(ctx, points, (one) => at(one.mean));
  ctx.stroke();
  return points.length;
}

/** @typedef {{x0: number, x1: number, start: number, mean: number, min: number, max: number}} Point */

/**
 * Return the visible points of a lane. Each value holds until the next one, the last until the end of the capture.
 * @param {Pick<Frame, "t0" | "t1" | "scale" | "width" | "endOf">} frame @param {Slot} slot @param {Piece[]} pieces
 * @returns {Point[]}
 */
export function collectPoints(frame, slot, pieces) {
  /** @type {Point[]} */
  const points = [];
  for (const { tile, from, to } of pieces) {
    for (const at of tile.points.get(slot.lane.id) ?? []) {
      // The first point of a tile may be the value from before the tile.
      const start = Math.max(from, tile.pointStart[at]);
      if (start >= to || start > frame.t1) continue;
      const x0 = (start - frame.t0) * frame.scale;
      points.push({ x0, x1: x0, start, mean: tile.mean[at], min: tile.min[at], max: tile.max[at] });
    }
  }
  points.sort((a, b) => a.x0 - b.x0);
  const last = Math.min(frame.width, (frame.endOf(slot.lane.id) - frame.t0) * frame.scale);
  points.forEach((one, at) => (one.x1 = at + 1 < points.length ? points[at + 1].x0 : Math.max(one.x0, last)));
  return points.filter((one) => one.x1 >= 0);
}

/**
 * Return the value at the top of a lane.
 * @param {Slot} slot
 * @param {Point[]} points
 */
export function getTopValue(slot, points) {
  return slot.lane.max || Math.max(...points.map((one) => one.max)) || 1;
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Point[]} points
 * @param {(one: Point) => number} height
 */
function traceSteps(ctx, points, height) {
  points.forEach((one, at) => {
    if (at) ctx.lineTo(one.x0, height(one));
    else ctx.moveTo(one.x0, height(one));
    ctx.lineTo(one.x1, height(one));
  });
}

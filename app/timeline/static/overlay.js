/** The overlay of the lanes: area, hovered event, chosen event with its arrows, marks. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Arrow, End, Slot } from "./types.js" */

const MAX_ARROWS = 40;

/** @typedef {{slot: Slot, y: number}} Shown */

/**
 * @param {Timeline} app
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} width
 * @param {number} height
 * @param {Shown[]} shown
 */
export function drawOverlay(app, ctx, width, height, shown) {
  const { view, colors } = app, scale = width / view.span;
  const x = (/** @type {number} */ t) => (t - view.t0) * scale;
  if (app.selected) shadeUnselected(app, ctx, x(app.selected.from), x(app.selected.to), width, height);
  if (app.area) drawArea(app, ctx, x(app.area.from), x(app.area.to), height, shown);
  if (app.hover && app.hover.count === 1) drawBox(ctx, x, findPlace(shown, app.hover), app.hover, colors.text, 1, 0.7);
  const chosen = app.chosen;
  if (chosen) {
    for (const arrow of chosen.arrows.slice(0, MAX_ARROWS)) drawArrow(app, ctx, x, shown, arrow);
    drawBox(ctx, x, findPlace(shown, chosen), chosen, colors.text, 2, 1);
  }
  for (const mark of app.marks.all) drawLine(ctx, x(mark.t), height, colors.mark);
  const measured = app.measured;
  if (measured) drawGap(app, ctx, x(measured.from), x(measured.to), height);
  if (app.cursor !== null) drawLine(ctx, x(app.cursor), height, colors.quiet, 0.5);
}

/**
 * Return where a row of a lane is drawn.
 * @param {Shown[]} shown
 * @param {{lane: number, row?: number}} event
 * @returns {{y: number, h: number}|null}
 */
function findPlace(shown, event) {
  const lane = shown.find((one) => one.slot.lane.id === event.lane);
  if (!lane) return null;
  return { y: lane.y + 2 + Math.min(event.row ?? 0, lane.slot.rows - 1) * lane.slot.rowHeight, h: lane.slot.rowHeight - 2 };
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {(t: number) => number} x
 * @param {{y: number, h: number}|null} at
 * @param {{start: number, end: number}} event
 * @param {string} color
 * @param {number} wide
 * @param {number} alpha
 */
function drawBox(ctx, x, at, event, color, wide, alpha) {
  if (!at) return;
  const left = Math.max(x(event.start), -9), right = Math.min(Math.max(x(event.end), x(event.start) + 2), 1e5);
  ctx.strokeStyle = color;
  ctx.lineWidth = wide;
  ctx.globalAlpha = alpha;
  ctx.strokeRect(left - 0.5, at.y - 0.5, right - left + 1, at.h + 1);
  ctx.globalAlpha = 1;
}

/**
 * Draw an arrow between two events, into the start of the second one; for a wait, into its end.
 * @param {Timeline} app @param {CanvasRenderingContext2D} ctx @param {(t: number) => number} x
 * @param {Shown[]} shown @param {Arrow} arrow
 */
function drawArrow(app, ctx, x, shown, arrow) {
  const from = findPlace(shown, arrow.from), to = findPlace(shown, arrow.to);
  if (!from && !to) return;
  const y0 = from ? from.y + from.h / 2 : getEdge(app, arrow.from, to), y1 = to ? to.y + to.h / 2 : getEdge(app, arrow.to, from);
  const x0 = x(Math.min(arrow.from.end, Math.max(arrow.from.start, arrow.to.start))), x1 = x(arrow.kind === "wait" ? arrow.to.end : arrow.to.start);
  const bend = Math.min(60, Math.max(16, Math.abs(x1 - x0) / 2));
  ctx.strokeStyle = ctx.fillStyle = app.colors.accent;
  ctx.lineWidth = 1.6;
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 4, y1);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x1 - 7, y1 - 3.5);
  ctx.lineTo(x1 - 7, y1 + 3.5);
  ctx.fill();
}

/** Return the y at which an arrow leaves the picture. @param {Timeline} app @param {End} end @param {{y: number}|null} other */
function getEdge(app, end, other) {
  const slot = app.lanes.findSlot(end.lane);
  return slot && slot.y - app.scroll > (other?.y ?? 0) ? app.height + 20 : -20;
}

/** @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} height @param {string} color @param {number} [alpha] */
function drawLine(ctx, x, height, color, alpha = 1) {
  ctx.globalAlpha = alpha;
  ctx.fillStyle = color;
  ctx.fillRect(Math.round(x), 0, 1, height);
  ctx.globalAlpha = 1;
}

/**
 * Fade the time that other pages do not show.
 * @param {Timeline} app @param {CanvasRenderingContext2D} ctx
 * @param {number} from @param {number} to @param {number} width @param {number} height
 */
function shadeUnselected(app, ctx, from, to, width, height) {
  ctx.fillStyle = app.colors.ground;
  ctx.globalAlpha = 0.5;
  if (from > 0) ctx.fillRect(0, 0, Math.min(from, width), height);
  if (to < width) ctx.fillRect(Math.max(0, to), 0, width - Math.max(0, to), height);
  ctx.globalAlpha = 1;
}

/**
 * @param {Timeline} app @param {CanvasRenderingContext2D} ctx
 * @param {number} from @param {number} to @param {number} height @param {Shown[]} shown
 */
function drawArea(app, ctx, from, to, height, shown) {
  const chosen = new Set(app.area?.lanes);
  ctx.fillStyle = app.colors.accent;
  ctx.globalAlpha = 0.14;
  if (!chosen.size) ctx.fillRect(from, 0, to - from, height);
  for (const { slot, y } of shown) if (chosen.has(slot.lane.id)) ctx.fillRect(from, y, to - from, slot.h);
  ctx.globalAlpha = 1;
  ctx.fillRect(Math.round(from), 0, 1, height);
  ctx.fillRect(Math.round(to), 0, 1, height);
}

/** Draw the edges of the time between two events. @param {Timeline} app @param {CanvasRenderingContext2D} ctx @param {number} from @param {number} to @param {number} height */
function drawGap(app, ctx, from, to, height) {
  ctx.strokeStyle = app.colors.mark;
  ctx.setLineDash([4, 3]);
  for (const at of [from, to]) {
    ctx.beginPath();
    ctx.moveTo(Math.round(at) + 0.5, 0);
    ctx.lineTo(Math.round(at) + 0.5, height);
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

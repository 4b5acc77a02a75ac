/** The time axis above the lanes. */

/** @import { Timeline } from "./timeline.js" */

import { drawSteps, STRIP_PX } from "./steps.js";

/**
 * Draw the axis: ticks, the steps of the program, marks.
 * @param {Timeline} app
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} width
 * @param {number} height
 */
export function drawAxis(app, ctx, width, height) {
  const { view, colors } = app, scale = width / view.span;
  const x = (/** @type {number} */ t) => (t - view.t0) * scale, strip = app.steps.length ? STRIP_PX : 0;
  ctx.fillStyle = colors.ground;
  ctx.fillRect(0, 0, width, height);
  ctx.font = `11px ${colors.font}`;
  ctx.textBaseline = "middle";
  for (const { t, text } of app.clock.listTicks(view.t0, view.t1, width / (app.clock.from === "absolute" ? 190 : 110))) {
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
  for (const mark of app.marks.all) drawFlag(app, ctx, x(mark.t), strip, height, mark.note);
  ctx.fillStyle = colors.line;
  ctx.fillRect(0, height - 1, width, 1);
}

/** @param {Timeline} app @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} top @param {number} height @param {string} note */
function drawFlag(app, ctx, x, top, height, note) {
  const text = note.length > 24 ? `${note.slice(0, 23)}…` : note, wide = text ? ctx.measureText(text).width + 10 : 8;
  ctx.fillStyle = app.colors.mark;
  ctx.fillRect(Math.round(x), top, wide, 13);
  ctx.fillRect(Math.round(x), 0, 1, height);
  ctx.fillStyle = app.colors.ground;
  ctx.fillText(text, Math.round(x) + 5, top + 7);
}

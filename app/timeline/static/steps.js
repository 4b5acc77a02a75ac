/** The steps of the program: a strip above the axis, and one in the heading of each further report. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Step } from "./types.js" */
/** @import { Source } from "./sources.js" */

import { fitText } from "./bars.js";

export const STRIP_PX = 14;
const MIN_BOX_PX = 3;
const LABEL_PX = 12;

/** Return the steps of a report, shifted to the common time. @param {Source} source @returns {Step[]} */
export function listSteps({ data, shift }) {
  return (data.steps ?? []).filter((one) => one.end > one.start).map((one) => ({ ...one, start: one.start + shift, end: one.end + shift }));
}

/**
 * Draw steps side by side, narrow ones as a line.
 * @param {Timeline} app @param {CanvasRenderingContext2D} ctx @param {Step[]} steps
 * @param {number} y top @param {number} high @param {number} width
 */
export function drawSteps(app, ctx, steps, y, high, width) {
  const { view, colors } = app, scale = width / view.span;
  ctx.font = `11px ${colors.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const [at, step] of steps.entries()) {
    const left = Math.max(-1, (step.start - view.t0) * scale), right = Math.min(width + 1, (step.end - view.t0) * scale);
    if (right < 0 || left > width) continue;
    if (right - left < MIN_BOX_PX) {
      ctx.fillStyle = colors.line;
      ctx.fillRect(left, y + high - 3, Math.max(1, right - left), 2);
      continue;
    }
    ctx.fillStyle = step.warmup ? colors.faint : at % 2 ? colors.line : colors.lineSoft;
    ctx.fillRect(Math.round(left), y + 1, Math.max(1, Math.round(right) - Math.round(left) - 1), high - 2);
    if (right - left < LABEL_PX) continue;
    ctx.fillStyle = step.warmup ? colors.quiet : colors.text;
    const name = `${step.name}${step.warmup ? " (warm-up)" : ""}`;
    ctx.fillText(fitText(ctx, name, right - left - 8) || fitText(ctx, parseStepNumber(step.name), right - left - 4), Math.max(0, left) + (right - left < 24 ? 2 : 4), y + high / 2 + 0.5);
  }
}

/** Return the number in a step's name, if it has one. @param {string} name */
function parseStepNumber(name) {
  return /\d+(?=\D*$)/.exec(name)?.[0] ?? "";
}

/** Select the time of a step. @param {Timeline} app @param {Step} step */
export function selectStep(app, step) {
  app.selectArea({ from: Math.round(step.start), to: Math.round(step.end), lanes: [] });
  app.view.revealRange(step.start, step.end);
  app.showMessage(`${step.name}${step.warmup ? ", which looks like a warm-up" : ""}`);
}

/** Select the step after or before the selected area, else the first in sight. @param {Timeline} app @param {1|-1} dir */
export function selectNextStep(app, dir) {
  const { steps } = app, from = app.area?.from ?? app.view.t0;
  const isLater = (/** @type {Step} */ one) => (app.area ? one.start > from : one.start >= from);
  const step = dir > 0 ? steps.find(isLater) : steps.findLast((one) => one.start < from);
  if (step) selectStep(app, step);
  else app.showMessage(steps.length ? "There is no further step." : "This report has no steps.");
}

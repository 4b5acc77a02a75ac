/** The picture of the lanes: background, bars and curves, then the overlay. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Piece, Slot } from "./types.js" */
/** @import { Frame } from "./bars.js" */

import { drawBars, writeLabels } from "./bars.js";
import { listItems } from "./hit_test.js";
import { drawCurve } from "./curves.js";
import { drawOverlay } from "./overlay.js";
import { coverWindow } from "./pieces.js";
import { drawSteps, listSteps } from "./steps.js";

const LABEL_FONT = 11;

/**
 * @param {Timeline} app
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} width
 * @param {number} height
 * @returns {number} items drawn
 */
export function drawLanes(app, ctx, width, height) {
  const { view, colors, lanes } = app;
  const scale = width / view.span, { pixels, ratio } = app.stage;
  /** @type {Frame} */
  const frame = { ctx, pixels, ratio, t0: view.t0, t1: view.t1, scale, width, endOf: (lane) => app.sources.sourceOf(lane).end, colors, names: app.sources, hits: app.search.hits, labels: new Map() };
  const shown = lanes.listVisible(app.scroll, height), pieces = coverWindow(app, shown.map((one) => one.slot));
  const piecesOf = (/** @type {Slot} */ slot) => pieces.get(slot.lane.group ?? -1) ?? [];
  for (const { slot } of shown) slot.reached = 0;
  pixels.clear(colors.groundPixel);
  drawGrid(app, width, pixels.height, scale);
  const overhead = findOverhead(app, scale);
  let drawn = 0;
  for (const pinned of [false, true]) {
    pixels.top = pinned ? 0 : Math.round(lanes.topHeight * ratio);
    for (const { slot, y } of shown) if (slot.pinned === pinned) drawn += drawLane(app, frame, slot, y, piecesOf(slot), overhead);
  }
  ctx.putImageData(pixels.image, 0, 0);
  ctx.save();
  clipTo(ctx, 0, lanes.topHeight, width, height);
  drawCurvesAndLabels(frame, shown.filter((one) => !one.slot.pinned), piecesOf);
  for (const { slot, y } of shown) {
    const source = app.sources.sourceOf(slot.lane.id);
    if (slot.lane.id === source.heading && source !== app.sources.main) drawSteps(app, ctx, listSteps(source), y + 3, slot.h - 6, width);
  }
  ctx.restore();
  drawCurvesAndLabels(frame, shown.filter((one) => one.slot.pinned), piecesOf);
  if (lanes.topHeight) {
    ctx.fillStyle = colors.accent;
    ctx.fillRect(0, lanes.topHeight - 1, width, 1);
  }
  drawOverlay(app, ctx, width, height, shown);
  return drawn;
}

/**
 * Draw curves, and the names on top of bars.
 * @param {Frame} frame
 * @param {{slot: Slot, y: number}[]} shown
 * @param {(slot: Slot) => Piece[]} piecesOf
 */
function drawCurvesAndLabels(frame, shown, piecesOf) {
  const { ctx, labels } = frame, ids = new Set(shown.map((one) => one.slot));
  for (const { slot, y } of shown) if (slot.lane.kind === "line") drawCurve(frame, slot, y, piecesOf(slot));
  ctx.font = `${LABEL_FONT}px ${frame.colors.font}`;
  writeLabels(frame, [...labels.values()].filter((one) => ids.has(one.slot)));
}

/**
 * @param {Timeline} app @param {Frame} frame @param {Slot} slot @param {number} y @param {Piece[]} pieces @param {Spans} overhead
 * @returns {number} items drawn
 */
function drawLane(app, frame, slot, y, pieces, overhead) {
  const { colors, pixels, ratio } = frame, at = (/** @type {number} */ px) => Math.round(px * ratio);
  const parent = app.lanes.isParent(slot.lane), bottom = at(y + slot.h);
  if (parent) pixels.rect(0, at(y), pixels.width, bottom, colors.faintPixel);
  else if (slot.pinned) pixels.rect(0, at(y), pixels.width, bottom, colors.groundPixel);
  if (!parent) for (const [left, right] of overhead.get(app.sources.sourceOf(slot.lane.id)) ?? []) pixels.rect(left, at(y), right, bottom, colors.overheadPixel);
  pixels.rect(0, bottom - 1, pixels.width, bottom, colors.softLinePixel);
  return parent || slot.lane.kind === "line" ? 0 : drawBars(frame, slot, y + 1, pieces);
}

/** @typedef {Map<import("./sources.js").Source, [number, number][]>} Spans device pixels, from left to right */

/** Find when the profiler itself was at work in each report; the background of its lanes is shaded there. @param {Timeline} app @param {number} scale */
function findOverhead(app, scale) {
  /** @type {Spans} */
  const spans = new Map();
  const x = (/** @type {number} */ t) => (t - app.view.t0) * scale * app.stage.ratio;
  for (const lane of app.overhead) {
    /** @type {[number, number][]} */
    const edges = [];
    for (const one of listItems(app, { lane })) edges.push([Math.floor(x(one.start)), Math.max(Math.floor(x(one.start)) + 1, Math.round(x(one.end)))]);
    spans.set(app.sources.sourceOf(lane.id), edges);
  }
  return spans;
}

/**
 * Draw lines at the ticks.
 * @param {Timeline} app @param {number} width @param {number} height device pixels @param {number} scale
 */
function drawGrid(app, width, height, scale) {
  const { view, colors } = app, { pixels, ratio } = app.stage;
  for (const { t } of app.clock.listTicks(view.t0, view.t1, width / (app.clock.from === "absolute" ? 190 : 110))) {
    const x = Math.round((t - view.t0) * scale * ratio);
    pixels.rect(x, 0, x + 1, height, colors.softLinePixel);
  }
}

/**
 * Clip everything drawn next to a part of the canvas.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x @param {number} y @param {number} width @param {number} height
 */
function clipTo(ctx, x, y, width, height) {
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
}

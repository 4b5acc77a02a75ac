/** The picture of the lanes: ground, bars and curves, then what lies over them. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Piece, Slot } from "./types.js" */
/** @import { Frame } from "./bars.js" */

import { bars, writeLabels } from "./bars.js";
import { itemsOf } from "./hit.js";
import { curve } from "./lines.js";
import { overlay } from "./overlay.js";
import { drawSteps, stepsOf } from "./steps.js";
import { span } from "./tiles.js";


const LABEL_FONT = 11;

/**
 * Draws all lanes in sight.
 * @param {Timeline} app
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} width
 * @param {number} height
 * @returns {number} items drawn
 */
export function draw(app, ctx, width, height) {
  const { view, colors, lanes } = app;
  const scale = width / view.span, { pixels, ratio } = app.stage;
  /** @type {Frame} */
  const frame = { ctx, pixels, ratio, t0: view.t0, t1: view.t1, scale, width, endOf: (lane) => app.sources.of(lane).end, colors, names: app.sources, hits: app.search.hits, labels: new Map() };
  const shown = lanes.visible(app.scroll, height), pieces = cover(app, shown.map((one) => one.slot));
  const of = (/** @type {Slot} */ slot) => pieces.get(slot.lane.group ?? -1) ?? [];
  pixels.clear(colors.groundWord);
  grid(app, width, pixels.height, scale);
  const busy = overhead(app, scale);
  let drawn = 0;
  for (const pinned of [false, true]) {
    pixels.top = pinned ? 0 : Math.round(lanes.topHeight * ratio);
    for (const { slot, y } of shown) if (slot.pinned === pinned) drawn += lane(app, frame, slot, y, of(slot), busy);
  }
  ctx.putImageData(pixels.image, 0, 0);
  ctx.save();
  clip(ctx, 0, lanes.topHeight, width, height);
  over(frame, shown.filter((one) => !one.slot.pinned), of);
  for (const { slot, y } of shown) {
    const source = app.sources.of(slot.lane.id);
    if (slot.lane.id === source.heading && source !== app.sources.main) drawSteps(app, ctx, stepsOf(source), y + 3, slot.h - 6, width);
  }
  ctx.restore();
  over(frame, shown.filter((one) => one.slot.pinned), of);
  if (lanes.topHeight) {
    ctx.fillStyle = colors.accent;
    ctx.fillRect(0, lanes.topHeight - 1, width, 1);
  }
  overlay(app, ctx, width, height, shown);
  return drawn;
}

/**
 * What lies over the bars of some lanes: curves, and names.
 * @param {Frame} frame
 * @param {{slot: Slot, y: number}[]} shown
 * @param {(slot: Slot) => Piece[]} of
 */
function over(frame, shown, of) {
  const { ctx, labels } = frame, ids = new Set(shown.map((one) => one.slot));
  for (const { slot, y } of shown) if (slot.lane.kind === "line") curve(frame, slot, y, of(slot));
  ctx.font = `${LABEL_FONT}px ${frame.colors.font}`;
  writeLabels(frame, [...labels.values()].filter((one) => ids.has(one.slot)));
}

/**
 * What tiles there are for the window, by group.
 * @param {Timeline} app
 * @param {Pick<Slot, "lane">[]} slots
 * @returns {Map<number, Piece[]>}
 */
export function cover(app, slots) {
  const { view, tiles, level } = app, wide = span(level);
  /** @type {Map<number, Piece[]>} */
  const found = new Map();
  for (const { lane } of slots) {
    if (lane.group === null || found.has(lane.group)) continue;
    /** @type {Piece[]} */
    const pieces = [], { shift } = app.sources.of(lane.group);
    const first = Math.floor((view.t0 - shift) / wide), last = Math.floor((view.t1 - shift) / wide);
    for (let i = first; i <= last; i++) tiles.cover(lane.group, level, i, pieces, shift);
    found.set(lane.group, pieces);
  }
  return found;
}

/**
 * @param {Timeline} app @param {Frame} frame @param {Slot} slot @param {number} y @param {Piece[]} pieces @param {Busy} busy
 * @returns {number} items drawn
 */
function lane(app, frame, slot, y, pieces, busy) {
  const { colors, pixels, ratio } = frame, at = (/** @type {number} */ px) => Math.round(px * ratio);
  const parent = app.lanes.isParent(slot.lane), bottom = at(y + slot.h);
  if (parent) pixels.rect(0, at(y), pixels.width, bottom, colors.faintWord);
  else if (slot.pinned) pixels.rect(0, at(y), pixels.width, bottom, colors.groundWord);
  if (!parent) for (const [left, right] of busy.get(app.sources.of(slot.lane.id)) ?? []) pixels.rect(left, at(y), right, bottom, colors.overheadWord);
  pixels.rect(0, bottom - 1, pixels.width, bottom, colors.softLineWord);
  return parent || slot.lane.kind === "line" ? 0 : bars(frame, slot, y + 1, pieces);
}

/** @typedef {Map<import("./sources.js").Source, [number, number][]>} Busy pixels of the screen, from left to right */

/** Where the profiler itself was at work in each report: the ground of its lanes is shaded there. @param {Timeline} app @param {number} scale */
function overhead(app, scale) {
  /** @type {Busy} */
  const found = new Map();
  const x = (/** @type {number} */ t) => (t - app.view.t0) * scale * app.stage.ratio;
  for (const lane of app.overhead) {
    /** @type {[number, number][]} */
    const edges = [];
    for (const one of itemsOf(app, { lane })) edges.push([Math.floor(x(one.start)), Math.max(Math.floor(x(one.start)) + 1, Math.round(x(one.end)))]);
    found.set(app.sources.of(lane.id), edges);
  }
  return found;
}

/**
 * Lines at the ticks.
 * @param {Timeline} app @param {number} width @param {number} height px of the screen @param {number} scale
 */
function grid(app, width, height, scale) {
  const { view, colors } = app, { pixels, ratio } = app.stage;
  for (const { t } of app.clock.ticks(view.t0, view.t1, width / (app.clock.from === "absolute" ? 190 : 110))) {
    const x = Math.round((t - view.t0) * scale * ratio);
    pixels.rect(x, 0, x + 1, height, colors.softLineWord);
  }
}

/**
 * Limits what follows to a part of the canvas.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x @param {number} y @param {number} width @param {number} height
 */
function clip(ctx, x, y, width, height) {
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
}

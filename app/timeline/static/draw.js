/** The picture of the lanes: ground, bars and curves, then what lies over them. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Piece, Slot } from "./types.js" */
/** @import { Frame } from "./bars.js" */

import { bars, writeLabels } from "./bars.js";
import { curve } from "./lines.js";
import { overlay } from "./overlay.js";
import { span } from "./tiles.js";
import { ticks } from "./time.js";

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
  const scale = width / view.span;
  /** @type {Frame} */
  const frame = { ctx, t0: view.t0, t1: view.t1, scale, width, colors, names: app.names, hits: app.search.hits, labels: new Map() };
  ctx.fillStyle = colors.ground;
  ctx.fillRect(0, 0, width, height);
  const shown = lanes.visible(app.scroll, height), pieces = cover(app, shown.map((one) => one.slot));
  grid(app, ctx, width, height, scale);
  let drawn = 0;
  const lower = shown.filter((one) => !one.slot.pinned), upper = shown.filter((one) => one.slot.pinned);
  for (const part of [lower, upper]) {
    ctx.save();
    if (part === lower) clip(ctx, 0, lanes.topHeight, width, height);
    for (const { slot, y } of part) drawn += lane(app, frame, slot, y, pieces.get(slot.lane.group ?? -1) ?? []);
    ctx.font = `${LABEL_FONT}px ${colors.font}`;
    writeLabels(frame);
    frame.labels.clear();
    ctx.restore();
  }
  if (lanes.topHeight) {
    ctx.fillStyle = colors.accent;
    ctx.fillRect(0, lanes.topHeight - 1, width, 1);
  }
  overlay(app, ctx, width, height, shown);
  return drawn;
}

/**
 * What tiles there are for the window, by group.
 * @param {Timeline} app
 * @param {Slot[]} slots
 * @returns {Map<number, Piece[]>}
 */
export function cover(app, slots) {
  const { view, tiles, level } = app;
  const first = Math.floor(view.t0 / span(level)), last = Math.floor(view.t1 / span(level));
  /** @type {Map<number, Piece[]>} */
  const found = new Map();
  for (const { lane } of slots) {
    if (lane.group === null || found.has(lane.group)) continue;
    /** @type {Piece[]} */
    const pieces = [];
    for (let i = first; i <= last; i++) tiles.cover(lane.group, level, i, pieces);
    found.set(lane.group, pieces);
  }
  return found;
}

/**
 * @param {Timeline} app @param {Frame} frame @param {Slot} slot @param {number} y @param {Piece[]} pieces
 * @returns {number} items drawn
 */
function lane(app, frame, slot, y, pieces) {
  const { ctx, colors, width } = frame;
  if (app.lanes.isParent(slot.lane)) {
    ctx.fillStyle = colors.faint;
    ctx.fillRect(0, y, width, slot.h - 1);
    return 0;
  }
  ctx.fillStyle = colors.line;
  ctx.globalAlpha = 0.6;
  ctx.fillRect(0, y + slot.h - 1, width, 1);
  ctx.globalAlpha = 1;
  if (slot.lane.kind === "line") return curve(frame, slot, y, pieces);
  return bars(frame, slot, y + 1, pieces, app.lanes.folded.has(slot.lane.id));
}

/**
 * Lines at the ticks, and where steps of the program start.
 * @param {Timeline} app @param {CanvasRenderingContext2D} ctx
 * @param {number} width @param {number} height @param {number} scale
 */
function grid(app, ctx, width, height, scale) {
  const { view, colors } = app;
  ctx.fillStyle = colors.line;
  ctx.globalAlpha = 0.5;
  for (const { t } of ticks(view.t0, view.t1, width / 110, app.zero).ticks) {
    ctx.fillRect(Math.round((t - view.t0) * scale), 0, 1, height);
  }
  ctx.globalAlpha = 1;
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

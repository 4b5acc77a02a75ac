/** Bars of events, and the names that fit into them. */

/** @import { Item, Piece, Slot, Tile } from "./types.js" */
/** @import { Colors } from "./colors.js" */

const LABEL_PX = 34;
const GAP_FROM_PX = 4;
const MOST_LABELS = 1500;

/**
 * @typedef {Object} Frame shared by everything that draws one picture
 * @property {CanvasRenderingContext2D} ctx
 * @property {import("./pixels.js").Pixels} pixels
 * @property {number} ratio device pixels per CSS pixel
 * @property {number} t0
 * @property {number} t1
 * @property {number} scale pixels per ns
 * @property {number} width
 * @property {(lane: number) => number} endOf end of the capture that a lane belongs to
 * @property {Colors} colors
 * @property {{getName: (id: number) => string}} names
 * @property {Set<number>|null} hits names that match the search; others are drawn dim
 * @property {Map<string, Label>} labels
 */

/**
 * @typedef {Object} Label
 * @property {number} x0
 * @property {number} x1
 * @property {number} y
 * @property {number} h
 * @property {number} name
 * @property {number} color
 * @property {Slot} slot
 */

/**
 * Return the height of an item's bar. Several short events of a bin (count > 1), and the end of an event that began in
 * the bin before (count 0), fill the height by the share of the bin that is busy.
 * @param {number} count
 * @param {number} busy
 * @param {number} height
 */
export function getBarHeight(count, busy, height) {
  return count !== 1 ? Math.max(2, Math.min(1, busy) * height) : height;
}

/**
 * @param {Frame} frame
 * @param {Slot} slot
 * @param {number} y top of the lane on the canvas
 * @param {Piece[]} pieces
 * @returns {number} items drawn
 */
export function drawBars(frame, slot, y, pieces) {
  let drawn = 0;
  for (const piece of pieces) {
    const indices = piece.tile.items.get(slot.lane.id);
    if (indices) drawn += drawPiece(frame, slot, y, piece, indices);
  }
  return drawn;
}

/**
 * @param {Frame} frame
 * @param {Slot} slot
 * @param {number} y
 * @param {Piece} piece
 * @param {Uint32Array} indices
 */
function drawPiece(frame, slot, y, piece, indices) {
  const { pixels, ratio, t0, t1, colors, hits } = frame, { tile } = piece, scale = frame.scale * ratio;
  const { start, end, row, color, count, busy, name } = tile;
  const from = Math.max(piece.from, t0), to = Math.min(piece.to, t1), high = (slot.rowHeight - 2) * ratio;
  const low = (from - t0) * scale, right = (to - t0) * scale, labelNs = LABEL_PX / frame.scale;
  let drawn = 0;
  for (let k = 0; k < indices.length; k++) {
    const at = indices[k];
    if (start[at] >= to || end[at] < from) continue;
    // An event that ends where this piece begins belongs to the piece before.
    if (end[at] === from && start[at] < from) continue;
    if (row[at] >= slot.reached) slot.reached = row[at] + 1;
    if (row[at] >= slot.rows) continue;
    const x0 = Math.max(low, (start[at] - t0) * scale), x1 = Math.min(right, (end[at] - t0) * scale);
    const left = Math.floor(x0), wide = Math.max(1, Math.round(x1) - left - (count[at] === 1 && end[at] <= to && x1 - x0 > GAP_FROM_PX * ratio ? 1 : 0));
    const top = y + 1 + row[at] * slot.rowHeight, bottom = Math.round(top * ratio + high);
    const fill = hits && !hits.has(tile.firstName + name[at]) ? colors.dimPixels : colors.fillPixels;
    pixels.rect(left, bottom - Math.round(getBarHeight(count[at], busy[at], high)), left + wide, bottom, fill[color[at]] ?? colors.quietPixel);
    drawn++;
    if (count[at] === 1 && end[at] - start[at] > labelNs) addLabel(frame, slot, tile, at, x0 / ratio, x1 / ratio, top, slot.rowHeight - 2);
  }
  return drawn;
}

/**
 * Add the label of an event, or extends it: an event may lie in several pieces.
 * @param {Frame} frame @param {Slot} slot @param {Tile} tile @param {number} at
 * @param {number} x0 @param {number} x1 @param {number} y @param {number} h
 */
function addLabel(frame, slot, tile, at, x0, x1, y, h) {
  const key = `${slot.lane.id}/${tile.ref[at]}/${tile.row[at]}/${slot.pinned}`, known = frame.labels.get(key);
  if (known) {
    known.x0 = Math.min(known.x0, x0);
    known.x1 = Math.max(known.x1, x1);
  } else if (frame.labels.size < MOST_LABELS) {
    frame.labels.set(key, { x0, x1, y, h, name: tile.firstName + tile.name[at], color: tile.color[at], slot });
  }
}

/** Measured widths of names in the font of labels. @type {Map<string, number>} */
const widths = new Map();

/**
 * Write the labels into their bars, shortened to fit.
 * @param {Frame} frame
 * @param {Label[]} labels
 */
export function writeLabels(frame, labels) {
  const { ctx, colors, names, hits } = frame;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const one of labels) {
    const room = one.x1 - one.x0 - 8;
    if (room < LABEL_PX - 8 || (hits && !hits.has(one.name))) continue;
    const text = fitText(ctx, names.getName(one.name), room);
    if (!text) continue;
    ctx.fillStyle = colors.ink(one.color);
    ctx.fillText(text, one.x0 + 4, one.y + one.h / 2 + 0.5);
  }
}

/**
 * Shorten a text to a width.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} room px
 */
export function fitText(ctx, text, room) {
  const shown = text.length > 300 ? text.slice(0, 300) : text;
  let wide = widths.get(shown);
  if (wide === undefined) {
    if (widths.size > 20_000) widths.clear();
    widths.set(shown, (wide = ctx.measureText(shown).width));
  }
  if (wide <= room) return shown;
  const letters = Math.floor((shown.length * (room - 8)) / wide);
  return letters > 1 ? `${shown.slice(0, letters)}…` : "";
}

/** Clear the measured widths, after the font has changed. */
export function clearTextWidths() {
  widths.clear();
}

/**
 * Return an item of a tile as an object.
 * @param {Tile} tile
 * @param {number} at
 * @returns {Item}
 */
export function readItem(tile, at) {
  const { lane, row, start, end, name, color, count, busy, ref } = tile;
  return {
    lane: lane[at], row: row[at], start: start[at], end: end[at], name: tile.firstName + name[at], color: color[at],
    count: count[at], busy: busy[at], ref: ref[at],
  };
}

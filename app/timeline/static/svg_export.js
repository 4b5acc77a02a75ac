/** Export the view as an SVG of shapes and texts. Texts become text nodes, never markup: they come from reports. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Item, Slot } from "./types.js" */

import { getBarHeight, fitText } from "./bars.js";
import { saveFile } from "./dom.js";
import { coverWindow } from "./pieces.js";
import { listItems } from "./hit_test.js";
import { collectPoints, getTopValue } from "./curves.js";
import { toFileName } from "./png_export.js";
import { listSteps, STRIP_PX } from "./steps.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const LABEL_PX = 34;
/** Bars no wider than this, and no further from the bar before, are left out: nobody can see them. */
const NEAR_PX = 0.2;

/**
 * Create an element. Attributes are numbers and our own strings; the text may be anything.
 * @param {string} tag @param {Record<string, string|number>} [props] @param {string} [text]
 */
function s(tag, props = {}, text) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
  if (text !== undefined) element.textContent = cleanText(text);
  return element;
}

/** Remove characters that XML does not allow. @param {string} text */
function cleanText(text) {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, " ").replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Save the view. @param {Timeline} app */
export function exportSvg(app) {
  const { stage, colors } = app, left = stage.titleList.offsetWidth, head = stage.axisHeight;
  const width = left + app.width, height = head + app.height;
  const root = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": colors.font, "font-size": 11 });
  root.append(s("title", {}, app.mounted.data.name), s("rect", { width, height, fill: colors.ground }));
  root.append(s("text", { x: 8, y: head / 2 + 4, fill: colors.text, "font-weight": 600 }, fitText(stage.plot, app.mounted.data.name, left - 16)));
  const axis = s("svg", { x: left, y: 0, width: app.width, height: head });
  const plot = s("svg", { x: left, y: head, width: app.width, height: app.height });
  root.append(axis, drawTitles(app, left, head), plot);
  drawRuler(app, axis, plot, head);
  const shown = app.lanes.listVisible(app.scroll, app.height);
  for (const { slot, y } of shown.filter((one) => !one.slot.pinned)) drawLane(app, plot, slot, y);
  if (app.lanes.topHeight) plot.append(s("rect", { width: app.width, height: app.lanes.topHeight, fill: colors.ground }));
  for (const { slot, y } of shown.filter((one) => one.slot.pinned)) drawLane(app, plot, slot, y);
  drawOverlay(app, plot);
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(root)}\n`;
  saveFile(new Blob([text], { type: "image/svg+xml" }), `${toFileName(app.mounted.data.name)}.timeline.svg`);
}

/** Draw the names of the lanes. @param {Timeline} app @param {number} left @param {number} head */
function drawTitles(app, left, head) {
  const box = s("svg", { x: 0, y: head, width: left, height: app.height, fill: app.colors.text });
  const shown = app.lanes.listVisible(app.scroll, app.height);
  for (const { slot, y } of [...shown.filter((one) => !one.slot.pinned), ...shown.filter((one) => one.slot.pinned)]) {
    const indent = 8 + slot.depth * 10;
    if (slot.pinned) box.append(s("rect", { y, width: left, height: slot.h, fill: app.colors.ground }));
    box.append(s("text", { x: indent, y: y + Math.min(slot.h, 24) / 2 + 4 }, fitText(app.stage.plot, slot.lane.title, left - indent - 6)));
  }
  return box;
}

/** Draw ticks, their lines through the lanes, and steps. @param {Timeline} app @param {Element} axis @param {Element} plot @param {number} head */
function drawRuler(app, axis, plot, head) {
  const { view, colors } = app, x = (/** @type {number} */ t) => ((t - view.t0) * app.width) / view.span;
  const strip = app.steps.length ? STRIP_PX : 0;
  for (const { t, text } of app.clock.listTicks(view.t0, view.t1, app.width / (app.clock.from === "absolute" ? 190 : 110))) {
    axis.append(s("rect", { x: x(t), y: head - 7, width: 1, height: 7, fill: colors.line }), s("text", { x: x(t) + 4, y: (head + strip) / 2 + 4, fill: colors.quiet }, text));
    plot.append(s("rect", { x: x(t), width: 1, height: app.height, fill: colors.lineSoft }));
  }
  drawStepStrip(app, axis, app.steps, 0);
}

/** @param {Timeline} app @param {Element} box @param {import("./types.js").Step[]} list @param {number} y */
function drawStepStrip(app, box, list, y) {
  const { view, colors } = app, x = (/** @type {number} */ t) => ((t - view.t0) * app.width) / view.span;
  for (const step of list) {
    const wide = x(step.end) - x(step.start);
    if (wide < 1 || step.end < view.t0 || step.start > view.t1) continue;
    box.append(s("rect", { x: x(step.start), y: y + 1, width: wide - 1, height: STRIP_PX - 2, fill: step.warmup ? colors.faint : colors.line }));
    box.append(s("text", { x: Math.max(0, x(step.start)) + 4, y: y + STRIP_PX - 4, fill: colors.text }, fitText(app.stage.plot, step.name, wide - 8)));
  }
}

/** @param {Timeline} app @param {Element} plot @param {Slot} slot @param {number} y */
function drawLane(app, plot, slot, y) {
  const { colors } = app, parent = app.lanes.isParent(slot.lane);
  if (parent) plot.append(s("rect", { y, width: app.width, height: slot.h, fill: colors.faint }));
  plot.append(s("rect", { y: y + slot.h - 1, width: app.width, height: 1, fill: colors.lineSoft }));
  const source = app.sources.sourceOf(slot.lane.id);
  if (slot.lane.id === source.heading && source !== app.sources.main) drawStepStrip(app, plot, listSteps(source), y + 4);
  if (parent) return;
  if (slot.lane.kind === "line") drawCurve(app, plot, slot, y);
  else drawBars(app, plot, slot, y + 1);
}

/** Draw the bars of a lane, one path per color, and the names that fit. @param {Timeline} app @param {Element} plot @param {Slot} slot @param {number} y */
function drawBars(app, plot, slot, y) {
  const { view, colors } = app, scale = app.width / view.span;
  /** @type {Map<number, string[]>} */
  const paths = new Map();
  /** @type {Map<number, number>} */
  const ends = new Map();
  const labels = [];
  for (const one of listItems(app, slot)) {
    if (one.row >= slot.rows) continue;
    const x0 = Math.max(-2, (one.start - view.t0) * scale), x1 = Math.min(app.width + 2, Math.max((one.end - view.t0) * scale, x0 + NEAR_PX));
    if (x1 <= (ends.get(one.row) ?? -Infinity) + NEAR_PX && x1 - x0 <= NEAR_PX) continue;
    ends.set(one.row, x1);
    const high = getBarHeight(one.count, one.busy, slot.rowHeight - 2), bottom = y + 1 + one.row * slot.rowHeight + slot.rowHeight - 2;
    const list = paths.get(one.color) ?? [];
    paths.set(one.color, list);
    list.push(`M${x0.toFixed(2)} ${(bottom - high).toFixed(1)}H${x1.toFixed(2)}V${bottom.toFixed(1)}H${x0.toFixed(2)}Z`);
    if (one.count === 1 && x1 - x0 > LABEL_PX) labels.push(makeLabel(app, one, x0, x1, bottom - slot.rowHeight / 2 + 5));
  }
  for (const [color, list] of paths) plot.append(s("path", { d: list.join(""), fill: colors.fill(color) }));
  plot.append(...labels);
}

/** @param {Timeline} app @param {Item} item @param {number} x0 @param {number} x1 @param {number} y */
function makeLabel(app, item, x0, x1, y) {
  return s("text", { x: x0 + 4, y, fill: app.colors.ink(item.color) }, fitText(app.stage.plot, app.sources.getName(item.name), x1 - x0 - 8));
}

/** @param {Timeline} app @param {Element} plot @param {Slot} slot @param {number} y */
function drawCurve(app, plot, slot, y) {
  const { view, colors } = app;
  const frame = { t0: view.t0, t1: view.t1, scale: app.width / view.span, width: app.width, endOf: (/** @type {number} */ id) => app.sources.sourceOf(id).end };
  const points = collectPoints(frame, slot, coverWindow(app, [slot]).get(slot.lane.group ?? -1) ?? []);
  if (!points.length) return;
  const high = slot.h - 8, most = getTopValue(slot, points), at = (/** @type {number} */ value) => y + 4 + high - (Math.max(0, Math.min(value, most)) / most) * high;
  const d = points.map((one, k) => `${k ? "L" : "M"}${one.x0.toFixed(2)} ${at(one.mean).toFixed(1)}H${one.x1.toFixed(2)}`).join("");
  plot.append(s("path", { d, fill: "none", stroke: colors.accent, "stroke-width": 1.2 }));
}

/** Draw the area and the marks. @param {Timeline} app @param {Element} plot */
function drawOverlay(app, plot) {
  const { view, colors, area } = app, x = (/** @type {number} */ t) => ((t - view.t0) * app.width) / view.span;
  if (area) plot.append(s("rect", { x: x(area.from), width: Math.max(1, x(area.to) - x(area.from)), height: app.height, fill: colors.accent, "fill-opacity": 0.14 }));
  for (const mark of app.marks.all) {
    plot.append(s("rect", { x: x(mark.t), width: 1, height: app.height, fill: colors.mark }));
    plot.append(s("text", { x: x(mark.t) + 3, y: 11, fill: colors.mark }, mark.note));
  }
}

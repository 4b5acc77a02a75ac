/** The tooltip beside the pointer. */

/** @import { Timeline } from "./timeline.js" */

import { replaceContent, h } from "./dom.js";
import { findValueAt } from "./hit_test.js";
import { formatCount, formatDuration, formatPercent, formatValue } from "./time.js";

/**
 * Show the tooltip for a point of the lanes, or hides it if nothing is there.
 * @param {Timeline} app
 * @param {number} x
 * @param {number} y
 */
export function showTip(app, x, y) {
  const { tip, canvas, root } = app.stage, lines = describeTip(app, x, y);
  tip.hidden = !lines;
  if (!lines) return;
  replaceContent(tip, h("b", {}, lines[0]), ...lines.slice(1).map((line) => h("div", {}, line)));
  const box = canvas.getBoundingClientRect(), outer = root.getBoundingClientRect();
  const left = box.left - outer.left + x + 14, top = box.top - outer.top + y + 16;
  tip.style.left = `${Math.max(4, Math.min(left, outer.width - tip.offsetWidth - 8))}px`;
  tip.style.top = `${top + tip.offsetHeight > outer.height - 4 ? top - tip.offsetHeight - 28 : top}px`;
}

/** @param {Timeline} app */
export function hideTip(app) {
  app.stage.tip.hidden = true;
}

/**
 * @param {Timeline} app @param {number} x @param {number} y
 * @returns {string[]|null}
 */
function describeTip(app, x, y) {
  const item = app.hover;
  if (!item) {
    const point = findValueAt(app, x, y);
    if (!point) return null;
    const format = (/** @type {number} */ one) => formatValue(one, point.lane.unit);
    return [`${point.lane.title}: ${format(point.mean)}`, point.min < point.max ? `${format(point.min)} to ${format(point.max)}` : "", `at ${app.clock.formatTime(point.start)}`].filter(Boolean);
  }
  const name = app.sources.getName(item.name) || "…", where = app.lanes.getPath(item.lane).join(" › ");
  const kind = app.sources.classes[item.color]?.title ?? "";
  if (item.count === 1) {
    return [name, `${formatDuration(item.end - item.start)}, starts at ${app.clock.formatTime(item.start)}`, [kind, where].filter(Boolean).join(" · ")];
  }
  const many = item.count > 1 ? `${formatCount(item.count)} events here, ` : "";
  return [`${many}longest: ${name}`, `${formatPercent(item.busy)} of ${formatDuration(item.end - item.start)} busy, at ${app.clock.formatTime(item.start)}`, where];
}

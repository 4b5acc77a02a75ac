/** What the pointer is on, in words beside it. */

/** @import { Timeline } from "./timeline.js" */

import { replaceContent, h } from "./dom.js";
import { findValueAt } from "./hit_test.js";
import { formatCount, formatDuration, formatPercent, formatValue } from "./time.js";

/**
 * Shows it at a point of the lanes; hides it where there is nothing.
 * @param {Timeline} app
 * @param {number} x
 * @param {number} y
 */
export function showTip(app, x, y) {
  const { tip, canvas, root } = app.stage, words = describeTip(app, x, y);
  tip.hidden = !words;
  if (!words) return;
  replaceContent(tip, h("b", {}, words[0]), ...words.slice(1).map((line) => h("div", {}, line)));
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
    const found = findValueAt(app, x, y);
    if (!found) return null;
    const say = (/** @type {number} */ one) => formatValue(one, found.lane.unit);
    return [`${found.lane.title}: ${say(found.mean)}`, found.min < found.max ? `${say(found.min)} to ${say(found.max)}` : "", `at ${app.clock.text(found.start)}`].filter(Boolean);
  }
  const name = app.sources.text(item.name) || "…", where = app.lanes.path(item.lane).join(" › ");
  const kind = app.sources.classes[item.color]?.title ?? "";
  if (item.count === 1) {
    return [name, `${formatDuration(item.end - item.start)}, starts at ${app.clock.text(item.start)}`, [kind, where].filter(Boolean).join(" · ")];
  }
  const many = item.count > 1 ? `${formatCount(item.count)} events here, ` : "";
  return [`${many}longest: ${name}`, `${formatPercent(item.busy)} of ${formatDuration(item.end - item.start)} busy, at ${app.clock.text(item.start)}`, where];
}

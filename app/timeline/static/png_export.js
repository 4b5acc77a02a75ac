/** Export the view as a PNG, with titles and lanes as on the screen. */

/** @import { Timeline } from "./timeline.js" */

import { saveFile } from "./dom.js";
import { fitText } from "./bars.js";

/** @param {Timeline} app */
export async function exportPng(app) {
  const { stage, colors } = app, ratio = stage.ratio || 1, left = stage.titleList.offsetWidth;
  const tops = [stage.mapHeight, stage.axisHeight], above = tops[0] + tops[1];
  const canvas = document.createElement("canvas");
  canvas.width = Math.round((left + app.width) * ratio);
  canvas.height = Math.round((above + app.height) * ratio);
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.scale(ratio, ratio);
  ctx.fillStyle = colors.ground;
  ctx.fillRect(0, 0, left + app.width, above + app.height);
  ctx.drawImage(stage.mapCanvas, left, 0, app.width, tops[0]);
  ctx.drawImage(stage.axisCanvas, left, tops[0], app.width, tops[1]);
  ctx.textBaseline = "middle";
  ctx.font = `600 12px ${colors.font}`;
  ctx.fillStyle = colors.text;
  ctx.fillText(fitText(ctx, app.mounted.data.name, left - 12), 6, above / 2);
  ctx.font = `12px ${colors.font}`;
  for (const { slot, y } of app.lanes.listVisible(app.scroll, app.height)) {
    const indent = 8 + slot.depth * 10;
    ctx.fillText(fitText(ctx, slot.lane.title, left - indent - 6), indent, above + y + Math.min(slot.h, 24) / 2);
  }
  ctx.drawImage(stage.canvas, left, above, app.width, app.height);
  const blob = await new Promise((/** @type {(blob: Blob|null) => void} */ done) => canvas.toBlob(done));
  if (blob) saveFile(blob, `${toFileName(app.mounted.data.name)}.timeline.png`);
}

/** Turn a report's name into the start of a file name. @param {string} name */
export function toFileName(name) {
  return name.replace(/[^\w.-]+/g, "_").slice(0, 80);
}

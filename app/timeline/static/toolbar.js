/** The toolbar above the lanes. Most of its actions have a key, too. */

/** @import { Timeline } from "./timeline.js" */

import { addMark } from "./actions.js";
import { makeButton, copyText, h } from "./dom.js";
import { exportPng } from "./png_export.js";
import { exportSvg } from "./svg_export.js";

/**
 * @param {Timeline} app
 * @returns {HTMLElement}
 */
export function makeToolbar(app) {
  const middle = () => (app.view.t0 + app.view.t1) / 2;
  const window = h("div", { class: "tools" },
    makeButton("Zoom in (W)", "+", () => app.view.zoom(middle(), 0.5)),
    makeButton("Zoom out (S)", "−", () => app.view.zoom(middle(), 2)),
    makeButton("Fit what is selected (F)", "Fit", () => app.fitWindow()),
    makeButton("Show the whole capture (0)", "All", () => app.view.showAll()),
    makeButton("Undo the last move (Z)", "Undo", () => app.view.undo()),
  );
  const share = h("div", { class: "tools" },
    makeButton("From when times count: capture, selection, or the report's clock (T)", "Times", () => app.clock.switchOrigin()),
    makeButton("Mark a moment (M)", "Mark", () => addMark(app)),
    makeButton("Copy a link to this view", "Copy link", async () => {
      app.writeUrl();
      await copyText(location.href);
      app.showMessage("Link copied.");
    }),
    makeButton("Save the picture as PNG", "PNG", () => exportPng(app)),
    makeButton("Save the picture as SVG", "SVG", () => exportSvg(app)),
    makeButton("Show all keys (?)", "Keys", () => app.stage.keys?.help()),
  );
  return h("div", { class: "bar", role: "toolbar", "aria-label": "Timeline tools" }, window, app.search.box, h("span", { class: "grow" }), share);
}

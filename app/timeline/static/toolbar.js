/** The toolbar above the lanes. Most of its actions have a key, too. */

/** @import { Timeline } from "./timeline.js" */

import { addMark, goToGap } from "./actions.js";
import { makeButton, copyText, h } from "./dom.js";

/**
 * @param {Timeline} app
 * @returns {HTMLElement}
 */
export function makeToolbar(app) {
  const middle = () => (app.view.t0 + app.view.t1) / 2;
  const window = h("div", { class: "tools" },
    makeButton("Zoom in (W)", "+", () => app.view.zoom(middle(), 0.5)),
    makeButton("Zoom out (S)", "−", () => app.view.zoom(middle(), 2)),
    makeButton("Fit the area or event (F)", "Fit", () => app.fitWindow()),
    makeButton("Show the whole capture (0)", "Whole capture", () => app.view.showAll()),
    makeButton("Undo the last move (Z)", "Undo", () => app.view.undo()),
    makeButton("Go to the longest gap; again: to the next longest (G)", "Longest gap", () => goToGap(app)),
  );
  const share = h("div", { class: "tools" },
    makeButton("Mark a moment (M)", "Mark", () => addMark(app)),
    app.mounted.data.may_add ? makeButton("Put reports below this one: ranks of a run, versions of a program", "Add reports", () => app.mounted.setTriggerValue("add", true)) : null,
    makeButton("Copy a link to this view", "Copy view", async () => {
      app.writeUrl();
      await copyText(location.href);
      app.showMessage("Link copied.");
    }),
    makeButton("Settings, and the picture as a file", "More", () => app.stage.settings?.open()),
    makeButton("Show all keys (?)", "Keys", () => app.stage.keys?.help()),
    makeButton("Fill the screen (V)", "Full screen", () => app.stage.toggleFullScreen()),
  );
  return h("div", { class: "bar", role: "toolbar", "aria-label": "Timeline tools" }, window, app.search.box, h("span", { class: "grow" }), share);
}

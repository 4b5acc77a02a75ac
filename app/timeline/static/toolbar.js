/** The tools above the lanes: each is a key, too. */

/** @import { Timeline } from "./timeline.js" */

import { mark } from "./actions.js";
import { button, copy, h } from "./dom.js";
import { picture } from "./picture.js";
import { drawing } from "./svg.js";

/**
 * @param {Timeline} app
 * @returns {HTMLElement}
 */
export function toolbar(app) {
  const middle = () => (app.view.t0 + app.view.t1) / 2;
  const window = h("div", { class: "tools" },
    button("Zoom in (W)", "+", () => app.view.zoom(middle(), 0.5)),
    button("Zoom out (S)", "−", () => app.view.zoom(middle(), 2)),
    button("Fit what is selected (F)", "Fit", () => app.fit()),
    button("Show the whole capture (0)", "All", () => app.view.all()),
    button("Undo the last move (Z)", "Undo", () => app.view.undo()),
  );
  const share = h("div", { class: "tools" },
    button("From when times count: capture, selection, or the report's clock (T)", "Times", () => app.clock.next()),
    button("Mark a moment (M)", "Mark", () => mark(app)),
    button("Copy a link to this view", "Copy link", async () => {
      app.remember();
      await copy(location.href);
      app.say("Link copied.");
    }),
    button("Save the picture as PNG", "PNG", () => picture(app)),
    button("Save the picture as SVG", "SVG", () => drawing(app)),
    button("Show all keys (?)", "Keys", () => app.stage.keys?.help()),
  );
  return h("div", { class: "bar", role: "toolbar", "aria-label": "Timeline tools" }, window, app.search.box, h("span", { class: "grow" }), share);
}

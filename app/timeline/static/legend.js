/** The colors in sight: causes of idle time, kinds of ranges, classes of operations. Only those that the reports have. */

/** @import { Timeline } from "./timeline.js" */

import { h } from "./dom.js";

const IDLE = "idle-";

/**
 * @param {Timeline} app
 * @returns {HTMLElement}
 */
export function makeLegend(app) {
  const used = new Map(app.sources.list.flatMap(({ data }) => (data.legend ?? []).map((at) => [data.classes[at].name, data.classes[at]])));
  const list = [...used.values()];
  const make = (/** @type {import("./types.js").ColorClass[]} */ classes, /** @type {string} */ title) => (classes.length
    ? [h("b", {}, title), ...classes.map((one) => h("span", {}, h("span", { class: "swatch", style: `--light:${one.light};--dark:${one.dark}` }), one.title.replace(/^Idle: /, "")))]
    : []);
  const kindOf = (/** @type {string} */ name) => (name.startsWith(IDLE) ? "Idle" : /^(phase|module|operator)-0$/.test(name) ? "Ranges" : "Operations");
  return h("div", { class: "legend", hidden: !list.length, role: "group", "aria-label": "Colors", tabindex: 0 }, ...["Idle", "Ranges", "Operations"].flatMap((kind) => make(list.filter((one) => kindOf(one.name) === kind), kind)));
}

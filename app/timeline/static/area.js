/** The panel of an area: statistics by lane, class and name, copies, and idle time by cause. */

/** @import { Area } from "./types.js" */
/** @import { Source } from "./sources.js" */
/** @import { Timeline } from "./timeline.js" */

import { selectTime } from "./actions.js";
import { toFileName } from "./png_export.js";
import { makeButton, h, saveFile, makeTable } from "./dom.js";
import { formatBytes, formatCount, formatDuration, formatPercent } from "./time.js";
import { fetchAnswer } from "./wire.js";

/**
 * @typedef {{name: string, count: number, sum_ns: number}} NameSum
 * @typedef {{lane: number, count: number, sum_ns: number|null, mean_ns: number, min_ns: number, median_ns: number, max_ns: number, busy_ns: number, share: number}} LaneSum
 * @typedef {Object} AreaAnswer
 * @property {LaneSum[]} lanes
 * @property {{class: number, sum_ns: number, count: number}[]} [classes]
 * @property {NameSum[]} [operations]
 * @property {NameSum[]} [calls]
 * @property {NameSum[]} [ranges]
 * @property {{name: string, start: number, end: number}[]} [around] ranges that span the area
 * @property {{kind: string, bytes: number, sum_ns: number, gb_s: number|null, count?: number}[]} [copies]
 * @property {{cause: string, class?: number, ns: number}[]} [idle]
 * @property {{start: number, end: number, cause: string, during?: string}[]} [gaps]
 * @property {{edges_ns: number[], counts: number[]}} [histogram]
 *
 * @typedef {{source: Source, answer: AreaAnswer}} SourceAnswer
 */

/**
 * @param {Timeline} app
 * @param {Area} area
 * @param {string} head
 * @param {SourceAnswer[]} answers one per report
 * @returns {HTMLElement[]}
 */
export function makeAreaPanel(app, area, head, answers) {
  const time = (/** @type {number|null|undefined} */ ns) => (ns === null || ns === undefined ? "–" : formatDuration(ns));
  const stats = (/** @type {Partial<LaneSum>} */ one) => [
    formatCount(one.count ?? 0), ...[one.sum_ns, one.mean_ns, one.min_ns, one.median_ns, one.max_ns, one.busy_ns].map(time), one.share === undefined ? "–" : formatPercent(one.share),
  ];
  const several = app.sources.several, suffixOf = (/** @type {Source} */ source) => (several ? ` · ${source.name}` : "");
  const rows = answers.flatMap(({ source, answer }) => answer.lanes.filter((one) => one.count || one.busy_ns).map((one) => [app.lanes.getPath(one.lane + source.offset).join(" › "), ...stats(one)]));
  return [
    h("div", { class: "panel-head" }, h("b", {}, head), h("span", { class: "on-all quiet" })),
    makeActions(app, area),
    h("div", { class: "tables" },
      ...answers.flatMap(({ source, answer }) => makeTables(app, source, answer, suffixOf(source))),
      makeTable(["Lane", "Events", "Time here", "Mean", "Min", "Median", "Max", "Busy", "Share"], rows, "By lane")),
    h("p", { class: "quiet" }, "Events that reach into the area count, with their time inside it. Mean, minimum, median and maximum are of whole events. The other pages count what starts in a time."),
  ];
}

/**
 * Return the other tables of one report.
 * @param {Timeline} app @param {Source} source @param {AreaAnswer} answer @param {string} suffix end of the captions
 * @returns {HTMLElement[]}
 */
function makeTables(app, source, answer, suffix) {
  const byName = (/** @type {string} */ title, /** @type {NameSum[]|undefined} */ names) => makeOptionalTable(`${title}${suffix}`, ["Name", "Events", "Time here"], names, (one) => [makeName(one.name), formatCount(one.count), formatDuration(one.sum_ns)]);
  const swatch = (/** @type {number|undefined} */ code, /** @type {string} */ word) => makeSwatch(source, code, word);
  const at = (/** @type {{start: number, end: number}} */ one) => ({ start: one.start + source.shift, end: one.end + source.shift });
  return [
    ...makeOptionalTable(`Operations by class${suffix}`, ["Class", "Time here", "Events"], answer.classes, (one) => [swatch(one.class, source.data.classes[one.class]?.title ?? ""), formatDuration(one.sum_ns), formatCount(one.count)]),
    ...makeOptionalTable(`Idle time by cause${suffix}`, ["Cause", "Time here"], answer.idle, (one) => [swatch(one.class, one.cause), formatDuration(one.ns)]),
    ...makeOptionalTable(`Longest gaps${suffix}`, ["Gap", "Cause", "During it", "On all pages"], answer.gaps, (one) => [makeTimeButton(app, at(one)), one.cause, one.during ?? "", makeSelectButton(app, at(one))]),
    ...makeOptionalTable(`Ranges around the area${suffix}`, ["Range", "Duration", "On all pages"], answer.around, (one) => [makeName(one.name), makeTimeButton(app, at(one)), makeSelectButton(app, at(one))]),
    ...byName("Operations", answer.operations),
    ...byName("Ranges that begin or end here", answer.ranges),
    ...byName("Calls", answer.calls),
    ...makeOptionalTable(`Copies${suffix}`, ["Kind", "Bytes", "Duration", "Rate"], answer.copies, (one) => [one.kind, formatBytes(one.bytes), formatDuration(one.sum_ns), one.gb_s ? `${one.gb_s.toFixed(1)} GB/s` : "–"]),
    ...(answer.histogram?.counts.some(Boolean) ? [makeHistogram(answer.histogram, suffix)] : []),
  ];
}

/**
 * Return the buttons and links of an area.
 * @param {Timeline} app
 * @param {Area} area
 */
function makeActions(app, area) {
  const ms = (/** @type {number} */ ns) => String(Math.round(ns) / 1e6);
  const query = new URLSearchParams({ report: app.report, from: ms(area.from), to: ms(area.to) });
  return h("div", { class: "panel-links" },
    makeButton("All pages then show only this time (U)", "Select this time", () => selectTime(app)),
    h("a", { href: app.getPageUrl(`compare?${query}`), target: "_self" }, "Compare this time"),
    makeButton("Zoom to this time (F)", "Zoom to it", () => app.fitWindow()),
    ...app.sources.list.map((source) => {
      const suffix = app.sources.several ? ` of ${shortenName(source.name)}` : "";
      return makeButton(`Save this time${suffix} as a trace for ui.perfetto.dev`, `Perfetto trace${suffix}`, () => void saveTrace(app, area, source));
    }),
    area.lanes.length ? makeButton("Select the same time on all lanes", "All lanes", () => app.selectArea({ ...area, lanes: [] })) : null);
}

/** @param {string} name */
function shortenName(name) {
  return name.length > 32 ? `${name.slice(0, 15)}…${name.slice(-15)}` : name;
}

/** @param {Timeline} app @param {Area} area @param {Source} source the report */
async function saveTrace(app, area, source) {
  app.showMessage("The trace is being made.");
  try {
    const query = { from: Math.floor(area.from - source.shift), to: Math.ceil(area.to - source.shift) };
    const trace = await (await fetchAnswer(source.url("trace", query), app.request.signal)).blob();
    saveFile(trace, `${toFileName(source.name)}.pftrace`);
    app.showMessage(`A trace of ${formatBytes(trace.size)} is saved.`);
  } catch (error) {
    if (!app.request.signal.aborted) app.showMessage(/** @type {Error} */ (error).message);
  }
}

/**
 * Return a table, or nothing if it has no rows.
 * @template T
 * @param {string} caption
 * @param {string[]} heads
 * @param {T[]|undefined} rows
 * @param {(row: T) => import("./dom.js").Child[]} cells
 * @returns {HTMLElement[]}
 */
function makeOptionalTable(caption, heads, rows, cells) {
  return rows?.length ? [makeTable(heads, rows.map(cells), caption)] : [];
}

/** Return a text with the color that it has in the lanes. @param {Source} source @param {number|undefined} code @param {string} word */
function makeSwatch({ data }, code, word) {
  const colors = code === undefined ? null : data.classes[code];
  return h("span", {}, colors && h("span", { class: "swatch", style: `--light:${colors.light};--dark:${colors.dark}` }), word);
}

/** @param {string} text */
function makeName(text) {
  return h("span", { class: "cut", title: text }, text);
}

/** Return a button that shows a time. @param {Timeline} app @param {{start: number, end: number}} time */
function makeTimeButton(app, { start, end }) {
  return makeButton("Show this time", `${formatDuration(end - start)} at ${app.clock.formatTime(start)}`, () => {
    app.measured = { from: start, to: end };
    app.view.fitRange(start, end, 0.6);
    app.scheduleFrame();
  }, { class: "link" });
}

/** Return a button that makes a time the one that all pages show. @param {Timeline} app @param {{start: number, end: number}} time */
function makeSelectButton(app, { start, end }) {
  return makeButton("All pages then show only this time", "Select", () => app.selectArea({ from: start, to: end, lanes: [] }, true), { class: "link" });
}

/**
 * Return the distribution of durations as bars, with a text for screen readers.
 * @param {{edges_ns: number[], counts: number[]}} histogram
 * @param {string} suffix end of the caption
 */
function makeHistogram({ edges_ns: edges, counts }, suffix) {
  const most = Math.max(1, ...counts);
  const bars = counts.map((one, at) => h("span", { class: "bin", title: `${formatDuration(edges[at])} to ${formatDuration(edges[at + 1])}: ${formatCount(one)}`, style: `height:${(100 * one) / most}%` }));
  const top = counts.indexOf(Math.max(...counts));
  const summary = `Most events, ${formatCount(counts[top])}, take ${formatDuration(edges[top])} to ${formatDuration(edges[top + 1])}.`;
  return h("figure", { class: "histogram" },
    h("figcaption", {}, `Durations${suffix}`),
    h("div", { class: "bins", role: "img", "aria-label": summary }, ...bars),
    h("div", { class: "ends" }, h("span", {}, formatDuration(edges[0])), h("span", {}, formatDuration(edges[edges.length - 1]))));
}

/** The panel of an area: what ran in it, lane by lane, and where it was idle. */

/** @import { Area } from "./types.js" */
/** @import { Source } from "./sources.js" */
/** @import { Timeline } from "./timeline.js" */

import { toFileName } from "./png_export.js";
import { makeButton, h, saveFile, makeTable } from "./dom.js";
import { formatBytes, formatCount, formatDuration, formatPercent } from "./time.js";
import { fetchAnswer } from "./wire.js";

/**
 * @typedef {{lane: number, count: number, sum_ns: number, mean_ns: number, min_ns: number, median_ns: number, max_ns: number, busy_ns: number, share: number}} LaneSum
 * @typedef {Object} AreaAnswer
 * @property {LaneSum[]} lanes
 * @property {Partial<LaneSum>} [total]
 * @property {{class: number, sum_ns: number, count: number}[]} [classes]
 * @property {{name: string | number, text?: string, id?: number, count: number, sum_ns: number}[]} [names]
 * @property {{kind: string, bytes: number, sum_ns: number, gb_s: number|null, count?: number}[]} [copies]
 * @property {{cause: string, class?: number, ns: number}[]} [idle]
 * @property {{start: number, end: number, cause: string, during?: string}[]} [gaps]
 * @property {{edges_ns: number[], counts: number[]}} [histogram]
 *
 * @typedef {{source: Source, told: AreaAnswer}} Answered
 */

/**
 * @param {Timeline} app
 * @param {Area} area
 * @param {string} head
 * @param {Answered[]} answers a report each
 * @returns {HTMLElement[]}
 */
export function makeAreaPanel(app, area, head, answers) {
  const time = (/** @type {number|null|undefined} */ ns) => (ns === null || ns === undefined ? "–" : formatDuration(ns));
  const stats = (/** @type {Partial<LaneSum>} */ one) => [
    formatCount(one.count ?? 0), ...[one.sum_ns, one.mean_ns, one.min_ns, one.median_ns, one.max_ns, one.busy_ns].map(time), one.share === undefined ? "–" : formatPercent(one.share),
  ];
  const several = app.sources.several, of = (/** @type {Source} */ source) => (several ? ` · ${source.name}` : "");
  const rows = answers.flatMap(({ source, told }) => [
    ...told.lanes.filter((one) => one.count || one.busy_ns).map((one) => [app.lanes.path(one.lane + source.offset).join(" › "), ...stats(one)]),
    ...(told.total && told.lanes.length > 1 ? [[`Together${of(source)}`, ...stats(told.total)]] : []),
  ]);
  return [
    h("div", { class: "panel-head" }, h("b", {}, head), h("span", { class: "on-all quiet" })),
    makeActions(app, area),
    h("div", { class: "tables" },
      makeTable(["Lane", "Events", "Sum", "Mean", "Min", "Median", "Max", "Busy", "Share"], rows, "By lane"),
      ...answers.flatMap(({ source, told }) => makeTables(app, source, told, of(source)))),
  ];
}

/**
 * The other tables of one report.
 * @param {Timeline} app @param {Source} source @param {AreaAnswer} told @param {string} of what captions end with
 * @returns {HTMLElement[]}
 */
function makeTables(app, source, told, of) {
  return [
    ...makeOptionalTable(`Classes${of}`, ["Class", "Sum", "Events"], told.classes, (one) => [makeSwatch(source, one.class, source.data.classes[one.class]?.title ?? ""), formatDuration(one.sum_ns), formatCount(one.count)]),
    ...makeOptionalTable(`Names that take most${of}`, ["Name", "Events", "Sum"], told.names, (one) => [makeName(app, one), formatCount(one.count), formatDuration(one.sum_ns)]),
    ...makeOptionalTable(`Copies${of}`, ["Kind", "Bytes", "Sum", "Rate"], told.copies, (one) => [one.kind, formatBytes(one.bytes), formatDuration(one.sum_ns), one.gb_s ? `${one.gb_s.toFixed(1)} GB/s` : "–"]),
    ...makeOptionalTable(`Idle time by cause${of}`, ["Cause", "Time"], told.idle, (one) => [makeSwatch(source, one.class, one.cause), formatDuration(one.ns)]),
    ...makeOptionalTable(`Longest gaps${of}`, ["Gap", "Cause", "During it"], told.gaps, (one) => [makeGapButton(app, { start: one.start + source.shift, end: one.end + source.shift }), one.cause, one.during ?? ""]),
    ...(told.histogram?.counts.some(Boolean) ? [makeHistogram(told.histogram, of)] : []),
  ];
}

/**
 * What can be done with an area.
 * @param {Timeline} app
 * @param {Area} area
 */
function makeActions(app, area) {
  const ms = (/** @type {number} */ ns) => String(Math.round(ns) / 1e6);
  const query = new URLSearchParams({ report: app.report, from: ms(area.from), to: ms(area.to) });
  return h("div", { class: "panel-links" },
    makeButton("Show this time on all pages", "Use on all pages", () => app.mounted.setTriggerValue("select", { from: Math.round(area.from), to: Math.round(area.to) })),
    h("a", { href: app.page(`compare?${query}`), target: "_self" }, "Compare this time"),
    makeButton("Zoom to this time (F)", "Zoom to it", () => app.fit()),
    ...app.sources.list.map((source) => {
      const of = app.sources.several ? ` of ${shortenName(source.name)}` : "";
      return makeButton(`Save this time${of} as a trace for ui.perfetto.dev`, `Perfetto trace${of}`, () => void saveTrace(app, area, source));
    }),
    area.lanes.length ? makeButton("Select the same time on all lanes", "All lanes", () => app.select({ ...area, lanes: [] })) : null);
}

/** @param {string} name */
function shortenName(name) {
  return name.length > 32 ? `${name.slice(0, 15)}…${name.slice(-15)}` : name;
}

/** @param {Timeline} app @param {Area} area @param {Source} source whose trace it is */
async function saveTrace(app, area, source) {
  app.say("The trace is being made.");
  try {
    const query = { from: Math.floor(area.from - source.shift), to: Math.ceil(area.to - source.shift) };
    const found = await (await fetchAnswer(source.url("trace", query), app.asking.signal)).blob();
    saveFile(found, `${toFileName(source.name)}.pftrace`);
    app.say(`A trace of ${formatBytes(found.size)} is saved.`);
  } catch (error) {
    if (!app.asking.signal.aborted) app.say(/** @type {Error} */ (error).message);
  }
}

/**
 * A table where there is something in it.
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

/** A word with the color that it has in the lanes. @param {Source} source @param {number|undefined} code @param {string} word */
function makeSwatch({ data }, code, word) {
  const of = code === undefined ? null : data.classes[code];
  return h("span", {}, of && h("span", { class: "swatch", style: `--light:${of.light};--dark:${of.dark}` }), word);
}

/** @param {Timeline} app @param {{name: string | number, text?: string}} one */
function makeName(app, one) {
  const text = one.text ?? (typeof one.name === "number" ? app.sources.text(one.name) : one.name);
  return h("span", { class: "cut", title: text }, text);
}

/** @param {Timeline} app @param {{start: number, end: number}} gap */
function makeGapButton(app, gap) {
  return makeButton(`Go to the gap at ${app.clock.text(gap.start)}`, `${formatDuration(gap.end - gap.start)} at ${app.clock.text(gap.start)}`, () => {
    app.measured = { from: gap.start, to: gap.end };
    app.view.fit(gap.start, gap.end, 0.6);
    app.schedule();
  }, { class: "link" });
}

/**
 * How the durations spread, as bars with a text for those who do not see them.
 * @param {{edges_ns: number[], counts: number[]}} told
 * @param {string} of what the caption ends with
 */
function makeHistogram({ edges_ns: edges, counts }, of) {
  const most = Math.max(1, ...counts);
  const bars = counts.map((one, at) => h("span", { class: "bin", title: `${formatDuration(edges[at])} to ${formatDuration(edges[at + 1])}: ${formatCount(one)}`, style: `height:${(100 * one) / most}%` }));
  const top = counts.indexOf(Math.max(...counts));
  const words = `Most events, ${formatCount(counts[top])}, take ${formatDuration(edges[top])} to ${formatDuration(edges[top + 1])}.`;
  return h("figure", { class: "histogram" },
    h("figcaption", {}, `Durations${of}`),
    h("div", { class: "bins", role: "img", "aria-label": words }, ...bars),
    h("div", { class: "ends" }, h("span", {}, formatDuration(edges[0])), h("span", {}, formatDuration(edges[edges.length - 1]))));
}

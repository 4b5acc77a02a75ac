/** The state of the timeline in the URL: read when it opens, written when the view rests. Invalid values are ignored. */

/** @import { How } from "./alignment.js" */
/** @import { From } from "./clock.js" */
/** @import { Area, Mark } from "./types.js" */

import { HOWS } from "./alignment.js";
import { FROM } from "./clock.js";
import { MAX_NOTE_CHARS } from "./marks.js";

const MAX_IDS = 200;
const MAX_MARKS = 50;
const MAX_SHIFTS = 7;
const MAX_NS = 2 ** 62;
const MOMENT = ["t0", "t1", "area", "in", "ev"];
export const PARAMETERS = [...MOMENT, "fold", "pin", "hide", "deep", "mark", "times", "align", "shift"];

const KEPT = "warpdeck-timeline ";
/** Reports whose timeline this document has shown. @type {Set<string>} */
const seen = new Set();

/**
 * @typedef {Object} UrlState
 * @property {[number, number]|null} window
 * @property {Area|null} area
 * @property {{lane: number, ref: number}|null} event
 * @property {number[]|null} folded null: the default
 * @property {number[]} pinned
 * @property {number[]} hidden
 * @property {number[]} deep lanes that show all levels
 * @property {Mark[]} marks
 * @property {From} times origin of displayed times
 * @property {How|null} align method that aligns several reports
 * @property {number[]} shifts of the reports below the first, ns, if aligned by hand
 */

/**
 * Parse a query string.
 * @param {string} search query string
 * @returns {UrlState}
 */
export function readState(search) {
  const query = new URLSearchParams(search);
  const getLast = (/** @type {string} */ key) => query.getAll(key).at(-1) ?? "";
  const window = parsePair([getLast("t0"), getLast("t1")]), area = parsePair(getLast("area").split("~"));
  const [lane, ref] = getLast("ev").split(".").map(parseNumber);
  return {
    window,
    area: area && { from: area[0], to: area[1], lanes: parseIds(getLast("in")) },
    event: lane !== null && ref != null ? { lane, ref } : null,
    folded: query.has("fold") ? parseIds(getLast("fold")) : null,
    pinned: parseIds(getLast("pin")),
    hidden: parseIds(getLast("hide")),
    deep: parseIds(getLast("deep")),
    marks: query.getAll("mark").slice(0, MAX_MARKS).flatMap(parseMark),
    times: FROM.find((one) => one === getLast("times")) ?? "capture",
    align: HOWS.find((one) => one === getLast("align")) ?? null,
    shifts: getLast("shift").split(".", MAX_SHIFTS).map((one) => (/^-?\d{1,16}$/.test(one) ? Number(one) : 0)),
  };
}

/**
 * Write the state into the URL without a new entry in the history. Other parameters stay.
 * @param {UrlState} state
 */
export function writeState(state) {
  const query = new URLSearchParams(location.search);
  PARAMETERS.forEach((key) => query.delete(key));
  for (const [key, value] of encodeState(state)) query.append(key, value);
  const text = `?${query}`;
  if (text !== location.search) history.replaceState(history.state, "", `${location.pathname}${text}${location.hash}`);
}

/** @param {UrlState} state */
function encodeState(state) {
  const query = new URLSearchParams();
  const setParameter = (/** @type {string} */ key, /** @type {string|number|false|undefined} */ value) => value !== false && value !== undefined && query.set(key, String(value));
  setParameter("t0", state.window?.[0]);
  setParameter("t1", state.window?.[1]);
  setParameter("area", state.area ? `${state.area.from}~${state.area.to}` : false);
  setParameter("in", !!state.area?.lanes.length && state.area.lanes.slice(0, MAX_IDS).join("."));
  setParameter("ev", state.event ? `${state.event.lane}.${state.event.ref}` : false);
  setParameter("fold", state.folded ? state.folded.slice(0, MAX_IDS).join(".") : false);
  setParameter("pin", !!state.pinned.length && state.pinned.slice(0, MAX_IDS).join("."));
  setParameter("hide", !!state.hidden.length && state.hidden.slice(0, MAX_IDS).join("."));
  setParameter("deep", !!state.deep.length && state.deep.slice(0, MAX_IDS).join("."));
  setParameter("times", state.times !== "capture" && state.times);
  setParameter("align", state.align ?? false);
  setParameter("shift", state.align === "hand" && state.shifts.join("."));
  for (const one of state.marks.slice(0, MAX_MARKS)) query.append("mark", `${Math.round(one.t)}~${one.note}`);
  return query;
}

/**
 * Keep the state for when the reader comes back to these reports in this tab.
 * @param {string} reports @param {UrlState} state
 */
export function keepState(reports, state) {
  seen.add(reports);
  try {
    sessionStorage.setItem(KEPT + reports, String(encodeState(state)));
  } catch {
    // A browser without storage, or a full one: the address alone holds the state.
  }
}

/**
 * Return the query string to open reports with: where it says nothing of the timeline, all that was kept; a link of
 * another page shows its time in the lanes as they were. A link that opens a document shows what its sender saw.
 * @param {string} reports @param {string} search query string
 */
export function recallState(reports, search) {
  const query = new URLSearchParams(search), named = PARAMETERS.some((key) => query.has(key));
  if (named && !seen.has(reports)) return search;
  try {
    const kept = new URLSearchParams(sessionStorage.getItem(KEPT + reports) ?? "");
    for (const [key, value] of kept) if (!new URLSearchParams(search).has(key) && (!named || !MOMENT.includes(key))) query.append(key, value);
  } catch {
    return search;
  }
  return `?${query}`;
}

/** @param {string} text @returns {number|null} */
function parseNumber(text) {
  return /^-?\d{1,19}(\.\d{1,6})?$/.test(text) && Math.abs(Number(text)) < MAX_NS ? Number(text) : null;
}

/** @param {string[]} texts @returns {[number, number]|null} two times, earlier first */
function parsePair(texts) {
  const [from, to] = texts.map(parseNumber);
  return texts.length === 2 && from !== null && to !== null && from < to ? [from, to] : null;
}

/** @param {string} text @returns {number[]} */
function parseIds(text) {
  return [...new Set(text.split(".").slice(0, MAX_IDS).filter((one) => /^\d{1,10}$/.test(one)).map(Number))];
}

/** @param {string} text @returns {Mark[]} */
function parseMark(text) {
  const at = text.indexOf("~"), t = parseNumber(at < 0 ? text : text.slice(0, at));
  return t === null ? [] : [{ t, note: at < 0 ? "" : text.slice(at + 1, at + 1 + MAX_NOTE_CHARS) }];
}

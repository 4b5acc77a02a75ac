/** What of the timeline stands in the address: read once, written when the reader rests. Hostile values are ignored. */

/** @import { How } from "./align.js" */
/** @import { From } from "./clock.js" */
/** @import { Area, Mark } from "./types.js" */

import { HOWS } from "./align.js";
import { FROM } from "./clock.js";
import { LONGEST_NOTE } from "./marks.js";

const MOST_IDS = 200;
const MOST_MARKS = 50;
const MOST_SHIFTS = 7;
const MOST_NS = 2 ** 62;
export const KEYS = ["t0", "t1", "area", "in", "ev", "fold", "pin", "hide", "deep", "mark", "times", "align", "shift"];

/**
 * @typedef {Object} Told what an address says
 * @property {[number, number]|null} window
 * @property {Area|null} area
 * @property {{lane: number, ref: number}|null} event
 * @property {number[]|null} folded none: as usual
 * @property {number[]} pinned
 * @property {number[]} hidden
 * @property {number[]} deep lanes that show all their levels
 * @property {Mark[]} marks
 * @property {From} times from when times count
 * @property {How|null} align what several reports are aligned by
 * @property {number[]} shifts what those below are moved by, ns, where that was done by hand
 */

/**
 * Reads an address.
 * @param {string} search the part behind the question mark
 * @returns {Told}
 */
export function read(search) {
  const query = new URLSearchParams(search);
  const last = (/** @type {string} */ key) => query.getAll(key).at(-1) ?? "";
  const window = pair([last("t0"), last("t1")]), area = pair(last("area").split("~"));
  const [lane, ref] = last("ev").split(".").map(number);
  return {
    window,
    area: area && { from: area[0], to: area[1], lanes: ids(last("in")) },
    event: lane !== null && ref != null ? { lane, ref } : null,
    folded: query.has("fold") ? ids(last("fold")) : null,
    pinned: ids(last("pin")),
    hidden: ids(last("hide")),
    deep: ids(last("deep")),
    marks: query.getAll("mark").slice(0, MOST_MARKS).flatMap(mark),
    times: FROM.find((one) => one === last("times")) ?? "capture",
    align: HOWS.find((one) => one === last("align")) ?? null,
    shifts: last("shift").split(".", MOST_SHIFTS).map((one) => (/^-?\d{1,16}$/.test(one) ? Number(one) : 0)),
  };
}

/**
 * Writes it into the address, without a new entry in the history; other parameters stay.
 * @param {Told} told
 */
export function write(told) {
  const query = new URLSearchParams(location.search);
  KEYS.forEach((key) => query.delete(key));
  const put = (/** @type {string} */ key, /** @type {string|number|false|undefined} */ value) => value !== false && value !== undefined && query.set(key, String(value));
  put("t0", told.window?.[0]);
  put("t1", told.window?.[1]);
  put("area", told.area ? `${told.area.from}~${told.area.to}` : false);
  put("in", !!told.area?.lanes.length && told.area.lanes.slice(0, MOST_IDS).join("."));
  put("ev", told.event ? `${told.event.lane}.${told.event.ref}` : false);
  put("fold", told.folded ? told.folded.slice(0, MOST_IDS).join(".") : false);
  put("pin", !!told.pinned.length && told.pinned.slice(0, MOST_IDS).join("."));
  put("hide", !!told.hidden.length && told.hidden.slice(0, MOST_IDS).join("."));
  put("deep", !!told.deep.length && told.deep.slice(0, MOST_IDS).join("."));
  put("times", told.times !== "capture" && told.times);
  put("align", told.align ?? false);
  put("shift", told.align === "hand" && told.shifts.join("."));
  for (const one of told.marks.slice(0, MOST_MARKS)) query.append("mark", `${Math.round(one.t)}~${one.note}`);
  const text = `?${query}`;
  if (text !== location.search) history.replaceState(history.state, "", `${location.pathname}${text}${location.hash}`);
}

/** @param {string} text @returns {number|null} */
function number(text) {
  return /^-?\d{1,19}(\.\d{1,6})?$/.test(text) && Math.abs(Number(text)) < MOST_NS ? Number(text) : null;
}

/** @param {string[]} texts @returns {[number, number]|null} two times, the earlier first */
function pair(texts) {
  const [from, to] = texts.map(number);
  return texts.length === 2 && from !== null && to !== null && from < to ? [from, to] : null;
}

/** @param {string} text @returns {number[]} */
function ids(text) {
  return [...new Set(text.split(".").slice(0, MOST_IDS).filter((one) => /^\d{1,10}$/.test(one)).map(Number))];
}

/** @param {string} text @returns {Mark[]} */
function mark(text) {
  const at = text.indexOf("~"), t = number(at < 0 ? text : text.slice(0, at));
  return t === null ? [] : [{ t, note: at < 0 ? "" : text.slice(at + 1, at + 1 + LONGEST_NOTE) }];
}

/**
 * The reports drawn below each other, the page's own first. The lanes, groups and names of each report get numbers of
 * their own, and its times those of the first report, so that no other module has to know about several reports.
 */

/** @import { Arrow, ColorClass, EventAnswer, Item, Lane, Lanes, Tile } from "./types.js" */

import { NameCache } from "./name_cache.js";
import { decodeTile, fetchAnswer, fetchJson } from "./wire.js";

const LANES = 2 ** 20;
const NAMES = 2 ** 32;

/** @typedef {{id: string, name: string, base: string, data: Lanes}} Opened a report, its base URL and its lanes */

export class Source {
  /**
   * @param {number} index index of the report
   * @param {Opened} opened
   * @param {Uint16Array} colors index of each of its classes among those of all reports
   * @param {() => void} arrived called when names have arrived
   */
  constructor(index, { id, name, base, data }, colors, arrived) {
    this.id = id;
    this.name = name;
    this.base = base;
    this.data = data;
    this.colors = colors;
    this.offset = index * LANES;
    this.firstName = index * NAMES;
    /** ns added to its times */
    this.shift = 0;
    /** @type {"name"|"capture"} */
    this.rangeColors = "name";
    this.names = new NameCache((ids) => this.url("names", { ids: ids.join(",") }), arrived);
  }

  /** The id of the heading lane above its lanes, if there are several reports. */
  get heading() {
    return this.offset + LANES - 1;
  }

  get begin() {
    return this.shift + Math.min(0, this.data.begin_ns ?? 0);
  }

  get end() {
    return this.shift + this.data.end_ns;
  }

  /**
   * Return the URL of an answer.
   * @param {string} name
   * @param {Record<string, string|number>} [query]
   */
  url(name, query = {}) {
    const text = new URLSearchParams(Object.entries({ ...query, v: this.data.version }).map(([key, value]) => [key, String(value)]));
    return `${this.base}${name}?${text}`;
  }

  /** @returns {Lane[]} its lanes below a heading */
  listLanes() {
    const { offset } = this, renumber = (/** @type {number|null} */ id) => (id === null ? null : id + offset);
    const head = { id: this.heading, parent: null, kind: "report", title: this.name, rows: 1, events: 0, busy_ns: 0, group: null };
    return [head, ...this.data.lanes.map((lane) => ({ ...lane, id: lane.id + offset, parent: renumber(lane.parent) ?? this.heading, group: renumber(lane.group) }))];
  }

  /** @param {number} group @param {number} z @param {number} i @param {AbortSignal} signal @returns {Promise<Tile>} */
  async tile(group, z, i, signal) {
    const answer = await fetchAnswer(this.url("tile", { g: group - this.offset, z, i, ...(this.rangeColors === "capture" ? { colors: this.rangeColors } : {}) }), signal);
    return decodeTile(await answer.arrayBuffer(), this);
  }

  /** Convert an event from the server to the numbers and times of all reports. @param {Item} item @returns {Item} */
  item(item) {
    const { offset, shift } = this;
    return { ...item, lane: item.lane + offset, start: item.start + shift, end: item.end + shift, name: item.name + this.firstName, color: this.colors[item.color] ?? 0 };
  }

  /** @param {number} lane @param {number} ref @param {AbortSignal} signal @returns {Promise<EventAnswer>} */
  async event(lane, ref, signal) {
    /** @type {EventAnswer} */
    const answer = await fetchJson(this.url("event", { lane: lane - this.offset, ref }), signal);
    const { offset, shift } = this;
    const end = (/** @type {import("./types.js").End} */ one) => ({ ...one, lane: one.lane + offset, start: one.start + shift, end: one.end + shift });
    const arrows = answer.arrows.map((/** @type {Arrow} */ one) => ({ ...one, from: end(one.from), to: end(one.to) }));
    const name = answer.name_id === undefined ? undefined : answer.name_id + this.firstName;
    return { ...answer, start: answer.start + shift, end: answer.end + shift, name_id: name, arrows };
  }

  /**
   * Request the next or previous event of a lane, or another one of the same name.
   * @param {Record<string, string|number>} query
   * @param {AbortSignal} [signal]
   * @returns {Promise<Item|null>}
   */
  async near({ lane, t, name, ...how }, signal) {
    /** @type {Record<string, string|number>} */
    const named = name === undefined ? {} : { name: Number(name) - this.firstName };
    /** @type {Item|null} */
    const item = await fetchJson(this.url("near", { ...how, ...named, lane: Number(lane) - this.offset, t: Math.round(Number(t) - this.shift) }), signal);
    return item && this.item(item);
  }
}

export class Sources {
  /**
   * @param {Opened[]} opened the page's report first
   * @param {() => void} arrived called when names have arrived
   */
  constructor(opened, arrived) {
    /** @type {ColorClass[]} */
    this.classes = [...opened[0].data.classes];
    this.list = opened.map((one, index) => new Source(index, one, this.indexClasses(one.data.classes), arrived));
    this.main = this.list[0];
  }

  /** Return the index of each class among those of all reports, adding new ones. @param {ColorClass[]} classes */
  indexClasses(classes) {
    return Uint16Array.from(classes, (one) => {
      const known = this.classes.findIndex((other) => other.name === one.name);
      return known < 0 ? this.classes.push(one) - 1 : known;
    });
  }

  /** What the state of a timeline of these reports is kept under. */
  get key() {
    return this.list.map((one) => one.id).join();
  }

  /** Set what gives ranges their color; return true if it changed. @param {"name"|"capture"} by */
  colorRanges(by) {
    const changed = this.main.rangeColors !== by;
    for (const one of this.list) one.rangeColors = by;
    return changed;
  }

  get several() {
    return this.list.length > 1;
  }

  /** @returns {Lane[]} */
  listLanes() {
    return this.several ? this.list.flatMap((one) => one.listLanes()) : this.main.data.lanes;
  }

  /** Return the report of a lane or group. @param {number|null} number */
  sourceOf(number) {
    return this.list[Math.floor((number ?? 0) / LANES)] ?? this.main;
  }

  /** Return a name, "" until it has arrived. @param {number} id */
  getName(id) {
    const source = this.list[Math.floor(id / NAMES)] ?? this.main;
    return source.names.getName(id - source.firstName);
  }

  /** True once all requested names have arrived. */
  get settled() {
    return this.list.every((one) => one.names.settled);
  }

  /** The earliest start of a capture. */
  get first() {
    return Math.min(...this.list.map((one) => one.shift));
  }

  get begin() {
    return Math.min(...this.list.map((one) => one.begin));
  }

  get end() {
    return Math.max(...this.list.map((one) => one.end));
  }
}

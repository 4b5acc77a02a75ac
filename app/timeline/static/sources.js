/**
 * The reports that stand below each other, that of the page first. What comes from each report gets numbers of its own
 * (lanes, groups, names) and times of the first one, so that everything else knows lanes alone.
 */

/** @import { Arrow, ColorClass, EventAnswer, Item, Lane, Lanes, Tile } from "./types.js" */

import { NameCache } from "./name_cache.js";
import { decodeTile, fetchAnswer, fetchJson } from "./wire.js";

const LANES = 2 ** 20;
const NAMES = 2 ** 32;

/** @typedef {{id: string, name: string, base: string, data: Lanes}} Opened a report, its address and its lanes */

export class Source {
  /**
   * @param {number} index place among the reports
   * @param {Opened} opened
   * @param {Uint16Array} colors place of each of its classes among those of all
   * @param {() => void} arrived
   */
  constructor(index, { id, name, base, data }, colors, arrived) {
    this.id = id;
    this.name = name;
    this.base = base;
    this.data = data;
    this.colors = colors;
    this.offset = index * LANES;
    this.firstName = index * NAMES;
    /** ns that its times are moved by */
    this.shift = 0;
    this.names = new NameCache((ids) => this.url("names", { ids: ids.join(",") }), arrived);
  }

  /** The number of the lane that its lanes stand in, where there are several reports. */
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
   * The address of an answer.
   * @param {string} what
   * @param {Record<string, string|number>} [query]
   */
  url(what, query = {}) {
    const text = new URLSearchParams(Object.entries({ ...query, v: this.data.version }).map(([key, value]) => [key, String(value)]));
    return `${this.base}${what}?${text}`;
  }

  /** @returns {Lane[]} its lanes, below a heading */
  lanes() {
    const { offset } = this, moved = (/** @type {number|null} */ id) => (id === null ? null : id + offset);
    const head = { id: this.heading, parent: null, kind: "report", title: this.name, rows: 1, events: 0, busy_ns: 0, group: null };
    return [head, ...this.data.lanes.map((lane) => ({ ...lane, id: lane.id + offset, parent: moved(lane.parent) ?? this.heading, group: moved(lane.group) }))];
  }

  /** @param {number} group @param {number} z @param {number} i @param {AbortSignal} signal @returns {Promise<Tile>} */
  async tile(group, z, i, signal) {
    const answer = await fetchAnswer(this.url("tile", { g: group - this.offset, z, i }), signal);
    return decodeTile(await answer.arrayBuffer(), this);
  }

  /** An event as the server tells it, in the numbers and times of all. @param {Item} told @returns {Item} */
  item(told) {
    const { offset, shift } = this;
    return { ...told, lane: told.lane + offset, start: told.start + shift, end: told.end + shift, name: told.name + this.firstName, color: this.colors[told.color] ?? 0 };
  }

  /** @param {number} lane @param {number} ref @param {AbortSignal} signal @returns {Promise<EventAnswer>} */
  async event(lane, ref, signal) {
    /** @type {EventAnswer} */
    const told = await fetchJson(this.url("event", { lane: lane - this.offset, ref }), signal);
    const { offset, shift } = this;
    const end = (/** @type {import("./types.js").End} */ one) => ({ ...one, lane: one.lane + offset, start: one.start + shift, end: one.end + shift });
    const arrows = told.arrows.map((/** @type {Arrow} */ one) => ({ ...one, from: end(one.from), to: end(one.to) }));
    const name = told.name_id === undefined ? undefined : told.name_id + this.firstName;
    return { ...told, start: told.start + shift, end: told.end + shift, name_id: name, arrows };
  }

  /**
   * The next or previous event, or the like of one.
   * @param {Record<string, string|number>} query
   * @param {AbortSignal} [signal]
   * @returns {Promise<Item|null>}
   */
  async near({ lane, t, name, ...how }, signal) {
    /** @type {Record<string, string|number>} */
    const named = name === undefined ? {} : { name: Number(name) - this.firstName };
    /** @type {Item|null} */
    const told = await fetchJson(this.url("near", { ...how, ...named, lane: Number(lane) - this.offset, t: Math.round(Number(t) - this.shift) }), signal);
    return told && this.item(told);
  }
}

export class Sources {
  /**
   * @param {Opened[]} opened that of the page first
   * @param {() => void} arrived called when names arrived
   */
  constructor(opened, arrived) {
    /** @type {ColorClass[]} */
    this.classes = [...opened[0].data.classes];
    this.list = opened.map((one, index) => new Source(index, one, this.places(one.data.classes), arrived));
    this.main = this.list[0];
  }

  /** Places of classes among those of all; new ones are added. @param {ColorClass[]} classes */
  places(classes) {
    return Uint16Array.from(classes, (one) => {
      const known = this.classes.findIndex((other) => other.name === one.name);
      return known < 0 ? this.classes.push(one) - 1 : known;
    });
  }

  get several() {
    return this.list.length > 1;
  }

  /** @returns {Lane[]} */
  lanes() {
    return this.several ? this.list.flatMap((one) => one.lanes()) : this.main.data.lanes;
  }

  /** The report of a lane or group. @param {number|null} number */
  of(number) {
    return this.list[Math.floor((number ?? 0) / LANES)] ?? this.main;
  }

  /** A name; "" while it is not there yet. @param {number} id */
  text(id) {
    const source = this.list[Math.floor(id / NAMES)] ?? this.main;
    return source.names.text(id - source.firstName);
  }

  /** Whether all names that were asked for are there. */
  get settled() {
    return this.list.every((one) => one.names.settled);
  }

  /** The first begin of a capture. */
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

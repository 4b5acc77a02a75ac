/** The timeline of one report: its state, what it asks for, and when it draws. */

/** @import { Area, Arrow, Item, Mounted } from "./types.js" */
/** @import { Opened } from "./sources.js" */

import * as actions from "./actions.js";
import * as address from "./url_state.js";
import { Alignment } from "./alignment.js";
import { Clock } from "./clock.js";
import { Colors } from "./colors.js";
import { drawLanes } from "./draw.js";
import { clearTextWidths } from "./bars.js";
import { findItemAt } from "./hit_test.js";
import { LaneTree, MOST_LEVELS } from "./lanes.js";
import { Marks } from "./marks.js";
import { computeBusyShares, drawMinimap } from "./minimap.js";
import { Panel } from "./panel.js";
import { ScreenReaderSummary } from "./screen_reader.js";
import { drawAxis } from "./axis.js";
import { Search } from "./search.js";
import { Sources } from "./sources.js";
import { Stage } from "./stage.js";
import { listSteps } from "./steps.js";
import { getLevel, TileCache } from "./tile_cache.js";
import { Titles } from "./titles.js";
import { View } from "./view.js";
import { planTiles } from "./tile_plan.js";

const REST_MS = 350;
const KEPT_FRAMES = 600;

/** @typedef {{lane: number, ref: number, row?: number, start: number, end: number, name: string, nameId?: number, arrows: Arrow[]}} Chosen */

export class Timeline {
  /**
   * @param {Mounted} mounted
   * @param {Opened[]} opened the page's report, and those below it
   */
  constructor(mounted, opened) {
    this.mounted = mounted;
    this.sources = new Sources(opened, () => this.schedule());
    this.data = this.sources.main.data;
    this.report = mounted.data.report;
    this.steps = listSteps(this.sources.main);
    this.lanes = new LaneTree(this.sources.lanes());
    this.overhead = this.lanes.lanes.filter((lane) => lane.kind === "overhead");
    this.colors = new Colors(this.sources.classes);
    this.view = new View(this.sources.begin, this.sources.end, () => this.moved());
    this.tiles = new TileCache((group, z, i, signal) => this.sources.of(group).tile(group, z, i, signal), () => this.arrived(), (error) => this.say(error.message));
    this.scroll = this.width = this.height = this.level = 0;
    /** @type {Item|null} */
    this.hover = null;
    /** @type {Chosen|null} */
    this.chosen = null;
    /** @type {Area|null} */
    this.area = null;
    /** @type {{from: number, to: number}|null} what all pages show */
    this.selected = null;
    /** @type {{from: number, to: number}|null} */
    this.measured = null;
    /** @type {number|null} */
    this.cursor = null;
    this.marks = new Marks(this);
    /** @type {Float32Array[]|null} how busy each report is */
    this.busy = null;
    /** @type {{at: number, ms: number, items: number}[]} */
    this.frames = [];
    this.planned = 0;
    this.resting = 0;
    this.closed = false;
    this.asking = new AbortController();
    this.clock = new Clock(this);
    this.align = new Alignment(this);
    this.search = new Search(this);
    this.stage = new Stage(this);
    this.titles = new Titles(this);
    this.panel = new Panel(this);
    this.readers = new ScreenReaderSummary(this);
    this.stage.build();
    const told = address.readState(location.search);
    this.open(told);
    if (this.sources.several) void this.align.open(told.align, told.shifts).then(() => !this.closed && this.open(told));
  }

  /** Shows what an address says. @param {address.UrlState} told */
  open(told) {
    const { lanes } = this, known = (/** @type {number[]} */ ids) => ids.filter((id) => lanes.byId.has(id));
    lanes.folded = told.folded ? new Set(known(told.folded)) : lanes.usual();
    lanes.pinned = new Set(known(told.pinned));
    lanes.hidden = new Set(known(told.hidden));
    lanes.deep = new Set(known(told.deep));
    lanes.layout();
    this.marks.own = told.marks;
    this.clock.from = told.times;
    this.area = told.area && { ...told.area, lanes: known(told.area.lanes) };
    if (told.window) this.view.set(...told.window);
    else this.view.all();
    if (told.event && lanes.byId.has(told.event.lane)) this.choose(told.event.lane, told.event.ref, !told.window);
    else if (this.area) this.panel.showArea(this.area);
    this.laid();
  }

  /** The reports below were moved in time: all that is of them is somewhere else. */
  realigned() {
    const { sources, view } = this, { whole } = view;
    this.tiles.forget((group) => sources.of(group) !== sources.main);
    view.extent(sources.begin, sources.end);
    this.clear();
    if (whole) view.all();
    this.moved();
  }

  /** The window moved: draw soon; all else waits until it rests. */
  moved() {
    this.schedule();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rest(), REST_MS);
  }

  /** The reader rests: the address, the titles and the table for readers of the screen follow. */
  rest() {
    if (this.closed || !this.align.ready) return;
    this.view.rest();
    this.remember();
    this.titles.tell();
    this.readers.tell();
  }

  /** Writes the state into the address. */
  remember() {
    const { lanes, view, area, chosen } = this;
    const usual = lanes.usual(), folded = [...lanes.folded];
    const same = folded.length === usual.size && folded.every((id) => usual.has(id));
    address.writeState({
      window: view.whole ? null : [Math.floor(view.t0), Math.ceil(view.t1)],
      area: area && { from: Math.round(area.from), to: Math.round(area.to), lanes: area.lanes },
      event: chosen && { lane: chosen.lane, ref: chosen.ref },
      folded: same ? null : folded,
      pinned: [...lanes.pinned],
      hidden: [...lanes.hidden],
      deep: [...lanes.deep],
      marks: this.marks.own,
      times: this.clock.from,
      align: this.sources.several ? this.align.how : null,
      shifts: this.sources.list.slice(1).map((one) => one.shift),
    });
  }

  /** Lanes were folded, pinned or hidden. */
  laid() {
    this.lanes.layout();
    this.stage.resize();
    this.titles.build();
    this.moved();
  }

  arrived() {
    this.busy = null;
    this.schedule();
    if (this.settled) this.moved();
  }

  /** Whether the picture shows all that there is for the window. */
  get settled() {
    return !this.closed && !this.planned && this.align.ready && this.tiles.settled && this.sources.settled;
  }

  schedule() {
    if (!this.closed) this.planned ||= requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.planned = 0;
    const began = performance.now();
    this.stage.measure();
    if (!this.width || !this.height) return;
    this.level = getLevel(this.view.span / this.width);
    this.tiles.want(planTiles(this));
    this.busy ??= computeBusyShares(this);
    const items = drawLanes(this, this.stage.plot, this.width, this.height);
    drawAxis(this, this.stage.axis, this.width, this.stage.axisHeight);
    drawMinimap(this, this.stage.map, this.width, this.stage.mapHeight);
    this.titles.place();
    this.frames.push({ at: began, ms: performance.now() - began, items });
    if (this.frames.length > KEPT_FRAMES) this.frames.shift();
  }

  /** The page has another theme, or this report another selection. @param {Mounted} mounted */
  update(mounted) {
    this.mounted = mounted;
    const [from, to] = mounted.data.selected;
    this.selected = from === null && to === null ? null : { from: from ?? 0, to: to ?? this.data.end_ns };
    if (this.colors.read(this.stage.root)) clearTextWidths();
    this.stage.root.classList.toggle("dark", this.colors.dark);
    this.marks.tell(mounted.data.marks);
    this.panel.tell();
    this.titles.corner();
    // Streamlit may have written the address without what the timeline keeps there.
    this.moved();
  }

  /**
   * Chooses an event: its box, its arrows and its panel.
   * @param {number} lane
   * @param {number} ref
   * @param {boolean} [reveal] brings it into sight
   */
  async choose(lane, ref, reveal = false) {
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      const told = await this.sources.of(lane).event(lane, ref, signal);
      const row = told.row ?? (this.hover?.ref === ref ? this.hover.row : undefined);
      const { start, end, name, name_id: nameId, arrows } = told;
      this.chosen = { lane, ref, row, start, end, name, nameId, arrows };
      this.panel.showEvent(this.chosen, told);
      if (reveal) this.bring(this.chosen);
      else this.stage.reveal(lane, row);
      this.moved();
    } catch (error) {
      if (!signal.aborted) this.say(/** @type {Error} */ (error).message);
    }
  }

  /** Brings an event into sight, its lane and its level, too. @param {{lane: number, row?: number, start: number, end: number}} event */
  bring(event) {
    const { lanes } = this, deep = (event.row ?? 0) >= MOST_LEVELS && !lanes.deep.has(event.lane);
    if (deep) lanes.deep.add(event.lane);
    if (deep || !lanes.slot(event.lane)) {
      lanes.open(event.lane);
      this.laid();
    }
    this.stage.reveal(event.lane, event.row);
    this.view.reveal(event.start, event.end);
    this.schedule();
  }

  /** Chooses nothing. */
  clear() {
    this.asking.abort();
    this.asking = new AbortController();
    this.chosen = this.area = this.measured = null;
    this.panel.close();
    this.moved();
  }

  /** Selects an area; its panel answers for it. @param {Area} area */
  select(area) {
    this.area = area;
    this.measured = null;
    this.panel.showArea(area);
    this.moved();
  }

  fit() {
    actions.fitWindow(this);
  }

  /** The reader went back or forward: shows what the address says now. */
  reread() {
    if (location.pathname.endsWith("/timeline")) this.open(address.readState(location.search));
  }

  /**
   * The address of another page.
   * @param {string} url below that of the dashboard
   */
  page(url) {
    return new URL(url.replace(/^\/+/, ""), new URL("../../../../", import.meta.url)).href;
  }

  /** @param {number} x @param {number} y */
  under(x, y) {
    return findItemAt(this, x, y);
  }

  /** Says something for a moment. @param {string} text */
  say(text) {
    this.stage.say(text);
  }

  close() {
    this.closed = true;
    clearTimeout(this.resting);
    cancelAnimationFrame(this.planned);
    this.asking.abort();
    this.search.close();
    this.panel.stop();
    this.tiles.close();
    this.stage.close();
  }
}

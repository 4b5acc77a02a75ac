/** The timeline: its state, its requests, and when it draws. */

/** @import { Area, Arrow, Item, Mounted } from "./types.js" */
/** @import { Opened } from "./sources.js" */

import * as actions from "./actions.js";
import * as urlState from "./url_state.js";
import { Alignment } from "./alignment.js";
import { Clock } from "./clock.js";
import { Colors } from "./colors.js";
import { drawLanes } from "./draw.js";
import { clearTextWidths } from "./bars.js";
import { findItemAt } from "./hit_test.js";
import { LaneTree, MAX_LEVELS } from "./lanes.js";
import { Marks } from "./marks.js";
import { computeBusyShares, drawMinimap } from "./minimap.js";
import { Panel } from "./panel.js";
import { loadPreferences } from "./preferences.js";
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
const MAX_FRAMES = 600;

/** @typedef {{lane: number, ref: number, row?: number, start: number, end: number, name: string, nameId?: number, arrows: Arrow[]}} Chosen */

export class Timeline {
  /**
   * @param {Mounted} mounted
   * @param {Opened[]} opened the page's report first, then those below it
   */
  constructor(mounted, opened) {
    this.mounted = mounted;
    this.preferences = loadPreferences();
    this.sources = new Sources(opened, () => this.scheduleFrame());
    this.sources.colorRanges(this.preferences.ranges);
    this.data = this.sources.main.data;
    this.report = mounted.data.report;
    this.steps = listSteps(this.sources.main);
    this.lanes = new LaneTree(this.sources.listLanes());
    this.overhead = this.lanes.lanes.filter((lane) => lane.kind === "overhead");
    this.colors = new Colors(this.sources.classes);
    this.view = new View(this.sources.begin, this.sources.end, () => this.scheduleUpdate());
    this.tiles = new TileCache((group, z, i, signal) => this.sources.sourceOf(group).tile(group, z, i, signal), () => this.handleArrival(), (error) => this.showMessage(error.message));
    this.scroll = this.width = this.height = this.level = 0;
    /** @type {Item|null} */
    this.hover = null;
    /** @type {Chosen|null} */
    this.chosen = null;
    /** @type {Area|null} */
    this.area = null;
    /** @type {{from: number, to: number}|null} time range that all pages show */
    this.selected = null;
    /** @type {{from: number, to: number}|null} */
    this.measured = null;
    /** @type {number|null} */
    this.cursor = null;
    this.marks = new Marks(this);
    /** @type {Float32Array[]|null} busy share of each report over time, for the minimap */
    this.busy = null;
    /** @type {{at: number, ms: number, items: number}[]} */
    this.frames = [];
    this.frameRequest = 0;
    this.restTimer = 0;
    this.closed = false;
    this.request = new AbortController();
    this.clock = new Clock(this);
    this.alignment = new Alignment(this);
    this.search = new Search(this);
    this.stage = new Stage(this);
    this.titles = new Titles(this);
    this.panel = new Panel(this);
    this.screenReader = new ScreenReaderSummary(this);
    this.stage.attach();
    const state = urlState.readState(urlState.recallState(this.sources.key, location.search));
    this.restoreState(state);
    if (this.sources.several) void this.alignment.load(state.align, state.shifts).then(() => !this.closed && this.restoreState(state));
  }

  /** Restore the state of a URL. @param {urlState.UrlState} state */
  restoreState(state) {
    const { lanes } = this, keepKnown = (/** @type {number[]} */ ids) => ids.filter((id) => lanes.byId.has(id));
    lanes.folded = state.folded ? new Set(keepKnown(state.folded)) : lanes.getDefaultFolded();
    lanes.pinned = new Set(keepKnown(state.pinned));
    lanes.hidden = new Set(keepKnown(state.hidden));
    lanes.deep = new Set(keepKnown(state.deep));
    lanes.layOut();
    this.marks.own = state.marks;
    this.clock.from = state.times;
    this.area = state.area && { ...state.area, lanes: keepKnown(state.area.lanes) };
    if (state.window) this.view.setWindow(...state.window);
    else this.view.showAll();
    if (state.event && lanes.byId.has(state.event.lane)) this.chooseEvent(state.event.lane, state.event.ref, !state.window);
    else if (this.area) this.panel.showArea(this.area);
    this.layOutLanes();
  }

  /** Redraw after the reports below the first were shifted in time. */
  redrawShifted() {
    const { sources, view } = this, { whole } = view;
    this.tiles.removeGroups((group) => sources.sourceOf(group) !== sources.main);
    view.setExtent(sources.begin, sources.end);
    this.clearSelection();
    if (whole) view.showAll();
    this.scheduleUpdate();
  }

  /** Draw soon after the window moved; everything else waits until it rests. */
  scheduleUpdate() {
    this.scheduleFrame();
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => this.handleRest(), REST_MS);
  }

  /** Update the URL, the titles and the text for screen readers, once the window rests. */
  handleRest() {
    if (this.closed || !this.alignment.ready) return;
    this.view.recordWindow();
    this.writeUrl();
    if (this.settled && this.cursor === null) this.foldLevels(true);
    this.titles.updateShares();
    this.screenReader.update();
  }

  /** Unfold levels that events reach and, where nobody points at them, fold those that none reaches. @param {boolean} mayShrink */
  foldLevels(mayShrink) {
    const changed = this.lanes.listVisible(this.scroll, this.height).filter(({ slot }) => this.lanes.reachLevel(slot, slot.reached, mayShrink));
    if (changed.length) this.layOutLanes();
  }

  /** Write the state into the URL, and keep it for when the reader comes back. */
  writeUrl() {
    const state = this.readState();
    urlState.writeState(state);
    urlState.keepState(this.sources.key, state);
  }

  /** @returns {urlState.UrlState} */
  readState() {
    const { lanes, view, area, chosen } = this;
    const defaults = lanes.getDefaultFolded(), folded = [...lanes.folded];
    const same = folded.length === defaults.size && folded.every((id) => defaults.has(id));
    return {
      window: view.whole ? null : [Math.floor(view.t0), Math.ceil(view.t1)],
      area: area && { from: Math.round(area.from), to: Math.round(area.to), lanes: area.lanes },
      event: chosen && { lane: chosen.lane, ref: chosen.ref },
      folded: same ? null : folded,
      pinned: [...lanes.pinned],
      hidden: [...lanes.hidden],
      deep: [...lanes.deep],
      marks: this.marks.own,
      times: this.clock.from,
      align: this.sources.several ? this.alignment.how : null,
      shifts: this.sources.list.slice(1).map((one) => one.shift),
    };
  }

  /** Lay the lanes out after some were folded, pinned or hidden. */
  layOutLanes() {
    this.lanes.layOut();
    this.stage.resizeLanes();
    this.titles.rebuild();
    this.scheduleUpdate();
  }

  handleArrival() {
    this.busy = null;
    this.scheduleUpdate();
  }

  /** True once everything for the window has arrived and is drawn. */
  get settled() {
    return !this.closed && !this.frameRequest && this.alignment.ready && this.tiles.settled && this.sources.settled;
  }

  scheduleFrame() {
    if (!this.closed) this.frameRequest ||= requestAnimationFrame(() => this.drawFrame());
  }

  drawFrame() {
    this.frameRequest = 0;
    const began = performance.now();
    this.stage.fitCanvases();
    if (!this.width || !this.height) return;
    this.level = getLevel(this.view.span / this.width);
    this.tiles.requestTiles(planTiles(this));
    this.busy ??= computeBusyShares(this);
    const items = drawLanes(this, this.stage.plot, this.width, this.height);
    drawAxis(this, this.stage.axis, this.width, this.stage.axisHeight);
    drawMinimap(this, this.stage.map, this.width, this.stage.mapHeight);
    this.titles.moveTitles();
    this.foldLevels(false);
    this.frames.push({ at: began, ms: performance.now() - began, items });
    if (this.frames.length > MAX_FRAMES) this.frames.shift();
  }

  /** Apply a new theme or selection. @param {Mounted} mounted */
  update(mounted) {
    this.mounted = mounted;
    const [from, to] = mounted.data.selected;
    this.selected = from === null && to === null ? null : { from: from ?? 0, to: to ?? this.data.end_ns };
    if (this.colors.read(this.stage.root)) clearTextWidths();
    this.stage.root.classList.toggle("dark", this.colors.dark);
    this.marks.setStored(mounted.data.marks);
    this.panel.updateNote();
    this.titles.updateCorner();
    // Streamlit may have rewritten the URL without the parameters of the timeline.
    this.scheduleUpdate();
  }

  /**
   * Choose an event: draw its box and arrows, and open its panel.
   * @param {number} lane
   * @param {number} ref
   * @param {boolean} [reveal] scrolls and moves to it
   */
  async chooseEvent(lane, ref, reveal = false) {
    this.request.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    try {
      const answer = await this.sources.sourceOf(lane).event(lane, ref, signal);
      const row = answer.row ?? (this.hover?.ref === ref ? this.hover.row : undefined);
      const { start, end, name, name_id: nameId, arrows } = answer;
      this.chosen = { lane, ref, row, start, end, name, nameId, arrows };
      this.panel.showEvent(this.chosen, answer);
      if (reveal) this.revealEvent(this.chosen);
      else this.stage.scrollTo(lane, row);
      this.scheduleUpdate();
    } catch (error) {
      if (!signal.aborted) this.showMessage(/** @type {Error} */ (error).message);
    }
  }

  /** Scroll and move to an event, unfolding its lane and level. @param {{lane: number, row?: number, start: number, end: number}} event */
  revealEvent(event) {
    const { lanes } = this, deep = (event.row ?? 0) >= MAX_LEVELS && !lanes.deep.has(event.lane);
    if (deep) lanes.deep.add(event.lane);
    if (deep || !lanes.findSlot(event.lane)) {
      lanes.unfold(event.lane);
      this.layOutLanes();
    }
    this.stage.scrollTo(event.lane, event.row);
    this.view.revealRange(event.start, event.end);
    this.scheduleFrame();
  }

  /** Clear the chosen event and the area. */
  clearSelection() {
    this.request.abort();
    this.request = new AbortController();
    this.chosen = this.area = this.measured = null;
    this.panel.close();
    this.scheduleUpdate();
  }

  /** Make an area and show its statistics. @param {Area} area @param {boolean} [everywhere] whether all pages show its time */
  selectArea(area, everywhere = false) {
    this.area = area;
    this.measured = null;
    this.panel.showArea(area);
    if (everywhere) actions.selectTime(this);
    this.scheduleUpdate();
  }

  fitWindow() {
    actions.fitWindow(this);
  }

  /** Restore the state after the user went back or forward. */
  restoreFromUrl() {
    if (location.pathname.endsWith("/timeline")) this.restoreState(urlState.readState(location.search));
  }

  /**
   * Return the URL of another page.
   * @param {string} url relative to the dashboard
   */
  getPageUrl(url) {
    return new URL(url.replace(/^\/+/, ""), new URL("../../../../", import.meta.url)).href;
  }

  /** @param {number} x @param {number} y */
  findItem(x, y) {
    return findItemAt(this, x, y);
  }

  /** Show a message for a moment. @param {string} text */
  showMessage(text) {
    this.stage.showMessage(text);
  }

  /** Apply what the reader prefers, after a change. */
  applyPreferences() {
    if (this.sources.colorRanges(this.preferences.ranges)) this.tiles.removeGroups(() => true);
    this.stage.resizeLanes();
  }

  close() {
    // The address is another page's by now.
    if (this.alignment.ready) urlState.keepState(this.sources.key, this.readState());
    this.closed = true;
    clearTimeout(this.restTimer);
    cancelAnimationFrame(this.frameRequest);
    this.request.abort();
    this.search.close();
    this.panel.stop();
    this.tiles.close();
    this.stage.close();
  }
}

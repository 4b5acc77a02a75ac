/** The tree of lanes, and the layout of those that are shown. */

/** @import { Lane, Slot } from "./types.js" */

const HEAD = 24;
const ROW = 18;
const DENSE_ROW = 16;
const LINE = 38;
const GAP = 5;
const MANY_THREADS = 8;
/** Levels of an unfolded lane until the user asks for all: deep lanes would push the others out of sight. */
export const MAX_LEVELS = 16;
/** Levels that a lane keeps when they are empty. */
const FEW_LEVELS = 3;

/** Kinds of lanes that hold lanes instead of events. */
export const PARENTS = new Set(["gpu", "process", "thread", "report", "group"]);
const QUIET = new Set(["osrt", "sched", "sample", "overhead"]);

export class LaneTree {
  /** @param {Lane[]} lanes */
  constructor(lanes) {
    this.lanes = lanes;
    this.byId = new Map(lanes.map((lane) => [lane.id, lane]));
    /** @type {Map<number|null, Lane[]>} */
    this.children = new Map();
    for (const lane of lanes) {
      const parent = lane.parent !== null && this.byId.has(lane.parent) ? lane.parent : null;
      this.children.set(parent, [...(this.children.get(parent) ?? []), lane]);
    }
    this.folded = this.getDefaultFolded();
    /** @type {Set<number>} */
    this.pinned = new Set();
    /** @type {Set<number>} */
    this.hidden = new Set();
    /** @type {Set<number>} lanes that show all levels */
    this.deep = new Set();
    /** Levels that events in sight reach, of deep lanes: the empty ones below are folded. @type {Map<number, number>} */
    this.reached = new Map();
    /** @type {Slot[]} */
    this.top = [];
    /** @type {Slot[]} */
    this.rest = [];
    this.topHeight = 0;
    this.height = 0;
    this.layOut();
  }

  /** Return the lanes that are folded by default: threads that only sleep or wait, and all threads but the first few. */
  getDefaultFolded() {
    /** @type {Set<number>} */
    const folded = new Set();
    let shown = 0;
    for (const lane of this.lanes) {
      if (lane.kind === "process" && this.lanes[0].kind === "report") folded.add(lane.id);
      if (!this.isFoldable(lane) || lane.kind !== "thread") continue;
      const works = this.childrenOf(lane.id).some((child) => !QUIET.has(child.kind));
      if (!works || ++shown > MANY_THREADS) folded.add(lane.id);
    }
    return folded;
  }

  /** @param {number|null} id */
  childrenOf(id) {
    return this.children.get(id) ?? [];
  }

  /** @param {Lane} lane */
  isFoldable(lane) {
    return this.childrenOf(lane.id).length > 0 || lane.rows > 1;
  }

  /** @param {Lane} lane */
  isParent(lane) {
    return lane.group === null || PARENTS.has(lane.kind);
  }

  /** Place all lanes that are neither hidden nor inside a folded lane. */
  layOut() {
    this.top = [];
    this.rest = [];
    this.topHeight = this.height = 0;
    for (const id of this.pinned) {
      const lane = this.byId.get(id);
      if (lane) this.placeLane(lane, 0, true);
    }
    for (const lane of this.childrenOf(null)) this.placeTree(lane, 0);
  }

  /** @param {Lane} lane @param {number} depth */
  placeTree(lane, depth) {
    if (this.hidden.has(lane.id)) return;
    if (!this.pinned.has(lane.id)) this.placeLane(lane, depth, false);
    if (this.isParent(lane) && this.folded.has(lane.id)) return;
    for (const child of this.childrenOf(lane.id)) this.placeTree(child, depth + 1);
  }

  /** @param {Lane} lane @param {number} depth @param {boolean} pinned */
  placeLane(lane, depth, pinned) {
    const rows = this.folded.has(lane.id) ? 1 : Math.max(1, this.deep.has(lane.id) ? lane.rows : Math.min(lane.rows, MAX_LEVELS, this.reached.get(lane.id) ?? MAX_LEVELS));
    const rowHeight = lane.kind === "line" ? LINE : rows > 3 ? DENSE_ROW : ROW;
    const h = this.isParent(lane) ? HEAD : Math.max(HEAD, rows * rowHeight + GAP);
    const y = pinned ? this.topHeight : this.height;
    (pinned ? this.top : this.rest).push({ lane, y, h, rows, rowHeight, depth, pinned, reached: 0 });
    if (pinned) this.topHeight += h;
    else this.height += h;
  }

  /**
   * Note which level the events of a lane in sight reach.
   * @param {Slot} slot @param {number} reached
   * @param {boolean} mayShrink whether empty levels may go
   * @returns {boolean} true if the lane needs another height
   */
  reachLevel({ lane, rows }, reached, mayShrink) {
    if (lane.rows <= FEW_LEVELS || this.folded.has(lane.id) || this.deep.has(lane.id)) return false;
    const wanted = Math.min(lane.rows, MAX_LEVELS, Math.max(FEW_LEVELS, reached));
    if (wanted === rows || (wanted < rows && !mayShrink)) return false;
    this.reached.set(lane.id, wanted);
    return true;
  }

  /** @param {"folded"|"pinned"|"hidden"|"deep"} state @param {number} id */
  toggle(state, id) {
    if (!this[state].delete(id)) this[state].add(id);
    this.layOut();
  }

  /**
   * Return the titles from the outermost lane to a lane.
   * @param {number} id
   */
  getPath(id) {
    const titles = [];
    for (let lane = this.byId.get(id); lane && titles.length < 9; lane = lane.parent === null ? undefined : this.byId.get(lane.parent)) {
      titles.unshift(lane.title);
    }
    return titles;
  }

  /** Unfold and show a lane and all lanes around it. @param {number} id */
  unfold(id) {
    for (let lane = this.byId.get(id); lane; lane = lane.parent === null ? undefined : this.byId.get(lane.parent)) {
      this.folded.delete(lane.id);
      this.hidden.delete(lane.id);
    }
    this.layOut();
  }

  /**
   * Return the visible slots.
   * @param {number} scroll
   * @param {number} height
   * @returns {{slot: Slot, y: number}[]} with their y on the canvas
   */
  listVisible(scroll, height) {
    const visible = this.top.map((slot) => ({ slot, y: slot.y }));
    for (const slot of this.rest) {
      const y = this.topHeight + slot.y - scroll;
      if (y + slot.h > this.topHeight && y < height) visible.push({ slot, y });
    }
    return visible;
  }

  /** Return the slot of a lane; undefined while it is not shown. @param {number} id */
  findSlot(id) {
    return this.top.find((one) => one.lane.id === id) ?? this.rest.find((one) => one.lane.id === id);
  }
}

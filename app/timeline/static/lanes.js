/** The tree of lanes: which are in sight, and where each is drawn. */

/** @import { Lane, Slot } from "./types.js" */

const HEAD = 24;
const ROW = 18;
const DENSE_ROW = 16;
const LINE = 38;
const GAP = 5;
const MANY_THREADS = 8;
/** Levels that an unfolded lane shows until all of them are asked for: deeper ones would push all else out of sight. */
export const MOST_LEVELS = 16;

/** Kinds of lanes that hold lanes, and no events. */
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
    this.folded = this.usual();
    /** @type {Set<number>} */
    this.pinned = new Set();
    /** @type {Set<number>} */
    this.hidden = new Set();
    /** @type {Set<number>} lanes that show all their levels */
    this.deep = new Set();
    /** @type {Slot[]} */
    this.top = [];
    /** @type {Slot[]} */
    this.rest = [];
    this.topHeight = 0;
    this.height = 0;
    this.layout();
  }

  /** What is folded at first: threads that only sleep or wait, and all but the first of very many. */
  usual() {
    /** @type {Set<number>} */
    const folded = new Set();
    let shown = 0;
    for (const lane of this.lanes) {
      if (lane.kind === "process" && this.lanes[0].kind === "report") folded.add(lane.id);
      if (!this.foldable(lane) || lane.kind !== "thread") continue;
      const told = this.of(lane.id).some((child) => !QUIET.has(child.kind));
      if (!told || ++shown > MANY_THREADS) folded.add(lane.id);
    }
    return folded;
  }

  /** @param {number|null} id */
  of(id) {
    return this.children.get(id) ?? [];
  }

  /** @param {Lane} lane */
  foldable(lane) {
    return this.of(lane.id).length > 0 || lane.rows > 1;
  }

  /** @param {Lane} lane */
  isParent(lane) {
    return lane.group === null || PARENTS.has(lane.kind);
  }

  /** Places all lanes that are not hidden, nor inside of a folded one. */
  layout() {
    this.top = [];
    this.rest = [];
    this.topHeight = this.height = 0;
    for (const id of this.pinned) {
      const lane = this.byId.get(id);
      if (lane) this.place(lane, 0, true);
    }
    for (const lane of this.of(null)) this.walk(lane, 0);
  }

  /** @param {Lane} lane @param {number} depth */
  walk(lane, depth) {
    if (this.hidden.has(lane.id)) return;
    if (!this.pinned.has(lane.id)) this.place(lane, depth, false);
    if (this.isParent(lane) && this.folded.has(lane.id)) return;
    for (const child of this.of(lane.id)) this.walk(child, depth + 1);
  }

  /** @param {Lane} lane @param {number} depth @param {boolean} pinned */
  place(lane, depth, pinned) {
    const rows = this.folded.has(lane.id) ? 1 : Math.max(1, this.deep.has(lane.id) ? lane.rows : Math.min(lane.rows, MOST_LEVELS));
    const rowHeight = lane.kind === "line" ? LINE : rows > 3 ? DENSE_ROW : ROW;
    const h = this.isParent(lane) ? HEAD : Math.max(HEAD, rows * rowHeight + GAP);
    const y = pinned ? this.topHeight : this.height;
    (pinned ? this.top : this.rest).push({ lane, y, h, rows, rowHeight, depth, pinned });
    if (pinned) this.topHeight += h;
    else this.height += h;
  }

  /** @param {"folded"|"pinned"|"hidden"|"deep"} what @param {number} id */
  toggle(what, id) {
    if (!this[what].delete(id)) this[what].add(id);
    this.layout();
  }

  /**
   * The path of titles to a lane, the outermost first.
   * @param {number} id
   */
  path(id) {
    const titles = [];
    for (let lane = this.byId.get(id); lane && titles.length < 9; lane = lane.parent === null ? undefined : this.byId.get(lane.parent)) {
      titles.unshift(lane.title);
    }
    return titles;
  }

  /** Opens whatever a lane is folded or hidden in. @param {number} id */
  open(id) {
    for (let lane = this.byId.get(id); lane; lane = lane.parent === null ? undefined : this.byId.get(lane.parent)) {
      this.folded.delete(lane.id);
      this.hidden.delete(lane.id);
    }
    this.layout();
  }

  /**
   * The slots in sight.
   * @param {number} scroll
   * @param {number} height
   * @returns {{slot: Slot, y: number}[]} with their place on the screen
   */
  visible(scroll, height) {
    const found = this.top.map((slot) => ({ slot, y: slot.y }));
    for (const slot of this.rest) {
      const y = this.topHeight + slot.y - scroll;
      if (y + slot.h > this.topHeight && y < height) found.push({ slot, y });
    }
    return found;
  }

  /** Where a lane stands among those that scroll. @param {number} id */
  slot(id) {
    return this.top.find((one) => one.lane.id === id) ?? this.rest.find((one) => one.lane.id === id);
  }
}

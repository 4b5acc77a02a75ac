/** Tiles by group, level and number: fetched when they come into sight, kept as long as there is room. */

/** @import { Piece, Tile } from "./types.js" */

export const BINS = 1024;
const TOP = 52;
const MOST_BYTES = 120 << 20;
const AT_ONCE = 6;
const TRIES = 3;
const DEEPER = 3;

/**
 * The level whose bins are half a pixel to one pixel wide.
 * @param {number} nsPerPx
 */
export function getLevel(nsPerPx) {
  return Math.max(0, Math.min(TOP, Math.floor(Math.log2(nsPerPx))));
}

/**
 * The ns that a tile of a level covers.
 * @param {number} z
 */
export function getTileSpan(z) {
  return BINS * 2 ** z;
}

/** @param {number} group @param {number} z @param {number} i */
function makeKey(group, z, i) {
  return `${group}/${z}/${i}`;
}

export class TileCache {
  /**
   * @param {(group: number, z: number, i: number, signal: AbortSignal) => Promise<Tile>} load
   * @param {() => void} arrived called when there is something new to draw
   * @param {(error: Error) => void} failed
   */
  constructor(load, arrived, failed) {
    this.load = load;
    this.arrived = arrived;
    this.failed = failed;
    /** @type {Map<string, Tile>} */
    this.kept = new Map();
    this.bytes = 0;
    /** @type {Map<string, AbortController>} */
    this.under_way = new Map();
    /** @type {Map<string, number>} */
    this.tries = new Map();
    /** @type {[number, number, number][]} */
    this.wanted = [];
  }

  /**
   * A tile that is there.
   * @param {number} group @param {number} z @param {number} i
   */
  have(group, z, i) {
    return this.kept.get(makeKey(group, z, i));
  }

  /** Whether all that was asked for last is there, or will not come. */
  get settled() {
    return !this.under_way.size && !this.wanted.some((one) => this.missing(makeKey(...one)));
  }

  /** @param {string} name */
  missing(name) {
    return !this.kept.has(name) && (this.tries.get(name) ?? 0) < TRIES;
  }

  /**
   * Asks for tiles, the most important first; requests for others are given up.
   * @param {[number, number, number][]} list group, level, number
   */
  want(list) {
    this.wanted = list;
    const names = new Set(list.map((one) => makeKey(...one)));
    for (const [name, request] of this.under_way) if (!names.has(name)) request.abort();
    for (const name of names) {
      const tile = this.kept.get(name);
      if (tile) {
        this.kept.delete(name);
        this.kept.set(name, tile);
      }
    }
    this.go();
  }

  /** Starts what is wanted, a few requests at once. */
  go() {
    for (const one of this.wanted) {
      if (this.under_way.size >= AT_ONCE) return;
      const name = makeKey(...one);
      if (this.missing(name) && !this.under_way.has(name)) this.fetch(name, one);
    }
  }

  /**
   * @param {string} name
   * @param {[number, number, number]} place
   */
  async fetch(name, place) {
    const request = new AbortController();
    this.under_way.set(name, request);
    try {
      const tile = await this.load(...place, request.signal);
      if (!request.signal.aborted) this.keep(name, tile);
      this.tries.delete(name);
    } catch (error) {
      if (!request.signal.aborted) {
        this.tries.set(name, (this.tries.get(name) ?? 0) + 1);
        this.failed(/** @type {Error} */ (error));
      }
    }
    if (this.under_way.get(name) === request) this.under_way.delete(name);
    this.go();
    this.arrived();
  }

  /**
   * @param {string} name
   * @param {Tile} tile
   */
  keep(name, tile) {
    this.kept.set(name, tile);
    this.bytes += tile.bytes;
    for (const [oldest, old] of this.kept) {
      if (this.bytes <= MOST_BYTES || oldest === name) return;
      this.kept.delete(oldest);
      this.bytes -= old.bytes;
    }
  }

  /**
   * What to draw for a tile: itself, or what there is of other levels.
   * @param {number} group @param {number} z @param {number} i
   * @param {Piece[]} out
   * @param {number} shift ns that the times of the group are moved by
   * @param {number} [depth]
   */
  cover(group, z, i, out, shift, depth = 0) {
    const wide = getTileSpan(z), from = i * wide + shift, to = from + wide;
    const tile = this.have(group, z, i);
    if (tile) {
      out.push({ tile, from, to, exact: depth === 0 });
    } else if (z > 0 && depth < DEEPER && (this.have(group, z - 1, 2 * i) || this.have(group, z - 1, 2 * i + 1))) {
      this.cover(group, z - 1, 2 * i, out, shift, depth + 1);
      this.cover(group, z - 1, 2 * i + 1, out, shift, depth + 1);
    } else {
      for (let up = 1; z + up <= TOP; up++) {
        const coarse = this.have(group, z + up, Math.floor(i / 2 ** up));
        if (coarse) return void out.push({ tile: coarse, from, to, exact: false });
      }
    }
  }

  /** Forgets all of some groups: their times are others now. @param {(group: number) => boolean} which */
  forget(which) {
    const of = (/** @type {string} */ name) => which(Number(name.slice(0, name.indexOf("/"))));
    for (const [name, request] of this.under_way) if (of(name)) request.abort();
    for (const [name, tile] of this.kept) {
      if (!of(name)) continue;
      this.kept.delete(name);
      this.bytes -= tile.bytes;
    }
  }

  /** Gives everything up. */
  close() {
    for (const request of this.under_way.values()) request.abort();
    this.wanted = [];
    this.kept.clear();
  }
}

/** Tiles by group, level and index: fetched when they come into sight, cached up to a limit. */

/** @import { Piece, Tile } from "./types.js" */

export const BINS = 1024;
const MAX_LEVEL = 52;
const MAX_BYTES = 120 << 20;
const MAX_REQUESTS = 6;
const MAX_TRIES = 3;
/** Finer levels to look for until a tile arrives. */
const MAX_DEPTH = 3;

/**
 * Return the level whose bins are half a pixel to one pixel wide.
 * @param {number} nsPerPx
 */
export function getLevel(nsPerPx) {
  return Math.max(0, Math.min(MAX_LEVEL, Math.floor(Math.log2(nsPerPx))));
}

/**
 * Return the ns that a tile of a level covers.
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
    this.tiles = new Map();
    this.bytes = 0;
    /** @type {Map<string, AbortController>} */
    this.requests = new Map();
    /** @type {Map<string, number>} */
    this.failures = new Map();
    /** @type {[number, number, number][]} */
    this.wanted = [];
  }

  /**
   * Return a cached tile.
   * @param {number} group @param {number} z @param {number} i
   */
  getTile(group, z, i) {
    return this.tiles.get(makeKey(group, z, i));
  }

  /** True once all wanted tiles have arrived or failed for good. */
  get settled() {
    return !this.requests.size && !this.wanted.some((one) => this.isMissing(makeKey(...one)));
  }

  /** @param {string} name */
  isMissing(name) {
    return !this.tiles.has(name) && (this.failures.get(name) ?? 0) < MAX_TRIES;
  }

  /**
   * Request tiles, most important first, and abort requests for others.
   * @param {[number, number, number][]} list group, level, index
   */
  requestTiles(list) {
    this.wanted = list;
    const names = new Set(list.map((one) => makeKey(...one)));
    for (const [name, request] of this.requests) if (!names.has(name)) request.abort();
    for (const name of names) {
      const tile = this.tiles.get(name);
      if (tile) {
        this.tiles.delete(name);
        this.tiles.set(name, tile);
      }
    }
    this.startRequests();
  }

  /** Start requests for wanted tiles, a few at a time. */
  startRequests() {
    for (const one of this.wanted) {
      if (this.requests.size >= MAX_REQUESTS) return;
      const name = makeKey(...one);
      if (this.isMissing(name) && !this.requests.has(name)) this.fetchTile(name, one);
    }
  }

  /**
   * @param {string} name
   * @param {[number, number, number]} place
   */
  async fetchTile(name, place) {
    const request = new AbortController();
    this.requests.set(name, request);
    try {
      const tile = await this.load(...place, request.signal);
      if (!request.signal.aborted) this.addTile(name, tile);
      this.failures.delete(name);
    } catch (error) {
      if (!request.signal.aborted) {
        this.failures.set(name, (this.failures.get(name) ?? 0) + 1);
        this.failed(/** @type {Error} */ (error));
      }
    }
    if (this.requests.get(name) === request) this.requests.delete(name);
    this.startRequests();
    this.arrived();
  }

  /**
   * @param {string} name
   * @param {Tile} tile
   */
  addTile(name, tile) {
    this.tiles.set(name, tile);
    this.bytes += tile.bytes;
    for (const [oldest, old] of this.tiles) {
      if (this.bytes <= MAX_BYTES || oldest === name) return;
      this.tiles.delete(oldest);
      this.bytes -= old.bytes;
    }
  }

  /**
   * Add the pieces to draw for a tile: the tile itself, or cached tiles of other levels until it arrives.
   * @param {number} group @param {number} z @param {number} i
   * @param {Piece[]} out
   * @param {number} shift ns added to the times of the group
   * @param {number} [depth]
   */
  collectPieces(group, z, i, out, shift, depth = 0) {
    const span = getTileSpan(z), from = i * span + shift, to = from + span;
    const tile = this.getTile(group, z, i);
    if (tile) {
      out.push({ tile, from, to, exact: depth === 0 });
    } else if (z > 0 && depth < MAX_DEPTH && (this.getTile(group, z - 1, 2 * i) || this.getTile(group, z - 1, 2 * i + 1))) {
      this.collectPieces(group, z - 1, 2 * i, out, shift, depth + 1);
      this.collectPieces(group, z - 1, 2 * i + 1, out, shift, depth + 1);
    } else {
      for (let up = 1; z + up <= MAX_LEVEL; up++) {
        const coarse = this.getTile(group, z + up, Math.floor(i / 2 ** up));
        if (coarse) return void out.push({ tile: coarse, from, to, exact: false });
      }
    }
  }

  /** Remove the tiles of some groups, whose times have changed. @param {(group: number) => boolean} isStale */
  removeGroups(isStale) {
    const isStaleName = (/** @type {string} */ name) => isStale(Number(name.slice(0, name.indexOf("/"))));
    for (const [name, request] of this.requests) if (isStaleName(name)) request.abort();
    for (const [name, tile] of this.tiles) {
      if (!isStaleName(name)) continue;
      this.tiles.delete(name);
      this.bytes -= tile.bytes;
    }
  }

  /** Abort all requests and forget all tiles. */
  close() {
    for (const request of this.requests.values()) request.abort();
    this.wanted = [];
    this.tiles.clear();
  }
}

/** Fetch answers of the server: tiles in a packed binary layout, everything else as JSON. */

/** @import { Tile } from "./types.js" */

const MAGIC = 0x31544457;
const HEADER = 16;

/** The server refused, or cannot be reached; `message` is a sentence for the user. */
export class AnswerError extends Error {
  /**
   * @param {string} message
   * @param {number} status 0: no answer
   */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * @param {string} url
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
export async function fetchAnswer(url, signal) {
  let response;
  try {
    response = await fetch(url, { signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new AnswerError("The server cannot be reached.", 0);
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  throw new AnswerError(typeof answer?.error === "string" ? answer.error : `The server answered ${response.status}.`, response.status);
}

/**
 * @param {string} url
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function fetchJson(url, signal) {
  return (await fetchAnswer(url, signal)).json();
}

/**
 * @param {ArrayBuffer} buffer
 * @param {{offset: number, firstName: number, shift: number, colors: Uint16Array}} source converts numbers and times to those of all reports
 * @returns {Tile}
 * @throws {AnswerError} the bytes are no tile
 */
export function decodeTile(buffer, source) {
  const head = buffer.byteLength >= HEADER ? new Uint32Array(buffer, 0, 4) : new Uint32Array(4);
  if (head[0] !== MAGIC) throw new AnswerError("The server sent something other than a tile.", 0);
  const n = head[1], p = head[2];
  if (buffer.byteLength !== getTileSize(n, p)) throw new AnswerError("The server sent half a tile.", 0);
  let at = HEADER;
  /**
   * @template T
   * @param {{new (buffer: ArrayBuffer, at: number, length: number): T, BYTES_PER_ELEMENT: number}} kind
   * @param {number} length
   * @returns {T}
   */
  const column = (kind, length) => {
    const values = new kind(buffer, at, length);
    at += padBytes(kind.BYTES_PER_ELEMENT * length);
    return values;
  };
  const start = column(Float64Array, n), end = column(Float64Array, n), lane = column(Uint32Array, n);
  const row = column(Uint16Array, n), name = column(Uint32Array, n), color = column(Uint16Array, n);
  const count = column(Uint32Array, n), busy = column(Float32Array, n), ref = column(Float64Array, n);
  const pointStart = column(Float64Array, p), pointLane = column(Uint32Array, p);
  const mean = column(Float32Array, p), min = column(Float32Array, p), max = column(Float32Array, p);
  for (const lanes of source.offset ? [lane, pointLane] : []) lanes.forEach((id, at) => (lanes[at] = id + source.offset));
  for (const times of source.shift ? [start, end, pointStart] : []) times.forEach((t, at) => (times[at] = t + source.shift));
  if (source.offset) color.forEach((code, at) => (color[at] = source.colors[code]));
  const items = indexByLane(lane, (a, b) => color[a] - color[b] || start[a] - start[b]);
  const points = indexByLane(pointLane, (a, b) => pointStart[a] - pointStart[b]);
  return { n, firstName: source.firstName, start, end, lane, row, name, color, count, busy, ref, items, pointStart, mean, min, max, points, bytes: buffer.byteLength };
}

/** @param {number} bytes */
function padBytes(bytes) {
  return Math.ceil(bytes / 8) * 8;
}

/**
 * @param {number} n
 * @param {number} p
 */
function getTileSize(n, p) {
  const items = 3 * 8 * n + 3 * padBytes(4 * n) + 2 * padBytes(2 * n) + padBytes(4 * n);
  return HEADER + items + 8 * p + 4 * padBytes(4 * p);
}

/**
 * Return the indices of a column by lane.
 * @param {Uint32Array} lanes
 * @param {(a: number, b: number) => number} order
 * @returns {Map<number, Uint32Array>}
 */
function indexByLane(lanes, order) {
  /** @type {Map<number, number[]>} */
  const indices = new Map();
  for (let at = 0; at < lanes.length; at++) {
    const list = indices.get(lanes[at]);
    if (list) list.push(at);
    else indices.set(lanes[at], [at]);
  }
  /** @type {Map<number, Uint32Array>} */
  const sorted = new Map();
  for (const [lane, list] of indices) sorted.set(lane, Uint32Array.from(list).sort(order));
  return sorted;
}

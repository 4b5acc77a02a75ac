/** Texts of names by their numbers, asked for together. */

import { fetchJson } from "./wire.js";

const MOST = 512;

export class NameCache {
  /**
   * @param {(ids: number[]) => string} address
   * @param {() => void} arrived
   */
  constructor(address, arrived) {
    this.address = address;
    this.arrived = arrived;
    /** @type {Map<number, string>} */
    this.known = new Map();
    /** @type {Set<number>} */
    this.asked = new Set();
    /** @type {Set<number>} */
    this.waiting = new Set();
    this.timer = 0;
  }

  /**
   * A name; "" while it is not there yet.
   * @param {number} id
   */
  text(id) {
    const known = this.known.get(id);
    if (known === undefined && !this.asked.has(id)) {
      this.asked.add(id);
      this.waiting.add(id);
      this.timer ||= setTimeout(() => this.ask(), 20);
    }
    return known ?? "";
  }

  async ask() {
    this.timer = 0;
    const ids = [...this.waiting].slice(0, MOST);
    ids.forEach((id) => this.waiting.delete(id));
    if (this.waiting.size) this.timer = setTimeout(() => this.ask(), 20);
    try {
      const texts = await fetchJson(this.address(ids));
      for (const id of ids) this.known.set(id, String(texts[id] ?? ""));
    } catch {
      ids.forEach((id) => this.asked.delete(id));
      return;
    }
    this.arrived();
  }

  /** Whether every name that was asked for is there. */
  get settled() {
    return !this.timer && this.asked.size <= this.known.size;
  }
}

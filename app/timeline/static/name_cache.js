/** Names by id, requested in batches. */

import { fetchJson } from "./wire.js";

const MAX_IDS = 512;

export class NameCache {
  /**
   * @param {(ids: number[]) => string} getUrl
   * @param {() => void} arrived called when names have arrived
   */
  constructor(getUrl, arrived) {
    this.getUrl = getUrl;
    this.arrived = arrived;
    /** @type {Map<number, string>} */
    this.names = new Map();
    /** @type {Set<number>} */
    this.requested = new Set();
    /** @type {Set<number>} */
    this.waiting = new Set();
    this.timer = 0;
  }

  /**
   * Return a name, "" until it has arrived.
   * @param {number} id
   */
  getName(id) {
    const name = this.names.get(id);
    if (name === undefined && !this.requested.has(id)) {
      this.requested.add(id);
      this.waiting.add(id);
      this.timer ||= setTimeout(() => this.request(), 20);
    }
    return name ?? "";
  }

  async request() {
    this.timer = 0;
    const ids = [...this.waiting].slice(0, MAX_IDS);
    ids.forEach((id) => this.waiting.delete(id));
    if (this.waiting.size) this.timer = setTimeout(() => this.request(), 20);
    try {
      const texts = await fetchJson(this.getUrl(ids));
      for (const id of ids) this.names.set(id, String(texts[id] ?? ""));
    } catch {
      ids.forEach((id) => this.requested.delete(id));
      return;
    }
    this.arrived();
  }

  /** True once every requested name has arrived. */
  get settled() {
    return !this.timer && this.requested.size <= this.names.size;
  }
}

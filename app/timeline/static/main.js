/** Mounts the timeline into the element that Streamlit gives; once for an element, however often Streamlit runs it. */

/** @import { Lanes, Mounted } from "./types.js" */

import { h } from "./dom.js";
import { hook } from "./hook.js";
import { Timeline } from "./timeline.js";
import { json } from "./wire.js";

const AGAIN_MS = 700;

/** @typedef {{report: string, app: Timeline|null, latest: Mounted, end: () => void}} Held */

/** @type {WeakMap<Node, Held>} */
const held = new WeakMap();

/**
 * What `component.js` calls.
 * @param {Mounted} mounted
 * @returns {() => void} takes it away
 */
export function mount(mounted) {
  const parent = mounted.parentElement, there = held.get(parent);
  if (there && there.report === named(mounted)) {
    there.latest = mounted;
    there.app?.update(mounted);
    return there.end;
  }
  there?.end();
  return begin(mounted, parent);
}

/** The reports that are drawn; with others all begins anew. @param {Mounted} mounted */
function named({ data }) {
  return [data.report, ...data.beside.map((one) => one.id)].join();
}

/**
 * @param {Mounted} mounted
 * @param {HTMLElement | ShadowRoot} parent
 */
function begin(mounted, parent) {
  const ending = new AbortController(), here = new URL(".", import.meta.url);
  const style = h("link", { rel: "stylesheet", href: new URL("timeline.css", here).href });
  const note = h("p", { class: "tl-note", role: "status" }, "Loading the timeline …");
  const styled = new Promise((done) => ["load", "error"].forEach((name) => style.addEventListener(name, done)));
  parent.append(style, note);
  /** @type {Held} */
  const one = {
    report: named(mounted),
    app: null,
    latest: mounted,
    end: () => {
      ending.abort();
      one.app?.close();
      [style, note].forEach((element) => element.remove());
      if (held.get(parent) === one) held.delete(parent);
    },
  };
  held.set(parent, one);
  const opened = [{ id: mounted.data.report, name: mounted.data.name }, ...mounted.data.beside].map(async ({ id, name }) => {
    const base = new URL(`../../${encodeURIComponent(id)}/`, here).href;
    return { id, name, base, data: await lanes(base, ending.signal, note) };
  });
  Promise.all([Promise.all(opened), styled])
    .then(([all]) => {
      if (ending.signal.aborted) return;
      if (!all[0].data.lanes.some((lane) => lane.group !== null)) {
        note.textContent = "This report has no events to draw over time.";
        return;
      }
      note.remove();
      one.app = new Timeline(one.latest, all);
      one.app.update(one.latest);
      hook(one.app);
    })
    .catch((error) => {
      if (!ending.signal.aborted) note.textContent = error.message;
    });
  return one.end;
}

/**
 * The lanes; the server may have to prepare them first.
 * @param {string} base
 * @param {AbortSignal} signal
 * @param {HTMLElement} note
 * @returns {Promise<Lanes>}
 */
async function lanes(base, signal, note) {
  for (;;) {
    const told = await json(`${base}lanes`, signal);
    if (!told.building) return told;
    note.textContent = "Preparing the timeline. This happens once per report, and takes some seconds for a large one.";
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

/** Mount the timeline into Streamlit's element, once per element however often Streamlit calls. */

/** @import { Lanes, Mounted } from "./types.js" */

import { h } from "./dom.js";
import { installTestHook } from "./test_hook.js";
import { Timeline } from "./timeline.js";
import { fetchJson } from "./wire.js";

const RETRY_MS = 700;

/** @typedef {{report: string, app: Timeline|null, latest: Mounted, end: () => void}} Mount */

/** @type {WeakMap<Node, Mount>} */
const mounts = new WeakMap();

/**
 * Mount or updates the timeline; `component.js` calls it.
 * @param {Mounted} mounted
 * @returns {() => void} removes the timeline
 */
export function mount(mounted) {
  const parent = mounted.parentElement, current = mounts.get(parent);
  if (current && current.report === getReportKey(mounted)) {
    current.latest = mounted;
    current.app?.update(mounted);
    return current.end;
  }
  current?.end();
  return startTimeline(mounted, parent);
}

/** Return the ids of the reports to draw; other reports need a new timeline. @param {Mounted} mounted */
function getReportKey({ data }) {
  return [data.report, ...data.others.map((one) => one.id)].join();
}

/**
 * @param {Mounted} mounted
 * @param {HTMLElement | ShadowRoot} parent
 */
function startTimeline(mounted, parent) {
  const ending = new AbortController(), here = new URL(".", import.meta.url);
  const style = h("link", { rel: "stylesheet", href: new URL("timeline.css", here).href });
  const note = h("p", { class: "tl-note", role: "status" }, "Loading the timeline …");
  const styled = new Promise((done) => ["load", "error"].forEach((name) => style.addEventListener(name, done)));
  parent.append(style, note);
  /** @type {Mount} */
  const current = {
    report: getReportKey(mounted),
    app: null,
    latest: mounted,
    end: () => {
      ending.abort();
      current.app?.close();
      [style, note].forEach((element) => element.remove());
      if (mounts.get(parent) === current) mounts.delete(parent);
    },
  };
  mounts.set(parent, current);
  const opened = [{ id: mounted.data.report, name: mounted.data.name }, ...mounted.data.others].map(async ({ id, name }) => {
    const base = new URL(`../../${encodeURIComponent(id)}/`, here).href;
    return { id, name, base, data: await loadLanes(base, ending.signal, note) };
  });
  Promise.all([Promise.all(opened), styled])
    .then(([all]) => {
      if (ending.signal.aborted) return;
      if (!all[0].data.lanes.some((lane) => lane.group !== null)) {
        note.textContent = "This report has no events to draw over time.";
        return;
      }
      note.remove();
      current.app = new Timeline(current.latest, all);
      current.app.update(current.latest);
      installTestHook(current.app);
    })
    .catch((error) => {
      if (!ending.signal.aborted) note.textContent = error.message;
    });
  return current.end;
}

/**
 * Load the lanes; waits while the server prepares them.
 * @param {string} base
 * @param {AbortSignal} signal
 * @param {HTMLElement} note
 * @returns {Promise<Lanes>}
 */
async function loadLanes(base, signal, note) {
  for (;;) {
    const answer = await fetchJson(`${base}lanes`, signal);
    if (!answer.building) return answer;
    note.textContent = "Preparing the timeline. This happens once per report, and takes some seconds for a large one.";
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}

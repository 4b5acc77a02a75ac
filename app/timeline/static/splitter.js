/** The edge between the lanes and the panel: a drag or the arrow keys move it, a double click puts it back. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Stage } from "./stage.js" */

import { savePreferences } from "./preferences.js";

const MIN_PX = 60;
const STEP_PX = 24;

/**
 * @param {Timeline} app
 * @param {Stage} stage
 * @param {AbortSignal} signal
 */
export function listenToSplitter(app, stage, signal) {
  const { splitter, panel } = stage, { preferences } = app;
  /** @type {{at: number, size: number}|null} */
  let drag = null;
  const getSize = () => (stage.isBeside ? panel.offsetWidth : panel.offsetHeight);
  const getPlace = (/** @type {PointerEvent} */ event) => (stage.isBeside ? event.clientX : event.clientY);
  const resize = (/** @type {number} */ size) => {
    preferences[stage.isBeside ? "side" : "below"] = size && Math.max(MIN_PX, size);
    stage.resizeLanes();
  };
  const on = (/** @type {string} */ name, /** @type {(event: any) => void} */ act) => splitter.addEventListener(name, act, { signal });
  on("pointerdown", (event) => {
    splitter.setPointerCapture(event.pointerId);
    drag = { at: getPlace(event), size: getSize() };
  });
  on("pointermove", (event) => drag && resize(drag.size + drag.at - getPlace(event)));
  for (const name of ["pointerup", "pointercancel"]) {
    on(name, () => {
      drag = null;
      savePreferences(preferences);
    });
  }
  on("dblclick", () => {
    resize(0);
    savePreferences(preferences);
  });
  on("keydown", (event) => {
    const grow = { ArrowUp: 1, ArrowLeft: 1, ArrowDown: -1, ArrowRight: -1 }[/** @type {string} */ (event.key)];
    if (!grow) return;
    event.preventDefault();
    resize(getSize() + grow * STEP_PX);
    savePreferences(preferences);
  });
}

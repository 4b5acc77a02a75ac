/** The pointer over the axis and the minimap: a drag on the axis selects time, the minimap moves the window. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Stage } from "./stage.js" */

import { turnWheel } from "./pointer.js";
import { selectStep, STRIP_PX } from "./steps.js";

const EDGE_PX = 6;
const DRAG_PX = 3;

/**
 * Listen to the pointer over both canvases.
 * @param {Timeline} app
 * @param {Stage} stage
 * @param {AbortSignal} signal
 */
export function listenToRulers(app, stage, signal) {
  followDrags(stage.axisCanvas, signal, (x, y) => {
    const t = getTime(app, x), step = y < STRIP_PX ? app.steps.find((one) => one.start <= t && t < one.end) : undefined;
    const from = clampTime(app, getTime(app, x));
    return {
      move: (now) => {
        const to = clampTime(app, getTime(app, now));
        app.area = { from: Math.min(from, to), to: Math.max(from, to, Math.min(from, to) + 1), lanes: [] };
        app.scheduleFrame();
      },
      done: (moved) => (moved && app.area ? app.selectArea(app.area) : step ? selectStep(app, step) : app.clearSelection()),
    };
  });
  followDrags(stage.mapCanvas, signal, (x) => startMapDrag(app, x));
  for (const canvas of [stage.axisCanvas, stage.mapCanvas]) {
    canvas.addEventListener("wheel", (event) => {
      turnWheel(app, event, canvas === stage.axisCanvas ? getTime(app, event.offsetX) : (app.view.t0 + app.view.t1) / 2);
    }, { signal, passive: false });
  }
}

/** @param {Timeline} app @param {number} x */
function getTime(app, x) {
  return app.view.t0 + (x / Math.max(1, app.width)) * app.view.span;
}

/** @param {Timeline} app @param {number} t */
function clampTime(app, t) {
  return Math.round(Math.max(app.sources.first, Math.min(app.sources.end, t)));
}

/**
 * Start a drag on the minimap: it moves the window or one of its edges, or draws a new window.
 * @param {Timeline} app
 * @param {number} x
 * @returns {Drag}
 */
function startMapDrag(app, x) {
  const { view } = app, scale = (view.high - view.low) / Math.max(1, app.width), at = view.low + x * scale;
  const { t0, t1 } = view, near = EDGE_PX * scale;
  const moves = at > t0 + near && at < t1 - near && !view.whole, left = Math.abs(at - t0) <= near, right = Math.abs(at - t1) <= near;
  return {
    move: (now) => {
      const to = view.low + now * scale;
      if (moves) view.setWindow(t0 + to - at, t1 + to - at);
      else if (left && !view.whole) view.setWindow(Math.min(to, t1 - 20), t1);
      else if (right && !view.whole) view.setWindow(t0, Math.max(to, t0 + 20));
      else view.setWindow(Math.min(at, to), Math.max(at, to));
    },
    done: (moved) => {
      if (!moved && !view.whole) view.setWindow(at - (t1 - t0) / 2, at + (t1 - t0) / 2);
    },
  };
}

/** @typedef {{move: (x: number) => void, done: (moved: boolean) => void}} Drag */

/**
 * Follow drags over a canvas.
 * @param {HTMLCanvasElement} canvas
 * @param {AbortSignal} signal
 * @param {(x: number, y: number) => Drag} begin
 */
function followDrags(canvas, signal, begin) {
  /** @type {Drag|null} */
  let drag = null;
  let from = 0, moved = false;
  const x = (/** @type {PointerEvent} */ event) => event.clientX - canvas.getBoundingClientRect().left;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    from = x(event);
    moved = false;
    drag = begin(from, event.clientY - canvas.getBoundingClientRect().top);
  }, { signal });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    moved ||= Math.abs(x(event) - from) > DRAG_PX;
    if (moved) drag.move(x(event));
  }, { signal });
  for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
    canvas.addEventListener(name, () => {
      drag?.done(moved);
      drag = null;
    }, { signal });
  }
}

/** The pointer over the lanes: the wheel scrolls or zooms, drag moves, Shift + drag selects, click chooses. */

/** @import { Timeline } from "./timeline.js" */
/** @import { Stage } from "./stage.js" */

import { findLaneAt, snapTime } from "./hit_test.js";
import { hideTip, showTip } from "./tooltip.js";

const DRAG_PX = 4;
const ZOOM_PER_PX = 0.0016;
/** A pinch on a touchpad comes as a wheel of small steps with the Ctrl key. */
const PINCH = 5, PINCH_PX = 40;

/**
 * Zoom, or move in time. Everything else is left to the browser: the lanes scroll, and the page beyond their ends.
 * @param {Timeline} app @param {WheelEvent} event @param {number} t the time under the pointer
 */
export function turnWheel(app, event, t) {
  const size = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1;
  const dx = (event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX) * size, dy = event.shiftKey ? 0 : event.deltaY * size;
  if (Math.abs(dx) > Math.abs(dy)) {
    app.view.pan((dx / Math.max(1, app.width)) * app.view.span);
  } else if (event.ctrlKey || event.metaKey || (app.preferences.wheel === "zoom" && !event.altKey)) {
    const faster = event.ctrlKey && Math.abs(dy) < PINCH_PX ? PINCH : 1;
    app.view.zoom(t, Math.exp(Math.max(-400, Math.min(400, dy)) * ZOOM_PER_PX * faster));
  } else {
    return;
  }
  event.preventDefault();
}

export class Pointer {
  /** @param {Timeline} app @param {Stage} stage @param {AbortSignal} signal */
  constructor(app, stage, signal) {
    this.app = app;
    this.stage = stage;
    /** @type {Map<number, {x: number, y: number}>} */
    this.down = new Map();
    /** @type {{x: number, y: number, t: number, y0: number, moved: boolean, select: boolean}|null} */
    this.drag = null;
    this.pinch = 0;
    const { canvas } = stage, on = (/** @type {string} */ name, /** @type {(event: any) => void} */ act) => canvas.addEventListener(name, act, { signal, passive: false });
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.release(event));
    on("pointercancel", (event) => this.cancel(event));
    on("pointerleave", () => this.leave());
    on("wheel", (event) => this.wheel(event));
  }

  /** @param {MouseEvent} event */
  at(event) {
    const box = this.stage.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** @param {number} x */
  time(x) {
    return this.app.view.t0 + (x / Math.max(1, this.app.width)) * this.app.view.span;
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0) return;
    this.stage.canvas.setPointerCapture(event.pointerId);
    const { x, y } = this.at(event);
    this.down.set(event.pointerId, { x, y });
    this.pinch = this.down.size === 2 ? this.getSpread() : 0;
    this.drag = this.down.size === 1 ? { x, y, t: snapTime(this.app, x, y), y0: y, moved: false, select: event.shiftKey } : null;
    hideTip(this.app);
  }

  /** Return the distance of two fingers. */
  getSpread() {
    const [a, b] = [...this.down.values()];
    return Math.max(1, Math.abs(a.x - b.x));
  }

  /** @param {PointerEvent} event */
  move(event) {
    const { x, y } = this.at(event), { app } = this, before = this.down.get(event.pointerId);
    if (!before) return this.hover(x, y);
    this.down.set(event.pointerId, { x, y });
    if (this.down.size === 2) return this.pinched(x - before.x);
    const { drag } = this;
    if (!drag) return;
    drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > DRAG_PX;
    if (!drag.moved) return;
    if (drag.select) {
      app.area = this.getAreaTo(x, y);
      app.scheduleFrame();
    } else {
      this.stage.canvas.classList.add("moving");
      app.view.pan((-(x - before.x) / Math.max(1, app.width)) * app.view.span);
      this.stage.scroller.scrollTop -= y - before.y;
    }
  }

  /** @param {number} dx of one of the two fingers */
  pinched(dx) {
    const { app } = this, now = this.getSpread(), [a, b] = [...this.down.values()];
    app.view.pan((-dx / 2 / Math.max(1, app.width)) * app.view.span);
    app.view.zoom(this.time((a.x + b.x) / 2), this.pinch / now);
    this.pinch = now;
  }

  /**
   * Return the area from the start of the drag to a point; its edges snap to events.
   * @param {number} x @param {number} y
   */
  getAreaTo(x, y) {
    const { app, drag } = this, t = snapTime(app, x, y), start = drag?.t ?? t;
    const from = Math.round(Math.max(app.view.begin, Math.min(start, t))), to = Math.round(Math.min(app.view.end, Math.max(start, t)));
    const top = Math.min(drag?.y0 ?? y, y), bottom = Math.max(drag?.y0 ?? y, y);
    const lanes = app.lanes.listVisible(app.scroll, app.height).filter((one) => one.y < bottom && one.y + one.slot.h > top && !app.lanes.isParent(one.slot.lane));
    return { from, to: Math.max(to, from + 1), lanes: lanes.map((one) => one.slot.lane.id) };
  }

  /** @param {PointerEvent} event */
  release(event) {
    const { app, drag } = this, { x, y } = this.at(event);
    if (!this.down.delete(event.pointerId)) return;
    this.stage.canvas.classList.remove("moving");
    this.drag = null;
    if (!drag) return;
    if (drag.moved) {
      if (drag.select && app.area) app.selectArea(app.area);
      return;
    }
    const item = app.findItem(x, y);
    app.hover = item;
    if (item) app.chooseEvent(item.lane, item.ref);
    else if (!event.shiftKey) app.clearSelection();
  }

  /** @param {PointerEvent} event */
  cancel(event) {
    this.down.delete(event.pointerId);
    this.drag = null;
    this.stage.canvas.classList.remove("moving");
  }

  /** @param {number} x @param {number} y */
  hover(x, y) {
    const { app } = this;
    app.cursor = this.time(x);
    app.hover = app.findItem(x, y);
    this.stage.canvas.classList.toggle("over", !!app.hover);
    showTip(app, x, y);
    app.scheduleFrame();
  }

  leave() {
    this.app.cursor = this.app.hover = null;
    hideTip(this.app);
    this.app.scheduleUpdate();
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    turnWheel(this.app, event, this.time(this.at(event).x));
    hideTip(this.app);
  }

  /** Return the lane under a point. @param {number} y */
  lane(y) {
    return findLaneAt(this.app, y)?.slot.lane ?? null;
  }
}

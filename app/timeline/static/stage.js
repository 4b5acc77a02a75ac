/** The elements of the timeline (toolbar, minimap, axis, lanes, panel) and their sizes. */

/** @import { Timeline } from "./timeline.js" */

import { h, appendChildren } from "./dom.js";
import { makeLegend } from "./legend.js";
import { Pointer } from "./pointer.js";
import { Keys } from "./keys.js";
import { getMapHeight } from "./minimap.js";
import { Pixels } from "./pixels.js";
import { listenToRulers } from "./ruler_pointer.js";
import { makeSettings } from "./settings.js";
import { listenToSplitter } from "./splitter.js";
import { STRIP_PX } from "./steps.js";
import { makeToolbar } from "./toolbar.js";

const AXIS_PX = 18;
const MIN_LANES_PX = 120;
const BELOW_PX = 12;
/** Share of the window that the panel takes unless the reader drags its edge. */
const PANEL_SHARE = 0.3;
/** Narrowest timeline that has the panel at its side. */
const SIDE_FROM_PX = 700;
const MESSAGE_MS = 6000;

export class Stage {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
    this.root = h("section", { class: "tl", "aria-label": `Timeline of ${app.mounted.data.name}` });
    this.mapCanvas = h("canvas", { class: "map", "aria-hidden": "true" });
    this.axisCanvas = h("canvas", { class: "axis", "aria-hidden": "true" });
    this.canvas = h("canvas", { class: "plot", tabindex: 0, role: "application", "aria-label": "Events over time", "aria-describedby": "tl-summary tl-keys" });
    this.titleList = h("ul", { class: "titles", "aria-label": "Lanes" });
    this.sticky = h("div", { class: "sticky" }, this.titleList, this.canvas);
    this.space = h("div", { class: "space" }, this.sticky);
    this.scroller = h("div", { class: "scroll" }, this.space);
    this.corner = h("div", { class: "corner" });
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.panel = h("div", { class: "panel", hidden: true, role: "region", "aria-label": "Details" });
    this.splitter = h("div", { class: "splitter", hidden: true, role: "separator", tabindex: 0, "aria-label": "Size of the details", "aria-valuemin": 0, "aria-valuemax": 100 });
    this.legend = makeLegend(app);
    this.lanes = h("div", { class: "lanes" });
    this.status = h("div", { class: "say", role: "status" });
    this.screenReader = h("div", { class: "unseen" });
    this.map = getContext(this.mapCanvas);
    this.axis = getContext(this.axisCanvas);
    this.plot = getContext(this.canvas);
    this.mapHeight = getMapHeight(app.sources.list.length);
    this.mapCanvas.style.height = `${this.mapHeight}px`;
    this.axisHeight = AXIS_PX + (app.steps.length ? STRIP_PX : 0);
    this.axisCanvas.style.height = `${this.axisHeight}px`;
    this.ratio = 0;
    this.pixels = new Pixels();
    this.quiet = 0;
    this.ending = new AbortController();
    this.observer = new ResizeObserver(() => this.resizeLanes());
    this.themes = new MutationObserver(() => app.update(app.mounted));
  }

  /** Add the elements to the page and listen to events. */
  attach() {
    const { app, root } = this, { signal } = this.ending;
    const rulerBox = h("div", { class: "rulers" }, this.mapCanvas, this.axisCanvas);
    appendChildren(this.lanes, h("div", { class: "head" }, this.corner, rulerBox), this.scroller, this.legend);
    this.body = h("div", { class: "body" }, this.lanes, this.splitter, this.panel);
    const settings = (this.settings = makeSettings(app));
    appendChildren(root, makeToolbar(app), app.alignment.box, this.body, this.tip, this.status, this.screenReader, settings.dialog);
    app.mounted.parentElement.append(root);
    this.pointer = new Pointer(app, this, signal);
    this.keys = new Keys(app, this, signal);
    listenToRulers(app, this, signal);
    listenToSplitter(app, this, signal);
    document.addEventListener("fullscreenchange", () => this.resizeLanes(), { signal });
    this.scroller.addEventListener("scroll", () => {
      app.scroll = this.scroller.scrollTop;
      app.scheduleUpdate();
    }, { signal });
    window.addEventListener("resize", () => this.resizeLanes(), { signal });
    window.addEventListener("popstate", () => app.restoreFromUrl(), { signal });
    this.observer.observe(root);
    this.themes.observe(document.documentElement, { attributes: true, attributeFilter: ["style", "class", "data-theme"] });
    app.colors.read(root);
  }

  get isFullScreen() {
    return this.root.matches(":fullscreen");
  }

  /** Let the timeline fill the screen, or no longer. */
  toggleFullScreen() {
    if (this.isFullScreen) void document.exitFullscreen();
    else this.root.requestFullscreen().catch(() => this.showMessage("This browser shows no element in full screen."));
  }

  /** True if the panel stands beside the lanes. */
  get isBeside() {
    return this.app.preferences.panel === "side" && this.root.clientWidth >= SIDE_FROM_PX;
  }

  /** Divide the room that the window leaves between the lanes and the panel. */
  resizeLanes() {
    const { app, panel, splitter } = this, { preferences } = app, outer = this.root.getBoundingClientRect();
    const top = this.isFullScreen ? 0 : Math.min(Math.max(outer.top + getPageScroll(this.root), 40), 320);
    const room = window.innerHeight - top - (this.isFullScreen ? 0 : BELOW_PX) - (this.scroller.getBoundingClientRect().top - outer.top) - this.legend.offsetHeight;
    const beside = this.isBeside, open = !panel.hidden;
    splitter.hidden = panel.hidden;
    this.root.classList.toggle("beside", beside);
    splitter.setAttribute("aria-orientation", beside ? "vertical" : "horizontal");
    const whole = beside ? this.root.clientWidth : window.innerHeight, wanted = beside ? preferences.side : preferences.below;
    const size = Math.round(Math.min(wanted || PANEL_SHARE * whole, beside ? whole * 0.8 : room - MIN_LANES_PX));
    splitter.setAttribute("aria-valuenow", String(Math.round((100 * size) / whole)));
    panel.style.width = beside ? `${size}px` : "";
    panel.style.height = !beside && wanted ? `${size}px` : "";
    panel.style.maxHeight = beside ? "" : `${size}px`;
    const all = app.lanes.topHeight + app.lanes.height, left = room - (open && !beside ? panel.offsetHeight + splitter.offsetHeight : 0);
    const high = Math.max(this.isFullScreen || (open && beside) ? left : Math.min(all, left), Math.min(all, MIN_LANES_PX), 80);
    this.scroller.style.height = `${high}px`;
    this.sticky.style.height = `${high}px`;
    this.space.style.height = `${Math.max(all, high)}px`;
    if (beside) panel.style.maxHeight = `${this.lanes.offsetHeight}px`;
    app.scheduleFrame();
  }

  /** Fit the canvases to their boxes and to device pixels. */
  fitCanvases() {
    const { app } = this, ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (width === app.width && height === app.height && ratio === this.ratio) return;
    app.width = width;
    app.height = height;
    this.ratio = ratio;
    for (const [canvas, ctx, high] of /** @type {const} */ ([
      [this.canvas, this.plot, height], [this.axisCanvas, this.axis, this.axisHeight], [this.mapCanvas, this.map, this.mapHeight],
    ])) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(high * ratio));
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.pixels.resize(this.canvas.width, this.canvas.height);
  }

  /** Scroll to a lane, or to a row of a lane that is higher than the view. @param {number} id @param {number} [row] */
  scrollTo(id, row = 0) {
    const { app } = this, slot = app.lanes.findSlot(id);
    if (!slot || slot.pinned) return;
    const room = this.scroller.clientHeight - app.lanes.topHeight, whole = slot.h <= room;
    const top = whole ? slot.y : slot.y + Math.min(row, slot.rows - 1) * slot.rowHeight, high = whole ? slot.h : slot.rowHeight;
    if (top >= app.scroll && top + high <= app.scroll + room) return;
    this.scroller.scrollTop = Math.max(0, top - room / 3);
    app.scroll = this.scroller.scrollTop;
  }

  /** Show a message for a moment, also to screen readers. @param {string} text */
  showMessage(text) {
    this.status.textContent = text;
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => (this.status.textContent = ""), MESSAGE_MS);
  }

  close() {
    clearTimeout(this.quiet);
    this.ending.abort();
    this.observer.disconnect();
    this.themes.disconnect();
    this.root.remove();
  }
}

/** @param {HTMLCanvasElement} canvas @returns {CanvasRenderingContext2D} */
function getContext(canvas) {
  const ctx = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
  if (!ctx) throw new Error("This browser cannot draw on a canvas.");
  return ctx;
}

/** Return how far the page around an element is scrolled, px. @param {Element} element */
function getPageScroll(element) {
  const main = /** @type {ShadowRoot} */ (element.getRootNode()).host?.closest('[data-testid="stMain"]');
  return main?.scrollTop ?? 0;
}

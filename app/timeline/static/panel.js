/** The panel below the lanes: facts of an event, statistics of an area, or the marks. */

/** @import { Area, EventAnswer } from "./types.js" */
/** @import { Chosen, Timeline } from "./timeline.js" */

import { followArrow, chooseSameName, selectTime } from "./actions.js";
import { makeAreaPanel } from "./area.js";
import { makeButton, copyText, replaceContent, h } from "./dom.js";
import { savePreferences } from "./preferences.js";
import { formatDuration } from "./time.js";
import { fetchJson } from "./wire.js";

const MAX_LANES = 2000;
/** @type {Record<string, string>} */
const LINKS = { kernel: "Kernel", range: "Ranges", profiles: "Kernel profiles", compare: "Compare" };

export class Panel {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
    /** @type {Chosen|null} */
    this.before = null;
    this.asking = new AbortController();
  }

  /**
   * Open the panel with new content.
   * @param {string} label
   * @param {...import("./dom.js").Child} children
   */
  showContent(label, ...children) {
    const { panel } = this.app.stage;
    panel.setAttribute("aria-label", label);
    const { preferences } = this.app, beside = preferences.panel === "side";
    replaceContent(panel,
      h("div", { class: "corner-acts" },
        makeButton(beside ? "Details below the lanes" : "Details at the side", beside ? "⬓" : "◨", () => {
          preferences.panel = beside ? "below" : "side";
          savePreferences(preferences);
          this.showContent(label, ...children);
        }),
        makeButton("Close the details", "×", () => this.app.clearSelection())),
      ...children);
    panel.hidden = false;
    panel.scrollTop = 0;
    this.app.stage.resizeLanes();
  }

  close() {
    this.stop();
    this.before = null;
    this.app.stage.panel.hidden = true;
    this.app.stage.panel.replaceChildren();
    this.app.stage.resizeLanes();
  }

  stop() {
    this.asking.abort();
  }

  /**
   * Show an event.
   * @param {Chosen} chosen
   * @param {EventAnswer} answer
   */
  showEvent(chosen, answer) {
    const { app, before } = this;
    this.stop();
    app.area = null;
    this.before = chosen;
    const gap = before && (before.lane !== chosen.lane || before.ref !== chosen.ref) ? describeGap(before, chosen) : null;
    app.measured = gap && gap.range;
    const whole = answer.rows.find(([label]) => label === "Name")?.[1] ?? answer.name;
    const rows = [["Duration", formatDuration(answer.end - answer.start)], ["Start", app.clock.formatTime(answer.start)], ["Lane", app.lanes.getPath(chosen.lane).join(" › ")], ...answer.rows];
    const shown = rows.filter(([label], at) => label !== "Name" && rows.findIndex((one) => one[0] === label) === at);
    this.showContent(`Event ${answer.name}`,
      h("div", { class: "panel-head" },
        h("b", { class: "whole" }, answer.name || "(no name)"),
        h("span", { class: "on-all quiet" }),
        makeButton("Copy the name", "Copy name", async () => {
          await copyText(whole);
          app.showMessage("Name copied.");
        })),
      whole !== answer.name ? h("code", { class: "whole", tabindex: 0 }, whole) : null,
      h("div", { class: "panel-links" },
        answer.end > answer.start ? makeButton("All pages then show only this time (U)", "Select this time", () => selectTime(app)) : null,
        makeButton("Zoom to it (F)", "Zoom to it", () => app.fitWindow()),
        ...Object.entries(answer.links ?? {}).map(([what, url]) => this.link(LINKS[what] ?? what, url)),
        answer.arrows.length ? makeButton("What caused this ([)", "← Cause", () => followArrow(app, -1)) : null,
        answer.arrows.length ? makeButton("What follows from this (])", "Effect →", () => followArrow(app, 1)) : null,
        makeButton("Previous instance of this name (,)", "‹ Same", () => chooseSameName(app, { dir: "prev" })),
        makeButton("Next instance of this name (.)", "Same ›", () => chooseSameName(app, { dir: "next" })),
        makeButton("Slowest instance of this name in this lane", "Slowest", () => chooseSameName(app, { by: "slowest" })),
        makeButton("Fastest instance of this name in this lane", "Fastest", () => chooseSameName(app, { by: "fastest" }))),
      h("dl", { class: "facts" }, ...[...shown, ...(gap ? [["From the event before", gap.text]] : [])].map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value)))));
  }

  /**
   * Return a link to another page.
   * @param {string} title
   * @param {string} url relative to the dashboard
   */
  link(title, url) {
    return h("a", { href: this.app.getPageUrl(url), target: "_self" }, title);
  }

  /** Show the statistics of an area. @param {Area} area */
  async showArea(area) {
    const { app } = this;
    this.stop();
    this.asking = new AbortController();
    const { signal } = this.asking;
    this.before = app.chosen = null;
    const head = `${formatDuration(area.to - area.from)} from ${app.clock.formatTime(area.from)} to ${app.clock.formatTime(area.to)}`;
    this.showContent("Selected area", h("div", { class: "panel-head" }, h("b", {}, head)), h("p", { class: "quiet" }, "Adding up …"));
    try {
      const answers = await Promise.all(app.sources.list.map((one) => this.request(area, one, signal)));
      this.showContent("Selected area", ...makeAreaPanel(app, area, head, answers.flatMap((one) => one ?? [])));
      this.updateNote();
    } catch (error) {
      if (!signal.aborted) this.showContent("Selected area", h("div", { class: "panel-head" }, h("b", {}, head)), h("p", {}, /** @type {Error} */ (error).message));
    }
  }

  /**
   * Request the statistics of one report; null if the area has none of its lanes.
   * @param {Area} area @param {import("./sources.js").Source} source @param {AbortSignal} signal
   * @returns {Promise<import("./area.js").SourceAnswer|null>}
   */
  async request(area, source, signal) {
    const { sources } = this.app, { offset, shift, data } = source;
    const chosen = area.lanes.filter((lane) => sources.sourceOf(lane) === source).map((lane) => lane - offset);
    if (area.lanes.length && !chosen.length) return null;
    const all = data.lanes.filter((lane) => lane.group !== null && lane.kind !== "line").map((lane) => lane.id).slice(0, MAX_LANES);
    const query = { from: Math.round(area.from - shift), to: Math.round(area.to - shift), lanes: (chosen.length ? chosen : all).join(",") };
    return { source, answer: await fetchJson(source.url("area", query), signal) };
  }

  /** Say so if all pages show the time of the area. */
  updateNote() {
    const { app } = this, note = app.stage.panel.querySelector(".on-all");
    const { selected, chosen } = app, shown = app.area ?? (chosen && { from: chosen.start, to: chosen.end });
    if (!note || !shown) return;
    const near = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) < 1.5;
    note.textContent = selected && near(selected.from, shown.from) && near(selected.to, shown.to) ? "All pages show this time." : "";
  }
}

/**
 * Describe the time between two events.
 * @param {Chosen} a
 * @param {Chosen} b
 * @returns {{text: string, range: {from: number, to: number}|null}}
 */
function describeGap(a, b) {
  const [one, other] = a.start <= b.start ? [a, b] : [b, a];
  const apart = other.start - one.end, starts = `${formatDuration(other.start - one.start)} from start to start`;
  if (apart < 0) return { text: `They overlap by ${formatDuration(Math.min(one.end, other.end) - other.start)}; ${starts}`, range: null };
  return { text: `${formatDuration(apart)} between them; ${starts}`, range: { from: one.end, to: other.start } };
}

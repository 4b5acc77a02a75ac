/** The picture as a sentence and a table for screen readers, updated when the window rests. */

/** @import { Timeline } from "./timeline.js" */

import { replaceContent, h, makeTable } from "./dom.js";
import { getBusyShare, listItems } from "./hit_test.js";
import { formatCount, formatDuration, formatPercent } from "./time.js";

const MAX_ROWS = 60;
const ROWS_PER_LANE = 8;

export class ScreenReaderSummary {
  /** @param {Timeline} app */
  constructor(app) {
    this.app = app;
  }

  /** Write both anew. */
  update() {
    const { app } = this, from = Math.max(app.view.begin, app.view.t0), to = Math.min(app.view.end, app.view.t1);
    const lanes = app.lanes.listVisible(app.scroll, app.height).filter(({ slot }) => !app.lanes.isParent(slot.lane) && slot.lane.kind !== "line");
    /** @type {string[][]} */
    const rows = [];
    const busy = [];
    let events = 0;
    for (const { slot } of lanes) {
      const items = listItems(app, slot), title = app.lanes.getPath(slot.lane.id).join(" › ");
      events += items.reduce((sum, one) => sum + Math.max(one.count, 0), 0);
      if (items.length) busy.push(`${title} busy ${formatPercent(getBusyShare(app, slot))}`);
      for (const one of items.filter((item) => item.count > 0).slice(0, rows.length < MAX_ROWS ? ROWS_PER_LANE : 0)) {
        const name = app.sources.getName(one.name);
        rows.push([title, one.count > 1 ? `${formatCount(one.count)} events, longest ${name}` : name, app.clock.formatTime(one.start), formatDuration(one.end - one.start)]);
      }
    }
    const summary = `${app.clock.formatTime(from)} to ${app.clock.formatTime(to)} of ${formatDuration(app.sources.end)}: ${formatCount(events)} events in ${formatCount(lanes.length)} lanes. ${busy.slice(0, 6).join(", ")}.`;
    replaceContent(app.stage.screenReader, h("p", { id: "tl-summary" }, summary), rows.length ? makeTable(["Lane", "Event", "Start", "Duration"], rows, "Events in sight, the first of each lane") : null);
  }
}

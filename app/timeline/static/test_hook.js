/** A hook for tests: events and pixels under a point, frame times, the state. */

/** @import { Timeline } from "./timeline.js" */

import { listItems, findLaneAt, findValueAt } from "./hit_test.js";

/** @param {Timeline} app */
export function installTestHook(app) {
  /** @type {any} */ (window).__warpdeck_timeline = {
    under: (/** @type {number} */ x, /** @type {number} */ y) => app.findItem(x, y),
    value: (/** @type {number} */ x, /** @type {number} */ y) => findValueAt(app, x, y),
    lane: (/** @type {number} */ y) => findLaneAt(app, y)?.slot.lane ?? null,
    place: (/** @type {number} */ id) => app.lanes.listVisible(app.scroll, app.height).map(({ slot, y }) => ({ id: slot.lane.id, y, h: slot.h, row: slot.rowHeight })).find((one) => one.id === id) ?? null,
    items: (/** @type {number} */ id) => {
      const slot = app.lanes.findSlot(id);
      return slot ? listItems(app, slot) : [];
    },
    lanes: () => app.lanes.lanes,
    name: (/** @type {number} */ id) => app.sources.getName(id),
    pixel: (/** @type {number} */ x, /** @type {number} */ y) => [...app.stage.plot.getImageData(Math.round(x * app.stage.ratio), Math.round(y * app.stage.ratio), 1, 1).data.slice(0, 3)],
    mapped: (/** @type {number} */ x, /** @type {number} */ y) => [...app.stage.map.getImageData(Math.round(x * app.stage.ratio), Math.round(y * app.stage.ratio), 1, 1).data.slice(0, 3)],
    busy: () => app.busy?.map((shares) => [...shares]) ?? [],
    density: () => app.search.density,
    color: (/** @type {number} */ code) => app.colors.fill(code),
    frames: () => app.frames.splice(0),
    go: (/** @type {number} */ t0, /** @type {number} */ t1) => app.view.setWindow(t0, t1),
    state: () => ({
      t0: app.view.t0, t1: app.view.t1, width: app.width, height: app.height, level: app.level, scroll: app.scroll, settled: app.settled,
      end: app.sources.end, area: app.area, chosen: app.chosen, marks: app.marks.all, stored: app.marks.stored, steps: app.steps, align: app.alignment.how, aligned: app.alignment.summary.textContent, shifts: app.sources.list.map((one) => one.shift), measured: app.measured, selected: app.selected, hover: app.hover, cursor: app.cursor,
      folded: [...app.lanes.folded], pinned: [...app.lanes.pinned], hidden: [...app.lanes.hidden], hits: app.search.total,
    }),
  };
}

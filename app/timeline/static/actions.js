/** Actions of keys and buttons on the chosen event: step, follow arrows, find the same name, fit, mark. */

/** @import { Timeline } from "./timeline.js" */
/** @import { End } from "./types.js" */

import { listItems } from "./hit_test.js";
import { fetchJson } from "./wire.js";

/** Actions that may wait for the one before; a key held down drops further ones. */
const MAX_WAITING = 8;

/** @type {WeakMap<Timeline, {last: Promise<void>, count: number}>} */
const queues = new WeakMap();

/**
 * Run actions one after the other: each starts at the event that the one before has chosen.
 * @param {Timeline} app
 * @param {() => Promise<void>|void} act
 */
async function queueAction(app, act) {
  const queue = queues.get(app) ?? { last: Promise.resolve(), count: 0 };
  queues.set(app, queue);
  if (queue.count >= MAX_WAITING) return;
  queue.count += 1;
  queue.last = queue.last
    .then(act)
    .catch((/** @type {Error} */ error) => app.showMessage(error.message))
    .finally(() => { queue.count -= 1; });
  await queue.last;
}

/** Fit the window to the area, else to the chosen event, else to the whole capture. @param {Timeline} app */
export function fitWindow(app) {
  const range = app.area ?? (app.chosen && { from: app.chosen.start, to: app.chosen.end });
  if (range) app.view.fitRange(range.from, range.to);
  else app.view.showAll();
}

/**
 * Choose the next event of the lane; without a chosen event, the first one in sight.
 * @param {Timeline} app
 * @param {"next"|"prev"} dir
 */
export const chooseNext = (app, dir) => queueAction(app, async () => {
  const { chosen } = app;
  if (!chosen) return chooseFirst(app);
  await chooseNear(app, { lane: chosen.lane, t: chosen.start, dir });
});

/**
 * Choose the next event of the same name.
 * @param {Timeline} app
 * @param {Record<string, string>} how dir=next or prev, by=slowest or fastest
 */
export const chooseSameName = (app, how) => queueAction(app, async () => {
  const { chosen } = app;
  if (!chosen) return chooseFirst(app);
  const name = chosen.nameId;
  if (name === undefined) return app.showMessage("The name of this event is not known.");
  await chooseNear(app, { lane: chosen.lane, t: chosen.start, name, ...how });
});

/**
 * Choose the event that the server finds near a time.
 * @param {Timeline} app
 * @param {Record<string, string|number>} query
 */
async function chooseNear(app, query) {
  try {
    const event = await app.sources.sourceOf(Number(query.lane)).near(query, app.request.signal);
    if (event) await app.chooseEvent(event.lane, event.ref, true);
    else app.showMessage("There are no more events like this.");
  } catch (error) {
    if (!app.request.signal.aborted) app.showMessage(/** @type {Error} */ (error).message);
  }
}

/** Choose the first event in sight. @param {Timeline} app */
async function chooseFirst(app) {
  for (const { slot } of app.lanes.listVisible(app.scroll, app.height)) {
    const [item] = app.lanes.isParent(slot.lane) || slot.lane.kind === "line" ? [] : listItems(app, slot, 1);
    if (item) return app.chooseEvent(item.lane, item.ref, true);
  }
  app.showMessage("No event is in sight.");
}

/**
 * Choose the event of the next lane above or below that is nearest in time.
 * @param {Timeline} app
 * @param {1|-1} dir
 */
export const chooseInOtherLane = (app, dir) => queueAction(app, async () => {
  const { chosen } = app;
  if (!chosen) return chooseFirst(app);
  const slots = [...app.lanes.top, ...app.lanes.rest].filter(({ lane }) => !app.lanes.isParent(lane) && lane.kind !== "line");
  const at = slots.findIndex((slot) => slot.lane.id === chosen.lane), middle = Math.round((chosen.start + chosen.end) / 2);
  for (let k = at + dir; k >= 0 && k < slots.length; k += dir) {
    const { lane } = slots[k];
    if (!lane.events) continue;
    try {
      const source = app.sources.sourceOf(lane.id), to = (/** @type {string} */ way) => source.near({ lane: lane.id, t: middle, dir: way });
      const event = (await to("prev")) ?? (await to("next"));
      if (event) return app.chooseEvent(event.lane, event.ref, true);
    } catch (error) {
      return app.showMessage(/** @type {Error} */ (error).message);
    }
  }
  app.showMessage(dir > 0 ? "There is no lane with events below." : "There is no lane with events above.");
});

/**
 * Follow an arrow of the chosen event to its effect, or back to its cause.
 * @param {Timeline} app
 * @param {1|-1} dir
 */
export const followArrow = (app, dir) => queueAction(app, async () => {
  const { chosen } = app;
  if (!chosen) return app.showMessage("Choose an event first.");
  const isChosen = (/** @type {End} */ end) => end.lane === chosen.lane && end.ref === chosen.ref;
  const arrow = chosen.arrows.find((one) => (dir > 0 ? isChosen(one.from) : isChosen(one.to)));
  if (!arrow) return app.showMessage(dir > 0 ? "This event has no known effect." : "This event has no known cause.");
  const end = dir > 0 ? arrow.to : arrow.from;
  await app.chooseEvent(end.lane, end.ref, true);
});

/** Mark the moment under the pointer, else the start of the chosen event, else the middle of the window. @param {Timeline} app */
export function addMark(app) {
  app.marks.addMark(Math.round(app.cursor ?? app.chosen?.start ?? (app.view.t0 + app.view.t1) / 2));
}

/** Make the time of the area, else of the chosen event, the one that all pages show. @param {Timeline} app */
export function selectTime(app) {
  const time = app.area ?? (app.chosen && { from: app.chosen.start, to: app.chosen.end });
  if (!time || time.to <= time.from) return app.showMessage("Choose an event or an area first.");
  app.mounted.setTriggerValue("select", { from: Math.round(time.from), to: Math.round(time.to) });
}

/** Go to the longest gap of the selected time, else of the steps without warm-ups; from one of the longest to the next longest. @param {Timeline} app */
export const goToGap = (app) => queueAction(app, async () => {
  const { area } = app, { main } = app.sources, steps = app.steps.filter((one) => !one.warmup);
  const { from, to } = app.selected ?? { from: steps[0]?.start ?? main.data.begin_ns ?? 0, to: steps.at(-1)?.end ?? main.data.end_ns + 1 };
  const idle = main.data.lanes.filter((lane) => lane.kind === "idle").map((lane) => lane.id);
  /** @type {{start: number, end: number}[]} */
  const gaps = idle.length ? (await fetchJson(main.url("area", { from: Math.floor(from), to: Math.ceil(to), lanes: idle.join(",") }), app.request.signal)).gaps : [];
  const at = gaps.findIndex((gap) => gap.start === area?.from && gap.end === area.to), gap = gaps[(at + 1) % gaps.length];
  if (!gap) return app.showMessage("The GPU has no gaps here.");
  app.selectArea({ from: gap.start, to: gap.end, lanes: [] });
  app.view.fitRange(gap.start, gap.end, 0.6);
});

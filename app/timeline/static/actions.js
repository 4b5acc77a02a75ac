/** What keys and buttons do with the event that is chosen: step, follow, find its like, fit, mark. */

/** @import { Timeline } from "./timeline.js" */
/** @import { End } from "./types.js" */

import { itemsOf } from "./hit.js";

/** Steps that wait for the one before; more of a key held down are dropped. */
const MOST_WAITING = 8;

/** @type {WeakMap<Timeline, {last: Promise<void>, count: number}>} */
const queues = new WeakMap();

/**
 * Has steps follow each other: each begins at the event that the one before has found, however soon it comes.
 * @param {Timeline} app
 * @param {() => Promise<void>|void} act
 */
async function inTurn(app, act) {
  const queue = queues.get(app) ?? { last: Promise.resolve(), count: 0 };
  queues.set(app, queue);
  if (queue.count >= MOST_WAITING) return;
  queue.count += 1;
  queue.last = queue.last
    .then(act)
    .catch((/** @type {Error} */ error) => app.say(error.message))
    .finally(() => { queue.count -= 1; });
  await queue.last;
}

/** Fits the window to the area, else to the event that is chosen, else to everything. @param {Timeline} app */
export function fit(app) {
  const found = app.area ?? (app.chosen && { from: app.chosen.start, to: app.chosen.end });
  if (found) app.view.fit(found.from, found.to);
  else app.view.all();
}

/**
 * Chooses the next event of the lane, or of the first lane in sight where none is chosen.
 * @param {Timeline} app
 * @param {"next"|"prev"} dir
 */
export const step = (app, dir) => inTurn(app, async () => {
  const { chosen } = app;
  if (!chosen) return first(app);
  await go(app, { lane: chosen.lane, t: chosen.start, dir });
});

/**
 * Chooses the next event of the same name.
 * @param {Timeline} app
 * @param {Record<string, string>} how dir=next or prev, by=slowest or fastest
 */
export const like = (app, how) => inTurn(app, async () => {
  const { chosen } = app;
  if (!chosen) return first(app);
  const name = chosen.nameId;
  if (name === undefined) return app.say("The name of this event is not known.");
  await go(app, { lane: chosen.lane, t: chosen.start, name, ...how });
});

/**
 * Chooses what the server finds near a time.
 * @param {Timeline} app
 * @param {Record<string, string|number>} query
 */
async function go(app, query) {
  try {
    const found = await app.sources.of(Number(query.lane)).near(query, app.asking.signal);
    if (found) await app.choose(found.lane, found.ref, true);
    else app.say("There is no further one.");
  } catch (error) {
    if (!app.asking.signal.aborted) app.say(/** @type {Error} */ (error).message);
  }
}

/** Chooses the first event in sight. @param {Timeline} app */
async function first(app) {
  for (const { slot } of app.lanes.visible(app.scroll, app.height)) {
    const [item] = app.lanes.isParent(slot.lane) || slot.lane.kind === "line" ? [] : itemsOf(app, slot, 1);
    if (item) return app.choose(item.lane, item.ref, true);
  }
  app.say("No event is in sight.");
}

/**
 * Chooses the event of the next lane above or below that is nearest in time.
 * @param {Timeline} app
 * @param {1|-1} dir
 */
export const otherLane = (app, dir) => inTurn(app, async () => {
  const { chosen } = app;
  if (!chosen) return first(app);
  const slots = [...app.lanes.top, ...app.lanes.rest].filter(({ lane }) => !app.lanes.isParent(lane) && lane.kind !== "line");
  const at = slots.findIndex((slot) => slot.lane.id === chosen.lane), middle = Math.round((chosen.start + chosen.end) / 2);
  for (let k = at + dir; k >= 0 && k < slots.length; k += dir) {
    const { lane } = slots[k];
    if (!lane.events) continue;
    try {
      const source = app.sources.of(lane.id), to = (/** @type {string} */ way) => source.near({ lane: lane.id, t: middle, dir: way });
      const found = (await to("prev")) ?? (await to("next"));
      if (found) return app.choose(found.lane, found.ref, true);
    } catch (error) {
      return app.say(/** @type {Error} */ (error).message);
    }
  }
  app.say(dir > 0 ? "There is no lane with events below." : "There is no lane with events above.");
});

/**
 * Follows an arrow of the event that is chosen: to what it caused, or back to what caused it.
 * @param {Timeline} app
 * @param {1|-1} dir
 */
export const follow = (app, dir) => inTurn(app, async () => {
  const { chosen } = app;
  if (!chosen) return app.say("Choose an event first.");
  const mine = (/** @type {End} */ end) => end.lane === chosen.lane && end.ref === chosen.ref;
  const arrow = chosen.arrows.find((one) => (dir > 0 ? mine(one.from) : mine(one.to)));
  if (!arrow) return app.say(dir > 0 ? "Nothing is known that follows from this event." : "Nothing is known that caused this event.");
  const end = dir > 0 ? arrow.to : arrow.from;
  await app.choose(end.lane, end.ref, true);
});

/** Marks the moment under the pointer, else the start of the event that is chosen, else the middle. @param {Timeline} app */
export function mark(app) {
  app.marks.add(Math.round(app.cursor ?? app.chosen?.start ?? (app.view.t0 + app.view.t1) / 2));
}

/** What the reader prefers, kept in this browser for all reports. Invalid values are ignored. */

const KEY = "warpdeck-timeline";
const MAX_PX = 10_000;

/**
 * @typedef {Object} Preferences
 * @property {"scroll"|"zoom"} wheel what a plain wheel does
 * @property {"name"|"capture"} ranges what gives ranges their color
 * @property {"page"|"timeline"} keys where keys work
 * @property {"below"|"side"} panel
 * @property {number} below height of the panel there, px; 0: as its content needs, up to a share of the window
 * @property {number} side its width there
 */

/** @type {{[name: string]: string[]}} */
const CHOICES = { wheel: ["scroll", "zoom"], ranges: ["name", "capture"], keys: ["page", "timeline"], panel: ["below", "side"] };

/** @returns {Preferences} */
export function loadPreferences() {
  /** @type {Record<string, unknown>} */
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
  } catch {
    // A browser without storage, or with a value of somebody else: the defaults hold.
  }
  const choose = (/** @type {string} */ name) => CHOICES[name].find((one) => one === kept[name]) ?? CHOICES[name][0];
  const size = (/** @type {string} */ name) => (typeof kept[name] === "number" && kept[name] > 0 && kept[name] < MAX_PX ? kept[name] : 0);
  return /** @type {Preferences} */ ({ wheel: choose("wheel"), ranges: choose("ranges"), keys: choose("keys"), panel: choose("panel"), below: size("below"), side: size("side") });
}

/** @param {Preferences} preferences */
export function savePreferences(preferences) {
  try {
    localStorage.setItem(KEY, JSON.stringify(preferences));
  } catch {
    // They hold until the page is left.
  }
}

/** The dialog with what the reader prefers, and the picture as a file. */

/** @import { Timeline } from "./timeline.js" */

import { FROM } from "./clock.js";
import { h, makeButton, makeDialog } from "./dom.js";
import { exportPng } from "./png_export.js";
import { exportSvg } from "./svg_export.js";
import { savePreferences } from "./preferences.js";

/** @type {[string, string, [string, string][]][]} preference, title, values with their titles */
const CHOICES = [
  ["wheel", "Wheel", [["scroll", "scrolls the lanes, Ctrl + wheel zooms"], ["zoom", "zooms, Alt + wheel scrolls the lanes"]]],
  ["ranges", "Colors of ranges", [["name", "by their names"], ["capture", "as the program set them"]]],
  ["keys", "Keys work", [["page", "anywhere on this page"], ["timeline", "while the timeline has the focus"]]],
  ["panel", "Details", [["below", "below the lanes"], ["side", "at the side"]]],
];
/** @type {Record<import("./clock.js").From, string>} */
const ORIGINS = { capture: "the start of the capture", selection: "the start of what is selected", absolute: "the clock of the report" };

/**
 * Make the dialog.
 * @param {Timeline} app
 */
export function makeSettings(app) {
  const rows = CHOICES.map(([name, title, values]) => makeRow(title, values, () => /** @type {any} */ (app.preferences)[name], (value) => {
    /** @type {any} */ (app.preferences)[name] = value;
    savePreferences(app.preferences);
    app.applyPreferences();
  }));
  rows.push(makeRow("Times count from", FROM.map((one) => [one, ORIGINS[one]]), () => app.clock.from, (value) => {
    app.clock.setOrigin(/** @type {import("./clock.js").From} */ (value));
    app.scheduleUpdate();
  }));
  const dialog = makeDialog("Settings of the timeline", h("dl", {}, ...rows.flatMap((row) => row.parts),
    h("dt", {}, "Picture"), h("dd", { class: "tools" },
      makeButton("Save the picture as PNG", "Save PNG", () => exportPng(app)), makeButton("Save the picture as SVG", "Save SVG", () => exportSvg(app)))));
  return { dialog, open: () => {
    rows.forEach((row) => row.read());
    dialog.showModal();
  } };
}

/**
 * @param {string} title @param {[string, string][]} values @param {() => string} read @param {(value: string) => void} write
 */
function makeRow(title, values, read, write) {
  const field = h("select", { "aria-label": title, onchange: () => write(field.value) }, ...values.map(([value, text]) => h("option", { value }, text)));
  return { parts: [h("dt", {}, title), h("dd", {}, field)], read: () => { field.value = read(); } };
}

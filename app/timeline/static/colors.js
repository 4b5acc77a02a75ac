/** Colors: those of the page, and those of classes of events in the theme that the reader has. */

/** @import { ColorClass } from "./types.js" */

import { mixed, word } from "./pixels.js";

const DIM = 0.18;
const SOFT = 0.7;
/** The lightness on which black and white can be read equally well. */
const EVEN = 0.179;

/** Colors that a program gave its ranges are often glaring, and must not outshine the kernels. @param {string} name @param {string} color @param {string} ground */
function soft(name, color, ground) {
  if (!name.startsWith("nvtx-")) return color;
  return `#${[0, 8, 16].map((shift) => ((mixed(color, ground, SOFT) >>> shift) & 255).toString(16).padStart(2, "0")).join("")}`;
}

/** The parts of a color. @param {string} color @returns {[number, number, number]|null} */
export function rgb(color) {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(color.trim());
  if (hex) return [parseInt(hex[1], 16), parseInt(hex[2], 16), parseInt(hex[3], 16)];
  const parts = /^rgba?\(([^)]+)\)/.exec(color.trim())?.[1].split(/[\s,/]+/).map(Number);
  return parts && parts.length >= 3 ? [parts[0], parts[1], parts[2]] : null;
}

/** How light a color is, 0 to 1, as eyes see it. @param {string} color */
export function light(color) {
  const parts = rgb(color);
  if (!parts) return 1;
  const [r, g, b] = parts.map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export class Colors {
  /** @param {ColorClass[]} classes */
  constructor(classes) {
    this.classes = classes;
    this.dark = false;
    this.ground = "#ffffff";
    this.text = "#31333f";
    this.quiet = "#5a616b";
    this.line = "#d8dce2";
    this.lineSoft = "#e6e9ed";
    this.faint = "#eef0f3";
    this.accent = "#2f5fd0";
    this.mark = "#b3261e";
    this.font = "sans-serif";
    /** @type {string[]} */
    this.fills = [];
    /** @type {string[]} */
    this.inks = [];
    /** Fills as numbers of pixels, and those of what was not searched for. @type {number[]} */
    this.words = [];
    /** @type {number[]} */
    this.dims = [];
    this.overheadWord = this.quietWord = this.groundWord = this.lineWord = this.softLineWord = this.faintWord = 0;
  }

  /**
   * Takes the theme over from the page.
   * @param {Element} element
   * @returns {boolean} whether it changed
   */
  read(element) {
    const style = getComputedStyle(element), was = `${this.ground}${this.text}${this.fills.length}`;
    const of = (/** @type {string} */ name, /** @type {string} */ usual) => style.getPropertyValue(name).trim() || usual;
    this.ground = of("--st-background-color", this.ground);
    this.text = of("--st-text-color", this.text);
    this.accent = of("--st-primary-color", this.accent);
    this.font = of("--st-font", style.fontFamily || this.font);
    this.dark = light(this.ground) < 0.3;
    this.quiet = this.dark ? "#a5adb9" : "#5a616b";
    this.line = this.dark ? "#343a44" : "#d8dce2";
    this.lineSoft = this.dark ? "#282e37" : "#e6e9ed";
    this.faint = this.dark ? "#1b1f26" : "#f4f5f7";
    this.mark = this.dark ? "#ff8a80" : "#b3261e";
    this.fills = this.classes.map((one) => soft(one.name, this.dark ? one.dark : one.light, this.ground));
    this.inks = this.fills.map((fill) => (light(fill) > EVEN ? "#10131a" : "#ffffff"));
    this.words = this.fills.map(word);
    this.dims = this.fills.map((fill) => mixed(fill, this.ground, DIM));
    this.overheadWord = mixed(this.mark, this.ground, 0.1);
    this.quietWord = word(this.quiet);
    this.groundWord = word(this.ground);
    this.lineWord = word(this.line);
    this.softLineWord = mixed(this.line, this.ground, 0.6);
    this.faintWord = word(this.faint);
    return was !== `${this.ground}${this.text}${this.fills.length}`;
  }

  /** @param {number} code */
  fill(code) {
    return this.fills[code] ?? this.quiet;
  }

  /** @param {number} code */
  ink(code) {
    return this.inks[code] ?? "#ffffff";
  }
}

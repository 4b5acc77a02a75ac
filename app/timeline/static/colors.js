/** Colors of the page and of kernel classes in the user's theme. */

/** @import { ColorClass } from "./types.js" */

import { getLightness, mixColors, packColor } from "./color_math.js";

const DIM = 0.18;
const SOFT = 0.7;
/** Lightness of a background on which black and white text have the same contrast. */
const EVEN = 0.179;

/** Tone down colors that programs gave their NVTX ranges: glaring ones would outshine the kernels. @param {string} name @param {string} color @param {string} ground */
function softenColor(name, color, ground) {
  if (!name.startsWith("nvtx-")) return color;
  return `#${[0, 8, 16].map((shift) => ((mixColors(color, ground, SOFT) >>> shift) & 255).toString(16).padStart(2, "0")).join("")}`;
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
    /** Fill packed into pixels. @type {number[]} */
    this.fillPixels = [];
    /** Fill of events that do not match the search. @type {number[]} */
    this.dimPixels = [];
    this.overheadPixel = this.quietPixel = this.groundPixel = this.linePixel = this.softLinePixel = this.faintPixel = 0;
  }

  /**
   * Read the theme of the page.
   * @param {Element} element
   * @returns {boolean} true if it changed
   */
  read(element) {
    const style = getComputedStyle(element), before = `${this.ground}${this.text}${this.fills.length}`;
    const readProperty = (/** @type {string} */ name, /** @type {string} */ fallback) => style.getPropertyValue(name).trim() || fallback;
    this.ground = readProperty("--st-background-color", this.ground);
    this.text = readProperty("--st-text-color", this.text);
    this.accent = readProperty("--st-primary-color", this.accent);
    this.font = readProperty("--st-font", style.fontFamily || this.font);
    this.dark = getLightness(this.ground) < 0.3;
    this.quiet = this.dark ? "#a5adb9" : "#5a616b";
    this.line = this.dark ? "#343a44" : "#d8dce2";
    this.lineSoft = this.dark ? "#282e37" : "#e6e9ed";
    this.faint = this.dark ? "#1b1f26" : "#f4f5f7";
    this.mark = this.dark ? "#ff8a80" : "#b3261e";
    this.fills = this.classes.map((one) => softenColor(one.name, this.dark ? one.dark : one.light, this.ground));
    this.inks = this.fills.map((fill) => (getLightness(fill) > EVEN ? "#10131a" : "#ffffff"));
    this.fillPixels = this.fills.map(packColor);
    this.dimPixels = this.fills.map((fill) => mixColors(fill, this.ground, DIM));
    this.overheadPixel = mixColors(this.mark, this.ground, 0.1);
    this.quietPixel = packColor(this.quiet);
    this.groundPixel = packColor(this.ground);
    this.linePixel = packColor(this.line);
    this.softLinePixel = mixColors(this.line, this.ground, 0.6);
    this.faintPixel = packColor(this.faint);
    return before !== `${this.ground}${this.text}${this.fills.length}`;
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

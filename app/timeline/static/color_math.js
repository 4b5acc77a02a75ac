/** Arithmetic of colors: parsing, lightness, mixing, and packing into the 32 bits of a pixel. */

const FALLBACK = /** @type {const} */ ([128, 128, 128]);
const WHITE = /** @type {const} */ ([255, 255, 255]);

/** Parse a CSS color of the forms `#rrggbb` and `rgb(r g b)`. @param {string} color @returns {[number, number, number]|null} */
export function parseColor(color) {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(color.trim());
  if (hex) return [parseInt(hex[1], 16), parseInt(hex[2], 16), parseInt(hex[3], 16)];
  const channels = /^rgba?\(([^)]+)\)/.exec(color.trim())?.[1].split(/[\s,/]+/).map(Number);
  return channels && channels.length >= 3 ? [channels[0], channels[1], channels[2]] : null;
}

/** Return the relative luminance of a color, 0 to 1 (WCAG 2). @param {string} color */
export function getLightness(color) {
  const channels = parseColor(color);
  if (!channels) return 1;
  const [r, g, b] = channels.map((channel) => (channel / 255 <= 0.03928 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Pack a color into a pixel. @param {string} color */
export function packColor(color) {
  return pack(parseColor(color) ?? FALLBACK);
}

/** Lay a color over another one and pack the result. @param {string} color @param {string} ground @param {number} share of the color */
export function mixColors(color, ground, share) {
  const over = parseColor(color) ?? FALLBACK, under = parseColor(ground) ?? WHITE;
  return pack(over.map((channel, at) => Math.round(share * channel + (1 - share) * under[at])));
}

/** @param {readonly number[]} channels */
function pack([r, g, b]) {
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

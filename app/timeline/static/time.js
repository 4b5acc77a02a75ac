/** Format times and other numbers, and compute the ticks of an axis. */

/** @type {[number, string][]} */
const UNITS = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];

/** Replace the hyphen of a negative number by a minus sign. @param {string} text */
function useMinusSign(text) {
  return text.replace(/^-/, "−");
}

/**
 * Return the unit in which a time reads best: its length in ns and its symbol.
 * @param {number} ns
 */
function chooseUnit(ns) {
  const size = Math.abs(ns);
  return UNITS.findLast(([one]) => size >= one) ?? UNITS[0];
}

/**
 * Format a duration with three or four digits, such as `12.3 µs`.
 * @param {number} ns
 */
export function formatDuration(ns) {
  const [size, sign] = chooseUnit(ns), value = ns / size;
  const digits = sign === "ns" ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.max(1, Math.abs(value)))));
  return useMinusSign(`${value.toFixed(digits)} ${sign}`);
}

/**
 * Format a moment to the ns, such as `12.345678 ms`.
 * @param {number} ns
 */
export function formatMoment(ns) {
  const [size, sign] = chooseUnit(ns);
  const text = (ns / size).toFixed(Math.round(Math.log10(size)));
  return useMinusSign(`${text.includes(".") ? text.replace(/\.?0+$/, "") : text} ${sign}`);
}

/**
 * Format a share as a percentage.
 * @param {number} share 0 to 1
 */
export function formatPercent(share) {
  const value = 100 * share;
  return `${value && value < 0.1 ? "<0.1" : value.toFixed(value < 9.95 ? 1 : 0)} %`;
}

/**
 * Format a count with thousands separators.
 * @param {number} value
 */
export function formatCount(value) {
  return Math.round(value).toLocaleString("en-US");
}

/**
 * Format bytes in powers of 1000 with three digits, as on the other pages.
 * @param {number} value
 */
export function formatBytes(value) {
  const power = value >= 999.5 ? Math.min(4, Math.floor(Math.log10(value * 1.0005) / 3)) : 0;
  const shown = value / 1000 ** power;
  const digits = power === 0 || shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
  return `${shown.toFixed(digits)} ${["B", "KB", "MB", "GB", "TB"][power]}`;
}

/**
 * Format a value of a curve with its unit.
 * @param {number} number
 * @param {string} [sign] unit: %, Hz, bytes or others
 */
export function formatValue(number, sign = "") {
  if (sign === "bytes") return formatBytes(number);
  const power = sign === "%" || number < 1e4 ? 0 : Math.min(3, Math.floor(Math.log10(number) / 3));
  const text = Number((number / 1000 ** power).toPrecision(3)).toLocaleString("en-US");
  return useMinusSign(`${text} ${["", "k", "M", "G"][power]}${sign}`.trim());
}

/**
 * Compute ticks at round times: 1, 2 or 5 times a power of ten apart.
 * @param {number} t0
 * @param {number} t1
 * @param {number} most number of ticks that fit
 * @param {number} [zero] time displayed as 0
 * @returns {{step: number, ticks: {t: number, text: string}[]}}
 */
export function computeTicks(t0, t1, most, zero = 0) {
  const minStep = Math.max(1, (t1 - t0) / Math.max(1, most));
  const power = 10 ** Math.floor(Math.log10(minStep));
  const step = power * (minStep <= power ? 1 : minStep <= 2 * power ? 2 : minStep <= 5 * power ? 5 : 10);
  const [size, sign] = chooseUnit(Math.max(Math.abs(t0 - zero), Math.abs(t1 - zero)));
  const digits = Math.max(0, Math.ceil(Math.log10(size) - Math.log10(step) - 1e-9));
  const list = [];
  for (let at = Math.ceil((t0 - zero) / step); zero + at * step <= t1; at++) {
    list.push({ t: zero + at * step, text: useMinusSign(`${(at * step / size).toFixed(digits)} ${sign}`) });
  }
  return { step, ticks: list };
}

/**
 * An image in memory. Tens of thousands of bars per picture, most of them one pixel wide, are drawn into it several times
 * faster than by canvas calls; the canvas then takes the whole image at once.
 */

export class Pixels {
  constructor() {
    this.image = new ImageData(1, 1);
    this.words = new Uint32Array(this.image.data.buffer);
    this.width = this.height = 1;
    /** Nothing is drawn above this row. */
    this.top = 0;
  }

  /** @param {number} width @param {number} height */
  resize(width, height) {
    if (width === this.width && height === this.height) return;
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.image = new ImageData(this.width, this.height);
    this.words = new Uint32Array(this.image.data.buffer);
  }

  /** @param {number} color packed (color_math.js) */
  clear(color) {
    this.words.fill(color);
    this.top = 0;
  }

  /**
   * Fill a rectangle of whole pixels; parts outside of the image are cut off.
   * @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 @param {number} color packed
   */
  rect(x0, y0, x1, y1, color) {
    const { words, width } = this, left = x0 < 0 ? 0 : x0, right = x1 > width ? width : x1;
    const first = y0 < this.top ? this.top : y0, last = y1 > this.height ? this.height : y1;
    if (right <= left) return;
    if (right - left === 1) {
      for (let at = first * width + left, end = last * width; at < end; at += width) words[at] = color;
    } else {
      for (let y = first; y < last; y++) words.fill(color, y * width + left, y * width + right);
    }
  }
}

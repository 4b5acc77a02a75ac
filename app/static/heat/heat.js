// A heat map of rows by columns on a canvas, with a tip under the pointer; a click tells the cell to the server.
//
// data: values (base64 of little-endian float32, row by row, NaN where there is none), rows and columns (labels), notes
// (more about each row), marked (a row or null), low and high (values of the ends of the scale), ends (their texts),
// unit ([name, size]), color (#rrggbb), column (what a column is), label (for screen readers). Labels are hostile:
// they are drawn as text.

const LEFT = 74, TOP = 26, BOTTOM = 40, RIGHT = 2;
const SCALE = 120, GAP = 8, TALLEST = 480;
const ROW = { most: 22, least: 3 };
const LABEL = { width: 46, height: 15 };
const FAINTEST = 0.06;

export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.querySelector(".heat")?.remove();
  const map = new HeatMap(data, (cell) => setTriggerValue("chosen", cell));
  parentElement.append(map.box);
  const sizes = new ResizeObserver(() => map.draw());
  sizes.observe(map.box);
  return () => sizes.disconnect();
}

class HeatMap {
  constructor(data, choose) {
    this.data = data;
    this.values = new Float32Array(Uint8Array.from(atob(data.values), (one) => one.charCodeAt(0)).buffer);
    const each = Math.max(ROW.least, Math.min(ROW.most, Math.floor(TALLEST / data.rows.length)));
    this.height = Math.min(TALLEST, each * data.rows.length);
    this.image = this.paint();
    this.box = element("div", "heat opens");
    this.canvas = element("canvas", "");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", data.label);
    this.canvas.style.height = `${TOP + this.height + BOTTOM}px`;
    this.tip = element("div", "tip");
    this.tip.hidden = true;
    this.box.append(this.canvas, this.tip);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("click", (event) => {
      const cell = this.find(event);
      if (cell) choose([cell.row, cell.column]);
    });
  }

  // A pixel per cell; what has no value stays clear.
  paint() {
    const { rows, columns, low, high, color } = this.data;
    const image = element("canvas", "");
    [image.width, image.height] = [columns.length, rows.length];
    const context = image.getContext("2d");
    const pixels = context.createImageData(columns.length, rows.length);
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    this.values.forEach((value, at) => {
      const share = Math.max(0, Math.min(1, (value - low) / (high - low)));
      const alpha = Number.isNaN(value) ? 0 : 255 * (FAINTEST + (1 - FAINTEST) * share);
      pixels.data.set([red, green, blue, alpha], 4 * at);
    });
    context.putImageData(pixels, 0, 0);
    return image;
  }

  draw() {
    const { rows, columns, marked, column } = this.data;
    this.width = this.box.clientWidth - LEFT - RIGHT;
    if (this.width <= 0) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.box.clientWidth * ratio);
    this.canvas.height = Math.round((TOP + this.height + BOTTOM) * ratio);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, LEFT, TOP, this.width, this.height);
    const style = getComputedStyle(this.box);
    this.separate(context, style.getPropertyValue("--st-background-color"));
    context.fillStyle = style.color;
    context.textBaseline = "middle";
    const font = style.fontFamily;
    const write = (text, x, y, align, bold = false) => {
      context.font = `${bold ? "bold " : ""}12px ${font}`;
      context.textAlign = align;
      context.fillText(text, x, y);
    };
    const tall = this.height / rows.length;
    const each = Math.ceil(LABEL.height / tall);
    rows.forEach((text, row) => {
      const isNear = marked !== null && Math.abs(row - marked) < each;
      if (row === marked || (row % each === 0 && !isNear)) {
        write(text, LEFT - GAP, TOP + (row + 0.5) * tall, "right", row === marked);
      }
    });
    const wide = this.width / columns.length;
    const apart = Math.ceil(LABEL.width / wide);
    columns.forEach((text, at) => {
      if (at % apart === 0) write(text, LEFT + (at + 0.5) * wide, TOP + this.height + 11, "center");
    });
    write(column, LEFT + this.width / 2, TOP + this.height + 30, "center");
    this.drawScale(context, write);
  }

  // Lines between rows and columns that are large enough.
  separate(context, ground) {
    const { rows, columns } = this.data;
    const [tall, wide] = [this.height / rows.length, this.width / columns.length];
    context.fillStyle = ground;
    if (tall >= 7) rows.forEach((_, row) => context.fillRect(LEFT, TOP + row * tall, this.width, 1));
    if (wide >= 7) columns.forEach((_, at) => context.fillRect(LEFT + at * wide, TOP, 1, this.height));
  }

  drawScale(context, write) {
    const { color, ends } = this.data;
    const right = LEFT + this.width;
    write(ends[1], right, 10, "right");
    const start = right - context.measureText(ends[1]).width - GAP - SCALE;
    const gradient = context.createLinearGradient(start, 0, start + SCALE, 0);
    gradient.addColorStop(0, color + Math.round(255 * FAINTEST).toString(16).padStart(2, "0"));
    gradient.addColorStop(1, color);
    const text = context.fillStyle;
    context.fillStyle = gradient;
    context.fillRect(start, 5, SCALE, 10);
    context.fillStyle = text;
    write(ends[0], start - GAP, 10, "right");
  }

  find(event) {
    const { rows, columns } = this.data;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const column = Math.floor(((x - LEFT) / this.width) * columns.length);
    const row = Math.floor(((y - TOP) / this.height) * rows.length);
    return row in rows && column in columns ? { row, column, x, y } : null;
  }

  point(event) {
    const cell = this.find(event);
    const value = cell && this.values[cell.row * this.data.columns.length + cell.column];
    this.tip.hidden = cell === null || Number.isNaN(value);
    if (this.tip.hidden) return;
    const { rows, columns, notes, unit, column } = this.data;
    const number = (value / unit[1]).toLocaleString("en-US", { maximumSignificantDigits: 4 });
    const strong = element("strong", "", `${number} ${unit[0]}`);
    const where = `${rows[cell.row]}${notes[cell.row]}, ${column.toLowerCase()} ${columns[cell.column]}: `;
    this.tip.replaceChildren(where, strong);
    const isRight = cell.x > this.box.clientWidth / 2;
    this.tip.style.left = isRight ? "" : `${cell.x + GAP}px`;
    this.tip.style.right = isRight ? `${this.box.clientWidth - cell.x + GAP}px` : "";
    this.tip.style.top = `${Math.max(0, cell.y - 32)}px`;
  }
}

function element(tag, part, text = "") {
  const made = document.createElement(tag);
  made.className = part;
  made.textContent = text;
  return made;
}

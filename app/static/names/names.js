// The card with a name as a whole, beside the row under the pointer or the cell chosen by keys, and its copy button.
//
// Streamlit draws tables on a canvas and cuts what is too long. Beside the canvas it keeps a table for screen readers,
// with the visible rows in the order shown and each text as a whole: the card reads from there. Names are hostile:
// they are written as text, never as HTML.

const DWELL_MS = 300;
const LEAVE_MS = 200;
const COPIED_MS = 1500;
const GAP_PX = 4;
const LOOK_MS = 250;
const EDGE_PX = 8;
const COPY = `${/Mac/.test(navigator.platform) ? "⌘" : "Ctrl+"}C copies it. `;
const cards = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const card = cards.get(parentElement) ?? new Card(parentElement, data.by_keys);
  cards.set(parentElement, card);
  Object.assign(card, { data, setStateValue, setTriggerValue });
  card.watchEdge();
  return () => card.remove();
}

class Card {
  constructor(root, keys) {
    this.host = root.host;
    this.told = keys;
    this.byKeys = false;
    this.text = element("code", "name");
    this.copyButton = element("button", "copy", "Copy");
    this.hint = element("span", "hint");
    this.box = element("div", "card");
    this.box.popover = "manual";
    this.box.setAttribute("role", "group");
    this.box.setAttribute("aria-label", "Whole name");
    this.box.append(this.text, this.copyButton, this.hint);
    root.append(this.box);
    this.copyButton.addEventListener("click", () => this.copy(this.text.textContent));
    this.box.addEventListener("pointerenter", () => clearTimeout(this.leaving));
    this.box.addEventListener("pointerleave", () => this.leave());
    this.listening = new AbortController();
    const options = { signal: this.listening.signal, capture: true };
    document.addEventListener("pointermove", (event) => this.pointed(event), options);
    document.addEventListener("pointerdown", (event) => this.pressed(event), options);
    document.addEventListener("keydown", (event) => this.key(event), options);
    document.addEventListener("focusin", (event) => this.focused(event), options);
    document.addEventListener("scroll", () => this.hide(), options);
  }

  remove() {
    this.listening.abort();
    this.edge?.disconnect();
    clearTimeout(this.looking);
    this.hide();
    this.box.remove();
  }

  // The table above this card; it is looked for each time, because Streamlit may draw a new one.
  frame() {
    const before = (table) => table.compareDocumentPosition(this.host) & Node.DOCUMENT_POSITION_FOLLOWING;
    return [...document.querySelectorAll('[data-testid="stDataFrame"]')].filter(before).at(-1);
  }

  // The table says with an arrow at its right edge that more columns follow (style.css), as long as they do.
  watchEdge() {
    this.edge?.disconnect();
    clearTimeout(this.looking);
    const frame = this.frame();
    const scroller = frame?.querySelector(".dvn-scroller");
    if (!scroller) {
      this.looking = setTimeout(() => this.watchEdge(), LOOK_MS); // it is drawn later
      return;
    }
    const look = () => {
      frame.toggleAttribute("data-more-columns", scroller.scrollWidth - scroller.clientWidth - scroller.scrollLeft > EDGE_PX);
    };
    const sizes = new ResizeObserver(look);
    for (const part of [scroller, ...scroller.children]) sizes.observe(part);
    // With other columns Streamlit draws the table, or the part that gives it its width, anew.
    const changes = new MutationObserver(() => (scroller.isConnected ? look() : this.watchEdge()));
    changes.observe(frame, { childList: true, subtree: true });
    this.edge = { disconnect: () => [sizes, changes].forEach((one) => one.disconnect()) };
    scroller.addEventListener("scroll", look, { signal: this.listening.signal, passive: true });
    look();
  }

  owns(target) {
    return target instanceof Element && target.closest('[data-testid="stDataFrame"]') === this.frame();
  }

  pointed(event) {
    if (event.composedPath().includes(this.box)) return;
    clearTimeout(this.dwelling);
    const cell = this.owns(event.target) ? this.under(event.clientX, event.clientY) : null;
    if (cell && cell.key === this.shown) {
      clearTimeout(this.leaving);
    } else if (cell) {
      this.dwelling = setTimeout(() => this.show(cell), DWELL_MS);
      if (!this.byKeys) this.leave();
    } else if (!this.byKeys) {
      this.leave();
    }
  }

  pressed(event) {
    if (event.composedPath().includes(this.box)) return;
    clearTimeout(this.dwelling);
    this.hide();
    this.lastKey = undefined;
    if (this.owns(event.target)) this.tell(false);
  }

  // Keys walk over cells and show the name of the row; Enter does what a click does, and a name is copied as a whole.
  key(event) {
    this.lastKey = event.key;
    if (event.key === "Escape") this.hide();
    if (event.key === "Escape" || !this.owns(event.target)) return;
    this.tell(true);
    const cell = this.chosen(event.target);
    if (event.key === "Enter" && cell && this.data.opens) this.setTriggerValue("opened", true);
    else if (isCopy(event) && cell?.own) this.copy(cell.name);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // The table moves the focus to the cell that keys chose, once it has drawn it.
  focused(event) {
    if (!this.owns(event.target)) {
      if (!event.composedPath().includes(this.box)) this.hide();
    } else if (this.lastKey) {
      this.tell(true);
      const cell = this.chosen(event.target);
      if (cell) this.show(cell, true);
    }
  }

  // Python is told before the table says which cell was chosen: walking over cells by keys opens nothing.
  tell(byKeys) {
    if (!this.data.opens || this.told === byKeys) return;
    this.told = byKeys;
    this.setStateValue("by_keys", byKeys);
  }

  // The cell with a name at this place of the screen, or null; in the order of columns that the table shows now.
  under(x, y) {
    const frame = this.frame();
    const scroller = frame.querySelector(".dvn-scroller");
    const grid = frame.querySelector('table[role="grid"]');
    if (!scroller || !grid) return null;
    const box = scroller.getBoundingClientRect();
    const rows = Number(grid.getAttribute("aria-rowcount")) - 1;
    const rest = scroller.scrollHeight - rows * this.data.row;
    const head = rest > 0 && rest <= 2 * this.data.row ? rest : this.data.row;
    if (y < box.top + head) return null;
    const row = Math.floor((y - box.top - head + scroller.scrollTop) / this.data.row);
    let right = box.left - scroller.scrollLeft + this.data.before;
    let next = 1;
    for (const title of grid.querySelectorAll("th")) {
      const width = this.data.widths[title.textContent];
      if (!width || Number(title.getAttribute("aria-colindex")) !== next) return null;
      right += width;
      next += 1;
      if (x < right) return this.cell(grid, row, title, right, box.top + head + row * this.data.row - scroller.scrollTop);
    }
    return null;
  }

  // The name in the row of the cell that the keys chose: its own, else the first of the row.
  chosen(cell) {
    if (!cell.matches("td")) return null;
    const frame = this.frame();
    const grid = cell.closest("table");
    const titles = [...grid.querySelectorAll("th")];
    const here = titles.find((title) => title.getAttribute("aria-colindex") === cell.getAttribute("aria-colindex"));
    const title = [here, ...titles].find((one) => one && this.data.names.includes(one.textContent));
    if (!title) return null;
    const scroller = frame.querySelector(".dvn-scroller").getBoundingClientRect();
    const row = Number(cell.parentElement.getAttribute("aria-rowindex")) - 2;
    const found = this.cell(grid, row, title, scroller.left, scroller.bottom);
    return found && { ...found, own: title === here };
  }

  cell(grid, row, title, x, y) {
    const column = title.getAttribute("aria-colindex");
    if (!this.data.names.includes(title.textContent)) return null;
    const found = grid.querySelector(`tr[aria-rowindex="${row + 2}"] td[aria-colindex="${column}"]`);
    const name = found?.textContent;
    return name ? { key: `${row}/${column}/${name}`, name: this.whole(found.parentElement, name), x, y } : null;
  }

  // Kernels that share a short name are told apart by another cell of the row.
  whole(row, name) {
    const { whole } = this.data;
    const other = [...row.children].find((one) => `${name}\n${one.textContent}` in whole);
    return whole[name] ?? (other ? whole[`${name}\n${other.textContent}`] : name);
  }

  show(cell, byKeys = false) {
    clearTimeout(this.leaving);
    this.byKeys = byKeys;
    this.shown = cell.key;
    this.text.textContent = cell.name;
    this.copyButton.textContent = "Copy";
    this.copyButton.hidden = byKeys;
    this.hint.textContent = byKeys && cell.own ? COPY + (this.data.opens ? "Enter opens it." : "") : "";
    this.box.style.maxWidth = `${Math.max(320, window.innerWidth - cell.x - 4 * GAP_PX)}px`;
    this.box.showPopover();
    const { width, height } = this.box.getBoundingClientRect();
    this.box.style.left = `${Math.max(GAP_PX, Math.min(cell.x + GAP_PX, window.innerWidth - width - GAP_PX))}px`;
    this.box.style.top = `${Math.max(GAP_PX, Math.min(cell.y, window.innerHeight - height - GAP_PX))}px`;
  }

  leave() {
    clearTimeout(this.leaving);
    this.leaving = setTimeout(() => this.close(), LEAVE_MS);
  }

  hide() {
    clearTimeout(this.dwelling);
    this.close();
  }

  close() {
    clearTimeout(this.leaving);
    this.shown = undefined;
    this.byKeys = false;
    if (this.box.matches(":popover-open")) this.box.hidePopover();
  }

  // A page that does not come by https, or from this machine, has no clipboard: there what is marked is copied.
  async copy(name) {
    try {
      await navigator.clipboard.writeText(name);
    } catch {
      getSelection().selectAllChildren(this.text);
      if (!document.execCommand("copy")) return;
    }
    (this.copyButton.hidden ? this.hint : this.copyButton).textContent = "Copied";
    setTimeout(() => (this.copyButton.textContent = "Copy"), COPIED_MS);
  }
}

function isCopy(event) {
  return (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "c";
}

function element(tag, part, text = "") {
  const made = document.createElement(tag);
  made.className = part;
  made.textContent = text;
  return made;
}

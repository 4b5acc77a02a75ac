// The search of the menu: a button, and a dialog (Ctrl+K) that finds pages, reports, and kernels and ranges of a report.
//
// Names are hostile: they are written as text, never as HTML.

const MOST = 30;
const PAUSE_MS = 200;
const TITLES = { page: "Page", report: "Report", kernel: "Kernel", range: "Range" };
const IS_MAC = /Mac/.test(navigator.platform);
const searches = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const search = searches.get(parentElement) ?? new Search(parentElement);
  searches.set(parentElement, search);
  search.take(data, setTriggerValue);
  return () => search.leave();
}

class Search {
  constructor(root) {
    this.items = [];
    this.button = element("button", "open");
    this.button.type = "button";
    this.button.append(icon(), element("span", "label", "Search"), element("kbd", "", IS_MAC ? "⌘ K" : "Ctrl K"));
    this.button.addEventListener("click", () => this.open());
    this.dialog = element("dialog", "dialog");
    this.dialog.setAttribute("aria-label", "Search pages, reports, kernels and ranges");
    this.field = element("input", "field");
    set(this.field, { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "found", "aria-autocomplete": "list",
      "aria-label": "Search", placeholder: "Page, report, kernel or range", autocomplete: "off", spellcheck: "false", maxlength: "200" });
    this.list = element("div", "list");
    set(this.list, { id: "found", role: "listbox", "aria-label": "Found" });
    this.note = element("p", "note");
    this.note.setAttribute("role", "status");
    this.dialog.append(this.field, this.list, this.note);
    root.append(this.button, this.dialog);
    this.field.addEventListener("input", () => this.type());
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
  }

  take(data, setTriggerValue) {
    Object.assign(this, { data, setTriggerValue });
    this.listening?.abort();
    this.listening = new AbortController();
    document.addEventListener("keydown", (event) => this.shortcut(event), { signal: this.listening.signal, capture: true });
    const early = window.warpdeckEarlySearch;
    delete window.warpdeckEarlySearch;
    early?.end();
    if (early?.asked) requestAnimationFrame(() => this.dialog.open || this.open());
  }

  leave() {
    this.listening?.abort();
  }

  shortcut(event) {
    if (event.key?.toLowerCase() !== "k" || !(IS_MAC ? event.metaKey : event.ctrlKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (this.dialog.open) this.dialog.close();
    else this.open();
  }

  async open() {
    this.field.value = "";
    this.items = this.data.pages.map(({ title, url, lack }) => ({ kind: "page", name: title, value: url, lack }));
    this.draw();
    this.dialog.showModal();
    this.field.focus();
    const pages = this.items;
    try {
      const answer = await fetch(`${this.data.address}?report=${encodeURIComponent(this.data.report)}`, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      const found = await answer.json();
      this.items = [...pages, ...found.items];
      this.asks = found.asks;
      this.draw();
    } catch {
      this.note.textContent = "Only pages are searched: the server did not answer.";
    }
  }

  // The browser has the newest reports of a large library: the server finds the others.
  type() {
    this.draw();
    clearTimeout(this.waiting);
    const text = this.field.value.trim();
    if (this.asks && text) this.waiting = setTimeout(() => this.find(text), PAUSE_MS);
  }

  async find(text) {
    try {
      const answer = await fetch(`${this.data.address}?q=${encodeURIComponent(text)}`, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      const known = new Set(this.items.map(({ value }) => value));
      const more = (await answer.json()).items.filter(({ value }) => !known.has(value));
      this.items.push(...more.map((item) => ({ ...item, found: text })));
      this.draw();
    } catch {
      this.note.textContent = "Only the newest reports are searched: the server did not answer.";
    }
  }

  draw() {
    const words = this.field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = ({ name, about }) => words.every((word) => `${name} ${about ?? ""}`.toLowerCase().includes(word));
    const fitting = this.items.filter((item) => item.found === this.field.value.trim() || has(item));
    const first = (item) => (words.length && item.name.toLowerCase().startsWith(words[0]) ? 0 : 1);
    this.shown = fitting.map((item, at) => [first(item), at, item]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, MOST).map(([, , item]) => item);
    this.list.replaceChildren(...this.shown.map((item, at) => this.option(item, at)));
    this.note.textContent = fitting.length > MOST ? `${MOST} of ${fitting.length.toLocaleString("en")}: type more` : fitting.length ? "" : "Nothing found";
    this.mark(0);
  }

  option(item, at) {
    const option = element("div", "option");
    set(option, { role: "option", id: `found-${at}` });
    option.append(element("span", "kind", TITLES[item.kind] ?? ""), element("span", "name", item.name));
    if (item.lack || item.about) option.append(element("span", "about", item.lack || item.about));
    option.title = item.name;
    option.addEventListener("click", () => this.choose(item));
    option.addEventListener("pointermove", () => this.mark(at));
    return option;
  }

  mark(at) {
    this.at = at;
    [...this.list.children].forEach((option, here) => option.setAttribute("aria-selected", String(here === at)));
    const marked = this.list.children[at];
    if (marked) this.field.setAttribute("aria-activedescendant", marked.id);
    else this.field.removeAttribute("aria-activedescendant");
    marked?.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const count = this.shown.length;
    if (event.key === "ArrowDown" && count) this.mark((this.at + 1) % count);
    else if (event.key === "ArrowUp" && count) this.mark((this.at + count - 1) % count);
    else if (event.key === "Enter" && this.shown[this.at]) this.choose(this.shown[this.at]);
    else return;
    event.preventDefault();
  }

  choose({ kind, value }) {
    this.dialog.close();
    this.setTriggerValue("chosen", { kind, value });
  }
}

function element(tag, part = "", text = "") {
  const made = document.createElement(tag);
  made.className = part;
  made.textContent = text;
  return made;
}

function icon() {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  set(drawing, { viewBox: "0 0 16 16", width: "14", height: "14", fill: "none", stroke: "currentColor", "stroke-width": "1.6", "aria-hidden": "true" });
  for (const [shape, attributes] of [["circle", { cx: "7", cy: "7", r: "4.5" }], ["path", { d: "M10.5 10.5 L14 14" }]]) {
    const part = document.createElementNS("http://www.w3.org/2000/svg", shape);
    set(part, attributes);
    drawing.append(part);
  }
  return drawing;
}

function set(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) target.setAttribute(name, value);
}

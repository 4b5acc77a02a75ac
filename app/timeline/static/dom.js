/** Create page elements. Texts become text nodes, never markup: they come from reports. */

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | ((event: any) => void)>} [props] functions listen to the event after `on`, others become attributes
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  appendChildren(element, ...children);
  return element;
}

/**
 * Append children; empty ones are skipped.
 * @param {ParentNode} parent
 * @param {...Child} children
 */
export function appendChildren(parent, ...children) {
  for (const child of children) if (child) parent.append(child);
}

/**
 * Replace the children of an element.
 * @param {Element} parent
 * @param {...Child} children
 */
export function replaceContent(parent, ...children) {
  parent.replaceChildren();
  appendChildren(parent, ...children);
}

/**
 * Create a button. One with words is called what it says, and the label explains it; one with a symbol is called by the label.
 * @param {string} label
 * @param {string} text
 * @param {(event: MouseEvent) => void} act
 * @param {Record<string, string | boolean>} [more]
 */
export function makeButton(label, text, act, more = {}) {
  return h("button", { type: "button", "aria-label": !/\p{L}{2}/u.test(text) && label, title: label, onclick: act, ...more }, text);
}

/**
 * Create a dialog with a title and a button that closes it.
 * @param {string} title
 * @param {...Child} children
 */
export function makeDialog(title, ...children) {
  const dialog = h("dialog", { "aria-label": title },
    h("div", { class: "dialog-head" }, h("b", {}, title), makeButton("Close", "×", () => dialog.close())), ...children);
  return dialog;
}

/**
 * Create a table with a header.
 * @param {string[]} heads
 * @param {Child[][]} rows
 * @param {string} caption
 */
export function makeTable(heads, rows, caption) {
  const cells = (/** @type {Child[]} */ row) => row.map((cell, at) => h("td", { class: at ? "number" : "" }, cell));
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ...heads.map((head, at) => h("th", { scope: "col", class: at ? "number" : "" }, head)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...cells(row)))),
  );
}

/**
 * Copy a text to the clipboard, by a field if the browser denies access to the clipboard.
 * @param {string} text
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", {});
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
export function saveFile(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

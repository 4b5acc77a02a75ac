// The button that copies the address of the page, which names the report, the selection and what the page shows.

const SHOWN_MS = 2500;
const buttons = new WeakMap();

export default function ({ data, parentElement }) {
  const made = buttons.get(parentElement) ?? make(parentElement);
  buttons.set(parentElement, made);
  made.note = data.note;
}

function make(root) {
  const made = { note: "" };
  const button = document.createElement("button");
  button.type = "button";
  button.append(icon(), "Copy link");
  const said = document.createElement("span");
  said.className = "said";
  said.setAttribute("role", "status");
  root.append(button, said);
  let timer;
  button.addEventListener("click", async () => {
    const copied = await copy(location.href, root);
    said.textContent = copied ? `Link copied. ${made.note}` : location.href;
    clearTimeout(timer);
    timer = setTimeout(() => (said.textContent = ""), SHOWN_MS + 60 * said.textContent.length);
  });
  return made;
}

function icon() {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 16 16", width: "13", height: "13", fill: "none", stroke: "currentColor", "stroke-width": "1.5", "aria-hidden": "true" })) {
    drawing.setAttribute(name, value);
  }
  for (const outline of ["M5 5 V2 H14 V11 H11", "M2 5 H11 V14 H2 Z"]) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", outline);
    drawing.append(path);
  }
  return drawing;
}

// A page that does not come by https, or from this machine, has no clipboard: there what is marked is copied.
async function copy(text, root) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    root.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}

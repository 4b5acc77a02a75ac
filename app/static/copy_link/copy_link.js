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
  button.textContent = "Copy link";
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

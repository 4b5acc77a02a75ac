// Tells the server that the page has become dark or light: the colors of charts come from there, and would stay.

let watching, shown;

export default function ({ setTriggerValue }) {
  const app = document.querySelector(".stApp");
  const shade = () => getComputedStyle(app).colorScheme;
  shown ??= shade();
  watching?.disconnect();
  watching = new MutationObserver(() => {
    if (shade() === shown) return;
    shown = shade();
    setTriggerValue("changed", true);
  });
  watching.observe(app, { attributes: true, attributeFilter: ["class"] });
  return () => watching.disconnect();
}

// Tells the server how the page looks here: dark where it drew for a light one, or the other way (the colors of charts
// come from there, and would stay), and narrow (its tables then leave columns out).

const NARROW = matchMedia("(max-width: 1000px)");

let watching, asked, changing;

export default function ({ data, setStateValue, setTriggerValue }) {
  const app = document.querySelector(".stApp");
  const look = () => {
    const shade = getComputedStyle(app).colorScheme;
    if (shade === data.theme) {
      asked = undefined;
    } else if (shade !== asked) {
      asked = shade;
      setTriggerValue("changed", true);
    }
  };
  const measure = () => {
    if (NARROW.matches !== data.narrow) setStateValue("narrow", NARROW.matches);
  };
  watching?.disconnect();
  watching = new MutationObserver(look);
  watching.observe(app, { attributes: true, attributeFilter: ["class"] });
  changing?.abort();
  changing = new AbortController();
  NARROW.addEventListener("change", measure, { signal: changing.signal });
  look(); // it may have changed while the page was drawn
  measure();
  return () => {
    watching.disconnect();
    changing.abort();
  };
}

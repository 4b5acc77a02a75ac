// Tells the server that the page is dark where it drew for a light one, or the other way: the colors of charts come from
// there, and would stay.

let watching, asked;

export default function ({ data, setTriggerValue }) {
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
  watching?.disconnect();
  watching = new MutationObserver(look);
  watching.observe(app, { attributes: true, attributeFilter: ["class"] });
  look(); // it may have changed while the page was drawn
  return () => watching.disconnect();
}

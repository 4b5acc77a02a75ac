// Remembers that Ctrl+K (⌘K) was pressed while the page was loading; search.js opens the search as soon as it is there.
{
  const mac = /Mac/.test(navigator.platform), loading = new AbortController();
  const early = (window.warpdeckEarlySearch = { asked: false, end: () => loading.abort() });
  document.addEventListener("keydown", (event) => {
    const drawn = document.querySelector('[data-testid="stApp"][data-test-script-state="notRunning"]');
    if (drawn && !document.querySelector(".st-key-menu-search")) return; // a page without a search
    if (event.key?.toLowerCase() !== "k" || !(mac ? event.metaKey : event.ctrlKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    early.asked = true;
  }, { capture: true, signal: loading.signal });
}

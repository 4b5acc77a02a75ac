"""Measure page times in a real browser with a real dashboard: from the navigation to a page at rest with its main
table."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from playwright.sync_api import Browser, Page, sync_playwright

from bench import chromium
from bench.ingestion import BenchError

MAIN = Path(__file__).resolve().parent.parent / "app" / "main.py"
# Main element of a page; the wait ends when the first one is visible.
MAIN_ELEMENT = '[data-testid="stDataFrame"], [data-testid="stTable"], [data-testid="stPlotlyChart"]'
_TIMEOUT_MS = 120_000
_BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Counts the starts of the script since the page was opened or the counter was reset.
_COUNT_RUNS = """() => {
  if (window.benchRuns !== undefined) return;
  window.benchRuns = 0;
  const state = () => document.querySelector('[data-testid="stApp"]')?.getAttribute('data-test-script-state');
  let last = state();
  new MutationObserver(() => {
    const now = state();
    if (now === 'running' && last !== 'running') window.benchRuns += 1;
    last = now;
  }).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['data-test-script-state']});
}"""
_AT_REST = """([selector, runs]) => {
  const app = document.querySelector('[data-testid="stApp"]');
  if (!app || app.getAttribute('data-test-script-state') !== 'notRunning') return false;
  if ((window.benchRuns ?? runs) < runs) {
    // React may draw the begin and the end of a short run at once, so that no begin was seen: its title tells then.
    window.benchTold ??= document.title !== window.benchTitle ? performance.now() : undefined;
    if (!(performance.now() - window.benchTold > 500)) return false;
  }
  if (document.querySelector('[data-testid="stStatusWidget"], [data-testid="stSkeleton"], [data-stale="true"]')) {
    return false;
  }
  return [...document.querySelectorAll(selector)].some(element => element.getClientRects().length > 0);
}"""
# Streamlit changes pages within the open document when the address changes, as the back button does.
_GO = """url => {
  Object.assign(window, {benchRuns: 0, benchTitle: document.title, benchTold: undefined});
  history.pushState({}, '', url);
  dispatchEvent(new PopStateEvent('popstate'));
}"""


@dataclass(frozen=True)
class PageTime:
    """Seconds of one page: the first load after the start of the server, a reload, a change from another page."""

    path: str
    cold_s: float
    reload_s: float
    change_s: float


@dataclass(frozen=True)
class Server:
    """A running dashboard: its address, its process, and the file with its output."""

    address: str
    pid: int
    log: Path


@contextmanager
def run_dashboard(env: Mapping[str, str], main: Path = MAIN) -> Iterator[str]:
    """Run the dashboard on a free port of this machine and yield its address."""
    with run_server(env, {"address": "127.0.0.1"}, main) as running:
        yield running.address


@contextmanager
def run_server(
    env: Mapping[str, str], options: Mapping[str, str], main: Path = MAIN, port: int = 0
) -> Iterator[Server]:
    """Run the dashboard with these options of Streamlit's section `server`, on a free port unless one is named."""
    port = port or find_free_port()
    options = {"port": str(port), "headless": "true", "fileWatcherType": "none"} | dict(options)
    flags = [part for name, value in options.items() for part in (f"--server.{name}", value)]
    command = [sys.executable, "-m", "streamlit", "run", str(main), *flags, "--browser.gatherUsageStats", "false"]
    with NamedTemporaryFile(suffix=".log") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | dict(env)
        )
        try:
            _wait_until_healthy(f"http://127.0.0.1:{port}", process)
            yield Server(f"http://127.0.0.1:{port}", process.pid, Path(log.name))
        finally:
            process.terminate()
            if process.wait(timeout=20) == 1:  # it ran out of time, and its log has the stacks
                sys.stderr.write(Path(log.name).read_text())


def find_free_port() -> int:
    """Return an unused port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def _wait_until_healthy(address: str, process: subprocess.Popen[bytes], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise BenchError("the dashboard did not start")


def measure_pages(env: Mapping[str, str], paths: list[str], repeat: int, main: Path = MAIN) -> list[PageTime]:
    """Measure each of `paths`, such as `/summary?report=ID`; every cold time has its own server and browser."""
    times = []
    for index, path in enumerate(paths):
        other = paths[index - 1] if len(paths) > 1 else "/"
        with run_dashboard(env, main) as address, open_page() as page:
            cold = _load(page, address + path)
            reloads = [_load(page, address + path) for _ in range(repeat)]
            changes = [_change(page, other, path) for _ in range(repeat)]
        times.append(PageTime(path, cold, statistics.median(reloads), statistics.median(changes)))
    return times


@contextmanager
def open_page() -> Iterator[Page]:
    """Yield a page of a new headless Chromium."""
    with open_browser() as one:
        page = one.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(_TIMEOUT_MS)
        page.goto("about:blank")
        yield page


@contextmanager
def open_browser(flags: Sequence[str] = ()) -> Iterator[Browser]:
    """Yield a headless Chromium (/usr/bin/chromium, or the one that WARPDECK_CHROMIUM names) with these flags."""
    executable = chromium.find_chromium()
    if executable is None:
        raise BenchError("there is no Chromium: run scripts/install_browser.sh, or set WARPDECK_CHROMIUM to one")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=[*_BROWSER_FLAGS, *flags])
        try:
            yield launched
        finally:
            launched.close()


def wait_at_rest(page: Page, selector: str = MAIN_ELEMENT, runs: int = 0) -> None:
    """Wait until the script has run this many times, drawing has ended, and an element of this kind is visible."""
    page.wait_for_function(_AT_REST, arg=[selector, runs])


def go_to(page: Page, path: str) -> None:
    """Go to another page within the open document, as a click in the menu does."""
    page.evaluate(_COUNT_RUNS)
    page.evaluate(_GO, path)


def turn_to(page: Page, path: str, selector: str = MAIN_ELEMENT) -> None:
    """Go to another page within the open document, and wait until it is at rest."""
    go_to(page, path)
    wait_at_rest(page, selector, runs=1)


def _load(page: Page, address: str) -> float:
    began = time.monotonic()
    page.goto(address, wait_until="commit")
    wait_at_rest(page)
    return time.monotonic() - began


def _change(page: Page, other: str, path: str) -> float:
    """Go to `other` and back to `path` within the open document; return the seconds of the second change."""
    turn_to(page, other)
    began = time.monotonic()
    turn_to(page, path)
    return time.monotonic() - began

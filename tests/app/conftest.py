"""A library created by the real worker, and the dashboard on a copy of it."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.element_tree import Selectbox
from streamlit.util import calc_hash

from profiledb.library.library import Library
from tests.conftest import Once, copy_data, put_together, run_ingest
from tests.support import conversion_cache

ROOT = Path(__file__).resolve().parent.parent.parent
MAIN = ROOT / "app" / "dashboard.py"
SAMPLES = ROOT / "sample_reports"
CORPUS = ROOT.parent / "shared" / "corpus"
STRANGERS = ("streams_4090.nsys-rep", "wsl2_no_kernels.nsys-rep", "vec_add_1660s_full.ncu-rep")

Dashboard = Callable[..., AppTest]

# Set as in app/.streamlit/config.toml, which only a server reads: by default, Streamlit collects garbage after each
# script and rewrites scripts for "magic".
config.set_option("runner.postScriptGC", False)
config.set_option("runner.magicEnabled", False)
# A server scans all installed packages for components once, and compiles each script once; every AppTest repeats both.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
local_script_runner.ScriptCache = cache(ScriptCache)  # type: ignore[attr-defined, assignment]


def wait_for_script(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
    """Wait for the end of the script's thread; AppTest asks 1,000 times a second, which slows the script down."""
    assert runner._script_thread
    runner._script_thread.join(timeout)
    if not runner.script_stopped():
        runner.request_stop()
        runner.join()
        raise RuntimeError(f"the script ran for more than {timeout} s")


local_script_runner.require_widgets_deltas = wait_for_script


def at_page(at: AppTest, url: str) -> AppTest:
    """Go to the page at an address, like a browser that opens its link: ``switch_page`` takes file names."""
    at._page_hash = calc_hash(url)
    return at


def picker(at: AppTest) -> Selectbox[Any]:
    """Return the report switcher above the page."""
    return next(box for box in at.selectbox if str(box.key).startswith("report-picker"))


@pytest.fixture(scope="session")
def built(once: Once, sample_data: Path) -> Path:
    """A data folder whose inbox holds the samples, some reports of the corpus and a broken file, and its library."""
    strangers = [CORPUS / name for name in STRANGERS if (CORPUS / name).is_file()]

    def fill(data: Path) -> None:
        put_together(data, [sample_data])
        for path in strangers:
            shutil.copyfile(path, data / "inbox" / path.name)
        (data / "inbox" / "broken.nsys-rep").write_bytes(b"NVIDIA Tegra Profiler Report " + bytes(500))
        done = run_ingest(data / "inbox", data / "library")
        assert len(done.lines) == len(strangers) + 1, "what was there is known"

    return once("data", fill)


@pytest.fixture
def data(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A writable copy of the data folder, which the dashboard of the test reads.

    It shares the stored answers of other tests on the same reports.
    """
    copy = tmp_path / "data"
    copy_data(built, copy)
    conversion_cache.share_answers(copy / "library")
    return _use(copy, monkeypatch)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder."""
    return _use(tmp_path / "data", monkeypatch)


@pytest.fixture
def library(data: Path) -> Library:
    return Library(data / "library")


@pytest.fixture
def dashboard() -> Dashboard:
    """Return a function that opens a page of the dashboard, by address without the slash, with query parameters."""

    def open_(page: str = "", **query: str) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=60)
        for name, value in query.items():
            at.query_params[name] = value
        return (at_page(at, page) if page else at).run()

    return open_


def _use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WARPDECK_DATA", str(folder))
    monkeypatch.setenv("WARPDECK_WORKER", "off")
    for name in ("WARPDECK_INBOX", "WARPDECK_LIBRARY", "WARPDECK_CLASSES"):
        monkeypatch.delenv(name, raising=False)
    st.cache_data.clear()
    return folder

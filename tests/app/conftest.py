"""A library made by the real worker, and the dashboard on a copy of it."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
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

# As app/.streamlit/config.toml has it, which only a server reads: Streamlit would collect garbage after each script.
config.set_option("runner.postScriptGC", False)
# Each AppTest would look for components of Streamlit among all installed packages, as a server does when it starts.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def at_page(at: AppTest, url: str) -> AppTest:
    """Turns to the page at an address, as a browser that opens its link: ``switch_page`` goes by names of files."""
    at._page_hash = calc_hash(url)
    return at


def picker(at: AppTest) -> Selectbox[Any]:
    """The report switcher above the page."""
    return next(box for box in at.selectbox if str(box.key).startswith("report-picker"))


@pytest.fixture(scope="session")
def built(once: Once, sample_data: Path) -> Path:
    """A data folder with an inbox (the samples, some reports of strangers, a broken file) and its library."""
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
    """A copy of the data folder that a test may change; the dashboard of the test reads it.

    What another test has asked of the same reports is answered already.
    """
    copy = tmp_path / "data"
    copy_data(built, copy)
    conversion_cache.share_answers(copy / "library")
    return _use(copy, monkeypatch)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with nothing in it."""
    return _use(tmp_path / "data", monkeypatch)


@pytest.fixture
def library(data: Path) -> Library:
    """The library of the test."""
    return Library(data / "library")


@pytest.fixture
def dashboard() -> Dashboard:
    """Opens the dashboard at a page (its address without the slash) with query parameters, and draws it."""

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

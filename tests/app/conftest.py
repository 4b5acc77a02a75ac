"""A library created by the real worker, and the dashboard on a copy of it."""

import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.element_tree import Selectbox
from streamlit.util import calc_hash

from profiledb.library.library import Library
from tests.conftest import Once, copy_data, put_together, run_ingest
from tests.support import conversion_cache
from tests.support.page_reports import Publish

ROOT = Path(__file__).resolve().parent.parent.parent
MAIN = ROOT / "app" / "dashboard.py"
SAMPLES = ROOT / "sample_reports"
CORPUS = ROOT.parent / "shared" / "corpus"
STRANGERS = ("streams_4090.nsys-rep", "wsl2_no_kernels.nsys-rep", "vec_add_1660s_full.ncu-rep")

needs_samples = pytest.mark.skipif(not list(SAMPLES.glob("*.nsys-rep")), reason="no sample reports here")
needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="no corpus here")
HOSTILE = "<script>alert(1)</script>$x$ **b** [c](http://d) :red[e]"

Dashboard = Callable[..., AppTest]
Open = Callable[..., AppTest]

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


@pytest.fixture
def page(dashboard: Dashboard) -> Open:
    """Return a function that opens a page of a report, and fails if the page raises."""

    def open_(name: str, report_id: str, **query: Any) -> AppTest:
        at = dashboard(name, report=report_id, **query)
        assert not at.exception
        return at

    return open_


@pytest.fixture
def small_report(publish: Publish) -> Publish:
    """Return a function that publishes a report of a millisecond whose other tables ``fill`` writes."""

    def publish_(fill: Callable[[duckdb.DuckDBPyConnection], None], kind: str = "nsys") -> str:
        def fill_all(db: duckdb.DuckDBPyConnection) -> None:
            db.execute(
                "INSERT INTO report (kind, start_ns, stop_ns, duration_ns) VALUES (?, 0, 1000000, 1000000)", [kind]
            )
            fill(db)

        return publish(fill_all, kind)

    return publish_


def nothing(_: duckdb.DuckDBPyConnection) -> None:
    """Leave every table of a report empty."""


def calls_alone(db: duckdb.DuckDBPyConnection) -> None:
    """Fill a report with a CUDA call, and no work on the GPU."""
    db.execute("INSERT INTO string VALUES (1, ?)", [HOSTILE])
    db.execute("INSERT INTO api_call (call_id, start_ns, end_ns, global_tid, name_id) VALUES (0, 5, 10, 1, 1)")


def hostile(db: duckdb.DuckDBPyConnection) -> None:
    """Fill a report with two launches of a kernel whose name is an attack, on a GPU that it does not describe."""
    db.execute("INSERT INTO kernel_name VALUES (1, ?, ?, NULL, 'other')", [HOSTILE, HOSTILE])
    db.execute(
        "INSERT INTO kernel (kernel_id, start_ns, end_ns, device_id, stream_id, name_id, grid_x, grid_y, grid_z,"
        " block_x, block_y, block_z) SELECT i, i * 1000, i * 1000 + 500, 0, 1, 1, 1, 1, 1, 32, 1, 1 FROM range(2) t(i)"
    )
    db.execute("INSERT INTO busy VALUES (0, 0, 500), (0, 1000, 1500)")
    db.execute("INSERT INTO diagnostic (severity, source, text) VALUES ('error', 'X', ?)", [HOSTILE])


def of(library: Library, name: str) -> str:
    """Return the id of the report of this file; skip the test if it is not here."""
    found = [r.id for r in library.list() if r.name == name]
    if not found:
        pytest.skip(f"{name} is neither in sample_reports/ nor in ../shared/corpus")
    return found[0]


def texts(at: AppTest) -> str:
    """Return the text of a page outside its tables."""
    kinds: tuple[Any, ...] = (at.header, at.subheader, at.markdown, at.caption, at.info, at.warning, at.error, at.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def plain_texts(at: AppTest) -> str:
    """Return the text of a page without the escapes that keep names from being Markdown."""
    return texts(at).replace("\\", "").replace("\u2060", "")


def metrics(at: AppTest) -> dict[str, str]:
    """Return the key figures of a page by label."""
    return {metric.label: str(metric.value).replace("\\", "") for metric in at.metric}


def check_empty_page(at: AppTest, heading: str, *lacks: str) -> None:
    """Check that a page without data names the missing data and the way to record it once, and shows nothing else."""
    assert [element.value for element in at.subheader] == [heading]
    said = texts(at)
    for lack in lacks:
        assert lack in said
    assert not at.metric
    commands = [element.value for element in at.code if "report=" not in element.value]  # without the link to copy
    assert commands
    assert len(commands) == len(set(commands))
    assert all("warpdeck profile" in command and "\u2060" not in command for command in commands)
    assert "--" not in said.replace("\n".join(commands), "")


def check_names_are_text(at: AppTest) -> None:
    """Check that no element reads a name as HTML or Markdown."""
    for element in [*at.header, *at.subheader, *at.markdown, *at.caption]:
        drawn = re.sub(r"`+[^`]*`+", "", element.value)  # between backticks nothing is read as Markdown
        assert "<script>" not in drawn
        assert "](http" not in drawn
        assert ":red[" not in drawn


def _use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WARPDECK_DATA", str(folder))
    monkeypatch.setenv("WARPDECK_WORKER", "off")
    for name in ("WARPDECK_INBOX", "WARPDECK_LIBRARY", "WARPDECK_CLASSES"):
        monkeypatch.delenv(name, raising=False)
    return folder


def use_copy(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Copy a library into ``tmp_path`` as the one of the test's dashboard, and return it."""
    folder = tmp_path / "data"
    copy_data(library, folder / "library")
    return Library(_use(folder, monkeypatch) / "library")

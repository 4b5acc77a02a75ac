"""Every fitting page opens on a trace of the PyTorch profiler; analyses answer or name the option that records more."""

from pathlib import Path

import pandas as pd
import pytest

from app.page_list import VIEWS, View, get_view
from app.views.memory.tensors import describe_trend
from profiledb.errors import NotCapturedError, NotLinkedError, WarpdeckError
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, header
from profiledb.query.captures import BY_KIND, CAPTURES
from tests.app.conftest import Dashboard, plain_texts
from tests.conftest import ROOT, Once, copy_data, ingest_files
from tests.support.every_report import slow_but

TRACE = ROOT / "tests/data/torch/training.pt.trace.json.gz"
NEVER = ("--trace=cuda", "warpdeck profile --with", "--trace=cuda,nvtx", "NVTX")
"""Advice for nsys where the PyTorch profiler has options of its own, and a name of ranges that no trace has. Boxes of
commands may have them: they record data that this profiler cannot."""
CHOSEN = [get_view(url) for url in ("kernels", "idle", "operators", "host", "roofline")]
"""Pages with data of the trace, with data that another option records, and of another kind of report."""


@pytest.fixture
def report(empty: Path, once: Once) -> tuple[Library, Manifest]:
    """The trace, in the library of the dashboard, through the real worker."""
    copy_data(once("training_trace", lambda folder: ingest_files(folder, [TRACE])), empty)
    library = Library(empty / "library")
    return library, library.list()[0]


@pytest.mark.parametrize("view", slow_but(CHOSEN, VIEWS, "draws every page"), ids=lambda view: view.url)
def test_every_page_opens(dashboard: Dashboard, report: tuple[Library, Manifest], view: View) -> None:
    manifest = report[1]
    held = [capture.title for capture in CAPTURES if manifest.rows.get(capture.table)]
    assert {"CUDA kernels", "CUDA API calls"} <= set(held)
    at = dashboard(view.url, report=manifest.id)
    texts = plain_texts(at)
    assert (list(at.exception), list(at.error)) == ([], [])
    assert view.fits(manifest) == (view.subject in (None, TIMELINE))
    assert ("which it does not have" in texts) == (not view.fits(manifest))
    assert [name for name in held if f"no {name} in this".lower() in texts.lower() or f"**{name}**: " in texts] == []
    for command in at.code:
        texts = texts.replace(str(command.value).replace("\\", ""), "")
    assert [one for one in NEVER if one in texts] == []


@pytest.mark.slow("asks every analysis of a trace")
def test_every_analysis_answers(report: tuple[Library, Manifest]) -> None:
    library, manifest = report
    answered, missing = set(), dict[str, WarpdeckError]()
    for one in header.list_analyses().values():
        try:
            rows = analysis.run(library, manifest.id, one.name)
        except (NotCapturedError, NotLinkedError) as error:
            missing[one.name] = error
            continue
        assert list(rows.columns) == [column.name for column in one.columns]
        answered.add(one.name)
    own = {capture.table for capture in BY_KIND["torch"].captures}
    lacks = {name: error for name, error in missing.items() if isinstance(error, NotCapturedError)}
    assert [
        name for name, one in lacks.items() if own.intersection(one.tables) and "warpdeck profile" in one.hint
    ] == []
    assert {"kernels", "nvtx_tree", "api_calls", "iterations", "idle_reasons", "phase_split", "copies"} <= answered


def test_the_memory_of_tensors(dashboard: Dashboard, report: tuple[Library, Manifest]) -> None:
    at = dashboard("memory", report=report[1].id, tensors_by="Module", device_of="GPU 0")
    assert [element.value for element in at.subheader][:2] == ["Tensor memory", "Memcpy and memset"]
    assert {metric.label: metric.value for metric in at.metric}["Peak"] == r"1\.32 GB"
    peak = next(table.value for table in at.dataframe if "tensors" in table.value)
    assert "Allocated before the capture" in list(peak["name"])
    assert any("SelfAttention_0" in name for name in peak["name"])
    cpu = dashboard("memory", report=report[1].id, device_of="CPU")
    assert {metric.label: metric.value for metric in cpu.metric}["Peak"] == "16 B"


@pytest.mark.parametrize(
    ("first", "last", "slope", "grows", "words"),
    [
        (5e8, 5e8, 0.0, False, "is steady from step to step: 500 MB when each of the 4 steps begins"),
        (5e8, 8e8, 1e8, True, "grows by 100 MB per step (95 % interval 100 MB to 100 MB): from 500 MB"),
        (5e8, 4e8, -3e7, False, "does not grow steadily: 500 MB"), (5e8, 5e8, pd.NA, pd.NA, "needs three steps"),
    ],
)  # fmt: skip
def test_growth_in_words(first: float, last: float, slope: float, grows: bool, words: str) -> None:
    row = {"steps": 4, "first_bytes": first, "last_bytes": last, "slope_bytes": slope, "grows": grows}
    assert words in describe_trend(pd.Series(row | {"low_bytes": slope, "high_bytes": slope}))

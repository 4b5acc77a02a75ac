"""Pages of a memory snapshot: memory by stack and by line, and the segments of the allocator."""

import pickle
from pathlib import Path

import pytest

from app.page_list import VIEWS, View, get_view
from profiledb.library.library import Library
from profiledb.studies.summary import document
from tests.app.conftest import Dashboard
from tests.conftest import Once, copy_data, ingest_files
from tests.ingest.snapshot.test_snapshots import snapshot
from tests.support.every_report import slow_but


def fill(folder: Path) -> None:
    path = folder / "run.pickle"
    path.write_bytes(pickle.dumps(snapshot()))
    ingest_files(folder, [path])


@pytest.mark.parametrize(
    "view",
    slow_but([get_view("kernels")], VIEWS, "draws every page"),
    ids=lambda view: view.url,
)
def test_every_page_opens(dashboard: Dashboard, empty: Path, once: Once, view: View) -> None:
    copy_data(once("snapshot", fill), empty)
    (report,) = Library(empty / "library").list()
    at = dashboard(view.url, report=report.id)
    assert (list(at.exception), list(at.error)) == ([], [])


def test_memory_tells(dashboard: Dashboard, empty: Path, once: Once) -> None:
    copy_data(once("snapshot", fill), empty)
    (report,) = Library(empty / "library").list()
    at = dashboard("memory", report=report.id, tensors_by="Stack")
    assert (list(at.exception), list(at.error)) == ([], [])
    assert [element.value for element in at.subheader] == ["Tensor memory", "Allocator segments"]
    assert {metric.label: metric.value for metric in at.metric}["Peak"] == "600 B"
    assert any("still applies to memory of tensors" in caption.value for caption in at.caption)
    assert "Launched by" not in [choice.label for choice in at.segmented_control], "it knows no launches"
    peak = next(table.value for table in at.dataframe if "tensors" in table.value)
    assert any("train.py(7): loss" in name for name in peak["name"])


def test_the_summary_tells_memory_and_asks_for_no_kernels(dashboard: Dashboard, empty: Path, once: Once) -> None:
    """By hand: 600 B at the peak, 500 of them in `loss`; 100 B at the start, 400 at the end; half of 2 KB free."""
    copy_data(once("snapshot", fill), empty)
    (report,) = Library(empty / "library").list()
    at = dashboard("summary", report=report.id)
    said = "\n".join(element.value for element in at.markdown)
    assert "**Tensors hold 600 B at the peak on GPU 0**. By what allocated it: `train.py(7): loss` 83.3 %" in said
    assert "**Memory grows by 300 B on GPU 0**, from 100 B at the start of the capture to 400 B at its end." in said
    assert "Not released: `train.py(7): loss` 300 B." in said
    assert "**The allocator holds 2.05 KB on GPU 0, of which 1.02 KB is free**" in said
    assert "CUDA kernels" not in said
    assert [one.value for one in at.subheader][:2] == ["What holds memory at the peak", "Largest allocations"]
    largest = next(one.value for one in at.dataframe if "stack" in one.value)
    assert list(largest["bytes"]) == [300, 200, 100, 50]
    text = document.write_summary(Library(empty / "library"), report, {})
    assert "used the CPU alone" not in text
    assert "warpdeck profile" not in text
    assert "| GPU 0 | 300 B | 1.00 µs | not in the capture | `functional.py(9): relu < train.py(7): loss` |" in text
    assert "| GPU 0 | `train.py(7): loss` | 300 B | 500 B | 2 |" in text, "what grew"
    assert "| GPU 0 | 2.05 KB | 400 B | 624 B | 1.02 KB | 1.02 KB | 0.0 % | 0 B |" in text, "fragmentation"

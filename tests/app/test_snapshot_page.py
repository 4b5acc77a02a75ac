"""A memory snapshot on the pages: memory by stack and by line, and the segments of the allocator."""

import pickle
from pathlib import Path

from app.pages import VIEWS
from profiledb.report.library import Library
from tests.app.conftest import Dashboard
from tests.conftest import Once, copy_data, ingest_files
from tests.ingest.snapshot.test_snapshots import snapshot


def test_every_page_opens_and_memory_tells(dashboard: Dashboard, empty: Path, once: Once) -> None:
    def fill(folder: Path) -> None:
        path = folder / "run.pickle"
        path.write_bytes(pickle.dumps(snapshot()))
        ingest_files(folder, [path])

    copy_data(once("snapshot", fill), empty)
    (report,) = Library(empty / "library").list()
    for view in VIEWS:
        at = dashboard(view.url, report=report.id)
        assert (view.url, list(at.exception), list(at.error)) == (view.url, [], [])
    at = dashboard("memory", report=report.id, tensors_by="Stack")
    assert [element.value for element in at.subheader] == ["Tensor memory", "Allocator segments"]
    assert {metric.label: metric.value for metric in at.metric}["Peak"] == "600 B"
    assert any("still applies to memory of tensors" in caption.value for caption in at.caption)
    assert "Count launches from" not in [choice.label for choice in at.segmented_control], "it knows no launches"
    peak = next(table.value for table in at.dataframe if "tensors" in table.value)
    assert any("train.py(7): loss" in name for name in peak["name"])

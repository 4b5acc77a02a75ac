"""The page "Call paths" and the Summary of a profile that has sums but no times."""

import shutil
from pathlib import Path

from streamlit.testing.v1 import AppTest

from app import page_list, session
from profiledb.library.library import Library
from tests.app.conftest import Dashboard
from tests.conftest import ingest_files
from tests.ingest.proton.test_proton import OURS


def words(at: AppTest) -> str:
    return "\n".join(str(one.value) for kind in (at.caption, at.markdown, at.subheader) for one in kind)


def test_kernels_and_paths(dashboard: Dashboard, data: Path, tmp_path: Path) -> None:
    ingest_files(tmp_path, [OURS])
    made = Library(tmp_path / "library")
    (report,) = made.list()
    library = Library(data / "library")
    shutil.copy(made.path(report.id), tmp_path / "copy.duckdb")
    library.publish(tmp_path / "copy.duckdb", report)
    at = dashboard("call_paths", report=report.id)
    assert not at.exception
    kernels, paths = (one.value for one in at.dataframe[:2])
    assert kernels["calls"].tolist() == [5, 5]
    assert int(kernels["total_ns"].sum()) == 380553
    assert len(paths) == 25
    assert "when a launch ran" in words(at)
    at = dashboard("summary", report=report.id)
    assert not at.exception
    assert "Kernels take 381 µs in 10 launches" in words(at)
    assert not at.number_input, "no times to choose"
    lacks = "sums of launches and no times"
    assert all(lacks in words(dashboard(page, report=report.id)) for page in ("summary", "findings", "what_if"))
    assert {"timeline", "kernels", "idle", "ranges"} <= {
        view.url for view in page_list.VIEWS if not view.across and view.find_lack(report, session)
    }, "pages of times have nothing to show"

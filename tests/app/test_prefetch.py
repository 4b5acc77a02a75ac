"""The pages of a prepared report open without computing anything."""

from pathlib import Path
from typing import Any

import pytest

from app import page_list, session
from profiledb.library.library import Library
from profiledb.query import analysis, answer_store, request
from profiledb.selection import model
from profiledb.studies import prefetch
from tests.app.conftest import Dashboard, at_page
from tests.conftest import SAMPLES, ingest_files

PREPARED = ("summary", "kernels", "roofline_by_time", "idle", "ranges", "operators", "phases", "memory", "api", "host")


def list_prepared_sources(library: Library, report_id: str) -> set[str]:
    """The sources of samples of which the call tree is stored: pages ask only for those that the report has."""
    parts = [model.to_params(model.get_default(warmup=warmup)) for warmup in (False, True)]
    asked = {
        source: [request.build(library, report_id, "cpu_tree", {**part, "source": source}) for part in parts]
        for source in ("cpu", "python")
    }
    return {name for name, every in asked.items() if any(answer_store.read(library, one) is not None for one in every)}


def note_worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the analyses that are worked out from now on."""
    worked: list[str] = []
    answered = analysis.read_rows

    def rows(library: Library, asked: request.Request) -> Any:
        found = answered(library, asked)  # what the report lacks is told each time, and costs nothing
        worked.append(f"{asked.analysis.name} {dict(asked.values)} {asked.selection}")
        return found

    monkeypatch.setattr(analysis, "read_rows", rows)
    return worked


@pytest.mark.parametrize(
    "name",
    [
        "transformer_training.sqlite",
        pytest.param("launches_graph.sqlite", marks=pytest.mark.slow("prepares another report")),
    ],
)
def test_pages_of_a_prepared_report_work_nothing_out(
    name: str, tmp_path: Path, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_files(tmp_path, [SAMPLES / name])
    library = Library(tmp_path / "library")
    (report,) = library.list()
    prefetch.prepare(library, report.id)
    assert list_prepared_sources(library, report.id) == ({"cpu"} if "cpu_sample" in report.rows else set())
    for variable, folder in (("DATA", tmp_path), ("INBOX", tmp_path / "inbox"), ("LIBRARY", library.folder)):
        monkeypatch.setenv(f"WARPDECK_{variable}", str(folder))
    worked = note_worked_out(monkeypatch)
    at = dashboard("summary", report=report.id)
    for page in PREPARED:
        if not page_list.get_view(page).find_lack(report, session):
            at_page(at, page).run()
            assert not at.exception, page
            assert not worked, page
    session.run_whole(report.id, "selection_summary", from_ns=1)
    assert worked, "what nobody has asked before is worked out"


@pytest.mark.slow("prepares a whole report for one page")
def test_scaling_asks_what_the_summary_for_lists_has_asked(
    tmp_path: Path, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_files(tmp_path, [SAMPLES / "transformer_training.sqlite"])
    library = Library(tmp_path / "library")
    (report,) = library.list()
    prefetch.prepare_all(library, report.id)
    for variable, folder in (("DATA", tmp_path), ("INBOX", tmp_path / "inbox"), ("LIBRARY", library.folder)):
        monkeypatch.setenv(f"WARPDECK_{variable}", str(folder))
    worked = note_worked_out(monkeypatch)
    at = dashboard("scaling", report=report.id)
    assert not at.exception
    assert [one.split()[0] for one in worked] == ["nccl_sum"], "its own sum of collectives alone"

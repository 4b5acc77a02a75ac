"""The preview of a report, beside the complete report of the same export."""

from pathlib import Path

import pandas as pd
import pytest

from profiledb.errors import PreparingError, WarpdeckError
from profiledb.library.library import Library
from profiledb.query import analysis, header
from profiledb.report import damage, preview, schema
from profiledb.rules import classes
from profiledb.timeline.store import Timelines
from tests.support.every_report import slow_but
from tests.support.previews import publish_both

AT_ONCE = {"kernels", "kernel_totals", "class_split", "copies", "cuda_gpu_kern_sum", "busy_timeline", "cuda_gpu_trace"}
LATER = {"nvtx_sum", "cuda_api_sum", "launch_times", "gpu_busy", "idle_gaps", "diagnostics", "kernel_verdicts"}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Library, Library]:
    return publish_both(tmp_path_factory.mktemp("preview"))


def answer(library: Library, name: str) -> pd.DataFrame | WarpdeckError:
    try:
        return analysis.run(library, library.list()[0].id, name)
    except WarpdeckError as error:
        return error


@pytest.mark.parametrize("name", slow_but(AT_ONCE | LATER, header.list_analyses(), "every analysis of two reports"))
def test_a_preview_answers_as_the_complete_report_or_says_that_it_is_being_prepared(
    both: tuple[Library, Library], name: str
) -> None:
    early, late = (answer(library, name) for library in both)
    assert isinstance(early, PreparingError) or name not in LATER
    if isinstance(early, PreparingError):
        assert early.message == "run is being prepared."
        assert name not in AT_ONCE
    elif isinstance(early, WarpdeckError):
        assert (type(early), early.message) == (type(late), getattr(late, "message", ""))
    else:
        assert isinstance(late, pd.DataFrame)
        later = ["converter"] if name == "report_facts" else []
        pd.testing.assert_frame_equal(early.drop(columns=later), late.drop(columns=later))


def test_no_table_of_a_preview_is_empty_because_it_comes_later(both: tuple[Library, Library]) -> None:
    early, late = (library.list()[0] for library in both)
    for asked in ("SELECT count(*) FROM range", "SELECT count(*) FROM kernel WHERE call_id IS NULL"):
        with pytest.raises(PreparingError), both[0].cursor(early.id) as cursor:
            cursor.execute(asked).fetchall()
    assert early.rows == {name: late.rows[name] for name in preview.FILLED if name in late.rows}
    with damage.attach(both[0].path(early.id)) as db:
        found = db.execute("SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = 'looked_at'")
        columns = set(found.fetchall())
    assert all(
        (table.name, column.name) in columns for table in schema.read_tables().values() for column in table.columns
    )


def test_a_preview_is_told_from_a_report(both: tuple[Library, Library]) -> None:
    early, late = (library.path(library.list()[0].id) for library in both)
    assert preview.is_preview(early)
    assert damage.can_open(early)
    assert not preview.is_preview(late)


def test_the_timeline_of_a_preview_has_its_streams_and_no_empty_lanes(both: tuple[Library, Library]) -> None:
    kinds = []
    for library in both:
        report_id = library.list()[0].id
        opened = Timelines(library, classes.load(None)).wait(report_id)
        kinds.append({lane.kind: lane.events for lane in opened.lanes if lane.kind == "stream"})
        if library is both[0]:
            assert {lane.kind for lane in opened.lanes if lane.events} <= {"stream", "nccl"}
    assert kinds[0] == kinds[1] != {}


def test_a_command_does_not_wait_for_a_report_that_nobody_prepares(both: tuple[Library, Library]) -> None:
    library = Library(both[0].folder)
    assert library.find("run").preparing
    library.waits = True
    with pytest.raises(PreparingError) as error:
        library.find("run")
    assert error.value.hint == "Nothing imports files now. Start Warpdeck, and it is converted again."


def test_a_preview_whose_conversion_has_ended_leaves_the_list_and_its_label_stays(
    both: tuple[Library, Library], tmp_path: Path
) -> None:
    early, _ = publish_both(tmp_path)
    report_id = early.list()[0].id
    early.catalog.set_labels(report_id, ["mine"])
    early.recover()
    assert early.list() == []
    assert not early.path(report_id).exists()
    late = both[1].list()[0]
    assert late.id == report_id
    work = tmp_path / "complete.duckdb"
    work.write_bytes(both[1].path(late.id).read_bytes())
    early.publish(work, late)
    assert early.catalog.labels() == {report_id: ["mine"]}

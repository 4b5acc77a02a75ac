"""Answers on disk: the same rows, only for this report and code, and never more than fits."""

import os
from pathlib import Path

import duckdb
import pytest

from profiledb.errors import DamagedError
from profiledb.library.library import Library
from profiledb.query import analysis, answer_store, request
from profiledb.query.request import Request
from profiledb.report.derived_files import DerivedFiles
from tests.support.every_report import slow_but
from tests.support.page_reports import Publish, insert, kernel, name


def fill(db: duckdb.DuckDBPyConnection) -> None:
    insert(db, "kernel_name", [name(1, "f"), name(2, "g")])
    insert(db, "kernel", [kernel(1, 1, 0, 9), kernel(2, 2, 10, 30)])


@pytest.fixture
def report_id(publish: Publish) -> str:
    return publish(fill)


def keep(library: Library, report_id: str, analysis_name: str = "kernels", limit: int | None = None) -> Path:
    """Has an answer kept, and tells where."""
    params = {} if limit is None else {"limit": limit}
    answer_store.run(library, report_id, analysis_name, params)
    path = answer_store.find_path(library, request.build(library, report_id, analysis_name, params))
    assert path
    assert path.exists()
    return path


def asked(library: Library, report_id: str) -> Request:
    return request.build(library, report_id, "kernels")


def test_what_is_kept_is_what_was_answered(library: Library, report_id: str) -> None:
    fresh = analysis.run(library, report_id, "kernels")
    assert answer_store.read(library, asked(library, report_id)) is None
    assert answer_store.run(library, report_id, "kernels").equals(fresh)
    again = answer_store.read(Library(library.folder), asked(library, report_id))
    assert again is not None
    rows = analysis.convert_frame(again)
    assert rows.equals(fresh)
    assert list(rows.dtypes) == list(fresh.dtypes)


@pytest.mark.parametrize(
    "damage", slow_but(["cut", "changed"], ["cut", "changed", "emptied", "replaced"], "more damage")
)
def test_a_damaged_file_counts_as_none_and_is_written_anew(library: Library, report_id: str, damage: str) -> None:
    path = keep(library, report_id)
    whole = path.read_bytes()
    turned = whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:]
    path.write_bytes({"cut": whole[:-9], "changed": turned, "emptied": b"", "replaced": b"\x00" * 500}[damage])
    assert answer_store.read(library, asked(library, report_id)) is None
    assert answer_store.run(library, report_id, "kernels").equals(analysis.run(library, report_id, "kernels"))
    assert path.read_bytes() == whole


def test_other_code_asks_for_other_files(library: Library, report_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keep(library, report_id)
    monkeypatch.setattr(answer_store, "hash_code", lambda: "later")
    assert answer_store.find_path(library, asked(library, report_id)) != before
    monkeypatch.undo()
    monkeypatch.setattr(request, "hash_analysis", lambda _: "another text of the SQL")
    assert answer_store.find_path(library, asked(library, report_id)) != before
    assert answer_store.read(library, asked(library, report_id)) is None


def test_the_code_that_counts_is_there() -> None:
    package = Path(answer_store.__file__).parents[1]
    found = {path for folder in answer_store._CODE for path, _ in answer_store._read_texts(package / folder, folder)}
    assert {"selection/apply.py", "selection/views.py", "rules/phases.toml", "report/report_pair.py"} <= found
    assert any(path.startswith("analyses/") and "/once/" in path for path in found)
    assert "analyses/kernels/kernels.sql" not in found  # its text is in the key of the request


def test_a_report_that_is_gone_or_damaged_answers_nothing(library: Library, report_id: str) -> None:
    path = keep(library, report_id)
    database = library.path(report_id)
    state = database.stat()
    library._attached.close(report_id)
    database.write_bytes(b"nothing" * 100)
    os.utime(database, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert answer_store.find_path(library, asked(library, report_id)) == path, "it would be found"
    with pytest.raises(DamagedError):
        answer_store.run(library, report_id, "kernels")
    library.delete(report_id)
    assert answer_store.find_path(library, asked(library, report_id)) is None
    assert not path.exists()


def test_a_report_taken_in_again_is_another_one(library: Library, publish: Publish) -> None:
    report_id = publish(fill)
    before = answer_store.run(library, report_id, "kernels")
    library.delete(report_id)

    def fewer(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "kernel_name", [name(1, "f")])
        insert(db, "kernel", [kernel(1, 1, 0, 5)])

    assert publish(fewer) == report_id
    assert len(answer_store.run(library, report_id, "kernels")) == 1 < len(before)


def test_the_folder_is_bounded_and_what_was_read_last_stays(library: Library, report_id: str) -> None:
    paths = [keep(library, report_id, limit=limit) for limit in range(1, 11)]
    for age, path in enumerate(reversed(paths)):
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    answer_store.run(library, report_id, "kernels", {"limit": 1})  # the oldest is read
    DerivedFiles(library.folder).make_room(0, 5 * paths[0].stat().st_size)
    left = [path for path in paths if path.exists()]
    assert sum(path.stat().st_size for path in left) <= 5 * paths[0].stat().st_size
    assert paths[0] in left
    assert left[1:] == paths[-len(left) + 1 :]


def test_no_room_keeps_nothing(library: Library, report_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPDECK_ANSWERS_MB", "0")
    assert len(answer_store.run(library, report_id, "kernels")) == 2
    assert not library.derived.answers.exists()


def test_a_folder_that_cannot_be_written_stops_no_answer(library: Library, report_id: str) -> None:
    library.derived.answers.parent.mkdir(exist_ok=True)
    library.derived.answers.write_text("a file stands in its place")
    assert len(answer_store.run(library, report_id, "kernels")) == 2


def test_names_that_lead_elsewhere_are_no_reports(library: Library, report_id: str) -> None:
    made = asked(library, report_id)
    strange = Request("../reports", made.analysis, made.values, made.selection, None)
    assert answer_store.find_path(library, strange) is None

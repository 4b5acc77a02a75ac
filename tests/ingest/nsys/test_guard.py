"""The row guard reports the rows that the report lacks: all of them with a faulty reader, none with a sound one."""

from pathlib import Path

import pytest

from ingest.nsys import load, openmp, row_guard
from ingest.nsys.attach import list_wanted_columns
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report.schema import read_sql
from tests.conftest import SAMPLES, ingest_files
from tests.support import exports
from tests.support.exports import MAIN, PID, kernel, kernels

COPY = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes", "copyKind")
MEMSET = (
    "start",
    "end",
    "deviceId",
    "contextId",
    "streamId",
    "correlationId",
    "globalPid",
    "bytes",
    "memKind",
    "value",
)
CALL = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")


def made(path: Path) -> Path:
    copies = [(n, n + 5, 0, 1, 7, n, PID, 100, kind) for n, kind in ((10, 1), (20, 2), (30, 77))]
    sets = [(n, n + 5, 0, 1, 7, n, PID, 100, 2, 0) for n in (40, 50)]
    return exports.write(
        path,
        {
            **kernels(kernel(10, 20), kernel(30, 25)),
            "CUPTI_ACTIVITY_KIND_MEMCPY": (COPY, copies),
            "CUPTI_ACTIVITY_KIND_MEMSET": (MEMSET, sets),
            "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, [(1, 2, MAIN, 1, 1, 0, 0)]),
        },
    )


def told(tmp_path: Path) -> list[str]:
    with exports.loaded(tmp_path / "made.duckdb", made(tmp_path / "made.sqlite")) as db:
        return [text for (text,) in db.execute("SELECT text FROM diagnostic WHERE source = 'warpdeck'").fetchall()]


def test_a_rejected_row_is_no_missing_one(tmp_path: Path) -> None:
    assert told(tmp_path) == ["1 rows of kernel have impossible times and are excluded everywhere."]


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("FROM src.CUPTI_ACTIVITY_KIND_MEMSET;", "FROM src.CUPTI_ACTIVITY_KIND_MEMSET WHERE bytes > 100;", "2 of them"),
        ("LEFT JOIN enumeration AS e ON", "JOIN enumeration AS e ON", "1 of them"),
    ],
)
def test_a_reader_that_loses_rows_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str, says: str
) -> None:
    def read(name: str, package: str) -> str:
        text = read_sql(name, package)
        assert name != "stage.sql" or right in text
        return text.replace(right, wrong)

    monkeypatch.setattr(load, "read_sql", read)
    (missing,) = [text for text in told(tmp_path) if "fault of Warpdeck" in text]
    assert missing.startswith("The export has 5 rows in CUPTI_ACTIVITY_KIND_MEMCPY and CUPTI_ACTIVITY_KIND_MEMSET")
    assert f"{says} are missing" in missing


def test_openmp_events_that_are_lost_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ("start", "end", "eventClass", "globalTid", "nameId", "eventKind")
    events = {
        f"OPENMP_EVENT_KIND_{kind}": (columns, [(10, 90, 78, MAIN, 1, 1), (at, 95, 78, MAIN, 1, 1)])
        for kind, at in (("TASK", 20), ("PARALLEL", 97))  # the last one has an impossible time
    }
    export = exports.write(tmp_path / "made.sqlite", {**kernels(kernel(10, 20)), **events})

    def faults(name: str) -> list[str]:
        with exports.loaded(tmp_path / name, export) as db:
            found = db.execute("SELECT text FROM diagnostic WHERE source = 'warpdeck'").fetchall()
        return [text for (text,) in found if "fault of Warpdeck" in text]

    assert faults("whole.duckdb") == []
    monkeypatch.setattr(openmp, "TABLES", {"OPENMP_EVENT_KIND_PARALLEL": openmp.TABLES["OPENMP_EVENT_KIND_PARALLEL"]})
    (told,) = faults("half.duckdb")
    assert told.startswith("The export has 4 rows in OPENMP_EVENT_KIND_PARALLEL and OPENMP_EVENT_KIND_TASK")
    assert "2 of them are missing" in told


def test_a_copy_of_an_unknown_kind_is_there_without_a_name(tmp_path: Path) -> None:
    with exports.loaded(tmp_path / "made.duckdb", made(tmp_path / "made.sqlite")) as db:
        names = db.execute("SELECT operation FROM memop WHERE kind = 'memcpy' ORDER BY start_ns").fetchall()
    assert [name for (name,) in names] == ["[CUDA memcpy Host-to-Device]", "[CUDA memcpy Device-to-Host]", None]


def test_tables_of_operations_are_those_that_are_read() -> None:
    assert {source for sources in row_guard.TABLES.values() for source in sources} <= list_wanted_columns().keys()


def lacking(library: Library) -> list[str]:
    """The reports of a library that lack rows."""
    texts = {one.name: analysis.run(library, one.id, "diagnostics", {})["text"].astype(str) for one in library.list()}
    assert texts
    return [name for name, column in texts.items() if column.str.contains("fault of Warpdeck").any()]


@pytest.mark.integration
def test_a_sample_lacks_no_row(tmp_path: Path) -> None:
    ingest_files(tmp_path, [SAMPLES / f"transformer_training.{ending}" for ending in ("nsys-rep", "sqlite")])
    assert lacking(Library(tmp_path / "library")) == []


@pytest.mark.integration
@pytest.mark.slow("asks every report there is")
def test_no_report_lacks_a_row(every_report: Library) -> None:
    assert lacking(every_report) == []

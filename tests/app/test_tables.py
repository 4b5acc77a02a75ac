"""MPI, OpenACC and unified memory; test_parity.py compares them with nsys."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query import analysis, views
from tests.conftest import CORPUS, Ingest
from tests.support import exports
from tests.support.every_report import slow_but
from tests.support.exports import MAIN, OTHER, PID

RECORDS = {"mpi_event_trace": "mpi", "openacc_sum": "openacc", "um_total_sum": "faults"}


@pytest.mark.parametrize("name", slow_but(["um_total_sum"], RECORDS, "takes the same file in again"))
def test_a_report_without_the_data_tells_the_command(
    ingest: Ingest, inbox: Path, empty_library: Library, name: str
) -> None:
    exports.write(inbox / "made.sqlite", exports.kernels(exports.kernel(1, 2)))
    assert ingest(inbox, empty_library.folder).status == 0
    with pytest.raises(NotCapturedError, match=r"No .* in this report") as raised:
        analysis.run(empty_library, empty_library.find("made.sqlite").id, name)
    assert f"warpdeck profile --with {RECORDS[name]} -- PROGRAM" in raised.value.hint


def test_impossible_times_are_left_out_and_open_calls_kept(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """The headers of these analyses state this difference from nsys."""
    copies = ("start", "end", "globalPid", "bytes", "copyKind", "virtualAddress")
    faults = ("start", "end", "globalPid", "deviceId", "address", "numberOfPageFaults", "faultAccessType")
    exports.write(
        inbox / "made.sqlite",
        {
            "MPI_OTHER_EVENTS": (
                ("start", "end", "globalTid", "textId"),
                [(5, None, MAIN, 1), (9, 8, MAIN, 2), (9, 9, OTHER, 3)],
            ),
            "CUPTI_ACTIVITY_KIND_OPENACC_OTHER": (
                ("start", "end", "nameId", "lineNo", "srcFile"),
                [(1, 5, 1, 7, 2), (5, 1, 1, 7, 2), (1, None, 1, 7, 2)],
            ),
            "CUPTI_ACTIVITY_KIND_MEMCPY": (
                copies,
                [(1, 2, PID, 1000, 11, 4096), (2, 1, PID, 7000, 11, 1), (1, 2, PID, 2000, 12, 8192)],
            ),
            "CUDA_UM_CPU_PAGE_FAULT_EVENTS": (("start", "globalPid", "address"), [(1, PID, -4096)]),
            "CUDA_UM_GPU_PAGE_FAULT_EVENTS": (
                faults,
                [(1, 2, PID, 0, 12288, 5, 1), (2, 1, PID, 0, 0, 50, 1)],
            ),
        },
    )
    assert ingest(inbox, empty_library.folder).status == 0
    report = empty_library.find("made.sqlite").id
    calls = analysis.run(empty_library, report, "mpi_event_trace")
    assert calls["Event"].tolist() == ["one", "three"]
    assert calls["Duration (ns)"].isna().tolist() == [True, False]
    assert calls["Rank"].isna().all()
    events = analysis.run(empty_library, report, "openacc_sum")
    assert events[["Name", "Total Time (ns)", "Num Calls"]].to_numpy().tolist() == [["one@two:7", 4, 1]]
    (totals,) = analysis.run(empty_library, report, "um_total_sum").to_numpy().tolist()
    assert totals == [0.001, 0.002, 1, 5, "0x1000", "0xFFFFFFFFFFFFF000"]


THEIRS = (
    "start, end, globalTid, nameId, eventKind, DeviceType, lineNo, srcFile, funcName, "
    "cuDeviceId, cuContextId, cuStreamId"
)
OURS = (
    "start_ns, end_ns, global_tid, name_id, event_kind, device_type, line, source_id, function_id, "
    "device_id, context_id, stream_id"
)
OPENACC_CELLS = {
    "DATA": ("bytes, varName", "bytes, variable_id"),
    "LAUNCH": ("numGangs, numWorkers, vectorLength, kernelName", "gangs, workers, vector_length, kernel_name_id"),
    "OTHER": ("NULL", "coalesce(bytes, variable_id, gangs, workers, vector_length, kernel_name_id)"),
}
"""Columns of the export and of openacc_event that hold the same."""


@pytest.mark.slow("reads every cell of an export that nsys makes first")
@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
def test_every_cell_is_in_its_table_or_in_raw(edited: tuple[Path, Library]) -> None:
    folder, library = edited
    path = folder / "everything.sqlite"
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as export,
        library.cursor(library.find(path.name).id, views=views.list_all()) as db,
    ):

        def rows(sql: str) -> list[tuple[object, ...]]:
            found: list[tuple[object, ...]] = db.execute(sql).fetchall()
            assert found
            return found

        for kind, (theirs, mine) in OPENACC_CELLS.items():
            wanted = f"SELECT {THEIRS}, {theirs} FROM CUPTI_ACTIVITY_KIND_OPENACC_{kind} ORDER BY rowid"
            found = f"SELECT {OURS}, {mine} FROM openacc_event WHERE kind = '{kind.lower()}' ORDER BY event_id"
            assert rows(found) == export.execute(wanted).fetchall(), kind
        for kind in ("CPU", "GPU"):
            wanted = f"SELECT rowid, * FROM CUDA_UM_{kind}_PAGE_FAULT_EVENTS ORDER BY rowid"
            assert rows(f"FROM um_{kind.lower()}_page_fault ORDER BY fault_id") == export.execute(wanted).fetchall()
        assert rows('SELECT "requestHandle" FROM raw."MPI_P2P_EVENTS" ORDER BY row_id') == [(2,), (2,), (2,), (None,)]
        threads = {tid for (tid,) in rows("SELECT global_tid FROM thread")}
        assert {MAIN, OTHER, MAIN + 7, MAIN + (1 << 24)} <= threads

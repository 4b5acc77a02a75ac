"""MPI, OpenACC and unified memory against nsys cell by cell: see test_parity.py."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from profiledb import analysis
from profiledb.errors import NotCapturedError
from profiledb.library import Library
from tests import exports, oracle
from tests.conftest import CORPUS, Ingest, run_ingest
from tests.exports import MAIN, OTHER, PID
from tests.test_parity import READABLE, ours, sqlite_export

__all__ = ["sqlite_export"]  # fixture

STATS = ("mpi_event_trace", "openacc_sum", "um_total_sum")
FLAGS = {
    "mpi_event_trace": ("--trace=cuda,nvtx,osrt,mpi",),
    "openacc_sum": ("--trace=cuda,openacc",),
    "um_total_sum": ("--cuda-um-cpu-page-faults=true", "--cuda-um-gpu-page-faults=true"),
}

# The tables as nsys 2023.4 declares them; an export has those that have rows.
RANKS = "CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);"
P2P = """CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER,
    commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER, requestHandle INTEGER);"""
COLLECTIVES = """CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,
    textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER, requestHandle INTEGER);"""
WAITS = """CREATE TABLE MPI_START_WAIT_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER,
    requestHandle INTEGER);"""
OTHERS = "CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER, textId INTEGER);"
CPU_FAULTS = """CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
    address INTEGER NOT NULL, originalFaultPc INTEGER, CpuInstruction INTEGER NOT NULL, module INTEGER NOT NULL,
    unresolvedFaultPc INTEGER);"""
GPU_FAULTS = """CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL,
    globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, address INTEGER NOT NULL,
    numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL);"""
NAMES = """INSERT INTO StringIds (id, value) VALUES (900001, 'MPI_Send'), (900002, 'MPI_Allreduce'),
    (900003, 'MPI_Wait'), (900004, 'MPI_Init'), (900005, 'Wait'), (900006, 'twin b'), (900007, 'Twin'),
    (900008, 'twin a'), (900009, 'twin a'), (900010, 'a.f90');"""

# Calls of four kinds that start together in two processes, without an end, thread, name, size or rank, and large ones.
MPI = f"""
{RANKS} {P2P} {COLLECTIVES} {WAITS} {OTHERS}
INSERT INTO MPI_RANKS VALUES ({MAIN}, 3), ({OTHER}, 0), ({MAIN + (1 << 24)}, 1);
INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (500, 900, {MAIN}, 900002, -2080374784, NULL, 4096, 8192, NULL),
    (500, 800, {OTHER}, 900002, 1, 0, NULL, NULL, 4), (50, 60, {MAIN}, NULL, 1, 2, 0, 12345678901, 1);
INSERT INTO MPI_OTHER_EVENTS VALUES (500, 500, {MAIN}, 900004), (10, NULL, {MAIN + 7}, 900004), (500, NULL, {OTHER}, 1);
INSERT INTO MPI_START_WAIT_EVENTS VALUES (500, 501, {MAIN}, 900003, 5), (500, 501, NULL, 999999, 5),
    (7, NULL, {MAIN}, 900003, NULL);
INSERT INTO MPI_P2P_EVENTS VALUES (500, 700, {MAIN}, 900001, 1, 7, 1, 1048576, 2),
    (500, 600, {MAIN + (1 << 24)}, 900001, 1, NULL, -1, NULL, 2), (400, 600, {OTHER}, 900001, 1, -1, -2, 0, 2),
    (300, NULL, {OTHER}, 900001, NULL, 2147483647, NULL, 499, NULL);
"""
ONE_KIND_OF_MPI = f"{RANKS} {OTHERS} INSERT INTO MPI_OTHER_EVENTS VALUES (5, 9, {MAIN}, 900004);"

# Events of three kinds with equal totals, names with two ids, no source, and a source or name without a text.
OPENACC_COLUMNS = "start, end, nameId, eventKind, DeviceType, lineNo, cuDeviceId, cuContextId, cuStreamId, srcFile"
OPENACC = "".join(
    f"""
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_{kind} ({OPENACC_COLUMNS})
    SELECT start, start + 1000, name.column1, 1, 4, 12, 0, 1, 7, name.column2
    FROM CUPTI_ACTIVITY_KIND_OPENACC_{kind}, (
        VALUES (900006, 900010), (900007, 900010), (900008, 900010), (900009, 900010), (900005, NULL), (900007, NULL),
            (900008, 999999), (999998, 900010)
    ) AS name WHERE CUPTI_ACTIVITY_KIND_OPENACC_{kind}.rowid <= {rows};
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_{kind} ({OPENACC_COLUMNS}) VALUES
        (5, 5, 900003, 1, 4, {rows}, 0, 1, 7, 900010), (5, 9000000000, 900004, 1, 4, {rows}, 0, 1, 7, 900010);
    """
    for kind, rows in (("DATA", 3), ("LAUNCH", 2), ("OTHER", 4))
)

UNIFIED = f"""
{CPU_FAULTS} {GPU_FAULTS}
INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (100, {PID}, 140000000000000, 1, 1, 1, 0),
    (100, {PID}, 140000000004096, NULL, 1, 1, 1), (90, {PID}, 140000000000000, 1, 1, 1, NULL);
INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (100, 200, {PID}, 0, 139999999000000, 17, 1),
    (100, 100, {PID}, 1, 150000000000000, 25, 2);
UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 11, virtualAddress = 130000000000000 + rowid WHERE rowid < 10;
UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 12, virtualAddress = 160000000000000 + rowid
WHERE rowid BETWEEN 10 AND 15;
UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET virtualAddress = NULL WHERE rowid = 10;
UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET virtualAddress = 1 WHERE rowid > 20;
"""

EDITS = {
    "everything": NAMES + MPI + OPENACC + UNIFIED,
    "one kind of each": f"""
        {NAMES} {ONE_KIND_OF_MPI} {UNIFIED}
        DROP TABLE CUPTI_ACTIVITY_KIND_OPENACC_DATA; DROP TABLE CUPTI_ACTIVITY_KIND_OPENACC_OTHER;
        UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 1 WHERE copyKind = 12;
    """,
    "addresses missing": UNIFIED + "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET virtualAddress = NULL WHERE copyKind = 11;",
    "faults of the CPU only": UNIFIED + "DROP TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS;",
    "faults of GPUs only": UNIFIED + "DROP TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS;",
    "no copies": UNIFIED + "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE IF EXISTS CUPTI_ACTIVITY_KIND_MEMSET;",
}
ANSWERED = {
    "everything": set(STATS),
    "one kind of each": set(STATS),
    "addresses missing": {"openacc_sum", "um_total_sum"},
    "faults of the CPU only": {"openacc_sum"},
    "faults of GPUs only": {"openacc_sum"},
    "no copies": {"openacc_sum"},
}


@pytest.fixture(scope="module")
def edited(
    sqlite_export: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Path], Library]:
    """An export for each of the edits, and a library that holds them all."""
    folder = tmp_path_factory.mktemp("edited")
    inbox = folder / "inbox"
    inbox.mkdir()
    made = {edit: inbox / f"{edit.replace(' ', '_')}.sqlite" for edit in EDITS}
    for edit, script in EDITS.items():
        shutil.copyfile(sqlite_export("openacc_v100.nsys-rep"), made[edit])
        with closing(sqlite3.connect(made[edit])) as db:
            db.executescript(script)
    assert run_ingest(inbox, folder / "library").status == 0
    return made, Library(folder / "library")


@pytest.mark.nsight
@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
@pytest.mark.parametrize("report", READABLE)
def test_equals_the_installed_nsys(
    every_report: Library,
    nsys: Path,
    sqlite_export: Callable[[str], Path],
    report: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    export = sqlite_export(report)
    for name in STATS:
        expected = oracle.stats(nsys, export, name)
        assert bool(expected) == ((report, name) == ("openacc_v100.nsys-rep", "openacc_sum")), name
        assert oracle.differences(expected, ours(every_report, report, capsys, name)) == [], name


@pytest.mark.nsight
@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
@pytest.mark.parametrize("edit", EDITS)
def test_equals_the_installed_nsys_on_rare_data(
    edited: tuple[dict[str, Path], Library], nsys: Path, edit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made, library = edited
    for name in STATS:
        expected = oracle.stats(nsys, made[edit], name)
        assert bool(expected) == (name in ANSWERED[edit]), name
        assert oracle.differences(expected, ours(library, made[edit].name, capsys, name)) == [], name


@pytest.mark.parametrize("name", STATS)
def test_a_report_without_the_data_tells_the_flag(
    ingest: Ingest, inbox: Path, empty_library: Library, name: str
) -> None:
    exports.write(inbox / "made.sqlite", exports.kernels(exports.kernel(1, 2)))
    assert ingest(inbox, empty_library.folder).status == 0
    with pytest.raises(NotCapturedError, match="not in this report") as raised:
        analysis.run(empty_library, empty_library.find("made.sqlite").id, name)
    assert all(flag in raised.value.hint for flag in FLAGS[name])


def test_impossible_times_are_left_out_and_open_calls_kept(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """What these do otherwise than nsys, as their headers say."""
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


@pytest.mark.nsight
@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
def test_every_cell_is_in_its_table_or_in_raw(edited: tuple[dict[str, Path], Library]) -> None:
    made, library = edited
    path = made["everything"]
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as export,
        library.cursor(library.find(path.name).id) as db,
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

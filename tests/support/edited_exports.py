"""Exports of the corpus with extra rows that no report of it has; the real nsys provides the expected values."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.support.exports import MAIN, OTHER, PID
from tests.support.nsys_oracle import RANGE_STATS, TABLE_STATS, WORK_STATS, Case, by_name

# Cases that no report of the corpus has: start/end ranges, one without an end, equal totals, functions that differ
# only in their version, names with two ids, wide grids, durations of 0, huge and unknown copies, unknown GPUs,
# kernels that began before their call returned, and kernels of another process with the same correlation ids.
WORK = """
INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)
SELECT start, "end", 60 + 11 * (rowid % 2), 'span ' || (rowid % 5), globalTid, 0
FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid <= 40;
INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)
SELECT start, NULL, 60, 'never closed', globalTid, 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid = 1;
INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)
SELECT start, start + 1000, twin.eventType, twin.text, globalTid, 0
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS call, (
    SELECT 59 AS eventType, 'twin b' AS text UNION ALL SELECT 59, 'twin a' UNION ALL
    SELECT 60, 'twin b' UNION ALL SELECT 60, 'twin a'
) AS twin WHERE call.rowid = 1;
INSERT INTO StringIds (id, value) VALUES (900001, 'cudaMemcpy'), (900002, 'cudaMemcpy_v3020'),
    (900003, 'sibling(int)'), (900004, 'sibling'), (900005, 'sibling(int)');
UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 900001 + rowid % 17 WHERE rowid % 17 < 2;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 900003, shortName = 900004 WHERE rowid % 5 = 0;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 900005, shortName = 900004, gridX = 70000 WHERE rowid % 5 = 1;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "end" = start WHERE rowid % 11 = 0;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 7, greenContextId = 3 WHERE rowid % 13 = 0;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = start - 100000000, deviceId = 8 WHERE rowid % 65 = 0;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = globalPid + 16777216 WHERE rowid % 19 = 0;
UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET "end" = start WHERE rowid = 1;
UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET "end" = start + 1, bytes = 50000000000, copyKind = 77, srcKind = 99
WHERE rowid = 2;
"""

# Cases that no report of the corpus has: ranges of both styles nested around calls, two domains, ranges of one name
# in each other, ranges that cross, one without an end, one that ends on another thread, and kernels of another process.
RANGES = """
INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)
SELECT start - 10, (SELECT max("end") + 500 FROM CUPTI_ACTIVITY_KIND_RUNTIME), 59, 'all', globalTid, 0
FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid = 1;
INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)
SELECT min(start) - 5 - rowid % 2, max("end") + 7, CASE WHEN rowid % 3 THEN 59 ELSE 60 END, 'part ' || (rowid / 4 % 3),
    globalTid, 0
FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY rowid / 4;
INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)
SELECT start - 2, "end" + 3, 59, 'all', globalTid, 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid % 5 = 0;
INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)
SELECT start - 1, "end" + 400000 + 1000 * rowid, 60, 'crossing', globalTid, 0
FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid % 7 = 0;
INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId)
SELECT start - 1, NULL, 60, 'never closed', globalTid, 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid = 3;
INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, endGlobalTid, domainId)
SELECT start - 100, "end" + 100000, 60, 'handed over', globalTid, globalTid + 1, 0
FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid = 2;
DELETE FROM NVTX_EVENTS WHERE rowid NOT IN (SELECT min(rowid) FROM NVTX_EVENTS GROUP BY start, "end", globalTid);
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = globalPid + 16777216 WHERE rowid % 19 = 0;
"""

# The tables as nsys 2023.4 declares them; an export has only those with rows.
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

# Calls of four kinds that start together in two processes, some without an end, thread, name, size or rank; large ones.
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


@dataclass(frozen=True)
class Edit:
    """SQL to apply to the export of a report, and the cases to compare on it."""

    report: str
    script: str
    cases: tuple[Case, ...]
    silent: frozenset[str] = frozenset()
    """Reports that nsys skips on this export."""


def _of_tables(script: str, *silent: str) -> Edit:
    return Edit("openacc_v100.nsys-rep", script, TABLE_STATS, frozenset(silent))


EDITS = {
    "work": Edit("gpu_metrics_a100.nsys-rep", WORK, WORK_STATS + by_name(WORK_STATS)),
    "ranges": Edit("gpu_metrics_a100.nsys-rep", RANGES, RANGE_STATS),
    "everything": _of_tables(NAMES + MPI + OPENACC + UNIFIED),
    "one_kind_of_each": _of_tables(
        f"""
        {NAMES} {ONE_KIND_OF_MPI} {UNIFIED}
        DROP TABLE CUPTI_ACTIVITY_KIND_OPENACC_DATA; DROP TABLE CUPTI_ACTIVITY_KIND_OPENACC_OTHER;
        UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 1 WHERE copyKind = 12;
        """
    ),
    "addresses_missing": _of_tables(
        UNIFIED + "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET virtualAddress = NULL WHERE copyKind = 11;", "mpi_event_trace"
    ),
    "faults_of_the_CPU_only": _of_tables(
        UNIFIED + "DROP TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS;", "mpi_event_trace", "um_total_sum"
    ),
    "faults_of_GPUs_only": _of_tables(
        UNIFIED + "DROP TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS;", "mpi_event_trace", "um_total_sum"
    ),
    "no_copies": _of_tables(
        UNIFIED + "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE IF EXISTS CUPTI_ACTIVITY_KIND_MEMSET;",
        "mpi_event_trace",
        "um_total_sum",
    ),
}


def write_all(folder: Path, export: Callable[[str], Path]) -> None:
    """Write ``NAME.sqlite`` for each edit; ``export`` returns the export of a report."""
    for name, edit in EDITS.items():
        made = shutil.copyfile(export(edit.report), folder / f"{name}.sqlite")
        with closing(sqlite3.connect(made)) as db:
            db.executescript(edit.script)

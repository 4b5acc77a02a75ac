"""Exports with random rows; the real nsys provides the expected values.

Real captures have one process, one GPU and few ties. These add several processes that use the same correlation ids, two
GPUs, several contexts, profiler flushes, equal times and every memory kind.
"""

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

SEEDS = range(6)
NAMES = (
    "cudaMemcpyAsync_v3020", "cudaMemcpy_v3020", "CUDAMEMCPY2DASYNC_x", "cudaMemset_v3020", "cudaMemsetAsync_v3020",
    "cudaDeviceSynchronize_v3020", "cudaStreamSynchronize_ptsz_v7000", "cudaLaunchKernel_v7000",
)  # fmt: skip
FLUSHES = ("CUDA profiling data flush overhead", "CUDA profiling stop overhead", "CUDA profiling overhead", "dlopen")


def write(path: Path, sample: Path, chance: random.Random) -> None:
    """Write an nsys 2023.4 export: the sample with its operations and calls replaced by random ones."""
    shutil.copyfile(sample, path)
    with closing(sqlite3.connect(path)) as db:
        # read by the installed nsys 2023.4; newer versions round differently
        db.execute("UPDATE META_DATA_EXPORT SET value = '3.7.2' WHERE name = 'EXPORT_SCHEMA_VERSION'")
        columns = [row[1] for row in db.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")]
        values = db.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1").fetchone()
        a_kernel = dict(zip(columns, values, strict=True))
        for table in ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME"):
            db.execute(f"DELETE FROM CUPTI_ACTIVITY_KIND_{table}")
        db.execute("DELETE FROM PROFILER_OVERHEAD")
        ids = {}
        for text in NAMES + FLUSHES:
            known = db.execute("SELECT id FROM StringIds WHERE value = ?", (text,)).fetchone()
            ids[text] = known[0] if known else db.execute("SELECT max(id) + 1 FROM StringIds").fetchone()[0]
            if not known:
                db.execute("INSERT INTO StringIds VALUES (?, ?)", (ids[text], text))
        for table, row in _random_rows(chance, a_kernel, ids):
            sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
            db.execute(sql, list(row.values()))
        db.commit()


def _random_rows(
    chance: random.Random, a_kernel: dict[str, object], ids: dict[str, int]
) -> Iterator[tuple[str, dict[str, object]]]:
    pick = chance.choice
    pids = [1 << 48 | pid << 24 for pid in chance.sample(range(10, 99), pick([1, 2, 3]))]
    count, unit, span = pick([5, 30, 80]), pick([1000, 10**6]), pick([50, 300])

    def times() -> dict[str, object]:
        start = chance.randrange(span)  # 0 included: nsys leaves such operations out
        return {"start": start * unit, "end": (start + chance.randrange(pick([2, 6, 20]))) * unit}

    def operation() -> dict[str, object]:
        place = {"deviceId": pick([0, 0, 1]), "contextId": chance.randrange(1, 4), "globalPid": pick(pids)}
        return times() | place | {"correlationId": chance.randrange(count)}

    def memory() -> dict[str, object]:
        size = pick([4, 500, 1500, 64000, 64001, chance.randrange(10**7)])
        return {"bytes": size, "greenContextId": pick([None, 0, 3]), "streamId": chance.randrange(3)}

    def kind() -> int | None:
        return pick([0, 1, 2, 3, 4, None])

    for _ in range(count):
        yield "CUPTI_ACTIVITY_KIND_KERNEL", a_kernel | operation()
        devices = {"srcDeviceId": pick([None, 0, 1]), "dstDeviceId": pick([None, 0, 1])}
        kinds = {"copyKind": pick([1, 2, 8]), "srcKind": kind(), "dstKind": kind()}
        yield "CUPTI_ACTIVITY_KIND_MEMCPY", operation() | memory() | kinds | devices
        yield "CUPTI_ACTIVITY_KIND_MEMSET", operation() | memory() | {"memKind": kind(), "value": 0}
        for _ in range(2):
            call = {"eventClass": 0, "returnValue": 0, "correlationId": chance.randrange(count)}
            who = {"globalTid": pick(pids) | chance.randrange(100, 103), "nameId": ids[pick(NAMES)]}
            yield "CUPTI_ACTIVITY_KIND_RUNTIME", times() | call | who
        if chance.random() < 0.1:
            flush = {"globalTid": pick(pids) | 7, "nameId": ids[pick(FLUSHES)], "returnValue": 0}
            yield "PROFILER_OVERHEAD", times() | flush


def write_all(folder: Path, sample: Path) -> None:
    """Write ``SEED.sqlite`` for each seed."""
    for seed in SEEDS:
        write(folder / f"{seed}.sqlite", sample, random.Random(seed))

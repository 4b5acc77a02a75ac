"""Holders of the server's memory, and free pages that go back to the system."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from app import memory

BUSY = "SELECT count(*) FROM (SELECT hash(range) AS a, count(*) AS b FROM range(1_000_000) GROUP BY 1) WHERE b > 1"
jemalloc = pytest.mark.skipif(memory._jemalloc() is None, reason="DuckDB has jemalloc on Linux alone")


@jemalloc
def test_what_duckdb_frees_goes_back_to_the_system() -> None:
    async def trimmed() -> int:
        task = asyncio.create_task(memory.keep_trimmed())
        try:
            for _ in range(100):
                if (pages := memory._duckdb_pages() or 0) < before / 4:
                    break
                await asyncio.sleep(0.1)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        return pages

    with duckdb.connect(config={"threads": 1}) as db, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: db.cursor().execute(BUSY).fetchall(), range(12)))
        before = memory._duckdb_pages() or 0
        assert before > 50_000_000  # of threads that ask for nothing any more
        assert asyncio.run(trimmed()) < before / 4


@jemalloc
def test_holders_are_parts_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPDECK_LIBRARY", str(tmp_path))
    found = memory.holders()
    assert {"answers", "figures", "duckdb", "duckdb_pages", "arrow", "files", "resident"} <= found.keys()
    assert 0 < found["files"] + found["duckdb_pages"] < found["resident"]
    assert found["duckdb"] <= found["duckdb_pages"]

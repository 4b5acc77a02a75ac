"""Holders of the server's memory, and the return of free pages to the system."""

import subprocess
import sys
from pathlib import Path

import pytest

from app import memory
from app.page_list import VIEWS
from bench.day import drop_report, read_holders
from bench.load import Session, open_session
from bench.pages import find_free_port, run_server
from profiledb.library.library import Library
from tests.conftest import ROOT, run_ingest

BUSY = "SELECT count(*) FROM (SELECT hash(range) AS a, count(*) AS b FROM range(1_000_000) GROUP BY 1) WHERE b > 1"
BYTES_OF_A_VIEW = 90_000
"""Bytes by which a view of a page that is in the caches may have a server grow. A leak of 100,000 bytes a view shows in
each stretch of views; what the allocator takes at a moment (up to 93,000 a view were seen beside other tests) comes and
goes: 56,000 in one stretch, -81,000 in the next."""
STRETCHES = 3
FREED = f"""
import asyncio
from concurrent.futures import ThreadPoolExecutor
import duckdb
from app import memory
async def trim(before):
    task = asyncio.create_task(memory.keep_trimmed())
    for _ in range(600):
        if (memory._measure_duckdb_pages() or 0) < before / 4:
            break
        await asyncio.sleep(0.1)
    task.cancel()
    return memory._measure_duckdb_pages()
with duckdb.connect(config={{"threads": 1}}) as db, ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda _: db.cursor().execute({BUSY!r}).fetchall(), range(12)))
    before = memory._measure_duckdb_pages()
    print(before, asyncio.run(trim(before)))
"""
jemalloc = pytest.mark.skipif(memory._find_jemalloc() is None, reason="DuckDB has jemalloc on Linux alone")


@jemalloc
def test_what_duckdb_frees_goes_back_to_the_system() -> None:
    """It runs in its own process, because connections of other tests hold pages, too."""
    done = subprocess.run(
        [sys.executable, "-c", FREED], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    before, after = map(int, done.stdout.split())
    assert before > 50_000_000, "pages of threads that ask for nothing any more"
    assert after < before / 4


@jemalloc
def test_holders_are_parts_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPDECK_LIBRARY", str(tmp_path))
    found = memory.measure_holders()
    assert {"answers", "figures", "duckdb", "duckdb_pages", "arrow", "files", "resident"} <= found.keys()
    assert 0 < found["files"] + found["duckdb_pages"] < found["resident"]
    assert found["duckdb"] <= found["duckdb_pages"]


@pytest.mark.slow("views every page of two reports ten times")
@pytest.mark.integration
def test_pages_that_are_seen_again_and_again_hold_no_more_memory(tmp_path: Path) -> None:
    inbox, port = tmp_path / "inbox", find_free_port()
    inbox.mkdir()
    for number in (1, 3):
        drop_report(inbox, number)
    assert not run_ingest(inbox, tmp_path / "library").status
    env = {
        "WARPDECK_INBOX": str(inbox),
        "WARPDECK_LIBRARY": str(tmp_path / "library"),
        "WARPDECK_WORKER": "off",
        "WARPDECK_SAMPLES": "off",
        "WARPDECK_METRICS": str(port),
    }
    reports = Library(tmp_path / "library").list()
    assert len(reports) == 2
    paths = [f"/{view.url}?report={one.id}" for one in reports for view in VIEWS if view.fits(one)]

    def look(page: Session, rounds: int) -> float:
        """Return the bytes that the server then holds, without those that DuckDB's allocator is about to return."""
        assert all(page.look(path) for _ in range(rounds) for path in paths)
        found = read_holders(port)
        return found["resident"] - found.get("duckdb_pages", 0.0)

    with run_server(env, {"address": "127.0.0.1"}) as running, open_session(running.address) as page:
        held = look(page, 4)
        grown: list[float] = []
        while not grown or (grown[-1] > BYTES_OF_A_VIEW and len(grown) < STRETCHES):
            before, held = held, look(page, 6)
            grown.append((held - before) / 6 / len(paths))
        assert grown[-1] <= BYTES_OF_A_VIEW, grown

"""The NVTX analyses that carry the name of an nsys report, against nsys cell by cell: see test_parity.py."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from profiledb.library import Library
from tests import oracle
from tests.conftest import CORPUS, SAMPLES, run_ingest
from tests.test_parity import ORACLES, READABLE, _printed, ours, sqlite_export

__all__ = ["sqlite_export"]  # fixture

STATS = ("nvtx_pushpop_trace", "nvtx_gpu_proj_trace", "nvtx_gpu_proj_sum", "nvtx_kern_sum")

# What the reports of the corpus do not have: ranges of both styles nested around calls, two domains, ranges of one name
# in each other, ranges that cross, one without an end, one that ends on another thread, and kernels of another process.
EDITS = """
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


@pytest.fixture(scope="module")
def edited(sqlite_export: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Library]:
    """An export with the edits, and a library that holds it."""
    folder = tmp_path_factory.mktemp("edited")
    export = folder / "inbox" / "edited.sqlite"
    export.parent.mkdir()
    shutil.copyfile(sqlite_export("gpu_metrics_a100.nsys-rep"), export)
    with closing(sqlite3.connect(export)) as db:
        db.executescript(EDITS)
    assert run_ingest(export.parent, folder / "library").status == 0
    return export, Library(folder / "library")


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
        assert oracle.differences(expected, ours(every_report, report, capsys, name)) == [], name


@pytest.mark.nsight
@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
@pytest.mark.parametrize("name", STATS)
def test_equals_the_installed_nsys_on_rare_data(
    edited: tuple[Path, Library], nsys: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    export, library = edited
    expected = oracle.stats(nsys, export, name)
    assert expected
    assert oracle.differences(expected, ours(library, export.name, capsys, name)) == []


@pytest.mark.parametrize("sample", ORACLES)
def test_equals_what_nsys_printed_about_the_samples(
    every_report: Library, sample: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in STATS:
        expected = _printed(SAMPLES / "oracle" / sample / f"{name}.csv")
        assert expected
        found = ours(every_report, f"{sample}.nsys-rep", capsys, name)
        assert oracle.differences(expected, found) == [], name


@pytest.mark.parametrize("sample", ORACLES)
def test_short_names(every_report: Library, sample: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = _printed(SAMPLES / "oracle" / sample / "nvtx_kern_sum_base.csv")
    found = ours(every_report, f"{sample}.nsys-rep", capsys, "nvtx_kern_sum", "--param", "by=short")
    assert expected
    assert oracle.differences(expected, found) == []

"""More analyses that carry the name of an nsys report, against nsys cell by cell: see test_parity.py."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from profiledb import analysis
from profiledb.library import Library
from tests import oracle
from tests.conftest import CORPUS, SAMPLES, run_ingest
from tests.test_parity import ORACLES, READABLE, _printed, ours, sqlite_export

__all__ = ["sqlite_export"]  # fixture

STATS = (
    "cuda_gpu_kern_gb_sum",
    "cuda_gpu_sum",
    "cuda_api_gpu_sum",
    "cuda_api_trace",
    "cuda_gpu_trace",
    "cuda_kern_exec_trace",
    "cuda_kern_exec_sum",
    "nvtx_pushpop_sum",
    "nvtx_startend_sum",
)
BY_NAME = {"base": "by=short", "mangled": "by=mangled"}

# What the reports of the corpus do not have: start/end ranges, one without an end, equal totals, functions that differ
# only in their version, names with two ids, wide grids, durations of 0, huge and unknown copies, unknown GPUs,
# kernels that began before their call returned, and kernels of another process with the same correlation ids.
EDITS = """
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
    takes_by = "by" in {param.name for param in analysis.get(name).params}
    for variant, by in BY_NAME.items() if takes_by else ():
        expected = oracle.stats(nsys, export, f"{name}:{variant}")
        found = ours(library, export.name, capsys, name, "--param", by)
        assert expected
        assert oracle.differences(expected, found) == [], variant


@pytest.mark.parametrize("sample", ORACLES)
def test_equals_what_nsys_printed_about_the_samples(
    every_report: Library, sample: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in STATS:
        expected = _printed(SAMPLES / "oracle" / sample / f"{name}.csv")
        assert expected or name == "nvtx_startend_sum"
        found = ours(every_report, f"{sample}.nsys-rep", capsys, name)
        assert oracle.differences(expected, found) == [], name


@pytest.mark.parametrize("sample", ORACLES)
@pytest.mark.parametrize("name", ["cuda_gpu_kern_gb_sum", "cuda_gpu_trace"])
def test_short_names(every_report: Library, sample: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = _printed(SAMPLES / "oracle" / sample / f"{name}_base.csv")
    found = ours(every_report, f"{sample}.nsys-rep", capsys, name, "--param", "by=short")
    assert expected
    assert oracle.differences(expected, found) == []

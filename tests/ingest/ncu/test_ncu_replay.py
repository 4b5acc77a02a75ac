"""Real captures in every way that ncu replays: by range, by application, and of several processes.

On an H200 with ncu 2025.3.1: `workloads run kernels --only vector_add,coalesced`.
"""

import lzma
from pathlib import Path

import duckdb
import pytest

from ingest.formats import ncu_report
from ingest.ncu import wheel
from tests.support.ncu_fixtures import DATA, converted

pytestmark = pytest.mark.skipif(
    not wheel.is_available(), reason="the ncu-report wheel does not exist for this platform"
)


def captured(name: str, tmp_path: Path) -> duckdb.DuckDBPyConnection:
    path = tmp_path / f"{name}.ncu-rep"
    path.write_bytes(lzma.decompress((DATA / f"{name}.ncu-rep.xz").read_bytes()))
    return converted(ncu_report, path, tmp_path)


@pytest.mark.parametrize("name", ["range_replay", "app_range_replay"])
def test_a_replayed_range_is_one_launch_with_a_duration(tmp_path: Path, name: str) -> None:
    db = captured(name, tmp_path)
    rows = db.execute("SELECT kernel, workload, duration_ns > 0, sm_throughput_pct > 0 FROM ncu_launch").fetchall()
    assert rows == [("range", "range", True, True)]


def test_application_replay_has_its_kernels(tmp_path: Path) -> None:
    db = captured("application_replay", tmp_path)
    rows = db.execute("SELECT kernel, workload, nvtx, grid_x FROM ncu_launch ORDER BY launch_id").fetchall()
    assert rows == [("vector_add", "kernel", "vector_add", 4096), ("coalesced", "kernel", "coalesced", 16384)]


def test_processes_of_one_report_keep_their_ids(tmp_path: Path) -> None:
    db = captured("processes", tmp_path)
    rows = db.execute("SELECT kernel, pid, process_name FROM ncu_launch ORDER BY launch_id").fetchall()
    assert rows == [("vector_add", 28, "python3.12"), ("coalesced", 29, "python3.12")]
    assert db.execute("SELECT count(*) FROM process").fetchone() == (2,)

"""Theoretical occupancy: by hand from the rules, and against ncu."""

from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.support.page_reports import GP100, H100, RTX3060, V100, Fill, Publish, insert, kernel, name, records, run

MORE = pytest.mark.slow("more launches")


# By hand from the rules of cuda_occupancy.h: warps, blocks by registers, blocks by shared memory, blocks, limiter.
@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        # 4 warps; 16384 // 1024 = 16 warps a quarter, 64 // 4 = 16; 64 // 4 = 16
        ((H100, 128, 32, 0), (16, 100.0, "warps, registers")),
        # 12 warps; 168 * 32 = 5376; 16384 // 5376 = 3 a quarter, 12 // 12 = 1
        pytest.param((H100, 384, 168, 0), (1, 18.75, "registers"), marks=MORE),
        # 40000 + 1024 -> 41088; 233472 // 41088 = 5
        ((H100, 256, 32, 40000), (5, 62.5, "shared memory")),
        # one warp a block: 32 blocks
        pytest.param((H100, 16, 16, 0), (32, 50.0, "blocks"), marks=MORE),
        # no reserve before 8.0: 98304 // 24576 = 4
        ((V100, 256, 32, 24576), (4, 50.0, "shared memory")),
        # 48 warps: 1024 threads fit once
        pytest.param((RTX3060, 1024, 32, 0), (1, 100 * 32 / 48, "warps"), marks=MORE),
        # two parts: 32768 // (40 * 32 = 1280) = 25 warps, 50 // 8 = 6; four parts would give 12 * 4 // 8 = 6 as well
        pytest.param((GP100, 256, 40, 0), (6, 75.0, "registers"), marks=MORE),
        # 80 * 32 = 2560: 32768 // 2560 = 12 in each half, 24 // 6 = 4; four parts would give 6 * 4 // 6 = 4
        pytest.param((GP100, 192, 80, 0), (4, 37.5, "registers"), marks=MORE),
        # 17 warps round up to 20: 20 * 4096 registers are more than a block may have
        ((H100, 544, 128, 0), (0, 0.0, "registers")),
    ],
)
def test_occupancy_by_hand(
    library: Library,
    publish: Publish,
    launch: tuple[dict[str, Any], int, int, int],
    expected: tuple[int, float, str],
) -> None:
    gpu, block, registers, shared = launch
    blocks, occupancy, limiter = expected

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "gpu", [gpu])
        insert(db, "kernel_name", [name(1, "f")])
        usage = {"registers_per_thread": registers, "dynamic_shared_bytes": shared}
        insert(db, "kernel", [kernel(0, 1, 0, 100, block_x=block, grid_x=264, **usage)])

    (row,) = run(library, publish(fill), "kernel_shapes", kernel=1)
    assert (row["blocks_per_sm"], row["limiter"]) == (blocks, limiter)
    assert row["occupancy_pct"] == pytest.approx(occupancy)
    assert row["waves"] == (pytest.approx(264 / (blocks * gpu["sm_count"])) if blocks else None)


def test_an_unknown_gpu_has_no_occupancy(library: Library, publish: Publish) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "gpu", [{"gpu_id": 0, "name": "?"}])
        insert(db, "kernel_name", [name(1, "f")])
        insert(db, "kernel", [kernel(0, 1, 0, 100), kernel(1, 1, 0, 100, device_id=9)])

    for row in run(library, publish(fill), "kernel_shapes", kernel=1):
        assert row["occupancy_pct"] is row["blocks_per_sm"] is row["limiter"] is row["waves"] is None


@pytest.mark.slow("every launch of every Compute report")
def test_our_occupancy_is_what_ncu_reports(library: Library, every_report: Library, publish: Publish) -> None:
    """The launches of all real ncu reports, written as if nsys had seen them: our figure against ncu's."""
    compared = 0
    for manifest in every_report.list():
        if manifest.kind != "ncu":
            continue
        columns = "launch_id, block_size, registers_per_thread, shared_static_bytes, shared_dynamic_bytes, device_id"
        sql = f"SELECT {columns}, theoretical_occupancy_pct AS ncu FROM ncu_launch WHERE ncu IS NOT NULL"
        launches = analysis.query(every_report, manifest.id, sql)
        gpus = analysis.query(every_report, manifest.id, "SELECT * FROM gpu")
        if gpus.empty:
            continue
        report_id = publish(as_nsys(records(launches), records(gpus)))
        for row in records(launches):
            (shape,) = run(library, report_id, "kernel_shapes", kernel=row["launch_id"])
            assert shape["occupancy_pct"] == pytest.approx(row["ncu"], abs=0.01), (manifest.name, row["launch_id"])
            compared += 1
    if not compared:
        pytest.skip("no ncu report in sample_reports/ or ../shared/corpus")


def as_nsys(launches: Sequence[dict[str, Any]], gpus: Sequence[dict[str, Any]]) -> Fill:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "gpu", gpus)
        insert(db, "kernel_name", [name(row["launch_id"], f"k{row['launch_id']}") for row in launches])
        for row in launches:
            usage = {"block_x": row["block_size"], "registers_per_thread": row["registers_per_thread"]}
            shared = {f"{how}_shared_bytes": row[f"shared_{how}_bytes"] for how in ("static", "dynamic")}
            number = row["launch_id"]
            insert(db, "kernel", [kernel(number, number, 0, 1, device_id=row["device_id"], **usage, **shared)])

    return fill

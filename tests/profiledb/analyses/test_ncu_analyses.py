"""Analyses of one launch of a Compute report, by hand; and their duration on many launches."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.support.page_reports import Publish, empty, insert, picked, run

STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
SAMPLED = "smsp__pcsamp_warps_issue_stalled_{}"
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
LAUNCH_ANALYSES = (
    "ncu_speed_of_light", "ncu_metrics", "ncu_occupancy", "ncu_occupancy_curve", "ncu_stalls", "ncu_instruction_mix",
    "ncu_memory", "ncu_launch_shape", "ncu_breakdown",
)  # fmt: skip


def filled(publish: Publish, metrics: Mapping[str, float | str], launch: dict[str, Any] | None = None) -> str:
    """A report with one launch, number 0, and its metrics."""

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "ncu_launch", [{"launch_id": 0, "kernel": "f(int)"} | (launch or {})])
        insert(db, "ncu_metric_name", [{"metric_id": i, "name": name} for i, name in enumerate(metrics)])
        kinds = {True: "text", False: "value"}
        rows = [{"metric_id": i, kinds[isinstance(v, str)]: v} for i, v in enumerate(metrics.values())]
        insert(db, "ncu_metric", [{"launch_id": 0} | row for row in rows])

    return publish(fill, "ncu")


def limits(**blocks: float) -> dict[str, float | str]:
    return {f"launch__occupancy_limit_{name}": value for name, value in blocks.items()}


@pytest.mark.parametrize(
    ("blocks", "limiter", "most"),
    [
        (limits(registers=6, shared_mem=32, warps=8, blocks=32), "registers", 6),
        (
            limits(registers=2, shared_mem=2, warps=8, blocks=2, barriers=2),
            "registers, shared_mem, blocks, barriers",
            2,
        ),
        (limits(barriers=1, warps=5), "barriers", 1),
        ({}, None, None),
    ],
)
def test_the_limiter(
    library: Library, publish: Publish, blocks: dict[str, float | str], limiter: str | None, most: int | None
) -> None:
    launch = {"theoretical_occupancy_pct": 75.0, "block_size": 250, "shared_dynamic_bytes": 16}
    report_id = filled(publish, blocks | {"sm__maximum_warps_avg_per_active_cycle": 48.0}, launch)
    (row,) = run(library, report_id, "ncu_occupancy")
    assert (row["limiter"], row["limit_blocks"], row["achieved_pct"]) == (limiter, most, None)
    assert (row["theoretical_warps"], row["max_warps"], row["warps_per_block"]) == (48, 64, 8)
    assert (row["shared_dynamic_bytes"], row["shared_static_bytes"]) == (16, None)


def test_the_occupancy_curve(library: Library, publish: Publish) -> None:
    """The launch is at the first point that is not below it; shared memory includes the driver's share."""

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        shared = {"shared_static_bytes": 100, "shared_driver_bytes": 1024}
        insert(db, "ncu_launch", [{"launch_id": 0, "device_id": 0, "registers_per_thread": 33} | shared])
        insert(db, "gpu", [{"gpu_id": 0, "max_warps_per_sm": 64}])
        names = ["launch__occupancy_per_register_count", "launch__occupancy_per_shared_mem_size"]
        names += ["derived__pct_occupancy_per_block_size"]
        insert(db, "ncu_metric_name", [{"metric_id": i, "name": name} for i, name in enumerate(names)])
        points = [(0, 32, 64), (0, 40, 48), (0, 255, 8), (1, 1024, 64), (1, 1536, 32), (2, 128, 75)]
        rows = [{"metric_id": m, "key": key, "value": value, "position": i} for i, (m, key, value) in enumerate(points)]
        insert(db, "ncu_metric_instance", [{"launch_id": 0} | row for row in rows])

    rows = run(library, publish(fill, "ncu"), "ncu_occupancy_curve", launch=0)
    assert picked(rows, "what", "x", "warps", "occupancy_pct", "is_current") == [
        ("registers", 32, 64, 100, False),
        ("registers", 40, 48, 75, True),
        ("registers", 255, 8, 12.5, False),
        ("shared_mem", 1024, 64, 100, False),
        ("shared_mem", 1536, 32, 50, True),
        ("block_size", 128, None, 75, False),
    ]


def test_stalls_are_ranked_and_have_one_name(library: Library, publish: Publish) -> None:
    ratios = {
        STALLED.format(reason): value for reason, value in (("wait", 1.0), ("gmma", 5.0), ("no_instruction", 2.0))
    }
    samples = {
        SAMPLED.format(r): v for r, v in (("no_instructions", 30.0), ("warpgroup_arrive", 60.0), ("drain", 10.0))
    }
    hidden = {SAMPLED.format("drain_not_issued"): 9.0}
    rows = run(library, filled(publish, {LATENCY: 10.0} | ratios | samples | hidden), "ncu_stalls")
    assert picked(rows, "rank", "reason", "cycles_per_issue", "share_pct", "samples", "samples_pct") == [
        (1, "gmma", 5, 50, 60, 60),
        (2, "no_instruction", 2, 20, 30, 30),
        (3, "drain", None, None, 10, 10),
        (4, "wait", 1, 10, None, None),
    ]


def test_stalls_without_a_latency(library: Library, publish: Publish) -> None:
    (row,) = run(library, filled(publish, {STALLED.format("wait"): 3.0}), "ncu_stalls")
    assert (row["cycles_per_issue"], row["share_pct"], row["samples"]) == (3, None, None)


def test_the_instruction_mix(library: Library, publish: Publish) -> None:
    pct = "avg.pct_of_peak_sustained"
    metrics: dict[str, float | str] = {
        f"sm__inst_executed_pipe_lsu.{pct}_active": 20.0,
        f"sm__inst_executed_pipe_alu.{pct}_active": 30.0,
        f"sm__inst_executed_pipe_alu.{pct}_elapsed": 25.0,
        f"sm__pipe_fma_cycles_active.{pct}_elapsed": 5.0,
        f"TPC.Triage.sm__inst_executed_pipe_alu.{pct}_active": 99.0,
        f"sm__inst_executed_pipe_alu.max.{pct[4:]}_active": 98.0,
    }
    rows = run(library, filled(publish, metrics), "ncu_instruction_mix")
    assert picked(rows, "kind", "name", "active_pct", "elapsed_pct") == [
        ("pipe_instructions", "alu", 30, 25),
        ("pipe_instructions", "lsu", 20, None),
        ("pipe_cycles", "fma", None, 5),
    ]


def test_memory_figures(library: Library, publish: Publish) -> None:
    mem = "l1tex__data_{}_pipe_lsu_{}mem_shared_op_st.sum"
    metrics: dict[str, float | str] = {
        mem.format("bank_conflicts", ""): 25.0,
        mem.format("pipe_lsu_wavefronts", "").replace("_pipe_lsu_mem", "_mem"): 100.0,
        "sass__inst_executed_shared_stores": 50.0,
        "dram__bytes_read.sum": 30.0,
        "dram__bytes_write.sum": 10.0,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 32.0,
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 8.0,
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 0.0,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 0.0,
        "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct": 50.0,
        "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio": 0.0,
        "l1tex__t_sector_hit_rate.pct": 0.0,
    }
    rows = run(library, filled(publish, metrics), "ncu_memory")
    found = {(row["part"], row["figure"]): row["value"] for row in rows}
    assert {key: value for key, value in found.items() if value is not None} == {
        ("L1", "Hit rate"): 0,
        ("DRAM", "Read"): 30,
        ("DRAM", "Written"): 10,
        ("DRAM", "Reads of the traffic"): 75,
        ("Global loads", "Sectors for a request"): 4,
        ("Global loads", "Bytes used of a sector, of 32"): 16,
        ("Shared stores", "Bank conflicts of the wavefronts"): 25,
        ("Shared stores", "Wavefronts for a request (n-way)"): 2,
    }
    assert len(rows) == 25


@pytest.mark.parametrize(
    ("waves", "full", "last", "tail"),
    [(0.07, 0, 7, None), (1.0, 1, 100, None), (2.5, 2, 50, 100 / 3), (4.0, 4, 100, 0), (None, None, None, None)],
)
def test_waves_and_tail(
    library: Library, publish: Publish, waves: float | None, full: int | None, last: float | None, tail: float | None
) -> None:
    metrics: dict[str, float | str] = {"smsp__thread_inst_executed_per_inst_executed.ratio": 24.0}
    (row,) = run(
        library, filled(publish, metrics, {"waves_per_sm": waves, "grid_size": 3, "block_size": 32}), "ncu_launch_shape"
    )
    assert (row["full_waves"], row["last_wave_pct"], row["tail_pct"]) == pytest.approx((full, last, tail))
    assert (row["threads"], row["grid"], row["threads_active"], row["cluster_size"]) == (96, "3", 24, None)


def test_the_breakdown(library: Library, publish: Publish) -> None:
    pct = "avg.pct_of_peak_sustained_elapsed"
    metrics: dict[str, float | str] = {
        f"breakdown:sm__throughput.{pct}": f"a.{pct},b.{pct},gone.{pct}",
        f"breakdown:gpu__compute_memory_throughput.{pct}": f"c.{pct}",
        f"breakdown:sm__throughput.{pct.replace('avg', 'max')}": f"c.{pct}",
        f"a.{pct}": 10.0,
        f"b.{pct}": 20.0,
        f"c.{pct}": 30.0,
    }
    rows = run(library, filled(publish, metrics), "ncu_breakdown")
    assert picked(rows, "side", "rank", "metric", "pct") == [
        ("compute", 1, f"b.{pct}", 20),
        ("compute", 2, f"a.{pct}", 10),
        ("memory", 1, f"c.{pct}", 30),
    ]


@pytest.mark.slow("two million values")
@pytest.mark.integration
def test_two_million_values_are_quick(tmp_path: Path) -> None:
    """1,000 launches of 2,000 metrics: each analysis, of one launch and of all."""
    with store.create(tmp_path / "report.duckdb", ready=empty()) as db:
        db.execute(
            "INSERT INTO ncu_launch (launch_id, kernel, duration_ns, theoretical_occupancy_pct) SELECT i, 'f', 1, 50"
            " FROM range(1000) t(i)"
        )
        db.execute(
            "INSERT INTO ncu_metric_name SELECT i, CASE WHEN i < 20 THEN"
            f" replace('{STALLED}', '{{}}', 'r' || i) WHEN i < 25 THEN 'launch__occupancy_limit_'"
            " || ['registers', 'shared_mem', 'warps', 'blocks', 'barriers'][i - 19]"
            " ELSE 'lts__t_sectors_' || i || '.sum' END, '' FROM range(2000) t(i)"
        )
        db.execute("INSERT INTO ncu_metric SELECT l, m, m, NULL FROM range(1000) a(l), range(2000) b(m) ORDER BY l, m")
    library = Library(tmp_path / "library")
    library.publish(
        tmp_path / "report.duckdb", Manifest("f" * 16, SCHEMA_VERSION, "big", "ncu", "", 1, rows={"ncu_launch": 1})
    )
    for name in LAUNCH_ANALYSES:
        for params in ({"launch": 500}, {}):
            if name == "ncu_metrics" and not params:
                continue  # asks for all two million
            began = time.process_time()
            analysis.run(library, "f" * 16, name, params)
            assert time.process_time() - began < 2, (name, params)

"""Rules about launches that Nsight Compute measured: made-up launches, and ncu's own estimates."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from profiledb.findings import judge as judges
from profiledb.findings import rulebook, sentences
from profiledb.findings.finding import Finding
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.conftest import copy_data
from tests.support.every_report import slow_but
from tests.support.page_reports import empty

MORE = pytest.mark.slow("judges more launches by hand")
SMS = 132
BUSY = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
ACTIVE = "smsp__thread_inst_executed_per_inst_executed.ratio"
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
LOCAL, GLOBAL = "smsp__sass_inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_global_ld.sum"
STALL, LATENCY = (
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warp_latency_per_inst_issued.ratio",
)

Launch = Mapping[str, Any]
Publish = Callable[..., str]


def launch(
    duration_ns: int = 100, kernel: str = "work", metrics: Mapping[str, float] | None = None, **row: Any
) -> Launch:
    """A launch with ncu's measurements: columns of ncu_launch, and metrics by name."""
    return {"kernel": kernel, "duration_ns": duration_ns, "device_id": 0, "cc": "9.0", "metrics": metrics or {}, **row}


@pytest.fixture
def publish(empty_library: Library, tmp_path: Path) -> Publish:
    """Publishes a Compute report of launches, and answers its id."""

    def published(launches: Sequence[Launch], gpu: str = "GPU") -> str:
        number = len(empty_library.list())
        names = sorted({name for one in launches for name in one["metrics"]})
        path = empty_library.folder / f"made_{number}.duckdb"
        path.parent.mkdir(parents=True, exist_ok=True)
        with store.create(path, ready=empty()) as db:
            db.execute(f"INSERT INTO gpu (gpu_id, name, sm_count) VALUES (0, ?, {SMS})", [gpu])
            for kernel, kind in {(one["kernel"], one.get("class", "other")) for one in launches}:
                db.execute(
                    "INSERT INTO kernel_name (name_id, demangled, short, class) VALUES (0, ?, ?, ?)",
                    [kernel, kernel, kind],
                )
            for at, name in enumerate(names):
                db.execute("INSERT INTO ncu_metric_name VALUES (?, ?, '')", [at, name])
            for launch_id, one in enumerate(launches):
                row = {"launch_id": launch_id} | {
                    key: one[key] for key in one if key not in ("metrics", "class", "rules")
                }
                db.execute(
                    f"INSERT INTO ncu_launch ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                    list(row.values()),
                )
                for name, value in one["metrics"].items():
                    db.execute("INSERT INTO ncu_metric VALUES (?, ?, ?, NULL)", [launch_id, names.index(name), value])
                for rule, kind, speedup in one.get("rules", ()):
                    db.execute(
                        "INSERT INTO ncu_rule VALUES (?, 0, 'Section', ?, 'OPT', 'Do it.', ?, ?)",
                        [launch_id, rule, kind, speedup],
                    )
        rows = {"ncu_launch": len(launches)}
        empty_library.publish(
            path, Manifest(f"{number:016x}", SCHEMA_VERSION, f"made_{number}", "ncu", str(number), 1, rows=rows)
        )
        return f"{number:016x}"

    return published


def judged(library: Library, report: str, rule: str) -> Finding:
    return judges.judge(library, library.find(report), {}, [rulebook.load()[rule]])[0]


NEAR_PEAK: dict[str, Any] = {"sm_throughput_pct": 90.0, "memory_throughput_pct": 40.0}
IDLE_UNITS: dict[str, Any] = {"sm_throughput_pct": 20.0, "memory_throughput_pct": 30.0}

MATMUL: dict[str, Any] = {"class": "matmul"}

# rule: a launch of 100 ns for which it holds, the ns that are saved of it, one of which it does not, one without data
CASES: dict[str, tuple[Launch, float, Launch, Launch]] = {
    "profile_small_grid": (launch(grid_size=33), 75, launch(grid_size=132), launch()),
    "profile_tail": (
        launch(waves_per_sm=1.2, occupancy_pct=50.0, theoretical_occupancy_pct=100.0), 50,
        launch(waves_per_sm=7.2, occupancy_pct=50.0, theoretical_occupancy_pct=100.0), launch(),
    ),
    "profile_achieved_occupancy": (
        launch(occupancy_pct=60.0, theoretical_occupancy_pct=100.0, **IDLE_UNITS), 40,
        launch(occupancy_pct=60.0, theoretical_occupancy_pct=100.0, **NEAR_PEAK), launch(**IDLE_UNITS),
    ),
    "profile_theoretical_occupancy": (
        launch(theoretical_occupancy_pct=25.0, registers_per_thread=255, **IDLE_UNITS), 70,
        launch(theoretical_occupancy_pct=25.0, registers_per_thread=255, **NEAR_PEAK), launch(**IDLE_UNITS),
    ),
    "profile_issue_slots": (
        launch(issue_active_per_cycle=0.4, **IDLE_UNITS), 60, launch(issue_active_per_cycle=0.7, **IDLE_UNITS),
        launch(),
    ),
    "profile_stalls": (
        launch(issue_active_per_cycle=0.3, metrics={STALL: 6.0, LATENCY: 10.0}, **IDLE_UNITS), 60,
        launch(issue_active_per_cycle=0.9, metrics={STALL: 6.0, LATENCY: 10.0}, **IDLE_UNITS), launch(**IDLE_UNITS),
    ),
    "profile_block_size": (launch(block_size=48), 25, launch(block_size=64), launch()),
    "profile_divergence": (
        launch(metrics={ACTIVE: 8.0}, **NEAR_PEAK), 67.5, launch(metrics={ACTIVE: 30.0}, **NEAR_PEAK),
        launch(**NEAR_PEAK),
    ),
    "profile_bank_conflicts": (
        launch(metrics={CONFLICTS: 50, BUSY: 100}, l1_throughput_pct=60.0), 30,
        launch(metrics={CONFLICTS: 5, BUSY: 100}, l1_throughput_pct=60.0), launch(l1_throughput_pct=60.0),
    ),
    "profile_spills": (
        launch(metrics={LOCAL: 25, GLOBAL: 75}, **IDLE_UNITS), 7.5,
        launch(metrics={LOCAL: 0, GLOBAL: 75}, **IDLE_UNITS), launch(**IDLE_UNITS),
    ),
    "profile_no_tensor_cores": (
        launch(metrics={TENSOR: 0.0}, **MATMUL), 90, launch(metrics={TENSOR: 60.0}, **MATMUL),
        launch(),
    ),
    "profile_advice": (
        launch(rules=[("A", "global", 30.0), ("B", "global", 40.0), ("C", "local", 90.0)]), 40,
        launch(rules=[("C", "local", 90.0)]), launch(),
    ),
}  # fmt: skip


ALONE = ("profile_achieved_occupancy", "profile_no_tensor_cores", "profile_small_grid", "profile_spills")
"""Rules whose savings `make test` checks by hand; other tests see the rest fire, too."""


@pytest.mark.parametrize("rule", slow_but(ALONE, CASES, "judges four reports"))
def test_by_hand(rule: str, publish: Publish, empty_library: Library) -> None:
    """A launch with the fault takes a fourth of the time: the saving counts that part, the share all of it."""
    holds, saved, not_, unknown = CASES[rule]
    fires = judged(empty_library, publish([holds, {**not_, "duration_ns": 300}]), rule)
    assert fires.threshold is not None
    assert fires.verdict == ("fires" if saved / 4 >= fires.threshold else "clear")
    assert fires.value == pytest.approx(saved / 4)
    assert fires.saving_ns == round(saved)
    assert [piece["launch"] for piece in fires.evidence] == [0]
    assert judged(empty_library, publish([holds]), rule).verdict == "fires"
    clear = judged(empty_library, publish([not_]), rule)
    assert (clear.verdict, clear.value, clear.evidence) == ("clear", 0, ())
    assert judged(empty_library, publish([unknown]), rule).verdict == "cannot_judge"


AT_ROOF: dict[str, Any] = {"sm_throughput_pct": 8.0, "memory_throughput_pct": 91.0, "dram_throughput_pct": 91.0}
# what ncu estimates of a launch at 91 % of its memory's peak, and how much of that it can reach
REACHED = {
    "nothing of L2 compression": ([("MemoryL2Compression", "global", 47.8)], 0),
    "the distance of an uneven load to the peak": ([("WorkloadImbalance", "global", 30.0)], 9),
    "nothing of what rules of ours measure": (
        [("CPIStall", "global", 30.0), ("LaunchConfiguration", "global", 25.0)], 0,
    ),
    "less as it is": ([("WorkloadImbalance", "global", 4.0)], 4),
    "accesses within the SM, whose traffic stays": ([("UncoalescedSharedAccess", "global", 50.0)], 9),
    "of caches, for nobody counted sectors that are too many": ([("MemoryCacheAccessPattern", "global", 74.5)], 9),
    "all of what spares traffic": (
        [("UncoalescedGlobalAccess", "global", 77.0), ("MemoryCacheAccessPattern", "global", 84.0)], 84,
    ),
}  # fmt: skip


TELLING = ("the distance of an uneven load to the peak", "accesses within the SM, whose traffic stays",
    "all of what spares traffic")  # fmt: skip


@pytest.mark.parametrize("case", slow_but(TELLING, REACHED, "judges more launches by hand"))
def test_no_advice_saves_more_than_the_roof_leaves(publish: Publish, empty_library: Library, case: str) -> None:
    rules, reached = REACHED[case]
    found = judged(empty_library, publish([launch(rules=rules, **AT_ROOF)]), "profile_advice")
    assert found.value == pytest.approx(reached)
    assert found.saving_ns == round(reached)
    if reached:
        assert found.facts["at_roof"] == "91 % of DRAM bandwidth"


def test_compute_near_its_peak_bounds_what_waits_less_alone(publish: Publish, empty_library: Library) -> None:
    """90 % of compute leave 10 %; memory traffic at 30 % of its peak leaves 70 % to gain by fewer instructions."""
    near: dict[str, Any] = {"sm_throughput_pct": 90.0, "memory_throughput_pct": 40.0, "dram_throughput_pct": 30.0}
    for rule, reached in (("WorkloadImbalance", 10), ("UncoalescedSharedAccess", 50)):
        found = judged(empty_library, publish([launch(rules=[(rule, "global", 50.0)], **near)]), "profile_advice")
        assert found.value == pytest.approx(reached)


CLOSED = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"


def test_nobody_changes_kernels_of_closed_libraries(publish: Publish, empty_library: Library) -> None:
    """Only cuBLAS's developers can change its kernels; the program can change the launch."""
    inside: list[tuple[str, str, float]] = [("UncoalescedSharedAccess", "global", 50.0)]
    grid: list[tuple[str, str, float]] = [*inside, ("WorkloadImbalance", "global", 20.0)]
    conflicts: dict[str, Any] = {"metrics": {CONFLICTS: 90, BUSY: 100}, "l1_throughput_pct": 60.0, **IDLE_UNITS}
    few: dict[str, Any] = {"theoretical_occupancy_pct": 25.0, "registers_per_thread": 255, **IDLE_UNITS}
    for kernel, reached in (("mine", 50), (CLOSED, 0)):
        found = judged(empty_library, publish([launch(kernel=kernel, rules=inside, **IDLE_UNITS)]), "profile_advice")
        assert found.value == pytest.approx(reached)
        for rule, more in (("profile_bank_conflicts", conflicts), ("profile_theoretical_occupancy", few)):
            one = judged(empty_library, publish([launch(kernel=kernel, **more)]), rule)
            assert one.verdict == ("fires" if reached else "clear"), rule
    told = judged(empty_library, publish([launch(kernel=CLOSED, rules=grid, **IDLE_UNITS)]), "profile_advice")
    assert told.value == pytest.approx(20)
    assert told.facts["rule"] == "WorkloadImbalance"


FEW: dict[str, Any] = {"theoretical_occupancy_pct": 25.0, "registers_per_thread": 64, **IDLE_UNITS}
TORCH = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 11, false>(float *)"


@pytest.mark.parametrize(
    ("kernel", "limits", "note", "advice"),
    [
        ("work", {"shared_mem": 1, "registers": 16, "warps": 8}, ", limited by shared memory", "use less shared"),
        *(
            pytest.param("work", *one, marks=MORE)
            for one in (
                ({"shared_mem": 32, "registers": 2, "warps": 8}, ", limited by registers", "use fewer registers"),
                ({"shared_mem": 32, "registers": 8, "blocks": 4}, ", limited by blocks", "another block size"),
                ({"shared_mem": 4, "registers": 4}, ", limited by registers and shared memory", "less shared memory"),
                ({}, "", "use fewer registers"),
            )
        ),
        (TORCH, {"shared_mem": 32, "registers": 2}, ", limited by registers", "F.scaled_dot_product_attention"),
    ],
)
def test_what_limits_occupancy_is_what_to_change(
    publish: Publish, empty_library: Library, kernel: str, limits: dict[str, int], note: str, advice: str
) -> None:
    """No advice to save registers if shared memory is the limit, or to change one of PyTorch's kernels."""
    metrics = {f"launch__occupancy_limit_{name}": float(blocks) for name, blocks in limits.items()}
    report = publish([launch(kernel=kernel, metrics=metrics, **FEW)])
    found = judged(empty_library, report, "profile_theoretical_occupancy")
    assert found.facts["note"] == f"25 % possible{note}, 64 registers per thread"
    assert advice in found.rule.advised(found.cause)[0]
    waits = launch(kernel=kernel, issue_active_per_cycle=0.4, **IDLE_UNITS)
    slots = judged(empty_library, publish([waits]), "profile_issue_slots")
    assert ("F.scaled_dot" in slots.rule.advised(slots.cause)[0]) == (kernel == TORCH)


BOUNDED: dict[str, Launch] = {
    "profile_small_grid": launch(grid_size=33, **AT_ROOF),
    "profile_tail": launch(waves_per_sm=1.2, occupancy_pct=50.0, theoretical_occupancy_pct=100.0, **AT_ROOF),
    "profile_block_size": launch(block_size=33, **AT_ROOF),
    "profile_divergence": launch(metrics={ACTIVE: 2.0}, **{**AT_ROOF, "sm_throughput_pct": 60.0}),
    "profile_bank_conflicts": launch(metrics={CONFLICTS: 90, BUSY: 100}, l1_throughput_pct=60.0, **AT_ROOF),
}


@pytest.mark.parametrize("rule", BOUNDED)
def test_our_own_rules_neither(rule: str, publish: Publish, empty_library: Library) -> None:
    assert judged(empty_library, publish([BOUNDED[rule]]), rule).value == pytest.approx(9)


def test_schedulers_that_wait_stand_under_the_stall_that_they_wait_for(
    publish: Publish, empty_library: Library
) -> None:
    waits = launch(issue_active_per_cycle=0.3, metrics={STALL: 6.0, LATENCY: 10.0}, **IDLE_UNITS)
    report = empty_library.find(publish([waits]))
    rules = [rulebook.load()[name] for name in ("profile_issue_slots", "profile_stalls")]
    found = judges.judge(empty_library, report, {}, rules)
    assert [(one.rule.name, one.parent) for one in found] == [
        ("profile_stalls", None), ("profile_issue_slots", "profile_stalls"),
    ]  # fmt: skip


def test_launches_without_a_name_have_their_number(publish: Publish, empty_library: Library) -> None:
    found = judged(
        empty_library, publish([launch(block_size=64), launch(block_size=48, kernel="(unnamed)")]), "profile_block_size"
    )
    assert "most in `launch 1`: 48 threads per block" in sentences.says(found)


def test_sms_that_are_busy_below_the_roof(every_report: Library) -> None:
    """Matrix products without tiles load two numbers per multiplication."""
    slow = replace(rulebook.load()["profile_below_roof"], changes=())
    facts = {"kernel": "naive", "note": "10 % of the FP32 peak", "busy_pct": 83.1}
    busy = Finding(slow, "fires", value=89.6, facts=facts, cause="instructions")
    assert "`naive`, which reaches 10 % of the FP32 peak although its SMs are 83.1 % busy with" in sentences.says(busy)
    assert "tiles" in sentences.fill_advice(busy)[0]
    assert "contiguous" in busy.rule.advised(busy.cause, ["PyTorch", "eager"])[0]
    softmax = judged(every_report, "attention.ncu-rep", "profile_below_roof")
    assert (softmax.facts["busy_pct"], softmax.cause) == (None, "PyTorch kernel"), "it waits for memory"


def test_at_the_roof(publish: Publish, empty_library: Library) -> None:
    """100 of 450 ns run at 91 % of the memory bandwidth; one launch has no metrics."""
    report = publish([launch(**AT_ROOF), launch(300, **{**AT_ROOF, "dram_throughput_pct": 84.9}), launch(50)])
    found = judged(empty_library, report, "profile_at_roof")
    assert (found.verdict, found.severity, found.cause) == ("fires", "note", "memory")
    assert found.value == pytest.approx(100 * 100 / 450), "of all that was measured"
    assert (found.facts["launches"], found.facts["note"]) == (1, "91 % of DRAM bandwidth")
    assert judged(empty_library, publish([launch(**IDLE_UNITS)]), "profile_at_roof").verdict == "cannot_judge"


def test_kernels_of_the_samples_at_their_roof(every_report: Library) -> None:
    """vector_add, a sum and matrix products are; kernels with scattered reads or few threads are not."""
    found = judged(every_report, "kernels.ncu-rep", "profile_at_roof")
    names = {str(piece["name"]).partition("_")[0] for piece in found.evidence}
    assert names == {"sm90", "nvjet", "compute", "reduction", "vector"}
    assert found.verdict == "fires"
    advice = judged(every_report, "kernels.ncu-rep", "profile_advice")
    gains = {str(piece["name"]): (piece["note"], piece["value"]) for piece in advice.evidence}
    assert "vector_add" not in gains, "at 91 % of the bandwidth less waiting saves nothing"
    assert gains["uncoalesced"] == ("MemoryCacheAccessPattern", pytest.approx(84.1, abs=0.1)), (
        "the sample `coalesced` does the same in 782 µs instead of 4.70 ms"
    )
    assert "MemoryL2Compression" not in {note for note, _ in gains.values()}


def test_the_stall_says_what_to_do(publish: Publish, empty_library: Library) -> None:
    finding = judged(empty_library, publish([CASES["profile_stalls"][0]]), "profile_stalls")
    assert finding.cause == "long scoreboard"
    assert any("cp.async" in line for line in finding.rule.advised(finding.cause, ["asynchronous copies"]))
    assert not any("cp.async" in line for line in finding.rule.advised(finding.cause)), "before Ampere there is none"


def test_small_grids_save_what_ncu_says(every_report: Library) -> None:
    """Nsight Compute prints the same estimate for the same launches, except for the cap by the roof."""
    report = every_report.find("transformer_training.ncu-rep")
    finding = judged(every_report, report.id, "profile_small_grid")
    rows = analysis.query(
        every_report, report.id,
        "SELECT launch_id, least(speedup_pct, 100 - greatest(sm_throughput_pct, memory_throughput_pct)) AS speedup_pct"
        " FROM ncu_rule JOIN ncu_launch USING (launch_id) WHERE rule = 'LaunchConfiguration' AND message LIKE '%grid%'"
        " AND speedup_pct IS NOT NULL",
    )  # fmt: skip
    said = dict(zip(rows["launch_id"], rows["speedup_pct"], strict=True))
    ours = {piece["launch"]: piece["value"] for piece in finding.evidence}
    both = said.keys() & ours.keys()
    assert len(both) >= 5
    assert {one: ours[one] for one in both} == pytest.approx({one: said[one] for one in both}, abs=0.01)


def test_the_value_is_the_time_above_the_roof(every_report: Library) -> None:
    report = every_report.find("attention.ncu-rep")
    finding = judged(every_report, report.id, "profile_below_roof")
    roof = analysis.run(every_report, report.id, "ncu_roofline").query("level == 'dram' and is_main")
    times = roof["duration_ns"].astype(float)
    above = (times * (1 - roof["pct_of_roof"] / 100)).clip(lower=0)
    assert finding.value == pytest.approx(float(100 * above.sum() / times.sum()))
    assert finding.verdict == "fires"
    assert judged(every_report, "kernels.ncu-rep", "profile_below_roof").verdict == "clear"


def test_no_sample_computes_in_fp64(every_report: Library) -> None:
    """So the rule fires on none of them, although the FP64 metrics were measured."""
    assert judged(every_report, "kernels.ncu-rep", "profile_fp64").verdict == "clear"


def test_a_linked_systems_report_weighs_by_its_own_time(every_report: Library, tmp_path: Path) -> None:
    """A launch stands for the time of the selected kernels with its name, grid and block."""
    copy_data(every_report.folder.parent, tmp_path / "data")
    library = Library(tmp_path / "data" / "library")
    systems, compute = (library.find(f"transformer_training.{kind}-rep").id for kind in ("nsys", "ncu"))
    rule = "profile_small_grid"
    assert judged(library, systems, rule).why == "This report has no linked Compute report."
    library.link(systems, compute)
    finding = judged(library, systems, rule)
    pairs = analysis.run(library, systems, "time_weighted_roofline", {"ncu": compute})
    measured = pairs[pairs["match"] == "exact"]
    blocks = measured["grid"].map(lambda grid: math.prod(map(int, grid.split("x"))))
    busy = analysis.run(library, compute, "ncu_speed_of_light").set_index("launch_id")
    left = 1 - busy[["compute_pct", "memory_pct"]].max(axis=1) / 100
    spared = ((SMS - blocks) / SMS).clip(lower=0)
    saved = (measured["total_ns"] * spared.clip(upper=measured["launch_id"].map(left))).sum()
    assert finding.value == pytest.approx(100 * saved / measured["total_ns"].sum())
    assert finding.saving_ns == pytest.approx(saved, abs=2)
    assert finding.saving_pct is not None
    assert finding.value is not None
    assert finding.saving_pct < finding.value


def test_a_grid_that_leaves_the_gpu_empty_has_no_missing_warps(publish: Publish, empty_library: Library) -> None:
    """36 blocks on an unknown GPU: the text that ncu prints does not name it."""
    small = launch(
        device_id=5, grid_size=36, block_size=256, waves_per_sm=0.07, occupancy_pct=12.0,
        theoretical_occupancy_pct=75.0, sm_throughput_pct=4.0, memory_throughput_pct=3.0,
    )  # fmt: skip
    report = publish([small])
    grid = judged(empty_library, report, "profile_small_grid")
    assert grid.value == pytest.approx(93)
    assert grid.facts["note"] == "36 blocks of 256 threads, which fill 7 % of the GPU"
    for rule in ("profile_achieved_occupancy", "profile_theoretical_occupancy"):
        assert judged(empty_library, report, rule).value == 0
    filled = publish([{**small, "waves_per_sm": 2.0}])
    assert judged(empty_library, filled, "profile_small_grid").value == 0
    assert judged(empty_library, filled, "profile_achieved_occupancy").value == pytest.approx(84)


@pytest.mark.parametrize(
    ("gpu", "cc", "has"),
    [
        ("NVIDIA GeForce GTX 1660 SUPER", "7.5", False),
        ("Tesla T4", "7.5", True),
        pytest.param("T400 4GB", "7.5", False, marks=MORE),
        pytest.param("NVIDIA T1200 Laptop GPU", "7.5", False, marks=MORE),
        pytest.param("Quadro RTX 4000", "7.5", True, marks=MORE),
        pytest.param("Tesla P100", "6.0", False, marks=MORE),
    ],
)
def test_gpus_without_tensor_cores(publish: Publish, empty_library: Library, gpu: str, cc: str, has: bool) -> None:
    report = publish([launch(metrics={TENSOR: 0.0}, cc=cc, **MATMUL)], gpu)
    found = judged(empty_library, report, "profile_no_tensor_cores")
    assert (found.verdict == "fires", found.why == "This GPU has no tensor cores.") == (has, not has)

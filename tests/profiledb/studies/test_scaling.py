"""Runs on several GPUs, by hand: the grouping of reports, efficiency, losses, waits, bandwidths."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from profiledb.errors import NotCapturedError
from profiledb.studies.scaling import nccl, sentences
from profiledb.studies.scaling import rows as scaling_rows
from profiledb.studies.scaling import runs as scaling
from profiledb.studies.scaling.family import Named, find_family, join_overlapping, parse_name
from profiledb.studies.scaling.runs import PARTS, Run

OPS = ("step", "operation", "bytes", "duration_ns", "communicator", "ranks", "start_ns", "size_bytes", "pid", "gpu_id")
Op = tuple[int, str, int | None, int]
"""Step, operation, bytes, duration."""


def report(
    name: str, step_ns: int = 100, *, ops: Sequence[Op] = (), lanes: int = 1, steps: str = "ranges", **parts: int
) -> dict[str, Any]:
    """The answers of the analyses for a report: compute is the rest of a step."""
    rows = []
    for lane in range(lanes):
        known = dict.fromkeys((*PARTS, "hidden_ns"), 0) | {f"{key}_ns": value for key, value in parts.items()}
        known["compute_ns"] = step_ns - sum(known[part] for part in PARTS[1:])
        rows += [{"pid": 1, "gpu_id": lane, "step": n, "duration_ns": step_ns, **known} for n in (1, 2)]
    table = [(*op, "7", None, n, op[2], 1, 0) for n, op in enumerate(ops)]
    return {"name": name, "steps": steps, "split": pd.DataFrame(rows), "ops": pd.DataFrame(table, columns=list(OPS))}


def gather(*reports: dict[str, Any], meta: dict[str, dict[str, Any]] | None = None) -> tuple[list[Run], list[str]]:
    known = {one["name"]: one for one in reports}

    def answers(report_id: str) -> scaling.RunAnalysis:
        def run(name: str, steps: str, points: int = 0) -> pd.DataFrame:
            one = known[report_id]
            split: pd.DataFrame = one["split"]
            ops: pd.DataFrame = one["ops"]
            if name == "nccl_ops":
                assert points >= 10_000_000, "none may be left out"
                return ops
            if one["steps"] == "none":
                raise NotCapturedError("CUDA kernels: not in this report.")
            return split if steps == one["steps"] else split.iloc[:0]

        return run

    return scaling.gather_runs([parse_name(name, name, (meta or {}).get(name, {})) for name in known], answers)


@pytest.mark.parametrize(
    ("name", "run", "rank", "curve"),
    [
        ("ddp_strong_4_rank2.sqlite", "ddp_strong_4", 2, "ddp_strong"),
        ("train.rank0.nsys-rep", "train", 0, "train"),
        ("train-8-rank_11.qdrep", "train-8", 11, "train"),
        ("a_rank_3", "a", 3, "a"),
        ("ddp_1.sqlite", "ddp_1", None, "ddp"),
        ("bert_x8gpus.nsys-rep", "bert_x8gpus", None, "bert"),
        ("frank1.nsys-rep", "frank1", None, "frank"),
        ("rank1.nsys-rep", "rank1", None, "rank"),
        ("ddp_2_rank1.pt.trace.json.gz", "ddp_2 (trace)", 1, "ddp (trace)"),
        ("8", "8", None, "8"),
        ("run_48", "run_48", None, "run"),
        ("run_7.sqlite", "run_7", None, "run_7"),
        ("run_7gpus.sqlite", "run_7gpus", None, "run"),
        ("run_7_rank1.sqlite", "run_7", 1, "run"),
        ("run_0008.sqlite", "run_0008", None, "run_0008"),
        ("nightly_20261127.sqlite", "nightly_20261127", None, "nightly_20261127"),
    ],
)
def test_names(name: str, run: str, rank: int | None, curve: str) -> None:
    found = parse_name("id", name, {})
    assert (found.run, found.rank, found.curve) == (run, rank, curve)


def test_a_number_counts_ranks_if_the_program_tells_them() -> None:
    assert parse_name("id", "run_7", {"ranks": "7"}).curve == "run"


def test_facts_that_make_no_sense_tell_nothing() -> None:
    found = parse_name(
        "id", "a_rank1", {"ranks": "many", "scaling": "sideways", "items_per_step.tokens": "nan", "rank": None}
    )
    assert (found.size, found.scaling, found.items, found.rank) == (None, "", None, 1)
    found = parse_name("id", "a", {"ranks": "4", "rank": "3", "items_per_step.tokens": "64", "scaling": "Weak"})
    assert (found.size, found.scaling, found.items, found.rank) == (4, "weak", (64.0, "tokens"), 3)


def test_a_family_is_of_one_program_or_one_name() -> None:
    ddp = [parse_name(n, n, {"workload": "ddp", "ranks": "2"}) for n in ("ddp_1", "ddp_strong_2_rank0", "else_2")]
    plain = [parse_name(n, n, {}) for n in ("train_1", "train_4_rank0", "other_1")]
    ids = [[one.id for one in find_family(chosen, [*ddp, *plain])] for chosen in (ddp[0], plain[0], plain[2])]
    assert ids == [["ddp_1", "ddp_strong_2_rank0", "else_2"], ["train_1", "train_4_rank0"], ["other_1"]]


def test_strong_and_weak_efficiency_and_what_was_lost() -> None:
    meta = {f"s_4_rank{n}": {"scaling": "strong", "ranks": "4", "items_per_step.t": "10"} for n in range(4)}
    meta |= {f"w_4_rank{n}": {"scaling": "weak", "ranks": "4", "items_per_step.t": "40"} for n in range(4)}
    strong = [report(f"s_4_rank{n}", 40 + (n == 3) * 4, exposed=10, idle=3, hidden=5) for n in range(4)]
    weak = [report(f"w_4_rank{n}", 110, exposed=8, copy=2) for n in range(4)]
    one = report("one_1", 100, idle=4)
    runs, left = gather(one, *strong, *weak, meta=meta | {"one_1": {"ranks": "1", "items_per_step.t": "40"}})
    assert left == []
    rows = scaling_rows.run_rows(runs).set_index("run")
    assert rows.loc["s_4", "step_ns"] == 41
    assert rows.loc["s_4", "slowest_ns"] == 44
    assert rows.loc["s_4", "efficiency_pct"] == pytest.approx(100 * 100 / (4 * 41))
    assert rows.loc["s_4", "speedup"] == pytest.approx(100 / 41)
    assert rows.loc["w_4", "efficiency_pct"] == pytest.approx(100 * 100 / 110)
    assert rows.loc["w_4", "speedup"] == pytest.approx(4 * 100 / 110)
    assert rows.loc["s_4", "lost_ns"] == 16
    assert [rows.loc["s_4", f"lost_{part}"] for part in PARTS] == [28 - 24, 10, 0, 3 - 1]
    assert [rows.loc["w_4", f"lost_{part}"] for part in PARTS] == [100 - 96, 8, 2, -4]
    assert rows.loc["s_4", "items_per_s"] == pytest.approx(40 / 41e-9)
    assert rows.loc["one_1", "efficiency_pct"] is pd.NA
    said = sentences.state_efficiency(rows.reset_index())
    assert "Efficiency on 4 ranks: w_4 90.9 % (weak), s_4 61.0 % (strong)." in said
    assert "16 ns longer than ideal" in said
    assert "10 ns exposed communication, 4 ns compute" in said


def test_another_amount_of_work_is_no_base() -> None:
    meta = {"a_1": {"items_per_step.t": "40"}, "a_2": {"items_per_step.t": "30", "ranks": "2", "scaling": "strong"}}
    runs, _ = gather(report("a_1"), report("a_2", 50), meta=meta)
    assert scaling_rows.run_rows(runs)["efficiency_pct"].isna().all()
    assert sentences.state_efficiency(scaling_rows.run_rows(runs)) == ""


def test_items_tell_the_kind_and_else_the_reader_does() -> None:
    for items, kind in (("20", "strong"), ("40", "weak")):
        meta = {"a_1": {"items_per_step.t": "40"}, "a_2": {"items_per_step.t": items, "ranks": "2"}}
        runs, _ = gather(report("a_1"), report("a_2", 60), meta=meta)
        assert scaling_rows.run_rows(runs, "strong")["scaling"].iloc[1] == kind
    runs, _ = gather(report("a_1"), report("a_2_rank0", 60), report("a_2_rank1", 60))
    for assumed, efficiency in (("strong", 100 * 100 / 120), ("weak", 100 * 100 / 60)):
        row = scaling_rows.run_rows(runs, assumed).iloc[1]
        assert (row["scaling"], row["efficiency_pct"]) == (assumed, pytest.approx(efficiency))


def test_what_tells_the_kind_is_said() -> None:
    """The work of a step overrides the program's word; without either, the sentence says that one is assumed."""
    for items, kind, words_ in (
        ("20", "strong", "share 40 t per step, as many as in a_1."),
        ("40", "weak", "has 40 t per step"),
    ):
        meta = {
            "a_1": {"items_per_step.t": "40"},
            "a_2": {"items_per_step.t": items, "ranks": "2", "scaling": "strong"},
        }
        runs, _ = gather(report("a_1"), report("a_2", 60), meta=meta)
        assert scaling_rows.run_rows(runs)["scaling"].iloc[1] == kind
        (said,) = sentences.state_kinds(runs, "strong")
        assert said.startswith(f"a_2 is {kind} scaling: ")
        assert words_ in said
    runs, _ = gather(report("a_1"), report("a_2", 60), meta={"a_2": {"ranks": "2", "scaling": "weak"}})
    assert (scaling_rows.run_rows(runs)["scaling"].iloc[1], sentences.state_kinds(runs, "strong")) == ("weak", [])
    runs, _ = gather(report("a_1"), report("a_2", 60), meta={"a_2": {"ranks": "2"}})
    (said,) = sentences.state_kinds(runs, "weak")
    assert said.startswith("Assuming weak scaling for a_2: ")
    assert "--scaling strong" in said


def test_ranks_that_are_missing_twice_or_in_one_report() -> None:
    runs, left = gather(
        report("a_4_rank1"), report("b_rank0"), report("b.rank0"), report("multi", lanes=3),
        report("none", steps="none"),
        meta={"a_4_rank1": {"ranks": "4"}},
    )  # fmt: skip
    sizes = {run.name: (run.size, [rank.number for rank in run.ranks], run.whole) for run in runs}
    assert sizes == {"a_4": (4, [1], False), "b": (1, [0], True), "multi": (3, [0, 1, 2], True)}
    assert len(left) == 2
    assert "another report of rank 0 of b" in left[0]
    assert left[1] == "none is excluded: CUDA kernels: not in this report."
    assert sentences.state_gaps(runs)[0].startswith("a_4: reports of 1 of 4 ranks")


def test_without_steps_there_is_no_efficiency() -> None:
    runs, _ = gather(report("a_1"), report("a_2_rank0", 50, steps="nothing"), report("a_2_rank1", 50))
    row = scaling_rows.run_rows(runs).iloc[1]
    assert row["step_ns"] is pd.NA
    assert row["efficiency_pct"] is pd.NA
    assert "no steps found" in sentences.state_gaps(runs)[0]
    assert sentences.state_parts(runs[0]).startswith("Steps of a_1 take 100 ns: compute 100.0 %, exposed")
    assert sentences.state_parts(runs[1]) == "a_2: not every rank has steps, so there are no times per step."
    ((run,), _) = gather(report("b", 50, steps="nothing"))
    assert "From first to last kernel it takes 50 ns: compute 100.0 %" in sentences.state_parts(run)


TWO = [(1, "AllReduce", 100, 30), (1, "AllReduce", 100, 12), (2, "AllReduce", 100, 20), (2, "SendRecv", 8, 5)]


def waits_of(*ranks: Sequence[Op], **meta: Any) -> tuple[Run, pd.DataFrame]:
    reports = [report(f"a_rank{n}", 1000, ops=ops) for n, ops in enumerate(ranks)]
    ((run,), _) = gather(*reports, meta={one["name"]: meta for one in reports})
    return run, nccl.wait_rows(run)


def test_the_last_to_come_does_not_wait() -> None:
    other = [(1, "AllReduce", 100, 10), (1, "AllReduce", 100, 40), (2, "AllReduce", 100, 20), (2, "SendRecv", 8, 50)]
    run, rows = waits_of(TWO, other)
    assert list(rows["wait_ns"]) == [20, 28]
    assert list(rows["wait_step_ns"]) == [10, 14]
    assert list(rows["last"]) == [2, 2], "of equal ones both"
    table = nccl.build_operations(run).set_index("operation")
    reduced = table.loc["AllReduce"]
    assert (reduced["count"], reduced["matched"], reduced["transfer_ns"], reduced["wait_ns"]) == (
        3,
        3,
        10 + 12 + 20,
        24,
    )
    assert reduced["algbw_gb_per_s"] == pytest.approx(300 / 42)
    assert reduced["busbw_gb_per_s"] == pytest.approx(300 / 42), "2 (n - 1) / n is 1 for two"
    assert table.loc["SendRecv", "transfer_ns"] is pd.NA, "a rank's nth send is not another's"


def test_operations_that_are_not_on_every_rank_are_left_out() -> None:
    run, rows = waits_of(TWO, TWO[:1], TWO[:1])
    assert list(rows["matched"]) == [1, 1, 1]
    assert nccl.build_operations(run)["matched"].sum() == 1
    run, rows = waits_of(TWO)
    assert rows.empty
    assert nccl.build_operations(run)["transfer_ns"].isna().all()
    assert nccl.find_last(run, rows) is None


@pytest.mark.parametrize(
    ("waits", "expected"),
    [([100, 90, 2], 2), ([100, 90, 60], None), ([9, 9, 0], None), ([50, 50, 25], 2), ([50, 50, 26], None)],
)
def test_the_last_rank_is_one_by_a_clear_difference(waits: list[int], expected: int | None) -> None:
    ranks = [[(1, "AllReduce", 1, 10 + 2 * wait)] for wait in waits]
    fastest = [(1, "AllReduce", 1, 10)]
    run, _ = waits_of(*ranks, fastest)
    rows = pd.DataFrame({"rank": range(3), "wait_step_ns": waits})
    assert nccl.find_last(run, rows) == expected


def test_parts_of_ranks_and_factors_of_the_bus() -> None:
    gather_ops = [(1, "AllGather", 100, 10)]
    run, _ = waits_of(*[gather_ops] * 4)
    (row,) = nccl.build_operations(run).to_dict("records")
    assert row["bytes"] == 400
    assert row["busbw_gb_per_s"] == pytest.approx(400 / 10 * 3 / 4)
    factors = {op: nccl.compute_bus_factor(op, 4) for op in ("AllReduce", "ReduceScatter", "Broadcast", "SendRecv")}
    assert factors == {"AllReduce": 1.5, "ReduceScatter": 0.75, "Broadcast": 1, "SendRecv": 1}


def test_bytes_that_nobody_tells_stay_unknown() -> None:
    run, rows = waits_of([(1, "AllReduce", None, 5)], [(1, "AllReduce", None, 9)])
    assert list(rows["wait_ns"]) == [0, 4]
    assert nccl.build_operations(run)["algbw_gb_per_s"].isna().all()
    assert nccl.lacks_sizes([run])
    assert not nccl.lacks_sizes([waits_of(TWO)[0]])


def test_named_is_what_a_cache_can_tell_apart() -> None:
    assert parse_name("a", "x", {}) == parse_name("a", "x", {})
    assert isinstance(hash(parse_name("a", "x", {"ranks": 2})), int)
    assert parse_name("a", "x", {}) != parse_name("a", "x", {"ranks": 2})
    assert isinstance(parse_name("a", "x", {}), Named)


def test_numbers_in_a_group_match_operations_whatever_their_order() -> None:
    """Two groups of the same two ranks; one rank starts with another operation. Only operations of both ranks count."""
    frames = []
    for rank, numbers in enumerate(([4, 5, 6], [5, 4])):
        ops = [(1, "AllReduce", 100 + 50 * number, 10 * number + rank) for number in numbers]
        one = report(f"a_rank{rank}", 1000, ops=ops)
        one["ops"]["sequence"] = numbers
        frames.append(one)
    ((run,), _) = gather(*frames)
    found = nccl.match_operations(run).sort_values(["sequence", "rank"])
    assert list(zip(found["sequence"], found["rank"], found["wait_ns"], strict=True)) == [
        (4, 0, 0), (4, 1, 1), (5, 0, 0), (5, 1, 1)
    ]  # fmt: skip
    assert list(nccl.build_sizes(run)["size_bytes"]) == [300, 350]
    assert nccl.estimate_uncertainty(run) is None, "too few operations"


@pytest.mark.parametrize(("late", "expected"), [([0] * 6, 0.0), ([0, 0, 0, 0, 0, 8], 6.0)])
def test_clocks_are_aligned_by_the_ends_of_operations(late: list[int], expected: float) -> None:
    """The clock of rank 1 is 1,000 ns ahead; the remainder is the distance between the ends."""
    ranks = []
    for number, shift in enumerate(([0] * 6, [1000 + ns for ns in late])):
        one = report(f"a_rank{number}", 1000, ops=[(1, "AllReduce", 100 + n, 50) for n in range(6)])
        one["ops"]["start_ns"] = [100 * n + ns for n, ns in enumerate(shift)]
        ranks.append(one)
    ((run,), _) = gather(*ranks)
    assert nccl.estimate_uncertainty(run) == pytest.approx(expected)


def trace(name: str, rank: int, begin: int, ranks: int = 2) -> Named:
    return parse_name(
        name, f"{name}.pt.trace.json.gz", {}, {"rank": rank, "ranks": ranks, "begin_ns": begin, "end_ns": begin + 100}
    )


def test_traces_of_ranks_that_overlap_are_one_run() -> None:
    """torch's own handler names files by host and process; rank, world size and time identify the run."""
    every = [
        trace("host_12.1", 1, 50),
        trace("host_11.1", 0, 0),
        trace("host_31.2", 0, 1000),
        trace("host_32.2", 1, 1090),
    ]
    assert [one.run.removesuffix(" (trace)") for one in join_overlapping(every)] == [
        "host_11.1",
        "host_11.1",
        "host_31.2",
        "host_31.2",
    ]
    assert [one.id for one in find_family(join_overlapping(every)[0], join_overlapping(every))] == [
        "host_12.1",
        "host_11.1",
    ]
    twice = [trace("a", 0, 0), trace("b", 0, 50), trace("c", 1, 50)]
    assert [one.run.removesuffix(" (trace)") for one in join_overlapping(twice)] == ["a", "b", "c"], (
        "nothing tells which of both rank 1 ran with"
    )
    assert join_overlapping([trace("a", 0, 0), trace("b", 1, 50, ranks=4)])[1].run == "b (trace)"

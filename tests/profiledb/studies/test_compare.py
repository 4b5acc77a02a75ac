"""Two reports side by side: small cases by hand, the sample pair against SQL on the exports, the command line."""

import json
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pandas as pd
import pytest

from profiledb.access.cli import compare as cli_compare
from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.compare import columns as compare_columns
from profiledb.studies.compare import matching, verdict
from profiledb.studies.compare import rows as compare_rows
from profiledb.studies.compare import totals as compare_summary
from profiledb.studies.compare.matching import Basis, Side
from tests.support.comparison import command, process, side
from tests.support.page_reports import H100, V100, Fill, Publish, insert, kernel, make_publisher, name, records

NAMES = {
    "gemm": name(1, "gemm", "matmul", "void gemm<(int)4>(const float *)"),
    "relu": name(2, "relu", "elementwise", "relu(int)", "_Z4relui"),
    "old": name(3, "old"),
    "fresh": name(4, "fresh"),
}
OTHERS = NAMES | {  # the same kernels as another profiler writes them, with other numbers
    "gemm": name(8, "gemm", "matmul", "gemm<4>(float const*)"),
    "relu": name(9, "relu_renamed", "elementwise", "relu_renamed(int)", "_Z4relui"),
}


def filled(
    kernels: Sequence[tuple[str, int]], names: dict[str, dict[str, Any]], gpu: Any = H100, steps: int = 0
) -> Fill:
    """A report of kernels (name, duration in ns) that begin every 1,000 ns, and of steps around the first of them."""

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": 100_000, "duration_ns": 100_000}])
        insert(db, "gpu", [gpu])
        insert(db, "kernel_name", [names[one] for one in {one: 0 for one, _ in kernels}])
        rows = [kernel(n, names[one]["name_id"], 1000 * n, 1000 * n + ns) for n, (one, ns) in enumerate(kernels)]
        rows = [row | {"thread_range": n, "process_range": n} if n < steps else row for n, row in enumerate(rows)]
        insert(db, "kernel", rows)
        insert(db, "busy", [{"device_id": 0, "start_ns": r["start_ns"], "end_ns": r["end_ns"]} for r in rows])
        if steps:
            insert(db, "range_name", [{"name_id": 1, "name": "step", "text": "step"}])
            insert(db, "range_path", [{"path_id": 1, "name": "step", "path": "step", "level": 0}])
            place = {"path_id": 1, "name_id": 1, "global_tid": 1, "closed": True, "level": 0, "style": "PushPop"}
            insert(db, "range", [
                place | {"range_id": n, "pre": n, "post": n, "start_ns": 1000 * n, "end_ns": 1000 * n + 500}
                for n in range(steps)
            ])  # fmt: skip
            ran = [
                {"range_id": n, "mode": mode, "start_ns": 1000 * n, "end_ns": 1000 * n + ns, "busy_ns": ns,
                 "kernel_ns": ns, "operations": 1}
                for n, (_, ns) in enumerate(kernels[:steps]) for mode in ("thread", "process")
            ]  # fmt: skip
            insert(db, "projection", ran)

    return fill


BEFORE = [("gemm", 100), ("gemm", 300), ("relu", 50), ("old", 70)]
AFTER = [("gemm", 300), ("gemm", 300), ("relu", 50), ("relu", 50), ("fresh", 20)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Side, Side]:
    folder = tmp_path_factory.mktemp("pair")
    library = Library(folder / "library")
    publish = make_publisher(library, folder)
    return side(library, publish(filled(BEFORE, NAMES))), side(library, publish(filled(AFTER, OTHERS)))


def by_name(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in records(rows)}


def test_kernels_by_hand(pair: tuple[Side, Side]) -> None:
    assert matching.choose_basis(*pair) == "total"
    rows = by_name(compare_rows.compare_kernels(*pair, "total"))
    assert list(rows) == ["gemm", "old", "relu_renamed", "fresh"], "the largest change first"
    slower = rows["gemm"]
    assert (slower["status"], slower["a_total_ns"], slower["b_total_ns"], slower["change_ns"]) == (
        "same",
        400,
        600,
        200,
    )
    assert (slower["change_pct"], slower["a_avg_ns"], slower["b_avg_ns"], slower["avg_change_pct"]) == (
        50,
        200,
        300,
        50,
    )
    assert (slower["more_calls_ns"], slower["longer_ns"], slower["verdict"]) == (0, 200, "too few launches")
    assert (slower["a_kernel"], slower["b_kernel"]) == (1, 8)
    more = rows["relu_renamed"]
    assert (more["status"], more["a_calls"], more["b_calls"]) == ("same", 1, 2), "by the mangled name"
    assert (more["more_calls_ns"], more["longer_ns"], more["avg_change_pct"]) == (50, 0, 0)
    gone, new = rows["old"], rows["fresh"]
    assert (gone["status"], gone["change_ns"], gone["b_total_ns"], gone["verdict"]) == ("gone", -70, None, None)
    assert (new["status"], new["change_ns"], new["a_total_ns"], new["change_pct"]) == ("new", 20, None, None)
    assert sum(row["change_ns"] for row in rows.values()) == pair[1].kernel_ns - pair[0].kernel_ns == 200
    assert slower["a_share_pct"] == pytest.approx(400 / 520 * 100)
    assert sum(row["share_change_points"] for row in rows.values()) == pytest.approx(0)


def test_the_same_report_has_no_change(pair: tuple[Side, Side]) -> None:
    rows = compare_rows.compare_kernels(pair[0], pair[0], "total")
    assert set(rows["status"]) == {"same"}
    assert (rows["change_ns"] == 0).all()
    assert (rows["avg_change_pct"] == 0).all()


def test_enough_calls_have_a_verdict(library: Library, publish: Publish) -> None:
    a = [("gemm", 100 + n % 3) for n in range(20)] + [("relu", 50 + n % 9) for n in range(20)]
    b = [("gemm", 110 + n % 3) for n in range(20)] + [("relu", 50 + (n + 4) % 9) for n in range(20)]
    sides = side(library, publish(filled(a, NAMES))), side(library, publish(filled(b, OTHERS)))
    rows = by_name(compare_rows.compare_kernels(*sides, "total"))
    assert rows["gemm"]["verdict"] == "slower"
    assert rows["gemm"]["low_pct"] <= rows["gemm"]["avg_change_pct"] <= rows["gemm"]["high_pct"]
    assert rows["relu_renamed"]["verdict"] == "not significant"
    assert by_name(compare_rows.compare_kernels(*sides[::-1], "total"))["gemm"]["verdict"] == "faster"


@pytest.mark.parametrize("basis", matching.BASES)
def test_swapped_sides_are_the_mirror_image(pair: tuple[Side, Side], basis: Basis) -> None:
    there = compare_rows.compare_kernels(*pair, basis).set_index(["a_kernel", "b_kernel"])
    back = compare_rows.compare_kernels(*pair[::-1], basis).set_index(["b_kernel", "a_kernel"]).loc[list(there.index)]
    assert list(back["status"]) == [{"new": "gone", "gone": "new"}.get(one, one) for one in there["status"]]
    for column in ("change_ns", "share_change_points"):
        assert list(back[column]) == pytest.approx([-value for value in there[column]])
    for column in ("total_ns", "calls", "avg_ns", "share_pct", "median_ns"):
        for mine, theirs in (("a", "b"), ("b", "a")):
            left, right = back[f"{mine}_{column}"].fillna(-1), there[f"{theirs}_{column}"].fillna(-1)
            assert list(left) == list(right), column


def test_a_step_holds_only_what_lies_inside_steps(library: Library, publish: Publish) -> None:
    a = side(library, publish(filled([("gemm", 100)] * 4 + [("relu", 50), ("gemm", 900)], NAMES, steps=4)))
    b = side(library, publish(filled([("gemm", 120)] * 8 + [("old", 7000)], NAMES, steps=8)))
    assert (a.steps, b.steps, matching.choose_basis(a, b)) == (4, 8, "step")
    (row,) = records(compare_rows.compare_kernels(a, b, "step"))
    assert (row["a_total_ns"], row["b_total_ns"], row["change_ns"], row["b_calls"]) == (100, 120, 20, 1)
    assert (row["a_avg_ns"], row["b_avg_ns"], row["a_share_pct"]) == (100, 120, 100), "of the calls inside"
    drawn = compare_rows.sample_durations(a, b, "step", compare_rows.compare_kernels(a, b, "step").iloc[0])
    assert [sorted(one) for one in drawn] == [[100] * 4, [120] * 8]
    (phase,) = records(compare_rows.compare_phases(a, b, "step"))
    assert (phase["pattern"], phase["a_instances"], phase["b_cpu_ns"]) == ("step", 1, 500)
    totals = compare_summary.summarize(a, b).set_index("measure")
    assert list(totals.loc["kernel_ns_per_step", ["a", "b"]]) == [100, 120]
    assert list(totals.loc["launches_per_step", ["a", "b"]]) == [1, 1]
    assert list(totals.loc["kernel_ns_outside_steps", ["a", "b"]]) == [950, 7000]
    assert list(totals.loc["launches_outside_steps", ["a", "b"]]) == [2, 1]
    assert list(totals.loc["kernel_ns", ["a", "b"]]) == [1350, 7960]
    assert verdict.state_outside(a, b).startswith("Outside steps: kernels 950 ns in A, 7.00 µs in B.")


def test_wall_time_is_idle_time_and_busy_time(library: Library, publish: Publish) -> None:
    a = side(library, publish(filled([("gemm", 100)] * 4, NAMES, steps=4)))
    b = side(library, publish(filled([("gemm", 900)] * 4, NAMES, steps=4)))
    found = verdict.find_changes(a, b)
    assert (found["wall"].a, found["busy"].a, found["idle"].a) == (500, 100, 400)
    assert (found["wall"].b, found["busy"].b, found["idle"].b) == (900, 900, 0), "until its last operation has ended"
    assert verdict.state_headline(a, b) == (
        "B is slower (1.8×): 500 ns → 900 ns wall time per step (+80.0 %)."
    )  # fmt: skip
    assert verdict.explain_change(a, b) == "Wall time +400 ns, of which kernels +800 ns, idle −400 ns."
    assert verdict.state_headline(a, a) == "B takes as long as A: 500 ns per step."
    assert verdict.explain_change(a, a) == ""


def test_without_steps_the_time_of_the_selection_decides(pair: tuple[Side, Side]) -> None:
    assert verdict.find_changes(*pair)["wall"] == verdict.Change("wall", 100_000, 100_000)
    assert verdict.state_headline(*pair) == "B takes as long as A: 100 µs in the selection."
    assert verdict.state_outside(*pair) == ""
    above, words = verdict.check_limit(*pair, 5, "kernels")
    assert (above, words) == (
        True,
        "Kernel time in the selection: 520 ns in A, 720 ns in B, +38.46 %: above the limit of +5 % (--metric kernels).",
    )


def test_the_command_line_offers_all_metrics() -> None:
    assert tuple(verdict.METRICS) == cli_compare.METRICS
    assert {sums for sums, _ in verdict.METRICS.values()} <= set(compare_summary.SUMS)


def test_different_gpus_compare_shares(library: Library, publish: Publish) -> None:
    a, b = (side(library, publish(filled(BEFORE, NAMES, gpu))) for gpu in (H100, V100))
    assert matching.has_other_gpus(a, b)
    assert matching.choose_basis(a, b) == "share"
    assert matching.choose_basis(a, b, "total") == "total"
    with pytest.raises(AnalysisError, match="steps"):
        matching.choose_basis(a, b, "step")


def test_different_gpus_tell_what_they_have_in_common(library: Library, publish: Publish) -> None:
    """Kernels of both reports take 450 of 520 ns and 700 of 720 ns."""
    sides = (side(library, publish(filled(BEFORE, NAMES, H100))), side(library, publish(filled(AFTER, OTHERS, V100))))
    assert verdict.state_scope(*sides) == (
        "Kernels of the same name take 86.5 % of the kernel time of A and 97.2 % of B. Compare classes, phases and"
        " steps; of single kernels, only these."
    )
    assert verdict.state_scope(sides[0], sides[0]) == ""


def test_kernels_of_one_normal_name_are_one_row(library: Library, publish: Publish) -> None:
    before = {"x": name(1, "f", demangled="f<1>(int)"), "y": name(2, "f", demangled="f<1>(float)")}
    after = {"x": name(1, "f", demangled="void f<(int)1>(T1)")}
    a = side(library, publish(filled([("x", 10), ("y", 30), ("y", 30)], before)))
    b = side(library, publish(filled([("x", 40)], after)))
    (row,) = records(compare_rows.compare_kernels(a, b, "total"))
    assert (row["a_kernels"], row["a_total_ns"], row["a_calls"], row["change_ns"]) == (2, 70, 3, -30)
    drawn, _ = compare_rows.sample_durations(a, b, "total", compare_rows.compare_kernels(a, b, "total").iloc[0])
    assert sorted(drawn) == [10, 30, 30]


def test_a_sample_is_whole_or_of_2000_and_the_same_each_time(library: Library, publish: Publish) -> None:
    many = publish(filled([("gemm", n % 97 + 1) for n in range(2500)] + [("relu", 5)] * 3, NAMES))
    rows = analysis.run(library, many, "kernel_sample")
    assert rows.groupby("kernel").size().to_dict() == {1: 2000, 2: 3}
    assert rows.equals(analysis.run(library, many, "kernel_sample"))
    early = analysis.run(library, many, "kernel_sample", {"to_ns": 100_000})
    assert early.groupby("kernel").size().to_dict() == {1: 100}


def test_columns_are_documented(pair: tuple[Side, Side]) -> None:
    a, b = pair
    found = {
        "kernels": compare_rows.compare_kernels(a, b, "total"),
        "phases": compare_rows.compare_phases(a, b, "total"),
    }
    found |= {"copies": compare_rows.compare_copies(a, b, "total"), "summary": compare_summary.summarize(a, b)}
    for table, columns in compare_columns.TABLES.items():
        assert list(found[table].columns) == compare_columns.list_names(columns)
        assert all(column.help for column in columns)


@pytest.mark.parametrize("ask", [command, pytest.param(process, marks=pytest.mark.slow("starts a process"))])
def test_the_limit_and_its_exit_status(
    library: Library, publish: Publish, ask: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    a = publish(filled([("gemm", 1000)] * 4, NAMES, steps=4))
    b = publish(filled([("gemm", 1040)] * 8, NAMES, steps=8))
    argv = (a, b, "--metric", "kernels", "--fail-above")
    within = command(library, *argv, "5%", "--format", "json")
    assert within.returncode == 0
    assert "+4.00 %: within the limit of +5 %" in within.stderr
    (row,) = json.loads(within.stdout)
    assert (row["a_total_ns"], row["b_total_ns"]) == (1000, 1040)
    above = ask(library, *argv, "3.5")
    assert above.returncode == 1
    assert "Kernel time per step: 1.00 µs in A, 1.04 µs in B, +4.00 %: above the limit" in above.stderr
    assert above.stdout.startswith("status,name,class,change_ns")
    assert "copy time" not in above.stderr
    lacking = command(library, a, b, "--metric", "copies", "--fail-above", "5")
    assert (lacking.returncode, "Copy time of A is not in its report" in lacking.stderr) == (2, True)
    alone = command(library, a, b, "--metric", "copies")
    assert (alone.returncode, "--fail-above" in alone.stderr) == (2, True)


def test_an_error_is_no_limit_that_was_not_held(library: Library, publish: Publish) -> None:
    a = publish(filled([("gemm", 100)], NAMES))
    none = publish(lambda db: insert(db, "report", [{"kind": "nsys"}]))
    for argv in ((a, none), (a, "nothing"), (a, a, "--fail-above", "many"), (a, a, "--param", "range=nothing")):
        done = command(library, *argv)
        assert (done.returncode, done.stdout) == (2, ""), argv
        assert "Traceback" not in done.stderr
    empty = command(library, a, a, "--other-param", "from_ns=50000", "--fail-above", "5")
    assert (empty.returncode, "selection of B" in empty.stderr) == (2, True)

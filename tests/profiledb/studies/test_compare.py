"""Two reports side by side: small cases by hand, the sample pair against SQL over the exports, the command line."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import duckdb
import pandas as pd
import pytest

from profiledb.errors import AnalysisError
from profiledb.query import analysis
from profiledb.report.library import Library
from profiledb.studies.compare import columns as compare_columns
from profiledb.studies.compare import matching
from profiledb.studies.compare import rows as compare_rows
from profiledb.studies.compare import totals as compare_summary
from profiledb.studies.compare.matching import Basis, Side
from tests.conftest import ROOT, SAMPLES
from tests.support.page_reports import (
    H100,
    V100,
    Fill,
    Publish,
    insert,
    kernel,
    make_library,
    make_publish,
    name,
    records,
)

__all__ = ["make_library", "make_publish"]  # fixtures

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
    """A report of kernels (name, duration in ns) that begin every 1,000 ns, and of steps around nothing."""

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": 100_000, "duration_ns": 100_000}])
        insert(db, "gpu", [gpu])
        insert(db, "kernel_name", [names[one] for one in {one: 0 for one, _ in kernels}])
        rows = [kernel(n, names[one]["name_id"], 1000 * n, 1000 * n + ns) for n, (one, ns) in enumerate(kernels)]
        insert(db, "kernel", rows)
        insert(db, "busy", [{"device_id": 0, "start_ns": r["start_ns"], "end_ns": r["end_ns"]} for r in rows])
        if steps:
            insert(db, "range_name", [{"name_id": 1, "name": "step", "text": "step"}])
            insert(db, "range_path", [{"path_id": 1, "name": "step", "path": "step", "level": 0}])
            place = {"path_id": 1, "name_id": 1, "global_tid": 1, "closed": True, "level": 0, "style": "PushPop"}
            insert(db, "range", [
                place | {"range_id": n, "pre": n, "post": n, "start_ns": 100 * n, "end_ns": 100 * n + 90}
                for n in range(steps)
            ])  # fmt: skip

    return fill


def side(library: Library, report_id: str, **params: Any) -> Side:
    return matching.gather(lambda one: analysis.run(library, report_id, one, params))


BEFORE = [("gemm", 100), ("gemm", 300), ("relu", 50), ("old", 70)]
AFTER = [("gemm", 300), ("gemm", 300), ("relu", 50), ("relu", 50), ("fresh", 20)]


@pytest.fixture
def pair(library: Library, publish: Publish) -> tuple[Side, Side]:
    return side(library, publish(filled(BEFORE, NAMES))), side(library, publish(filled(AFTER, OTHERS)))


def by_name(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in records(rows)}


def test_kernels_by_hand(pair: tuple[Side, Side]) -> None:
    assert matching.choose_basis(*pair) == "total"
    rows = by_name(compare_rows.kernels(*pair, "total"))
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
    assert (slower["more_calls_ns"], slower["longer_ns"], slower["verdict"]) == (0, 200, "too few calls")
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
    rows = compare_rows.kernels(pair[0], pair[0], "total")
    assert set(rows["status"]) == {"same"}
    assert (rows["change_ns"] == 0).all()
    assert (rows["avg_change_pct"] == 0).all()


def test_enough_calls_have_a_verdict(library: Library, publish: Publish) -> None:
    a = [("gemm", 100 + n % 3) for n in range(20)] + [("relu", 50 + n % 9) for n in range(20)]
    b = [("gemm", 110 + n % 3) for n in range(20)] + [("relu", 50 + (n + 4) % 9) for n in range(20)]
    sides = side(library, publish(filled(a, NAMES))), side(library, publish(filled(b, OTHERS)))
    rows = by_name(compare_rows.kernels(*sides, "total"))
    assert rows["gemm"]["verdict"] == "slower"
    assert rows["gemm"]["low_pct"] <= rows["gemm"]["avg_change_pct"] <= rows["gemm"]["high_pct"]
    assert rows["relu_renamed"]["verdict"] == "not significant"
    assert by_name(compare_rows.kernels(*sides[::-1], "total"))["gemm"]["verdict"] == "faster"


@pytest.mark.parametrize("basis", matching.BASES)
def test_swapped_sides_are_the_mirror_image(pair: tuple[Side, Side], basis: Basis) -> None:
    there = compare_rows.kernels(*pair, basis).set_index(["a_kernel", "b_kernel"])
    back = compare_rows.kernels(*pair[::-1], basis).set_index(["b_kernel", "a_kernel"]).loc[list(there.index)]
    assert list(back["status"]) == [{"new": "gone", "gone": "new"}.get(one, one) for one in there["status"]]
    for column in ("change_ns", "share_change_points"):
        assert list(back[column]) == pytest.approx([-value for value in there[column]])
    for column in ("total_ns", "calls", "avg_ns", "share_pct", "median_ns"):
        for mine, theirs in (("a", "b"), ("b", "a")):
            left, right = back[f"{mine}_{column}"].fillna(-1), there[f"{theirs}_{column}"].fillna(-1)
            assert list(left) == list(right), column


def test_unequal_steps_compare_a_step(library: Library, publish: Publish) -> None:
    a = side(library, publish(filled([("gemm", 100)] * 4, NAMES, steps=4)))
    b = side(library, publish(filled([("gemm", 120)] * 8, NAMES, steps=8)))
    assert (a.steps, b.steps, matching.choose_basis(a, b)) == (4, 8, "step")
    (row,) = records(compare_rows.kernels(a, b, "step"))
    assert (row["a_total_ns"], row["b_total_ns"], row["change_ns"], row["b_calls"]) == (100, 120, 20, 1)
    (phase,) = records(compare_rows.phases(a, b, "step"))
    assert (phase["pattern"], phase["a_instances"], phase["b_cpu_ns"]) == ("step", 1, 90)
    totals = compare_summary.summary(a, b).set_index("measure")
    assert (totals["a"]["kernel_ns_per_step"], totals["b"]["kernel_ns_per_step"]) == (100, 120)
    assert (totals["a"]["busy_pct"], totals["a"]["idle_ns"]) == (pytest.approx(0.4), 99_600)


def test_different_gpus_compare_shares(library: Library, publish: Publish) -> None:
    a, b = (side(library, publish(filled(BEFORE, NAMES, gpu))) for gpu in (H100, V100))
    assert matching.other_gpus(a, b)
    assert matching.choose_basis(a, b) == "share"
    assert matching.choose_basis(a, b, "total") == "total"
    with pytest.raises(AnalysisError, match="steps"):
        matching.choose_basis(a, b, "step")


def test_kernels_of_one_normal_name_are_one_row(library: Library, publish: Publish) -> None:
    before = {"x": name(1, "f", demangled="f<1>(int)"), "y": name(2, "f", demangled="f<1>(float)")}
    after = {"x": name(1, "f", demangled="void f<(int)1>(T1)")}
    a = side(library, publish(filled([("x", 10), ("y", 30), ("y", 30)], before)))
    b = side(library, publish(filled([("x", 40)], after)))
    (row,) = records(compare_rows.kernels(a, b, "total"))
    assert (row["a_kernels"], row["a_total_ns"], row["a_calls"], row["change_ns"]) == (2, 70, 3, -30)
    drawn, _ = compare_rows.samples(a, b, compare_rows.kernels(a, b, "total").iloc[0])
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
    found = {"kernels": compare_rows.kernels(a, b, "total"), "phases": compare_rows.phases(a, b, "total")}
    found |= {"copies": compare_rows.copies(a, b, "total"), "summary": compare_summary.summary(a, b)}
    for table, columns in compare_columns.TABLES.items():
        assert list(found[table].columns) == compare_columns.names(columns)
        assert all(column.help for column in columns)


TRAINING, INFERENCE = "transformer_training.nsys-rep", "transformer_inference.nsys-rep"
RAW = """
SELECT s.value, sum(k.end - k.start), count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k
JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value
"""


def raw(report: str, query: str = RAW) -> list[Any]:
    with closing(sqlite3.connect(SAMPLES / report.replace(".nsys-rep", ".sqlite"))) as db:
        return db.execute(query).fetchall()


@pytest.mark.skipif(not (SAMPLES / TRAINING).exists(), reason="no sample reports here")
def test_the_sample_pair_against_the_exports(nsys_samples: Library) -> None:
    sides = [side(nsys_samples, find(nsys_samples, report)) for report in (TRAINING, INFERENCE)]
    rows = {row["demangled"]: row for row in records(compare_rows.kernels(sides[0], sides[1], "total"))}
    a, b = ({text: (ns, calls) for text, ns, calls in raw(report)} for report in (TRAINING, INFERENCE))
    assert set(rows) == set(a) | set(b)
    for text, row in rows.items():
        assert (row["a_total_ns"] or 0, row["a_calls"] or 0) == a.get(text, (0, 0))
        assert (row["b_total_ns"] or 0, row["b_calls"] or 0) == b.get(text, (0, 0))
        assert row["status"] == ("same" if text in a and text in b else "gone" if text in a else "new")
    copies = "SELECT sum(end - start), sum(bytes), count(*) FROM CUPTI_ACTIVITY_KIND_{}"
    totals = compare_summary.summary(sides[0], sides[1]).set_index("measure")
    for column, report in (("a", TRAINING), ("b", INFERENCE)):
        parts = [raw(report, copies.format(kind))[0] for kind in ("MEMCPY", "MEMSET")]
        found = [totals[column][measure] for measure in ("copy_ns", "copy_bytes", "copies")]
        assert found == [sum(part[n] for part in parts) for n in range(3)]


def find(library: Library, report: str) -> str:
    names = (report, report.replace(".nsys-rep", ".sqlite"))
    return next(one.id for one in library.list() if one.name in names)


def command(library: Library, *argv: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "profiledb", "compare", *argv, "--library", str(library.folder)]
    return subprocess.run(words, cwd=ROOT, env=os.environ | {}, capture_output=True, text=True, check=False)


def test_the_limit_and_its_exit_status(library: Library, publish: Publish) -> None:
    a = publish(filled([("gemm", 100)] * 4, NAMES, steps=4))
    b = publish(filled([("gemm", 104)] * 8, NAMES, steps=8))
    within = command(library, a, b, "--fail-above", "5%", "--format", "json")
    assert within.returncode == 0
    assert "+4.00 %: within the limit of +5 %" in within.stderr
    (row,) = json.loads(within.stdout)
    assert (row["a_total_ns"], row["b_total_ns"]) == (100, 104)
    above = command(library, a, b, "--fail-above", "3.5")
    assert above.returncode == 1
    assert "Kernel time of a step: 0.000 ms in A, 0.000 ms in B, +4.00 %: above the limit" in above.stderr
    assert above.stdout.startswith("status,name,class,change_ns")


def test_an_error_is_no_limit_that_was_not_held(library: Library, publish: Publish) -> None:
    a = publish(filled([("gemm", 100)], NAMES))
    none = publish(lambda db: insert(db, "report", [{"kind": "nsys"}]))
    for argv in ((a, none), (a, "nothing"), (a, a, "--fail-above", "many"), (a, a, "--param", "range=nothing")):
        done = command(library, *argv)
        assert (done.returncode, done.stdout) == (2, ""), argv
        assert "Traceback" not in done.stderr
    empty = command(library, a, a, "--other-param", "from_ns=50000", "--fail-above", "5")
    assert (empty.returncode, "selection of B" in empty.stderr) == (2, True)

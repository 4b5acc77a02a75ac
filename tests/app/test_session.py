"""Pages' cached access to the library: the cache key includes the files that an answer was read from."""

import inspect
import os
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from app import session
from app.selection import compared_report
from app.selection.page_selection import Settled
from app.ui import judged_findings
from profiledb.findings import judge
from profiledb.findings.rule import Rule
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.selection.model import Selection
from tests.conftest import ROOT
from tests.support.memory_reports import fill
from tests.support.page_reports import Publish, kernel, make_library
from tests.support.power_log_reports import put_log

__all__ = ["make_library"]  # fixture


@pytest.fixture(autouse=True)
def _of_this_test(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPDECK_LIBRARY", str(library.folder))
    monkeypatch.setenv("WARPDECK_INBOX", str(tmp_path / "inbox"))


def lacked(report_id: str) -> set[str]:
    return {capture.table for capture in session.list_missing(report_id)}


def test_what_a_report_lacks_goes_by_its_file(library: Library, publish: Publish) -> None:
    first = publish(fill)
    assert {"kernel", "cpu_sample"} <= lacked(first)
    library.delete(first)
    assert publish(lambda db: fill(db, kernel=[kernel(0, 1, 0, 10)])) == first  # taken in again, by a newer converter
    assert "kernel" not in lacked(first)
    assert "cpu_sample" in lacked(first)


def test_a_question_of_a_page_is_eight_calls_away_from_its_sql(gaps: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/design.md: the walk from ``session.run``, which a page calls, to the query."""
    walks: list[list[str]] = []

    def note_walk(*args: Any) -> pa.Table:
        files = ((Path(one.filename), one.function) for one in inspect.stack(0)[1:])
        walks.append(
            [
                name
                for file, name in files
                if file.is_relative_to(ROOT / "app") or file.is_relative_to(ROOT / "profiledb")
            ]
        )
        return table(*args)

    table = analysis.query_table
    monkeypatch.setattr(analysis, "query_table", note_walk)
    session.run(gaps, "idle_gaps")
    (walk,) = walks
    assert walk[::-1] == ["run", "run_whole", "answer", "answer", "_work_out_answer", "read_rows", "query_first"], (
        "and table"
    )


def test_analyses_of_idle_time_are_answered_together(library: Library, gaps: str) -> None:
    for name in ("idle_gaps", "idle_reasons", "idle_ranges"):
        assert session.run_whole(gaps, name).equals(analysis.run(library, gaps, name)), name
    assert session.run_whole(gaps, "idle_gaps", limit=2).equals(analysis.run(library, gaps, "idle_gaps", {"limit": 2}))
    assert analysis.rows_or_none(session.run, gaps, "idle_code").empty  # without CPU samples


def test_findings_go_by_files_beside_the_report(library: Library, gaps: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: rule for name, rule in judged_findings.read_rules().items() if name.startswith(("gpu_", "power_"))}
    monkeypatch.setattr(judged_findings, "read_rules", lambda: few)
    manifest = library.find(gaps)
    before = judged_findings.judge_report(manifest)
    verdicts = {one.rule.name: (one.verdict, one.why) for one in before}
    assert verdicts["power_limit_reached"][0] == "cannot_judge"
    put_log(library, gaps, [{"time_ns": number * 1_000_000, "power_w": 300.0, "device": 0} for number in range(9)])
    now = {one.rule.name: (one.verdict, one.why) for one in judged_findings.judge_report(manifest)}
    assert now == {one.rule.name: (one.verdict, one.why) for one in judge.judge(library, manifest, {}, now_rules())}
    assert now["power_limit_reached"] != verdicts["power_limit_reached"], "a power log has arrived"


def test_what_pages_work_out_goes_by_every_link(library: Library, publish: Publish) -> None:
    trace, systems, compute = (publish(fill, kind) for kind in ("torch", "nsys", "ncu"))
    links, keys = library.catalog.links, [(session.make_key(trace, "", {}), session.make_key(systems, "", {}))]
    links.put(systems, compute)
    keys.append((session.make_key(trace, "", {}), session.make_key(systems, "", {})))
    assert keys[1][0] == keys[0][0]
    links.put(systems, trace, "trace")
    keys.append((session.make_key(trace, "", {}), session.make_key(systems, "", {})))
    assert len({of_trace for of_trace, _ in keys}) == 2, "its findings compare steps with those of the Systems report"
    assert len({of_systems for _, of_systems in keys}) == 3


def now_rules() -> list[Rule]:
    return list(judged_findings.read_rules().values())


def test_reports_of_the_same_moment_are_compared_each_by_itself(library: Library, publish: Publish) -> None:
    """Files that were copied together have the same times."""
    ids = [publish(partial(_busy, ns=ns)) for ns in (1000, 2000, 5000)]
    for one in ids:
        os.utime(library.path(one), ns=(10**18, 10**18))
    sides = [Settled(one, Selection(), Selection(), (), pd.DataFrame(), pd.DataFrame()) for one in ids]
    for a, b in ((0, 1), (0, 2)):
        mine, theirs = compared_report.choose_side(sides[a]), compared_report.choose_side(sides[b])
        rows = compared_report.compare_answers(mine, theirs, "total", sides[a], sides[b]).kernels
        assert list(rows["b_total_ns"]) == [(1000, 2000, 5000)[b]]


def _busy(db: duckdb.DuckDBPyConnection, ns: int) -> None:
    fill(db, kernel=[kernel(0, 1, 0, ns)])

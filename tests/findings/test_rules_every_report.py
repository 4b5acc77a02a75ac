"""Every rule on every report: properties of findings that always hold."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from profiledb.errors import NotCapturedError, NotLinkedError
from profiledb.findings import judge, output, program, rulebook, sentences
from profiledb.findings.finding import Finding
from profiledb.findings.rule import EVIDENCE
from profiledb.library.catalog import TIMELINE, Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, header, shared_rows
from profiledb.selection.model import Selection
from tests.conftest import CORPUS, Once, ingest_files
from tests.support.advice_checks import wrong
from tests.support.ddp_samples import NAMES, needs_ddp
from tests.support.every_report import FILES, MOST_DIFFERENT, slow_but
from tests.support.torch_samples import INFERENCE, NSYS, RANKS, TRAINING, needs_torch_samples

TRACES = sorted(path for path in CORPUS.glob("*.json*") if "rocprof" not in path.name)
STEPS = {"within": "steps"}
PARTS: tuple[dict[str, Any], ...] = ({}, STEPS, {"from_ns": 30_000_000, "to_ns": 30_100_000})
MORE_THAN_ALL = {
    "memory_growth": "memory may grow to many times what it was",
    "step_growth": "the last steps may take many times what the first took",
    "power_limit_reached": "a board may draw more than its limit for a moment",
}
"""Rules in % that may tell more than 100, and why."""


def holds(report: str, one: Finding) -> None:
    """Check that no query fails, no share or saving exceeds its total, and evidence leads somewhere."""
    about = (report, one.rule.name, one.facts)
    assert "error" not in one.facts, about
    assert one.saving_pct is None or 0 <= one.saving_pct <= 100.001, about
    if one.rule.unit == "%" and one.rule.name not in MORE_THAN_ALL:
        assert one.value is None or 0 <= one.value <= 100.001, about
    assert one.verdict != "fires" or (sentences.says(one) and one.advice), about
    assert "{" not in sentences.strip_sentence(one).replace("{lambda", ""), about
    assert all(set(piece) <= set(EVIDENCE) and "name" in piece for piece in one.evidence), about
    ends = [piece["end_ns"] - piece["start_ns"] for piece in one.evidence if "end_ns" in piece]
    assert all(length >= 0 for length in ends), about


def check(library: Library, report: Manifest, params: dict[str, Any] | None = None) -> list[Finding]:
    """Judge a report as its page does, by all rules at once, and hold that the findings fit it and each other."""
    part = judge.find_steady_part(library, report, params or {})
    found = judge.judge(library, report, params or {}, rulebook.load().values(), part)
    of = program.recognize(library, report.id)
    assert all(one.evidence for one in of)
    for one in found:
        holds(report.name, one)
        if one.verdict == "fires":
            assert one.program == of
            assert wrong(sentences.fill_advice(one), program.list_names(of)) == [], one.rule.name
    assert output.format_json(found)
    nothing_counts_twice(found)
    shares_add_up(library, report, {**(params or {}), **(part.times if part else {})})
    return found


def nothing_counts_twice(found: list[Finding]) -> None:
    names = [one.rule.name for one in found]
    for one in found:
        if one.parent:
            assert found[names.index(one.parent)].parent is None
            assert names.index(one.parent) < names.index(one.rule.name)


def shares_add_up(library: Library, report: Manifest, params: dict[str, Any]) -> None:
    """The bar of the part that is judged adds up to 100 %, and so does that of each step."""
    for name in ("time_split", "step_split"):
        try:
            rows = analysis.run(library, report.id, name, params)
        except NotCapturedError:
            continue
        sums = rows.groupby("start_ns")["share_pct"].sum() if "start_ns" in rows else [rows["share_pct"].sum()]
        assert rows.empty or max(abs(one - 100) for one in sums) < 0.1, (report.name, name)


def first_queries_say_what_the_last_ones_do(library: Library, report: Manifest) -> None:
    """Queries that answer a rule if there is nothing to judge only save the time of planning the one that judges."""
    asked = [one.analysis for one in rulebook.load().values() if len(one.analysis.queries) > 1]
    includes = {name for one in asked for name in ("selection", "ranges", *one.includes)}
    with shared_rows.opened(library, report.id, Selection(), sorted(includes)) as part:
        for one in asked:
            try:
                part.check(one)
            except (NotCapturedError, NotLinkedError):
                continue
            part.prepare(one)
            values = header.bind(one, {})
            rows = [analysis.query_first(part.cursor, replace(one, sql=sql), values).to_pylist() for sql in one.queries]
            assert repr(next(filter(None, rows), [])[:1]) == repr(rows[-1][:1]), (report.name, one.name)


@pytest.mark.parametrize("name", slow_but(MOST_DIFFERENT, FILES, "judges every report by every rule"))
def test_every_rule(every_report: Library, name: str) -> None:
    report = every_report.find(name)
    found = check(every_report, report)
    if {"kernel", "ncu_launch"} & set(report.rows):
        assert any(one.verdict != "cannot_judge" for one in found)
    if TIMELINE in report.subjects:
        first_queries_say_what_the_last_ones_do(every_report, report)
    if {TIMELINE, "kernel"} <= set(report.subjects):
        assert sum(one.own_saving_ns or 0 for one in found) <= the_parts_of_the_time(every_report, report)


def the_parts_of_the_time(library: Library, report: Manifest) -> int:
    """The time of a report that its parts take, which add up to all of it: ns."""
    rows = analysis.run(library, report.id, "time_split")
    whole = analysis.query(library, report.id, "SELECT sum(end_ns - start_ns) AS ns FROM selected_active")["ns"][0]
    assert abs(int(rows["ns"].sum()) - int(whole)) <= len(rows)
    assert (rows["ns"] > 0).all()
    return int(rows["ns"].sum())


@needs_ddp
@pytest.mark.parametrize("name", slow_but(["ddp_strong_2_rank0"], NAMES, "every sample of several GPUs"))
def test_samples_of_several_gpus(ddp: Library, name: str) -> None:
    check(ddp, ddp.find(f"{name}.sqlite"))


CASES = [(name, part) for name in (TRAINING, INFERENCE, *RANKS, *NSYS.values()) for part in PARTS]


@needs_torch_samples
@pytest.mark.parametrize("case", slow_but([(TRAINING, STEPS)], CASES, "every trace of the samples"), ids=str)
def test_samples_of_the_pytorch_profiler(torch_samples: Library, case: tuple[str, dict[str, Any]]) -> None:
    name, params = case
    check(torch_samples, torch_samples.find(name), params)


@pytest.mark.slow("every trace of strangers")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_traces_of_strangers(once: Once, path: Path) -> None:
    library = Library(once(f"operators of {path.name}", lambda folder: ingest_files(folder, [path])) / "library")
    check(library, library.list()[0])

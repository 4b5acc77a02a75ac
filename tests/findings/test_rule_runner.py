"""Answers of rules are stored together, one file per part of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import duckdb
import pytest

from profiledb.findings import rule_runner, rulebook
from profiledb.findings.rule import Rule
from profiledb.library.library import Library
from profiledb.query import analysis as query
from profiledb.query.header import Analysis
from profiledb.selection.model import Selection, parse
from tests.support.memory_reports import fill
from tests.support.page_reports import Publish, kernel
from tests.support.plans import find_outer_joins_of_pairs

BUSY = ((0, 10_000_000), (90_000_000, 100_000_000))
RULES = ("gpu_idle", "long_gaps", "hot_kernel", "another_clock")


def write(db: duckdb.DuckDBPyConnection) -> None:
    """A GPU that is idle for eight tenths of the time."""
    fill(db, 100_000_000, BUSY, kernel=[kernel(number, 1, *span) for number, span in enumerate(BUSY)])


@pytest.fixture
def rules() -> Sequence[Rule]:
    return [rulebook.load()[name] for name in RULES]


@pytest.fixture
def report_id(publish: Publish) -> str:
    return publish(write)


def answer(library: Library, report_id: str, rules: Sequence[Rule]) -> tuple[list[str], object]:
    """Return the rules that ran, and the findings of all rules."""
    ran = []

    def first(cursor: object, asked: Analysis, values: object) -> object:
        ran.append(asked.name)
        return asks(cursor, asked, values)  # type: ignore[arg-type]

    asks = query.query_first
    with mock.patch.object(query, "query_first", first):
        said = rule_runner.answer_rules(library, library.find(report_id), Selection(), rules)
    return sorted(ran), said


def test_all_rules_share_a_file_and_a_changed_one_runs_alone(
    library: Library, report_id: str, rules: Sequence[Rule]
) -> None:
    ran, said = answer(library, report_id, rules)
    assert ran == sorted([*RULES, "time_split", "window"])
    stored = list((library.derived.answers / report_id).glob("*.answer"))
    again, kept = answer(Library(library.folder), report_id, rules)
    assert again == []
    assert kept == said
    changed = replace(rules[0], analysis=replace(rules[0].analysis, sql=f"{rules[0].analysis.sql}\n"))
    assert answer(library, report_id, [changed, *rules[1:]])[0] == [RULES[0]]
    assert answer(library, report_id, rules)[0] == [], "an answer of another text takes no other's place"
    assert len(stored) == 2, "that of the rules and that of the split of their time"
    assert sorted((library.derived.answers / report_id).glob("*.answer")) == sorted(stored)


def test_a_damaged_file_is_written_anew(library: Library, report_id: str, rules: Sequence[Rule]) -> None:
    _, said = answer(library, report_id, rules)
    for path in (library.derived.answers / report_id).glob("*.answer"):
        path.write_bytes(path.read_bytes()[:-9])
    ran, again = answer(Library(library.folder), report_id, rules)
    assert set(RULES) <= set(ran)
    assert again == said
    assert answer(Library(library.folder), report_id, rules) == ([], said)


@pytest.mark.slow("plans every rule on large tables")
def test_no_rule_tries_all_pairs_of_rows(nsys_samples: Library) -> None:
    """DuckDB does so in a LEFT JOIN with a condition on the left row alone, which took 15 s of 100,000 kernels.

    ``ON true`` joins single rows. The selection is one that no other test asks, so that all rules run.
    """
    planned: set[str] = set()
    all_pairs: set[tuple[str, str]] = set()

    def first(cursor: duckdb.DuckDBPyConnection, asked: Analysis, values: Mapping[str, Any]) -> object:
        sql = asked.queries[-1]
        used = {name: value for name, value in values.items() if f"${name}" in sql}
        planned.add(asked.name)
        all_pairs.update((asked.name, condition) for condition in find_outer_joins_of_pairs(cursor, sql, used))
        return asks(cursor, asked, values)

    asks = query.query_first
    (report,) = (one for one in nsys_samples.list() if one.name == "transformer_training.nsys-rep")
    every = [rule for rule in rulebook.load().values() if rule.subjects.intersection(report.subjects)]
    with mock.patch.object(query, "query_first", first):
        rule_runner.answer_rules(nsys_samples, report, parse({"from_ns": 12_345}), every)
    assert len(planned) > 60
    assert len(all_pairs) > 10
    assert {(name, condition) for name, condition in all_pairs if condition != "true"} == set()

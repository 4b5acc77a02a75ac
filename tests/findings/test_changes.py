"""Differences between the findings of two selections."""

from dataclasses import replace

from profiledb.findings import rule as rules
from profiledb.findings.changes import compare_findings
from profiledb.findings.finding import Finding, Verdict
from tests.findings.test_rulebook import HEADER


def finding(name: str, verdict: Verdict, pct: float | None = None) -> Finding:
    rule = rules.parse(name, HEADER + "SELECT 1;", "idle")
    saving = None if pct is None else int(pct * 1e6)
    return Finding(rule, verdict, value=pct or 1.0, threshold=10.0, saving_ns=saving, saving_pct=pct)


def test_new_gone_changed_and_the_same() -> None:
    a = [
        finding("gone", "fires", 30), finding("less", "fires", 40), finding("same", "fires", 10),
        finding("new", "clear", 1), finding("clear", "clear", 1), finding("open", "fires", 50),
        finding("only_here", "fires", 5),
    ]  # fmt: skip
    b = [
        finding("gone", "clear", 1), finding("less", "fires", 20), finding("same", "fires", 11),
        finding("new", "fires", 3), finding("clear", "clear", 1), finding("open", "cannot_judge"),
    ]  # fmt: skip
    told = compare_findings(a, b)
    assert [(one.a.rule.name, one.change) for one in told] == [
        ("new", "new"), ("gone", "gone"), ("less", "changed"), ("same", "same"), ("open", "not judged"),
    ]  # fmt: skip
    assert told[2].worth_ns == 40_000_000


def test_without_a_saving_the_value_tells() -> None:
    before, after = finding("grid", "fires"), replace(finding("grid", "fires"), value=2.0)
    assert [one.change for one in compare_findings([before], [after])] == ["changed"]
    assert [one.change for one in compare_findings([before], [before])] == ["same"]

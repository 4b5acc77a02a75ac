"""Findings that share time: the part of the time that each takes, and its parent finding."""

from dataclasses import replace

import duckdb
import pytest

from profiledb.findings import causes, rulebook
from profiledb.findings import rule as rules
from profiledb.findings.finding import Finding
from profiledb.findings.rule_runner import Part
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.findings.test_rulebook import HEADER
from tests.support import memory_reports as made
from tests.support.page_reports import Publish, kernel

PARTS = [
    Part("matmul", "kernels", 500), Part("copies", "copies", 50), Part("data loading", "idle", 300),
    Part("host code", "idle", 100), Part("launch call", "idle", 50),
]  # fmt: skip


def finding(name: str, saving: int, parts: str, level: str = "cause", weight: str = "") -> Finding:
    lines = f"-- parts: {parts}\n-- level: {level}\n" + (f"-- weight: {weight}\n" if weight else "")
    lines += "-- column: staged_ns | ns | | a limit\n"
    rule = rules.parse(name, HEADER.replace("-- unit:", f"{lines}-- unit:") + "SELECT 1;", "idle")
    return Finding(rule, "fires", value=20.0, threshold=10.0, saving_ns=saving, saving_pct=saving / 10)


def nested(*several: Finding) -> dict[str, tuple[int | None, str | None]]:
    return {one.rule.name: (one.own_saving_ns, one.parent) for one in causes.nest(several, PARTS)}


def test_nothing_of_the_time_counts_twice() -> None:
    found = nested(
        finding("idle", 450, "idle", "symptom"),
        finding("loading", 300, "data loading"),
        finding("collector", 60, "host code"),
        finding("range", 90, "host code", "place"),
        finding("grid", 200, "kernels"),
    )
    assert found == {
        "idle": (50, "loading"),  # 450 of idle time, of which 300, 60 and 40 are taken
        "loading": (300, None),
        "collector": (60, None),
        "range": (40, "collector"),  # 100 of host code are left to 40, and 60 are more than half of it
        "grid": (200, None),
    }
    assert sum(own or 0 for own, _ in found.values()) <= sum(part.ns for part in PARTS)


def test_a_rule_may_explain_more_than_it_saves() -> None:
    waits = replace(finding("waits", 60, "host code, launch call"), explains_ns=140)
    found = {one.rule.name: one for one in causes.nest([waits, finding("range", 90, "host code", "place")], PARTS)}
    assert (found["waits"].own_saving_ns, found["waits"].parent) == (60, None)
    assert (found["range"].own_saving_ns, found["range"].parent) == (0, "waits")


def test_a_rule_claims_of_a_part_what_its_column_says() -> None:
    """By hand: copies claim 50 ns and host code 20 ns of 100 ns, so 80 are left."""
    copies = finding("copied", 90, "copies, host code (staged_ns)")
    assert (copies.rule.parts, copies.rule.limits) == (("copies", "host code"), (("host code", "staged_ns"),))
    found = {
        one.rule.name: one.own_saving_ns
        for one in causes.nest([replace(copies, facts={"staged_ns": 20}), finding("idle", 150, "idle", "frame")], PARTS)
    }
    assert found == {"copied": 70, "idle": 150}
    (alone,) = causes.nest([copies], PARTS)
    assert alone.own_saving_ns == 50, "no value of the column: nothing of the part"


def test_a_symptom_in_the_range_of_a_place_stands_under_it() -> None:
    place, symptom = finding("work", 60, "host code", "place"), finding("gaps", 110, "idle", "symptom")
    inside, other = replace(place, facts={"range": "step/work"}), replace(place, facts={"range": "step/other"})
    for one, parent in ((inside, "work"), (other, None), (replace(inside, saving_ns=50), None)):
        assert nested(one, replace(symptom, facts={"range": "step/work"}))["gaps"] == (110, parent)
    assert nested(place, symptom)["gaps"] == (110, None), "no ranges are not the same one"


def test_a_place_leads_causes_that_explain_little_of_it() -> None:
    save = finding("save", 380, "data loading, host code", "place")
    assert nested(save, finding("output", 90, "host code"), finding("idle", 450, "idle", "frame")) == {
        "save": (380, None),
        "output": (20, "save"),  # 400 of both parts are left to 20
        "idle": (50, "save"),
    }
    assert nested(save, finding("loading", 300, "data loading")) == {"save": (100, "loading"), "loading": (300, None)}
    save_first = replace(save, is_cause=True)
    assert nested(save_first, finding("loading", 300, "data loading")) == {"save": (380, None), "loading": (0, "save")}
    pinning = finding("pinning", 385, "data loading, host code")
    assert nested(save_first, pinning) == {"save": (380, None), "pinning": (20, "save")}, "although it saves more"
    assert nested(save, finding("grid", 30, "kernels")) == {"save": (380, None), "grid": (30, None)}
    (first, *_) = causes.nest([finding("output", 90, "host code"), save], PARTS)
    assert not first.leads
    assert [one.rule.name for one in causes.nest([save, finding("output", 90, "host code")], PARTS) if one.leads] == [
        "save"
    ]


def test_a_saving_reaches_no_further_than_the_time_it_comes_from() -> None:
    """By hand: of 450 of idle time, a place explains 60 to other places, and a cause explains 20 to all; also kernels.

    A cause reaches the time that a place explains; rules under one another share the time; no reach is below a bound.
    """
    several = [
        finding("launches", 30, "launch call", "place"), finding("encode", 60, "host code", "place"),
        finding("collector", 20, "host code"), finding("more", 20, "launches, launch call", "place"),
        finding("products", 100, "matmul"),
    ]  # fmt: skip
    found = {one.rule.name: one for one in causes.nest(several, PARTS)}
    assert found["more"].parent == "launches"
    assert found["launches"].reach_ns == 450 - 60 - 20
    assert found["encode"].reach_ns == 450 - 30 - 20 - 20
    assert found["collector"].reach_ns == 450
    assert found["products"].reach_ns == 500 + 450 - 20
    (large,) = causes.nest([finding("large", 600, "host code")], PARTS)
    assert large.reach_ns == 600
    (some,) = causes.nest([replace(finding("some", 60, "matmul (staged_ns)"), facts={"staged_ns": 120})], PARTS)
    assert some.reach_ns == 120 + 450, "its products are a part of all"
    (none,) = causes.nest([Finding(rules.parse("none", HEADER + "SELECT 1;", "idle"), "fires", saving_ns=5)], PARTS)
    assert none.reach_ns is None, "it names no parts"


def test_a_frame_stands_under_no_finding_that_explains_little_of_it() -> None:
    """By hand: 300 of 450 of idle time are taken; the largest taker has less than a quarter of it, or more."""
    several = [finding(f"loading_{n}", 100, "data loading") for n in range(3)]
    assert nested(*several, finding("idle", 450, "idle", "frame"))["idle"] == (150, None)
    two = [finding("loading", 200, "data loading"), finding("other", 100, "data loading")]
    assert nested(*two, finding("idle", 450, "idle", "frame"))["idle"] == (150, "loading")
    every = [*several, finding("collector", 50, "host code"), finding("rest", 50, "host code"),
        finding("launches", 50, "launch call")]  # fmt: skip
    assert nested(*every, finding("idle", 450, "idle", "frame"))["idle"] == (0, "loading_2"), "nothing of it is left"


def test_a_remark_stands_under_a_finding_of_its_cause() -> None:
    grows = replace(finding("allocations", 50, "copies"), cause="growth")
    remark = replace(finding("held", 0, "allocations", weight="warning"), cause="growth")
    assert nested(grows, remark) == {"allocations": (50, None), "held": (None, "allocations")}
    assert nested(grows, replace(remark, cause=None))["held"] == (None, None)
    assert nested(replace(grows, verdict="clear"), remark)["held"] == (None, None)


def test_a_rule_that_says_more_of_another_one_stands_under_it() -> None:
    layers = finding("layers", 40, "waits, host code")
    assert nested(finding("waits", 60, "host code"), layers) == {"waits": (60, None), "layers": (0, "waits")}
    assert nested(layers) == {"layers": (40, None)}


def test_two_rules_that_share_a_cause_never_stand_side_by_side() -> None:
    """By hand: launches explain 40 or 80 of 150 of idle time; the long gap stands under the busy CPU."""
    busy = finding("busy", 150, "launches, host code, launch call", "symptom")
    small = finding("launches", 40, "host code", "place")
    assert nested(small, busy, finding("gap", 100, "host code", "symptom")) == {
        "launches": (40, "busy"), "busy": (110, None), "gap": (0, "busy"),
    }  # fmt: skip
    large = finding("launches", 80, "host code, launch call", "place")
    assert nested(large, busy, finding("idle", 400, "idle", "frame")) == {
        "launches": (80, None), "busy": (70, "launches"), "idle": (300, None),
    }  # fmt: skip
    known = nested(large, replace(busy, is_cause=True))
    assert known == {"launches": (0, "busy"), "busy": (150, None)}, "samples name the function"
    assert nested(busy)["busy"] == (150, None)
    short = finding("short", 30, "launches, host code", "place")
    collector = finding("collector", 5, "host code")
    assert nested(collector, short, finding("launches", 80, "host code", "place"))["short"][1] == "launches", (
        "of two places that lead causes, the one that saves more"
    )


def test_what_nobody_explains_stands_by_itself() -> None:
    assert nested(finding("idle", 450, "idle", "symptom"), finding("collector", 60, "host code")) == {
        "idle": (390, None),
        "collector": (60, None),
    }


def test_a_symptom_that_knows_its_cause_leads() -> None:
    busy = finding("busy", 300, "idle", "symptom")
    collector = finding("collector", 200, "host code")
    assert nested(replace(busy, is_cause=True), collector)["busy"] == (300, None)
    (first, *_) = causes.nest([replace(busy, is_cause=True), collector], PARTS)
    assert (first.leads, causes.nest([busy, collector], PARTS)[0].leads) == (True, False)


def test_remarks_and_rules_without_parts_take_nothing() -> None:
    plain = Finding(rules.parse("plain", HEADER + "SELECT 1;", "idle"), "fires", value=20.0, saving_ns=100)
    found = {one.rule.name: one for one in causes.nest([plain, finding("note", 90, "all", weight="note")], PARTS)}
    assert {(one.own_saving_ns, one.parent) for one in found.values()} == {(None, None)}
    assert nested(finding("choice", 90, "kernels", weight="low")) == {"choice": (90, None)}


def test_a_place_that_several_explain_in_part_leads_them() -> None:
    found = nested(
        finding("first", 22, "host code"),
        finding("second", 15, "host code"),
        finding("range", 90, "host code", "place"),
    )
    assert found == {"first": (10, "range"), "second": (0, "range"), "range": (90, None)}


def test_a_cause_that_explains_a_quarter_of_a_place_stands_beside_it() -> None:
    found = nested(finding("update", 30, "host code"), finding("launches", 100, "host code", "place"))
    assert found == {"update": (30, None), "launches": (70, None)}


def test_three_that_share_time_stand_under_the_first() -> None:
    found = nested(
        finding("first", 100, "host code"),
        finding("second", 90, "host code, launch call", "place"),
        finding("third", 120, "idle", "symptom"),
    )
    assert found == {"first": (100, None), "second": (50, None), "third": (120, None)}
    found = nested(
        finding("first", 100, "host code"), finding("second", 90, "host code"), finding("third", 80, "host code")
    )
    assert found == {"first": (100, None), "second": (0, "first"), "third": (0, "first")}


@pytest.fixture(name="report")
def make_report(publish: Publish) -> str:
    """1 ms: kernels of 100, 100 and 200 µs at 0, 200 and 700 µs, a copy of 100 µs beside the second and alone after."""

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        made.fill(
            db, stop=1_000_000, busy=((0, 100_000), (200_000, 350_000), (700_000, 900_000), (901_000, 1_000_000)),
            kernel=[
                kernel(1, 1, 0, 100_000, call_id=1), kernel(2, 2, 200_000, 300_000, call_id=2),
                kernel(3, 1, 700_000, 900_000, call_id=3), kernel(4, 1, 901_000, 1_000_000, call_id=4),
            ],
            memop=[made.copy(5, 250_000, 350_000, 4096, (1, 2))],
            api_call=[
                made.call(1, 1, -10_000, -5_000), made.call(2, 1, 180_000, 190_000),
                made.call(5, 4, 191_000, 192_000), made.call(3, 1, 500_000, 690_000), made.call(4, 1, 695_000, 696_000),
            ],
        )  # fmt: skip

    return publish(fill)


def test_the_parts_add_up_to_the_time(library: Library, report: str) -> None:
    rows = analysis.run(library, report, "time_split")
    assert dict(zip(rows["part"], rows["ns"], strict=True)) == {
        "matmul": 399_000, "elementwise": 100_000,
        "copies": 50_000,  # the other half runs beside a kernel
        "host code": 80_000 + 150_000,
        "launch call": 10_000 + 190_000, "launch latency": 10_000 + 10_000, "between operations": 1_000,
    }  # fmt: skip
    assert int(rows["ns"].sum()) == 1_000_000
    assert rows["share_pct"].sum() == pytest.approx(100)


def test_every_rule_that_costs_names_parts() -> None:
    saves = [one for one in rulebook.load(None).values() if one.costs and "saving_ns" in one.analysis.sql]
    assert {one.name for one in saves if not one.parts} <= {"openmp_imbalance"}  # a matter of the CPU alone

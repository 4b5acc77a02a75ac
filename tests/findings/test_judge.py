"""Verdicts and order of findings, with one-line rules on a real report."""

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from profiledb.errors import AnalysisError
from profiledb.findings import judge as judges
from profiledb.findings import output, rulebook, sentences
from profiledb.findings import rule as rules
from profiledb.findings.finding import Finding
from profiledb.findings.rule import Rule
from profiledb.library.library import Library
from tests.findings.test_rulebook import HEADER
from tests.support.gaps import by_hand
from tests.support.page_reports import Publish

REPORT = "streams_serial.nsys-rep"


def rule(name: str, sql: str, header: str = HEADER) -> Rule:
    return rules.parse(name, header + sql, "idle")


def judged(library: Library, *several: Rule, report: str = REPORT, **params: str) -> dict[str, Finding]:
    return {one.rule.name: one for one in judges.judge(library, library.find(report), params, several)}


def test_the_value_is_compared_with_the_threshold(nsys_samples: Library) -> None:
    below = HEADER.replace("fires: above", "fires: below")
    found = judged(
        nsys_samples,
        rule("over", "SELECT 12.0 AS value;"),
        rule("at", "SELECT 10.0 AS value;"),
        rule("under", "SELECT 9.9 AS value;"),
        rule("small", "SELECT 9.9 AS value;", below),
        rule("large", "SELECT 10.1 AS value;", below),
    )
    verdicts = {name: one.verdict for name, one in found.items()}
    assert verdicts == {"over": "fires", "at": "fires", "small": "fires", "large": "clear", "under": "clear"}


def test_what_cannot_be_judged_is_not_clear(nsys_samples: Library) -> None:
    needs = HEADER + "-- needs: sched_event\n"
    found = judged(
        nsys_samples,
        rule("nothing", "SELECT 12.0 AS value WHERE false;"),
        rule("null", "SELECT NULL AS value, 'There are no steps.' AS unjudged;"),
        rule("nan", "SELECT 'nan'::DOUBLE AS value;"),
        rule("infinite", "SELECT 'inf'::DOUBLE AS value;"),
        rule("lacks", "SELECT 12.0 AS value;", needs),
        rule("broken", "SELECT nowhere AS value FROM kernel;"),
        rule("fine", "SELECT 12.0 AS value;"),
    )
    assert [name for name, one in found.items() if one.verdict != "cannot_judge"] == ["fine"]
    assert found["null"].why == "There are no steps."
    assert found["lacks"].command.startswith("warpdeck profile -- ")
    assert found["broken"].why == "The query of this rule failed."


def test_the_costliest_comes_first_and_remarks_last(nsys_samples: Library) -> None:
    note = HEADER + "-- weight: note\n"
    found = judged(
        nsys_samples,
        rule("clear", "SELECT 1.0 AS value, 9000000000 AS saving_ns;"),
        rule("cheap", "SELECT 12.0 AS value, 1000 AS saving_ns;"),
        rule("unknown", "SELECT NULL AS value;"),
        rule("note", "SELECT 12.0 AS value, 9000000000 AS saving_ns;", note),
        rule("costly", "SELECT 12.0 AS value, 300000000 AS saving_ns;"),
    )
    assert list(found) == ["costly", "cheap", "note", "unknown", "clear"]
    assert [one.severity for one in found.values()] == ["high", "low", "note", "", ""]


def test_a_choice_counts_as_the_root_of_its_speedup(nsys_samples: Library) -> None:
    """One choice saves 88 % of the time, which counts as 65 %; another saves 19 %, which counts as 10 %."""
    time, low = "(SELECT sum(end_ns - start_ns) FROM selected_active)", HEADER + "-- weight: low\n"
    found = judged(
        nsys_samples,
        rule("large", f"SELECT 12.0 AS value, (0.88 * {time})::BIGINT AS saving_ns;", low),
        rule("below", f"SELECT 12.0 AS value, (0.64 * {time})::BIGINT AS saving_ns;"),
        rule("small", f"SELECT 12.0 AS value, (0.19 * {time})::BIGINT AS saving_ns;", low),
        rule("above", f"SELECT 12.0 AS value, (0.11 * {time})::BIGINT AS saving_ns;"),
    )
    assert list(found) == ["large", "below", "above", "small"]


def test_a_rule_may_tell_whether_its_fix_is_a_choice(nsys_samples: Library) -> None:
    needed, choice = (f"SELECT 12.0 AS value, 300000000 AS saving_ns, {one} AS is_choice;" for one in ("false", "true"))
    found = judged(
        nsys_samples,
        rule("needed", needed, HEADER + "-- weight: low\n"),
        rule("choice", choice),
        rule("unknown", "SELECT 12.0 AS value, 300000000 AS saving_ns, NULL AS is_choice;"),
        rule("note", choice, HEADER + "-- weight: note\n"),
    )
    severities = {name: one.severity for name, one in found.items()}
    assert severities == {"needed": "high", "unknown": "high", "choice": "low", "note": "note"}


def test_a_cause_that_leads_precedes_what_it_shortens(nsys_samples: Library) -> None:
    """Kernels in FP64 cost 100 ms, and chains of such kernels 150; 450 ms are more than four times as much."""
    kernels = HEADER + "-- parts: kernels\n"
    for longer, first in ((150, "double"), (450, "chains")):
        found = judged(
            nsys_samples,
            rule("double", "SELECT 12.0 AS value, 100000000 AS saving_ns, true AS is_cause;", kernels),
            rule("chains", f"SELECT 12.0 AS value, {longer}000000 AS saving_ns;", kernels),
        )
        assert next(iter(found)) == first


def test_findings_are_in_the_order_of_the_saving_that_they_show(nsys_samples: Library) -> None:
    """A choice counts about half, and nothing if its saving is unknown."""
    choice, place = HEADER + "-- weight: low\n", HEADER + "-- level: place\n"
    found = judged(
        nsys_samples,
        rule("choice", "SELECT 12.0 AS value, 251000000 AS saving_ns;", choice),
        rule("small_choice", "SELECT 12.0 AS value, 47000000 AS saving_ns;", choice),
        rule("cause", "SELECT 12.0 AS value, 94000000 AS saving_ns;"),
        rule("place", "SELECT 12.0 AS value, 157000000 AS saving_ns;", place),
        rule("small", "SELECT 12.0 AS value, 9400000 AS saving_ns;"),
        rule("open_choice", "SELECT 99.0 AS value;", choice),
    )
    assert list(found) == ["place", "choice", "cause", "small_choice", "small", "open_choice"]
    assert found["choice"].severity == "low"
    first = [one.rule.name for one in judges.select_leading(found.values(), 2)]
    assert first == ["place", "choice", "cause", "small_choice", "open_choice"], "choices take nobody's place"


def test_a_cause_precedes_the_place_of_whose_time_it_explains_half(nsys_samples: Library) -> None:
    """Causes of 110 and 90 ms in a place of 200 ms; one of 120 ms elsewhere stays behind it."""
    copies, idle, both = (HEADER + f"-- parts: {parts}\n" for parts in ("copies", "idle", "copies, kernels"))
    found = judged(
        nsys_samples,
        rule("place", "SELECT 12.0 AS value, 200000000 AS saving_ns;", both + "-- level: place\n"),
        rule("large", "SELECT 12.0 AS value, 110000000 AS saving_ns;", copies),
        rule("small", "SELECT 12.0 AS value, 90000000 AS saving_ns;", copies),
        rule("elsewhere", "SELECT 12.0 AS value, 120000000 AS saving_ns;", idle),
    )
    assert list(found) == ["large", "place", "elsewhere", "small"]


@pytest.mark.parametrize(("cause_ms", "order"), [(99, ["choice", "cause"]), (101, ["cause", "choice"])])
def test_a_cause_precedes_a_choice_by_half_of_its_whole_saving(
    nsys_samples: Library, cause_ms: int, order: list[str]
) -> None:
    """A choice of 200 ms counts as little more than 100 among others."""
    copies = HEADER + "-- parts: copies\n"
    found = judged(
        nsys_samples,
        rule("choice", "SELECT 12.0 AS value, 200000000 AS saving_ns;", copies + "-- weight: low\n"),
        rule("cause", f"SELECT 12.0 AS value, {cause_ms}000000 AS saving_ns;", copies),
    )
    assert list(found) == order


def test_no_cause_precedes_a_place_that_leads_it(nsys_samples: Library) -> None:
    """Copies of 150 ms that no fix of a wait within them removes, and such a wait of 80 ms."""
    copies = HEADER + "-- parts: copies\n"
    found = judged(
        nsys_samples,
        rule("wait", "SELECT 12.0 AS value, 80000000 AS saving_ns;", copies),
        rule("copied", "SELECT 12.0 AS value, 150000000 AS saving_ns, true AS is_cause;", copies + "-- level: place\n"),
    )
    assert [(name, one.parent) for name, one in found.items()] == [("copied", None), ("wait", None)]


def test_of_a_frame_counts_what_no_other_finding_claims() -> None:
    frame = rule("idle", "SELECT 12.0 AS value;", HEADER + "-- level: frame\n")
    found = Finding(frame, "fires", value=12.0, saving_ns=100_000, saving_pct=50.0, own_saving_ns=40_000)
    assert (found.shown_ns, found.shown_pct) == (40_000, 20.0)
    assert replace(found, leads=True).shown_ns == 100_000
    assert replace(found, rule=rule("cause", "SELECT 12.0 AS value;")).shown_ns == 100_000


def test_little_of_a_gpu_that_hardly_works_is_low(empty_library: Library, publish: Publish) -> None:
    """The GPU works for 400 ms of 10 s, for 900 ms, and for 2 s, a part large enough for every saving to count."""
    ms = 1_000_000
    two = (
        rule("large", f"SELECT 50.0 AS value, {90 * ms} AS saving_ns;"),
        rule("small", f"SELECT 50.0 AS value, {9 * ms} AS saving_ns;"),
    )

    def lengthen(db: duckdb.DuckDBPyConnection) -> None:
        db.execute(f"UPDATE report SET stop_ns = {10_000 * ms}, duration_ns = {10_000 * ms}")

    for active, severities in ((400, ["high", "low"]), (900, ["high", "low"]), (2_000, ["medium", "low"])):
        kernels = [(0, 10, 100, 200), (20, 30, active * ms, active * ms + 100)]
        report = by_hand(publish, kernels, lengthen)
        found = judges.judge(empty_library, empty_library.find(report), {}, two)
        assert [one.severity for one in found] == severities
        assert [one.is_little for one in found] == [False, active < 1_000]
        assert [one.rule.name for one in judges.select_leading(found, 3)] == ["large", "small"][: 1 + (active == 2_000)]


def test_a_saving_is_a_share_of_the_time_of_all_gpus(nsys_samples: Library) -> None:
    sql = "SELECT 12.0 AS value, (SELECT sum(end_ns - start_ns) FROM selected_active)::BIGINT // 4 AS saving_ns;"
    found = judged(nsys_samples, rule("quarter", sql))["quarter"]
    assert found.saving_pct == pytest.approx(25.0, abs=0.001)


def test_rules_see_the_selection(nsys_samples: Library) -> None:
    one = rule("calls", "SELECT count(*) AS value FROM selected_kernel;", HEADER.replace("unit: %", "unit: count"))
    whole = judged(nsys_samples, one, report="transformer_training.nsys-rep")["calls"].value
    part = judged(nsys_samples, one, report="transformer_training.nsys-rep", range="step_2")["calls"].value
    assert whole is not None
    assert part is not None
    assert 0 < part < whole
    with pytest.raises(AnalysisError):
        judged(nsys_samples, one, report="transformer_training.nsys-rep", range="step_nowhere")


def test_the_first_sentence_with_all_its_columns_is_said(nsys_samples: Library) -> None:
    found = judged(
        nsys_samples,
        rule("named", "SELECT 12.0 AS value, 'a `b` <i>|c' AS range;"),
        rule("bare", "SELECT 12.0 AS value, NULL AS range;"),
    )
    assert sentences.says(found["named"]) == "12.0 % in ``a `b` <i>|c``."
    assert sentences.strip_sentence(found["named"]) == "12.0 % in a `b` <i>|c."
    assert sentences.says(found["bare"]) == "12.0 %."


def test_evidence_has_known_fields_and_an_end(nsys_samples: Library) -> None:
    sql = """
        SELECT 12.0 AS value, (SELECT list({'name': 'x', 'ns': i, 'secret': 1}) FROM range(100) AS t (i)) AS evidence;
    """
    found = judged(nsys_samples, rule("much", sql))["much"]
    assert len(found.evidence) == judges.MOST_EVIDENCE
    assert found.evidence[3] == {"name": "x", "ns": 3}


def test_the_outputs_say_the_same(nsys_samples: Library) -> None:
    found = list(
        judged(
            nsys_samples,
            rule("fires", "SELECT 12.0 AS value, 5000000 AS saving_ns, 'r' AS range, [{'name': 'x'}] AS evidence;"),
            rule("clear", "SELECT 1.0 AS value;"),
            rule("open", "SELECT NULL AS value;"),
        ).values()
    )
    records = json.loads(output.format_findings(found, "json", REPORT))
    assert [one["verdict"] for one in records] == ["fires", "cannot_judge", "clear"]
    needed = {"rule", "title", "verdict", "value", "threshold", "unit", "saving_ns", "evidence", "advice", "program"}
    assert all(needed <= one.keys() for one in records)
    assert records[0]["evidence"] == [{"name": "x"}]
    assert records[0]["advice"] == ["Do this.", "Do it in C."], "the kernels of this report are CUDA of its own"
    rows = output.format_findings(found, "csv", REPORT).splitlines()
    assert rows[0].startswith("rule,title,verdict")
    assert len(rows) == 4
    text = output.format_findings(found, "md", "a*b")
    assert "# Findings: a\\*b" in text
    assert "12.0 % in `r`. Saves at most 5.00 ms" in text
    assert text.index("## Not judged") < text.index("## Clear")


def test_what_was_judged_before_is_not_asked_again(
    library: Library, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is the list of tables that a rule lacks."""
    report = library.find(by_hand(publish, [(0, 10, 20, 40_020), (80_000, 80_005, 80_010, 110_020)]))
    first = judges.judge(library, report, {}, rulebook.load().values())
    assert any(one.command for one in first)

    def opened(*_: object) -> None:
        raise AssertionError("the report was opened again")

    monkeypatch.setattr(Library, "cursor", opened)
    assert judges.judge(Library(library.folder), report, {}, rulebook.load().values()) == first


def test_a_rule_of_a_users_folder_is_judged(nsys_samples: Library, tmp_path: Path) -> None:
    (tmp_path / "mine.sql").write_text(HEADER + "SELECT 12.0 AS value;")
    found = judged(nsys_samples, *rulebook.load(tmp_path).values())
    assert found["mine"].verdict == "fires"

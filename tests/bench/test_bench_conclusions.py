"""The benchmark of conclusions: which finding names a fault, and how close its saving is."""

from pathlib import Path

from bench import conclusions
from bench.conclusions import judge_pair
from bench.faults import FAULTS
from profiledb.findings import rule as rules
from profiledb.findings import rulebook
from profiledb.findings.finding import Finding
from tests.findings.test_rulebook import HEADER


def finding(name: str, pct: float) -> Finding:
    return Finding(rules.parse(name, HEADER + "SELECT 1;", "idle"), "fires", 20.0, 10.0, int(pct * 1e6), pct)


def test_the_place_of_the_fault_and_its_saving() -> None:
    bad = [finding("gpu_idle", 90), finding("pageable_copies", 40), finding("launch_bound", 5)]
    told = judge_pair(
        "pageable_batches", bad, [finding("launch_bound", 30), finding("pageable_copies", 12)], (200, 100)
    )
    assert (told.place, told.rule, told.said_pct, told.true_pct) == (2, "pageable_copies", 40, 50)
    assert (told.counts, told.close(told.true_pct), told.left) == (True, True, ("pageable_copies",))
    missed = judge_pair("odd_vocabulary", bad, [], (100, 95))
    assert (missed.place, missed.counts, missed.close(5), missed.left) == (None, False, False, ())
    assert str(missed) == "| odd_vocabulary | not named |  |  | 5 % |  | none |  |"


def test_every_fault_of_the_workload_has_rules() -> None:
    folder = Path(conclusions.__file__).parents[1] / "workloads"
    text = "".join((folder / name).read_text() for name in ("faults.py", "rank_faults.py"))
    faults = [part.partition("(")[0] for part in text.split("@fault\ndef ")[1:]]
    assert sorted(faults) == sorted(FAULTS)
    assert frozenset().union(*(one.rules for one in FAULTS.values())) <= set(rulebook.load(None))

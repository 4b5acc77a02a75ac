"""The benchmark of conclusions: which finding names a fault, and how close its saving is."""

import re
from pathlib import Path

from bench import conclusions
from bench.conclusions import judge_pair
from bench.faults import FAULTS
from profiledb.findings import rule as rules
from profiledb.findings import rulebook
from profiledb.findings.finding import Finding
from profiledb.findings.program import Trait
from tests.findings.test_rulebook import HEADER


def finding(name: str, pct: float) -> Finding:
    return Finding(rules.parse(name, HEADER + "SELECT 1;", "idle"), "fires", 20.0, 10.0, int(pct * 1e6), pct)


def test_the_place_of_the_fault_and_its_saving() -> None:
    bad = [finding("gpu_idle", 90), finding("pageable_copies", 40), finding("launch_bound", 5)]
    told = judge_pair(
        "pageable_batches", bad, [finding("launch_bound", 30), finding("pageable_copies", 12)], (200, 100)
    )
    assert (told.place, told.rule, told.saving_pct, told.true_pct) == (2, "pageable_copies", 40, 50)
    assert (told.counts, told.close(told.true_pct), told.left) == (True, True, ("pageable_copies",))
    missed = judge_pair("odd_vocabulary", bad, [], (100, 95))
    assert (missed.place, missed.counts, missed.close(5), missed.left) == (None, False, False, ())
    assert str(missed) == "| odd_vocabulary | not named |  |  | 5 % |  | none |  |"


def test_some_rules_name_a_fault_by_their_words_alone() -> None:
    """`launch_bound` names a model that decodes one sequence at a time if it advises a larger batch."""
    rule = rulebook.load(None)["launch_bound"]
    facts = {"idle_ns": 1, "gaps": 1, "kernel_ns": 1.0, "call_ns": 1.0}
    for traits, place in ((("PyTorch", "decode"), 1), (("PyTorch", "training"), None)):
        program = tuple(Trait(one, "") for one in traits)
        one = Finding(rule, "fires", 20.0, 10.0, int(5e7), 50.0, facts=facts, program=program)
        told = judge_pair("decoding_one_by_one", [one], [], (200, 100))
        assert (told.place, told.rule) == (place, "launch_bound" if place else "")


def test_every_fault_of_the_programs_has_rules() -> None:
    root = Path(conclusions.__file__).parents[1]
    text = "".join((root / "workloads" / name).read_text() for name in ("faults.py", "rank_faults.py"))
    faults = {part.partition("(")[0] for part in text.split("@fault\ndef ")[1:]}
    modules = "".join(one.read_text() for one in (root / "bench" / "fault_programs").glob("*.py"))
    again = set(re.findall(r'@program\("(\w+)"\)', modules))
    assert len(again) > 15
    assert faults | again == set(FAULTS)
    assert {rule for one in FAULTS.values() for rule in (*one.rules, *one.patterns)} <= set(rulebook.load(None))


def test_pairs_are_named_after_their_fault_or_program_and_fault(tmp_path: Path) -> None:
    for name in ("few_cores", "clicks.few_cores", "resnet.loss_read_each_step", "half.few_cores"):
        for half in conclusions.HALVES if name != "half.few_cores" else ("bad",):
            (tmp_path / f"{name}.{half}.sqlite").touch()
    assert conclusions.list_pairs(tmp_path) == ["resnet.loss_read_each_step", "clicks.few_cores", "few_cores"]
    assert conclusions.find_fault("clicks.few_cores") == FAULTS["few_cores"]

"""Sentences of findings: singular and plural, shares that round to zero, and missing data."""

import re
from dataclasses import replace

import pytest

from profiledb.findings import rule as rules
from profiledb.findings import rulebook, sentences
from profiledb.findings.finding import Finding, Prediction, Together
from tests.findings.test_rulebook import HEADER, QUERY

COUNTED = HEADER.replace("-- says: {value} in {range}.\n", "").replace(
    "-- says: {value}.\n",
    "-- column: gaps | count | | many\n-- says: {gaps} long {gaps|gap costs|gaps cost} up to {value}, or {value}.\n",
)
NEVER_ONE = {
    ("fluctuating_use", "samples"), ("long_gaps", "gaps"),
    ("memory_growth", "steps"), ("few_cores", "calls"),
    ("one_stream", "streams"), ("recurring_gaps", "gaps"),
    ("recurring_gaps", "steps"), ("several_processes", "value"), ("short_kernels", "kernels"), ("step_growth", "steps"),
    ("step_outliers", "steps"), ("step_tail", "steps"), ("sync_per_layer", "layers"), ("unsteady_steps", "steps"),
    ("unsteady_steps", "value"), ("elementwise_chains", "kernels"), ("launch_bound", "reads"),
    ("launch_bound", "graphs"), ("graphs_in_loop", "captures"), ("dense_embedding_gradients", "numbers"),
    ("unsteady_steps", "unsettled"), ("tokens_recomputed", "passes"), ("prompts", "prompts"), ("prompts", "blocks"),
    ("os_blocking", "reads"), ("weights_from_host", "copies"), ("weights_from_host", "passes"),
    ("step_growth", "last_operations"), ("pickled_tensors", "messages"), ("data_parallel", "devices"),
    ("data_parallel", "passes"), ("data_parallel", "broadcasts"),
    ("garbage_collection", "times"), ("garbage_collection", "frees"), ("launch_bound", "breaks"),
}  # fmt: skip
"""Counts of which a rule fires, or is clear, for several only."""
WARM = "12.0 % of the selected time is warm-up:"
_PLURAL = re.compile(
    r"\{(\w+)\} (?:(?:long|short|slow|large|async|synchronous|NVTX|CUDA|GPU|first|elementwise) )?(?!synchronous)\w+s\b"
)


@pytest.mark.parametrize(
    ("gaps", "value", "text"),
    [
        (1, 12.0, "1 long gap costs up to 12.0 %, or 12.0 %."),
        (2, 12.0, "2 long gaps cost up to 12.0 %, or 12.0 %."),
        (0, 0.0, "0 long gaps cost up to 0.0 %, or 0.0 %."),
        (1234, 0.01, "1,234 long gaps cost up to 0.1 %, or <0.1 %."),
    ],
)
def test_one_and_many_and_next_to_nothing(gaps: int, value: float, text: str) -> None:
    rule = rules.parse("something", COUNTED + QUERY, "idle")
    assert sentences.says(Finding(rule, "fires", value=value, facts={"gaps": gaps})) == text


def test_no_rule_says_one_of_many() -> None:
    """Every count that may be one has a singular and a plural."""
    found = {
        (rule.name, place[1])
        for rule in rulebook.load().values()
        for sentence in (*rule.says, *rule.clear)
        for place in _PLURAL.finditer(sentence)
        if {"value": rule.unit, **{one.name: one.unit for one in rule.analysis.columns}}[place[1]] == "count"
    }
    assert found == NEVER_ONE


@pytest.mark.parametrize(
    ("name", "facts", "text"),
    [
        ("graph_breaks", {"graphs": 6}, "All kernels run in CUDA graphs (6 launches)."),
        (
            "graph_breaks",
            {"graphs": 6, "single": 1},
            "Outside its 6 CUDA graphs the program launches 1 kernel one by one; ",
        ),
        ("lost_events", {"rejected": 1, "first_text": "x"}, "1 row of the export could not be used. "),
        ("lost_events", {"errors": 2, "first_text": "x"}, "The report has 2 errors. The first: `x`"),
        ("long_gaps", {"gaps": 1, "idle_ns": 10**9, "reason": "a lock"}, "The GPU does nothing in one long gap, "),
        ("warmup_inside", {"first_steps": 1, "above_ns": 5_000}, f"{WARM} 1 first step exceeds the median of the othe"),
        ("warmup_inside", {"named_ns": 5_000}, f"{WARM} 5.00 µs in ranges called warm-up."),
    ],
)
def test_what_is_not_there_is_not_counted(name: str, facts: dict[str, object], text: str) -> None:
    finding = Finding(rulebook.load()[name], "clear" if name == "graph_breaks" else "fires", value=12.0, facts=facts)
    assert sentences.says(finding).startswith(text)


def fired(name: str, **values: object) -> Finding:
    """A finding of a firing rule, with the facts of its sentences."""
    return Finding(rulebook.load()[name], "fires", **values)  # type: ignore[arg-type]


IDLE = {
    "value": 80.0,
    "cause": "launch call",
    "facts": {"idle_ns": 40_000, "reason": "launch call", "reason_pct": 60.0},
}
WSL = {"value": 100.0, "cause": "WSL2", "facts": {"calls": 3}}


def test_what_to_do_first_says_of_what_the_share_is() -> None:
    """By hand: 40 of 50 µs between the first operation and the last, in a capture of 2 s."""
    idle = fired("gpu_idle", saving_ns=40_000, saving_pct=80.0, **IDLE)
    assert sentences.do_first([idle], 60_000).endswith(" Saves at most 40.0 µs (80.0 %).")
    assert sentences.do_first([idle]).endswith(" Saves at most 40.0 µs (80.0 %).")
    small = "80.0 % of the 50.0 µs from the GPU's first operation to its last, in a capture of 2.00 s."
    assert sentences.do_first([idle], 2 * 10**9).endswith(f" Saves at most 40.0 µs: {small}")


def test_a_warning_comes_first_where_nothing_costs_time() -> None:
    lost, idle = fired("no_gpu_activity", **WSL), fired("gpu_idle", saving_ns=40_000, saving_pct=80.0, **IDLE)
    first = sentences.do_first([lost])
    assert first.startswith("Profile on native Linux: ")
    assert first.endswith(
        " The driver did not report what the GPU ran for 100.0 % of the program's 3 launches and copies."
    )
    assert sentences.do_first([idle, lost]).startswith("Launch ")
    assert sentences.do_first([]) == ""


@pytest.mark.parametrize(
    ("ns", "high_ns", "said"),
    [
        (33, 38, "together saves about 33 ns (33.0 % of the time), between 9 ns and 34 ns."),
        (33, 34, "together saves about 33 ns (33.0 % of the time), between 9 ns and 34 ns."),
        (36, 38, "together saves about 36 ns (36.0 % of the time), between 9 ns and 38 ns."),
    ],
)
def test_two_changes_save_no_more_than_both(ns: int, high_ns: int, said: str) -> None:
    """They save at most 19 and 15 ns by themselves, so at most 34 together, unless more is predicted."""
    alone = [
        fired("tensor_cores_unused", at_most_ns=19, prediction=Prediction(("a",), 18, 5, 22, 18.0, 22.0)),
        fired("double_precision", at_most_ns=15, prediction=Prediction(("b",), 14, 5, 18, 14.0, 18.0)),
    ]
    both = Together(tuple(one.rule for one in alone), Prediction(("a", "b"), ns, 9, high_ns, float(ns), float(high_ns)))
    told = [replace(one, together=both) for one in alone]
    assert sentences.describe_savings(told, titled=False) == f"Fixing the first finding and the second {said}"


def test_a_kernel_at_its_roof_comes_before_what_saves_little() -> None:
    facts = {"kernel": "vec_add", "note": "89.2 % of 100.0 % possible occupancy"}
    less = fired("profile_achieved_occupancy", value=8.3, saving_ns=3_470, saving_pct=8.3, facts=facts)
    roof = {"facts": {"kernel": "vec_add", "note": "92 % of DRAM bandwidth"}, "cause": "memory"}
    assert sentences.do_first([less, fired("profile_at_roof", value=100.0, **roof)]).startswith("Move fewer bytes in ")
    assert sentences.do_first([less, fired("profile_at_roof", value=49.0, **roof)]).startswith("Balance the work ")

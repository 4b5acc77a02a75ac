"""Properties of any report: shares of a whole add up, no part exceeds its whole, steps are counted alike."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.catalog import LAUNCHES, TIMELINE
from tests.second import phases
from tests.second.conftest import EVERY, EXPORTS, Rows, Sample, known
from tests.support.answers import Answers
from tests.support.every_report import CHOSEN, FILES, slow_but

WHOLES: dict[str, dict[str, tuple[str, ...]]] = {
    "class_split": {"share_pct": ()},
    "kernels": {"share_pct": ()},
    "phase_split": {"share_pct": (), "phase_pct": ("phase",)},
    "attribution": {"share_pct": ()},
    "attention_parts": {"share_pct": ("variant", "tokens", "batch", "heads", "head_size")},
    "nccl_sum": {"share_pct": ()},
    "api_calls": {"share_pct": ()},
    "osrt_calls": {"share_pct": ()},
    "idle_reasons": {"share_pct": ()},
    "time_split": {"share_pct": ()},
    "step_split": {"share_pct": ("start_ns",)},
    "ncu_verdicts": {"share_pct": ()},
    "ncu_stalls": {"samples_pct": ("launch_id",)},
}
"""Shares of a whole by analysis, and the columns that tell the whole of each."""

OF_A_PEAK = {
    "copies": ("peak_pct",),
    "memory_use": ("peak_pct",),
    "gpu_busy": ("busy_pct", "busy_active_pct"),
    "ncu_roofline": ("pct_of_roof",),
    "ncu_speed_of_light": ("compute_pct", "memory_pct", "dram_pct", "l1_pct", "l2_pct", "occupancy_pct"),
    "ncu_breakdown": ("pct",),
    "ncu_occupancy": ("theoretical_pct", "achieved_pct"),
}
TOLD: dict[str, tuple[str, ...]] = {"mfu": ("mfu_pct",), "attention_parts": ("pct_of_peak",)}
"""Shares of a peak by what programs write beside their reports."""

HIGHEST = 105
"""Clocks differ between passes, so that a measured share may pass 100 % by a little."""


class Asked:
    """The answers of a report."""

    def __init__(self, answers: Answers, name: str) -> None:
        self.answers, self.report = answers, answers.library.find(name)

    def rows(self, name: str) -> Rows:
        """The rows of an analysis; none if the report lacks its data."""
        try:
            frame = self.answers.frame(self.report.name, name)
        except NotCapturedError:
            return []
        return [{str(c): known(v) for c, v in row.items()} for row in frame.to_dict("records")]


OTHERS = [name for name in FILES if name.partition(".")[0] not in EXPORTS or name.endswith(".ncu-rep")]
"""Every report but the samples of nsys, of which the second computation has every share already."""


@pytest.fixture(params=slow_but(CHOSEN, OTHERS, "every report there is"))
def asked(answers: Answers, request: pytest.FixtureRequest) -> Asked:
    return Asked(answers, request.param)


def fitting(asked: Asked, names: dict[str, Any]) -> Iterator[str]:
    """The analyses that may have something to say of this kind of report."""
    subjects = asked.report.subjects
    for name in names:
        if (LAUNCHES if name.startswith("ncu_") else TIMELINE) in subjects:
            yield name


def wrong_wholes(name: str, rows: Rows) -> list[str]:
    """Sums of shares that are not 100; a whole of nothing has none."""
    found = []
    for column, by in WHOLES[name].items():
        sums: dict[tuple[Any, ...], list[float | None]] = defaultdict(list)
        for row in rows:
            sums[tuple(row[one] for one in by)].append(row[column])
        for key, shares in sums.items():
            told = [share for share in shares if share is not None]
            if told and abs(sum(told) - 100) > 1e-6:
                found.append(f"{name}.{column} of {key} adds up to {sum(told)}")
    return found


def too_high(shares: dict[str, tuple[str, ...]], name: str, rows: Rows) -> list[str]:
    return [
        f"{name}.{column} is {row[column]}"
        for row in rows
        for column in shares[name]
        if row[column] is not None and not 0 <= row[column] <= HIGHEST
    ]


def test_shares_of_a_whole_add_up(asked: Asked) -> None:
    assert not [line for name in fitting(asked, WHOLES) for line in wrong_wholes(name, asked.rows(name))]


def test_shares_of_a_peak(asked: Asked) -> None:
    assert not [line for name in fitting(asked, OF_A_PEAK) for line in too_high(OF_A_PEAK, name, asked.rows(name))]
    if "ncu_roofline" in fitting(asked, OF_A_PEAK):
        nothing_lies_above_a_roof_that_is_not_known(asked.rows("ncu_roofline"))


def nothing_lies_above_a_roof_that_is_not_known(rows: Rows) -> None:
    """Nor does an operation above a roof have a share of it, which would exceed 100 %."""
    above = [row for row in rows if row["above_roof"] is not None]
    assert all(row["peak_flops_per_s"] is not None or row["peak_bytes_per_s"] is not None for row in above)
    assert all(row["pct_of_roof"] is None for row in above)


def test_no_part_is_longer_than_its_whole(asked: Asked) -> None:
    tree = {row["path_id"]: row for name in fitting(asked, {"nvtx_tree": None}) for row in asked.rows(name)}
    gpus = [row for name in fitting(asked, {"gpu_busy": None}) for row in asked.rows(name)]
    wrong = [
        f"{row['path']}: {part} is longer than {whole}"
        for row in tree.values()
        for part, whole in (("self_ns", "cpu_ns"), ("busy_ns", "gpu_ns"))
        if len(gpus) == 1 and row[part] is not None and row[whole] is not None and row[part] > row[whole]
    ]
    for row in tree.values():
        around = tree.get(row["parent_id"])
        if (
            around
            and "…" not in row["path"]
            and "StartEnd" not in (row["style"], around["style"])
            and row["cpu_ns"] > around["cpu_ns"]
        ):
            wrong.append(f"{row['path']} is longer than what is around it")
    assert not wrong
    assert all(row["busy_ns"] is None or row["busy_ns"] <= row["active_ns"] for row in gpus)


@EVERY
def test_shares_of_a_peak_that_programs_tell(sample: Sample) -> None:
    names = TOLD if sample.capture.kernels else {}
    assert not [line for name in names for line in too_high(TOLD, name, sample.ask(name))]


@EVERY
def test_kernels_of_a_stream_fit_into_what_holds_them(sample: Sample) -> None:
    """Operations of one stream run one after another."""
    if len({one.stream for one in sample.capture.operations}) > 1:
        return
    for row in sample.ask("nvtx_tree", mode="process"):
        assert (row["kernel_ns"] or 0) <= (row["busy_ns"] or 0), row["path"]
    for row in sample.ask("iterations", mode="process"):
        assert (row["busy_ns"] or 0) <= (row["gpu_ns"] or 0), row["path"]


def counts(sample: Sample) -> dict[str, int | None]:
    """The number of steps that count of the loop of rank 1, by its source."""
    steps = [row for row in sample.ask("iterations", mode="process") if row["rank"] == 1]
    summary = sample.ask("iteration_summary", mode="process")[:1]
    found: dict[str, int | None] = {
        "iterations": sum(row["closed"] and not row["is_warmup"] for row in steps),
        "iteration_summary": sum(row["count"] for row in summary),
    }
    if sample.capture.kernels:
        found["phase_split"] = next(row["passes"] or 0 for row in sample.ask("phase_split", mode="process"))
        found["mfu"] = next(row["steps"] or 0 for row in sample.ask("mfu", mode="process"))
        if found["iterations"]:
            found["rank_split"] = len({row["step"] for row in sample.ask("rank_split")})
    return found


@EVERY
def test_steps_are_counted_the_same_everywhere(sample: Sample) -> None:
    assert len(set(counts(sample).values())) == 1, counts(sample)


@EVERY
def test_a_step_times_the_steps_is_what_they_hold(sample: Sample) -> None:
    """Kernel time and launches per step, over classes and phases, against the kernels inside the steps."""
    if not sample.capture.kernels:
        return
    rows = sample.ask("phase_split", mode="process")
    inside = [one for _, in_pass, one in phases.placed(sample.capture, "process") if in_pass]
    number = rows[0]["passes"] or 0
    assert sum(row["pass_ns"] or 0 for row in rows) * number == pytest.approx(sum(one.ns for one in inside))
    assert sum(row["pass_calls"] or 0 for row in rows) * number == pytest.approx(len(inside))

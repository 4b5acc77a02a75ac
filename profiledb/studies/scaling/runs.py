"""A program on more and more GPUs: runs of one family, the parts of a step in each, and how well they scale.

A run is one launch: the reports of its ranks, or one report with a rank per GPU and process. Everything is computed
from analyses of each report by itself (``rank_split``, ``nccl_ops``); the clocks of reports need not agree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from profiledb.errors import NotCapturedError, WarpdeckError
from profiledb.query import captures
from profiledb.studies.scaling.family import Named

PARTS = ("compute_ns", "exposed_ns", "copy_ns", "idle_ns")
"""Parts of a step; their sum is its length."""
STEPS = ("ranges", "kernels", "nothing")
"""Sources of a report's steps, best first."""
EVERY = 100_000_000
"""Number of rows to request if none may be left out."""
SMALL = 0.01
"""Part of the kernel time of a report's busiest GPU below which a GPU is no rank."""

RunAnalysis = Callable[..., pd.DataFrame]
"""Answers an analysis of one report, given its name and parameters."""


@dataclass(frozen=True)
class Rank:
    """A rank: its number, its report, the mean parts of its steps, its NCCL operations.

    Args:
        number: rank, from 0.
        report: name of the report.
        told_by: one of ``STEPS``.
        steps: number of steps in the means.
        step_ns: mean length of a step, ns, the sum of ``parts`` without ``hidden_ns``.
        parts: mean of each of ``PARTS`` and of hidden_ns per step, ns.
        ops: rows of ``nccl_ops`` within steps.
        split: rows of ``rank_split``, one per step.
        gpu_id: number of its GPU in the report.
        gpu: product name of the GPU; "" if unknown.
    """

    number: int
    report: str
    told_by: str
    steps: int
    step_ns: float
    parts: Mapping[str, float]
    ops: pd.DataFrame
    split: pd.DataFrame
    gpu_id: int
    gpu: str


@dataclass(frozen=True)
class Run:
    """The ranks of one launch, in order; ``size`` is their number, whether their reports are present or not.

    Args:
        name: name of its reports without the rank.
        curve: name shared with runs of the same kind on other numbers of GPUs.
        scaling: strong or weak, from its program; "" if unknown.
        items: number and kind of items that a rank computes per step, from its program; None if unknown.
    """

    name: str
    curve: str
    size: int
    scaling: str
    items: tuple[float, str] | None
    ranks: tuple[Rank, ...]

    @property
    def step_ns(self) -> float:
        """Length of a step, ns: the mean over the ranks, which wait for each other."""
        return compute_mean([rank.step_ns for rank in self.ranks])

    @property
    def slowest(self) -> Rank:
        """The rank with the longest steps."""
        return max(self.ranks, key=lambda rank: rank.step_ns)

    @property
    def told_by(self) -> str:
        """Source of the steps; of several, the worst."""
        return max((rank.told_by for rank in self.ranks), key=STEPS.index)

    @property
    def comparable(self) -> bool:
        """True if the length of a step is known; a whole capture has none."""
        return self.told_by != "nothing"

    @property
    def whole(self) -> bool:
        """True if every rank is present."""
        return len(self.ranks) == self.size

    @property
    def total_items(self) -> float | None:
        """Items per step of all ranks."""
        return None if self.items is None else self.items[0] * self.size

    def part(self, name: str) -> float:
        """Return the mean over the ranks of a part of a step, ns."""
        return compute_mean([rank.parts[name] for rank in self.ranks])


def compute_mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean of one value or more."""
    return sum(values) / len(values)


def gather_runs(named: Sequence[Named], run: Callable[[str], RunAnalysis]) -> tuple[list[Run], list[str]]:
    """Return the runs of reports, by number of ranks, and a sentence for each report that is left out.

    Args:
        named: the reports.
        run: answers analyses of the report with an id, each on the whole of it.
    """
    by_run: dict[str, list[tuple[Named, list[Rank]]]] = {}
    left_out = []
    for report in named:
        try:
            ranks = read_ranks(report, run(report.id))
        except WarpdeckError as error:
            left_out.append(f"{report.name} is excluded: {error.message}")
            continue
        known = by_run.setdefault(report.run, [])
        if any(report.rank in (None, other.rank) for other, _ in known):
            which = "" if report.rank is None else f" of rank {report.rank}"
            left_out.append(f"{report.name} is excluded: there is another report{which} of {report.run}.")
        else:
            known.append((report, ranks))
    runs = [_make_run(name, members) for name, members in by_run.items()]
    return sorted(runs, key=lambda launch: (launch.size, launch.name)), left_out


def _make_run(name: str, members: list[tuple[Named, list[Rank]]]) -> Run:
    ranks = sorted((rank for _, own in members for rank in own), key=lambda rank: rank.number)
    first = members[0][0]
    declared_size = max((report.size or 0 for report, _ in members), default=0)
    size = max(declared_size, len(ranks), 1 + max(rank.number for rank in ranks))
    return Run(name, first.curve, size, first.scaling, first.items, tuple(ranks))


def read_ranks(report: Named, run: RunAnalysis) -> list[Rank]:
    """Return the ranks of a report: itself, or each of its GPUs and processes. Raises NotCapturedError."""
    told_by, split = _read_split(run)
    lanes: list[tuple[Any, pd.DataFrame]] = list(split.groupby(["pid", "gpu_id"], sort=True))
    kernel_ns = [float(rows["compute_ns"].sum() + rows["exposed_ns"].sum()) for _, rows in lanes]
    lanes = [lane for lane, ns in zip(lanes, kernel_ns, strict=True) if ns >= SMALL * max(kernel_ns)]
    ops = run("nccl_ops", steps=told_by, points=EVERY)
    ops = ops[ops["step"].notna()]
    first = report.rank or 0
    return [
        Rank(
            number=first + number,
            report=report.name,
            told_by=told_by,
            steps=len(rows),
            step_ns=float(rows["duration_ns"].mean()),
            parts={name: float(rows[name].mean()) for name in (*PARTS, "hidden_ns")},
            ops=ops[(ops["pid"] == key[0]) & (ops["gpu_id"] == key[1])],
            split=rows,
            gpu_id=int(key[1]),
            gpu=next((name for name in rows.get("gpu", ()) if isinstance(name, str)), ""),
        )
        for number, (key, rows) in enumerate(lanes)
    ]


def _read_split(run: RunAnalysis) -> tuple[str, pd.DataFrame]:
    """Return the source of a report's steps, and its ``rank_split`` by them."""
    for told_by in STEPS:
        rows = run("rank_split", steps=told_by)
        if len(rows):
            return told_by, rows
    raise NotCapturedError("No kernels ran in this report.", command=captures.PROFILE)


@dataclass(frozen=True)
class Scaling:
    """Strong or weak, and its evidence: the ``work`` of a step, the ``program``, or ``nothing``."""

    kind: str
    told_by: str


def classify_scaling(run: Run, base: Run, assumed: str) -> Scaling:
    """Return the kind of scaling of a run against its base: by the work of a step, else by its program, else
    ``assumed``.

    Scaling is weak if a rank has as many items per step as one of the base, strong if all ranks together have.
    """
    if run.size != base.size and run.items and base.items and run.items[1] == base.items[1]:
        for kind in ("weak", "strong"):
            if has_same_work(run, base, kind):
                return Scaling(kind, "work")
    return Scaling(run.scaling, "program") if run.scaling else Scaling(assumed, "nothing")


def has_same_work(run: Run, base: Run, scaling: str) -> bool:
    """Return True if the items of two runs fit the kind of scaling, as far as they are known."""
    if run.items is None or base.items is None or not run.items[0] or not base.items[0]:
        return True
    if run.items[1] != base.items[1]:
        return False
    ratio = (
        run.items[0]
        * (run.size if scaling == "strong" else 1)
        / (base.items[0] * (base.size if scaling == "strong" else 1))
    )
    return abs(ratio - 1) < 0.01


def find_base(run: Run, runs: Sequence[Run], assumed: str = "strong") -> Run | None:
    """Return the base of a run: of its curve, or on one GPU of any curve, the run with the fewest ranks.

    A run on one GPU serves strong and weak scaling. None if no run has fewer ranks and the same work.
    """
    fitting = [
        other
        for other in runs
        if other.comparable and run.comparable and other.size < run.size
        and (other.curve == run.curve or other.size == 1)
        and has_same_work(run, other, classify_scaling(run, other, assumed).kind)
    ]  # fmt: skip
    return min(fitting, key=lambda other: (other.size, other.curve != run.curve, other.name), default=None)

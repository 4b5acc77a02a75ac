"""A program on more and more GPUs: runs of one family, what a step of each takes, and how well they scale.

A run is one launch: the reports of its ranks, or one report with a rank a GPU and process. Everything here works on
answers of analyses of each report by itself (``rank_split``, ``nccl_ops``); the clocks of reports need not agree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from profiledb.errors import NotCapturedError, WarpdeckError
from profiledb.studies.scaling.family import Named

PARTS = ("compute_ns", "exposed_ns", "copy_ns", "idle_ns")
"""What a step is made of; their sum is its length."""
STEPS = ("ranges", "kernels", "nothing")
"""What may tell the steps of a report, the best first."""
EVERY = 100_000_000
"""Rows that are asked for where none may be left out."""
SMALL = 0.01
"""Of the kernel time of the busiest GPU of a report: a GPU below it is no rank."""

RunAnalysis = Callable[..., pd.DataFrame]
"""Answers an analysis of one report: its name, and parameters by name."""


@dataclass(frozen=True)
class Rank:
    """A rank: its number, the report it is in, the mean of what its steps are made of, its operations of NCCL.

    Args:
        number: rank, from 0.
        report: name of the report.
        told_by: one of ``STEPS``.
        steps: how many steps the means are over.
        step_ns: mean length of a step, ns; ``parts`` (and ``hidden_ns``) sum up to it.
        parts: mean of each of ``PARTS`` and of hidden_ns a step, ns.
        ops: rows of ``nccl_ops`` that lie in steps.
    """

    number: int
    report: str
    told_by: str
    steps: int
    step_ns: float
    parts: Mapping[str, float]
    ops: pd.DataFrame


@dataclass(frozen=True)
class Run:
    """The ranks of one launch, in order; ``size`` is how many there were, seen or not.

    Args:
        name: what its reports are called without their rank.
        curve: what it shares with runs of the same kind on other numbers of GPUs.
        scaling: strong or weak, as its program says; "" where it does not.
        items: what a rank computes in a step, as its program says: how many, and of what; None where it does not.
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
        return mean([rank.step_ns for rank in self.ranks])

    @property
    def slowest(self) -> Rank:
        """The rank with the longest steps."""
        return max(self.ranks, key=lambda rank: rank.step_ns)

    @property
    def told_by(self) -> str:
        """What tells the steps: of several the worst."""
        return max((rank.told_by for rank in self.ranks), key=STEPS.index)

    @property
    def comparable(self) -> bool:
        """Whether a length of a step is known: the whole of a capture is none."""
        return self.told_by != "nothing"

    @property
    def whole(self) -> bool:
        """Whether every rank is there."""
        return len(self.ranks) == self.size

    @property
    def total_items(self) -> float | None:
        """Items a step of all ranks."""
        return None if self.items is None else self.items[0] * self.size

    def part(self, name: str) -> float:
        """The mean over the ranks of a part of a step, ns."""
        return mean([rank.parts[name] for rank in self.ranks])


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of one value or more."""
    return sum(values) / len(values)


def gather(named: Sequence[Named], run: Callable[[str], RunAnalysis]) -> tuple[list[Run], list[str]]:
    """The runs of reports, by number of ranks; and a sentence for each report that is left out.

    Args:
        named: the reports.
        run: answers analyses of the report with an id, each on the whole of it.
    """
    by_run: dict[str, list[tuple[Named, list[Rank]]]] = {}
    left_out = []
    for report in named:
        try:
            ranks = _ranks(report, run(report.id))
        except WarpdeckError as error:
            left_out.append(f"{report.name} is excluded: {error.message}")
            continue
        known = by_run.setdefault(report.run, [])
        if any(report.rank in (None, other.rank) for other, _ in known):
            which = "" if report.rank is None else f" of rank {report.rank}"
            left_out.append(f"{report.name} is excluded: there is another report{which} of {report.run}.")
        else:
            known.append((report, ranks))
    runs = [_run(name, members) for name, members in by_run.items()]
    return sorted(runs, key=lambda launch: (launch.size, launch.name)), left_out


def _run(name: str, members: list[tuple[Named, list[Rank]]]) -> Run:
    ranks = sorted((rank for _, own in members for rank in own), key=lambda rank: rank.number)
    first = members[0][0]
    told = max((report.size or 0 for report, _ in members), default=0)
    size = max(told, len(ranks), 1 + max(rank.number for rank in ranks))
    return Run(name, first.curve, size, first.scaling, first.items, tuple(ranks))


def _ranks(report: Named, run: RunAnalysis) -> list[Rank]:
    """The ranks of a report: itself, or each of its GPUs and processes."""
    told_by, split = _split(run)
    lanes = [(key, rows) for key, rows in split.groupby(["pid", "gpu_id"], sort=True)]
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
        )
        for number, (key, rows) in enumerate(lanes)
    ]


def _split(run: RunAnalysis) -> tuple[str, pd.DataFrame]:
    """What tells the steps of a report, and its ``rank_split`` by them."""
    for told_by in STEPS:
        rows = run("rank_split", steps=told_by)
        if len(rows):
            return told_by, rows
    raise NotCapturedError("No kernels ran in this report.", command="nsys profile --trace=cuda,nvtx")


@dataclass(frozen=True)
class Scaling:
    """Strong or weak, and what tells it: the ``work`` of a step, the ``program`` in a word, or ``nothing``."""

    kind: str
    told_by: str


def scaling_of(run: Run, base: Run, assumed: str) -> Scaling:
    """Of which scaling a run is against its base: by the work of a step where it is known, as its program says, else
    as ``assumed``.

    Weak is where a rank has as many items in a step as one of the base, strong where all ranks together have.
    """
    if run.size != base.size and run.items and base.items and run.items[1] == base.items[1]:
        for kind in ("weak", "strong"):
            if same_work(run, base, kind):
                return Scaling(kind, "work")
    return Scaling(run.scaling, "program") if run.scaling else Scaling(assumed, "nothing")


def same_work(run: Run, base: Run, scaling: str) -> bool:
    """Whether the items of two runs fit the kind of scaling, as far as they are known."""
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


def base_of(run: Run, runs: Sequence[Run], assumed: str = "strong") -> Run | None:
    """The run that a run is measured against: of its curve, or on one GPU of any, the one with the fewest ranks.

    A run on one GPU serves strong and weak scaling alike. None where there is none with fewer ranks and the same work.
    """
    fitting = [
        other
        for other in runs
        if other.comparable and run.comparable and other.size < run.size
        and (other.curve == run.curve or other.size == 1)
        and same_work(run, other, scaling_of(run, other, assumed).kind)
    ]  # fmt: skip
    return min(fitting, key=lambda other: (other.size, other.curve != run.curve, other.name), default=None)

"""Two Systems reports side by side, A as it was and B as it is: what each side is, and in what they compare.

Each side is gathered by the analyses below, under a selection of its own. ``compare_rows`` and ``compare_summary`` make
the rows of both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from profiledb.errors import AnalysisError, NotCapturedError

Basis = Literal["total", "step", "share"]
"""What is compared: sums, sums a step, or shares of the kernel time of a side."""

BASES: tuple[Basis, ...] = ("total", "step", "share")
ANALYSES = ("kernel_totals", "kernel_sample", "range_patterns", "copies", "gpu_busy", "iteration_summary")


@dataclass(frozen=True)
class Units:
    """What the work of both sides comes in: how many each has, and the name of the ranges, "" where they are steps."""

    a: int
    b: int
    name: str = ""


@dataclass(frozen=True)
class Side:
    """What is compared of a report: the results of ``ANALYSES`` by their names.

    An empty frame stands for what was not captured; ``lacks`` then says what the kernels would need.
    """

    kernel_totals: pd.DataFrame
    kernel_sample: pd.DataFrame
    range_patterns: pd.DataFrame
    copies: pd.DataFrame
    gpu_busy: pd.DataFrame
    iteration_summary: pd.DataFrame
    lacks: NotCapturedError | None = None

    @property
    def steps(self) -> int | None:
        """Steps of the selection, as ``iteration_summary`` ranks first; None where there are none."""
        rows = self.iteration_summary
        return int(rows["count"].iloc[0]) or None if len(rows) else None

    @property
    def outermost(self) -> tuple[str, int] | None:
        """Name and number of the outermost ranges of the selection, where all of them have one name."""
        rows = self.range_patterns
        top = rows[rows["level"] == 0] if len(rows) else rows
        return (str(top["pattern"].iloc[0]), int(top["instances"].iloc[0])) if len(top) == 1 else None

    @property
    def gpus(self) -> tuple[str, ...]:
        """Names of the GPUs that worked, sorted, each once; none where the report does not tell."""
        rows = self.gpu_busy
        return tuple(sorted(set(rows.loc[rows["operations"] > 0, "gpu"].dropna()))) if len(rows) else ()

    @property
    def kernel_ns(self) -> int:
        """Sum of the durations of the kernels, ns."""
        return int(self.kernel_totals["total_ns"].sum()) if len(self.kernel_totals) else 0


def gather(run: Callable[[str], pd.DataFrame]) -> Side:
    """One side of a comparison; ``run`` answers an analysis by its name, under the selection of that side."""
    found: dict[str, pd.DataFrame] = {}
    lacks = None
    for name in ANALYSES:
        try:
            found[name] = run(name)
        except NotCapturedError as error:
            found[name] = pd.DataFrame()
            lacks = error if name == "kernel_totals" else lacks
    return Side(**found, lacks=lacks)


def other_gpus(a: Side, b: Side) -> bool:
    """Whether the two ran on GPUs of different names, as far as the reports tell."""
    return bool(a.gpus and b.gpus and a.gpus != b.gpus)


def units(a: Side, b: Side) -> Units | None:
    """Steps where both have some; else the outermost ranges where those of both have one name, as a chosen range."""
    if a.steps is not None and b.steps is not None:
        return Units(a.steps, b.steps)
    tops = (a.outermost, b.outermost)
    if tops[0] is None or tops[1] is None or tops[0][0] != tops[1][0]:
        return None
    return Units(tops[0][1], tops[1][1], tops[0][0])


def choose_basis(a: Side, b: Side, asked: str = "auto") -> Basis:
    """What to compare: shares of different GPUs, what a step takes where the steps differ in number, else sums.

    Raises:
        AnalysisError: a step is asked for where one side has none, or the name is no basis.
    """
    if asked not in ("auto", *BASES):
        raise AnalysisError(f"A basis cannot be {asked!r}.", hint=f"It is one of: auto, {', '.join(BASES)}.")
    both = units(a, b)
    if asked == "step" and both is None:
        raise AnalysisError("Not both reports have steps to compare.", hint="Compare sums, or shares.")
    if asked != "auto":
        return next(basis for basis in BASES if basis == asked)
    if other_gpus(a, b):
        return "share"
    return "step" if both is not None and both.a != both.b else "total"


def divisors(a: Side, b: Side, basis: Basis) -> tuple[int, int]:
    """What the sums of both sides are divided by; 1 leaves them whole."""
    both = units(a, b) if basis == "step" else None
    return (both.a, both.b) if both else (1, 1)

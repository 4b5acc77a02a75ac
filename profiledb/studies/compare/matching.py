"""Two Systems reports side by side, A as it was and B as it is: what each side is, and in what they compare.

Each side is gathered by the analyses below, under a selection of its own: once for all that is selected, and once for
what lies in its steps, so that a figure of a step holds nothing else. ``rows``, ``totals`` and ``verdict`` make of both
what people read.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from profiledb.errors import AnalysisError, NotCapturedError

Basis = Literal["total", "step", "share"]
"""What is compared: sums, sums a step, or shares of the kernel time of a side."""

BASES: tuple[Basis, ...] = ("total", "step", "share")
ANALYSES = ("kernel_totals", "kernel_sample", "range_patterns", "copies", "gpu_busy")
STEPS = "iteration_summary"

Run = Callable[..., pd.DataFrame]
"""Answers an analysis by its name, under the selection of a side and the parameters that are given besides."""


@dataclass(frozen=True)
class Units:
    """What the work of both sides comes in: how many each has, and the name of the ranges, "" where they are steps."""

    a: int
    b: int
    name: str = ""


@dataclass(frozen=True)
class Part:
    """What ran in a part of a report: the results of ``ANALYSES`` by their names; without columns if not captured."""

    kernel_totals: pd.DataFrame
    kernel_sample: pd.DataFrame
    range_patterns: pd.DataFrame
    copies: pd.DataFrame
    gpu_busy: pd.DataFrame

    @property
    def kernel_ns(self) -> int:
        """Sum of the durations of the kernels, ns."""
        return int(self.kernel_totals["total_ns"].sum()) if len(self.kernel_totals) else 0

    @property
    def gpus(self) -> tuple[str, ...]:
        """Names of the GPUs that worked, sorted, each once; none where the report does not tell."""
        rows = self.gpu_busy
        return tuple(sorted(set(rows.loc[rows["operations"] > 0, "gpu"].dropna()))) if len(rows) else ()


@dataclass(frozen=True)
class Side(Part):
    """What is compared of a report: all of its selection, and as ``inside`` what lies in its steps.

    Where the report tells no steps, ``inside`` is what lies in its outermost ranges, if all of them have one name.
    ``lacks`` says what the kernels would need where they were not captured.
    """

    iteration_summary: pd.DataFrame
    inside: Part | None = None
    lacks: NotCapturedError | None = None

    @property
    def steps(self) -> int | None:
        """Steps of the selection that count, as ``iteration_summary`` ranks first; None where there are none."""
        rows = self.iteration_summary
        return int(rows["count"].iloc[0]) or None if len(rows) else None

    @property
    def unit(self) -> tuple[str, int] | None:
        """Name and number of what ``inside`` comes in: steps, or outermost ranges of one name."""
        if self.steps is not None:
            return str(self.iteration_summary["steps"].iloc[0]), self.steps
        rows = self.range_patterns
        top = rows[rows["level"] == 0] if len(rows) else rows
        return (str(top["pattern"].iloc[0]), int(top["instances"].iloc[0])) if len(top) == 1 else None


def gather(run: Run) -> Side:
    """One side of a comparison; ``run`` answers an analysis by its name, under the selection of that side."""
    found, lacks = answers(run)
    steps, _ = _answer(run, STEPS)
    whole = Side(**found, iteration_summary=steps, inside=None, lacks=lacks)
    if whole.unit is None:
        return whole
    within = "ranges" if whole.steps is None else "steps"
    inside, _ = answers(lambda name: run(name, within=within))
    return replace(whole, inside=Part(**inside))


def answers(run: Run) -> tuple[dict[str, pd.DataFrame], NotCapturedError | None]:
    """The results of ``ANALYSES``, and why there are no kernels where they were not captured."""
    found = {name: _answer(run, name) for name in ANALYSES}
    return {name: rows for name, (rows, _) in found.items()}, found["kernel_totals"][1]


def _answer(run: Run, name: str) -> tuple[pd.DataFrame, NotCapturedError | None]:
    try:
        return run(name), None
    except NotCapturedError as error:
        return pd.DataFrame(), error


def other_gpus(a: Side, b: Side) -> bool:
    """Whether the two ran on GPUs of different names, as far as the reports tell."""
    return bool(a.gpus and b.gpus and a.gpus != b.gpus)


def units(a: Side, b: Side) -> Units | None:
    """Steps where both have some; else the outermost ranges where those of both have one name, as a chosen range."""
    if a.steps is not None and b.steps is not None:
        return Units(a.steps, b.steps)
    if a.unit is None or b.unit is None or a.unit[0] != b.unit[0]:
        return None
    return Units(a.unit[1], b.unit[1], a.unit[0])


def choose_basis(a: Side, b: Side, asked: str = "auto") -> Basis:
    """What to compare: shares of different GPUs, what a step takes where both have steps, else sums.

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
    return "step" if both is not None else "total"


def parts(a: Side, b: Side, basis: Basis) -> tuple[tuple[Part, int], tuple[Part, int]]:
    """What is compared of both sides, with the number by which its sums are divided; 1 leaves them whole."""
    both = units(a, b) if basis == "step" else None
    if both is None or a.inside is None or b.inside is None:
        return (a, 1), (b, 1)
    return (a.inside, both.a), (b.inside, both.b)


def kernel_keys(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """For each kernel of two results of ``kernel_totals`` a text that is the same where the kernel is.

    It is the one with the same mangled name, else the same full name, else the same normal name (pair.sql).
    """
    sides = (a, b)
    keys = [pd.Series(pd.NA, index=rows.index, dtype="object") for rows in sides]
    for column in ("mangled", "demangled", "normal_name"):
        left = [rows[column].where(key.isna()) for rows, key in zip(sides, keys, strict=True)]
        if column == "mangled":  # exports were seen in which it is a short name, which many kernels share
            left = [texts.where(~texts.duplicated(keep=False)) for texts in left]
        shared = set(left[0].dropna()) & set(left[1].dropna())
        keys = [
            key.where(~texts.isin(shared), f"{column} " + texts.fillna(""))
            for key, texts in zip(keys, left, strict=True)
        ]
    first, second = (
        key.where(key.notna(), f"{letter} " + rows["kernel"].astype(str))
        for letter, rows, key in zip("ab", sides, keys, strict=True)
    )
    return first, second

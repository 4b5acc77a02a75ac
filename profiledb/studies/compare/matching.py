"""Two Systems reports side by side, A before and B after a change: their sides, and the units in which they compare.

The analyses below gather each side under a selection of its own: once for all of it, and once for the content of its
steps, so that a figure per step contains nothing else. ``rows``, ``totals`` and ``verdict`` turn both into text.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from profiledb.errors import AnalysisError, NotCapturedError

Basis = Literal["total", "step", "share"]
"""What is compared: sums, sums per step, or shares of a side's kernel time."""

BASES: tuple[Basis, ...] = ("total", "step", "share")
ANALYSES = ("kernel_totals", "kernel_sample", "range_patterns", "copies", "gpu_busy")
STEPS = "iteration_summary"

Run = Callable[..., pd.DataFrame]
"""Answers an analysis by name, under the selection of a side and further parameters."""


@dataclass(frozen=True)
class Units:
    """The units of work of both sides: their numbers, and the name of the ranges, "" for steps."""

    a: int
    b: int
    name: str = ""


@dataclass(frozen=True)
class Part:
    """The work in a part of a report: results of ``ANALYSES`` by name; without columns if not captured."""

    kernel_totals: pd.DataFrame
    kernel_sample: pd.DataFrame
    range_patterns: pd.DataFrame
    copies: pd.DataFrame
    gpu_busy: pd.DataFrame

    @property
    def kernel_ns(self) -> int:
        """Sum of the kernel durations, ns."""
        return int(self.kernel_totals["total_ns"].sum()) if len(self.kernel_totals) else 0

    @property
    def gpus(self) -> tuple[str, ...]:
        """Names of the GPUs that worked, sorted, each once; none if the report does not tell."""
        rows = self.gpu_busy
        return tuple(sorted(set(rows.loc[rows["operations"] > 0, "gpu"].dropna()))) if len(rows) else ()


@dataclass(frozen=True)
class Side(Part):
    """A report's side of a comparison: all of its selection, and as ``inside`` the content of its steps.

    In a report without steps, ``inside`` is the content of its outermost ranges if they share one name. ``lacks`` tells
    how to capture kernels that are missing.
    """

    iteration_summary: pd.DataFrame
    inside: Part | None = None
    lacks: NotCapturedError | None = None

    @property
    def steps(self) -> int | None:
        """Number of counted steps in the selection, of the first loop in ``iteration_summary``; None for no steps."""
        rows = self.iteration_summary
        return int(rows["count"].iloc[0]) or None if len(rows) else None

    @property
    def unit(self) -> tuple[str, int] | None:
        """Name and number of the units of ``inside``: steps, or outermost ranges of one name."""
        if self.steps is not None:
            return str(self.iteration_summary["steps"].iloc[0]), self.steps
        rows = self.range_patterns
        top = rows[rows["level"] == 0] if len(rows) else rows
        return (str(top["pattern"].iloc[0]), int(top["instances"].iloc[0])) if len(top) == 1 else None


def gather(run: Run) -> Side:
    """Gather one side of a comparison; ``run`` answers an analysis by name, under the selection of that side."""
    results, lacks = gather_answers(run)
    steps, _ = _try_answer(run, STEPS)
    whole = Side(**results, iteration_summary=steps, inside=None, lacks=lacks)
    if whole.unit is None:
        return whole
    within = "ranges" if whole.steps is None else "steps"
    inside, _ = gather_answers(lambda name: run(name, within=within))
    return replace(whole, inside=Part(**inside))


def gather_answers(run: Run) -> tuple[dict[str, pd.DataFrame], NotCapturedError | None]:
    """Return the results of ``ANALYSES``, and the reason why kernels are missing, if they are."""
    results = {name: _try_answer(run, name) for name in ANALYSES}
    return {name: rows for name, (rows, _) in results.items()}, results["kernel_totals"][1]


def _try_answer(run: Run, name: str) -> tuple[pd.DataFrame, NotCapturedError | None]:
    try:
        return run(name), None
    except NotCapturedError as error:
        return pd.DataFrame(), error


def has_other_gpus(a: Side, b: Side) -> bool:
    """Return True if the two ran on GPUs of different names, as far as the reports tell."""
    return bool(a.gpus and b.gpus and a.gpus != b.gpus)


def find_units(a: Side, b: Side) -> Units | None:
    """Return the units of both: steps if both have some, else outermost ranges if those of both share one name."""
    if a.steps is not None and b.steps is not None:
        return Units(a.steps, b.steps)
    if a.unit is None or b.unit is None or a.unit[0] != b.unit[0]:
        return None
    return Units(a.unit[1], b.unit[1], a.unit[0])


def choose_basis(a: Side, b: Side, asked: str = "auto") -> Basis:
    """Choose the basis: shares on different GPUs, sums per step if both have steps, else sums.

    Raises:
        AnalysisError: a side has no steps for sums per step, or the name is no basis.
    """
    if asked not in ("auto", *BASES):
        raise AnalysisError(f"A basis cannot be {asked!r}.", hint=f"It is one of: auto, {', '.join(BASES)}.")
    both = find_units(a, b)
    if asked == "step" and both is None:
        raise AnalysisError("Not both reports have steps to compare.", hint="Compare sums, or shares.")
    if asked != "auto":
        return next(basis for basis in BASES if basis == asked)
    if has_other_gpus(a, b):
        return "share"
    return "step" if both is not None else "total"


def read_parts(a: Side, b: Side, basis: Basis) -> tuple[tuple[Part, int], tuple[Part, int]]:
    """Return the compared part of both sides, with the divisor of its sums; 1 leaves them whole."""
    both = find_units(a, b) if basis == "step" else None
    if both is None or a.inside is None or b.inside is None:
        return (a, 1), (b, 1)
    return (a.inside, both.a), (b.inside, both.b)


def make_kernel_keys(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return for each kernel of two results of ``kernel_totals`` a text that is equal for the same kernel.

    The same kernel has the same mangled name, else the same full name, else the same normalized name (pair.sql).
    """
    sides = (a, b)
    keys = [pd.Series(pd.NA, index=rows.index, dtype="object") for rows in sides]
    for column in ("mangled", "demangled", "normal_name"):
        left = [rows[column].where(key.isna()) for rows, key in zip(sides, keys, strict=True)]
        if column == "mangled":  # some exports have a short name there, shared by many kernels
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

"""Decide whether B is faster than A, in figures and in words: for the page, the command line and its limit.

The time per step decides; without steps on both sides, that of the selection. Busy, kernel, copy and idle time tell
where it went. Work that runs beside other work takes no further wall time: the overlap.
"""

from collections.abc import Callable
from dataclasses import dataclass

from profiledb import words
from profiledb.errors import AnalysisError
from profiledb.studies.compare import totals
from profiledb.studies.compare.matching import Side, Units, find_units, has_other_gpus
from profiledb.studies.compare.rows import compare_kernels

METRICS = {
    "wall": ("wall_ns", "Wall time"),
    "busy": ("busy_ns", "GPU busy time"),
    "kernels": ("kernel_ns", "Kernel time"),
    "copies": ("copy_ns", "Copy time"),
    "memsets": ("memset_ns", "Memset time"),
    "idle": ("idle_ns", "GPU idle time"),
    "launches": ("launches", "Kernel launches"),
}
"""Metrics that decide: the sum in ``totals.SUMS``, and its title. The first one is the headline."""

WALL = next(iter(METRICS))
SAME_PCT = 0.05
"""A change below this, in percent, rounds to none."""
FEW = 0.01
"""Part of a step's time below which a change is not worth a sentence."""

Escape = Callable[[str], str]
"""Escapes the name of a range, which is untrusted, for its place."""


@dataclass(frozen=True)
class Change:
    """A figure of both sides, per step if both have some; None if a report does not know it."""

    metric: str
    a: float | None
    b: float | None

    @property
    def difference(self) -> float | None:
        """B minus A."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def pct(self) -> float | None:
        """B against A in percent; None if A has none."""
        return 100 * (self.b / self.a - 1) if self.a and self.b is not None else None

    def value(self, number: float | None) -> str:
        """Format one of its numbers with the unit."""
        if self.metric == "launches" and number is not None:
            return f"{number:,.1f}".removesuffix(".0")
        return words.duration(number)


def find_changes(a: Side, b: Side) -> dict[str, Change]:
    """Return one change per metric (``METRICS``)."""
    both = find_units(a, b)
    sums = [totals.sum_up(side.inside) if both and side.inside else totals.sum_up(side) for side in (a, b)]
    counts = (both.a, both.b) if both else (1, 1)
    return {
        metric: Change(metric, *(_measure_each(own.get(name), count) for own, count in zip(sums, counts, strict=True)))
        for metric, (name, _) in METRICS.items()
    }


def _measure_each(value: float | None, count: int) -> float | None:
    return None if value is None else value / count


def describe_basis(both: Units | None, escape: Escape = words.visible) -> str:
    """Describe the basis of the figures: `` per step``, `` per instance of forward``, or `` of the selection``."""
    if both is None:
        return " in the selection"
    return f" per instance of {escape(both.name)}" if both.name else " per step"


def state_headline(a: Side, b: Side, escape: Escape = words.visible) -> str:
    """State in a sentence how long B takes against A."""
    change, basis = find_changes(a, b)[WALL], describe_basis(find_units(a, b), escape)
    if change.a is None or change.b is None:
        return f"Wall time{basis} of {'A' if change.a is None else 'B'} is unknown."
    pct = change.pct
    if pct is None or abs(pct) < SAME_PCT:
        return f"B takes as long as A: {words.duration(change.b)}{basis}."
    slow, fast = max(change.a, change.b), min(change.a, change.b)
    times = f" ({slow / fast:,.3g}×)" if fast else ""
    return (
        f"B is {'slower' if pct > 0 else 'faster'}{times}: {words.duration(change.a)} →"
        f" {words.duration(change.b)} wall time{basis} ({format_percent_change(pct)})."
    )


def state_scope(a: Side, b: Side) -> str:
    """State in a sentence what two reports of different GPUs have in common; empty for the same GPU.

    Libraries choose other kernels for another GPU, and those of another vendor have other names.
    """
    if not has_other_gpus(a, b) or not a.kernel_ns or not b.kernel_ns:
        return ""
    rows = compare_kernels(a, b, "total")
    same = rows[rows["status"] == "same"]
    parts = [
        words.percent(100 * float(same[f"{x}_total_ns"].sum()) / side.kernel_ns) for x, side in (("a", a), ("b", b))
    ]
    return (
        f"Kernels of the same name take {parts[0]} of the kernel time of A and {parts[1]} of B. Compare classes, phases"
        " and steps; of single kernels, only these."
    )


def state_figures(a: Side, b: Side, escape: Escape = words.visible) -> str:
    """State busy, kernel, copy and idle time of both sides in a sentence; empty if neither is known."""
    metrics = find_changes(a, b)
    phrases = [
        f"{METRICS[metric][1][0].lower() if metric in _SMALL else METRICS[metric][1][0]}{METRICS[metric][1][1:]}"
        f" {change.value(change.a)} → {change.value(change.b)}{_format_brackets(change.pct)}"
        for metric in ("busy", "kernels", "copies", "memsets", "idle")
        if (change := metrics[metric]).a or change.b
    ]
    if not phrases:
        return ""
    text = ", ".join(phrases) + describe_basis(find_units(a, b), escape)
    return text[0].upper() + text[1:] + "."


_SMALL = ("kernels", "copies", "memsets")


def _format_brackets(pct: float | None) -> str:
    return "" if pct is None else f" ({format_percent_change(pct)})"


def explain_change(a: Side, b: Side) -> str:
    """State the parts of the change of wall time, largest first; empty if there is none or it is unknown.

    On one GPU the parts add up: wall time is idle time plus the time of all work, minus overlapping work.
    """
    metrics = find_changes(a, b)
    whole = metrics[WALL].difference
    single = all(len(side.gpu_busy) and (side.gpu_busy["operations"] > 0).sum() == 1 for side in (a, b))
    if not whole or not single or abs(metrics[WALL].pct or 0) < SAME_PCT:
        return ""
    kinds = {"kernels": "kernels", "copies": "copies", "memsets": "memsets", "idle": "idle"}
    sizes = {title: (metrics[metric].b or 0) - (metrics[metric].a or 0) for metric, title in kinds.items()}
    rest = whole - sum(sizes.values())
    overlaps = [_compute_overlap_ns(metrics, letter) for letter in "ab"]
    sizes["other GPU work" if min(overlaps) < 0 else "less overlap" if rest > 0 else "more overlap"] = rest
    largest = sorted(
        (item for item in sizes.items() if abs(item[1]) >= FEW * abs(whole)), key=lambda item: -abs(item[1])
    )
    listing = ", ".join(f"{title} {format_difference(ns)}" for title, ns in largest)
    return f"Wall time {format_difference(whole)}, of which {listing}."


def _compute_overlap_ns(metrics: dict[str, Change], letter: str) -> float:
    """Return the time of kernels, copies and memsets that overlap others; below 0 if graphs kept the GPU busy."""
    work = sum(getattr(metrics[metric], letter) or 0 for metric in ("kernels", "copies", "memsets"))
    return float(work - (getattr(metrics["busy"], letter) or 0))


def state_outside(a: Side, b: Side) -> str:
    """State the work outside the steps and the time between them, which no figure per step contains; empty without
    steps.
    """
    if find_units(a, b) is None:
        return ""
    sides = [totals.measure(side) for side in (a, b)]
    phrases = []
    for title, name in (("kernels", "kernel_ns"), ("copies", "copy_ns"), ("memsets", "memset_ns")):
        pair = [side.get(f"{name}{totals.OUTSIDE}") for side in sides]
        if any(pair):
            phrases.append(f"{title} {words.duration(pair[0])} in A, {words.duration(pair[1])} in B")
    sentences = [f"Outside steps: {'; '.join(phrases)}."] if phrases else []
    gaps = [side.get("between_steps_ns") for side in sides]
    walls = [side.get(f"wall_ns{totals.PER_STEP}") or 0 for side in sides]
    if any(gap is not None and gap >= FEW * wall for gap, wall in zip(gaps, walls, strict=True)):
        sentences.append(f"Time between steps: {words.duration(gaps[0])} in A, {words.duration(gaps[1])} in B.")
    return " ".join(sentences)


def check_limit(a: Side, b: Side, percent: float, metric: str = WALL) -> tuple[bool, str]:
    """Return whether a metric of B exceeds A's by more than ``percent``, and the sentence.

    Raises:
        AnalysisError: a selection has no GPU work, or a report does not know the metric: a broken run must not pass.
    """
    change = find_changes(a, b)[metric]
    for letter, side, value in (("A", a, change.a), ("B", b, change.b)):
        if not len(side.gpu_busy) or not side.gpu_busy["operations"].sum():
            raise AnalysisError(f"Nothing runs on a GPU in the selection of {letter}, so the limit cannot be checked.")
        if value is None:
            raise AnalysisError(
                f"{METRICS[metric][1]} of {letter} is not in its report, so the limit cannot be checked."
            )
    before, after = change.a or 0.0, change.b or 0.0
    above = after > before * (1 + percent / 100) if before else after > 0
    by = f"{100 * (after / before - 1):+.2f} %" if before else "+0.00 %" if not after else "from none"
    basis = describe_basis(find_units(a, b))
    what = f"{METRICS[metric][1]}{basis}: {change.value(before)} in A, {change.value(after)} in B, {by}"
    return above, f"{what}: {'above' if above else 'within'} the limit of {percent:+g} % (--metric {metric})."


def format_difference(ns: float | None) -> str:
    """Format a difference of times with its sign: ``+1.23 ms``."""
    value = words.number(ns)
    return words.MISSING if value is None else f"{get_sign(value)}{words.duration(abs(value))}"


def format_percent_change(x: float | None) -> str:
    """Format a relative difference with its sign: ``−12.3 %``; without sign if it rounds to zero."""
    value = words.number(x)
    if value is None:
        return words.MISSING
    return f"{get_sign(value) if abs(value) >= SAME_PCT else '±'}{abs(value):,.1f} %"


def get_sign(value: float) -> str:
    """Return the sign of a difference."""
    return "+" if value > 0 else "−" if value < 0 else ""

"""The model of a selection: ranges, mode of attribution, GPU, stream, time.

An analysis that reads a view whose name begins with ``selected_`` takes these parameters, on the command line and in
the address of a page alike. Without any, the views are the whole tables.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profiledb.errors import AnalysisError

HELP = {
    "range": (
        "keeps everything inside this range: its path as nvtx_tree prints it, or its name anywhere; #3 or #2-5 after"
        " it selects instances of each thread; may be given several times"
    ),
    "skip_first": "skips this many first instances of each chosen range",
    "warmup": "exclude skips everything inside ranges that look like warm-up, unless they are chosen themselves",
    "mode": (
        "which ranges a launch belongs to: those of its thread and of the thread that drives it (process), or only"
        " those of its thread (thread); analyses named like an nsys report use thread by default"
    ),
    "within": (
        "keeps everything in the steps that count (steps), or in any range (ranges); `iterations` finds the steps,"
        " closed and not warm-up"
    ),
    "device": "keeps operations on the GPU with this number",
    "stream": "keeps operations on the CUDA stream with this number",
    "from_ns": "keeps everything that starts at or after this time in the capture",
    "to_ns": "keeps everything that starts before this time in the capture",
}
CHOICES = {
    "warmup": ("include", "exclude"),
    "mode": ("process", "thread"),
    "within": ("all", "steps", "ranges"),
}
"""Parameters with fixed values; the first value is the default."""
INSTANCE = re.compile(r"(?P<path>.*)#(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)
"""A range with instances: ``step#3``, ``step#2-5``. A range whose own name ends like this is tried first."""


@dataclass(frozen=True)
class Selection:
    """A part of a report; times in ns from the start of the capture, ``to_ns`` excluded."""

    ranges: tuple[str, ...] = ()
    skip_first: int = 0
    warmup: str = "include"
    mode: str = CHOICES["mode"][0]
    within: str = CHOICES["within"][0]
    device: int | None = None
    stream: int | None = None
    from_ns: int | None = None
    to_ns: int | None = None

    @property
    def everything(self) -> bool:
        """Return True if nothing is excluded; a mode alone excludes nothing."""
        return self == Selection(mode=self.mode)


def get_default(*, warmup: bool) -> Selection:
    """Return the default of the pages; ``warmup`` means that the report has ranges of a warm-up."""
    return Selection(warmup="exclude" if warmup else "include")


def parse(values: Mapping[str, Any], mode: str = CHOICES["mode"][0]) -> Selection:
    """Parse parameters into a selection; a missing or empty one has its default, for the mode ``mode``.

    Raises:
        AnalysisError: a value is impossible, such as a device that is no number.
    """
    given = {"mode": mode} | {name: value for name, value in values.items() if value not in (None, "", ())}
    if unknown := sorted(set(given) - set(HELP)):
        raise AnalysisError(f"A selection has no parameter {unknown[0]!r}.")
    for name, choices in CHOICES.items():
        if given.get(name, choices[0]) not in choices:
            raise AnalysisError(f"{name} cannot be {given[name]!r}.", hint=f"It is one of: {', '.join(choices)}.")
    ranges = given.pop("range", ())
    fields: dict[str, Any] = {n: value if n in CHOICES else _parse_whole(n, value) for n, value in given.items()}
    return Selection(ranges=(ranges,) if isinstance(ranges, str) else tuple(ranges), **fields)


def _parse_whole(name: str, value: Any) -> int:
    try:
        return int(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise AnalysisError(f"{name} takes a whole number, not {value!r}.") from error


def to_params(selection: Selection) -> dict[str, str | Sequence[str]]:
    """Return the parameters of this selection without those at their default."""
    plain = Selection()
    params: dict[str, str | Sequence[str]] = {
        name: str(getattr(selection, name))
        for name in HELP
        if name != "range" and getattr(selection, name) != getattr(plain, name)
    }
    return params | ({"range": selection.ranges} if selection.ranges else {})

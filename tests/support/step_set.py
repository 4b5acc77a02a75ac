"""The set of reports with their true iterations (tests/data/steps.toml), and how right what is detected is."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from profiledb.library.library import Library
from profiledb.query import analysis

DATA = Path(__file__).resolve().parent.parent / "data" / "steps.toml"


@dataclass(frozen=True)
class Told:
    """What is true of a report, and what its kernels tell.

    Args:
        name: the report.
        iterations: how many there are; 0 where the kernels do not loop.
        kernels: of how many kernels each is, 0 where they differ.
        found: iterations that were detected, of which the one before the first marker and after the last are none.
        size: the median of their kernels.
    """

    name: str
    iterations: int
    kernels: int
    found: int
    size: float

    @property
    def is_right(self) -> bool:
        """Whether what was detected is true; where nothing loops, whether nothing was detected."""
        if not self.iterations or not self.found:
            return self.iterations == self.found
        return abs(self.found - (self.iterations - 1)) <= 1 and self.kernels in (0, self.size)


def truth(part: str) -> dict[str, dict[str, int]]:
    """The reports of a part of the set, with what is true of each."""
    return dict(tomllib.loads(DATA.read_text(encoding="utf-8"))[part])


def told(library: Library, report_id: str, name: str, true: dict[str, int]) -> Told:
    """What the kernels of a report tell."""
    rows = analysis.run(library, report_id, "detected_iterations", {})
    size = float(median(rows["kernels"])) if len(rows) else 0
    return Told(name, true["iterations"], true.get("kernels", 0), len(rows), size)


def precision_and_recall(several: Iterable[Told]) -> tuple[float, float]:
    """Of what was detected the share that is right, and of the loops the share that was detected rightly."""
    all_ = list(several)
    right = sum(one.is_right and one.found > 0 for one in all_)
    return right / max(1, sum(one.found > 0 for one in all_)), right / max(1, sum(one.iterations > 0 for one in all_))

"""The reports with known iterations (tests/data/steps.toml), and the accuracy of iteration detection on them."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from profiledb.library.library import Library
from profiledb.query import analysis

DATA = Path(__file__).resolve().parent.parent / "data" / "steps.toml"


@dataclass(frozen=True)
class Detection:
    """The known and detected iterations of a report.

    Args:
        name: the report.
        iterations: the true number of iterations; 0 if the kernels do not loop.
        kernels: the true number of kernels in each, or 0 if it varies.
        found: the number of detected iterations, which exclude work before the first marker and after the last.
        size: the median of their kernel counts.
    """

    name: str
    iterations: int
    kernels: int
    found: int
    size: float

    @property
    def is_right(self) -> bool:
        """Return True if the detected iterations match the true ones, or if neither exist."""
        if not self.iterations or not self.found:
            return self.iterations == self.found
        return abs(self.found - (self.iterations - 1)) <= 1 and self.kernels in (0, self.size)


def truth(part: str) -> dict[str, dict[str, int]]:
    """Return the true values of each report in a part of the set."""
    return dict(tomllib.loads(DATA.read_text(encoding="utf-8"))[part])


def detect(library: Library, report_id: str, name: str, true: dict[str, int]) -> Detection:
    """Detect the iterations of a report and return them with the true values."""
    rows = analysis.run(library, report_id, "detected_iterations", {})
    size = float(median(rows["kernels"])) if len(rows) else 0
    return Detection(name, true["iterations"], true.get("kernels", 0), len(rows), size)


def precision_and_recall(several: Iterable[Detection]) -> tuple[float, float]:
    """Return the share of detections that are right, and the share of loops that were detected correctly."""
    all_ = list(several)
    right = sum(one.is_right and one.found > 0 for one in all_)
    return right / max(1, sum(one.found > 0 for one in all_)), right / max(1, sum(one.iterations > 0 for one in all_))

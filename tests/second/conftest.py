"""All nsys samples with their sidecars, as a library and as raw exports."""

from collections.abc import Callable, Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import SAMPLES
from tests.second.raw import Capture, read
from tests.support import ddp_samples
from tests.support.every_report import slow_but

Rows = list[dict[str, Any]]
EXPORTS = {
    path.stem: path for path in (*sorted(SAMPLES.glob("*.sqlite")), *sorted(ddp_samples.FOLDER.glob("*.sqlite")))
}
"""The export of each sample by report name."""
WITHOUT_GPU = {"openmp_regions"}
ON_A_GPU = [name for name in EXPORTS if name not in WITHOUT_GPU]

CHOSEN = ("transformer_training", "launches_graph", "ddp_strong_2_rank0")
"""Ranges of two threads with a warm-up, whole graphs, and a rank with collectives: `make test` runs only these."""
REASON = "the second computation of every sample"
EVERY = pytest.mark.parametrize("sample", slow_but(CHOSEN, ON_A_GPU, REASON), indirect=True)
"""Parametrizes a test by every sample."""


def but(wrong: Collection[str], reason: str, names: Iterable[str] = ON_A_GPU) -> pytest.MarkDecorator:
    """Parametrize a test by sample, marking those with a known wrong answer as expected failures."""
    mark = pytest.mark.xfail(strict=True, reason=reason)
    samples = slow_but(CHOSEN, names, REASON)
    marked = [pytest.param(*one.values, marks=[*one.marks, mark]) if one.values[0] in wrong else one for one in samples]
    return pytest.mark.parametrize("sample", marked, indirect=True)


class Sample:
    """A sample: its raw export, and the answers of analyses on its report."""

    def __init__(self, library: Library, name: str) -> None:
        self.name, self.library = name, library
        self._asked: dict[tuple[Any, ...], Rows] = {}
        self.report = next(one for one in library.list() if one.name in (f"{name}.nsys-rep", f"{name}.sqlite"))

    @property
    def capture(self) -> Capture:
        return read(EXPORTS[self.name])

    @property
    def facts(self) -> Path:
        """Return the file of facts that the program recorded about itself."""
        return EXPORTS[self.name].with_suffix(".meta.json")

    def ask(self, name: str, **params: Any) -> Rows:
        """Return the rows of an analysis, with None for missing cells."""
        key = (name, *sorted(params.items()))
        if key not in self._asked:
            frame = analysis.run(self.library, self.report.id, name, params)
            rows = frame.to_dict("records")
            self._asked[key] = [{str(column): known(value) for column, value in row.items()} for row in rows]
        return self._asked[key]


def known(value: Any) -> Any:
    """Convert a value to a plain Python object, with None for any representation of a missing value."""
    if isinstance(value, list | tuple | dict):
        return value
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


@pytest.fixture(scope="session")
def sample_of(with_sidecars: Library, ddp: Library) -> Callable[[str], Sample]:
    """Return a function that returns a sample by name. Samples cache their answers."""
    return cache(lambda name: Sample(ddp if name in ddp_samples.NAMES else with_sidecars, name))


@pytest.fixture
def sample(request: pytest.FixtureRequest, sample_of: Callable[[str], Sample]) -> Sample:
    """The sample that parametrizes the test, by name."""
    return sample_of(request.param)

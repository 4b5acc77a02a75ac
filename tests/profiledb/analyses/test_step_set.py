"""Precision and recall of detected iterations, on a set of reports with known iterations."""

from collections.abc import Callable

import pytest

from profiledb.library.library import Library
from tests.conftest import CORPUS
from tests.support import kernel_sequences, step_set
from tests.support.page_reports import Publish
from tests.support.step_set import Detection, precision_and_recall

Record = Callable[[str, object], None]
UNSEEN = {"energy.nsys-rep", "launches_tiny.nsys-rep", "streams_serial.nsys-rep"}
"""Equal kernels in equal distances, of which some hundreds or eight are a step: nothing in them tells that."""

BEYOND = {"solver_that_converges", "strang_splitting"}
"""Loops inside that take other numbers of turns each time; directions that change places from step to step."""


def test_the_set_is_large_enough() -> None:
    parts = {part: step_set.truth(part) for part in ("generated", "samples", "ddp", "corpus")}
    assert sum(map(len, parts.values())) >= 60
    assert parts["generated"].keys() == kernel_sequences.PROGRAMS.keys()


@pytest.mark.slow("the steps of every generated program")
def test_generated_programs(library: Library, publish: Publish, record_property: Record) -> None:
    told = [
        step_set.detect(library, publish(lambda db, name=name: kernel_sequences.fill(db, name)), name, true)
        for name, true in step_set.truth("generated").items()
    ]
    _hold(told, BEYOND, record_property)


@pytest.mark.slow("the steps of every sample")
def test_samples(nsys_samples: Library, record_property: Record) -> None:
    _hold(_of(nsys_samples, "samples"), UNSEEN, record_property)


@pytest.mark.slow("the steps of every report of strangers")
def test_strangers(every_report: Library, record_property: Record) -> None:
    if not CORPUS.exists():
        pytest.skip("no ../shared/corpus here")
    _hold(_of(every_report, "corpus"), set(), record_property)


def _of(library: Library, part: str) -> list[Detection]:
    return [step_set.detect(library, library.find(name).id, name, true) for name, true in step_set.truth(part).items()]


def _hold(told: list[Detection], unseen: set[str], record_property: Record) -> None:
    """Check that only reports known to be out of reach are wrong; the figures go into the report of the run."""
    precision, recall = precision_and_recall(told)
    record_property("precision", precision)
    record_property("recall", recall)
    print(f"precision {precision:.2f}, recall {recall:.2f} of {len(told)} reports")
    assert {one.name for one in told if not one.is_right} == unseen, [one for one in told if not one.is_right]
    assert recall >= 0.8

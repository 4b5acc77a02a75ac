"""Phases against the second computation, in both modes."""

import pytest

from profiledb.errors import NotCapturedError
from tests.second import phases
from tests.second.agree import agree, keyed
from tests.second.conftest import EVERY, Sample
from tests.second.names import kernel_class
from tests.second.nesting import MODES, Mode

pytestmark = EVERY


@pytest.mark.parametrize("mode", MODES)
def test_classes_by_phase(sample: Sample, mode: Mode) -> None:
    if not sample.capture.kernels:
        with pytest.raises(NotCapturedError):
            sample.ask("phase_split", mode=mode)
        return
    second = phases.split(sample.capture, mode, lambda one: kernel_class(one.name))
    agree(keyed(sample.ask("phase_split", mode=mode), "phase", "class"), second)


def test_kernels_by_phase(sample: Sample) -> None:
    if not sample.capture.kernels:
        return
    second = phases.split(sample.capture, "process", lambda one: one.name, every=True)
    for row in second.values():
        row["share_pct"] = row.pop("phase_pct")
    agree(keyed(sample.ask("top_kernels", mode="process"), "phase", "demangled"), second)

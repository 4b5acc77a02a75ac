"""The code that the CPU ran while GPUs were idle, against the second computation."""

import pytest

from profiledb.errors import NotCapturedError
from tests.second import idle_code
from tests.second.agree import agree, keyed
from tests.second.conftest import EVERY, Sample


@EVERY
def test_functions_of_cpu_samples_in_gaps(sample: Sample) -> None:
    second = idle_code.by_function(sample.capture)
    if not sample.capture.table("COMPOSITE_EVENTS"):
        assert not second
        with pytest.raises(NotCapturedError):
            sample.ask("idle_code")
        return
    assert second
    agree(keyed(sample.ask("idle_code", source="cpu", limit=10**6), "function", "module"), second)


@EVERY
def test_python_functions_in_gaps(sample: Sample) -> None:
    if second := idle_code.of_python(sample.capture):
        agree(keyed(sample.ask("idle_code", limit=10**6), "function", "module"), second)

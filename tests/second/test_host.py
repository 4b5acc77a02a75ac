"""What the host did, against the second computation."""

import pytest

from profiledb.errors import NotCapturedError
from tests.second import host
from tests.second.agree import agree, keyed
from tests.second.conftest import EVERY, Sample


@EVERY
@pytest.mark.parametrize("moments", ["all", "idle"])
def test_functions_of_cpu_samples(sample: Sample, moments: str) -> None:
    if not sample.capture.table("COMPOSITE_EVENTS"):
        with pytest.raises(NotCapturedError):
            sample.ask("cpu_functions")
        return
    second = host.by_function(sample.capture, idle=moments == "idle")
    assert second
    agree(keyed(sample.ask("cpu_functions", moments=moments, limit=10**6), "function", "module"), second)


@EVERY
def test_states_of_threads(sample: Sample) -> None:
    ours = [row for row in sample.ask("host_threads", limit=10**6) if row["running_ns"] is not None]
    agree(keyed(ours, "thread"), host.states(sample.capture))

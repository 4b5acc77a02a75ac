"""CPU activity, against the second computation."""

from collections import Counter

import pytest

from profiledb.errors import NotCapturedError
from tests.second import host, python_stacks
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


@EVERY
@pytest.mark.parametrize("moments", ["all", "idle"])
def test_functions_of_python_samples(sample: Sample, moments: str) -> None:
    second = host.by_python_function(sample.capture, idle=moments == "idle")
    assert bool(second) == (sample.name.startswith("host_python"))
    if second:
        ours = sample.ask("cpu_functions", source="python", moments=moments, limit=10**6)
        agree(keyed(ours, "function", "module"), second)


@EVERY
def test_every_call_with_a_python_stack_has_its_place(sample: Sample) -> None:
    """A stack is taken when the call starts; the place is the program's innermost frame."""
    traces = python_stacks.stacks(sample.capture, "Python Backtrace on CUDA")
    if not traces:
        return
    calls = {(call.tid, call.start) for call in sample.capture.calls}
    assert all((one.tid, one.at) in calls for one in traces)
    own = [next(f for f in one.frames if "-packages" not in f[1] and "/workloads/" in f[1]) for one in traces]
    counts = Counter((function, f"{file.rpartition('/')[2]}:{line}") for function, file, line in own)
    ours = {(row["site"], row["module"]): row["calls"] for row in sample.ask("launch_sites", limit=10**6)}
    assert {place: ours.get(place) for place in counts} == dict(counts)

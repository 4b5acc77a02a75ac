"""Memory of tensors against a second computation from the trace itself."""

from collections.abc import Callable
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import ROOT, Once, ingest_files
from tests.second import tensors
from tests.second.agree import agree, keyed
from tests.second.conftest import known
from tests.second.tensors import Event, Trace

TRACE = ROOT / "tests/data/torch/training.pt.trace.json.gz"
Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Trace(TRACE)


@pytest.fixture(scope="module")
def ask(once: Once) -> Ask:
    """Answers the rows of an analysis of the trace's report."""
    library = Library(once("training_trace", lambda folder: ingest_files(folder, [TRACE])) / "library")
    (report,) = library.list()

    def rows(name: str, **params: Any) -> list[dict[str, Any]]:
        frame = analysis.run(library, report.id, name, params)
        return [{str(key): known(value) for key, value in row.items()} for row in frame.to_dict("records")]

    return rows


def by(trace: Trace, kind: str) -> Callable[[Event], str | None]:
    """The key of an allocation."""

    def name(event: Event) -> str | None:
        stack = trace.stack(event)
        if kind == "module":
            return tensors.modules(stack) or tensors.modules(trace.forward(stack))
        return tensors.operator(stack) if kind == "operator" else tensors.innermost(stack)

    return name


@pytest.mark.parametrize("kind", ["operator", "module", "innermost"])
def test_by_what_allocates(trace: Trace, ask: Ask, kind: str) -> None:
    name = by(trace, kind)
    agree(keyed(ask("tensor_peak", by=kind), "device", "part", "name"), tensors.at_peak(trace, name))
    agree(keyed(ask("tensor_allocations", by=kind), "device", "name"), tensors.allocations(trace, name))


def test_levels_and_lives(trace: Trace, ask: Ask) -> None:
    told = [
        (tensors.device_of(e), tensors.ns(e["ts"]) - trace.begin, e["args"]["Total Allocated"]) for e in trace.moments
    ]
    ours = ask("tensor_over_time", points=100_000)
    assert sorted((row["device"], row["time_ns"], row["allocated_bytes"]) for row in ours) == sorted(told)
    lives = tensors.lives(trace)
    assert sorted((one["device"], one["bytes"]) for one in lives) == sorted(
        (row["device"], row["bytes"]) for row in ask("tensor_lifetimes", limit=100_000)
    )
    gpu, cpu = ask("tensor_memory")
    own = [one for one in lives if one["device"] == gpu["device"]]
    assert gpu["peak_bytes"] == max(size for device, _, size in told if device == gpu["device"])
    assert gpu["unseen"] == sum(one["made"] is None for one in own)
    assert gpu["allocations"] == sum(one["made"] is not None for one in own)
    assert gpu["unused_bytes"] == max(
        e["args"]["Total Reserved"] - e["args"]["Total Allocated"]
        for e in trace.moments
        if tensors.device_of(e) == gpu["device"]
    )
    assert (cpu["device"], cpu["reserved_bytes"], cpu["unused_ns"]) == ("CPU", None, None)

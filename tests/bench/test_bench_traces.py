"""Large traces of the benchmarks repeat a real one: each copy is later and has its own ids."""

import json
from collections import Counter
from pathlib import Path

from bench.traces import repeat_trace
from tests.support import trace_reader

SOURCE = Path(__file__).parents[1] / "data/torch/training.pt.trace.json.gz"


def test_copies_follow_each_other_and_share_no_ids(tmp_path: Path) -> None:
    once = trace_reader.read(SOURCE)
    copies = repeat_trace(SOURCE, tmp_path / "twice.json", 3_000_000)
    twice = trace_reader.read(tmp_path / "twice.json")
    assert copies == 2
    assert {key: value for key, value in twice.items() if key != "traceEvents"} == {
        key: value for key, value in once.items() if key != "traceEvents"
    }
    events, half = twice["traceEvents"], len(once["traceEvents"])
    assert events[:half] == once["traceEvents"]
    assert len(events) == 2 * half
    correlations = Counter(event["args"]["correlation"] for event in trace_reader.of_kind(twice, "kernel"))
    assert max(correlations.values()) == 1
    first, second = events[:half], events[half:]
    timed = [event for event in first if event.get("ph") == "X"]
    end = max(event["ts"] + event["dur"] for event in timed)
    assert min(event["ts"] for event in second if event.get("ph") == "X") > end
    assert json.dumps(Counter(e["name"] for e in first)) == json.dumps(Counter(e["name"] for e in second))

"""Files of a run beside its report: NAME.meta.json (facts of the run) and NAME.timings.csv (Python's timers).

If the environment variable WORKLOADS_RECORD holds a path without suffix, as `python -m workloads profile` sets it,
`run` writes both files there. `%q{RANK}` in the path stands for the environment variable RANK, as in nsys.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from warpdeck.profiling.power_log import write_csv

from .ranges import Stopwatch, time_ranges
from .system import describe_system

VARIABLE = "WORKLOADS_RECORD"
TRACE_SUFFIX = ".pt.trace.json.gz"
"""Suffix of traces of the PyTorch profiler (workloads.torch_trace)."""
TIMINGS_HEADER = ("label", "step", "seconds")


class Record:
    """The facts and times of one run."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.facts: dict[str, object] = {}
        self.stopwatch = Stopwatch()

    def make_path(self, suffix: str) -> Path:
        """Return the path of the file with `suffix`, as in `.meta.json`."""
        return self.prefix.with_name(self.prefix.name + suffix)

    def write(self) -> None:
        """Write the files; nothing if other processes did the work."""
        if not self.stopwatch.rows:
            return
        self.prefix.parent.mkdir(parents=True, exist_ok=True)
        write_csv(self.make_path(".timings.csv"), TIMINGS_HEADER, self.stopwatch.rows)
        write_meta(self.make_path(".meta.json"), self.facts)


_records: list[Record] = []
"""The record of the current run, if any."""
around_window: list[Callable[[], AbstractContextManager[object]]] = []
"""Contexts around the capture window, such as the PyTorch profiler."""


def read_prefix(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the path in WORKLOADS_RECORD, None if it is not set."""
    text = environment.get(VARIABLE, "")
    return Path(re.sub(r"%q\{(\w+)\}", lambda match: environment.get(match[1], ""), text)) if text else None


@contextmanager
def record_run(prefix: Path | None, **facts: object) -> Iterator[None]:
    """Record the run in the body and write the files after success; nothing if `prefix` is None."""
    if prefix is None:
        yield
        return
    record = Record(prefix)
    record.facts.update(facts)
    _records.append(record)
    try:
        yield
        record.write()
    finally:
        _records.remove(record)


def note(**facts: object) -> None:
    """Add facts to the meta.json of this run; each must be JSON, with its unit in its name."""
    for record in _records:
        record.facts.update(facts)


def make_path(suffix: str) -> Path | None:
    """Return the path of a further file of this run, None if the run is not recorded."""
    return _records[-1].make_path(suffix) if _records else None


@contextmanager
def open_window() -> Iterator[None]:
    """Wrap the measured work: ranges are timed only in the body."""
    with ExitStack() as stack:
        for make in around_window:
            stack.enter_context(make())
        if _records:
            stack.enter_context(time_ranges(_records[-1].stopwatch))
        yield


def write_meta(path: Path, facts: Mapping[str, object]) -> None:
    """Write `facts` and a description of this machine as JSON."""
    path.write_text(json.dumps({**facts, **describe_system()}, indent=2, default=str) + "\n", encoding="utf-8")

"""Estimate the CPU time that the PyTorch profiler adds, and correct findings about idle GPUs for it.

A trace that records shapes, stacks or memory for each operator keeps the CPU busy with recording, so a GPU that waits
for the CPU waits longer than it would without the profiler. No trace records how long the profiler took: its own events
in the overhead category cover only flushes and start-up. A linked Systems report of the same program shows it through
the time per step; without one, ``OPERATOR_NS`` is the bound.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from profiledb import words
from profiledb.errors import WarpdeckError
from profiledb.findings.rule import Rule
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import answer_store

OPERATOR_NS = 10_000
"""Time that the profiler adds to each operator if it records shapes, memory or stacks: 5.7, 7.8, 9.8 and 10.2 µs in
four pairs of captures of one program, with nsys and with these options."""
XLA = "xla"
"""The kind of reports whose operators are those of XLA on the GPU: no CPU records them."""
GROUPS = ("idle", "launch", "host")
"""Groups of rules about a GPU that waits for the CPU."""
NOT_BY_CPU = frozenset({"fluctuating_use", "module_loading", "no_overlap", "one_stream", "queued_work", "uneven_use"})
"""Rules in these groups that measure something else."""
LAUNCHED = frozenset({"launch latency", "page migration", "between operations"})
"""Causes of idle time during which the next operation is launched already, so that a faster CPU changes nothing."""


@dataclass(frozen=True)
class Slowed:
    """The minimum fraction (0 to 1) of the GPUs' idle time that remains without the profiler, and the reason.

    ``cost`` is a sentence in which {report} stands for the linked Systems report.
    """

    left: float
    options: tuple[str, ...]
    cost: str
    report: str = ""

    def holds(self, rule: Rule, cause: str | None) -> bool:
        """Return True if the profiler's slowdown of the CPU affects the value of a rule that found this cause."""
        measured = rule.group in GROUPS and rule.name not in NOT_BY_CPU and (rule.unit, rule.fires) == ("%", "above")
        return measured and cause not in LAUNCHED

    def sentence(self, name: Callable[[str], str] = words.code) -> str:
        """Return the sentence for display. ``name`` formats options and the name of the report."""
        listed = ", ".join(name(option) for option in self.options)
        return f"The profiler slows down the CPU ({listed}): {self.cost.format(report=name(self.report))}."


def measure_slowdown(library: Library, report: Manifest, window: Mapping[str, Any]) -> Slowed | None:
    """Return the effect of a trace's options on its findings, or None if it recorded no details of operators.

    Args:
        library: holds the report and its links.
        report: the trace.
        window: the row about the selection: time from the first to the last operation summed over its GPUs (``ns``),
            the busy part of it (``busy_ns``), number of ``gpus``, ``operators`` on threads that launch, and ``options``
            of the profiler.
    """
    options, operators = window.get("options") or (), int(window.get("operators") or 0)
    ns, gpus = float(window.get("ns") or 0), int(window.get("gpus") or 0)
    if not options or not operators or not ns or not gpus or report.kind == XLA:
        return None
    wall_ns = ns / gpus
    idle = min(1.0, max(0.0, 1 - float(window.get("busy_ns") or 0) / ns))
    comparison, name = _compare_with_linked(library, report), ""
    if comparison is None:
        own_ns = min(idle * wall_ns, float(operators * OPERATOR_NS))  # a GPU at work waits for no CPU
        share = "all of the idle time" if own_ns == idle * wall_ns else f"{words.duration(own_ns)} of the selected time"
        cost = (
            f"at about {words.duration(OPERATOR_NS)} for each of {words.count(operators)} operators, up to"
            f" {share} may be the profiler's"
        )
    else:
        here_ns, there_ns, name = comparison
        own_ns = wall_ns * max(0.0, 1 - there_ns / here_ns)
        cost = (
            f"a step takes {words.duration(here_ns)} here and {words.duration(there_ns)} in the linked Systems report"
            f" {{report}}, {words.duration(own_ns / operators)} less for each operator"
        )
    own = own_ns / wall_ns
    rest = (idle - own) / (1 - own) if idle > own else 0.0
    return Slowed(rest / idle if idle else 1.0, tuple(options), cost, name)


def _compare_with_linked(library: Library, report: Manifest) -> tuple[float, float, str] | None:
    """Return the median step time on the CPU in this trace and in its linked Systems report, and that report's name."""
    try:
        of = {trace: nsys for nsys, trace in library.catalog.links.all("trace").items()}
        if report.id not in of:
            return None
        other = library.find(of[report.id])
        steps = [answer_store.run(library, one, "iteration_summary") for one in (report.id, other.id)]
    except WarpdeckError:
        return None
    here, there = (float(rows["median_ns"].astype(float).iloc[0]) if len(rows) else 0.0 for rows in steps)
    return (here, there, other.name) if here > 0 and there > 0 else None

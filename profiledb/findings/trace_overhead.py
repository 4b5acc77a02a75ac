"""What the PyTorch profiler adds to the time of the CPU, and what is left of findings about idle GPUs without that.

A trace with shapes, stacks or memory of each operator keeps the CPU busy with the recording, so that a GPU that waits
for the CPU waits longer than it does without the profiler. How long the profiler took no trace tells: its own events of
the category overhead are flushes and start-up alone. A linked Systems report of the same program tells it, by the time
of a step; without one ``OPERATOR_NS`` bounds it.
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
"""What the profiler adds to an operator where it records shapes, memory or stacks: 5.7, 7.8, 9.8 and 10.2 µs in four
pairs of captures of one program, with nsys and with these options."""
GROUPS = ("idle", "launch", "host")
"""Groups of rules about a GPU that waits for the CPU."""
NOT_BY_CPU = frozenset({"fluctuating_use", "module_loading", "no_overlap", "one_stream", "queued_work", "uneven_use"})
"""Rules of these groups that tell of something else."""


@dataclass(frozen=True)
class Slowed:
    """How much of the idle time of the GPUs is left without the profiler, at least, as a part of 1; and why.

    ``cost`` is a sentence in which {report} stands for the linked Systems report.
    """

    left: float
    options: tuple[str, ...]
    cost: str
    report: str = ""

    def holds(self, rule: Rule) -> bool:
        """Whether a rule tells of a CPU that the profiler slows down."""
        return rule.group in GROUPS and rule.name not in NOT_BY_CPU and (rule.unit, rule.fires) == ("%", "above")

    def sentence(self, name: Callable[[str], str] = words.code) -> str:
        """What people read; ``name`` writes options and the name of the report."""
        listed = ", ".join(name(option) for option in self.options)
        return f"The profiler slows down the CPU ({listed}): {self.cost.format(report=name(self.report))}."


def slowed(library: Library, report: Manifest, window: Mapping[str, Any]) -> Slowed | None:
    """What the options of a trace mean for its findings; None where it recorded nothing of its operators.

    Args:
        window: the row about the selection: time from the first to the last operation over its GPUs (``ns``), of it
            ``busy_ns``, number of ``gpus``, ``operators`` on threads that launch, ``options`` of the profiler.
    """
    options, operators = window.get("options") or (), int(window.get("operators") or 0)
    ns, gpus = float(window.get("ns") or 0), int(window.get("gpus") or 0)
    if not options or not operators or not ns or not gpus:
        return None
    wall_ns = ns / gpus
    told, name = _linked(library, report), ""
    if told is None:
        own_ns = min(wall_ns, float(operators * OPERATOR_NS))
        cost = (
            f"at about {words.duration(OPERATOR_NS)} for each of {words.count(operators)} operators, up to"
            f" {words.duration(own_ns)} of the selected time may be the profiler's"
        )
    else:
        here_ns, there_ns, name = told
        own_ns = wall_ns * max(0.0, 1 - there_ns / here_ns)
        cost = (
            f"a step takes {words.duration(here_ns)} here and {words.duration(there_ns)} in the linked Systems report"
            f" {{report}}, {words.duration(own_ns / operators)} less for each operator"
        )
    idle = min(1.0, max(0.0, 1 - float(window.get("busy_ns") or 0) / ns))
    own = own_ns / wall_ns
    rest = (idle - own) / (1 - own) if idle > own else 0.0
    return Slowed(rest / idle if idle else 1.0, tuple(options), cost, name)


def _linked(library: Library, report: Manifest) -> tuple[float, float, str] | None:
    """The median step on the CPU here and in the Systems report that is linked to this trace, and the name of that."""
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

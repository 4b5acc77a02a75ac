"""Operators of a trace by torch.profiler's own rules, in plain Python and whole ns, without SQL or Warpdeck's code.

The rules are those of EventList in torch/autograd/profiler_util.py. An event inside another one on the same thread is
its child. An event's self time excludes its children. An only child with the same name as its parent is merged into it.
GPU work belongs to the operator that its "External id" names.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.trace_reader import Event, ns, of_kind

LEFT_OUT = (
    "profiler::_record_function_enter", "profiler::_record_function_enter_new", "profiler::_record_function_exit",
    "aten::is_leaf", "aten::output_nr", "aten::_version",
)  # fmt: skip
RANKS = {"annotation": 0, "python": 1, "operator": 2, "call": 3}
"""Of events with the same edges, those of a lower rank enclose the others."""
Figures = tuple[int, int, int, int, int]
"""Calls, CPU total, CPU self, GPU total, GPU self."""


@dataclass
class Node:
    """An event with its children."""

    name: str
    kind: str
    start: int
    end: int
    order: int
    dims: str | None = None
    external: int | None = None
    correlation: int | None = None
    own_device: int = 0
    parent: "Node | None" = None
    children: list["Node"] = field(default_factory=list)

    @property
    def host_self(self) -> int:
        return self.end - self.start - sum(child.end - child.start for child in self.children)

    @property
    def device(self) -> int:
        return self.own_device + sum(child.device for child in self.children)


def nodes(trace: Event) -> list[Node]:
    """Return all events that nest, with their parents, children and launches."""
    lanes: dict[Any, list[Node]] = defaultdict(list)
    for kind in RANKS:
        for event in of_kind(trace, kind):
            args = event.get("args", {})
            name = event["name"]
            if kind == "operator" and name in LEFT_OUT:
                continue
            external = args.get("External id", args.get("external id", 0))
            dims = args.get("Input Dims", args.get("Input dims"))
            start = ns(event["ts"])
            node = Node(name, kind, start, start + ns(event["dur"]), int(external or 0))
            node.correlation = args.get("correlation") if kind == "call" else None
            if kind in ("operator", "annotation"):
                node.external = int(external) if external else None
                node.dims = None if dims is None else json.dumps(dims, default=int)
            lanes[event["pid"], event["tid"]].append(node)
    for lane in lanes.values():
        _nest(lane)
    found = [node for lane in lanes.values() for node in lane]
    _launch(trace, found)
    return found


def _nest(lane: list[Node]) -> None:
    around: list[Node] = []
    for node in sorted(lane, key=lambda node: (node.start, -node.end, RANKS[node.kind], node.order)):
        while around and not (node.start < around[-1].end and node.end <= around[-1].end):
            around.pop()
        if around:
            node.parent = around[-1]
            around[-1].children.append(node)
        around.append(node)


def _launch(trace: Event, found: Iterable[Node]) -> None:
    """Assign GPU events to the operator with their external id, or if they have none, to that of their call."""
    by_id = {node.external: node for node in found if node.external}
    calls: dict[int, Node] = {}
    for node in found:
        if node.correlation:
            calls.setdefault(node.correlation, node)
    for event in of_kind(trace, "kernel", "memcpy", "memset"):
        args = event["args"]
        named = int(args.get("External id", args.get("external id", 0)) or 0)
        place = by_id.get(named) if named else calls.get(args.get("correlation"))
        while place is not None and place.kind != "operator":
            place = place.parent
        if place is not None:
            place.own_device += ns(event["dur"])


def merge(found: list[Node]) -> list[Node]:
    """Merge each only child into a parent of the same name, and return the remaining operators."""
    remaining = []
    for node in sorted(found, key=lambda node: (node.start, -node.end, RANKS[node.kind], node.order)):
        parent = node.parent
        same = parent is not None and (parent.name, parent.kind) == (node.name, node.kind)
        if parent is not None and same and len(parent.children) == 1:
            parent.children, parent.own_device = node.children, parent.own_device + node.own_device
            for child in node.children:
                child.parent = parent
        elif node.kind == "operator":
            remaining.append(node)
    return remaining


def averages(trace: Event) -> tuple[dict[str, Figures], dict[tuple[str, str | None], Figures]]:
    """Return the figures of operators by name, and by name and input sizes."""
    by_name: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    by_shape: dict[tuple[str, str | None], list[int]] = defaultdict(lambda: [0] * 5)
    for node in merge(nodes(trace)):
        figures = (1, node.end - node.start, node.host_self, node.device, node.own_device)
        for total in (by_name[node.name], by_shape[node.name, node.dims]):
            for place, figure in enumerate(figures):
                total[place] += figure
    return _fixed(by_name), _fixed(by_shape)


def _fixed(totals: Mapping[Any, list[int]]) -> dict[Any, Figures]:
    return {key: (total[0], total[1], total[2], total[3], total[4]) for key, total in totals.items()}

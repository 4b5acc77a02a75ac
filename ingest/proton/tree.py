"""Read the tree of a profile of proton: a row for each call path, callers first."""

import json
import math
from dataclasses import dataclass, field
from typing import Any

from ingest.json_stream import DamageError, JsonStream

LONGEST = 8192
"""Most characters of a name, and of the further metrics of a path."""
MOST_PATHS = 2_000_000
"""Most paths of a file."""
_MOST = 1 << 62
_OF_NODE = frozenset({"children", "frame", "metrics"})
_TIME, _CALLS = "time (ns)", "count"
_OWN = frozenset({_TIME, _CALLS, "device_id", "device_type", "bytes"})
_FLOPS = ("flops", "flops8", "flops16", "flops32", "flops64")

Row = tuple[Any, ...]


@dataclass
class _Node:
    number: int
    parent: int | None
    level: int
    values: dict[str, Any] = field(default_factory=dict)


class Tree:
    """The call paths of a stream, and the facts of its devices.

    After reading, ``rows`` has a row for each path: its number and those of the last path below it and of its caller,
    level, name, type and number of the device, launches, time (ns), FLOPs, bytes, and other metrics as JSON; what a
    path has no figure for is None. ``impossible`` counts figures that are no amounts.
    """

    def __init__(self, stream: JsonStream) -> None:
        self.rows: list[Row] = []
        self.devices: list[tuple[str, str, dict[str, Any]]] = []
        self.impossible = 0
        self._stream = stream

    def document(self) -> None:
        """Read the list of trees, which ends with the facts of the devices."""
        self._stream.each(self._read_element)

    def _read_element(self) -> None:
        self._stream.skip("{")
        first = True
        while self._stream.peek() != "}":
            key = self._read_key()
            if first and key not in _OF_NODE:
                self._read_devices(key)
            elif key == "children":  # of the root, which is no path
                self._read_paths()
            else:
                self._stream.value()
            first = False
        self._stream.skip("}")

    def _read_key(self) -> str:
        key = self._stream.value()
        self._stream.skip(":")
        if type(key) is not str:
            raise DamageError
        return key

    def _read_devices(self, kind: str) -> None:
        devices = self._stream.value()
        for number, facts in devices.items() if isinstance(devices, dict) else ():
            if isinstance(facts, dict):
                self.devices.append((kind, number, facts))

    def _read_paths(self) -> None:
        """Read a list of nodes with all below them. A node has its children before its name, at any depth."""
        opened: list[_Node] = []
        self._stream.skip("[")
        in_list = True
        try:
            while opened or in_list:
                mark = self._stream.peek()
                if in_list and mark == "]":
                    self._stream.skip("]")
                    in_list = False
                elif in_list:
                    self._stream.skip("{")
                    opened.append(self._open_node(opened[-1] if opened else None))
                    in_list = False
                elif mark == "}":
                    self._stream.skip("}")
                    self._close_node(opened.pop())
                    in_list = True
                elif (key := self._read_key()) == "children":
                    self._stream.skip("[")
                    in_list = True
                else:
                    opened[-1].values[key] = self._stream.value()
        finally:
            while opened:  # of a file that is cut off
                self._close_node(opened.pop())

    def _open_node(self, caller: "_Node | None") -> "_Node":
        if len(self.rows) >= MOST_PATHS:
            raise DamageError
        self.rows.append(())  # callers come first
        return _Node(len(self.rows), caller.number if caller else None, caller.level + 1 if caller else 0)

    def _close_node(self, node: "_Node") -> None:
        self.rows[node.number - 1] = self._make_row(node)

    def _make_row(self, node: "_Node") -> Row:
        frame, metrics = (one if isinstance(one := node.values.get(key), dict) else {} for key in ("frame", "metrics"))
        flops = [amount for key in _FLOPS if (amount := self._amount(metrics, key)) is not None]
        others = {key: value for key, value in metrics.items() if key not in _OWN and key not in _FLOPS}
        name, device, kind = frame.get("name"), str(metrics.get("device_id")), metrics.get("device_type")
        return (
            node.number, len(self.rows), node.parent, node.level, str(name)[:LONGEST] if name is not None else "",
            str(kind)[:100] if kind is not None else None,
            int(device) if device.isdecimal() and len(device) < 5 else None,
            self._whole(metrics, _CALLS), self._whole(metrics, _TIME), sum(flops) if flops else None,
            self._amount(metrics, "bytes"), json.dumps(others)[:LONGEST] if others else None,
        )  # fmt: skip

    def _amount(self, metrics: dict[str, Any], key: str) -> float | None:
        value = metrics.get(key)
        if value is None:
            return None
        if type(value) in (int, float) and 0 <= value < _MOST and math.isfinite(value):
            return float(value)
        self.impossible += 1
        return None

    def _whole(self, metrics: dict[str, Any], key: str) -> int | None:
        amount = self._amount(metrics, key)
        return None if amount is None else metrics[key] if type(metrics[key]) is int else round(amount)

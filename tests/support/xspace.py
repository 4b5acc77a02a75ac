"""Profiles of XLA, written and read without the reader's own messages: fields on the wire, by their public numbers."""

from collections.abc import Iterator
from typing import Any

Fields = dict[int, list[Any]]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def read(data: bytes) -> Fields:
    """Return the values of a message by the numbers of its fields."""
    found: Fields = {}
    for number, value in _values(data):
        found.setdefault(number, []).append(value)
    return found


def _values(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            length = number() if tag & 7 == 2 else {1: 8, 5: 4}[tag & 7]
            yield tag >> 3, data[at : at + length]
            at += length


class PlaneWriter:
    """A plane whose names get their numbers as they come."""

    def __init__(self, name: str, **facts: int | str) -> None:
        self.name = name
        self._stats: dict[str, int] = {}
        self._events: dict[str, int] = {}
        self._lines = b""
        self._facts = b"".join(field(6, self._stat(key, value)) for key, value in facts.items())

    def line(
        self, number: int, name: str, events: list[tuple[str, int, int, dict[str, int | str]]], at: int = 0
    ) -> None:
        """Add a line of events: name, offset and duration (ps), values; ``at`` is the line's start in ns."""
        text = field(1, number) + field(2, name) + field(3, at)
        for event, offset, duration, values in events:
            kind = self._events.setdefault(event, len(self._events) + 1)
            stats = b"".join(field(4, self._stat(key, value)) for key, value in values.items())
            text += field(4, field(1, kind) + field(2, offset) + field(3, duration) + stats)
        self._lines += field(3, text)

    def data(self) -> bytes:
        events = b"".join(_entry(4, number, name) for name, number in self._events.items())
        stats = b"".join(_entry(5, number, name) for name, number in self._stats.items())
        return field(1, field(2, self.name) + self._lines + events + stats + self._facts)

    def _stat(self, name: str, value: int | str) -> bytes:
        number = self._stats.setdefault(name, len(self._stats) + 1)
        return field(1, number) + (field(4, value) if isinstance(value, int) else field(5, value))


def _entry(number: int, key: int, name: str) -> bytes:
    return field(number, field(1, key) + field(2, field(1, key) + field(2, name)))


FLOAT, BFLOAT = 11, 16
"""Numbers of XLA's types of elements."""


class ModuleWriter:
    """A module of HLO; instructions get their numbers as they come."""

    def __init__(self) -> None:
        self._instructions: dict[int, bytes] = {}
        self._count = 0

    def add(
        self, computation: int, name: str, opcode: str, sizes: tuple[int, ...], operands: tuple[int, ...] = (),
        kind: int = FLOAT, **more: bytes | str | int,
    ) -> int:  # fmt: skip
        """Add an instruction and return its number; ``more`` are fields by their names in hlo.proto."""
        self._count += 1
        numbers = {
            "window": 15, "convolution_dimension_numbers": 16, "custom_call_target": 28, "dot_dimension_numbers": 30,
            "called_computation_ids": 38, "backend_config": 43,
        }  # fmt: skip
        shape = field(2, kind) + b"".join(field(3, size) for size in sizes)
        instruction = field(1, name) + field(2, opcode) + field(3, shape) + field(35, self._count)
        instruction += b"".join(field(36, operand) for operand in operands)
        instruction += b"".join(field(numbers[key], value) for key, value in more.items())
        self._instructions[computation] = self._instructions.get(computation, b"") + field(2, instruction)
        return self._count

    def data(self) -> bytes:
        held = b"".join(field(3, text + field(5, number)) for number, text in self._instructions.items())
        return field(1, field(1, "jit_step") + held)


def metadata(modules: dict[int, bytes]) -> bytes:
    """Return the plane that holds the modules of HLO of a profile, by their numbers."""
    entries = b""
    for number, data in modules.items():
        stat = field(5, field(1, 1) + field(6, data))
        entries += field(4, field(1, number) + field(2, field(1, number) + field(2, "jit_step") + stat))
    return field(1, field(2, "/host:metadata") + entries + _entry(5, 1, "Hlo Proto"))

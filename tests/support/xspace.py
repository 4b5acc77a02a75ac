"""Profiles of XLA, written and read without the reader's own messages: fields on the wire, by their public numbers."""

from collections.abc import Iterator
from typing import Any

Fields = dict[int, list[Any]]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    told = b""
    while value > 127:
        told += bytes([value & 127 | 128])
        value >>= 7
    return told + bytes([value])


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

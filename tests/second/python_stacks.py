"""The Python stacks that nsys attaches to its marks, read byte by byte."""

from dataclasses import dataclass

from tests.second.raw import Capture

SIZE = 24
"""Bytes of a frame: numbers of two strings, a line, and four bytes that mean nothing."""


@dataclass(frozen=True)
class Stack:
    """A stack at a moment of a thread: (function, file, line), the innermost first."""

    at: int
    tid: int
    frames: tuple[tuple[str, str, int], ...]


def stacks(capture: Capture, schema: str) -> list[Stack]:
    """The stacks of one of the two schemas, in the order of the export."""
    found = []
    for domain in {row["domainId"] for row in capture.table("NVTX_PAYLOAD_SCHEMAS") if row["name"] == schema}:
        for row in capture.table("NVTX_EVENTS"):
            blob = row.get("binaryData")
            if row["domainId"] == domain and row["eventType"] == 34 and blob:
                found.append(Stack(row["start"], row["globalTid"], _frames(capture, blob)))
    return found


def _frames(capture: Capture, blob: bytes) -> tuple[tuple[str, str, int], ...]:
    def number(at: int, size: int) -> int:
        return int.from_bytes(blob[at : at + size], "little")

    begin = number(24, 8)
    assert number(0, 8) == 1
    return tuple(
        (_text(capture, number(at, 8)), _text(capture, number(at + 8, 8)), number(at + 16, 4))
        for at in range(begin + 16, begin + 16 + SIZE * number(begin + 12, 4), SIZE)
    )


def _text(capture: Capture, number: int) -> str:
    return capture.string(number).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

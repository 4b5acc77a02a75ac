"""Cut the bytes of a trace into its events, with a few passes of numpy over each block and without parsing.

A JSON string holds no line break, so the start of a byte's line tells whether the byte lies in a string: a damaged
quotation mark spoils only its own line. An event starts with a bracket outside of all others of the list and ends with
the matching one. If brackets do not match, that event is given up and the search for the next one goes on.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiledb.errors import ConversionError

HEAD_MOST, TAIL_MOST = 8 << 20, 4 << 20
"""Most bytes before and after the list of events that are read."""
EVENT_MOST = 4 << 20
"""Most bytes of an event; a longer one is given up."""
LOST_MOST = 1000
"""Most events that are given up, because each costs another look at the rest of a block. The rest of the trace is not
read."""

_OVERLAP = 64
_BOM = 256
_QUOTE, _BACKSLASH, _NEWLINE = 0x22, 0x5C, 0x0A
_OPEN, _CLOSE = (0x7B, 0x5B), (0x7D, 0x5D)
_END_OF_LIST = 0x5D
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_LIST = re.compile(rb"\s*:\s*\[")
_EVENT = re.compile(rb'\{\s*"(?:ph|name|cat|pid|tid|ts|dur|id|args)"\s*:')
_AFTER = re.compile(rb'\s*(?:,\s*(?:"|$)|\}|$)')

Numbers = NDArray[np.int64]


def _list_mark_bytes() -> NDArray[np.bool_]:
    table = np.zeros(256, dtype=np.bool_)
    table[[_QUOTE, _BACKSLASH, _NEWLINE, *_OPEN, *_CLOSE]] = True
    return table


_MARKED = _list_mark_bytes()


@dataclass(frozen=True)
class Batch:
    """Some events: bytes, and where in them each starts and ends (exclusive)."""

    data: bytes
    starts: Numbers
    ends: Numbers


@dataclass(frozen=True)
class _Scan:
    """Result of scanning a part of the list: complete events; the start of an event that does not end, or that a
    bracket of another kind ends; a bracket that closes none.

    A missing place is -1.
    """

    starts: Numbers
    ends: Numbers
    begun: int
    spoiled: bool
    stray: int


class Cutter:
    """Cuts a trace into events.

    After ``batches``, ``head`` and ``tail`` hold the text before and after the list, ``closed`` tells whether the list
    came to its end, and ``lost`` counts the given-up events.
    """

    def __init__(self) -> None:
        self.head = self.tail = b""
        self.closed = False
        self.lost = 0
        self._searches = False

    def batches(self, blocks: Iterator[bytes]) -> Iterator[Batch]:
        """Yield the events in the order of the trace.

        Raises:
            ConversionError: there is no list of events.
        """
        rest = self._find_list(blocks)
        for block in blocks:
            rest = yield from self._cut_part(rest + block)
            if self.closed or self.lost > LOST_MOST:
                break
        else:
            rest = yield from self._cut_part(rest, last=True)
        if self.closed:
            self._read_tail(rest, blocks)

    def _find_list(self, blocks: Iterator[bytes]) -> bytes:
        """Read up to the list and return the bytes after its opening bracket."""
        text = b""
        for block in blocks:
            text += block
            if (at := find_list(text)) is not None:
                self.head = text[:at]
                return text[at:]
            if len(text) > HEAD_MOST:
                break
        raise ConversionError(
            "The trace has no list of events (traceEvents).", hint="Copy it again from its source, or capture again."
        )

    def _read_tail(self, rest: bytes, blocks: Iterator[bytes]) -> None:
        while len(rest) < TAIL_MOST and (block := next(blocks, None)):
            rest += block
        self.tail = rest[:TAIL_MOST]

    def _cut_part(self, data: bytes, *, last: bool = False) -> Generator[Batch, None, bytes]:
        """Yield the events of a part of the list and return the bytes that may belong to the next part.

        Args:
            data: bytes that start after an event, or anywhere during a search for one.
            last: nothing follows.
        """
        at = self._search_event(data, 0) if self._searches else 0
        while at is not None:
            scan = _scan_part(data, at)
            if len(scan.starts):
                yield Batch(data, scan.starts, scan.ends)
            if scan.stray >= 0:
                if data[scan.stray] == _END_OF_LIST and _AFTER.match(data, scan.stray + 1):
                    self.closed = True
                    return data[scan.stray + 1 :]
                self.lost += 1
                at = scan.stray + 1
            elif scan.begun < 0:
                return b""
            elif not (last or scan.spoiled) and len(data) - scan.begun <= EVENT_MOST:
                return data[scan.begun :]
            else:
                self.lost += 1
                at = self._search_event(data, scan.begun + 1)
            if self.lost > LOST_MOST:
                return b""
        return data[-_OVERLAP:]

    def _search_event(self, data: bytes, at: int) -> int | None:
        """Return where the next event seems to start; None if the search must go on in the next part."""
        begin = _EVENT.search(data, at)
        self._searches = begin is None
        return begin.start() if begin else None


def find_list(text: bytes) -> int | None:
    """Return where the list of events starts, after its bracket; None if it is not in this part of the trace."""
    if text[:_BOM].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return text.index(b"[") + 1
    depth = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first == _QUOTE:
            if depth == 1 and token[0] == b'"traceEvents"' and (opening := _LIST.match(text, token.end())):
                return opening.end()
        else:
            depth += 1 if first in _OPEN else -1
    return None


def _scan_part(data: bytes, at: int) -> _Scan:
    """Find the events of a part of the list from ``at`` on, which lies outside of events."""
    part = np.frombuffer(data, dtype=np.uint8)[at:]
    places = np.flatnonzero(_MARKED[part])
    marks = part[places]
    places, marks = _blank_escapes(places, marks)
    quotes = np.cumsum(marks == _QUOTE, dtype=np.int32)
    before_line = np.maximum.accumulate(np.where(marks == _NEWLINE, quotes, 0)) if len(quotes) else quotes
    opens = (marks == _OPEN[0]) | (marks == _OPEN[1])
    brackets = ((quotes - before_line) & 1 == 0) & (marks != _QUOTE) & (marks != _NEWLINE)
    places, opens, marks = places[brackets], opens[brackets], marks[brackets]
    depth = np.cumsum(np.where(opens, 1, -1), dtype=np.int32)
    strays = np.flatnonzero(depth < 0)
    stray = -1
    if len(strays):
        before = int(strays[0])
        stray = int(places[before]) + at
        places, opens, marks, depth = places[:before], opens[:before], marks[:before], depth[:before]
    first, last = opens & (depth == 1), ~opens & (depth == 0)
    starts, ends = places[first] + at, places[last] + at + 1
    spoiled = np.flatnonzero(marks[last] - marks[first][: len(ends)] != _CLOSE[0] - _OPEN[0])
    if len(spoiled):
        complete = spoiled[0]
        return _Scan(starts[:complete], ends[:complete], int(starts[complete]), spoiled=True, stray=-1)
    begun = int(starts[-1]) if len(starts) > len(ends) else -1
    return _Scan(starts[: len(ends)], ends, begun, spoiled=False, stray=stray)


def _blank_escapes(places: Numbers, marks: NDArray[np.uint8]) -> tuple[Numbers, NDArray[np.uint8]]:
    """Blank out backslashes and the quotation marks that follow an odd number of them."""
    slashes = marks == _BACKSLASH
    if not slashes.any():
        return places, marks
    at = places[slashes]
    number = np.arange(len(at))
    first = np.maximum.accumulate(np.where(np.diff(at, prepend=-2) != 1, number, 0))
    escaped = at[(number - first) % 2 == 0] + 1
    after = np.searchsorted(places, escaped)
    after = after[after < len(places)]
    hits = after[np.isin(places[after], escaped) & (marks[after] == _QUOTE)]
    plain = ~slashes
    plain[hits] = False
    return places[plain], marks[plain]

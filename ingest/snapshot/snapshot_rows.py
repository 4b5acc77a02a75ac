"""What a snapshot is made of, taken out of its dictionaries as they come: rows in batches, whatever holds them.

A dictionary is known by its keys: ``action`` an event of a device's trace, ``blocks`` a segment of its memory,
``stage`` the begin or end of an annotation, ``filename`` a frame of a stack. torch/cuda/memory.py documents them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ingest.scrub import visible

NAME = 1000
"""Characters of a name that are kept."""
FRAMES = 256
"""Frames of a stack that are kept, the innermost."""
DISTINCT = 1_000_000
"""Frames, and stacks, that are told apart; further ones are unknown."""
ANNOTATIONS = 1_000_000
"""Annotations that are kept."""
DEVICES = 1 << 16
"""Numbers of devices; no machine has more."""
BATCH = 1 << 16
"""Rows of a batch."""
SIZE = 1 << 60
"""Bytes that nothing has; what says so is damaged."""
_UINT64 = 1 << 64

ACTIONS = (
    "alloc", "free_requested", "free_completed", "free", "segment_alloc", "segment_map", "segment_free",
    "segment_unmap", "oom",
)  # fmt: skip
"""What happens to memory; ``snapshot`` only says when one was taken."""

TABLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "snapshot_event": (
        ("number", "BIGINT"), ("device", "INTEGER"), ("action", "VARCHAR"), ("time_us", "BIGINT"),
        ("address", "UBIGINT"), ("bytes", "BIGINT"), ("device_free", "BIGINT"), ("stack_id", "BIGINT"),
    ),
    "snapshot_segment": (
        ("segment_id", "BIGINT"), ("device", "INTEGER"), ("address", "UBIGINT"), ("bytes", "BIGINT"),
        ("allocated_bytes", "BIGINT"), ("active_bytes", "BIGINT"), ("requested_bytes", "BIGINT"),
        ("stream", "UBIGINT"), ("type", "VARCHAR"), ("pool", "VARCHAR"), ("is_expandable", "BOOLEAN"),
        ("stack_id", "BIGINT"),
    ),
    "snapshot_block": (
        ("segment_id", "BIGINT"), ("device", "INTEGER"), ("address", "UBIGINT"), ("bytes", "BIGINT"),
        ("requested_bytes", "BIGINT"), ("state", "VARCHAR"), ("stack_id", "BIGINT"),
    ),
    "snapshot_frame": (
        ("stack_id", "BIGINT"), ("depth", "INTEGER"), ("function", "VARCHAR"), ("file", "VARCHAR"), ("line", "INTEGER"),
    ),
}  # fmt: skip
"""The rows that are made, with their columns; load.sql reads them."""

Rows = list[tuple[Any, ...]]
_OMIT_FUNCTIONS = (
    "unwind::unwind", "CapturedTraceback::gather", "gather_with_cpp", "_start", "__libc_start_main", "PyEval_",
    "PyObject_", "PyFunction_",
)  # fmt: skip
_OMIT_FILES = (
    "core/boxing", "/Register", "/Redispatch", "pythonrun.c", "Modules/main.c", "Objects/call.c",
    "Objects/methodobject.c", "pycore_ceval.h", "ceval.c", "cpython/abstract.h",
)  # fmt: skip
"""Frames of the interpreter and of the recorder itself, which PyTorch's own viewer leaves out, too."""


class Frame(int):
    """The number of a frame, in place of its dictionary."""


class Stack(int):
    """The number of a stack, in place of the list of its frames."""


Annotation = tuple[str, int, int | None]
"""A name, when it began, and when it ended, in microseconds since 1970; None for one that nothing ended."""


class Parts:
    """Takes what a snapshot is made of.

    ``counts`` says how many rows each table got, ``damaged`` how many dictionaries could not be read.

    Args:
        write: takes a table of ``TABLES`` and rows for it.
    """

    def __init__(self, write: Callable[[str, Rows], None]) -> None:
        self.counts = dict.fromkeys(TABLES, 0)
        self.damaged = 0
        self._write = write
        self._rows: dict[str, Rows] = {name: [] for name in TABLES}
        self._frames: dict[tuple[str, str, int], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {(): 0}
        self._kept: list[tuple[int, ...]] = [()]
        self._shown: list[tuple[str, str, int] | None] = []
        self._annotations: list[Annotation] = []
        self._open: dict[str, list[int]] = {}

    def made(self, one: dict[str, Any], device: Callable[[], int]) -> Any:
        """What stands for a complete dictionary from now on: None where it was taken, itself where nobody knows it."""
        if "action" in one:
            self._event(one, device())
        elif "filename" in one:
            return self._frame(one)
        elif "blocks" in one and "total_size" in one:
            self._segment(one)
        elif "stage" in one:
            self._annotate(one)
        else:
            return one
        return None

    def stack(self, known: Any, frames: Iterable[Any]) -> Stack:
        """The number of a stack whose list held ``known`` and gets further frames, the innermost first; 0 is empty."""
        numbers: tuple[int, ...] = tuple(frame if type(frame) is Frame else self._frame(frame) for frame in frames)
        if type(known) is Stack:  # a list in several pieces: one of more than a thousand frames
            numbers = self._kept[known] + numbers
        kept = tuple(number for number in numbers if self._shown[number] is not None)[:FRAMES]
        found = self._stacks.get(kept)
        if found is None:
            if len(self._kept) >= DISTINCT:
                return Stack(0)
            found = self._stacks[kept] = len(self._kept)
            self._kept.append(kept)
            for depth, frame in enumerate(kept):
                self._add("snapshot_frame", (found, depth, *(self._shown[frame] or ())))
        return Stack(found)

    def annotations(self) -> list[Annotation]:
        """The annotations in the order in which they began."""
        return self._annotations

    def finish(self) -> None:
        """Writes what is left of all batches."""
        for table, rows in self._rows.items():
            if rows:
                self._write(table, rows)
                rows.clear()

    def _add(self, table: str, row: tuple[Any, ...]) -> None:
        rows = self._rows[table]
        rows.append(row)
        self.counts[table] += 1
        if len(rows) >= BATCH:
            self._write(table, rows)
            rows.clear()

    def _event(self, one: dict[str, Any], device: int) -> None:
        action, size = one["action"], _size(one.get("size"))
        if size is None or action not in ACTIONS:
            self.damaged += action != "snapshot"
            return
        row = (
            self.counts["snapshot_event"], min(max(0, device), DEVICES), action, _whole(one.get("time_us")),
            _address(one.get("addr")), size, _size(one.get("device_free")), self._stack_of(one.get("frames")),
        )  # fmt: skip
        self._add("snapshot_event", row)

    def _segment(self, one: dict[str, Any]) -> None:
        size, blocks = _size(one.get("total_size")), one["blocks"]
        if size is None or not isinstance(blocks, list):
            self.damaged += 1
            return
        number, device = self.counts["snapshot_segment"], _whole(one.get("device")) or 0
        at = start = _address(one.get("address"))
        pool = one.get("segment_pool_id")
        row = (
            number, min(max(0, device), DEVICES), start, size, _size(one.get("allocated_size")),
            _size(one.get("active_size")), _size(one.get("requested_size")), _address(one.get("stream")),
            _text(one.get("segment_type")), _pool(pool), one.get("is_expandable") is True,
            self._stack_of(one.get("frames")),
        )  # fmt: skip
        self._add("snapshot_segment", row)
        for block in blocks:
            at = self._block(block, row, at)
        blocks.clear()

    def _block(self, one: Any, segment: tuple[Any, ...], at: int | None) -> int | None:
        """Takes a block that begins at an address, unless it says another; answers where the next one begins."""
        size = _size(one.get("size")) if isinstance(one, dict) else None
        if size is None:
            self.damaged += 1
            return None
        requested, frames = _size(one.get("requested_size")), one.get("frames")
        if "requested_size" not in one and isinstance(told := one.get("history"), list) and told:
            requested, frames = _of_history(told[0])  # as until PyTorch 2.0
        address = _address(one.get("address", at))
        state = _text(one.get("state"))
        requested = size if requested is None else requested
        self._add("snapshot_block", (*segment[:2], address, size, requested, state, self._stack_of(frames)))
        return None if address is None else address + size

    def _annotate(self, one: dict[str, Any]) -> None:
        """An end belongs to the last begin of its name that has none."""
        name, moment = _text(one.get("name")), _whole(one.get("time_us"))
        if name is None or moment is None:
            self.damaged += 1
        elif one["stage"] == "START" and len(self._annotations) < ANNOTATIONS:
            self._open.setdefault(name, []).append(len(self._annotations))
            self._annotations.append((name, moment, None))
        elif one["stage"] == "END" and (begun := self._open.get(name)):
            at = begun.pop()
            self._annotations[at] = (*self._annotations[at][:2], moment)

    def _stack_of(self, frames: Any) -> int | None:
        if type(frames) is list and frames:
            frames = self.stack(None, frames)
        return (int(frames) or None) if type(frames) is Stack else None

    def _frame(self, one: Any) -> Frame:
        told = one if isinstance(one, dict) else {}
        function, file = (
            text[:NAME] if type(text := told.get(key)) is str else "" for key in ("name", "filename")
        )  # fmt: skip
        key = function, file, _whole(told.get("line")) or 0
        number = self._frames.get(key)
        if number is None:
            key = key if len(self._frames) < DISTINCT else ("", "", 0)
            number = self._frames.setdefault(key, len(self._frames))
            if number == len(self._shown):
                self._shown.append(_shown(*key))
        return Frame(number)


def _shown(function: str, file: str, line: int) -> tuple[str, str, int] | None:
    """A frame as it is kept; None for those of the interpreter, and for nothing."""
    hidden = any(part in function for part in _OMIT_FUNCTIONS) or any(part in file for part in _OMIT_FILES)
    if hidden or not (function or file):
        return None
    return _text(function) or "", _text(file) or "", min(max(0, line), (1 << 31) - 1)


def _of_history(told: Any) -> tuple[int | None, Any]:
    return (_size(told.get("real_size")), told.get("frames")) if isinstance(told, dict) else (None, None)


def _text(value: Any) -> str | None:
    """A text without NULs and what looks like a token, cut where it is long."""
    return visible(value[:NAME].replace("\0", " ")) if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return value if type(value) is int and -SIZE < value < 1 << 62 else None


def _size(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < SIZE else None


def _address(value: Any) -> int | None:
    """An address of 64 bits, which some versions write as a number with a sign."""
    return value % _UINT64 if type(value) is int and -(_UINT64 >> 1) <= value < _UINT64 else None


def _pool(value: Any) -> str | None:
    """The two numbers of a private pool; None for the one of all others."""
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not any(value):
        return None
    numbers = [_whole(one) for one in value]
    return None if None in numbers else ", ".join(map(str, numbers))

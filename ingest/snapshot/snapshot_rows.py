"""Turn the dictionaries of a snapshot into batches of rows as they come, whichever reader delivers them.

The keys tell what a dictionary is: ``action`` an event of a device's trace, ``blocks`` a segment of its memory,
``stage`` the start or end of an annotation, ``filename`` a frame of a stack. torch/cuda/memory.py documents them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ingest.scrub import scrub_text

NAME = 1000
"""Longest stored name in characters."""
FRAMES = 256
"""Most stored frames of a stack, innermost first."""
DISTINCT = 1_000_000
"""Most different frames, and stacks; further ones count as unknown."""
ANNOTATIONS = 1_000_000
"""Most stored annotations."""
DEVICES = 1 << 16
"""Most device numbers; no machine has more."""
BATCH = 1 << 16
"""Rows of a batch."""
SIZE = 1 << 60
"""A larger size in bytes is damage."""
_UINT64 = 1 << 64

ACTIONS = (
    "alloc", "free_requested", "free_completed", "free", "segment_alloc", "segment_map", "segment_free",
    "segment_unmap", "oom",
)  # fmt: skip
"""Actions that change memory; ``snapshot`` only marks when one was taken."""

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
"""Created rows with their columns; load.sql reads them."""

Rows = list[tuple[Any, ...]]
_OMIT_FUNCTIONS = (
    "unwind::unwind", "CapturedTraceback::gather", "gather_with_cpp", "_start", "__libc_start_main", "PyEval_",
    "PyObject_", "PyFunction_",
)  # fmt: skip
_OMIT_FILES = (
    "core/boxing", "/Register", "/Redispatch", "pythonrun.c", "Modules/main.c", "Objects/call.c",
    "Objects/methodobject.c", "pycore_ceval.h", "ceval.c", "cpython/abstract.h",
)  # fmt: skip
"""Frames of the interpreter and the recorder, which PyTorch's own viewer omits, too."""


class Frame(int):
    """Number of a frame, in place of its dictionary."""


class Stack(int):
    """Number of a stack, in place of the list of its frames."""


Annotation = tuple[str, int, int | None]
"""Name, start and end in microseconds since 1970; the end is None if it is missing."""


class SnapshotParts:
    """Collects the parts of a snapshot.

    ``counts`` holds the number of rows per table, ``damaged`` the number of unreadable dictionaries.

    Args:
        write: receives a table of ``TABLES`` and rows for it.
    """

    def __init__(self, write: Callable[[str, Rows], None]) -> None:
        self.counts = dict.fromkeys(TABLES, 0)
        self.damaged = 0
        self._write = write
        self._rows: dict[str, Rows] = {name: [] for name in TABLES}
        self._frames: dict[tuple[str, str, int], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {(): 0}
        self._stack_frames: list[tuple[int, ...]] = [()]
        self._shown: list[tuple[str, str, int] | None] = []
        self._annotations: list[Annotation] = []
        self._open: dict[str, list[int]] = {}

    def made(self, one: dict[str, Any], device: Callable[[], int]) -> Any:
        """Return the replacement of a complete dictionary: None if it was consumed, the dictionary if its kind is
        unknown."""
        if "action" in one:
            self._add_event(one, device())
        elif "filename" in one:
            return self._number_frame(one)
        elif "blocks" in one and "total_size" in one:
            self._add_segment(one)
        elif "stage" in one:
            self._add_annotation(one)
        else:
            return one
        return None

    def stack(self, known: Any, frames: Iterable[Any]) -> Stack:
        """Return the number of a stack that extends ``known`` by further frames, innermost first; 0 is the empty
        stack."""
        numbers: tuple[int, ...] = tuple(
            frame if type(frame) is Frame else self._number_frame(frame) for frame in frames
        )
        if type(known) is Stack:  # a list in several pieces, for more than a thousand frames
            numbers = self._stack_frames[known] + numbers
        shown_frames = tuple(number for number in numbers if self._shown[number] is not None)[:FRAMES]
        number_of_stack = self._stacks.get(shown_frames)
        if number_of_stack is None:
            if len(self._stack_frames) >= DISTINCT:
                return Stack(0)
            number_of_stack = self._stacks[shown_frames] = len(self._stack_frames)
            self._stack_frames.append(shown_frames)
            for depth, frame in enumerate(shown_frames):
                self._add_row("snapshot_frame", (number_of_stack, depth, *(self._shown[frame] or ())))
        return Stack(number_of_stack)

    def annotations(self) -> list[Annotation]:
        """Return the annotations by start."""
        return self._annotations

    def finish(self) -> None:
        """Write the rest of all batches."""
        for table, rows in self._rows.items():
            if rows:
                self._write(table, rows)
                rows.clear()

    def _add_row(self, table: str, row: tuple[Any, ...]) -> None:
        rows = self._rows[table]
        rows.append(row)
        self.counts[table] += 1
        if len(rows) >= BATCH:
            self._write(table, rows)
            rows.clear()

    def _add_event(self, one: dict[str, Any], device: int) -> None:
        action, size = one["action"], _read_size(one.get("size"))
        if size is None or action not in ACTIONS:
            self.damaged += action != "snapshot"
            return
        row = (
            self.counts["snapshot_event"], min(max(0, device), DEVICES), action, _read_whole_number(one.get("time_us")),
            _read_address(one.get("addr")), size, _read_size(one.get("device_free")), self._to_stack(one.get("frames")),
        )  # fmt: skip
        self._add_row("snapshot_event", row)

    def _add_segment(self, one: dict[str, Any]) -> None:
        size, blocks = _read_size(one.get("total_size")), one["blocks"]
        if size is None or not isinstance(blocks, list):
            self.damaged += 1
            return
        number, device = self.counts["snapshot_segment"], _read_whole_number(one.get("device")) or 0
        at = start = _read_address(one.get("address"))
        pool = one.get("segment_pool_id")
        row = (
            number, min(max(0, device), DEVICES), start, size, _read_size(one.get("allocated_size")),
            _read_size(one.get("active_size")), _read_size(one.get("requested_size")), _read_address(one.get("stream")),
            _clean_text(one.get("segment_type")), _read_pool(pool), one.get("is_expandable") is True,
            self._to_stack(one.get("frames")),
        )  # fmt: skip
        self._add_row("snapshot_segment", row)
        for block in blocks:
            at = self._add_block(block, row, at)
        blocks.clear()

    def _add_block(self, one: Any, segment: tuple[Any, ...], at: int | None) -> int | None:
        """Add a block that starts at an address unless it states another one, and return where the next one starts."""
        size = _read_size(one.get("size")) if isinstance(one, dict) else None
        if size is None:
            self.damaged += 1
            return None
        requested, frames = _read_size(one.get("requested_size")), one.get("frames")
        if "requested_size" not in one and isinstance(history := one.get("history"), list) and history:
            requested, frames = _read_history(history[0])  # up to PyTorch 2.0
        address = _read_address(one.get("address", at))
        state = _clean_text(one.get("state"))
        requested = size if requested is None else requested
        self._add_row("snapshot_block", (*segment[:2], address, size, requested, state, self._to_stack(frames)))
        return None if address is None else address + size

    def _add_annotation(self, one: dict[str, Any]) -> None:
        """Match an end with the last open start of its name."""
        name, moment = _clean_text(one.get("name")), _read_whole_number(one.get("time_us"))
        if name is None or moment is None:
            self.damaged += 1
        elif one["stage"] == "START" and len(self._annotations) < ANNOTATIONS:
            self._open.setdefault(name, []).append(len(self._annotations))
            self._annotations.append((name, moment, None))
        elif one["stage"] == "END" and (begun := self._open.get(name)):
            at = begun.pop()
            self._annotations[at] = (*self._annotations[at][:2], moment)

    def _to_stack(self, frames: Any) -> int | None:
        if type(frames) is list and frames:
            frames = self.stack(None, frames)
        return (int(frames) or None) if type(frames) is Stack else None

    def _number_frame(self, one: Any) -> Frame:
        fields = one if isinstance(one, dict) else {}
        function, file = (
            text[:NAME] if type(text := fields.get(key)) is str else "" for key in ("name", "filename")
        )  # fmt: skip
        key = function, file, _read_whole_number(fields.get("line")) or 0
        number = self._frames.get(key)
        if number is None:
            key = key if len(self._frames) < DISTINCT else ("", "", 0)
            number = self._frames.setdefault(key, len(self._frames))
            if number == len(self._shown):
                self._shown.append(_clean_frame(*key))
        return Frame(number)


def _clean_frame(function: str, file: str, line: int) -> tuple[str, str, int] | None:
    """Return a frame as it is stored; None for frames of the interpreter and empty ones."""
    hidden = any(part in function for part in _OMIT_FUNCTIONS) or any(part in file for part in _OMIT_FILES)
    if hidden or not (function or file):
        return None
    return _clean_text(function) or "", _clean_text(file) or "", min(max(0, line), (1 << 31) - 1)


def _read_history(history: Any) -> tuple[int | None, Any]:
    return (_read_size(history.get("real_size")), history.get("frames")) if isinstance(history, dict) else (None, None)


def _clean_text(value: Any) -> str | None:
    """Return a text without NULs and tokens, cut at the maximum length."""
    return scrub_text(value[:NAME].replace("\0", " ")) if isinstance(value, str) else None


def _read_whole_number(value: Any) -> int | None:
    return value if type(value) is int and -SIZE < value < 1 << 62 else None


def _read_size(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < SIZE else None


def _read_address(value: Any) -> int | None:
    """Return a 64-bit address, which some versions write as a signed number."""
    return value % _UINT64 if type(value) is int and -(_UINT64 >> 1) <= value < _UINT64 else None


def _read_pool(value: Any) -> str | None:
    """Return the two numbers of a private pool; None for the common pool."""
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not any(value):
        return None
    numbers = [_read_whole_number(one) for one in value]
    return None if None in numbers else ", ".join(map(str, numbers))

"""Read the pickle of a snapshot as plain data.

Python's own unpickler calls functions that a file names. This reader knows only the instructions that build
dictionaries, lists, tuples, texts and numbers; any other one ends the reading. A restricted subclass of Python's
unpickler would hold a whole snapshot in memory; this reader passes each dictionary to ``Parts`` as soon as it is
complete and replaces it by a number. Texts, numbers, nesting and memory are bounded, whatever a file claims.
"""

import pickletools
import resource
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ingest.snapshot.snapshot_rows import Frame, SnapshotParts
from profiledb.errors import ConversionError

TEXT_BYTES = 1 << 20
"""Most bytes of a text."""
NUMBER_BYTES = 9
"""Most bytes of a number: 64 bits and a sign."""
DEPTH = 64
"""Most nested containers; a snapshot has seven."""
MEMORY_BYTES = 2 << 30
"""Most growth of the process; a million events take 0.1 GB."""
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
_UINT2, _UINT4, _INT4, _FLOAT = (struct.Struct(one) for one in ("<H", "<I", "<i", ">d"))


class _DamageError(Exception):
    """The bytes are no pickle any more."""


class Machine:
    """State of reading one pickle: a stack, the stacks below each mark, and the memo.

    After ``read``, ``damage`` tells why reading ended too early; it is empty if all was read.
    """

    def __init__(self, parts: SnapshotParts, blocks: Iterator[bytes]) -> None:
        self.damage = ""
        self.result: Any = None
        self._parts = parts
        self._blocks = blocks
        self._data = b""
        self._at = 0
        self._before = 0
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: list[Any] = []
        self._where: dict[int, int] = {}
        self._begin = _measure_peak()
        self._steps: list[Callable[[], None] | None] = [None] * 256
        for name, step in self._build_steps().items():
            self._steps[ord(_CODES[name])] = step

    def read(self) -> None:
        """Read to the end, or as far as the file goes.

        Raises:
            ConversionError: an instruction that no snapshot needs, or more data than any snapshot holds.
        """
        try:
            while True:
                self._run_instructions()
                code = self._take(1)[0]
                if code == _STOP:
                    self.result = self._stack[-1] if self._stack else None
                    return
                self._execute_step(code)
        except EOFError:
            self.damage = "cut off"
        except (_DamageError, IndexError, TypeError, AttributeError):
            self.damage = "damaged"

    def _run_instructions(self) -> None:
        """Execute instructions while enough bytes are loaded. This loop handles the most frequent ones, nine of ten."""
        data, memo, stack, at = self._data, self._memo, self._stack, self._at
        last = len(data) - _LONGEST
        while at < last:
            code = data[at]
            if code == _LONG_BINGET:
                stack.append(memo[_UINT4.unpack_from(data, at + 1)[0]])
                at += 5
            elif code == _BINGET:
                stack.append(memo[data[at + 1]])
                at += 2
            elif code == _LONG1 and data[at + 1] <= NUMBER_BYTES:
                end = at + 2 + data[at + 1]
                stack.append(int.from_bytes(data[at + 2 : end], "little", signed=True))
                at = end
            elif code == _BININT1:
                stack.append(data[at + 1])
                at += 2
            elif code == _STOP:
                break
            else:
                self._at = at + 1
                self._execute_step(code)
                if data is not self._data:
                    return
                stack, at = self._stack, self._at
        self._at = at

    def _execute_step(self, code: int) -> None:
        step = self._steps[code]
        if step is None:
            self._refuse_instruction(code)
        else:
            step()

    def _build_steps(self) -> dict[str, Callable[[], None]]:
        """Execute the other instructions that build plain data."""
        push = self._push_value
        return {
            "PROTO": lambda: self._skip(1), "FRAME": lambda: self._skip(8), "MARK": self._push_mark,
            "EMPTY_DICT": lambda: push({}), "EMPTY_LIST": lambda: push([]), "EMPTY_TUPLE": lambda: push(()),
            "NONE": lambda: push(None), "NEWTRUE": lambda: push(True), "NEWFALSE": lambda: push(False),
            "BININT": lambda: push(_INT4.unpack(self._take(4))[0]), "BININT1": lambda: push(self._take(1)[0]),
            "BININT2": lambda: push(_UINT2.unpack(self._take(2))[0]), "LONG1": self._push_long,
            "BINFLOAT": lambda: push(_FLOAT.unpack(self._take(8))[0]),
            "SHORT_BINUNICODE": lambda: self._push_text(self._take(1)[0]),
            "BINUNICODE": lambda: self._push_text(_UINT4.unpack(self._take(4))[0]),
            "MEMOIZE": lambda: self._put_memo(len(self._memo)), "BINPUT": lambda: self._put_memo(self._take(1)[0]),
            "LONG_BINPUT": lambda: self._put_memo(_UINT4.unpack(self._take(4))[0]),
            "BINGET": lambda: push(self._memo[self._take(1)[0]]),
            "LONG_BINGET": lambda: push(self._memo[_UINT4.unpack(self._take(4))[0]]),
            "TUPLE": lambda: push(tuple(self._pop_marked())), "TUPLE1": lambda: self._push_tuple(1),
            "TUPLE2": lambda: self._push_tuple(2), "TUPLE3": lambda: self._push_tuple(3),
            "APPEND": lambda: self._append([self._stack.pop()]), "APPENDS": lambda: self._append(self._pop_marked()),
            "SETITEM": lambda: self._set([self._stack.pop() for _ in range(2)][::-1]),
            "SETITEMS": lambda: self._set(self._pop_marked()),
        }  # fmt: skip

    def _fill_data(self, size: int) -> None:
        """Load at least ``size`` unread bytes.

        Raises:
            EOFError: the file ends before.
        """
        if _measure_peak() - self._begin > MEMORY_BYTES:
            raise ConversionError("The snapshot holds more than a conversion may.", hint="Record fewer events of it.")
        pieces, have = [self._data[self._at :]], len(self._data) - self._at
        self._before += self._at
        self._at, self._data = 0, pieces[0]
        while have < size:
            block = next(self._blocks, b"")
            if not block:
                raise EOFError
            pieces.append(block)
            have += len(block)
        self._data = b"".join(pieces)

    def _take(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            self._fill_data(size)
        at = self._at
        self._at = at + size
        return self._data[at : at + size]

    def _skip(self, size: int) -> None:
        self._take(size)

    def _push_value(self, value: Any) -> None:
        self._stack.append(value)

    def _push_mark(self) -> None:
        if len(self._marks) >= DEPTH:
            raise ConversionError(f"The snapshot nests containers more than {DEPTH} deep.", hint=_COPY)
        self._marks.append(self._stack)
        self._stack = []

    def _pop_marked(self) -> list[Any]:
        """Pop and return the values above the last mark."""
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _push_long(self) -> None:
        size = self._take(1)[0]
        if size > NUMBER_BYTES:
            raise ConversionError(f"The snapshot has a number of {size:,} bytes.", hint=_COPY)
        self._stack.append(int.from_bytes(self._take(size), "little", signed=True))

    def _push_text(self, size: int) -> None:
        if size > TEXT_BYTES:
            raise ConversionError(f"The snapshot has a text of {size:,} bytes.", hint=_COPY)
        self._stack.append(str(self._take(size), "utf-8", "replace"))

    def _push_tuple(self, size: int) -> None:
        items = self._stack[-size:]
        if len(items) < size:
            raise _DamageError
        self._stack[-size:] = [tuple(items)]

    def _put_memo(self, key: int) -> None:
        """Store the top of the stack in the memo. Entries are numbered in order, so that no key makes the memo
        large."""
        value, memo = self._stack[-1], self._memo
        if key > len(memo):
            raise _DamageError
        if key == len(memo):
            memo.append(value)
        else:
            memo[key] = value
        if type(value) in (dict, list):
            self._where[id(value)] = key

    def _append(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if items and type(items[0]) is Frame:
            self._replace_top(self._parts.stack(target, items))
        elif type(target) is list:
            target.extend(items)
        else:
            raise _DamageError

    def _set(self, items: list[Any]) -> None:
        target, names = self._stack[-1], items[::2]
        if type(target) is not dict or len(items) % 2 or any(type(name) is not str for name in names):
            raise _DamageError
        target.update(zip(names, items[1::2], strict=True))
        replacement = self._parts.made(target, self._find_device)
        if replacement is not target:
            self._replace_top(replacement)

    def _replace_top(self, value: Any) -> None:
        """Replace the top of the stack, also in the memo."""
        key = self._where.pop(id(self._stack[-1]), None)
        if key is not None:
            self._memo[key] = value
        self._stack[-1] = value

    def _find_device(self) -> int:
        """Return the number of the device whose event is on top: its list is one of several, in the order of devices.

        The lists follow their common key and the outer list, or else stand above a mark after the lists that the outer
        one holds already.
        """
        alone = len(self._stack) > 1 and type(self._stack[-2]) is list  # a single event has no mark
        frame, below = (self._stack[:-1], 1) if alone else (self._marks[-1], 2)
        first = len(frame) - 1
        while first >= 0 and type(frame[first]) is list:
            first -= 1
        if first >= 0:
            return len(frame) - first - 3
        return len(frame) - 1 + len(self._marks[-below][-1])

    def _refuse_instruction(self, code: int) -> None:
        """Raise ConversionError for another instruction of pickles, _DamageError for an invalid one."""
        known = _OPCODES.get(chr(code))
        if known is None:
            raise _DamageError
        raise ConversionError(
            f"The snapshot has the instruction {known.name} at byte {self._before + self._at - 1:,}, which no memory"
            " snapshot needs: such a file could run a program.",
            hint="Do not open it with Python. Capture again, or drop the snapshot as JSON.",
        )


def _measure_peak() -> int:
    """Return the peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


_OPCODES = {one.code: one for one in pickletools.opcodes}
_CODES = {one.name: one.code for one in pickletools.opcodes}
_STOP, _BINGET, _LONG_BINGET, _LONG1, _BININT1 = (
    ord(_CODES[name]) for name in ("STOP", "BINGET", "LONG_BINGET", "LONG1", "BININT1")
)
_LONGEST = 16
"""Most bytes of one of these instructions."""
_COPY = "No memory snapshot does. Copy it again from its source, or capture again."

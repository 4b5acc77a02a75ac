"""Read the JSON form of a snapshot element by element, with one element and one block of text in memory."""

import codecs
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ingest.snapshot.snapshot_rows import SnapshotParts

ELEMENT = 16 << 20
"""Most characters of a list's element; a segment of thousands of blocks with their stacks is one element."""
_LISTS = ("segments", "external_annotations")
_TRACES = "device_traces"
_SETTINGS = "allocator_settings"
_SPACE = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)


class _DamageError(ValueError):
    """The text is no JSON any more, or not that of a snapshot."""


class Walk:
    """Passes the elements of a snapshot to ``Parts``.

    After ``read``, ``damage`` tells why reading ended too early; it is empty if all was read. ``result`` holds the keys
    of the snapshot and the settings of the allocator.
    """

    def __init__(self, parts: SnapshotParts, blocks: Iterator[bytes]) -> None:
        self.damage = ""
        self.result: dict[str, Any] = {}
        self._parts = parts
        self._blocks = blocks
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._devices = itertools.count()
        self._text = ""
        self._at = 0

    def read(self) -> None:
        """Read to the end, or as far as the text is valid."""
        try:
            if self._peek_character() == "[":
                self._walk_list(lambda: self._take_part(0))
            else:
                self._walk_keys()
        except EOFError:
            self.damage = "cut off"
        except (ValueError, RecursionError):
            self.damage = "damaged"

    def _walk_keys(self) -> None:
        self._skip_mark("{")
        while self._peek_character() != "}":
            key = self._read_value()
            self._skip_mark(":")
            if type(key) is not str:
                raise _DamageError
            self.result.setdefault(key, None)
            if key in _LISTS and self._peek_character() == "[":
                self._walk_list(lambda: self._take_part(0))
            elif key == _TRACES and self._peek_character() == "[":
                self._devices = itertools.count()
                self._walk_list(self._walk_device)
            elif key == _SETTINGS:
                self.result[key] = self._read_value()
            else:
                self._read_value()

    def _walk_device(self) -> None:
        number = next(self._devices)
        self._walk_list(lambda: self._take_part(number))

    def _walk_list(self, element: Callable[[], None]) -> None:
        self._skip_mark("[")
        while self._peek_character() != "]":
            element()
        self._skip_mark("]")

    def _take_part(self, device: int) -> None:
        one = self._read_value()
        if not isinstance(one, dict) or self._parts.made(one, lambda: device) is one:
            self._parts.damaged += 1

    def _read_value(self) -> Any:
        """Return the current value, which ends before the end of the loaded text."""
        self._peek_character()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._load_more():
                    self._at = end
                    return value
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > ELEMENT:
                    raise _DamageError from error
                if not self._load_more():
                    raise EOFError from error

    def _peek_character(self) -> str:
        """Return the next character that is no space and no comma."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._load_more():
                raise EOFError

    def _skip_mark(self, mark: str) -> None:
        if self._peek_character() != mark:
            raise _DamageError
        self._at += 1

    def _load_more(self) -> bool:
        """Load more text; return False at the end."""
        block = next(self._blocks, b"")
        self._text, self._at = self._text[self._at :] + self._decode(block, not block), 0
        return bool(block)

"""Read a JSON text of any size value by value, with one value and one block of text in memory."""

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

ELEMENT = 16 << 20
"""Most characters of one value."""
_SPACE = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)


class DamageError(ValueError):
    """The text is no JSON any more, or not that of its format."""


class JsonStream:
    """The text of blocks of UTF-8.

    After ``read``, ``damage`` tells why reading ended too early; it is empty if all was read.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.damage = ""
        self._blocks = blocks
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._text = ""
        self._at = 0

    def read(self, document: Callable[[], None]) -> None:
        """Have ``document`` read to the end, or as far as the text is valid."""
        try:
            document()
        except EOFError:
            self.damage = "cut off"
        except (ValueError, RecursionError):
            self.damage = "damaged"

    def each_key(self, value: Callable[[str], None]) -> None:
        """Read an object: call ``value`` for each key; it reads the value."""
        self.skip("{")
        while self.peek() != "}":
            key = self.value()
            self.skip(":")
            if type(key) is not str:
                raise DamageError
            value(key)
        self.skip("}")

    def each(self, element: Callable[[], None]) -> None:
        """Read a list: call ``element`` for each of its values; it reads the value."""
        self.skip("[")
        while self.peek() != "]":
            element()
        self.skip("]")

    def value(self) -> Any:
        """Return the current value, which ends before the end of the loaded text."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._more():
                    self._at = end
                    return value
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > ELEMENT:
                    raise DamageError from error
                if not self._more():
                    raise EOFError from error

    def peek(self) -> str:
        """Return the next character that is no space and no comma."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                raise EOFError

    def skip(self, mark: str) -> None:
        if self.peek() != mark:
            raise DamageError
        self._at += 1

    def _more(self) -> bool:
        """Load more text; return False at the end."""
        block = next(self._blocks, b"")
        self._text, self._at = self._text[self._at :] + self._decode(block, not block), 0
        return bool(block)

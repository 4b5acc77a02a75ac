"""Makes the text of a trace one that DuckDB's reader of JSON takes in: UTF-8, with one spelling of each key.

In JSON an unescaped quotation mark never stands within a string: what looks like a key is one.
"""

import re
from collections.abc import Iterator

_SPELLINGS = (
    (b'"external id":', b'"External id":'),
    (b'"Input dims":', b'"Input Dims":'),
    (b'"Bytes":', b'"tensor bytes":'),
)
"""Keys of traces of 2021, and what they are called since; and one that differs by its capital alone from that of
copies, which a structure of DuckDB takes for the same."""
_LONGEST = 16 << 20
"""Bytes without a comma that are kept together; no key is that long."""
_NO_VALUE = re.compile(rb'"(\s*:\s*)N/A(?=\s*[,}])')
"""What traces of 2020 have in place of a value."""


class Text:
    """The text of a trace; ``repaired`` says after ``blocks`` whether it held bytes that are no UTF-8."""

    def __init__(self) -> None:
        self.repaired = False

    def blocks(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """The same, cut behind commas, so that no key and no character is cut."""
        carry = b""
        for block in raw:
            text = carry + block
            at = text.rfind(b",") + 1 or (len(text) if len(text) > _LONGEST else 0)
            carry = text[at:]
            if at:
                yield self._readable(text[:at])
        if carry:
            yield self._readable(carry)

    def _readable(self, text: bytes) -> bytes:
        if not text.isascii():
            text = self._decodable(text)
        for old, new in _SPELLINGS:
            text = text.replace(old, new)
        return _NO_VALUE.sub(rb'"\1null', text) if b"N/A" in text else text

    def _decodable(self, text: bytes) -> bytes:
        try:
            text.decode()
        except UnicodeDecodeError:
            self.repaired = True
            return text.decode("utf-8", "replace").encode()
        return text

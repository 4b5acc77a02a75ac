"""Normalize the text of a trace for DuckDB's JSON reader: UTF-8, with one spelling per key.

JSON strings contain no unescaped quotation mark, so a text that looks like a key is one.
"""

import re
from collections.abc import Iterator

_SPELLINGS = (
    (b'"external id":', b'"External id":'),
    (b'"Input dims":', b'"Input Dims":'),
    (b'"Bytes":', b'"tensor bytes":'),
)
"""Keys of traces of 2021 with their present names; and a key that differs only by case from a key of copies, which
DuckDB's structs treat as equal."""
_LONGEST = 16 << 20
"""Longest span of bytes without a comma that stays together; no key is that long."""
_NO_VALUE = re.compile(rb'"(\s*:\s*)N/A(?=\s*[,}])')
"""Text in traces of 2020 in place of a missing value."""


class Text:
    """The text of a trace; after ``blocks``, ``repaired`` tells whether it had bytes that are not UTF-8."""

    def __init__(self) -> None:
        self.repaired = False

    def blocks(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the text, cut after commas so that no key and no character is split."""
        carry = b""
        for block in raw:
            text = carry + block
            at = text.rfind(b",") + 1 or (len(text) if len(text) > _LONGEST else 0)
            carry = text[at:]
            if at:
                yield self._make_readable(text[:at])
        if carry:
            yield self._make_readable(carry)

    def _make_readable(self, text: bytes) -> bytes:
        if not text.isascii():
            text = self._make_decodable(text)
        for old, new in _SPELLINGS:
            text = text.replace(old, new)
        return _NO_VALUE.sub(rb'"\1null', text) if b"N/A" in text else text

    def _make_decodable(self, text: bytes) -> bytes:
        try:
            text.decode()
        except UnicodeDecodeError:
            self.repaired = True
            return text.decode("utf-8", "replace").encode()
        return text

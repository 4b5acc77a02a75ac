"""Makes the text of a trace one that a JSON reader takes in exactly.

Times are decimal microseconds since 1970 in most traces: no number of 64 bits in floating point holds them to the
nanosecond, and that is what every JSON reader makes of them. So they are put into quotation marks, and stay texts. In
JSON an unescaped quotation mark never stands within a string: what looks like such a key is one.
"""

import re
from collections.abc import Iterator

_NUMBER = rb"(\s*:\s*)(-?\d{1,19}\.\d{1,9})(?=[\s,}])"
_TIMES = tuple((re.compile(rb'"' + key + rb'"' + _NUMBER), rb'"' + key + rb'"\1"\2"') for key in (b"ts", b"dur"))
_SPELLINGS = ((b'"external id"', b'"External id"'), (b'"Input dims"', b'"Input Dims"'))
"""Keys of traces of 2021, and what they are called since."""
_NO_VALUE = re.compile(rb'"(\s*:\s*)N/A(?=\s*[,}])')
"""What traces of 2020 have in place of a value."""


class Text:
    """The text of a trace; ``repaired`` says after ``blocks`` whether it held bytes that are no UTF-8."""

    def __init__(self) -> None:
        self.repaired = False

    def blocks(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """The same with times as texts, cut behind commas, so that no number and no character is cut."""
        carry = b""
        for block in raw:
            text = carry + block
            at = text.rfind(b",") + 1 or len(text)
            carry = text[at:]
            yield self._exact(text[:at])
        if carry:
            yield self._exact(carry)

    def _exact(self, text: bytes) -> bytes:
        if not text.isascii():
            text = self._decodable(text)
        for pattern, quoted in _TIMES:
            text = pattern.sub(quoted, text)
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

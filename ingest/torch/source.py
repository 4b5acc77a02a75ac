"""The bytes of a trace, a block at a time: plain, compressed by gzip, or the only trace in a zip archive.

Never more than a block is in memory, whatever a file says of its own size. What is damaged or cut ends the stream, and
is told afterward.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from profiledb.errors import ConversionError

BLOCK = 8 << 20
"""Bytes of a block at most."""
UNPACKED_BYTES = 32 << 30
"""Bytes of a trace at most: what grows past it is no trace but a bomb."""
LOOK_BYTES = 1 << 16
"""Bytes at the begin of a file by which it is recognized."""
MEMBERS_BYTES = 1 << 20
"""Bytes of the directory of a zip archive: some ten thousand members."""
LOOKED_INTO = 64
"""Members of a zip archive that are looked into."""

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_ZIP_END = b"PK\x05\x06"
_GZIP_ONLY = zlib.MAX_WBITS | 16
_SAVED_AT_ONCE = 64
"""Bytes in front of a damage that are unpacked at once: so many are lost with it."""
_TRACE = re.compile(rb'^(?:\xef\xbb\xbf)?\s*(?:\{\s*"[^"\\]{1,64}"\s*:|\[\s*\{)')
_MARKS = re.compile(rb'"(?:traceEvents|ph)"\s*:|"schemaVersion"\s*:.{0,400}"deviceProperties"\s*:', re.DOTALL)
_READ = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BAD = (OSError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, struct.error)
"""What reading a damaged archive raises."""


class Source:
    """The trace in a file.

    ``damage`` says after ``blocks`` what ended the stream too early; empty where it was read to its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = ""

    def blocks(self) -> Iterator[bytes]:
        """The trace's bytes, ``BLOCK`` at most at a time.

        Raises:
            ConversionError: an archive with no trace or several, or more than ``UNPACKED_BYTES``.
        """
        with self.path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            parts = self._zipped(file) if magic == _ZIP else self._unpacked(file)
            total = 0
            for part in parts:
                total += len(part)
                if total > UNPACKED_BYTES:
                    raise ConversionError(f"{self.path.name} is larger than {UNPACKED_BYTES >> 30} GiB when unpacked.")
                yield part

    def _unpacked(self, file: IO[bytes]) -> Iterator[bytes]:
        first = file.read(BLOCK)
        if not first.startswith(_GZIP):
            while first:
                yield first
                first = file.read(BLOCK)
            return
        try:
            yield from _gunzip(first, file)
        except (zlib.error, EOFError) as error:
            self.damage = "cut off" if isinstance(error, EOFError) else "damaged"

    def _zipped(self, file: IO[bytes]) -> Iterator[bytes]:
        archive = _archive(file, self.path.name)
        with archive:
            member = _only_trace(archive, self.path.name)
            try:
                with archive.open(member) as stream:
                    yield from self._unpacked(stream)
            except _BAD:
                self.damage = "damaged"


def is_trace(path: Path) -> bool:
    """Whether a file begins as a trace does, packed or not; never an error."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(LOOK_BYTES)
            if head.startswith(_ZIP):
                with _archive(file, path.name) as archive:
                    return any(_begins(archive, member) for member in _members(archive))
        return begins_as_trace(head)
    except (*_BAD, ConversionError):
        return False


def begins_as_trace(head: bytes) -> bool:
    """Whether bytes are the begin of a trace, packed by gzip or not."""
    head = unpacked(head)
    return bool(_TRACE.match(head) and _MARKS.search(head))


def unpacked(head: bytes) -> bytes:
    """The begin of a file, as far as it can be unpacked where it is packed by gzip."""
    if not head.startswith(_GZIP):
        return head
    stream = zlib.decompressobj(_GZIP_ONLY)
    try:
        return stream.copy().decompress(head, LOOK_BYTES)
    except zlib.error:
        return b"".join(_saved(stream, head))[:LOOK_BYTES]


def _saved(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """What stands in front of a damage, where one call for all of it answers nothing but the error."""
    with suppress(zlib.error):
        while data and not stream.eof:
            yield stream.decompress(data, _SAVED_AT_ONCE)
            data = stream.unconsumed_tail


def _gunzip(first: bytes, file: IO[bytes]) -> Iterator[bytes]:
    """Raises EOFError where the stream ends too early, zlib.error where it is damaged."""
    stream, data, within = zlib.decompressobj(_GZIP_ONLY), first, True
    while data:
        while data:
            within, before = True, stream.copy()
            try:
                part = stream.decompress(data, BLOCK)
            except zlib.error:
                yield from _saved(before, data)
                raise
            if part:
                yield part
            data = stream.unconsumed_tail
            if stream.eof:  # another member may follow; anything else counts for nothing, as with gzip itself
                data = stream.unused_data.lstrip(b"\0")
                if not data.startswith(_GZIP[: len(data)]):
                    return
                stream, within = zlib.decompressobj(_GZIP_ONLY), False
        data = file.read(1 << 20)
    if part := stream.flush():
        yield part
    if within:
        raise EOFError


def _archive(file: IO[bytes], name: str) -> zipfile.ZipFile:
    """Opens a zip archive after a look at how large its directory says it is: all of that is read at once."""
    size = file.seek(0, 2)
    file.seek(max(0, size - LOOK_BYTES - 22))
    tail = file.read()
    at = tail.rfind(_ZIP_END)
    try:
        (directory,) = struct.unpack_from("<I", tail, at + 12) if at >= 0 else (0,)
        if directory > MEMBERS_BYTES:
            raise ConversionError(f"{name} has too many members.", hint="Drop the trace itself.")
        return zipfile.ZipFile(file)
    except _BAD as error:
        raise ConversionError(f"{name} is a damaged zip archive.", hint="Copy it again from its source.") from error


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    files = (one for one in archive.infolist() if not one.is_dir() and one.compress_type in _READ)
    return [one for one in files if not one.flag_bits & 1][:LOOKED_INTO]


def _begins(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    try:
        with archive.open(member) as stream:
            return begins_as_trace(stream.read(LOOK_BYTES))
    except _BAD:
        return False


def _only_trace(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    traces = [member for member in _members(archive) if _begins(archive, member)]
    if len(traces) != 1:
        raise ConversionError(
            f"{name} holds {len(traces)} traces, and a report is made of one.", hint="Unpack it and drop the traces."
        )
    return traces[0]

"""Read the bytes of a trace in blocks: plain, compressed by gzip, or as the only trace in a zip archive.

Only one block is in memory, whatever size a file claims. Damage or a cut ends the stream and is reported afterward.
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
"""Most bytes of a block."""
UNPACKED_BYTES = 32 << 30
"""Most bytes of a trace: a larger one is a decompression bomb."""
LOOK_BYTES = 1 << 16
"""Bytes at the start of a file that decide whether it is a trace."""
MEMBERS_BYTES = 1 << 20
"""Most bytes of the directory of a zip archive: some ten thousand members."""
LOOKED_INTO = 64
"""Most members of a zip archive that are examined."""

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_ZIP_END = b"PK\x05\x06"
_GZIP_ONLY = zlib.MAX_WBITS | 16
_SAVED_AT_ONCE = 64
"""Bytes before a damaged place that are unpacked at once, and so lost with it."""
_TRACE = re.compile(rb'^(?:\xef\xbb\xbf)?\s*(?:\{\s*"[^"\\]{1,64}"\s*:|\[\s*\{)')
_MARKS = re.compile(rb'"(?:traceEvents|ph)"\s*:|"schemaVersion"\s*:.{0,400}"deviceProperties"\s*:', re.DOTALL)
_READ = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BAD = (OSError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, struct.error)
"""Errors of reading a damaged archive."""


class Source:
    """The trace in a file.

    After ``blocks``, ``damage`` tells why the stream ended too early; it is empty if the end was read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = ""

    def blocks(self) -> Iterator[bytes]:
        """Yield the trace's bytes, at most ``BLOCK`` at a time.

        Raises:
            ConversionError: an archive with no trace or several, or more than ``UNPACKED_BYTES``.
        """
        with self.path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            parts = self._read_zipped(file) if magic == _ZIP else self._read_unpacked(file)
            total = 0
            for part in parts:
                total += len(part)
                if total > UNPACKED_BYTES:
                    raise ConversionError(f"{self.path.name} is larger than {UNPACKED_BYTES >> 30} GiB when unpacked.")
                yield part

    def _read_unpacked(self, file: IO[bytes]) -> Iterator[bytes]:
        first = file.read(BLOCK)
        if not first.startswith(_GZIP):
            while first:
                yield first
                first = file.read(BLOCK)
            return
        try:
            yield from _unpack_gzip(first, file)
        except (zlib.error, EOFError) as error:
            self.damage = "cut off" if isinstance(error, EOFError) else "damaged"

    def _read_zipped(self, file: IO[bytes]) -> Iterator[bytes]:
        archive = _open_archive(file, self.path.name)
        with archive:
            member = _find_only_trace(archive, self.path.name)
            try:
                with archive.open(member) as stream:
                    yield from self._read_unpacked(stream)
            except _BAD:
                self.damage = "damaged"


def is_trace(path: Path) -> bool:
    """Return True if a file starts like a trace, compressed or not; never raise."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(LOOK_BYTES)
            if head.startswith(_ZIP):
                with _open_archive(file, path.name) as archive:
                    return any(_read_start(archive, member) for member in _list_members(archive))
        return begins_trace(head)
    except (*_BAD, ConversionError):
        return False


def begins_trace(head: bytes) -> bool:
    """Return True if bytes are the start of a trace, compressed by gzip or not."""
    head = unpack_start(head)
    return bool(_TRACE.match(head) and _MARKS.search(head))


def read_head(path: Path) -> bytes:
    """Return the start of a file, as ``unpack_start`` does; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return unpack_start(file.read(LOOK_BYTES))
    except OSError:
        return b""


def unpack_start(head: bytes) -> bytes:
    """Return the start of a file, unpacked as far as possible if gzip compressed it."""
    if not head.startswith(_GZIP):
        return head
    stream = zlib.decompressobj(_GZIP_ONLY)
    try:
        return stream.copy().decompress(head, LOOK_BYTES)
    except zlib.error:
        return b"".join(_unpack_rest(stream, head))[:LOOK_BYTES]


def _unpack_rest(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """Return the bytes before a damaged place; a single call for all of them would return only the error."""
    with suppress(zlib.error):
        while data and not stream.eof:
            yield stream.decompress(data, _SAVED_AT_ONCE)
            data = stream.unconsumed_tail


def _unpack_gzip(first: bytes, file: IO[bytes]) -> Iterator[bytes]:
    """Yield unpacked blocks.

    Raises:
        EOFError: the stream ends too early.
        zlib.error: the stream is damaged.
    """
    stream, data, within = zlib.decompressobj(_GZIP_ONLY), first, True
    while data:
        while data:
            within, before = True, stream.copy()
            try:
                part = stream.decompress(data, BLOCK)
            except zlib.error:
                yield from _unpack_rest(before, data)
                raise
            if part:
                yield part
            data = stream.unconsumed_tail
            if stream.eof:  # another member may follow; other data is ignored, as gzip itself does
                data = stream.unused_data.lstrip(b"\0")
                if not data.startswith(_GZIP[: len(data)]):
                    return
                stream, within = zlib.decompressobj(_GZIP_ONLY), False
        data = file.read(1 << 20)
    if part := stream.flush():
        yield part
    if within:
        raise EOFError


def _open_archive(file: IO[bytes], name: str) -> zipfile.ZipFile:
    """Open a zip archive after checking the stated size of its directory, which is read at once."""
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


def _list_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    files = (one for one in archive.infolist() if not one.is_dir() and one.compress_type in _READ)
    return [one for one in files if not one.flag_bits & 1][:LOOKED_INTO]


def _read_start(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    try:
        with archive.open(member) as stream:
            return begins_trace(stream.read(LOOK_BYTES))
    except _BAD:
        return False


def _find_only_trace(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    traces = [member for member in _list_members(archive) if _read_start(archive, member)]
    if len(traces) != 1:
        raise ConversionError(
            f"{name} holds {len(traces)} traces, and a report is made of one.", hint="Unpack it and drop the traces."
        )
    return traces[0]

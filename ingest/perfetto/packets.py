"""Cut a trace of Perfetto, of any size, into its packets: one is in memory, also where packets are compressed."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent

from ingest.torch.source import BLOCK, UNPACKED_BYTES, Source
from profiledb.errors import ConversionError

PACKET = 64 << 20
"""Most bytes of a packet."""
_TAG = 0x0A
"""Field 1 of a trace, a packet with its length before it."""
_LENGTH_BYTES = 5
_WITH_LENGTH, _FIXED = 2, 1
"""Types on the wire."""


def _write_tag(message: Any, field: str, wire: int = _WITH_LENGTH) -> bytes:
    """Return the bytes that stand before a field."""
    tag, written = message.DESCRIPTOR.fields_by_name[field].number << 3 | wire, b""
    while tag > 127:
        written, tag = written + bytes([tag & 127 | 128]), tag >> 7
    return written + bytes([tag])


_DESCRIBES = re.compile(
    b"|".join(
        re.escape(tag)
        for tag in (
            *(
                _write_tag(TracePacket, field)
                for field in (
                    "track_descriptor", "thread_descriptor", "process_tree", "clock_snapshot", "gpu_info",
                    "compressed_packets",
                )
            ),
            *(_write_tag(TrackEvent, "flow_ids", wire) for wire in (_WITH_LENGTH, _FIXED)),
        )
    )
)  # fmt: skip
"""The bytes of a packet that ``descriptors`` yields have one of these tags, maybe within a text."""


class _DamageError(ValueError):
    """The bytes are no packets."""


class Packets:
    """The packets of a file.

    After iteration, ``damage`` tells why it ended too early, and is empty if the end was read; ``strange`` counts
    packets with fields that their format does not have.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.damage = ""
        self.strange = 0

    def __iter__(self) -> Iterator[Any]:
        """Yield packets.

        Raises:
            ConversionError: the file unpacks to more than ``UNPACKED_BYTES``.
        """
        return self._read(lambda _: True)

    def descriptors(self) -> Iterator[Any]:
        """Yield at least the packets with descriptors, clocks, GPUs or several arrows, as in ``__iter__``: few of all,
        and parsing is what takes time."""
        return self._read(lambda data: _DESCRIBES.search(data) is not None)

    def _read(self, is_wanted: Callable[[bytes], bool]) -> Iterator[Any]:
        source = Source(self._path)
        unpacked = self.strange = 0
        self.damage = ""
        try:
            for data in filter(is_wanted, _cut(source.blocks())):
                packet = self._parse(data)
                if not packet.compressed_packets:
                    yield packet
                    continue
                for inner in _cut(_inflate(packet.compressed_packets)):
                    unpacked += len(inner)
                    if unpacked > UNPACKED_BYTES:
                        raise ConversionError(f"{self._path.name} unpacks to more than {UNPACKED_BYTES >> 30} GiB.")
                    if is_wanted(inner):
                        yield self._parse(inner)
            self.damage = source.damage
        except EOFError:
            self.damage = source.damage or "cut off"
        except (_DamageError, zlib.error):
            self.damage = "damaged"

    def _parse(self, data: bytes) -> Any:
        packet = TracePacket()
        try:
            packet.ParseFromString(data)
        except DecodeError as error:
            raise _DamageError from error
        size = packet.ByteSize()
        packet.DiscardUnknownFields()
        self.strange += packet.ByteSize() != size
        return packet


def _cut(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes of each packet.

    Raises:
        EOFError: the last packet is not whole.
        _DamageError: the bytes are no packets.
    """
    held = b""
    for block in blocks:
        held += block
        at = 0
        while (extent := _read_length(held, at)) is not None:
            start, length = extent
            if start + length > len(held):
                break
            yield held[start : start + length]
            at = start + length
        held = held[at:]
    if held:
        raise EOFError


def _read_length(data: bytes, at: int) -> tuple[int, int] | None:
    """Return where the packet at a place starts, and its length; None if the bytes end before that."""
    if at >= len(data):
        return None
    if data[at] != _TAG:
        raise _DamageError
    length = 0
    for shift, place in enumerate(range(at + 1, at + 1 + _LENGTH_BYTES)):
        if place >= len(data):
            return None
        length |= (data[place] & 127) << 7 * shift
        if data[place] < 128:
            if length > PACKET:
                raise _DamageError
            return place + 1, length
    raise _DamageError


def _inflate(data: bytes) -> Iterator[bytes]:
    stream = zlib.decompressobj()
    while data and not stream.eof:
        yield stream.decompress(data, BLOCK)
        data = stream.unconsumed_tail
    if not stream.eof:
        raise EOFError

"""Read the outer frame of a .ncu-rep file: its completeness, its processes, and when and how it was captured.

The layout is NVIDIA's ``ProfilerReport.proto``, which every Nsight Compute installs in ``extras/FileFormat``: the magic
``NVR\\0``, then messages with a 4-byte length in front: a FileHeader, and BlockHeaders, each with the size of the
payload after it. The ``ncu-report`` wheel reads a truncated file without an error and exposes neither processes nor
times, so this module walks the frame and skips the payloads. It never reads ``ExecutableSettings``, which holds the
environment.
"""

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from profiledb.errors import ConversionError

MAGIC = b"NVR\0"
MOST_BLOCKS = 1_000_000
"""Far beyond any report: without this limit, a file of small headers takes half an hour."""
# Field numbers of ProfilerReport.proto.
_HEADER_RESULTS = (2, 7, 8, 9)
_HEADER_SESSION, _HEADER_PAYLOAD, _HEADER_PROCESS = 3, 5, 6
_PROCESS_PID, _PROCESS_NAME = 1, 3
_SESSION_CREATED, _SESSION_VERSION, _SESSION_COMMAND = 2, 8, 11
_VERSION_OF, _VERSION = 1, 2

Message = dict[int, int | bytes]


@dataclass
class Frame:
    """Facts from the frame of a report: ``processes`` has (pid, program) of each result, in order."""

    processes: list[tuple[int | None, str | None]] = field(default_factory=list)
    created: datetime | None = None
    command: str | None = None
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def tool_version(self) -> str | None:
        """Version of the capturing ncu, for example ``2024.1.1.0``."""
        version = self.versions.get("Nsight Compute Target") or self.versions.get("Nsight Compute")
        return version.split(" ")[0] if version else None


def read_frame(path: Path) -> Frame:
    """Read a report's frame.

    Raises:
        ConversionError: the file ends within a block, or invalid data follows one.
    """
    frame = Frame()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            for header, _, _ in list_blocks(data):
                _add_block(frame, dict(_read_fields(header)))
        except (IndexError, struct.error, ValueError) as error:
            raise ConversionError(
                f"{path.name} is not a complete Nsight Compute report: it is truncated or damaged.",
                hint="Copy the file again, or capture again with ncu -o.",
                detail=str(error),
            ) from error
    return frame


def list_blocks(data: mmap.mmap) -> Iterator[tuple[bytes, int, int]]:
    """Yield the header of each block, and where its payload starts and ends.

    Raises:
        ValueError, IndexError, struct.error: the file ends within a block, or invalid data follows one.
    """
    if data[:4] != MAGIC:
        raise ValueError("the file does not begin with NVR")
    position, count = 4, 0
    first = True
    while position < len(data):
        (size,) = struct.unpack("<I", data[position : position + 4])
        position += 4 + size
        if position > len(data):
            raise ValueError(f"a header ends at byte {position:,} of {len(data):,}")
        if not first and not size:
            raise ValueError(f"no header of a block at byte {position:,}")
        if (count := count + 1) > MOST_BLOCKS:
            raise ValueError(f"more than {MOST_BLOCKS:,} blocks")
        header = data[position - size : position]
        payload = dict(_read_fields(header)).get(_HEADER_PAYLOAD, 0)
        begin = position
        position += payload if isinstance(payload, int) and not first else 0
        if position > len(data):
            raise ValueError(f"a block ends at byte {position:,} of {len(data):,}")
        if not first:
            yield header, begin, position
        first = False


def _add_block(frame: Frame, header: Message) -> None:
    results = sum(value for number in _HEADER_RESULTS if isinstance(value := header.get(number), int))
    process = _read_message(header.get(_HEADER_PROCESS))
    pid = process.get(_PROCESS_PID)
    name = _decode_text(process.get(_PROCESS_NAME))
    entry = (pid if isinstance(pid, int) else None, PurePosixPath(name).name if name else None)
    frame.processes += [entry] * min(results, 10_000_000)
    session = header.get(_HEADER_SESSION)
    for number, value in _read_fields(session) if isinstance(session, bytes) else ():
        if number == _SESSION_CREATED and isinstance(value, int) and 0 < value < 1 << 33:
            frame.created = datetime.fromtimestamp(value, UTC).replace(tzinfo=None)
        elif number == _SESSION_COMMAND:
            frame.command = _decode_text(value)
        elif number == _SESSION_VERSION:
            version = _read_message(value)
            frame.versions[_decode_text(version.get(_VERSION_OF)) or ""] = _decode_text(version.get(_VERSION)) or ""


def _read_message(data: int | bytes | None) -> Message:
    return dict(_read_fields(data)) if isinstance(data, bytes) else {}


def _decode_text(data: int | bytes | None) -> str | None:
    return data.decode("utf-8", "replace").strip() if isinstance(data, bytes) else None


def _read_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield fields of a protobuf message as (number, integer or bytes); see
    protobuf.dev/programming-guides/encoding."""
    position = 0
    while position < len(data):
        key, position = _read_varint(data, position)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, position = _read_varint(data, position)
            yield number, value
            continue
        if wire == 2:
            size, position = _read_varint(data, position)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire} where a header should be")
        if position + size > len(data):
            raise ValueError("a field reaches past its header")
        yield number, data[position : position + size]
        position += size


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return result, position
        if shift > 63:
            raise ValueError("a number longer than 64 bits where a header should be")

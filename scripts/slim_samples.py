"""Remove data that no page shows from sample reports, so that the repository stays small; no number changes.

``python scripts/slim_samples.py [--without TABLE] [--own] FILE...`` writes the files again in place:

- ``.ncu-rep``: without values by code address, of which a launch has thousands and which mean nothing without the code
  (``--import-sass no``), and without the chart of the tensor rooflines, half a MB per launch. Every metric with its
  value, all other lists, sections, rules, details and NVTX ranges stay, byte for byte.
- ``.sqlite``: the same rows in smaller pages, because some thirty tables of a few rows take a page each. Definitions of
  GPU metrics are removed; ``--without`` also removes that table, and ``--own`` the rows about processes that did not
  call CUDA and about the folder in which the capture started.

A file that was slimmed before stays as it is. Your own captures need none of this.
"""

import argparse
import mmap
import re
import sqlite3
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ingest.ncu import container  # noqa: E402 - the root must be on the path first
from ingest.ncu.names import is_instanced  # noqa: E402

ENVIRONMENT, METRICS = "TARGET_INFO_SYSTEM_ENV", "GpuMetricsConfig"
PAGE_BYTES = 1024
OF_CUDA = "SELECT globalTid >> 24 FROM CUPTI_ACTIVITY_KIND_RUNTIME"
_REFERENCE = re.compile(r"^ +(\w+) .*-- REFERENCES StringIds\(id\)", re.MULTILINE)
FIRST_ADDRESS = 1 << 32
"""Lowest key that is a code address, where the driver puts code. Keys of other hidden lists count from 0."""
CHARTS = (b"SpeedOfLight_HierarchicalTensorRooflineChart",)
# Field numbers of NVIDIA's ProfilerReport.proto and the files that it imports, by message.
_HEADER_KERNELS, _HEADER_STRINGS, _HEADER_SIZE = 2, 4, 5
_RESULT_METRICS, _RESULT_SECTIONS = 13, 17
_METRIC_NAME, _METRIC_ELEMENTS = 1, 3
_ELEMENT_KEY = 1
_SECTION_IDENTIFIER, _SECTION_BODY = 1, 5
# Wire types of protobuf, and the lengths of those with a fixed length.
_INTEGER, _BYTES, _FIXED = 0, 2, {1: 8, 5: 4}

Field = tuple[int, bytes, bytes]
"""Number of a field, its content, and its bytes in the message."""


def read_fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of a protobuf message, in order."""
    position = 0
    while position < len(data):
        start = position
        key, position = decode_varint(data, position)
        size = _FIXED.get(key & 7, 0)
        if key & 7 == _BYTES:
            size, position = decode_varint(data, position)
        content = position
        position = decode_varint(data, position)[1] if key & 7 == _INTEGER else position + size
        yield key >> 3, data[content:position], data[start:position]


def decode_varint(data: bytes, position: int = 0) -> tuple[int, int]:
    """Return a number of 7 bits a byte, lowest first, and where it ends."""
    end = next(place for place in range(position, len(data)) if data[place] < 128) + 1
    return sum((byte & 127) << 7 * place for place, byte in enumerate(data[position:end])), end


def encode_varint(number: int) -> bytes:
    """Return a number as ``decode_varint`` reads it."""
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + encode_varint(number >> 7)


def slim_report(data: mmap.mmap) -> bytes:
    """Return a Nsight Compute report without data that no page shows."""
    blocks = list(container.list_blocks(data))
    names: list[str] = []
    written = [data[: blocks[0][1] - len(blocks[0][0]) - 4]]
    for head, begin, end in blocks:
        header = {number: content for number, content, _ in read_fields(head)}
        names += [text.decode() for _, text, _ in read_fields(header.get(_HEADER_STRINGS, b""))]
        # Messages with their lengths in front; the last ones are launches.
        parts = list(_split_messages(data[begin:end]))
        first = len(parts) - decode_varint(header.get(_HEADER_KERNELS, b"\0"))[0]
        parts[first:] = [_slim_launch(part, names) for part in parts[first:]]
        payload = b"".join(struct.pack("<I", len(part)) + part for part in parts)
        size = encode_varint(_HEADER_SIZE << 3) + encode_varint(len(payload))
        slim = b"".join(size if number == _HEADER_SIZE else raw for number, _, raw in read_fields(head))
        written += [struct.pack("<I", len(slim)), slim, payload]
    return b"".join(written)


def _split_messages(payload: bytes) -> Iterator[bytes]:
    while payload:
        (size,) = struct.unpack_from("<I", payload)
        yield payload[4 : 4 + size]
        payload = payload[4 + size :]


def _slim_launch(launch: bytes, names: Sequence[str]) -> bytes:
    written = []
    for number, content, raw in read_fields(launch):
        is_metric, is_section = number == _RESULT_METRICS, number == _RESULT_SECTIONS
        slim = _slim_metric(content, names) if is_metric else slim_section(content) if is_section else content
        written.append(
            raw if slim is content else encode_varint(number << 3 | _BYTES) + encode_varint(len(slim)) + slim
        )
    return b"".join(written)


def _slim_metric(metric: bytes, names: Sequence[str]) -> bytes:
    fields = list(read_fields(metric))
    name = next(names[decode_varint(content)[0]] for number, content, _ in fields if number == _METRIC_NAME)
    elements = [content for number, content, _ in fields if number == _METRIC_ELEMENTS]
    if len(elements) < 2 or is_instanced(name) or not all(map(_is_by_address, elements)):
        return metric
    return b"".join(raw for number, _, raw in fields if number != _METRIC_ELEMENTS)


def _is_by_address(element: bytes) -> bool:
    keys = [next(read_fields(content)) for number, content, _ in read_fields(element) if number == _ELEMENT_KEY]
    return any(raw[0] & 7 == _INTEGER and decode_varint(content)[0] >= FIRST_ADDRESS for _, content, raw in keys)


def slim_section(section: bytes) -> bytes:
    """Return the definition of a section, without its chart if it is one of ``CHARTS``."""
    fields = list(read_fields(section))
    if not any(number == _SECTION_IDENTIFIER and content in CHARTS for number, content, _ in fields):
        return section
    return b"".join(raw for number, _, raw in fields if number != _SECTION_BODY)


def repack(export: Path) -> None:
    """Write an nsys export again in small pages; SQLite keeps the rows and their order.

    The definitions of all GPU metrics of all GPUs, 389 kB of text that nsys writes if it sampled some, are removed.
    """
    with closing(sqlite3.connect(export, isolation_level=None)) as database:
        known = database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (ENVIRONMENT,)).fetchone()
        if known and database.execute(f"DELETE FROM {ENVIRONMENT} WHERE name = ?", (METRICS,)).rowcount:
            database.execute("VACUUM")
        if database.execute("PRAGMA page_size").fetchone() != (PAGE_BYTES,):
            database.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            database.execute("VACUUM")


def remove_tables(export: Path, tables: Sequence[str], *, own: bool) -> None:
    """Remove tables of an export and, with ``own``, rows that name other processes or a folder of the machine."""
    with closing(sqlite3.connect(export, isolation_level=None)) as database:
        for table in tables:
            database.execute(f'DROP TABLE IF EXISTS "{table}"')
        if own:
            database.execute(f"DELETE FROM PROCESSES WHERE globalPid >> 24 NOT IN ({OF_CUDA})")
            database.execute(f"DELETE FROM ThreadNames WHERE globalTid >> 24 NOT IN ({OF_CUDA})")
            database.execute("DELETE FROM META_DATA_CAPTURE WHERE name LIKE '%:WORKING_DIR' OR name LIKE '%:ENVIRON%'")
            database.execute(f"DELETE FROM {ENVIRONMENT} WHERE name = 'DeviceEnvironment'")
            database.execute(f"DELETE FROM StringIds WHERE id NOT IN ({_select_used_texts(database)})")
        database.execute("VACUUM")


def _select_used_texts(database: sqlite3.Connection) -> str:
    """Return a query for the ids of texts that rows reference; nsys marks these columns in a comment."""
    tables = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    columns = [(column, name) for name, sql in tables for column in _REFERENCE.findall(sql)]
    return " UNION ".join(f'SELECT "{column}" FROM "{name}" WHERE "{column}" NOTNULL' for column, name in columns)


def main(words: Sequence[str]) -> None:
    """Write the files again and print their sizes before and after."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[], metavar="TABLE")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("paths", nargs="+", type=Path)
    chosen = parser.parse_args(words)
    for path in chosen.paths:
        before = path.stat().st_size
        if path.suffix == ".sqlite":
            remove_tables(path, chosen.without, own=chosen.own)
            repack(path)
        else:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                slim = slim_report(data)
            path.write_bytes(slim)
        print(f"{path}: {before:,} -> {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])

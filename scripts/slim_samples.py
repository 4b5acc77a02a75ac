"""Takes out of sample reports what no page shows, so that the repository stays small; no number is changed.

``python scripts/slim_samples.py [--without TABLE] [--own] FILE...`` writes the files again in place:

- ``.ncu-rep``: without values by code address, of which a launch has thousands and which mean nothing without the code
  (``--import-sass no``), and without what draws the chart of the tensor rooflines, half a MB a launch. Every metric
  with its value, all other lists, sections, rules, details and NVTX ranges stay, byte for byte.
- ``.sqlite``: the same rows in smaller pages: some thirty tables of a few rows take a page each. Definitions of GPU
  metrics are left out; with ``--without`` so is that table, with ``--own`` what nsys wrote about other processes than
  those that called CUDA, and about where it was started.

A file that was written so already stays as it is. Captures of one's own need none of this.
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

from ingest.ncu import container  # noqa: E402 (the root has to be on the path first)
from ingest.ncu.names import is_instanced  # noqa: E402

ENVIRONMENT, METRICS = "TARGET_INFO_SYSTEM_ENV", "GpuMetricsConfig"
PAGE_BYTES = 1024
OF_CUDA = "SELECT globalTid >> 24 FROM CUPTI_ACTIVITY_KIND_RUNTIME"
_REFERENCE = re.compile(r"^ +(\w+) .*-- REFERENCES StringIds\(id\)", re.MULTILINE)
FIRST_ADDRESS = 1 << 32
"""Other keys of lists that no page shows count from 0; code lies above, where the driver puts it."""
CHARTS = (b"SpeedOfLight_HierarchicalTensorRooflineChart",)
# Field numbers of NVIDIA's ProfilerReport.proto and the files that it imports, by message.
_HEADER_KERNELS, _HEADER_STRINGS, _HEADER_SIZE = 2, 4, 5
_RESULT_METRICS, _RESULT_SECTIONS = 13, 17
_METRIC_NAME, _METRIC_ELEMENTS = 1, 3
_ELEMENT_KEY = 1
_SECTION_IDENTIFIER, _SECTION_BODY = 1, 5
# Ways in which protobuf writes a field, and how long those are that have one length.
_INTEGER, _BYTES, _FIXED = 0, 2, {1: 8, 5: 4}

Field = tuple[int, bytes, bytes]
"""Number of a field, its content, and all of it as it stands in the message."""


def fields(data: bytes) -> Iterator[Field]:
    """The fields of a protobuf message, in order."""
    position = 0
    while position < len(data):
        start = position
        key, position = _varint(data, position)
        size = _FIXED.get(key & 7, 0)
        if key & 7 == _BYTES:
            size, position = _varint(data, position)
        content = position
        position = _varint(data, position)[1] if key & 7 == _INTEGER else position + size
        yield key >> 3, data[content:position], data[start:position]


def _varint(data: bytes, position: int = 0) -> tuple[int, int]:
    """A number of 7 bits a byte, the lowest first, and where it ends."""
    end = next(place for place in range(position, len(data)) if data[place] < 128) + 1
    return sum((byte & 127) << 7 * place for place, byte in enumerate(data[position:end])), end


def as_varint(number: int) -> bytes:
    """A number as ``_varint`` reads it."""
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + as_varint(number >> 7)


def slim_report(data: mmap.mmap) -> bytes:
    """A Nsight Compute report without what no page shows."""
    found = list(container.blocks(data))
    names: list[str] = []
    written = [data[: found[0][1] - len(found[0][0]) - 4]]
    for head, begin, end in found:
        header = {number: content for number, content, _ in fields(head)}
        names += [text.decode() for _, text, _ in fields(header.get(_HEADER_STRINGS, b""))]
        # Messages with their lengths in front; the last ones are launches.
        parts = list(_messages(data[begin:end]))
        first = len(parts) - _varint(header.get(_HEADER_KERNELS, b"\0"))[0]
        parts[first:] = [_slim_launch(part, names) for part in parts[first:]]
        payload = b"".join(struct.pack("<I", len(part)) + part for part in parts)
        size = as_varint(_HEADER_SIZE << 3) + as_varint(len(payload))
        slim = b"".join(size if number == _HEADER_SIZE else raw for number, _, raw in fields(head))
        written += [struct.pack("<I", len(slim)), slim, payload]
    return b"".join(written)


def _messages(payload: bytes) -> Iterator[bytes]:
    while payload:
        (size,) = struct.unpack_from("<I", payload)
        yield payload[4 : 4 + size]
        payload = payload[4 + size :]


def _slim_launch(launch: bytes, names: Sequence[str]) -> bytes:
    written = []
    for number, content, raw in fields(launch):
        is_metric, is_section = number == _RESULT_METRICS, number == _RESULT_SECTIONS
        slim = _slim_metric(content, names) if is_metric else slim_section(content) if is_section else content
        written.append(raw if slim is content else as_varint(number << 3 | _BYTES) + as_varint(len(slim)) + slim)
    return b"".join(written)


def _slim_metric(metric: bytes, names: Sequence[str]) -> bytes:
    found = list(fields(metric))
    name = next(names[_varint(content)[0]] for number, content, _ in found if number == _METRIC_NAME)
    elements = [content for number, content, _ in found if number == _METRIC_ELEMENTS]
    if len(elements) < 2 or is_instanced(name) or not all(map(_is_by_address, elements)):
        return metric
    return b"".join(raw for number, _, raw in found if number != _METRIC_ELEMENTS)


def _is_by_address(element: bytes) -> bool:
    keys = [next(fields(content)) for number, content, _ in fields(element) if number == _ELEMENT_KEY]
    return any(raw[0] & 7 == _INTEGER and _varint(content)[0] >= FIRST_ADDRESS for _, content, raw in keys)


def slim_section(section: bytes) -> bytes:
    """The definition of a section, without what draws it if it is one of ``CHARTS``."""
    found = list(fields(section))
    if not any(number == _SECTION_IDENTIFIER and content in CHARTS for number, content, _ in found):
        return section
    return b"".join(raw for number, _, raw in found if number != _SECTION_BODY)


def repack(export: Path) -> None:
    """Writes an export of nsys again in small pages; SQLite keeps the rows and their order.

    The definitions of all GPU metrics of all GPUs, 389 kB of text that nsys writes where it sampled some, are left out.
    """
    with closing(sqlite3.connect(export, isolation_level=None)) as database:
        known = database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (ENVIRONMENT,)).fetchone()
        if known and database.execute(f"DELETE FROM {ENVIRONMENT} WHERE name = ?", (METRICS,)).rowcount:
            database.execute("VACUUM")
        if database.execute("PRAGMA page_size").fetchone() != (PAGE_BYTES,):
            database.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            database.execute("VACUUM")


def take_out(export: Path, tables: Sequence[str], *, own: bool) -> None:
    """Removes tables of an export and, with ``own``, what names other processes or a folder of the machine."""
    with closing(sqlite3.connect(export, isolation_level=None)) as database:
        for table in tables:
            database.execute(f'DROP TABLE IF EXISTS "{table}"')
        if own:
            database.execute(f"DELETE FROM PROCESSES WHERE globalPid >> 24 NOT IN ({OF_CUDA})")
            database.execute(f"DELETE FROM ThreadNames WHERE globalTid >> 24 NOT IN ({OF_CUDA})")
            database.execute("DELETE FROM META_DATA_CAPTURE WHERE name LIKE '%:WORKING_DIR' OR name LIKE '%:ENVIRON%'")
            database.execute(f"DELETE FROM {ENVIRONMENT} WHERE name = 'DeviceEnvironment'")
            database.execute(f"DELETE FROM StringIds WHERE id NOT IN ({_texts_in_use(database)})")
        database.execute("VACUUM")


def _texts_in_use(database: sqlite3.Connection) -> str:
    """A query for the numbers of texts that rows refer to; nsys says in a comment which columns do."""
    tables = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    columns = [(column, name) for name, sql in tables for column in _REFERENCE.findall(sql)]
    return " UNION ".join(f'SELECT "{column}" FROM "{name}" WHERE "{column}" NOTNULL' for column, name in columns)


def main(words: Sequence[str]) -> None:
    """Writes the files again and says what each had and has."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[], metavar="TABLE")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("paths", nargs="+", type=Path)
    chosen = parser.parse_args(words)
    for path in chosen.paths:
        before = path.stat().st_size
        if path.suffix == ".sqlite":
            take_out(path, chosen.without, own=chosen.own)
            repack(path)
        else:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                slim = slim_report(data)
            path.write_bytes(slim)
        print(f"{path}: {before:,} -> {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Answers stored on disk beside the reports, so that they survive a restart.

Each answer is a file ``LIBRARY/derived/answers/<report>/<key>.answer``. Its key covers ``Request.key``, the code that
computes answers and the DuckDB version. A stale answer is therefore never read again; once the folder is full, the
least recently read files are deleted first. Each file carries a checksum, and a damaged file is ignored and rewritten.
A failed read or write never fails a request: the answer is computed instead.
"""

import hashlib
import os
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from profiledb import config
from profiledb.library.library import Library
from profiledb.query import analysis, request
from profiledb.query.request import Request
from profiledb.report.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MOST_BYTES = 16_000_000
"""Size limit of a stored answer in bytes. Larger ones are lists of single events, which no page requests."""

_UNCOMPRESSED_BYTES = 32_000
"""Size up to which rows stay uncompressed: Arrow makes a compressor for each column, 1 ms for an answer of few rows."""
_BEGINS = b"warpdeck answer 1\n"
_CODE = ("query", "report", "rules", "selection", "analyses", "findings")
"""Folders of profiledb whose code affects answers and verdicts. A request's key covers the SQL of its analysis and
views."""
_ID = re.compile(r"[0-9a-f]{8,64}")


def run(library: Library, report_id: str, name: str, params: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Run an analysis, reusing the answer on disk if there is one. Raises the same errors as ``analysis.run``."""
    return analysis.convert_frame(answer_rows(library, request.build(library, report_id, name, params)))


def answer_rows(library: Library, asked: Request) -> "pa.Table":
    """Return the rows of a request; unless they are stored, compute and store them."""
    path = find_path(library, asked)
    rows = read_file(library, path, asked) if path else None
    if rows is None:
        rows = analysis.read_rows(library, asked)
        if path:
            write_file(library, path, rows)
    return rows


def read(library: Library, asked: Request) -> "pa.Table | None":
    """Return the stored rows of a request, or None if they are not stored or a report is no longer intact."""
    path = find_path(library, asked)
    return read_file(library, path, asked) if path else None


def read_file(library: Library, path: Path, asked: Request) -> "pa.Table | None":
    """Return the rows of a file that answers about the reports of a request, or None as ``read`` does."""
    try:
        with path.open("rb") as file:
            rows = _decode_rows(file.read(MOST_BYTES + 100))
    except OSError:
        return None
    if rows is None or not all(map(library.is_intact, _list_reports(asked))):
        return None
    with suppress(OSError):  # marks the file as recently used; another process may have deleted it
        os.utime(path)
    return rows


def write(library: Library, asked: Request, rows: "pa.Table") -> None:
    """Store the rows of a request as ``write_file`` does."""
    if path := find_path(library, asked):
        write_file(library, path, rows)


def write_file(library: Library, path: Path, rows: "pa.Table") -> None:
    """Store rows unless they exceed the size limit or the settings turn the store off."""
    most = config.load().answers_mb * 1_000_000
    if rows.nbytes > 16 * MOST_BYTES:
        return
    encoded = _encode_rows(rows)
    if len(encoded) > min(MOST_BYTES, most):
        return
    with suppress(OSError):  # a full disk or a read-only library: the answer is recomputed next time
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, encoded)
        library.derived.make_room(len(encoded), most)


def find_path(library: Library, asked: Request) -> Path | None:
    """Return the path of the stored answer to a request, or None if its report does not exist."""
    return make_path(library, asked, asked.key(library))


def make_path(library: Library, asked: Request, key: request.Key) -> Path | None:
    """Return the path of a file with a key about the reports of a request, or None if one does not exist."""
    _, *key_parts = key  # without the folder: a library may be moved
    if not all(_ID.fullmatch(one) and library.path(one).exists() for one in _list_reports(asked)):
        return None
    text = repr((hash_code(), key_parts))
    name = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:40]
    return library.derived.answers / asked.report_id / f"{name}.answer"


@cache
def hash_code() -> str:
    """Return a hash of the code that computes answers, the schema version and the DuckDB version."""
    digest = hashlib.sha256(f"{SCHEMA_VERSION} {duckdb.__version__}".encode())
    package = resources.files("profiledb")
    for folder in _CODE:
        for name, content in sorted(_read_texts(package.joinpath(folder), folder)):
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _read_texts(folder: Traversable, name: str) -> list[tuple[str, bytes]]:
    """Return the paths and contents of a folder's code files, without the SQL that ``request.hash_analysis`` covers."""
    texts = []
    for one in folder.iterdir():
        path = f"{name}/{one.name}"
        if one.is_dir():
            texts += _read_texts(one, path)
        elif one.name.endswith((".py", ".toml")) or (one.name.endswith(".sql") and not _NAMED.fullmatch(path)):
            texts.append((path, one.read_bytes()))
    return texts


_NAMED = re.compile(r"analyses/\w+/(views/)?\w+\.sql|selection/selected\.sql|report/sidecar\.sql")
"""SQL files that ``request.hash_analysis`` covers."""


def _list_reports(asked: Request) -> list[str]:
    return [one for one in (asked.report_id, asked.partner) if one]


def _encode_rows(rows: "pa.Table") -> bytes:
    content = encode_table(rows)
    return b"".join((_BEGINS, hashlib.sha256(content).digest(), content))


def _decode_rows(file: bytes) -> "pa.Table | None":
    start = len(_BEGINS) + 32
    if not file.startswith(_BEGINS) or hashlib.sha256(file[start:]).digest() != file[len(_BEGINS) : start]:
        return None
    return decode_table(file[start:])


def encode_table(rows: "pa.Table") -> bytes:
    """Return rows as a stream of Arrow."""
    import pyarrow as pa

    out = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd" if rows.nbytes > _UNCOMPRESSED_BYTES else None)
    with pa.ipc.new_stream(out, rows.schema, options=options) as writer:
        writer.write_table(rows)
    return bytes(out.getvalue().to_pybytes())


def decode_table(content: bytes) -> "pa.Table | None":
    """Return the rows of a stream of Arrow, or None if it is none."""
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(content) as reader:
            return reader.read_all()
    except pa.ArrowInvalid:
        return None


def put(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    part = path.with_name(f".part-{uuid.uuid4().hex}")
    try:
        with open(part, "xb", opener=_open_private) as file:
            file.write(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

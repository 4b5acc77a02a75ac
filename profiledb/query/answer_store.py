"""Answers on disk, beside the reports, so that a restart finds what was asked before it.

``LIBRARY/derived/answers/<report>/<key>.answer`` is one answer. Its key has all that ``Request.key`` has, and with it
the code that makes answers and the version of DuckDB: what is stale is never asked for again, and goes with what was
not read for the longest once the folder is full. A file holds a checksum; one that is damaged counts as none and is
written anew. Nothing here fails a question: what cannot be read or written is worked out.
"""

import hashlib
import os
import re
import tempfile
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
"""An answer that takes more is not kept: it is a list of single events, which pages do not ask for."""

_BEGINS = b"warpdeck answer 1\n"
_CODE = ("query", "report", "rules", "selection", "analyses", "findings")
"""Folders of profiledb whose code makes answers and verdicts; an analysis has its SQL and that of views in its key."""
_ID = re.compile(r"[0-9a-f]{8,64}")


def run(library: Library, report_id: str, name: str, params: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """What ``analysis.run`` returns, and raises; read from the disk where it was answered before."""
    asked = request.build(library, report_id, name, params)
    found = read(library, asked)
    if found is None:
        found = analysis.rows(library, asked)
        write(library, asked, found)
    return analysis.frame_of(found)


def read(library: Library, asked: Request) -> "pa.Table | None":
    """The rows of a request; None where they are not there, or the report is not whole any more."""
    path = where(library, asked)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            found = _decoded(file.read(MOST_BYTES + 100))
    except OSError:
        return None
    if found is None or not all(map(library.is_intact, _reports(asked))):
        return None
    with suppress(OSError):  # what was read last stays longest; somebody may have removed it meanwhile
        os.utime(path)
    return found


def write(library: Library, asked: Request, rows: "pa.Table") -> None:
    """Keeps the rows of a request, where they are not too many and the settings leave room for any."""
    path, most = where(library, asked), config.load().answers_mb * 1_000_000
    if path is None or rows.nbytes > 16 * MOST_BYTES:
        return
    encoded = _encoded(rows)
    if len(encoded) > min(MOST_BYTES, most):
        return
    with suppress(OSError):  # a full disk, a library that is read only: it is worked out again
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, encoded)
        library.derived.make_room(len(encoded), most)


def where(library: Library, asked: Request) -> Path | None:
    """The file for the answer of a request; None where there is no such report."""
    _, *key = asked.key(library)  # a library may be moved
    if not all(_ID.fullmatch(one) and library.path(one).exists() for one in _reports(asked)):
        return None
    text = repr((code(), key))
    name = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:40]
    return library.derived.answers / asked.report_id / f"{name}.answer"


@cache
def code() -> str:
    """What changes with the code that makes answers, with the schema and with DuckDB."""
    digest = hashlib.sha256(f"{SCHEMA_VERSION} {duckdb.__version__}".encode())
    package = resources.files("profiledb")
    for folder in _CODE:
        for name, content in sorted(_texts(package.joinpath(folder), folder)):
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _texts(folder: Traversable, name: str) -> list[tuple[str, bytes]]:
    """The files that are code, by their paths: the SQL of views and analyses only where no request names it."""
    found = []
    for one in folder.iterdir():
        path = f"{name}/{one.name}"
        if one.is_dir():
            found += _texts(one, path)
        elif one.name.endswith((".py", ".toml")) or (one.name.endswith(".sql") and not _NAMED.fullmatch(path)):
            found.append((path, one.read_bytes()))
    return found


_NAMED = re.compile(r"analyses/\w+/(views/)?\w+\.sql|selection/selected\.sql|report/sidecar\.sql")
"""SQL that ``request.fingerprint`` covers."""


def _reports(asked: Request) -> list[str]:
    return [one for one in (asked.report_id, asked.partner) if one]


def _encoded(rows: "pa.Table") -> bytes:
    import pyarrow as pa

    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(rows)
    content = out.getvalue().to_pybytes()
    return b"".join((_BEGINS, hashlib.sha256(content).digest(), content))


def _decoded(file: bytes) -> "pa.Table | None":
    import pyarrow as pa

    start = len(_BEGINS) + 32
    if not file.startswith(_BEGINS) or hashlib.sha256(file[start:]).digest() != file[len(_BEGINS) : start]:
        return None
    try:
        with pa.ipc.open_stream(file[start:]) as reader:
            return reader.read_all()
    except pa.ArrowInvalid:
        return None


def put(path: Path, content: bytes) -> None:
    """Writes a file that is there whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as part:
        try:
            part.write(content)
            part.close()
            Path(part.name).replace(path)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise

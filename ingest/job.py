"""One conversion, as a process of its own: ``python -m ingest.job SOURCE WORK LIBRARY``.

It tells the worker how far it is, a JSON object a line on standard output, and ends with a line that holds the
outcome. It changes nothing outside the folder WORK, so that killing it at any moment leaves nothing behind.
"""

import hashlib
import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from ingest import enrich
from ingest.formats import detect
from ingest.state import look
from profiledb import config, schema, store, stored
from profiledb.catalog import Manifest
from profiledb.errors import ConversionError, WarpdeckError
from profiledb.library import Library

DATABASE = "report.duckdb"
HASH_FIRST_S = 0.05
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Outcome:
    """How a conversion ended: state is ready, duplicate, failed, gone or changed; the texts are those of the error."""

    state: str
    report_id: str | None = None
    manifest: str = ""
    message: str = ""
    hint: str = ""
    detail: str = ""


def main(argv: list[str]) -> int:
    """Converts one file and prints the outcome; the exit status is 0 whenever there is one."""
    source, work, folder = (Path(argument) for argument in argv)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_die_with_worker, daemon=True).start()
    print(json.dumps(asdict(convert(source, work, Library(folder)))), flush=True)
    return 0


def convert(source: Path, work: Path, library: Library) -> Outcome:
    """Makes the database ``WORK/report.duckdb`` from a source, or says why not."""
    try:
        return _convert(source, work, library)
    except FileNotFoundError as error:
        if source.exists():
            return Outcome("failed", message="A file went missing during the conversion.", detail=str(error))
        return Outcome("gone", message=f"{source.name} was removed before it was read.")
    except PermissionError as error:
        message, hint = f"{source.name} may not be read.", "Give the worker read permission; it is then tried again."
        return Outcome("failed", message=message, hint=hint, detail=str(error))
    except WarpdeckError as error:
        return Outcome("failed", message=error.message, hint=error.hint, detail=error.detail)
    except (OSError, duckdb.Error) as error:
        return _unexpected(source, error)


def _convert(source: Path, work: Path, library: Library) -> Outcome:
    started = time.monotonic()
    before = look(source)
    if before is None:
        raise FileNotFoundError(source)
    with ThreadPoolExecutor(1) as pool:
        # A small file is known by its hash before anything is converted; a large one is hashed meanwhile.
        hashing = pool.submit(fingerprint, source)
        wait([hashing], timeout=HASH_FIRST_S)
        if hashing.done() and (known := _known(hashing.result(), library)):
            return known
        manifest = _build(source, work, hashing, before[0])
    if known := _known(manifest["source_sha256"], library):
        return known
    if look(source) != before:
        return Outcome("changed", message=f"{source.name} changed while it was read.")
    seconds = round(time.monotonic() - started, 3)
    return Outcome("ready", manifest["id"], Manifest(**(manifest | {"seconds": seconds})).to_json())


def _known(sha256: str, library: Library) -> Outcome | None:
    report_id = sha256[:16]
    return Outcome("duplicate", report_id) if library.path(report_id).exists() else None


def fingerprint(source: Path) -> str:
    """SHA-256 of a file, or of the names and contents of a folder's files; hexadecimal."""
    digest = hashlib.sha256()
    files = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
    for path in files:
        if source.is_dir():
            digest.update(path.name.encode() + b"\0")
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def _build(source: Path, work: Path, hashing: Future[str], size: int) -> dict[str, Any]:
    one = detect(source)
    _tell("converting")
    scratch = work / "scratch"
    scratch.mkdir()
    with store.create(work / DATABASE, memory_limit=config.load().memory_limit) as db:
        one.convert(source, db, scratch)
        _tell("finishing")
        enrich.classify(db)
        stored.write(db)
        name, sha256 = schema.quote(source.name), hashing.result()
        db.execute(f"UPDATE report SET name = {name}, source_sha256 = '{sha256}', source_bytes = {size}")
        return _manifest(db, sha256)


def _manifest(db: duckdb.DuckDBPyConnection, sha256: str) -> dict[str, Any]:
    counts = {name: schema.count_rows(db, name) for name in schema.tables()}
    data = {name: count for name, count in counts.items() if count}
    if not set(data) - {"report", "enum_value", "diagnostic", "string", "stored_result"}:
        raise ConversionError("The file was read, and there is nothing in it.", hint="Capture again.")
    columns = "name, kind, source_sha256, source_bytes, tool, tool_version, converter, duration_ns, command"
    (row,) = db.execute(f"SELECT {columns} FROM report").fetchall()
    (captured,) = db.execute("SELECT strftime(captured_at, '%Y-%m-%dT%H:%M:%S+00:00') FROM report").fetchone() or (
        None,
    )
    facts = dict(zip(columns.split(", "), row, strict=True))
    return facts | {
        "id": sha256[:16],
        "schema_version": schema.SCHEMA_VERSION,
        "captured_at": captured,
        "gpu": _gpus(db),
        "rows": data,
    }


def _gpus(db: duckdb.DuckDBPyConnection) -> str | None:
    """Names of the GPUs that did any work, or of those there are where none did; with a count where it is not one."""
    names = db.execute("""
        WITH used AS (
            SELECT name FROM gpu WHERE gpu_id IN (SELECT device_id FROM busy UNION SELECT device_id FROM ncu_launch)
        ), shown AS (SELECT name FROM used UNION ALL SELECT name FROM gpu WHERE NOT EXISTS (SELECT 1 FROM used))
        SELECT string_agg(CASE n WHEN 1 THEN name ELSE n || ' x ' || name END, ', ' ORDER BY name)
        FROM (SELECT name, count(*) AS n FROM shown WHERE name IS NOT NULL GROUP BY name)
    """).fetchone()
    return names[0] if names else None


def _unexpected(source: Path, error: Exception) -> Outcome:
    """An error that no format foresaw: still one sentence, with the details below it."""
    words = str(error)
    if "No space left" in words or "could not write" in words.lower():
        return Outcome("failed", message="The disk is full.", hint="Free some space; it is tried again.", detail=words)
    return Outcome(
        "failed",
        message=f"{source.name} could not be loaded.",
        hint="If the file opens in NVIDIA's viewer, please report this with the text below.",
        detail=words + "\n" + "".join(traceback.format_tb(error.__traceback__)[-3:]),
    )


def _die_with_worker() -> None:
    """Ends this process group when the worker is gone, so that no converter works on for nobody."""
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


def _tell(step: str) -> None:
    print(json.dumps({"step": step}), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

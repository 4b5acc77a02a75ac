"""Read dropped files in a process of its own: ``python -m ingest.conversion.job`` (a list of messages.Request as JSON).

The process reports its progress to the worker on standard output, one JSON object per line, and one line per outcome.
It changes nothing outside the folders of the requests, so it can be killed at any moment. All reading of a dropped file
happens here, under the limits of the request.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import duckdb

from ingest import format_detection, tools
from ingest.conversion import file_kind, prepared_files, processes, sandbox, schema_upgrade
from ingest.conversion.failures import describe_error
from ingest.conversion.messages import DATABASE, PREVIEW, SIDECAR, Outcome, Request
from ingest.derive import classes, preview
from ingest.file_state import hash_contents, list_parts
from profiledb import config, priority
from profiledb.errors import ConversionError
from profiledb.library import manifest_rebuild
from profiledb.library.catalog import Manifest
from profiledb.library.inbox.file_stamp import read_state
from profiledb.library.report_folder import get_report_path
from profiledb.report import damage, schema, store
from profiledb.report.preview import is_preview

HASH_FIRST_S = 0.05
"""Seconds to wait for a file's hash before converting it: the hash of a small file can tell a duplicate first."""
_output = threading.Lock()
"""Guards standard output. ``_die_with_worker`` takes it for good, so that the main thread cannot print and end."""
_NEVER_EMPTY = {"report", "enum_value", "diagnostic", "string", "stored_result"}
"""Tables that have rows even if the capture has none."""


def main() -> int:
    """Serve requests and print the outcome of each; return 0 once all have one, 1 if nobody reads them any more."""
    _reserve_output()
    requests = [Request.from_dict(fields) for fields in json.loads(sys.stdin.buffer.readline())]
    processes.adopt()
    priority.step_back(priority.CONVERSION)
    requests[0].limits.apply()
    sys.meta_path.insert(0, _WithoutPandas())
    sandbox.close(requests[0].work if len(requests) == 1 else requests[0].work.parent)
    threading.Thread(target=_die_with_worker, daemon=True).start()
    try:
        for request in requests:
            _print_message(asdict(serve(request)))
    except BrokenPipeError:  # the worker is gone
        processes.end_adopted()
        return 1
    return 0


class _WithoutPandas:
    """Refuses to import pandas, which no reader uses: DuckDB and pyarrow would import it if it is there, for 0.3 s, to
    recognize its missing values and its tables."""

    def find_spec(self, name: str, *_: object) -> None:
        """Raise an error for pandas; leave every other module to the usual finders."""
        if name == "pandas":
            raise ModuleNotFoundError(f"{name} is not for conversions.", name=name)


def serve(request: Request) -> Outcome:
    """Write ``WORK/report.duckdb`` from a source, or the text of a sidecar, and return the outcome, also of errors."""
    try:
        return _TASKS[request.task](request)
    except Exception as error:  # noqa: BLE001 - whatever a hostile file causes is the outcome of that file
        return describe_error(error, request)


def _check_companion(request: Request) -> Outcome:
    return Outcome("companion" if file_kind.is_companion(request.source) else "report")


def _read_sidecar(request: Request) -> Outcome:
    sidecar = file_kind.read_sidecar(request)
    if sidecar is None:
        return Outcome("report")
    (request.work / SIDECAR).write_text(sidecar.text, encoding="utf-8", newline="")
    return Outcome("sidecar", kind=sidecar.kind, message=sidecar.note)


def _convert_file(request: Request) -> Outcome:
    started = time.monotonic()
    source = request.source
    before = read_state(source)
    if before is None:
        raise FileNotFoundError(source)
    with ThreadPoolExecutor(1) as pool:
        # Hash a small file before converting it; a large one is hashed meanwhile.
        hashing = pool.submit(hash_contents, source)
        wait([hashing], timeout=HASH_FIRST_S)
        if hashing.done() and (duplicate := _find_duplicate(hashing.result(), request.library)):
            return duplicate
        manifest = _build_report(request, hashing, before[0])
    if duplicate := _find_duplicate(manifest.source_sha256, request.library):
        return duplicate
    if read_state(source) != before:
        return Outcome("changed", message=f"{source.name} changed while it was read.")
    manifest = replace(manifest, seconds=round(time.monotonic() - started, 3))
    return Outcome("ready", manifest.id, manifest.to_json())


_TASKS = {
    "convert": _convert_file,
    "companion": _check_companion,
    "sidecar": _read_sidecar,
    "upgrade": schema_upgrade.upgrade,
}


def _find_duplicate(sha256: str, library: Path) -> Outcome | None:
    report_id = sha256[:16]
    path = get_report_path(library, report_id)
    if not path.exists() or not damage.can_open(path) or is_preview(path):
        return None
    return Outcome("duplicate", report_id)


def _build_report(request: Request, hashing: Future[str], size: int) -> Manifest:
    source = request.source
    reader = format_detection.detect(source)
    _report_step("converting")
    scratch = request.work / "scratch"
    scratch.mkdir()
    if not reader.runs_tools:
        sandbox.close_reads(request)
    with store.create(
        request.work / DATABASE,
        config.load().memory_limit,
        reader.access(source),
        prepared_files.list_ready(),
        request.limits.threads,
    ) as db:
        with preview.offer(_offer_preview(request, hashing, size)):
            reader.convert(source, db, scratch)
        _report_step("finishing")
        classes.classify_kernels(db)
        _name_report(db, source, hashing.result(), size)
        manifest = manifest_rebuild.read_manifest(db)
    if manifest is None or not manifest.rows.keys() - _NEVER_EMPTY:
        raise ConversionError("The file was read but has no data.", hint="Capture again.")
    return replace(manifest, parts=list_parts(source))


def _name_report(db: duckdb.DuckDBPyConnection, source: Path, sha256: str, size: int) -> None:
    name = schema.quote(source.name)
    db.execute(f"UPDATE report SET name = {name}, source_sha256 = '{sha256}', source_bytes = {size}")


def _offer_preview(request: Request, hashing: Future[str], size: int) -> preview.Offer | None:
    """Return where a preview goes and how the worker hears of it; None if it wants none."""
    before = read_state(request.source)

    def publish(db: duckdb.DuckDBPyConnection) -> Callable[[], None] | None:
        _name_report(db, request.source, hashing.result(), size)
        manifest = manifest_rebuild.read_preview(db)
        if manifest is None or _find_duplicate(manifest.source_sha256, request.library):
            return None
        return lambda: _announce_preview(request, replace(manifest, parts=list_parts(request.source)), before)

    return preview.Offer(request.work / PREVIEW, publish) if request.preview else None


def _announce_preview(request: Request, manifest: Manifest, before: object) -> None:
    if read_state(request.source) == before:
        _print_message({"preview": manifest.to_json()})


def _reserve_output() -> None:
    """Leave standard output to messages: the text of libraries, such as DuckDB's progress bar, goes to standard error.

    DuckDB draws the bar after two seconds of a query if the program looks interactive, as ``python -c`` does.
    """
    sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)


def _die_with_worker() -> None:
    """End this process and its children when the worker is gone, so that no converter runs without one."""
    while os.read(0, 4096):
        pass
    _output.acquire()  # for good: a main thread whose converter was killed would end this process before its children
    tools.stop_starting()  # it would start the next converter, whose children could outlive this process
    processes.end_adopted()
    processes.end_group(os.getpgrp())


def _report_step(step: str) -> None:
    """Print the conversion's progress."""
    _print_message({"step": step})


def _print_message(message: dict[str, Any]) -> None:
    with _output:
        print(json.dumps(message), flush=True)


if __name__ == "__main__":
    sys.exit(main())

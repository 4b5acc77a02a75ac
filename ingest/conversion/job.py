"""Reads dropped files, a process of its own: ``python -m ingest.conversion.job`` (child.Request, a list as JSON).

It tells the worker how far it is, a JSON object a line on standard output, with a line for each outcome. It changes
nothing outside the folders of the requests, so that killing it at any moment leaves nothing behind. All that is read of
a dropped file is read here, under the limits of the request.
"""

import json
import os
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, replace
from pathlib import Path

from ingest.conversion import file_kind, prepared_files, processes, sandbox, schema_upgrade
from ingest.conversion.child import DATABASE, SIDECAR, Request
from ingest.conversion.outcome import Outcome, failed
from ingest.derive import classes
from ingest.file_state import contents, parts
from ingest.formats import detect
from profiledb import config, priority
from profiledb.errors import ConversionError
from profiledb.library import manifest_rebuild
from profiledb.library.catalog import Manifest
from profiledb.library.inbox.file_stamp import read_state
from profiledb.library.report_folder import report_path
from profiledb.query import precomputed_answers
from profiledb.report import damage, schema, store

HASH_FIRST_S = 0.05
_OF_ANY = {"report", "enum_value", "diagnostic", "string", "stored_result"}
"""Tables that have rows where a capture has none."""


def main() -> int:
    """Serves requests and prints the outcome of each; the exit status is 0 whenever there is one for all."""
    requests = [Request.from_dict(fields) for fields in json.loads(sys.stdin.buffer.readline())]
    processes.adopt()
    priority.step_back(priority.CONVERSION)
    requests[0].limits.apply()
    sandbox.close(requests[0].work if len(requests) == 1 else requests[0].work.parent)
    threading.Thread(target=_die_with_worker, daemon=True).start()
    for request in requests:
        print(json.dumps(asdict(serve(request))), flush=True)
    return 0


def serve(request: Request) -> Outcome:
    """Makes the database ``WORK/report.duckdb`` from a source, or the text of a sidecar, or says why not."""
    try:
        return _TASKS[request.task](request)
    except Exception as error:  # noqa: BLE001 - whatever a hostile file brings about is the outcome of that file
        return failed(error, request)


def _companion(request: Request) -> Outcome:
    return Outcome("companion" if file_kind.is_companion(request.source) else "report")


def _sidecar(request: Request) -> Outcome:
    table = file_kind.sidecar(request)
    if table is None:
        return Outcome("report")
    (request.work / SIDECAR).write_text(table.text, encoding="utf-8", newline="")
    return Outcome("sidecar", kind=table.kind, message=table.note)


def _convert(request: Request) -> Outcome:
    started = time.monotonic()
    source = request.source
    before = read_state(source)
    if before is None:
        raise FileNotFoundError(source)
    with ThreadPoolExecutor(1) as pool:
        # A small file is known by its hash before anything is converted; a large one is hashed meanwhile.
        hashing = pool.submit(contents, source)
        wait([hashing], timeout=HASH_FIRST_S)
        if hashing.done() and (duplicate := _known(hashing.result(), request.library)):
            return duplicate
        made = _build(request, hashing, before[0])
    if duplicate := _known(made.source_sha256, request.library):
        return duplicate
    if read_state(source) != before:
        return Outcome("changed", message=f"{source.name} changed while it was read.")
    made = replace(made, seconds=round(time.monotonic() - started, 3))
    return Outcome("ready", made.id, made.to_json())


_TASKS = {"convert": _convert, "companion": _companion, "sidecar": _sidecar, "upgrade": schema_upgrade.upgrade}


def _known(sha256: str, library: Path) -> Outcome | None:
    report_id = sha256[:16]
    path = report_path(library, report_id)
    return Outcome("duplicate", report_id) if path.exists() and damage.can_open(path) else None


def _build(request: Request, hashing: Future[str], size: int) -> Manifest:
    source = request.source
    reader = detect(source)
    _tell("converting")
    scratch = request.work / "scratch"
    scratch.mkdir()
    if not reader.RUNS_TOOLS:
        sandbox.close_reads(request)
    with store.create(
        request.work / DATABASE,
        config.load().memory_limit,
        reader.access(source),
        prepared_files.ready(),
        request.limits.threads,
    ) as db:
        reader.convert(source, db, scratch)
        _tell("finishing")
        classes.classify(db)
        precomputed_answers.write(db)
        name, sha256 = schema.quote(source.name), hashing.result()
        db.execute(f"UPDATE report SET name = {name}, source_sha256 = '{sha256}', source_bytes = {size}")
        made = manifest_rebuild.read_manifest(db)
    if made is None or not made.rows.keys() - _OF_ANY:
        raise ConversionError("The file was read but has no data.", hint="Capture again.")
    return replace(made, parts=parts(source))


def _die_with_worker() -> None:
    """Ends this process and all below it when the worker is gone, so that no converter works on for nobody."""
    while os.read(0, 4096):
        pass
    processes.end_adopted()
    processes.end_group(os.getpgrp())


def _tell(step: str) -> None:
    """Says how far the conversion is: one of a few words of ours."""
    print(json.dumps({"step": step}), flush=True)


if __name__ == "__main__":
    sys.exit(main())

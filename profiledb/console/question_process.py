"""Ask a question in SQL: start its process, enforce its limits, read its answer."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb.console.question_limits import LONGEST, PREFIX, Bounds
from profiledb.errors import AnalysisError, BusyError
from profiledb.library.library import Library
from profiledb.library.visitor import LOCAL, Visitor
from profiledb.monitoring import logs
from profiledb.report import sidecar
from profiledb.report.derived_files import SUMMARIES

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 2
"""Questions that a server runs at a time, with a login one per person; others wait."""
START_S = 20.0
"""Seconds for a process to start and to write; its own alarm (question_child.py) comes first."""
_FRAME = 1 << 20
"""Bytes of an answer in addition to its rows."""
_ROOT = Path(__file__).resolve().parents[2]
_COMMAND = (sys.executable, "-m", "profiledb.console.question_child")
_KEPT = ("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
"""Variables that a process inherits: they locate libraries."""
_OPENS = "PG"
"""Prefix of the variables that open a team's database, which is read before the question."""
_QUIET = {"OPENBLAS_NUM_THREADS": "1"}
"""Keeps numpy, which Arrow imports, from reserving memory for unneeded threads."""

_changed = threading.Condition()
_running: list[Visitor] = []
"""Visitors whose questions are running."""


@dataclass(frozen=True)
class Answer:
    """The rows of a question, and whether the limits cut some off."""

    rows: "pa.Table"
    cut: bool


def ask(library: Library, report_id: str, sql: str, bounds: Bounds) -> Answer:
    """Answer a SELECT on a report. May be called by threads.

    Raises:
        AnalysisError: the question is malformed, forbidden, or exceeds its limits.
        DamagedError: the file of the report is damaged.
        ReportNotFoundError: the report is gone.
    """
    if len(sql) > LONGEST:
        raise AnalysisError(f"A question has at most {LONGEST:,} characters.")
    with library.cursor(report_id):  # raises the error about its file that every page shows
        question = _encode_question(library, report_id, sql, bounds)
    library.catalog.audit.write_or_log("asked SQL", report_id, logs.remove_secrets(sql))
    with _wait_for_turn(library.catalog.visitor, bounds.seconds):
        header, rest = _run_process(question, bounds, _build_environment(library, sql))
    if "error" in header:
        raise AnalysisError(str(header["error"]), hint=str(header.get("hint", "")))
    return Answer(_parse_rows(rest), bool(header.get("cut")))


@contextmanager
def _wait_for_turn(person: Visitor, seconds: float) -> Iterator[None]:
    """Wait until a question may run. Raises BusyError after ``seconds``."""

    def is_free() -> bool:
        return len(_running) < AT_ONCE and (person == LOCAL or person not in _running)

    with _changed:
        if not _changed.wait_for(is_free, timeout=seconds):
            raise BusyError("Other questions are being answered.", again_s=5)
        _running.append(person)
    try:
        yield
    finally:
        with _changed:
            _running.remove(person)
            _changed.notify_all()


def _encode_question(library: Library, report_id: str, sql: str, bounds: Bounds) -> bytes:
    sidecars = {kind: sidecar.get_path(library.reports, report_id, kind) for kind in sidecar.SUFFIX}
    asked = bounds.plain() | {
        "database": str(library.path(report_id).resolve()),
        "sidecars": {kind: str(path.resolve()) for kind, path in sidecars.items() if path.exists()},
        "views": str(library.derived.views.resolve()),
        "summaries": _find_summaries(library) if _is_of_all(sql) else "",
        "seen": None if (seen := library.catalog.visibility.report_ids()) is None else sorted(seen),
        "sql": sql,
    }
    return json.dumps(asked).encode()


def _is_of_all(sql: str) -> bool:
    return PREFIX in sql.lower()


def _build_environment(library: Library, sql: str) -> dict[str, str]:
    opens = library.catalog.shared is not None and _is_of_all(sql)
    inherited = {
        name: value for name, value in os.environ.items() if name in _KEPT or (opens and name.startswith(_OPENS))
    }
    return _QUIET | inherited


def _find_summaries(library: Library) -> str:
    """Return the place of all summaries: a file, or a team's database, which is read before the question."""
    shared = library.catalog.shared
    return shared.url if shared else str((library.folder / SUMMARIES).resolve())


def _run_process(question: bytes, bounds: Bounds, environment: Mapping[str, str]) -> tuple[dict[str, Any], bytes]:
    """Run the process of a question; return its first line, and the rest of its output."""
    process = subprocess.Popen(
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env=environment,
        start_new_session=True,
    )
    late = threading.Event()
    timer = threading.Timer(bounds.seconds + START_S, _kill_process, (process, late))
    timer.start()
    assert process.stdin
    assert process.stdout
    try:
        with suppress(BrokenPipeError), process.stdin:
            process.stdin.write(question)
        written = process.stdout.read(bounds.bytes * 2 + _FRAME)
    finally:
        timer.cancel()
        _kill_process(process)
        process.stdout.close()
    line, _, rest = written.partition(b"\n")
    with suppress(ValueError):
        if not late.is_set() and isinstance(header := json.loads(line), dict):
            return header, rest
    if late.is_set() or process.returncode in (-signal.SIGALRM, -signal.SIGXCPU):
        raise AnalysisError(f"The question took more than {bounds.seconds:g} s.", hint="Narrow it.")
    raise AnalysisError(
        f"The question ended its process. It probably needs more than {bounds.memory_mb:,} MB of memory.",
        hint="Narrow it.",
    )


def _kill_process(process: "subprocess.Popen[bytes]", late: threading.Event | None = None) -> None:
    """Kill a process with everything that it started, and wait for it."""
    if late:
        late.set()
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _parse_rows(written: bytes) -> "pa.Table":
    """Parse the rows that a process wrote, checking them: it has read a stranger's SQL."""
    import pyarrow as pa

    from profiledb.console import portable_columns

    try:
        with pa.ipc.open_stream(written) as stream:
            rows = stream.read_all()
        rows.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise AnalysisError("The answer is too large or incomplete.", hint="Narrow the question.") from error
    return portable_columns.make_portable(rows)

"""Asks a question in SQL: starts its process, holds its limits, reads its answer."""

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
from profiledb.library.derived_files import SUMMARIES
from profiledb.library.library import Library
from profiledb.library.visitor import LOCAL, Visitor
from profiledb.monitoring import logs
from profiledb.report import sidecar

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 2
"""Questions that run at the same time in a server, each of another person where there is a login; others wait."""
START_S = 20.0
"""Seconds that a process may take to start and to write; its own alarm (question_child.py) comes first."""
_FRAME = 1 << 20
"""Bytes of an answer beside its rows."""
_ROOT = Path(__file__).resolve().parents[2]
_COMMAND = (sys.executable, "-m", "profiledb.console.question_child")
_KEPT = ("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
"""What a process has of our environment: where libraries lie."""
_OPENS = "PG"
"""How the names begin of what a team's database is opened with; it is read before the question is."""
_QUIET = {"OPENBLAS_NUM_THREADS": "1"}
"""Else numpy, which Arrow brings, reserves memory for threads that nobody needs."""

_changed = threading.Condition()
_running: list[Visitor] = []
"""Who asked the questions that run."""


@dataclass(frozen=True)
class Answer:
    """The rows of a question, and whether there are more than its bounds let through."""

    rows: "pa.Table"
    cut: bool


def ask(library: Library, report_id: str, sql: str, bounds: Bounds) -> Answer:
    """The answer of a report to one SELECT. May be called by threads.

    Raises:
        AnalysisError: the question cannot be understood, is not allowed, or takes more than its bounds.
        DamagedError: the file of the report is damaged.
        ReportNotFoundError: the report is gone.
    """
    if len(sql) > LONGEST:
        raise AnalysisError(f"A question has at most {LONGEST:,} characters.")
    with library.cursor(report_id):  # says what is wrong with its file in the words of every page
        question = _question(library, report_id, sql, bounds)
    library.catalog.audit.tell("asked SQL", report_id, logs.without_secrets(sql))
    with _turn(library.catalog.visitor, bounds.seconds):
        said, rest = _run(question, bounds, _environment(library, sql))
    if "error" in said:
        raise AnalysisError(str(said["error"]), hint=str(said.get("hint", "")))
    return Answer(_rows(rest), bool(said.get("cut")))


@contextmanager
def _turn(person: Visitor, seconds: float) -> Iterator[None]:
    """Waits until a question may run. Raises BusyError after so long."""

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


def _question(library: Library, report_id: str, sql: str, bounds: Bounds) -> bytes:
    beside = {kind: sidecar.path(library.reports, report_id, kind) for kind in sidecar.SUFFIX}
    asked = bounds.plain() | {
        "database": str(library.path(report_id).resolve()),
        "sidecars": {kind: str(path.resolve()) for kind, path in beside.items() if path.exists()},
        "summaries": _summaries(library) if _is_of_all(sql) else "",
        "seen": None if (seen := library.catalog.sight.reports()) is None else sorted(seen),
        "sql": sql,
    }
    return json.dumps(asked).encode()


def _is_of_all(sql: str) -> bool:
    return PREFIX in sql.lower()


def _environment(library: Library, sql: str) -> dict[str, str]:
    opens = library.catalog.shared is not None and _is_of_all(sql)
    kept = {name: said for name, said in os.environ.items() if name in _KEPT or (opens and name.startswith(_OPENS))}
    return _QUIET | kept


def _summaries(library: Library) -> str:
    """Where the summaries of all reports are: a file, or a team's database, which is read before the question is."""
    shared = library.catalog.shared
    return shared.url if shared else str((library.folder / SUMMARIES).resolve())


def _run(question: bytes, bounds: Bounds, environment: Mapping[str, str]) -> tuple[dict[str, Any], bytes]:
    """What the process of a question wrote: its first line, and what follows."""
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
    timer = threading.Timer(bounds.seconds + START_S, _end, (process, late))
    timer.start()
    assert process.stdin
    assert process.stdout
    try:
        with suppress(BrokenPipeError), process.stdin:
            process.stdin.write(question)
        written = process.stdout.read(bounds.bytes * 2 + _FRAME)
    finally:
        timer.cancel()
        _end(process)
        process.stdout.close()
    line, _, rest = written.partition(b"\n")
    with suppress(ValueError):
        if not late.is_set() and isinstance(said := json.loads(line), dict):
            return said, rest
    if late.is_set() or process.returncode in (-signal.SIGALRM, -signal.SIGXCPU):
        raise AnalysisError(f"The question took more than {bounds.seconds:g} s.", hint="Narrow it.")
    raise AnalysisError(
        f"The question ended its process. It probably needs more than {bounds.memory_mb:,} MB of memory.",
        hint="Narrow it.",
    )


def _end(process: "subprocess.Popen[bytes]", late: threading.Event | None = None) -> None:
    """Kills a process and all that it started, and waits for it."""
    if late:
        late.set()
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _rows(written: bytes) -> "pa.Table":
    """The rows that a process wrote; it has read a stranger's words, so what it says is checked."""
    import pyarrow as pa

    from profiledb.console import portable_columns

    try:
        with pa.ipc.open_stream(written) as stream:
            rows = stream.read_all()
        rows.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise AnalysisError("The answer is too large, or broke off.", hint="Narrow the question.") from error
    return portable_columns.table(rows)

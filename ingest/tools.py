"""Find nsys and ncu and run them. Only this module of the product starts other programs."""

import errno
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ingest import process_endings, scrub
from ingest.bounded_output import Tail
from ingest.watchdog import Watchdog
from profiledb import config
from profiledb.errors import ConversionError

NSYS_PLACES = (
    "/opt/nvidia/nsight-systems/*/bin/nsys",
    "/opt/nvidia/nsight-systems/*/target-linux-*/nsys",
    "/opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",
    "/usr/local/cuda*/bin/nsys",
    "/opt/nsight/bin/nsys",
)
NCU_PLACES = (
    "/opt/nvidia/nsight-compute/*/ncu",
    "/usr/local/cuda*/bin/ncu",
    "/opt/nsight/bin/ncu",
)
IMPORTER = "QdstrmImporter"
"""Program that converts raw capture data to reports; part of the host installation of Nsight Systems."""
IMPORTER_PLACES = (
    f"/opt/nvidia/nsight-systems/*/host-linux-*/{IMPORTER}",
    f"/opt/nvidia/nsight-compute/*/host/linux-desktop-*/{IMPORTER}",
    f"/usr/lib/nsight-systems/host-linux-*/{IMPORTER}",
    f"/usr/lib/*/nsight-systems/host-linux-*/{IMPORTER}",
    f"/usr/local/cuda*/nsight-systems-*/host-linux-*/{IMPORTER}",
)
_BESIDE = (f"host-linux-*/{IMPORTER}", f"root/usr/lib/nsight-systems/host-linux-*/{IMPORTER}")
"""Places of the importer below the folders around nsys."""
ANSWER_S = 30.0
"""Seconds, of processor time or without progress, in which a tool must print its version or options."""
ASKED_AGAIN_S = 300.0
"""A tool that did not answer is asked again after this many seconds: the machine may have been short of memory."""
_TOO_LONG = (-signal.SIGXFSZ, 128 + signal.SIGXFSZ)
"""Exit statuses of a program, and of a shell around it, that exceeded RLIMIT_FSIZE."""
_starting = threading.Lock()
"""Held while a program starts."""
_VERSION = re.compile(r"(\d{4})\.(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True)
class Tool:
    """A profiler's command-line program that answered ``--version``."""

    name: str
    path: Path
    version: tuple[int, ...]

    @property
    def label(self) -> str:
        """Return name and version, for example ``nsys 2023.4.4``."""
        return f"{self.name} {'.'.join(map(str, self.version[:3]))}"


@dataclass(frozen=True)
class Completed:
    """Exit status and output of a program; ``stdout`` is empty if it went to a file."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Return the end of all output without secrets, for an error report."""
        return scrub.scrub_output(self.stderr + self.stdout)


def run(
    argv: Sequence[str | Path], *, timeout: float | None = None, stdout: Path | None = None, cwd: Path | None = None
) -> Completed:
    """Run a program to its end, and store the start and the end of its output.

    The worker watches each conversion and ends it with its children, so a converter needs no limit here.

    Args:
        argv: program and arguments; no shell is involved.
        timeout: seconds of processor time, or without progress, after which the program is killed.
        stdout: file that receives the whole standard output.
        cwd: folder to run in.

    Raises:
        ConversionError: the program could not be started.
        EndedError: it was killed, crashed, got no memory or exceeded its time.
        OSError: it exceeded the file size limit.
    """
    name, oom_kills_before = Path(argv[0]).name, process_endings.count_oom_kills()
    subject = " ".join([name, *map(str, argv[1:2])])
    with stdout.open("wb") if stdout else nullcontext(subprocess.PIPE) as target:
        try:
            with _starting:
                process = subprocess.Popen(
                    [str(a) for a in argv],
                    stdin=subprocess.DEVNULL,
                    stdout=target,
                    stderr=subprocess.PIPE,
                    cwd=cwd,
                    env=_build_plain_environment(),
                )
        except OSError as error:
            raise ConversionError(f"{name} could not be started.", detail=str(error)) from error
    tails = [Tail(pipe) if pipe else None for pipe in (process.stdout, process.stderr)]
    watchdog = Watchdog(process.pid, timeout, timeout, process.kill) if timeout else None
    try:
        with watchdog or nullcontext():
            process.wait()  # without a timeout this process sleeps, and does not look busy
    finally:
        process.kill()
        process.wait()
    out, errors = (tail.text() if tail else "" for tail in tails)
    done = Completed(process.returncode, out, errors)
    if watchdog and watchdog.verdict:
        raise watchdog.make_error(subject, done.output)
    if done.returncode in _TOO_LONG:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
    if ending := process_endings.find_ending(subject, done.returncode, errors + out, oom_kills_before, done.output):
        raise ending
    return done


def stop_starting() -> None:
    """Let no thread of this process start a program any more: it waits until the process ends."""
    _starting.acquire()


@cache
def has_option(tool: Tool, command: str, option: str) -> bool:
    """Return True if the help of a tool's command lists an option; the tool refuses unknown ones."""
    return option in run([tool.path, command, "--help"], timeout=ANSWER_S).stdout


def find_nsys() -> Tool | None:
    """Return the newest nsys of this machine; WARPDECK_NSYS overrides the search."""
    return _find_tool("nsys", config.load().nsys, NSYS_PLACES)


def find_ncu() -> Tool | None:
    """Return the newest ncu of this machine; WARPDECK_NCU overrides the search."""
    return _find_tool("ncu", config.load().ncu, NCU_PLACES)


def find_importers() -> list[Tool]:
    """Return the importers of raw capture data beside nsys and, unless a setting names an nsys, of the machine."""
    setting = config.load().nsys
    if setting.lower() in ("off", "none"):
        return []
    programs = [Path(setting)] if setting else _list_candidates("nsys", NSYS_PLACES)
    folders = [folder for path in programs for folder in path.resolve().parents[:3] if len(folder.parts) > 1]
    beside = [path for folder in folders for pattern in _BESIDE for path in sorted(folder.glob(pattern))]
    places = [] if setting else _list_candidates(IMPORTER, IMPORTER_PLACES)
    probed = [_probe_program(IMPORTER, path, _read_modified_at(path)) for path in dict.fromkeys([*beside, *places])]
    return [tool for tool in probed if tool]


def _find_tool(name: str, setting: str, places: tuple[str, ...]) -> Tool | None:
    if setting.lower() in ("off", "none"):
        return None
    candidates = [Path(setting)] if setting else _list_candidates(name, places)
    tools = [tool for path in candidates if (tool := _probe_program(name, path, _read_modified_at(path)))]
    return max(tools, key=lambda tool: tool.version, default=None)


def _list_candidates(name: str, places: tuple[str, ...]) -> list[Path]:
    return list(dict.fromkeys(_glob_places(name, places)))


def _glob_places(name: str, places: tuple[str, ...]) -> Iterator[Path]:
    if on_path := shutil.which(name):
        yield Path(on_path)
    for place in places:
        yield from Path("/").glob(place.lstrip("/"))


def _read_modified_at(path: Path) -> int:
    """Return a time that changes when the program is replaced, so that the version is asked again after an upgrade."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


_probed: dict[tuple[str, Path, int], tuple[float, Tool | ConversionError]] = {}
"""Answers of programs with their times; for programs that did not answer, the reason."""


def _probe_program(name: str, path: Path, stamp: int) -> Tool | None:
    """Ask a program for its version; return None if it does not answer as ``name`` does."""
    if not stamp or not os.access(path, os.X_OK):
        return None
    key = (name, path, stamp)
    asked_at, answer = _probed.get(key, (0.0, None))
    if answer is None or (isinstance(answer, ConversionError) and time.monotonic() - asked_at > ASKED_AGAIN_S):
        answer = _ask_version(name, path)
        _probed[key] = (time.monotonic(), answer)
    return answer if isinstance(answer, Tool) else None


def _ask_version(name: str, path: Path) -> Tool | ConversionError:
    hint = f"Run {path} --version on the worker's machine to see why, or name another {name} in the settings."
    try:
        answer = run([path, "--version"], timeout=ANSWER_S)
    except ConversionError as error:
        return ConversionError(error.message, hint=hint, detail=error.detail)
    version = _VERSION.search(answer.stdout)
    if version is None:
        return ConversionError(f"{name} does not say its version.", hint=hint, detail=answer.output)
    return Tool(name, path, tuple(int(part) for part in version.groups() if part))


def explain_absence(name: str, otherwise: ConversionError) -> ConversionError:
    """Return why this machine lacks a tool: an installed one may not answer.

    Args:
        name: name of the tool.
        otherwise: the error if none is installed.
    """
    reasons = (answer for (tool_name, _, _), (_, answer) in _probed.items() if tool_name == name)
    return next((reason for reason in reasons if isinstance(reason, ConversionError)), otherwise)


def _build_plain_environment() -> dict[str, str]:
    """Return an environment that keeps the tools' output in English and independent of the user's settings."""
    keep = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH") if key in os.environ}
    return keep | {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def list_converter_labels() -> str:
    """Return the labels of the available converters; a failed report is tried again when they change."""
    return ", ".join(tool.label for tool in (find_nsys(), find_ncu()) if tool) or "no converter"

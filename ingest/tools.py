"""Finds nsys and ncu and runs them: the only place of the product that starts another program."""

import errno
import os
import re
import shutil
import signal
import subprocess
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
"""What makes reports of raw capture data; it comes with the host part of Nsight Systems."""
IMPORTER_PLACES = (
    f"/opt/nvidia/nsight-systems/*/host-linux-*/{IMPORTER}",
    f"/opt/nvidia/nsight-compute/*/host/linux-desktop-*/{IMPORTER}",
    f"/usr/lib/nsight-systems/host-linux-*/{IMPORTER}",
    f"/usr/lib/*/nsight-systems/host-linux-*/{IMPORTER}",
    f"/usr/local/cuda*/nsight-systems-*/host-linux-*/{IMPORTER}",
)
_BESIDE = (f"host-linux-*/{IMPORTER}", f"root/usr/lib/nsight-systems/host-linux-*/{IMPORTER}")
"""Where it lies below a folder around nsys."""
ANSWER_S = 30.0
"""Seconds, of processor time or without any progress, in which a tool has to say its version or its options."""
ASKED_AGAIN_S = 300.0
"""A tool that did not answer is asked again after so long: the machine may have been short of memory."""
_TOO_LONG = (-signal.SIGXFSZ, 128 + signal.SIGXFSZ)
"""Exit statuses of a program, and of a shell around it, that wrote more than RLIMIT_FSIZE."""
_VERSION = re.compile(r"(\d{4})\.(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True)
class Tool:
    """A profiler's command-line program that answered to ``--version``."""

    name: str
    path: Path
    version: tuple[int, ...]

    @property
    def label(self) -> str:
        """Name and version as people write them, for example ``nsys 2023.4.4``."""
        return f"{self.name} {'.'.join(map(str, self.version[:3]))}"


@dataclass(frozen=True)
class Completed:
    """What a program left behind: exit status, and what it printed (``stdout`` is empty where it went to a file)."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def words(self) -> str:
        """Everything printed, for an error report: the last of it, without what may be secret."""
        return scrub.words(self.stderr + self.stdout)


def run(
    argv: Sequence[str | Path], *, timeout: float | None = None, stdout: Path | None = None, cwd: Path | None = None
) -> Completed:
    """Runs a program to its end and keeps what it printed: of a lot, the beginning and the end.

    The worker watches each conversion and ends it with all below it, so a converter needs no limit here.

    Args:
        argv: program and arguments; no shell is involved.
        timeout: seconds of processor time, or without any progress, after which the program is killed.
        stdout: a file that takes standard output as a whole.
        cwd: folder to run in.

    Raises:
        ConversionError: the program could not be started.
        EndedError: it was killed, crashed, got no memory or ran past its time.
        OSError: it wrote a longer file than it may.
    """
    name, ooms = Path(argv[0]).name, process_endings.oom_kills()
    who = " ".join([name, *map(str, argv[1:2])])
    with stdout.open("wb") if stdout else nullcontext(subprocess.PIPE) as target:
        try:
            process = subprocess.Popen(
                [str(a) for a in argv],
                stdin=subprocess.DEVNULL,
                stdout=target,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=_environment(),
            )
        except OSError as error:
            raise ConversionError(f"{name} could not be started.", detail=str(error)) from error
    printed = [Tail(pipe) if pipe else None for pipe in (process.stdout, process.stderr)]
    watched = Watchdog(process.pid, timeout, timeout, process.kill) if timeout else None
    try:
        with watched or nullcontext():
            process.wait()  # without a limit: this process sleeps, and does not look like one that works
    finally:
        process.kill()
        process.wait()
    out, errors = (pipe.text() if pipe else "" for pipe in printed)
    done = Completed(process.returncode, out, errors)
    if watched and watched.verdict:
        raise watched.error(who, done.words)
    if done.returncode in _TOO_LONG:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
    if ended := process_endings.of(who, done.returncode, errors + out, ooms, done.words):
        raise ended
    return done


@cache
def knows(tool: Tool, command: str, option: str) -> bool:
    """Whether a command of a tool has an option, as its help tells; it refuses what it does not know."""
    return option in run([tool.path, command, "--help"], timeout=ANSWER_S).stdout


def find_nsys() -> Tool | None:
    """The newest nsys of this machine; the setting WARPDECK_NSYS decides alone where it is set."""
    return _find("nsys", config.load().nsys, NSYS_PLACES)


def find_ncu() -> Tool | None:
    """The newest ncu of this machine; the setting WARPDECK_NCU decides alone where it is set."""
    return _find("ncu", config.load().ncu, NCU_PLACES)


def find_importers() -> list[Tool]:
    """The importers of raw capture data: beside nsys, and where no setting names an nsys, those of the machine."""
    setting = config.load().nsys
    if setting.lower() in ("off", "none"):
        return []
    programs = [Path(setting)] if setting else _candidates("nsys", NSYS_PLACES)
    folders = [folder for path in programs for folder in path.resolve().parents[:3] if len(folder.parts) > 1]
    found = [path for folder in folders for pattern in _BESIDE for path in sorted(folder.glob(pattern))]
    places = [] if setting else _candidates(IMPORTER, IMPORTER_PLACES)
    probed = [_probe(IMPORTER, path, _stamp(path)) for path in dict.fromkeys([*found, *places])]
    return [tool for tool in probed if tool]


def _find(name: str, setting: str, places: tuple[str, ...]) -> Tool | None:
    if setting.lower() in ("off", "none"):
        return None
    candidates = [Path(setting)] if setting else _candidates(name, places)
    tools = [tool for path in candidates if (tool := _probe(name, path, _stamp(path)))]
    return max(tools, key=lambda tool: tool.version, default=None)


def _candidates(name: str, places: tuple[str, ...]) -> list[Path]:
    return list(dict.fromkeys(_expand(name, places)))


def _expand(name: str, places: tuple[str, ...]) -> Iterator[Path]:
    if on_path := shutil.which(name):
        yield Path(on_path)
    for place in places:
        yield from Path("/").glob(place.lstrip("/"))


def _stamp(path: Path) -> int:
    """Changes when the program is replaced, so that a found version is not remembered past an upgrade."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


_probed: dict[tuple[str, Path, int], tuple[float, Tool | ConversionError]] = {}
"""What programs answered, and when; those that did not answer, with the reason."""


def _probe(name: str, path: Path, stamp: int) -> Tool | None:
    """Asks a program for its version; None where it does not answer as ``name`` does."""
    if not stamp or not os.access(path, os.X_OK):
        return None
    key = (name, path, stamp)
    asked_at, answer = _probed.get(key, (0.0, None))
    if answer is None or (isinstance(answer, ConversionError) and time.monotonic() - asked_at > ASKED_AGAIN_S):
        answer = _ask(name, path)
        _probed[key] = (time.monotonic(), answer)
    return answer if isinstance(answer, Tool) else None


def _ask(name: str, path: Path) -> Tool | ConversionError:
    hint = f"Run {path} --version on the worker's machine to see why, or name another {name} in the settings."
    try:
        answer = run([path, "--version"], timeout=ANSWER_S)
    except ConversionError as error:
        return ConversionError(error.message, hint=hint, detail=error.detail)
    version = _VERSION.search(answer.stdout)
    if version is None:
        return ConversionError(f"{name} does not say its version.", hint=hint, detail=answer.words)
    return Tool(name, path, tuple(int(part) for part in version.groups() if part))


def absent(name: str, otherwise: ConversionError) -> ConversionError:
    """Why this machine has no such tool: one that is there may not answer.

    Args:
        name: of the tool.
        otherwise: the error where there is none.
    """
    reasons = (answer for (asked, _, _), (_, answer) in _probed.items() if asked == name)
    return next((reason for reason in reasons if isinstance(reason, ConversionError)), otherwise)


def _environment() -> dict[str, str]:
    """A plain environment: the tools' words must be English and must not depend on the user's settings."""
    keep = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH") if key in os.environ}
    return keep | {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def labels() -> str:
    """The converters at hand: a report that failed is tried again when they change."""
    return ", ".join(tool.label for tool in (find_nsys(), find_ncu()) if tool) or "no converter"

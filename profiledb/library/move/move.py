"""Takes a folder library into another one, wherever that is kept: its files, then what its catalog says.

The source is only read. What is there already is left, so that whoever was stopped runs it again. A report counts in
the target from its row on, which comes last, together with its labels and all else.
"""

import fcntl
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from profiledb.errors import ConfigError
from profiledb.library import library_id, version
from profiledb.library.catalog import FILE
from profiledb.library.derived_files import is_timeline
from profiledb.library.library import Library
from profiledb.library.move import rows, snapshot
from profiledb.report import damage

LOCK = "worker.lock"
_LEFT = (".damaged", ".part")


@dataclass
class Moved:
    """How far a move is: reports of all, files that were new and their bytes, rows, and reports that stay behind."""

    reports: int = 0
    of: int = 0
    files: int = 0
    bytes: int = 0
    rows: int = 0
    damaged: tuple[str, ...] = ()


def move(source: Path, library: Library, told: Callable[[Moved], None] = lambda _: None) -> Moved:
    """Moves a library in.

    Args:
        source: the folder of a library, or of a copy that ``backup`` made.
        library: the target.
        told: called after each report.

    Raises:
        ConfigError: there is no library; a later version of Warpdeck has changed it; a worker has it; the target's
            catalog is that of another library, or has other content that stands against it, and nothing was changed
            there.
        CatalogError, StorageError, DamagedError, OSError: something cannot be read or written now.
    """
    if not (source / FILE).is_file():
        raise ConfigError(f"{source} is no folder of a library.")
    if source.resolve() == library.folder.resolve():
        raise ConfigError(f"{source} is the library that the settings name.", hint="Name another one to move it to.")
    version.require(source)
    version.require_catalog(source / FILE)
    version.require_library(library)
    with _without_worker(source), tempfile.TemporaryDirectory(dir=library.folder) as work:
        library_id.require(library)
        version.stamp(library)
        said = Path(work) / FILE
        snapshot.of_folder(source, said)
        if found := rows.against(said, library.catalog, library.folder):
            raise ConfigError(
                f"The target says something else of: {', '.join(found)}.", hint="Change it there, then run this again."
            )
        moved = _files(source / "reports", said, library, told)
        moved.rows = rows.write(said, library.catalog, library.folder)
    return moved


def _files(reports: Path, said: Path, library: Library, told: Callable[[Moved], None]) -> Moved:
    manifests = {row[0]: row[-1] for row in snapshot.rows(said, "report")}
    by_report: dict[str, list[Path]] = {}
    for path in sorted(reports.iterdir()):
        if path.is_file() and _is_wanted(path.name):
            by_report.setdefault(path.name.partition(".")[0], []).append(path)
    moved = Moved(of=len(manifests))
    for report_id, manifest in manifests.items():
        database = reports / library.path(report_id).name
        paths = by_report.get(report_id, [])
        if database.exists() and not damage.opens(database):
            moved.damaged += (str(json.loads(manifest).get("name", report_id)),)
        else:
            made_by = max((version.of_report(path.name) or 0 for path in paths), default=0)
            paths = [path for path in paths if version.of_report(path.name) in (None, made_by)]
            for path in sorted(paths, key=_is_database):
                if library.take_over(report_id, path, manifest):
                    moved.files, moved.bytes = moved.files + 1, moved.bytes + path.stat().st_size
        moved.reports += 1
        told(moved)
    return moved


def _is_database(path: Path) -> bool:
    """Whether a file is the database of a report, from which on the report exists."""
    return path.suffix == ".duckdb" and version.of_report(path.name) is not None


def _is_wanted(name: str) -> bool:
    """Whether a file is no note of this machine, and more than a library works out again."""
    return not is_timeline(name) and not name.endswith(_LEFT) and not name.startswith(".")


@contextmanager
def _without_worker(source: Path) -> Iterator[None]:
    """Keeps a worker from the source, and refuses where one has it (ingest.worker.hold); writes nothing."""
    try:
        file = (source / LOCK).open("rb")
    except FileNotFoundError:
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"A worker has {source}.", hint="Stop the dashboard and the worker first.") from None
        yield

"""Copy a folder library into another library, wherever that is kept: its files, then its catalog.

The source is only read. Files and rows that exist in the target stay, so a move that was stopped can run again. A
report exists in the target once its row does, which comes last, together with labels and everything else.
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
from profiledb.library.library import Library
from profiledb.library.move import rows, snapshot
from profiledb.library.worker_lock import LOCK
from profiledb.report import damage
from profiledb.report.derived_files import is_timeline

_LEFT = (".damaged", ".part")


@dataclass
class Moved:
    """Progress of a move: reports done and in total, new files and their bytes, rows, and reports left behind as
    damaged.
    """

    reports: int = 0
    of: int = 0
    files: int = 0
    bytes: int = 0
    rows: int = 0
    damaged: tuple[str, ...] = ()


def move(source: Path, library: Library, report_progress: Callable[[Moved], None] = lambda _: None) -> Moved:
    """Copy a library into another one.

    Args:
        source: folder of a library, or of a copy made by ``backup``.
        library: the target.
        report_progress: called with the progress after each report.

    Raises:
        ConfigError: the source is no library or of a later version, a worker holds it, or the target's catalog belongs
            to another library or contradicts it; nothing was changed then.
        CatalogError, StorageError, DamagedError, OSError: something cannot be read or written now.
    """
    if not (source / FILE).is_file():
        raise ConfigError(f"{source} is not a library's folder.")
    if source.resolve() == library.folder.resolve():
        raise ConfigError(f"{source} is the library that the settings name.", hint="Name another one to move it to.")
    version.require(source)
    version.require_catalog(source / FILE)
    version.require_storage(library.storage)
    with _keep_workers_out(source), tempfile.TemporaryDirectory(dir=library.folder) as work:
        library_id.require(library.storage, library.catalog.shared)
        version.write_number(library.storage)
        copied_catalog = Path(work) / FILE
        snapshot.copy_folder_catalog(source, copied_catalog)
        if contradictions := rows.find_contradictions(copied_catalog, library.catalog, library.folder):
            raise ConfigError(
                f"The target contradicts the source on: {', '.join(contradictions)}.",
                hint="Change it there, then run this again.",
            )
        moved = _copy_files(source / "reports", copied_catalog, library, report_progress)
        moved.rows = rows.write_rows(copied_catalog, library.catalog, library.folder)
    return moved


def _copy_files(
    reports: Path, copied_catalog: Path, library: Library, report_progress: Callable[[Moved], None]
) -> Moved:
    manifests = {row[0]: row[-1] for row in snapshot.read_rows(copied_catalog, "report")}
    by_report: dict[str, list[Path]] = {}
    for path in sorted(reports.iterdir()):
        if path.is_file() and _is_wanted(path.name):
            by_report.setdefault(path.name.partition(".")[0], []).append(path)
    moved = Moved(of=len(manifests))
    for report_id, manifest in manifests.items():
        database = reports / library.path(report_id).name
        paths = by_report.get(report_id, [])
        if database.exists() and not damage.can_open(database):
            moved.damaged += (str(json.loads(manifest).get("name", report_id)),)
        else:
            made_by = max((version.parse_schema(path.name) or 0 for path in paths), default=0)
            paths = [path for path in paths if version.parse_schema(path.name) in (None, made_by)]
            for path in sorted(paths, key=_is_database):
                if library.take_over(report_id, path, manifest):
                    moved.files, moved.bytes = moved.files + 1, moved.bytes + path.stat().st_size
        moved.reports += 1
        report_progress(moved)
    return moved


def _is_database(path: Path) -> bool:
    """Return True for a report's database, which comes last among its files because it makes the report exist."""
    return path.suffix == ".duckdb" and version.parse_schema(path.name) is not None


def _is_wanted(name: str) -> bool:
    """Return True unless the file is a note of this machine alone, or derived from reports."""
    return not is_timeline(name) and not name.endswith(_LEFT) and not name.startswith(".")


@contextmanager
def _keep_workers_out(source: Path) -> Iterator[None]:
    """Keep workers from the source, or refuse if one holds it (ingest.worker.hold); write nothing."""
    try:
        file = (source / LOCK).open("rb")
    except FileNotFoundError:
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"A worker is using {source}.", hint="Stop the dashboard and the worker first.") from None
        yield

"""Paths of a report's files in the folder of a library."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from profiledb.library import version
from profiledb.report import report_pair, sidecar
from profiledb.report.derived_files import get_derived_files
from profiledb.report.schema import SCHEMA_VERSION


@lru_cache(maxsize=1024)  # preparing a report asks a thousand times
def get_report_path(folder: Path, report_id: str) -> Path:
    """Return the path of a report's database in a library's folder."""
    return folder / "reports" / f"{report_id}.v{SCHEMA_VERSION}.duckdb"


@lru_cache(maxsize=1024)
def _sidecars(reports: Path, report_id: str) -> tuple[Path, ...]:
    return tuple(sidecar.get_path(reports, report_id, kind) for kind in sidecar.SUFFIX)


class ReportFolder:
    """The folder of a library: ``reports/``, ``derived/`` (derived_files.py) and ``work/``.

    Paths are returned whether the file exists or not.

    Raises:
        NewerLibraryError: a later version of Warpdeck has changed the library.
    """

    def __init__(self, folder: Path) -> None:
        version.require(folder)
        self.folder = folder
        self.reports = folder / "reports"
        self.work = folder / "work"
        self.derived = get_derived_files(folder)
        self.reports.mkdir(parents=True, exist_ok=True)

    def database(self, report_id: str) -> Path:
        """Return the path of a report's database in the present schema."""
        return get_report_path(self.folder, report_id)

    def manifest(self, report_id: str) -> Path:
        """Return the path of a report's manifest."""
        return self.reports / f"{report_id}.v{SCHEMA_VERSION}.json"

    def pairs(self, systems_id: str, trace_id: str) -> Path:
        """Return the path of the table that pairs the kernels of a Systems report with those of a trace."""
        return self.reports / f"{systems_id}.{trace_id}{report_pair.SUFFIX}"

    def sidecars(self, report_id: str) -> tuple[Path, ...]:
        """Return the paths of a report's sidecars, one per kind."""
        return _sidecars(self.reports, report_id)

    def damage_note(self, report_id: str) -> Path:
        """Return the path of the note that tells every process which state of the database is damaged."""
        return self.reports / f"{report_id}.damaged"

    def owner(self, path: str) -> str | None:
        """Return the id of the report that a file belongs to; None for a file of no report.

        Works on the text of the path: lists ask it for tens of thousands of files.
        """
        folder, _, name = path.rpartition("/")
        if folder == str(self.reports):
            return name.partition(".")[0]
        return self.derived.report_of(path)

    def outdated(self, report_id: str) -> Iterator[Path]:
        """Yield the files of a report that queries do not read: of an earlier schema, or set aside as damaged."""
        current = {self.database(report_id), self.manifest(report_id)}
        for path in self.reports.glob(f"{report_id}.v*"):
            schema = version.parse_schema(path.name)
            if path not in current and (schema is None or schema < SCHEMA_VERSION):
                yield path

    def outdated_database(self, report_id: str) -> Path | None:
        """Return the newest database of a report that an earlier schema made."""
        name = version.find_outdated(path.name for path in self.reports.glob(f"{report_id}.v*.duckdb"))
        return self.reports / name if name else None

    def remove(self, report_id: str) -> None:
        """Remove a report's files and everything derived from it. Readers that have it open keep their snapshot."""
        current = (self.database(report_id), self.manifest(report_id), self.damage_note(report_id))
        pairs = self.reports.glob(f"*{report_id}*{report_pair.SUFFIX}")
        for path in (*self.outdated(report_id), *current, *self.sidecars(report_id), *pairs):
            path.unlink(missing_ok=True)
        self.derived.remove(report_id)

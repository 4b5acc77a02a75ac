"""The files of reports in the folder of a library: which there are, how large, when they changed, what lies beside."""

import os
from contextlib import suppress
from pathlib import Path

from profiledb.library import library_id
from profiledb.library.access_check import look_first
from profiledb.library.catalog import Catalog
from profiledb.library.derived_files import DerivedFiles
from profiledb.report import durable, sidecar


class Files:
    """What a Library (library.py) says of its files. Where they are kept elsewhere, it brings them here (stored/)."""

    reports: Path
    """The folder of databases, manifests and sidecars."""
    work: Path
    """A folder on the same disk for what is on its way there."""
    derived: DerivedFiles
    catalog: Catalog

    def bring(self, report_id: str) -> None:
        """Makes the files of a report be in the folder as they are now, where they are kept elsewhere (stored/)."""

    def is_here(self, report_id: str) -> bool:  # noqa: ARG002 (the same for all reports of a folder)
        """Whether ``bring`` has nothing to do."""
        return True

    def fetched(self, report_id: str) -> tuple[int, int]:  # noqa: ARG002
        """How much of a report has arrived, while somebody waits for ``bring``: bytes, and bytes of all."""
        return 0, 0

    def fetch(self, report_id: str, path: Path) -> None:
        """The same as ``bring`` for one file that queries do without, such as that of a timeline."""

    def soon(self, report_id: str, name: str) -> None:
        """The same for a small file among the answers, without waiting for it."""

    def keep(self, report_id: str) -> None:
        """Puts what was prepared of a report where other servers find it."""

    def stamp(self, path: Path | str) -> int:
        """When a file of this library changed last, ns; 0 where there is none. The same on every server."""
        try:
            return os.stat(path).st_mtime_ns  # noqa: PTH116 (of tens of thousands of files: a Path takes thrice as long)
        except OSError:
            return 0

    def there(self) -> frozenset[str]:
        """The names of all files in ``reports``."""
        return frozenset(os.listdir(self.reports))  # noqa: PTH208 (names alone)

    def sizes(self) -> dict[str, int]:
        """Bytes of each report with all that lies beside it."""
        found = self.derived.sizes()
        for path in self.reports.iterdir():
            with suppress(FileNotFoundError):
                size = path.stat().st_size
                report_id = path.name.partition(".")[0]
                found[report_id] = found.get(report_id, 0) + size
        return found

    def reachable(self) -> None:
        """Raises OSError or StorageError where reports cannot be reached, such as on a disk that is not mounted."""
        next(self.reports.iterdir(), None)

    @property
    def place(self) -> str:
        """Where the reports are, in words."""
        return str(self.reports.parent)

    def mark(self, name: str) -> str:
        """A short text beside the reports (library_id.py, version.py); empty where there is none."""
        path = self.reports.parent / name
        return (
            path.read_text(encoding="utf-8", errors="replace")[: library_id.MOST_BYTES].strip() if path.exists() else ""
        )

    def set_mark(self, name: str, text: str) -> None:
        """Lays a short text beside the reports."""
        self.work.mkdir(parents=True, exist_ok=True)
        durable.write_text(self.reports.parent / name, text, self.work / name)

    def has_sidecar(self, report_id: str, kind: sidecar.Kind) -> bool:
        """Whether the program of a report left a file of this kind beside it."""
        return self.stamp(sidecar.path(self.reports, report_id, kind)) != 0

    def sidecars(self, report_id: str) -> tuple[Path, ...]:
        """Where the sidecars of a report are (sidecar.py), whether they exist or not."""
        return tuple(sidecar.path(self.reports, report_id, kind) for kind in sidecar.SUFFIX)

    def put_sidecar(self, report_id: str, kind: sidecar.Kind, text: str) -> None:
        """Lays a sidecar beside a report, in place of the one that it had; queries that run keep the old one."""
        self.work.mkdir(parents=True, exist_ok=True)
        suffix = sidecar.SUFFIX[kind]
        durable.write_text(sidecar.path(self.reports, report_id, kind), text, self.work / f"{report_id}{suffix}")


look_first(Files)

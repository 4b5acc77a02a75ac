"""The interface between a library and the place that keeps its files: a folder or a bucket."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from profiledb.library.catalog import Catalog
from profiledb.library.report_folder import ReportFolder
from profiledb.library.version import TextStore
from profiledb.report.manifest import Manifest

LOOKS = 500
"""Reports whose files callers look up at once (``Storage.look_at``)."""


class Storage(TextStore, Protocol):
    """The files of all reports. May be shared by threads.

    A storage checks no permission: ``Library`` does, and nothing but ``Library`` hands reports to visitors.
    """

    files: ReportFolder
    """Where files lie on this machine: the files themselves, or copies of those in use."""

    @property
    def place(self) -> str:
        """Where the files are kept, as text for a message."""

    def check_reachable(self) -> None:
        """Raise OSError or StorageError if the files cannot be reached, such as on a disk that is not mounted."""

    def on_eviction(self, close: Callable[[str], bool]) -> None:
        """Register a function that closes a report before its copies are removed; it returns False if in use."""

    def fetch(self, report_id: str) -> None:
        """Bring the present files of a report to this machine, as far as queries need them.

        Raises:
            StorageError: a file is neither here nor available.
            DamagedError: a file is damaged where it is kept.
        """

    def is_here(self, report_id: str) -> bool:
        """Return True if ``fetch`` has nothing to do."""

    def fetched_bytes(self, report_id: str) -> tuple[int, int]:
        """Return the bytes that have arrived of the file being fetched, and the size of the report's largest file."""

    def fetch_file(self, report_id: str, name: str) -> None:
        """Bring one file to this machine that queries do without, such as a timeline; raises as ``fetch``."""

    def fetch_in_background(self, report_id: str, name: str) -> None:
        """Start to bring a small file and return at once."""

    def share_prepared(self, report_id: str) -> None:
        """Store a report's timeline, findings and answers where other servers find them."""

    def modified_ns(self, path: str) -> int:
        """Return the time of a file's last change in ns since 1970, the same on every server; 0 if there is none."""

    def look_at(self, report_ids: Iterable[str]) -> None:
        """Prepare for questions about the files of these reports, which a list is about to ask."""

    def file_times(self) -> dict[str, dict[str, int]]:
        """Return the time of each report's files and findings, as ``modified_ns``, by report id and name."""

    def report_bytes(self) -> dict[str, int]:
        """Return the size of all files of each report, by report id."""

    def database_names(self, report_id: str) -> Iterable[str]:
        """Return the names of a report's databases, of every schema."""

    def has_database(self, report_id: str) -> bool:
        """Return True if the storage lists the report's database of the present schema."""

    def confirm_database(self, report_id: str) -> bool:
        """Return True if the database is in place now, by a look at the place itself."""

    def check_copies(self, report_id: str) -> bool:
        """Compare local copies of a report with its stored files; remove those that differ, return False if any did."""

    def report_damage(self, report_id: str) -> None:
        """Note that the stored database is damaged, so that a new conversion may replace it."""

    def publish(self, database: Path, manifest: Manifest, catalog: Catalog) -> None:
        """Store a finished database, which lies on the disk of ``files``, with its manifest, and list the report."""

    def put(self, report_id: str, name: str, source: Path) -> None:
        """Move a file from ``work`` beside a report, in place of the one with this name."""

    def take_over(self, report_id: str, path: Path, manifest: str) -> bool:
        """Copy a file of another library's report with its time; see ``Library.take_over``."""

    def delete(self, report_id: str, catalog: Catalog, summary: str = "") -> None:
        """Remove a report from the catalog, where a summary may stay (``Catalog.remove_report``), and all its files."""

    def recover(self, catalog: Catalog) -> None:
        """Bring files and catalog together after a crash, or after files were damaged or lost."""

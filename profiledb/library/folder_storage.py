"""The files of a library's reports in its folder."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from profiledb.library import folder_recovery
from profiledb.library.catalog import Catalog
from profiledb.library.report_folder import ReportFolder
from profiledb.library.version import MOST_BYTES
from profiledb.report import durable, file_hashes
from profiledb.report.derived_files import FINDINGS
from profiledb.report.manifest import Manifest


class FolderStorage:
    """Keep files where queries read them, so that nothing has to be fetched. ``Storage`` documents the methods."""

    def __init__(self, folder: Path) -> None:
        self.files = ReportFolder(folder)

    @property
    def place(self) -> str:
        return str(self.files.folder)

    def check_reachable(self) -> None:
        next(self.files.reports.iterdir(), None)

    def on_eviction(self, close: Callable[[str], bool]) -> None:
        pass

    def fetch(self, report_id: str) -> None:
        pass

    def is_here(self, report_id: str) -> bool:  # noqa: ARG002
        return True

    def fetched_bytes(self, report_id: str) -> tuple[int, int]:  # noqa: ARG002
        return 0, 0

    def fetch_file(self, report_id: str, name: str) -> None:
        pass

    def fetch_in_background(self, report_id: str, name: str) -> None:
        pass

    def share_prepared(self, report_id: str) -> None:
        pass

    def modified_ns(self, path: str) -> int:
        try:
            return os.stat(path).st_mtime_ns  # noqa: PTH116 (a Path takes three times as long)
        except OSError:
            return 0

    def look_at(self, report_ids: Iterable[str]) -> None:
        pass

    def file_times(self) -> dict[str, dict[str, int]]:
        times: dict[str, dict[str, int]] = {}
        with os.scandir(self.files.reports) as listing:
            for entry in listing:
                with suppress(FileNotFoundError):
                    times.setdefault(entry.name.partition(".")[0], {})[entry.name] = entry.stat().st_mtime_ns
        for report_id, own in times.items():
            own[FINDINGS] = self.modified_ns(f"{self.files.derived.answers}/{report_id}/{FINDINGS}")
        return times

    def report_bytes(self) -> dict[str, int]:
        sizes = self.files.derived.sizes()
        for path in self.files.reports.iterdir():
            with suppress(FileNotFoundError):
                size = path.stat().st_size
                report_id = path.name.partition(".")[0]
                sizes[report_id] = sizes.get(report_id, 0) + size
        return sizes

    def database_names(self, report_id: str) -> Iterable[str]:
        return [path.name for path in self.files.reports.glob(f"{report_id}.v*.duckdb")]

    def has_database(self, report_id: str) -> bool:
        return self.files.database(report_id).exists()

    def confirm_database(self, report_id: str) -> bool:
        return self.has_database(report_id)

    def check_copies(self, report_id: str) -> bool:  # noqa: ARG002
        return True

    def report_damage(self, report_id: str) -> None:
        pass

    def read_text(self, name: str) -> str:
        path = self.files.folder / name
        return path.read_text(encoding="utf-8", errors="replace")[:MOST_BYTES].strip() if path.exists() else ""

    def write_text(self, name: str, text: str) -> None:
        self.files.work.mkdir(parents=True, exist_ok=True)
        durable.write_text(self.files.folder / name, text, self.files.work / name)

    def publish(self, database: Path, manifest: Manifest, catalog: Catalog) -> None:
        """Write the manifest, the database and the row of the catalog, each to the disk before the next.

        ``folder_recovery`` removes a manifest without a database, and lists a report without a row.
        """
        files = self.files
        files.work.mkdir(parents=True, exist_ok=True)
        durable.write_text(files.manifest(manifest.id), manifest.to_json(), files.work / f"{manifest.id}.json")
        durable.move(database, files.database(manifest.id))
        catalog.add_report(manifest)
        for path in (*files.outdated(manifest.id), files.damage_note(manifest.id)):
            path.unlink(missing_ok=True)

    def put(self, report_id: str, name: str, source: Path) -> None:  # noqa: ARG002
        durable.move(source, self.files.reports / name)

    def take_over(self, report_id: str, path: Path, manifest: str) -> bool:  # noqa: ARG002
        self.files.work.mkdir(parents=True, exist_ok=True)
        return file_hashes.copy_verified(path, self.files.reports / path.name, self.files.work / path.name)

    def delete(self, report_id: str, catalog: Catalog, summary: str = "") -> None:
        catalog.remove_report(report_id, summary)
        self.files.remove(report_id)

    def recover(self, catalog: Catalog) -> None:
        folder_recovery.recover(self.files, catalog)

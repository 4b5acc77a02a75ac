"""The files of a library's reports as objects of a bucket; the library's folder has copies of those in use."""

import logging
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from profiledb import config
from profiledb.errors import CatalogError
from profiledb.library import bucket_recovery, version
from profiledb.library.bucket import answer_pack
from profiledb.library.bucket.bucket import Bucket, GoneError
from profiledb.library.bucket.copy_cache import CopyCache
from profiledb.library.bucket.object_index import ObjectIndex, StoredFile
from profiledb.library.bucket.object_store import ObjectStore
from profiledb.library.catalog import Catalog
from profiledb.library.report_folder import ReportFolder
from profiledb.report import report_pair, sidecar
from profiledb.report.derived_files import FINDINGS
from profiledb.report.file_hashes import require_same, require_whole
from profiledb.report.manifest import Manifest

_log = logging.getLogger("warpdeck")
_UNPACKED = ".unpacked"


class BucketStorage:
    """Keep files in a bucket. ``Storage`` documents the methods; each may also raise StorageError and CatalogError.

    Args:
        folder: of this machine, for copies and for work; processes may share it, and it may be removed while none runs.
        index: the catalog's rows of which object is which file.
        url: of the bucket.
        most_mb: size limit of the copies of reports, in MB.
    """

    def __init__(self, folder: Path, index: ObjectIndex, url: str, most_mb: float) -> None:
        self.files = ReportFolder(folder)
        self._closers: list[Callable[[str], bool]] = []
        bucket = Bucket(url)
        copies = CopyCache(folder, bucket, int(most_mb * 1e6), self._close_report)
        self.store = ObjectStore(index, bucket, copies, self._is_needed)

    @property
    def place(self) -> str:
        return self.store.bucket.url

    def check_reachable(self) -> None:
        next(self.store.bucket.list("health"), None)  # an empty listing proves as much as a full one

    def on_eviction(self, close: Callable[[str], bool]) -> None:
        self._closers.append(close)

    def fetch(self, report_id: str) -> None:
        was_here = self.store.is_here(report_id)
        self.store.fetch_report(report_id)
        if not was_here:
            self._unpack_answers(report_id)

    def is_here(self, report_id: str) -> bool:
        return self.store.is_here(report_id)

    def fetched_bytes(self, report_id: str) -> tuple[int, int]:
        sizes = [file.bytes for file in self.store.files(report_id).values() if self._is_needed(file.name)]
        return self.store.copies.fetched_bytes(report_id), max(sizes, default=0)

    def fetch_file(self, report_id: str, name: str) -> None:
        self.store.fetch_file(report_id, name)

    def fetch_in_background(self, report_id: str, name: str) -> None:
        with suppress(CatalogError):
            self.store.fetch_in_background(report_id, name)

    def share_prepared(self, report_id: str) -> None:
        known = self.store.index.files_of(report_id)
        if self.files.database(report_id).name not in known:
            return
        self.store.copies.hold(report_id)
        folder = self.files.derived.answers / report_id
        timelines = self.files.derived.timelines.glob(f"{report_id}.*.duckdb")
        for path in (*timelines, folder / FINDINGS):
            if path.exists() and not ((file := known.get(path.name)) and self.store.copies.has_copy(file)):
                self.store.put(report_id, path.name, path)
        self.files.work.mkdir(parents=True, exist_ok=True)
        packed = self.files.work / f"{report_id}-{os.getpid()}{answer_pack.ENDING}"
        try:
            name = f"{report_id}{answer_pack.ENDING}"
            if answer_pack.pack_answers(folder, packed) and not _has_content(packed, known.get(name)):
                file = self.store.put(report_id, name, packed)
                (folder / _UNPACKED).write_text(file.sha256, encoding="utf-8")
        finally:
            packed.unlink(missing_ok=True)

    def modified_ns(self, path: str) -> int:
        report_id = self.files.owner(path)
        if report_id is None:
            with suppress(OSError):
                return Path(path).stat().st_mtime_ns
            return 0
        file = self.store.files(report_id).get(os.path.basename(path))  # noqa: PTH119 (asked of every report)
        return file.time_ns if file else 0

    def look_at(self, report_ids: Iterable[str]) -> None:
        self.store.look_at(report_ids)

    def file_times(self) -> dict[str, dict[str, int]]:
        return self.store.index.list_times()

    def report_bytes(self) -> dict[str, int]:
        return self.store.index.sum_bytes()

    def database_names(self, report_id: str) -> Iterable[str]:
        return [name for name in self.store.index.files_of(report_id) if name.endswith(".duckdb")]

    def has_database(self, report_id: str) -> bool:
        """Look at the list of some seconds ago, then at the catalog for reports published since."""
        name = self.files.database(report_id).name
        return name in self.store.files(report_id) or name in self.store.index.files_of(report_id)

    def confirm_database(self, report_id: str) -> bool:
        file = self.store.index.files_of(report_id).get(self.files.database(report_id).name)
        stored_object = self.store.bucket.head(file.key) if file else None
        return file is not None and stored_object is not None and stored_object.size == file.bytes

    def check_copies(self, report_id: str) -> bool:
        return self.store.check_copies(report_id)

    def report_damage(self, report_id: str) -> None:
        self.store.index.mark_damaged(self.store.files(report_id)[self.files.database(report_id).name])

    def read_text(self, name: str) -> str:
        try:
            return self.store.bucket.read(name, version.MOST_BYTES).decode(errors="replace").strip()
        except GoneError:
            return ""

    def write_text(self, name: str, text: str) -> None:
        self.store.bucket.put(name, text.encode())

    def publish(self, database: Path, manifest: Manifest, catalog: Catalog) -> None:
        """Put manifest and database into the bucket, then the row into the catalog, which publishes the report.

        If another process has published the report meanwhile, its files stay and these are removed.
        """
        file = StoredFile.from_path(manifest.id, self.files.database(manifest.id).name, database)
        keys = (file.key_of(self.files.manifest(manifest.id).name), file.key)
        self.store.bucket.put(keys[0], manifest.to_json().encode())
        self.store.bucket.put(keys[1], database)
        before = self.store.index.files_of(manifest.id, damaged=True)
        is_claimed = self.store.index.claim(file)
        if is_claimed or not catalog.listing.get([manifest.id]):
            catalog.add_report(manifest)
        if not is_claimed:
            self.store.remove(keys)
            return
        self.store.copies.adopt(file, database)
        self.store.invalidate(manifest.id)
        self.files.damage_note(manifest.id).unlink(missing_ok=True)
        self._remove_outdated(manifest.id, before)

    def put(self, report_id: str, name: str, source: Path) -> None:
        self.store.put(report_id, name, source)

    def take_over(self, report_id: str, path: Path, manifest: str) -> bool:
        """Put a file into the bucket and fetch it again, which proves it whole and makes the copy of this machine."""
        is_report = version.parse_schema(path.name) is not None
        if is_report and path.suffix == ".json":
            return False  # it goes with the database
        file = StoredFile.from_path(report_id, path.name, path)
        if known := self.store.index.files_of(report_id).get(path.name):
            require_same(path, known.sha256, file.sha256)
            return False
        if is_report:
            self.store.bucket.put(file.key_of(path.with_suffix(".json").name), manifest.encode())
        self.store.bucket.put(file.key, path)
        self.files.work.mkdir(parents=True, exist_ok=True)
        fetched = self.files.work / path.name
        require_whole(path, self.store.bucket.fetch(file.key, fetched), file.sha256)
        self.store.index.put(file)
        self.store.copies.adopt(file, fetched)
        self.store.invalidate(report_id)
        return True

    def delete(self, report_id: str, catalog: Catalog, summary: str = "") -> None:
        """Remove first the manifests, which would list the report anew, then its rows, then all objects and copies."""
        objects = self.store.list_keys(report_id)
        self.store.bucket.delete(key for key in objects if key.endswith(".json"))
        self.store.index.forget_all(report_id)
        catalog.remove_report(report_id, summary)
        self.files.remove(report_id)
        self.store.remove_copies(report_id)
        self.store.remove(objects)

    def recover(self, catalog: Catalog) -> None:
        bucket_recovery.recover(self.store, self.files, catalog)

    def _close_report(self, report_id: str) -> bool:
        """Close a report everywhere in this process; False if a query is using it."""
        closed = [close(report_id) for close in self._closers]
        return all(closed)

    def _is_needed(self, name: str) -> bool:
        """Return True for a file that queries need: database of this schema, sidecar, pairs, prepared answers."""
        return (
            name == self.files.database(name.partition(".")[0]).name
            or name == FINDINGS
            or name.endswith((*sidecar.SUFFIX.values(), report_pair.SUFFIX, answer_pack.ENDING))
        )

    def _unpack_answers(self, report_id: str) -> None:
        """Write the prepared answers of a package into ``answers`` once, unless the settings leave no space for any."""
        most = config.load().answers_mb * 1_000_000
        file = self.store.files(report_id).get(f"{report_id}{answer_pack.ENDING}")
        note = self.files.derived.answers / report_id / _UNPACKED
        try:
            if most and file and (not note.exists() or note.read_text(encoding="utf-8") != file.sha256):
                written = answer_pack.unpack(self.store.copies.path(file), note.parent, most)
                note.write_text(file.sha256, encoding="utf-8")
                self.files.derived.make_room(written, most)
        except OSError:
            _log.warning("The prepared answers of %s could not be unpacked", report_id, exc_info=True)

    def _remove_outdated(self, report_id: str, before: dict[str, StoredFile]) -> None:
        """Remove the databases that a new one replaces: of an older schema, or damaged."""
        current = self.files.database(report_id).name
        databases = [file for name, file in before.items() if name.startswith(f"{report_id}.v")]
        self.store.index.forget(report_id, [file.name for file in databases if file.name != current])
        published = self.store.index.files_of(report_id)[current]
        replaced = [file for file in databases if file != published]
        manifests = [file.key_of(file.name.removesuffix(".duckdb") + ".json") for file in replaced]
        self.store.remove([*(file.key for file in replaced), *manifests])
        for path in self.files.outdated(report_id):
            path.unlink(missing_ok=True)


def _has_content(path: Path, file: StoredFile | None) -> bool:
    """Return True if a stored file has the content of this one."""
    return file is not None and StoredFile.from_path(file.report_id, file.name, path).sha256 == file.sha256

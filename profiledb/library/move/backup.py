"""Copy a library into a folder, consistently and while workers write.

First the catalog, as of one moment (move/snapshot.py), then the files. A report published meanwhile in a folder has its
manifest beside it, and a starting worker lists it; a report deleted meanwhile is missing, and a starting worker forgets
it. A report never changes, so a second copy into the same folder takes only new files.
"""

import filecmp
import os
import shutil
from contextlib import suppress
from pathlib import Path

from profiledb.errors import ConfigError, DamagedError
from profiledb.library import version
from profiledb.library.bucket import answer_pack
from profiledb.library.bucket.bucket import GoneError
from profiledb.library.bucket.object_index import StoredFile
from profiledb.library.bucket.object_store import ObjectStore
from profiledb.library.bucket_storage import BucketStorage
from profiledb.library.catalog import FILE
from profiledb.library.library import Library
from profiledb.library.move import small_files, snapshot
from profiledb.report.file_hashes import require_whole

MARK = "warpdeck-backup"
"""File that marks a folder as such a copy; no other folder is overwritten."""
_PART = ".part"


def backup(library: Library, to: Path) -> tuple[int, int]:
    """Copy a library into a folder, which then is a library itself; return the number of new files and their bytes.

    Raises:
        ConfigError: the folder holds anything but an earlier copy.
        CatalogError: the catalog cannot be copied.
        StorageError: the bucket cannot be read.
        DamagedError: a file arrived with other content than listed.
        OSError: a file cannot be written.
    """
    if to.resolve().is_relative_to(library.folder.resolve()) or (
        to.exists() and any(to.iterdir()) and not (to / MARK).exists()
    ):
        raise ConfigError(f"{to} contains other files.", hint="Name an empty folder, or one with an earlier copy.")
    version.require_storage(library.storage)
    version.require(to)
    reports = to / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    (to / MARK).touch()
    (to / version.NAME).write_text(version.format_number(), encoding="utf-8")
    copied_catalog = to / f"{FILE}{_PART}"
    snapshot.take_snapshot(library.catalog, library.folder, copied_catalog)
    if isinstance(library.storage, BucketStorage):
        copied = _copy_objects(library, library.storage.store, copied_catalog, reports)
    else:
        copied = _copy_files(library.reports, reports)
    for table in small_files.TABLES:
        small_files.write_rows(to, table, list(snapshot.read_rows(copied_catalog, table)))
    snapshot.finish_catalog(copied_catalog)
    copied_catalog.replace(to / FILE)
    return copied


def _copy_files(source: Path, target: Path) -> tuple[int, int]:
    """Copy new files, and remove those that the library no longer has."""
    there, count, size = set(), 0, 0
    for path in sorted(source.iterdir()):
        if not path.is_file():
            continue
        with suppress(FileNotFoundError):  # deleted meanwhile
            there.add(path.name)
            if not _is_copied(path, target / path.name):
                size += _copy_file(path, target / path.name)
                count += 1
    _remove_others(target, there)
    return count, size


def _copy_objects(library: Library, store: ObjectStore, copied_catalog: Path, target: Path) -> tuple[int, int]:
    """Copy the objects that the catalog named at that moment, or their replacements since."""
    there, count, size = set(), 0, 0
    manifests = {row[0]: row[-1] for row in snapshot.read_rows(copied_catalog, "report")}
    for row in snapshot.read_rows(copied_catalog, "stored_file"):
        file, damaged = StoredFile(*row[:5]), row[5]
        if damaged or file.report_id not in manifests or not _is_backed_up(library, file):
            continue
        new = _fetch_object(store, file, target)
        if new is None:
            continue
        there.add(file.name)
        count, size = count + bool(new), size + new
        if version.parse_schema(file.name) is not None:
            manifest = (target / file.name).with_suffix(".json")
            there.add(manifest.name)
            if not manifest.exists() or manifest.read_text(encoding="utf-8") != manifests[file.report_id]:
                manifest.write_text(manifests[file.report_id], encoding="utf-8")
    _remove_others(target, there)
    return count, size


def _is_backed_up(library: Library, file: StoredFile) -> bool:
    """Return True unless a library computes the file again."""
    return library.derived.place(file.report_id, file.name) is None and not file.name.endswith(answer_pack.ENDING)


def _fetch_object(store: ObjectStore, file: StoredFile, target: Path) -> int | None:
    """Fetch an object, verify it and return its bytes; 0 if it was copied before, None if it is gone."""
    path = target / file.name
    if path.exists() and (path.stat().st_size, path.stat().st_mtime_ns) == (file.bytes, file.time_ns):
        return 0
    part = target / f"{file.name}{_PART}"
    try:
        require_whole(path, store.bucket.fetch(file.key, part), file.sha256)
    except (GoneError, DamagedError):
        now = store.index.files_of(file.report_id).get(file.name)
        if now == file:
            raise
        return _fetch_object(store, now, target) if now else None
    os.utime(part, ns=(file.time_ns, file.time_ns))
    part.replace(path)
    return file.bytes


def _remove_others(target: Path, there: set[str]) -> None:
    """Remove files that the library does not have."""
    for path in target.iterdir():
        if path.name not in there:
            path.unlink()


def _is_copied(path: Path, copy: Path) -> bool:
    """Return True if a copy has the file's size and time."""
    return copy.exists() and filecmp.cmp(path, copy, shallow=True)


def _copy_file(path: Path, to: Path) -> int:
    """Copy a file with its time; the copy gets its name when it is complete."""
    part = to.with_name(to.name + _PART)
    shutil.copy2(path, part)
    part.replace(to)
    return to.stat().st_size

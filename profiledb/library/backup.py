"""A copy of a library as a folder that is whole, made while workers write.

The catalog first, as it is at one moment (move/snapshot.py). Then the files: what was published meanwhile in a
folder lies there with its manifest, and the start of a worker lists it; what was deleted meanwhile is missing, and the
start of a worker forgets it. A report never changes, so that a second copy into the same folder takes only what is new.
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
from profiledb.library.bucket.bucket_library import StoredLibrary
from profiledb.library.bucket.object_index import File
from profiledb.library.catalog import FILE
from profiledb.library.file_hashes import require_whole
from profiledb.library.library import Library
from profiledb.library.move import small_files, snapshot

MARK = "warpdeck-backup"
"""A file that says that a folder holds such a copy, and nothing else may lie in it."""
_PART = ".part"


def backup(library: Library, to: Path) -> tuple[int, int]:
    """Copies a library into a folder, which then is a library itself; how many files were new, and their bytes.

    Raises:
        ConfigError: the folder holds anything but an earlier copy.
        CatalogError: the catalog cannot be copied.
        StorageError: the bucket cannot be read.
        DamagedError: a file arrived otherwise than it is listed.
        OSError: a file cannot be written.
    """
    if to.resolve().is_relative_to(library.folder.resolve()) or (
        to.exists() and any(to.iterdir()) and not (to / MARK).exists()
    ):
        raise ConfigError(f"{to} holds something else.", hint="Name an empty folder, or one with an earlier copy.")
    version.require_library(library)
    version.require(to)
    reports = to / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    (to / MARK).touch()
    (to / version.NAME).write_text(version.text(), encoding="utf-8")
    said = to / f"{FILE}{_PART}"
    snapshot.take(library.catalog, library.folder, said)
    copied = (
        _objects(library, said, reports) if isinstance(library, StoredLibrary) else _files(library.reports, reports)
    )
    for table in small_files.TABLES:
        small_files.write(to, table, list(snapshot.rows(said, table)))
    snapshot.finish(said)
    said.replace(to / FILE)
    return copied


def _files(source: Path, target: Path) -> tuple[int, int]:
    """Copies what is new, and removes what is in the library no more."""
    there, count, size = set(), 0, 0
    for path in sorted(source.iterdir()):
        if not path.is_file():
            continue
        with suppress(FileNotFoundError):  # deleted meanwhile
            there.add(path.name)
            if not _same(path, target / path.name):
                size += _copy(path, target / path.name)
                count += 1
    _leave(target, there)
    return count, size


def _objects(library: StoredLibrary, said: Path, target: Path) -> tuple[int, int]:
    """The same of a bucket: the objects that the catalog named at that moment, or that took their places since."""
    there, count, size = set(), 0, 0
    manifests = {row[0]: row[-1] for row in snapshot.rows(said, "report")}
    for row in snapshot.rows(said, "stored_file"):
        file, damaged = File(*row[:5]), row[5]
        if damaged or file.report_id not in manifests or not _is_backed_up(library, file):
            continue
        new = _object(library, file, target)
        if new is None:
            continue
        there.add(file.name)
        count, size = count + bool(new), size + new
        if version.of_report(file.name) is not None:
            manifest = (target / file.name).with_suffix(".json")
            there.add(manifest.name)
            if not manifest.exists() or manifest.read_text(encoding="utf-8") != manifests[file.report_id]:
                manifest.write_text(manifests[file.report_id], encoding="utf-8")
    _leave(target, there)
    return count, size


def _is_backed_up(library: StoredLibrary, file: File) -> bool:
    """Whether a file is more than what a library works out again."""
    return library.derived.place(file.report_id, file.name) is None and not file.name.endswith(answer_pack.ENDING)


def _object(library: StoredLibrary, file: File, target: Path) -> int | None:
    """Fetches an object, checked, and answers its bytes; 0 where it was there, None where it is gone."""
    path = target / file.name
    if path.exists() and (path.stat().st_size, path.stat().st_mtime_ns) == (file.bytes, file.time_ns):
        return 0
    part = target / f"{file.name}{_PART}"
    try:
        require_whole(path, library.store.bucket.fetch(file.key, part), file.sha256)
    except (GoneError, DamagedError):
        now = library.store.index.of(file.report_id).get(file.name)
        if now == file:
            raise
        return _object(library, now, target) if now else None
    os.utime(part, ns=(file.time_ns, file.time_ns))
    part.replace(path)
    return file.bytes


def _leave(target: Path, there: set[str]) -> None:
    """Removes what is not in the library."""
    for path in target.iterdir():
        if path.name not in there:
            path.unlink()


def _same(path: Path, copy: Path) -> bool:
    """Whether a copy is of this state of a file: by its size and its time."""
    return copy.exists() and filecmp.cmp(path, copy, shallow=True)


def _copy(path: Path, to: Path) -> int:
    """Copies a file with its time; the copy has its name when it is whole."""
    part = to.with_name(to.name + _PART)
    shutil.copy2(path, part)
    part.replace(to)
    return to.stat().st_size

"""Brings a bucket and the catalog together, after a crash or where either has lost something.

A report is what has a database with its manifest in the bucket. ``StoredLibrary.publish`` puts the manifest, then the
database, then the row into the catalog: where it was stopped, what is there tells how far it came.
"""

import logging
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from profiledb.library import version
from profiledb.library.bucket.bucket import GoneError, Object
from profiledb.library.bucket.object_index import FOLDER, File
from profiledb.library.catalog import Manifest
from profiledb.report.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from profiledb.library.bucket.bucket_library import StoredLibrary

_log = logging.getLogger("warpdeck")
LEFT_S = 86_400.0
"""What no row names after so long was put by a process that is no more."""
_MOST_BYTES = 1_000_000
_DATABASE = f".v{SCHEMA_VERSION}.duckdb"


def recover(library: "StoredLibrary") -> None:
    """Lists what was published, forgets what is gone, and removes what was left over, also here.

    It looks at the name of every object; several workers may do so at the same time, and publish meanwhile.
    """
    library.catalog.mend()
    before = set(library.catalog.report_ids())  # then files, then objects: what others publish meanwhile is not missed
    known = library.store.index.all(damaged=True)
    whole = library.store.index.all()
    found = _found(library)
    version.require_names(file.name for objects in found.values() for file in _files(objects))
    for report_id, objects in found.items():
        if f"{report_id}{_DATABASE}" not in known.get(report_id, {}):
            _list(library, report_id, objects)
    for report_id in before - known.keys() - found.keys():
        library.catalog.unlist_report(report_id)  # of an older library, or all of it is gone
    listed = set(library.catalog.report_ids())
    for report_id, files in known.items():
        objects = found.get(report_id, {})
        gone = _forgotten(library, report_id, files, objects, is_listed=report_id in listed)
        if not gone and report_id not in listed and f"{report_id}{_DATABASE}" in whole.get(report_id, {}):
            _list(library, report_id, objects)  # only its row was written
    _sweep(library, found)
    _sweep_here(library.work)
    _sweep_here(library.folder / "fetching")


def _found(library: "StoredLibrary") -> dict[str, dict[str, Object]]:
    """The objects of each report by their names."""
    found: dict[str, dict[str, Object]] = {}
    for one in library.store.bucket.list(FOLDER):
        report_id = one.key.removeprefix(f"{FOLDER}/").partition("/")[0]
        found.setdefault(report_id, {})[one.key] = one
    return found


def _list(library: "StoredLibrary", report_id: str, objects: dict[str, Object]) -> None:
    """Lists a report that the catalog does not have, with all that lies beside it."""
    newest = _newest(objects)
    database = max((file for file in newest.values() if _is_database(file)), key=_made_by, default=None)
    if database is None:
        return
    try:
        text = library.store.bucket.read(database.key_of(_manifest_of(database)), _MOST_BYTES)
        manifest = replace(Manifest.from_json(text.decode()), schema_version=_made_by(database))
    except (GoneError, ValueError):
        manifest = None
    if manifest is None or manifest.id != report_id:
        _log.warning("The manifest of %s in the bucket cannot be read; its source has to be dropped again.", report_id)
        return
    for file in newest.values():
        library.store.index.claim(file)
    library.catalog.add_report(manifest)


def _newest(objects: dict[str, Object]) -> dict[str, File]:
    """The files of a report by their names, of each the newest; a database only where its manifest is there, too."""
    newest: dict[str, File] = {}
    for file in sorted(_files(objects), key=lambda file: file.time_ns):
        is_whole = not _is_database(file) or file.key_of(_manifest_of(file)) in objects
        if is_whole and (_is_database(file) or version.of_report(file.name) is None):
            newest[file.name] = file
    return newest


def _files(objects: dict[str, Object]) -> list[File]:
    return [file for one in objects.values() if (file := File.parse(one.key, one.size))]


def _is_database(file: File) -> bool:
    return file.name.endswith(".duckdb") and version.of_report(file.name) is not None


def _made_by(file: File) -> int:
    """The version of the schema that made a report's database."""
    return version.of_report(file.name) or 0


def _manifest_of(database: File) -> str:
    return f"{database.name.removesuffix('.duckdb')}.json"


def _forgotten(
    library: "StoredLibrary", report_id: str, files: dict[str, File], objects: dict[str, Object], *, is_listed: bool
) -> bool:
    """Forgets what the bucket does not have any more; whether that is the report itself."""
    gone = [name for name, file in files.items() if file.key not in objects]
    if gone:
        still = library.store.index.of(report_id, damaged=True)  # somebody may have put another one, or deleted it
        gone = [name for name in gone if still.get(name) == files[name]]
        library.store.index.forget(report_id, gone)
    database = f"{report_id}{_DATABASE}"
    if any(_is_database(file) for name, file in files.items() if name not in gone and name != database):
        if not is_listed or database in gone:
            _list(library, report_id, objects)  # as an older version made it
        return False
    if database not in gone and (database in files or not is_listed):
        if database not in files and all(one.time_ns < _left_before() for one in objects.values()):
            library.store.index.forget_all(report_id)  # put while the report was deleted
        return False
    _log.warning("The file of %s is not in the bucket; its source is converted again.", report_id)
    library.catalog.unlist_report(report_id)
    library.store.leave(report_id)
    return True


def _sweep(library: "StoredLibrary", found: dict[str, dict[str, Object]]) -> None:
    """Removes objects that no row names."""
    known = library.store.index.all()
    named: set[str] = set()
    for files in known.values():
        for file in files.values():
            named |= {file.key, file.key_of(file.name.removesuffix(".duckdb") + ".json")}
    before = _left_before()
    left = [one.key for objects in found.values() for one in objects.values() if one.time_ns < before]
    library.store.remove([key for key in left if key not in named])


def _left_before() -> int:
    """What was put before (ns since 1970), and belongs to nothing, was left by a process that is no more."""
    return time.time_ns() - int(LEFT_S * 1e9)


def _sweep_here(folder: Path) -> None:
    """Removes what processes left here that are no more; those that run write to theirs."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

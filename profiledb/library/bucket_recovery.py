"""Bring a bucket and the catalog together, after a crash or after either has lost something.

A report is a database with a manifest in the bucket. ``BucketStorage.publish`` puts the manifest, then the database,
then the row of the catalog, so the objects that exist tell at which step it was stopped.
"""

import logging
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from profiledb.library import version
from profiledb.library.bucket.bucket import GoneError, Object
from profiledb.library.bucket.object_index import FOLDER, StoredFile
from profiledb.library.bucket.object_store import ObjectStore
from profiledb.library.catalog import Catalog
from profiledb.library.report_folder import ReportFolder
from profiledb.report.manifest import Manifest
from profiledb.report.schema import SCHEMA_VERSION

_log = logging.getLogger("warpdeck")
LEFT_S = 86_400.0
"""Age after which an object or file that belongs to nothing was left by a process that has ended."""
_MOST_BYTES = 1_000_000
_DATABASE = f".v{SCHEMA_VERSION}.duckdb"
Objects = dict[str, Object]
"""Objects by their keys."""


def recover(store: ObjectStore, folder: ReportFolder, catalog: Catalog) -> None:
    """List published reports, forget lost ones, and remove leftovers of unfinished work in bucket and ``folder``.

    Lists every object of the bucket. Several workers may recover at the same time, and others publish meanwhile.
    """
    catalog.mend()
    # First the reports, then the rows, then the objects, so that nothing published meanwhile counts as lost.
    listed_before = set(catalog.report_ids())
    rows = store.index.all_files(damaged=True)
    undamaged_rows = store.index.all_files()
    objects = _find_objects(store)
    version.require_names(file.name for report_objects in objects.values() for file in _parse_files(report_objects))
    for report_id, report_objects in objects.items():
        if f"{report_id}{_DATABASE}" not in rows.get(report_id, {}):
            _list_report(store, catalog, report_id, report_objects)
    for report_id in listed_before - rows.keys() - objects.keys():
        catalog.unlist_report(report_id)  # of an older library, or all of it is gone
    listed = set(catalog.report_ids())
    for report_id, files in rows.items():
        report_objects = objects.get(report_id, {})
        is_gone = _forget_lost(store, catalog, report_id, files, report_objects, is_listed=report_id in listed)
        has_only_row = report_id not in listed and f"{report_id}{_DATABASE}" in undamaged_rows.get(report_id, {})
        if not is_gone and has_only_row:
            _list_report(store, catalog, report_id, report_objects)
    catalog.complete_listing()
    _remove_unnamed(store, objects)
    _remove_abandoned(folder.work)
    _remove_abandoned(folder.folder / "fetching")


def _find_objects(store: ObjectStore) -> dict[str, Objects]:
    """Return the objects of each report."""
    objects: dict[str, Objects] = {}
    for stored_object in store.bucket.list(FOLDER):
        report_id = stored_object.key.removeprefix(f"{FOLDER}/").partition("/")[0]
        objects.setdefault(report_id, {})[stored_object.key] = stored_object
    return objects


def _list_report(store: ObjectStore, catalog: Catalog, report_id: str, objects: Objects) -> None:
    """List a report that the catalog lacks, with its database and the files beside it."""
    newest = _find_newest(objects)
    database = max((file for file in newest.values() if _is_database(file)), key=_read_schema, default=None)
    if database is None:
        return
    try:
        text = store.bucket.read(database.key_of(_name_manifest(database)), _MOST_BYTES)
        manifest = replace(Manifest.from_json(text.decode()), schema_version=_read_schema(database))
    except (GoneError, ValueError):
        manifest = None
    if manifest is None or manifest.id != report_id:
        _log.warning("The manifest of %s in the bucket cannot be read; its source has to be dropped again.", report_id)
        return
    for file in newest.values():
        store.index.claim(file)
    catalog.add_report(manifest)


def _find_newest(objects: Objects) -> dict[str, StoredFile]:
    """Return the newest file of each name; a database only if its manifest exists, too."""
    newest: dict[str, StoredFile] = {}
    for file in sorted(_parse_files(objects), key=lambda file: file.time_ns):
        is_whole = not _is_database(file) or file.key_of(_name_manifest(file)) in objects
        if is_whole and (_is_database(file) or version.parse_schema(file.name) is None):
            newest[file.name] = file
    return newest


def _parse_files(objects: Objects) -> list[StoredFile]:
    return [
        file for stored_object in objects.values() if (file := StoredFile.parse(stored_object.key, stored_object.size))
    ]


def _is_database(file: StoredFile) -> bool:
    return file.name.endswith(".duckdb") and version.parse_schema(file.name) is not None


def _read_schema(file: StoredFile) -> int:
    """Return the schema version of a report's database."""
    return version.parse_schema(file.name) or 0


def _name_manifest(database: StoredFile) -> str:
    return f"{database.name.removesuffix('.duckdb')}.json"


def _forget_lost(
    store: ObjectStore,
    catalog: Catalog,
    report_id: str,
    files: dict[str, StoredFile],
    objects: Objects,
    *,
    is_listed: bool,
) -> bool:
    """Remove the rows of files that the bucket lacks; return True if the report itself is lost."""
    lost = [name for name, file in files.items() if file.key not in objects]
    if lost:
        now = store.index.files_of(
            report_id, damaged=True
        )  # another process may have replaced or deleted a file meanwhile
        lost = [name for name in lost if now.get(name) == files[name]]
        store.index.forget(report_id, lost)
    database = f"{report_id}{_DATABASE}"
    if any(_is_database(file) for name, file in files.items() if name not in lost and name != database):
        if not is_listed or database in lost:
            _list_report(store, catalog, report_id, objects)  # as an older version made it
        return False
    if database not in lost and (database in files or not is_listed):
        if database not in files and all(
            stored_object.time_ns < _compute_left_before() for stored_object in objects.values()
        ):
            store.index.forget_all(report_id)  # put while the report was deleted
        return False
    _log.warning("The file of %s is not in the bucket; its source is converted again.", report_id)
    catalog.unlist_report(report_id)
    store.remove_copies(report_id)
    return True


def _remove_unnamed(store: ObjectStore, objects: dict[str, Objects]) -> None:
    """Remove old objects that no row names."""
    named: set[str] = set()
    for files in store.index.all_files().values():
        for file in files.values():
            named |= {file.key, file.key_of(file.name.removesuffix(".duckdb") + ".json")}
    before = _compute_left_before()
    old = [
        stored_object.key
        for by_key in objects.values()
        for stored_object in by_key.values()
        if stored_object.time_ns < before
    ]
    store.remove([key for key in old if key not in named])


def _compute_left_before() -> int:
    """Return the time, in ns since 1970, before which whatever belongs to nothing was left behind."""
    return time.time_ns() - int(LEFT_S * 1e9)


def _remove_abandoned(folder: Path) -> None:
    """Remove files and folders of processes that have ended; running ones write to theirs."""
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

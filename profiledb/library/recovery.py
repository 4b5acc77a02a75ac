"""Brings the folder of a library and its catalog together, after a crash or where files were damaged.

A report is what has a database and a manifest. ``Library.publish`` writes the manifest, then the database, then the
entry in the catalog: where it was stopped, what is there tells how far it came.
"""

import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from profiledb.library import manifest_rebuild, version
from profiledb.library.catalog import Manifest
from profiledb.report import report_pair, sidecar
from profiledb.report.durable import write_text
from profiledb.report.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from profiledb.library.library import Library

_log = logging.getLogger("warpdeck")
_DAMAGED = ".damaged"


def recover(library: "Library") -> None:
    """Lists what was published, forgets what is gone; what is damaged fails by itself and keeps nothing else.

    Left-over work is removed. A damaged catalog is set aside, and a new one made. A damaged manifest is made anew from
    the catalog or from the database. A report of which neither can be read is set aside: its file in the inbox is
    converted again. So is that of one that an older schema made, which is listed until then.
    """
    shutil.rmtree(library.work, ignore_errors=True)
    library.catalog.mend()
    listed = {manifest.id: manifest for manifest in library.list()}
    for report_id in sorted(_published(library)):
        _list(library, report_id, listed.get(report_id))
    for report_id in sorted({path.name.partition(".")[0] for path in library.reports.glob("*.v*.duckdb")}):
        _list_older(library, report_id, listed.get(report_id))
    for report_id in listed:
        _forget_gone(library, report_id)
    _sweep(library)


def _published(library: "Library") -> set[str]:
    """Ids of the reports of which there is a manifest or a database."""
    endings = (f".v{SCHEMA_VERSION}.json", f".v{SCHEMA_VERSION}.duckdb")
    return {path.name.removesuffix(end) for end in endings for path in library.reports.glob(f"*{end}")}


def list_again(library: "Library", report_id: str) -> bool:
    """Lists a report whose files are there; whether it was not listed."""
    if report_id in library.catalog.report_ids() or not library.path(report_id).exists():
        return False
    _list(library, report_id, None)
    return True


def _list(library: "Library", report_id: str, listed: Manifest | None) -> None:
    path = library.manifest_path(report_id)
    if not library.path(report_id).exists():
        path.unlink()  # it was about to be published
        return
    manifest = _manifest(path, report_id)
    if manifest is None:
        manifest = listed or manifest_rebuild.manifest(library.path(report_id), report_id)
        if manifest is None:
            _set_aside(library, report_id)
            return
        _log.warning("The manifest of %s was damaged or gone; it is made anew.", manifest.name)
        library.work.mkdir(exist_ok=True)
        write_text(path, manifest.to_json(), library.work / path.name)
    if listed is None:
        library.catalog.add_report(manifest)


def _list_older(library: "Library", report_id: str, listed: Manifest | None) -> None:
    """Lists a report of which there is no database but one that an earlier schema made."""
    database = None if library.path(report_id).exists() else library.older_database(report_id)
    if database is None:
        return
    made_by = version.of_report(database.name) or 0
    if listed and listed.schema_version == made_by:
        return
    manifest = _manifest(database.with_suffix(".json"), report_id) or listed
    if manifest is None:
        _log.warning("The manifest of %s cannot be read. Drop the report's source file again.", database)
        return
    library.catalog.add_report(replace(manifest, schema_version=made_by))


def _manifest(path: Path, report_id: str) -> Manifest | None:
    """The manifest of a report; None where it cannot be read, or is that of another one."""
    try:
        manifest = Manifest.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if manifest.id == report_id else None


def _set_aside(library: "Library", report_id: str) -> None:
    """Gives the files of a report of which nothing can be read names that no report has."""
    for path in (library.path(report_id), library.manifest_path(report_id)):
        if path.exists():
            path.replace(path.with_name(path.name + _DAMAGED))
            _log.warning("%s cannot be read. It was renamed; drop its source file again.", path)


def _forget_gone(library: "Library", report_id: str) -> None:
    if library.path(report_id).exists() or library.older_database(report_id):
        return
    if library.catalog.shared or any(library.older(report_id)):
        library.catalog.unlist_report(report_id)  # a disk of many machines may have lost it: what was said of it stays
    else:
        library.catalog.remove_report(report_id)


def _sweep(library: "Library") -> None:
    """Removes what lies beside reports that are gone."""
    there = _with_files(library)
    for suffix in (*sidecar.SUFFIX.values(), _DAMAGED):
        for path in library.reports.glob(f"*{suffix}"):
            report_id = path.name.removesuffix(suffix)
            if "." not in report_id and report_id not in there:
                path.unlink(missing_ok=True)
    for path in library.reports.glob(f"*{report_pair.SUFFIX}"):
        if path.name.partition(".")[0] not in there:
            path.unlink(missing_ok=True)
    library.derived.remove_others({report_id for report_id in there if library.path(report_id).exists()})
    shutil.rmtree(library.work, ignore_errors=True)


def _with_files(library: "Library") -> set[str]:
    """Ids of the reports of which there is any file of any schema."""
    parts = (name.split(".", 2) for name in library.there())
    return {one[0] for one in parts if len(one) > 1 and one[1].startswith("v")}

"""Bring the folder of a library and its catalog together, after a crash or after files were damaged.

A report is a database with a manifest. ``FolderStorage.publish`` writes the manifest, then the database, then the row
of the catalog, so the files that exist tell at which step it was stopped.
"""

import logging
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb

from profiledb.library import manifest_rebuild, version
from profiledb.library.catalog import Catalog
from profiledb.library.report_folder import ReportFolder
from profiledb.report import report_pair, sidecar
from profiledb.report.durable import write_text
from profiledb.report.manifest import Manifest
from profiledb.report.preview import is_preview
from profiledb.report.schema import SCHEMA_VERSION

_log = logging.getLogger("warpdeck")
_DAMAGED = ".damaged"


def recover(files: ReportFolder, catalog: Catalog) -> None:
    """List published reports, forget lost ones, and remove unfinished work.

    A damaged file affects its own report alone. A damaged catalog is set aside and a new one made. A damaged manifest
    is made anew from the catalog or from the database; if neither can be read, the report's files are set aside and
    its source in the inbox is converted again. A report of an older schema stays listed until it is upgraded.
    """
    shutil.rmtree(files.work, ignore_errors=True)
    catalog.mend()
    listed = {manifest.id: manifest for manifest in catalog.reports()}
    for report_id in sorted(_find_published(files)):
        _list_report(files, catalog, report_id, listed.get(report_id))
    for report_id in sorted({path.name.partition(".")[0] for path in files.reports.glob("*.v*.duckdb")}):
        _list_outdated(files, catalog, report_id, listed.get(report_id))
    for report in listed.values():
        _unlist_lost(files, catalog, report)
    catalog.complete_listing()
    _remove_orphans(files)


def relist(files: ReportFolder, catalog: Catalog, report_id: str) -> bool:
    """List a report whose files exist; return True if it was not listed."""
    if catalog.listing.get([report_id]) or not files.database(report_id).exists():
        return False
    _list_report(files, catalog, report_id, None)
    return True


def _find_published(files: ReportFolder) -> set[str]:
    """Return the ids of the reports that have a manifest or a database."""
    endings = (f".v{SCHEMA_VERSION}.json", f".v{SCHEMA_VERSION}.duckdb")
    return {path.name.removesuffix(end) for end in endings for path in files.reports.glob(f"*{end}")}


def _list_report(files: ReportFolder, catalog: Catalog, report_id: str, listed: Manifest | None) -> None:
    path = files.manifest(report_id)
    if not files.database(report_id).exists():
        path.unlink()  # publishing was stopped before the database
        return
    manifest = _read_manifest(path, report_id)
    is_preparing = any(one and one.preparing for one in (manifest, listed))
    if is_preparing and _is_preview(files.database(report_id)):
        files.remove(report_id)  # its conversion has ended, and the source is converted again
        return
    if manifest is None:
        manifest = listed or manifest_rebuild.rebuild_manifest(files.database(report_id), report_id)
        if manifest is None:
            _set_aside(files, report_id)
            return
        _log.warning("The manifest of %s was damaged or gone; it is made anew.", manifest.name)
        files.work.mkdir(exist_ok=True)
        write_text(path, manifest.to_json(), files.work / path.name)
    if listed is None or listed.preparing:
        catalog.add_report(manifest)


def _is_preview(database: Path) -> bool:
    """Return True for a preview, and for a file that does not open where there was one."""
    try:
        return is_preview(database)
    except duckdb.Error:
        return True


def _list_outdated(files: ReportFolder, catalog: Catalog, report_id: str, listed: Manifest | None) -> None:
    """List a report whose only database is of an earlier schema."""
    database = None if files.database(report_id).exists() else files.outdated_database(report_id)
    if database is None:
        return
    schema = version.parse_schema(database.name) or 0
    if listed and listed.schema_version == schema:
        return
    manifest = _read_manifest(database.with_suffix(".json"), report_id) or listed
    if manifest is None:
        _log.warning("The manifest of %s cannot be read. Drop the report's source file again.", database)
        return
    catalog.add_report(replace(manifest, schema_version=schema))


def _read_manifest(path: Path, report_id: str) -> Manifest | None:
    """Read the manifest of a report; None if it cannot be read or is another report's."""
    try:
        manifest = Manifest.from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if manifest.id == report_id else None


def _set_aside(files: ReportFolder, report_id: str) -> None:
    """Rename the unreadable files of a report, so that no report has their names."""
    for path in (files.database(report_id), files.manifest(report_id)):
        if path.exists():
            path.replace(path.with_name(path.name + _DAMAGED))
            _log.warning("%s cannot be read. It was renamed; drop its source file again.", path)


def _unlist_lost(files: ReportFolder, catalog: Catalog, report: Manifest) -> None:
    report_id = report.id
    if files.database(report_id).exists() or files.outdated_database(report_id):
        return
    if catalog.shared or report.preparing or any(files.outdated(report_id)):
        catalog.unlist_report(report_id)  # a shared disk or a conversion may bring it back: keep labels and links
    else:
        catalog.remove_report(report_id)


def _remove_orphans(files: ReportFolder) -> None:
    """Remove files and answers of reports that no longer exist."""
    existing = _find_reports(files)
    for suffix in (*sidecar.SUFFIX.values(), _DAMAGED):
        for path in files.reports.glob(f"*{suffix}"):
            report_id = path.name.removesuffix(suffix)
            if "." not in report_id and report_id not in existing:
                path.unlink(missing_ok=True)
    for path in files.reports.glob(f"*{report_pair.SUFFIX}"):
        if path.name.partition(".")[0] not in existing:
            path.unlink(missing_ok=True)
    files.derived.remove_others({report_id for report_id in existing if files.database(report_id).exists()})
    shutil.rmtree(files.work, ignore_errors=True)


def _find_reports(files: ReportFolder) -> set[str]:
    """Return the ids of the reports that have any file of any schema."""
    names = (path.name.split(".", 2) for path in files.reports.iterdir())
    return {parts[0] for parts in names if len(parts) > 1 and parts[1].startswith("v")}

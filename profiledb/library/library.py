"""The library: list, publish, open, link and delete reports."""

import os
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from pathlib import Path

import duckdb

from profiledb.errors import AnalysisError, CatalogError, DamagedError, StorageError
from profiledb.library import folder_recovery, library_id, preview_wait, version
from profiledb.library.catalog import FILE, LAUNCHES, TIMELINE, Catalog, Manifest
from profiledb.library.folder_storage import FolderStorage
from profiledb.library.report_links import Partner
from profiledb.library.storage import Storage
from profiledb.library.visitor import Visitor
from profiledb.report import damage, durable, preview, report_pair, sidecar, stored_views
from profiledb.report.attachments import BROKEN, Opened, State, Views, read_state
from profiledb.report.open_reports import OpenReports

__all__ = ["BROKEN", "Library"]

_AGAIN = "Delete the report on the Library page, then drop its source file again."
_REMEMBERED_LINKS = 64
"""Kinds of visitors whose links are remembered while the database is away."""
_REMEMBERED_STATES = 1024
"""Reports of which a process remembers that their database opens."""
_SET_UP = "plain names"
"""What ``Opened.made`` says of a cursor on which tables and views have their plain names."""
_WRONG_VALUE = (duckdb.ConversionException, duckdb.InvalidInputException)


class Library:
    """The reports of one library, as one visitor sees them (``asked_by``).

    Every method that takes the id of a report first calls ``require_visible``, which raises ReportNotFoundError for a
    report that the visitor may not see. A method that tells of all reports calls ``catalog.visibility.require_all``.

    May be shared by threads: each query gets a cursor of its own, because one DuckDB connection that several threads
    use at once can return wrong rows.

    Args:
        place: the folder of the library, or the storage of its files.
        catalog: the file in the library's folder if None.
    """

    def __init__(self, place: Path | Storage, catalog: Catalog | None = None) -> None:
        self.storage: Storage = FolderStorage(place) if isinstance(place, Path) else place
        self._files = self.storage.files
        self.folder = self._files.folder
        self.reports = self._files.reports
        self.work = self._files.work
        self.derived = self._files.derived
        self.catalog = catalog or Catalog(self.folder / FILE)
        self._attached = OpenReports(self._files.database, views=self.derived.views)
        self._intact: dict[str, tuple[State, bool]] = {}
        self._links: dict[tuple[Partner, object], dict[str, str]] = {}
        self.waits = False
        self.has_previews = isinstance(self.storage, FolderStorage) and self.catalog.shared is None
        self.storage.on_eviction(self._attached.close)

    def with_work_folder(self, name: str) -> "Library":
        """Return this library with a work folder of its own, on the library's disk.

        Recovery removes the work folder: workers that share a library must not share it.
        """
        own, storage, files = copy(self), copy(self.storage), copy(self._files)
        files.work = self._files.work / name
        storage.files = own._files = files  # noqa: SLF001 (a copy of this one)
        own.storage, own.work = storage, files.work
        return own

    def asked_by(self, visitor: Visitor) -> "Library":
        """Return this library for another visitor, without the reports that they may not see."""
        asked = copy(self)
        asked.catalog = self.catalog.asked_by(visitor)
        return asked

    def require_visible(self, *report_ids: str | None) -> None:
        """Raise ReportNotFoundError if the visitor may not see one of these reports; None is skipped."""
        self.catalog.visibility.require_reports(*(report_id for report_id in report_ids if report_id is not None))

    def require_own_database(self) -> None:
        """Raise ConfigError if the database of a team is another library's (library_id.py)."""
        library_id.require(self.storage, self.catalog.shared)

    def on_eviction(self, close: Callable[[str], bool]) -> None:
        """Register a function that closes a report's files before copies are removed; it returns False if in use."""
        self.storage.on_eviction(close)

    def use_one_thread(self) -> None:
        """Run each query on one thread from now on: it takes longer and less processor time."""
        self._attached.use_one_thread()

    def buffers_bytes(self) -> int:
        """Return the bytes that DuckDB holds for the reports that this process has open."""
        return self._attached.buffers_bytes()

    def list(self) -> list[Manifest]:
        """Return all visible reports, newest first; pages ask ``catalog.listing`` for those that they show."""
        return self.catalog.reports()

    def find(self, name: str) -> Manifest:
        """Return the visible report with this id, unique prefix of an id, or name; with ``waits`` once it is complete.

        Raises the errors of ``preview_wait.wait``.
        """
        find = self.catalog.listing.find
        return preview_wait.wait(self.folder, find, name) if self.waits else find(name)

    def path(self, report_id: str) -> Path:
        """Return the path of a report's database, whether it exists or not."""
        self.require_visible(report_id)
        return self._files.database(report_id)

    def manifest_path(self, report_id: str) -> Path:
        """Return the path of a report's manifest."""
        self.require_visible(report_id)
        return self._files.manifest(report_id)

    def pairs_path(self, systems_id: str, trace_id: str) -> Path:
        """Return the path of the table that pairs the kernels of a Systems report with those of a trace."""
        self.require_visible(systems_id, trace_id)
        return self._files.pairs(systems_id, trace_id)

    def sidecar_paths(self, report_id: str) -> tuple[Path, ...]:
        """Return the paths of a report's sidecars, whether they exist or not."""
        self.require_visible(report_id)
        return self._files.sidecars(report_id)

    def stamp(self, path: Path | str) -> int:
        """Return the time of a file's last change in ns since 1970, the same on every server; 0 if there is none."""
        if not self.catalog.visibility.sees_all:  # lists ask for tens of thousands of files
            self.require_visible(self._files.owner(str(path)))
        return self.storage.modified_ns(str(path))

    def look_at(self, report_ids: Collection[str]) -> None:
        """Ask the storage once about the files of reports whose stamps a list is about to ask for."""
        self.require_visible(*report_ids)
        self.storage.look_at(report_ids)

    def file_times(self) -> dict[str, dict[str, int]]:
        """Return the times of all reports' files and findings in ns since 1970; for visitors who see all."""
        self.catalog.visibility.require_all()
        return self.storage.file_times()

    def report_bytes(self) -> dict[str, int]:
        """Return the size of each report with its sidecars and prepared files; for visitors who see all."""
        self.catalog.visibility.require_all()
        return self.storage.report_bytes()

    def check_reachable(self) -> None:
        """Raise OSError or StorageError if the reports cannot be reached, such as on a disk that is not mounted."""
        self.storage.check_reachable()

    def fetch(self, report_id: str) -> None:
        """Bring a report's present files to this machine, if the library keeps them elsewhere.

        Raises:
            StorageError: a file is neither here nor available.
            DamagedError: a file is damaged in the bucket.
        """
        self.require_visible(report_id)
        try:
            self.storage.fetch(report_id)
        except StorageError as error:
            name = self._get_name(report_id)
            raise StorageError(f"{name} cannot be fetched. {error.message}", hint=error.hint) from error
        except DamagedError:
            raise self._make_damage_error(report_id) from None

    def is_here(self, report_id: str) -> bool:
        """Return True if ``fetch`` has nothing to do."""
        self.require_visible(report_id)
        return self.storage.is_here(report_id)

    def fetched_bytes(self, report_id: str) -> tuple[int, int]:
        """Return the bytes that have arrived of the file being fetched, and the size of the report's largest file."""
        self.require_visible(report_id)
        return self.storage.fetched_bytes(report_id)

    def fetch_file(self, report_id: str, path: Path) -> None:
        """Bring one file in ``reports`` that queries do without, such as a timeline; raises as ``fetch``."""
        self.require_visible(report_id, self._files.owner(str(path)))
        self.storage.fetch_file(report_id, path.name)

    def fetch_in_background(self, report_id: str, name: str) -> None:
        """Start to bring a small file among the answers and return at once."""
        self.require_visible(report_id)
        self.storage.fetch_in_background(report_id, name)

    def share_prepared(self, report_id: str) -> None:
        """Store a report's timeline, findings and answers where other servers find them."""
        self.require_visible(report_id)
        self.storage.share_prepared(report_id)

    def publish(self, database: Path, manifest: Manifest) -> None:
        """Store a finished database and list its report. ``database`` lies on the library's disk and is moved.

        Only who sees all reports may publish: a new report is visible to nobody yet.
        """
        self.catalog.visibility.require_all()
        self.storage.publish(database, manifest, self.catalog)

    def relist(self, report_id: str) -> bool:
        """List a report that was published while the catalog could not be written; return True if it was missing."""
        self.require_visible(report_id)
        return folder_recovery.relist(self._files, self.catalog, report_id)

    def take_over(self, report_id: str, path: Path, manifest: str) -> bool:
        """Copy a file of another library's report, with its time.

        Args:
            report_id: the report.
            path: the file, in a folder such as ``reports``; it stays.
            manifest: of the report, JSON.

        Returns:
            False if the file is here already.

        Raises:
            ConfigError: another file has its name here.
            DamagedError: the copy differs from the file.
        """
        self.require_visible(report_id)
        return self.storage.take_over(report_id, path, manifest)

    def delete(self, report_id: str, summary: str = "") -> None:
        """Remove a report, damaged or not. Readers that have it open keep their snapshot.

        With a summary the catalog keeps this of it (``Catalog.remove_report``).
        """
        self.require_visible(report_id)
        self._attached.close(report_id)
        self.storage.delete(report_id, self.catalog, summary)

    def withdraw(self, report_id: str) -> None:
        """Remove a preview whose conversion has ended without a report; labels and links stay for the next one."""
        self.require_visible(report_id)
        self._attached.close(report_id)
        self.catalog.unlist_report(report_id)
        self._files.remove(report_id)

    def replace(self, before: str, after: str) -> None:
        """Remove a report in favor of another one, which takes over its labels and links."""
        self.require_visible(before, after)
        self.catalog.hand_over(before, after)
        self.delete(before)

    def is_intact(self, report_id: str) -> bool:
        """Return True if the library has the database of a report and nothing has shown damage.

        Opens a database on this machine once, which takes milliseconds; while the file stays the same, later calls only
        look at its state. A database that is still in the bucket alone counts as intact.
        """
        self.require_visible(report_id)
        if not self.storage.has_database(report_id):
            return False
        return not self.storage.is_here(report_id) or self._can_open(report_id)

    def is_safe(self, report_id: str) -> bool:
        """Return True if the database is intact where the library keeps it, so that its source may be deleted."""
        self.require_visible(report_id)
        return self.is_intact(report_id) and self.storage.confirm_database(report_id)

    def has_sidecar(self, report_id: str, kind: sidecar.Kind) -> bool:
        """Return True if the program of a report left a sidecar of this kind."""
        self.require_visible(report_id)
        return self.stamp(sidecar.get_path(self.reports, report_id, kind)) != 0

    def put_sidecar(self, report_id: str, kind: sidecar.Kind, text: str) -> None:
        """Write a sidecar beside a report, in place of an earlier one; running queries keep the old one."""
        self.require_visible(report_id)
        self.work.mkdir(parents=True, exist_ok=True)
        source = self.work / f"{report_id}-{os.getpid()}{sidecar.SUFFIX[kind]}"
        source.write_text(text, encoding="utf-8", newline="")
        self.storage.put(report_id, sidecar.get_path(self.reports, report_id, kind).name, source)

    def link(self, systems: str, compute: str) -> None:
        """Link a Systems report to the Compute report of the same program; both named as for ``find``.

        Raises:
            AnalysisError: one of them is of another kind.
            ReportNotFoundError: one of them does not exist.
        """
        reports = self.find(systems), self.find(compute)
        for report, subject, product in zip(reports, (TIMELINE, LAUNCHES), ("Systems", "Compute"), strict=True):
            if subject not in report.subjects:
                raise AnalysisError(
                    f"{report.name} is not a report of Nsight {product}.",
                    hint="Link a report of Nsight Systems to one of Nsight Compute.",
                )
        self.catalog.links.put(reports[0].id, reports[1].id)

    def link_trace(self, systems_id: str, trace_id: str, pairs: Path) -> None:
        """Link a Systems report to a trace of the same program.

        ``pairs``, a file in ``work/`` that is moved, says which kernel is which (studies/trace_link).
        """
        self.require_visible(systems_id, trace_id)
        self.storage.put(systems_id, self.pairs_path(systems_id, trace_id).name, pairs)
        self.catalog.links.put(systems_id, trace_id, "trace")

    def unlink(self, systems_id: str, to: Partner = "ncu") -> None:
        """Remove the link of a Systems report, if it has one."""
        self.require_visible(systems_id)
        self.catalog.links.remove(systems_id, to)

    def linked_report(self, systems_id: str, to: Partner = "ncu") -> str | None:
        """Return the id of the report that a Systems report is linked to, if it is visible and of this schema.

        While the database of a team is away, the last known link counts.
        """
        self.require_visible(systems_id)
        key = (to, self.catalog.visibility.cache_key())
        try:
            links = self.catalog.links.all(to)
        except CatalogError:
            if self.catalog.shared is None or key not in self._links:
                raise
            links = self._links[key]
        else:
            if len(self._links) >= _REMEMBERED_LINKS:
                self._links.clear()
            self._links[key] = links
        partner = links.get(systems_id)
        if partner is None:
            return None
        needed = self.path(partner) if to == "ncu" else self.pairs_path(systems_id, partner)
        return partner if self.stamp(needed) else None

    def recover(self) -> None:
        """Bring files and catalog together; for the worker that holds the library.

        Raises:
            ConfigError: the catalog is another library's, or a later version of Warpdeck has changed this one.
        """
        self.catalog.visibility.require_all()
        version.require(self.folder)
        version.require_storage(self.storage)
        self.require_own_database()
        version.write_number(self.storage)
        self.storage.recover(self.catalog)

    def outdated_database(self, report_id: str) -> Path | None:
        """Return the newest database of a report that an earlier schema made."""
        self.require_visible(report_id)
        name = version.find_outdated(self.storage.database_names(report_id))
        return self.reports / name if name else None

    def cursor(
        self, report_id: str, partner: str | None = None, views: Sequence[Views] = (), joins: Partner = "ncu"
    ) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Open a read-only cursor on which the tables of a report, and these views, have their plain names.

        Args:
            report_id: the report.
            partner: id of a report of the same program, which answers all names that begin as ``joins`` says.
            views: views of the query, each after those that it needs (query/views.py).
            joins: kind of the partner: a Compute report, or a trace that the report is linked to.

        Raises:
            ReportNotFoundError: the file of one of them is gone.
            DamagedError: the file of one of them, or a sidecar of the report, is damaged.
        """
        self.require_visible(report_id, partner)
        return self._open_cursor(report_id, partner, views, joins)

    def kept_cursor(
        self, report_id: str, partner: str | None, views: Sequence[Views], joins: Partner, key: Hashable
    ) -> AbstractContextManager[Opened]:
        """Open such a cursor, or reuse the one kept under this key with its temporary tables and views.

        Raises the same errors as ``cursor``.
        """
        self.require_visible(report_id, partner)
        return self._open_kept_cursor(report_id, partner, views, joins, key)

    @contextmanager
    def _open_cursor(
        self, report_id: str, partner: str | None, views: Sequence[Views], joins: Partner
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        report_ids = [report_id] if partner is None else [report_id, partner]
        with self._open_readable(report_ids), self._attached.cursor(report_ids, views) as (cursor, catalogs):
            self._set_up(cursor, report_ids, catalogs, joins)
            yield cursor

    @contextmanager
    def _open_kept_cursor(
        self, report_id: str, partner: str | None, views: Sequence[Views], joins: Partner, key: Hashable
    ) -> Iterator[Opened]:
        report_ids = [report_id] if partner is None else [report_id, partner]
        files = [*self.sidecar_paths(report_id), *([self._files.pairs(*report_ids)] if partner else [])]
        stamps = tuple(self.stamp(path) for path in files)
        with (
            self._open_readable(report_ids),
            self._attached.kept_cursor(report_ids, views, (joins, stamps, key)) as opened,
        ):
            if _SET_UP not in opened.made:
                self._set_up(opened.cursor, report_ids, opened.catalogs, joins)
                opened.made[_SET_UP] = True
            yield opened

    def _set_up(
        self, cursor: duckdb.DuckDBPyConnection, report_ids: Sequence[str], catalogs: Sequence[str], joins: Partner
    ) -> None:
        """Give the tables of reports and the views their plain names on a cursor."""
        cursor.execute(f"SET search_path = '{catalogs[0]},{stored_views.CATALOG},memory'")
        if len(report_ids) > 1:
            pairs = self._files.pairs(*report_ids) if joins == "trace" else None
            report_pair.join(cursor, catalogs[1], pairs)
        sidecar.join(cursor, self.reports, report_ids[0])

    @contextmanager
    def _open_readable(self, report_ids: Sequence[str]) -> Iterator[None]:
        """Fetch reports, and explain errors of queries on files that are damaged."""
        for one in report_ids:
            self.fetch(one)
        for one in report_ids:
            self._require_readable(one)
        try:
            yield
        except (duckdb.Error, AnalysisError) as error:
            cause = error if isinstance(error, duckdb.Error) else error.__cause__
            if isinstance(cause, duckdb.Error) and preview.MESSAGE in str(cause):
                raise preview_wait.make_error(self._get_name(report_ids[0])) from error
            if isinstance(cause, duckdb.Error) and (damaged := self._explain_damage(report_ids, cause)):
                raise damaged from error
            raise

    def _require_readable(self, report_id: str) -> None:
        """Fetch a damaged copy anew; raise DamagedError, even if this query reads around it, or OlderReportError."""
        path = self._files.database(report_id)
        if path.exists() and not self.is_intact(report_id):
            if self.storage.check_copies(report_id):
                raise self._make_damage_error(report_id)
            self._attached.close(report_id)
            self.fetch(report_id)
            if path.exists() and not self.is_intact(report_id):
                raise self._make_damage_error(report_id)
        if not path.exists():
            for report in self.catalog.listing.get([report_id]).values():
                report.require_current()

    def _explain_damage(self, report_ids: Sequence[str], error: duckdb.Error) -> DamagedError | None:
        """Find the damaged file behind a failed query; None if all files are as they were written."""
        damaged = self._find_damage(report_ids, error)
        if damaged is None:
            return None
        for report_id in report_ids:
            if not self.storage.check_copies(report_id):
                self._attached.close(report_id)
                self._files.damage_note(report_id).unlink(missing_ok=True)
                hint = "Load the page again: it is fetched anew."
                return DamagedError(f"The copy of {self._get_name(report_id)} on this server was damaged.", hint=hint)
            if self._files.damage_note(report_id).exists():
                self.storage.report_damage(report_id)
        return damaged

    def _find_damage(self, report_ids: Sequence[str], error: duckdb.Error) -> DamagedError | None:
        for report_id in report_ids:
            path = self._files.database(report_id)
            file = read_state(path)
            if file and not isinstance(error, _WRONG_VALUE) and damage.is_damaged(path, error):
                durable.try_write_text(self._files.damage_note(report_id), str(file))
                return self._make_damage_error(report_id)
        if kind := damage.find_damaged_sidecar(self.reports, report_ids[0]):
            ending = sidecar.SUFFIX[kind]
            return DamagedError(
                f"The library's copy of NAME{ending} for {self._get_name(report_ids[0])} is damaged.",
                hint=f"Drop NAME{ending} again; NAME is the report's name.",
            )
        return None

    def _can_open(self, report_id: str) -> bool:
        """Return True if the database on this machine opens and no query has found it damaged."""
        path = self._files.database(report_id)
        file = read_state(path)
        if file is None or self._is_noted_damaged(report_id, file):
            return False
        known = self._intact.get(report_id)
        if known is None or known[0] != file:
            if len(self._intact) >= _REMEMBERED_STATES:
                self._intact.clear()
            known = self._intact[report_id] = (file, damage.can_open(path))
        return known[1]

    def _is_noted_damaged(self, report_id: str, file: State) -> bool:
        try:
            return self._files.damage_note(report_id).read_text(encoding="utf-8") == str(file)
        except (OSError, ValueError):
            return False

    def _make_damage_error(self, report_id: str) -> DamagedError:
        return DamagedError(f"The file of {self._get_name(report_id)} in the library is damaged.", hint=_AGAIN)

    def _get_name(self, report_id: str) -> str:
        known = self.catalog.listing.get([report_id])
        return known[report_id].name if known else report_id

"""The folder of reports: list, publish, open, delete."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path

import duckdb

from profiledb.errors import AnalysisError, CatalogError, DamagedError
from profiledb.library import file_hashes, library_id, recovery, version
from profiledb.library.access_check import look_first
from profiledb.library.catalog import FILE, LAUNCHES, TIMELINE, Catalog, Manifest
from profiledb.library.derived_files import derived_files
from profiledb.library.report_files import Files
from profiledb.library.report_links import Partner
from profiledb.library.visitor import Visitor
from profiledb.report import damage, durable, report_pair, sidecar
from profiledb.report.attachments import BROKEN, State, Views, state
from profiledb.report.open_reports import Attached
from profiledb.report.report_lookup import find
from profiledb.report.schema import SCHEMA_VERSION

__all__ = ["BROKEN", "Library"]

_AGAIN = "Delete the report on the Library page, then drop its source file again."
_LINKED = 64
"""Kinds of visitors, by what they see, whose links are remembered for the time when a database is away."""
_WRONG_VALUE = (duckdb.ConversionException, duckdb.InvalidInputException)


def report_path(library: Path, report_id: str) -> Path:
    """Where the database of a report is in a library's folder, whether it exists or not."""
    return library / "reports" / f"{report_id}.v{SCHEMA_VERSION}.duckdb"


class Library(Files):
    """Reports of one folder: ``reports/`` with a database, a manifest and sidecars each, ``catalog.sqlite``, ``work/``.

    ``derived/`` holds what was worked out from them (derived_files.py), and may be removed at any time.

    May be shared by threads: each query gets a cursor of its own, because one DuckDB connection that several
    threads use at once can return wrong rows.

    Whatever takes the id of a report raises ReportNotFoundError where whoever asks (``asked_by``) does not see it: by
    ``look_first``, so that no method can forget it.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        look_first(cls)

    def __init__(self, folder: Path, catalog: Catalog | None = None) -> None:
        """Opens a library; its catalog is the file in its folder where none is named."""
        version.require(folder)
        self.folder = folder
        self.reports = folder / "reports"
        self.work = folder / "work"
        self.derived = derived_files(folder)
        self.reports.mkdir(parents=True, exist_ok=True)
        self.catalog = catalog or Catalog(folder / FILE)
        self._attached = Attached(partial(report_path, self.folder))
        self._intact: dict[str, tuple[State, bool]] = {}
        self._linked: dict[tuple[Partner, object], dict[str, str]] = {}
        self.closers: list[Callable[[str], bool]] = [self._attached.close]
        """Each closes the files of a report that it has open, and says whether none is open now."""

    def asked_by(self, visitor: Visitor) -> "Library":
        """The same library as somebody else asks it, without what they do not see (``Catalog.asked_by``)."""
        asked = copy(self)
        asked.catalog = self.catalog.asked_by(visitor)
        return asked

    def spare(self) -> None:
        """From now on one thread works on any query: it takes longer, and less of the processor."""
        self._attached.spare()

    def buffers_bytes(self) -> int:
        """Return the bytes that DuckDB holds for the reports that this process has open."""
        return self._attached.buffers_bytes()

    def list(self) -> list[Manifest]:
        """All reports, the newest first."""
        return self.catalog.reports()

    def path(self, report_id: str) -> Path:
        """Where the database of a report is, whether it exists or not."""
        return report_path(self.folder, report_id)

    def manifest_path(self, report_id: str) -> Path:
        """Where the manifest of a report is."""
        return self.reports / f"{report_id}.v{SCHEMA_VERSION}.json"

    def find(self, name: str) -> Manifest:
        """The report that a name means, as ``find`` above has it."""
        return find(self.list(), name)

    def publish(self, database: Path, manifest: Manifest) -> None:
        """Moves a finished database into the library; from then on the report exists.

        ``database`` must be on the library's file system. In this order, each step on the disk before the next: the
        manifest, the database, the entry in the catalog. A manifest without a database is swept away by ``recover``; a
        report that is not listed is listed by it.
        """
        self.work.mkdir(parents=True, exist_ok=True)
        durable.write_text(self.manifest_path(manifest.id), manifest.to_json(), self.work / f"{manifest.id}.json")
        durable.move(database, self.path(manifest.id))
        self.catalog.add_report(manifest)
        for path in (*self.older(manifest.id), self._verdict(manifest.id)):
            path.unlink(missing_ok=True)

    def list_again(self, report_id: str) -> bool:
        """Lists a report that was published while the catalog could not be written; whether it was not listed."""
        return recovery.list_again(self, report_id)

    def take_over(self, report_id: str, path: Path, manifest: str) -> bool:  # noqa: ARG002 (for those in a bucket)
        """Takes a file of a report of another library, with its time; False where it is here already.

        Args:
            report_id: the report.
            path: the file, in a folder as ``reports`` is; it stays.
            manifest: of the report, JSON.

        Raises:
            ConfigError: another file has its name here.
            DamagedError: what was written is not what was read.
        """
        self.work.mkdir(parents=True, exist_ok=True)
        return file_hashes.copy(path, self.reports / path.name, self.work / path.name)

    def delete(self, report_id: str) -> None:
        """Removes a report, also one whose files are damaged. Readers that have it open keep their snapshot."""
        self._attached.close(report_id)
        self.catalog.remove_report(report_id)
        current = (self.path(report_id), self.manifest_path(report_id), self._verdict(report_id))
        for path in (*self.older(report_id), *current):
            path.unlink(missing_ok=True)
        for path in (*self.sidecars(report_id), *self.reports.glob(f"*{report_id}*{report_pair.SUFFIX}")):
            path.unlink(missing_ok=True)
        self.derived.remove(report_id)

    def replace(self, before: str, after: str) -> None:
        """Removes a report in favor of another one, which takes over its labels and links."""
        self.catalog.hand_over(before, after)
        self.delete(before)

    def intact(self, report_id: str) -> bool:
        """Whether the database of a report is there, opens, is whole, and no query has found it damaged.

        Cheap: some milliseconds at the first look, and a look at the folder as long as the file stays as it is.
        """
        path = self.path(report_id)
        file = state(path)
        if file is None or self._found_damaged(report_id, file):
            return False
        known = self._intact.get(report_id)
        if known is None or known[0] != file:
            known = self._intact[report_id] = (file, damage.opens(path))
        return known[1]

    def is_safe(self, report_id: str) -> bool:
        """Whether the database of a report is whole where the library keeps it, so that its source may go."""
        return self.intact(report_id)

    def link(self, nsys: str, ncu: str) -> None:
        """Links a Systems report to the Compute report of the same program; both by what ``find`` takes.

        Raises:
            AnalysisError: one of them is not of its kind.
            ReportNotFoundError: one of them is not there.
        """
        systems, compute = self.find(nsys), self.find(ncu)
        for report, subject, product in ((systems, TIMELINE, "Systems"), (compute, LAUNCHES, "Compute")):
            if subject not in report.subjects:
                raise AnalysisError(
                    f"{report.name} is not a report of Nsight {product}.",
                    hint="Link a report of Nsight Systems to one of Nsight Compute.",
                )
        self.catalog.links.put(systems.id, compute.id)

    def link_trace(self, nsys_id: str, trace_id: str, pairs: Path) -> None:
        """Links a Systems report to a trace of the same program.

        ``pairs``, a file in ``work/``, says which kernels are which (studies/traced.py); it is moved.
        """
        durable.move(pairs, self.pairs(nsys_id, trace_id))
        self.catalog.links.put(nsys_id, trace_id, "trace")

    def pairs(self, nsys_id: str, trace_id: str) -> Path:
        """Where it stands which kernels of a Systems report are which of a trace."""
        return self.reports / f"{nsys_id}.{trace_id}{report_pair.SUFFIX}"

    def unlink(self, nsys_id: str, to: Partner = "ncu") -> None:
        """Takes the link of a Systems report away, where it has one."""
        self.catalog.links.remove(nsys_id, to)

    def linked(self, nsys_id: str, to: Partner = "ncu") -> str | None:
        """The id of the report that a Systems report is linked to; None where it is not in the library, or an older
        version made it.

        While the database of a team is away it is the one that it was linked to.
        """
        seen = (to, self.catalog.sight.kind())
        try:
            links = self.catalog.links.all(to)
        except CatalogError:
            if self.catalog.shared is None or seen not in self._linked:
                raise
            links = self._linked[seen]
        else:
            if len(self._linked) >= _LINKED:
                self._linked.clear()
            self._linked[seen] = links
        partner = links.get(nsys_id)
        if partner is None:
            return None
        needed = self.path(partner) if to == "ncu" else self.pairs(nsys_id, partner)
        return partner if self.stamp(needed) else None

    def recover(self) -> None:
        """Brings folder and catalog together (recovery.py); only the worker that holds the library may call it.

        Raises:
            ConfigError: the catalog is that of another library, or a later version of Warpdeck has changed this one.
        """
        version.require(self.folder)
        library_id.require(self)
        version.stamp(self)
        recovery.recover(self)

    def older(self, report_id: str) -> Iterator[Path]:
        """Files of this report that queries do not read: an earlier schema made them, or they were set aside."""
        current = {self.path(report_id), self.manifest_path(report_id)}
        for path in self.reports.glob(f"{report_id}.v*"):
            made_by = version.of_report(path.name)
            if path not in current and (made_by is None or made_by < SCHEMA_VERSION):
                yield path

    def older_database(self, report_id: str) -> Path | None:
        """The newest database of this report that an earlier schema made; None where there is none."""
        names = self._databases(report_id)
        versions = {version.of_report(name) or SCHEMA_VERSION: name for name in names}
        newest = max((one for one in versions if one < SCHEMA_VERSION), default=None)
        return None if newest is None else self.reports / versions[newest]

    def _databases(self, report_id: str) -> Iterable[str]:
        """The names of the databases of a report, whatever schema made them."""
        return [path.name for path in self.reports.glob(f"{report_id}.v*.duckdb")]

    @contextmanager
    def cursor(
        self, report_id: str, partner: str | None = None, views: Sequence[Views] = (), joins: Partner = "ncu"
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor on which the tables of a report, and these views, answer to their plain names; read only.

        Args:
            report_id: the report.
            partner: id of a report of the same program, from which everything answers that begins as ``joins`` says.
            views: what the query builds on, each after those that it needs (query/views.py).
            joins: what the partner is: a Compute report, or a trace that the report is linked to.

        Raises:
            ReportNotFoundError: the file of one of them is gone.
            DamagedError: the file of one of them, or a file beside the report, is damaged.
        """
        held = [report_id] if partner is None else [report_id, partner]
        for key in held:
            self._refuse(key)
        try:
            with self._attached.cursor(held, views) as (cursor, catalogs):
                cursor.execute(f"SET search_path = '{catalogs[0]},memory'")
                if partner is not None:
                    report_pair.join(cursor, catalogs[1], self.pairs(report_id, partner) if joins == "trace" else None)
                sidecar.join(cursor, self.reports, report_id)
                yield cursor
        except (duckdb.Error, AnalysisError) as error:
            cause = error if isinstance(error, duckdb.Error) else error.__cause__
            if isinstance(cause, duckdb.Error) and (damaged := self._damage(held, cause)):
                raise damaged from error
            raise

    def _damage(self, held: Sequence[str], error: duckdb.Error) -> DamagedError | None:
        """What is damaged where a query on reports failed; None where all files are as they were written."""
        for report_id in held:
            path = self.path(report_id)
            file = state(path)
            if file and not isinstance(error, _WRONG_VALUE) and damage.is_damaged(path, error):
                durable.note(self._verdict(report_id), str(file))
                return self._damaged(report_id)
        if kind := damage.damaged_sidecar(self.reports, held[0]):
            ending = sidecar.SUFFIX[kind]
            return DamagedError(
                f"The library's copy of NAME{ending} for {self._name(held[0])} is damaged.",
                hint=f"Drop NAME{ending} again; NAME is the report's name.",
            )
        return None

    def _refuse(self, report_id: str) -> None:
        """Raises DamagedError for a file that is not whole, though this query might read around the damage, and
        OlderReportError for one that an earlier schema made."""
        if not self.path(report_id).exists():
            for report in self.list():
                if report.id == report_id:
                    report.require_current()
        elif not self.intact(report_id):
            raise self._damaged(report_id)

    def _found_damaged(self, report_id: str, file: State) -> bool:
        try:
            return self._verdict(report_id).read_text(encoding="utf-8") == str(file)
        except (OSError, ValueError):
            return False

    def _verdict(self, report_id: str) -> Path:
        """A note which file was found damaged, for all processes that use the library."""
        return self.reports / f"{report_id}.damaged"

    def _damaged(self, report_id: str) -> DamagedError:
        return DamagedError(f"The file of {self._name(report_id)} in the library is damaged.", hint=_AGAIN)

    def _name(self, report_id: str) -> str:
        return next((report.name for report in self.list() if report.id == report_id), report_id)


look_first(Library)

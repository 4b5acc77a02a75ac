"""The folder of reports: list, publish, open, delete."""

import shutil
import tempfile
import threading
import uuid
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb

from profiledb import pair, sidecar
from profiledb.catalog import Catalog, Manifest
from profiledb.errors import AnalysisError, ReportNotFoundError
from profiledb.schema import SCHEMA_VERSION, quote, read_sql

BROKEN = (duckdb.InternalException, duckdb.FatalException)
"""Errors of DuckDB itself, after which a connection is of no more use (a window over nothing, once in 200 runs)."""

OPEN_REPORTS = 32
"""Attachments kept open at once; the one that was not asked for the longest is closed first."""

VIEWS = (
    "views.sql",
    "views_nsys.sql",
    "views_memory.sql",
    "views_nvtx.sql",
    "views_ncu.sql",
    "views_launch.sql",
    "views_pair.sql",
    "views_phase.sql",
    "views_peak.sql",
    "views_sidecar.sql",
    "views_power.sql",
    "views_energy.sql",
    "views_step.sql",
    "views_nccl.sql",
    "views_timing.sql",
    "views_task.sql",
    "views_attention.sql",
)
"""What analyses share, in the order in which it is created."""


@cache
def shared_views() -> str:
    """SQL that creates what analyses share."""
    return "\n".join(map(read_sql, VIEWS))


class Library:
    """Reports of one folder: ``reports/`` with a database, a manifest and sidecars each, ``catalog.sqlite``, ``work/``.

    May be shared by threads: each query gets a cursor of its own, because one DuckDB connection that several
    threads use at once can return wrong rows.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reports = folder / "reports"
        self.work = folder / "work"
        self.reports.mkdir(parents=True, exist_ok=True)
        self.catalog = Catalog(folder / "catalog.sqlite")
        self._db: duckdb.DuckDBPyConnection | None = None
        self._attached: OrderedDict[str, str] = OrderedDict()
        self._in_use: Counter[str] = Counter()
        self._has_views = False
        self._lock = threading.Lock()

    def list(self) -> list[Manifest]:
        """All reports, the newest first."""
        return self.catalog.reports()

    def path(self, report_id: str) -> Path:
        """Where the database of a report is, whether it exists or not."""
        return self.reports / f"{report_id}.v{SCHEMA_VERSION}.duckdb"

    def manifest_path(self, report_id: str) -> Path:
        """Where the manifest of a report is."""
        return self.reports / f"{report_id}.v{SCHEMA_VERSION}.json"

    def find(self, name: str) -> Manifest:
        """The report that an id, a unique prefix of one, or a file name means (of equal names the newest).

        Raises:
            ReportNotFoundError: none does, or several do.
        """
        reports = self.list()
        exact = [r for r in reports if r.id == name] or [r for r in reports if r.name == name]
        if exact:
            return exact[0]
        begins = [r for r in reports if name and r.id.startswith(name)]
        if len(begins) == 1:
            return begins[0]
        if begins:
            ids = ", ".join(r.id for r in begins[:5])
            raise ReportNotFoundError(f"{name!r} is the beginning of {len(begins)} reports: {ids}.")
        raise ReportNotFoundError(
            f"No report is called {name!r}.", hint="python -m profiledb list shows the reports of this library."
        )

    def publish(self, database: Path, manifest: Manifest) -> None:
        """Moves a finished database into the library; from then on the report exists.

        ``database`` must be on the library's file system. The manifest is written first: a database without one
        does not count as a report, and a manifest without a database is swept away by ``recover``.
        """
        temporary = self.work / f"{manifest.id}.json"
        temporary.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(manifest.to_json(), encoding="utf-8")
        temporary.replace(self.manifest_path(manifest.id))
        database.replace(self.path(manifest.id))
        self.catalog.add_report(manifest)
        for path in self._older(manifest.id):
            path.unlink(missing_ok=True)

    def delete(self, report_id: str) -> None:
        """Removes a report. Readers that have it open keep their snapshot."""
        self._detach(report_id)
        self.catalog.remove_report(report_id)
        self.path(report_id).unlink(missing_ok=True)
        self.manifest_path(report_id).unlink(missing_ok=True)
        for path in self.sidecars(report_id):
            path.unlink(missing_ok=True)

    def sidecars(self, report_id: str) -> tuple[Path, ...]:
        """Where the sidecars of a report are (sidecar.py), whether they exist or not."""
        return tuple(sidecar.path(self.reports, report_id, kind) for kind in sidecar.SUFFIX)

    def put_sidecar(self, report_id: str, kind: sidecar.Kind, text: str) -> None:
        """Lays a sidecar beside a report, in place of the one that it had; queries that run keep the old one."""
        self.work.mkdir(parents=True, exist_ok=True)
        temporary = self.work / f"{report_id}{sidecar.SUFFIX[kind]}"
        temporary.write_text(text, encoding="utf-8", newline="")
        temporary.replace(sidecar.path(self.reports, report_id, kind))

    def link(self, nsys: str, ncu: str) -> None:
        """Links a Systems report to the Compute report of the same program; both by what ``find`` takes.

        Raises:
            AnalysisError: one of them is not of its kind.
            ReportNotFoundError: one of them is not there.
        """
        systems, compute = self.find(nsys), self.find(ncu)
        for report, kind, product in ((systems, "nsys", "Systems"), (compute, "ncu", "Compute")):
            if report.kind != kind:
                raise AnalysisError(
                    f"{report.name} is not a report of Nsight {product}.",
                    hint="A report of Nsight Systems is linked to one of Nsight Compute.",
                )
        self.catalog.link(systems.id, compute.id)

    def unlink(self, nsys_id: str) -> None:
        """Takes the link of a Systems report away, where it has one."""
        self.catalog.unlink(nsys_id)

    def linked(self, nsys_id: str) -> str | None:
        """The id of the Compute report that a Systems report is linked to; None where it is not in the library."""
        return self.catalog.links().get(nsys_id)

    def recover(self) -> None:
        """Brings folder and catalog together after a crash; only the worker that holds the library may call it.

        Left-over work is removed, a report that was published but not yet listed is listed, one whose file is gone
        is forgotten. One that an older schema made is taken off the list: its file in the inbox is converted again.
        """
        shutil.rmtree(self.work, ignore_errors=True)
        listed = {manifest.id for manifest in self.list()}
        for path in self.reports.glob(f"*.v{SCHEMA_VERSION}.json"):
            manifest = Manifest.from_json(path.read_text(encoding="utf-8"))
            if not self.path(manifest.id).exists():
                path.unlink()
            elif manifest.id not in listed:
                self.catalog.add_report(manifest)
        for report_id in listed:
            if self.path(report_id).exists():
                continue
            if any(self._older(report_id)):
                self.catalog.unlist_report(report_id)
            else:
                self.catalog.remove_report(report_id)
        for suffix in sidecar.SUFFIX.values():
            for path in self.reports.glob(f"*{suffix}"):
                if not any(self.reports.glob(f"{path.name.removesuffix(suffix)}.v*")):
                    path.unlink(missing_ok=True)

    def _older(self, report_id: str) -> Iterator[Path]:
        """Files of this report that an earlier version of the schema made; they cannot be read any more."""
        current = {self.path(report_id), self.manifest_path(report_id)}
        yield from (path for path in self.reports.glob(f"{report_id}.v*") if path not in current)

    @contextmanager
    def cursor(self, report_id: str, ncu: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor on which the tables of a report and the shared views answer to their plain names; read only.

        Args:
            report_id: the report.
            ncu: id of a Compute report from which everything of Nsight Compute (``ncu_*``) answers instead.

        Raises:
            ReportNotFoundError: the file of one of them is gone.
        """
        held = [report_id] if ncu is None else [report_id, ncu]
        with self._lock:
            catalogs = self._hold(held)
            cursor = self._connection().cursor()
        try:
            cursor.execute(f"SET search_path = '{catalogs[0]},memory'")
            if ncu is not None:
                pair.join(cursor, catalogs[1])
            sidecar.join(cursor, self.reports, report_id)
            yield cursor
        except BROKEN:
            self._reconnect()
            raise
        finally:
            cursor.close()
            with self._lock:
                self._in_use.subtract(held)

    def _hold(self, report_ids: Sequence[str]) -> Sequence[str]:
        """Attaches reports and keeps them so, the first also while the second takes its place; all of them or none."""
        self._in_use.update(report_ids)
        try:
            return [self._attach(report_id) for report_id in report_ids]
        except BaseException:
            self._in_use.subtract(report_ids)
            raise

    def _reconnect(self) -> None:
        """Forgets a connection that refuses every further query; what others still have open stays with them."""
        with self._lock:
            self._db = None
            self._attached.clear()
            self._has_views = False

    def _connection(self) -> duckdb.DuckDBPyConnection:
        if self._db is None:
            # Of its own, and not in ``work``: processes that share one overwrite each other's files, and a worker that
            # starts would remove them. DuckDB makes the folder when it needs one, and removes it when it closes.
            spill = Path(tempfile.gettempdir()) / f"warpdeck-{uuid.uuid4().hex}"
            self._db = duckdb.connect(config={"temp_directory": str(spill)})
        return self._db

    def _attach(self, report_id: str) -> str:
        if report_id in self._attached:
            self._attached.move_to_end(report_id)
            return self._attached[report_id]
        path = self.path(report_id)
        if not path.exists():
            raise ReportNotFoundError(
                "This report is no longer in the library.", hint="Drop its file again, or choose another report."
            )
        self._close_idle()
        catalog = f"r_{report_id}"
        db = self._connection()
        db.execute(f"ATTACH {quote(str(path))} AS {catalog} (READ_ONLY)")
        if not self._has_views:
            self._create_views(catalog)
            self._has_views = True
        self._attached[report_id] = catalog
        return catalog

    def _create_views(self, catalog: str) -> None:
        """The shared views; they are bound at each query, so they serve every report of this schema version."""
        with self._connection().cursor() as cursor:
            cursor.execute(f"SET search_path = 'memory,{catalog}'")
            cursor.execute(shared_views())

    def _close_idle(self) -> None:
        """Makes room for one more attachment; what a query is using at this moment stays."""
        idle = [report_id for report_id in self._attached if not self._in_use[report_id]]
        for report_id in idle[: max(0, len(self._attached) - OPEN_REPORTS + 1)]:
            self._close(report_id)

    def _detach(self, report_id: str) -> None:
        with self._lock:
            if report_id in self._attached and not self._in_use[report_id]:
                self._close(report_id)

    def _close(self, report_id: str) -> None:
        self._connection().execute(f"DETACH {self._attached.pop(report_id)}")

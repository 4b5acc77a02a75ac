"""A library whose files are objects of a bucket; its folder has copies of those that are in use."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from profiledb import config
from profiledb.errors import CatalogError, DamagedError, StorageError
from profiledb.library import library_id, version
from profiledb.library.bucket import answer_pack, bucket_recovery
from profiledb.library.bucket.bucket import Bucket, GoneError
from profiledb.library.bucket.copy_cache import Copies
from profiledb.library.bucket.object_index import File
from profiledb.library.bucket.object_store import Store
from profiledb.library.catalog import Catalog, Manifest
from profiledb.library.derived_files import FINDINGS
from profiledb.library.file_hashes import require_same, require_whole
from profiledb.library.library import Library
from profiledb.library.report_links import Partner
from profiledb.report import report_pair, sidecar
from profiledb.report.attachments import Views
from profiledb.report.sidecar import Kind

_log = logging.getLogger("warpdeck")
_UNPACKED = ".unpacked"


class StoredLibrary(Library):
    """See Library. Every call that looks at a report may raise StorageError where its files are not here.

    Args:
        folder: on this machine, for copies and for work; may be shared by processes and removed while none runs.
        catalog: says which object each file is.
        url: of the bucket.
        most_mb: size of the copies of reports, in MB.
    """

    def __init__(self, folder: Path, catalog: Catalog, url: str, most_mb: float) -> None:
        super().__init__(folder, catalog)
        bucket = Bucket(url)
        self.store = Store(
            catalog.stored, bucket, Copies(folder, bucket, int(most_mb * 1e6), self._let_go), self._is_needed
        )

    def bring(self, report_id: str) -> None:
        """Makes the files of a report be here as they are now, where the library has it.

        Raises:
            StorageError: one of them is neither here nor to be had.
            DamagedError: one of them is damaged in the bucket.
        """
        if self.store.is_here(report_id):
            self.store.bring(report_id)
            return
        try:
            self.store.bring(report_id)
        except StorageError as error:
            name = self._name(report_id)
            raise StorageError(f"{name} cannot be fetched. {error.message}", hint=error.hint) from error
        except DamagedError:
            raise self._damaged(report_id) from None
        self._unpack(report_id)

    def is_here(self, report_id: str) -> bool:
        """Whether ``bring`` has nothing to do."""
        return self.store.is_here(report_id)

    def fetched(self, report_id: str) -> tuple[int, int]:
        """How much has arrived of the file that is being fetched: bytes, and bytes of the report's largest file."""
        sizes = [file.bytes for file in self.store.files(report_id).values() if self._is_needed(file.name)]
        return self.store.copies.fetched(report_id), max(sizes, default=0)

    def fetch(self, report_id: str, path: Path) -> None:
        """Makes one file be here, if there is one of its name; raises what ``bring`` does."""
        self.store.fetch(report_id, path.name)

    def soon(self, report_id: str, name: str) -> None:
        """The same for a small file among the answers, without waiting for it."""
        with suppress(CatalogError):
            self.store.soon(report_id, name)

    def keep(self, report_id: str) -> None:
        """Puts what was prepared of a report into the bucket: its timeline, its findings and its answers."""
        known = self.store.index.of(report_id)
        if self.path(report_id).name not in known:
            return
        self.store.copies.hold(report_id)
        folder, timelines = self.derived.answers / report_id, self.derived.timelines
        for path in (*timelines.glob(f"{report_id}.*.duckdb"), folder / FINDINGS):
            if path.exists() and not ((file := known.get(path.name)) and self.store.copies.has(file)):
                self.store.put(report_id, path.name, path)
        self.work.mkdir(parents=True, exist_ok=True)
        packed = self.work / f"{report_id}-{os.getpid()}{answer_pack.ENDING}"
        try:
            name = f"{report_id}{answer_pack.ENDING}"
            if answer_pack.pack(folder, packed) and not _is_same(packed, known.get(name)):
                file = self.store.put(report_id, name, packed)
                (folder / _UNPACKED).write_text(file.sha256, encoding="utf-8")
        finally:
            packed.unlink(missing_ok=True)

    def stamp(self, path: Path | str) -> int:
        """When a file changed last, ns; 0 where there is none: as the catalog lists it, the same on every server."""
        folder, name = os.path.split(path)
        if folder == str(self.reports):
            report_id = name.partition(".")[0]
        elif (of := self.derived.report_of(path)) is not None:
            report_id = of
        else:
            return super().stamp(path)
        file = self.store.files(report_id).get(name)
        return file.time_ns if file else 0

    def there(self) -> frozenset[str]:
        """The names of all files beside each other in the folder of reports, as the catalog lists them."""
        return frozenset(name for files in self.store.listed().values() for name in files)

    def sizes(self) -> dict[str, int]:
        """Bytes of the files of each report in the bucket."""
        return {one: sum(file.bytes for file in files.values()) for one, files in self.store.listed().items()}

    def reachable(self) -> None:
        """Raises StorageError where the bucket does not answer."""
        next(self.store.bucket.list("health"), None)  # nothing is there, and all that is needed to say so

    def publish(self, database: Path, manifest: Manifest) -> None:
        """Puts a finished database into the bucket; from the row in the catalog on the report exists.

        Where another process has published the report meanwhile, that one stays.
        """
        file = File.of(manifest.id, self.path(manifest.id).name, database)
        keys = (file.key_of(self.manifest_path(manifest.id).name), file.key)
        self.store.bucket.put(keys[0], manifest.to_json().encode())
        self.store.bucket.put(keys[1], database)
        before = self.store.index.of(manifest.id, damaged=True)
        mine = self.store.index.claim(file)
        if mine or manifest.id not in self.catalog.report_ids():
            self.catalog.add_report(manifest)
        if not mine:
            self.store.remove(keys)
            return
        self.store.copies.adopt(file, database)
        self.store.changed(manifest.id)
        self._verdict(manifest.id).unlink(missing_ok=True)
        self._remove_older(manifest.id, before)

    def take_over(self, report_id: str, path: Path, manifest: str) -> bool:
        """Puts a file of a report of another library; see Library. It is fetched again, and that is the copy here."""
        is_of_report = version.of_report(path.name) is not None
        if is_of_report and path.suffix == ".json":
            return False  # it goes with the database
        file = File.of(report_id, path.name, path)
        if known := self.store.index.of(report_id).get(path.name):
            require_same(path, known.sha256, file.sha256)
            return False
        if is_of_report:
            self.store.bucket.put(file.key_of(path.with_suffix(".json").name), manifest.encode())
        self.store.bucket.put(file.key, path)
        self.work.mkdir(parents=True, exist_ok=True)
        half = self.work / path.name
        require_whole(path, self.store.bucket.fetch(file.key, half), file.sha256)
        self.store.index.put(file)
        self.store.copies.adopt(file, half)
        self.store.changed(report_id)
        return True

    def delete(self, report_id: str) -> None:
        """Removes a report: first what would list it anew, then its rows, then all of its objects and copies."""
        objects = self.store.objects(report_id)
        self.store.bucket.delete(key for key in objects if key.endswith(".json"))
        self.store.index.forget_all(report_id)
        super().delete(report_id)
        self.store.leave(report_id)
        self.store.remove(objects)

    def intact(self, report_id: str) -> bool:
        """Whether the catalog lists the database of a report, and of one that is here that it is whole."""
        name = self.path(report_id).name
        if name not in self.store.files(report_id) and name not in self.store.index.of(report_id):
            return False  # neither in what was read some seconds ago, nor published since
        return not self.store.is_here(report_id) or super().intact(report_id)

    def is_safe(self, report_id: str) -> bool:
        """The same, and whether the bucket has it: nobody else may have looked there since it was put."""
        file = self.store.index.of(report_id).get(self.path(report_id).name)
        if file is None or not self.intact(report_id):
            return False
        there = self.store.bucket.head(file.key)
        return there is not None and there.size == file.bytes

    def _databases(self, report_id: str) -> list[str]:
        return [name for name in self.store.index.of(report_id) if name.endswith(".duckdb")]

    def put_sidecar(self, report_id: str, kind: Kind, text: str) -> None:
        """Lays a sidecar beside a report, in place of the one that it had."""
        self.work.mkdir(parents=True, exist_ok=True)
        made = self.work / f"{report_id}-{os.getpid()}{sidecar.SUFFIX[kind]}"
        made.write_text(text, encoding="utf-8", newline="")
        self.store.put(report_id, sidecar.path(self.reports, report_id, kind).name, made)

    def link_trace(self, nsys_id: str, trace_id: str, pairs: Path) -> None:
        """Links a Systems report to a trace; see Library."""
        self.store.put(nsys_id, self.pairs(nsys_id, trace_id).name, pairs)
        self.catalog.links.put(nsys_id, trace_id, "trace")

    @property
    def place(self) -> str:
        """Where the reports are, in words."""
        return self.store.bucket.url

    def mark(self, name: str) -> str:
        """A short text beside the reports; see Library."""
        try:
            return self.store.bucket.read(name, library_id.MOST_BYTES).decode(errors="replace").strip()
        except GoneError:
            return ""

    def set_mark(self, name: str, text: str) -> None:
        """Lays a short text beside the reports."""
        self.store.bucket.put(name, text.encode())

    def recover(self) -> None:
        """Brings bucket and catalog together (bucket_recovery.py); raises what it does in a folder, too."""
        version.require_library(self)
        library_id.require(self)
        version.stamp(self)
        bucket_recovery.recover(self)

    @contextmanager
    def cursor(
        self, report_id: str, partner: str | None = None, views: Sequence[Views] = (), joins: Partner = "ncu"
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor on a report; see Library."""
        for one in (report_id, partner):
            if one is not None:
                self.bring(one)
        with super().cursor(report_id, partner, views, joins) as cursor:
            yield cursor

    def _refuse(self, report_id: str) -> None:
        if self.path(report_id).exists() and not self.intact(report_id) and not self.store.true(report_id):
            self._attached.close(report_id)
            self.bring(report_id)
        super()._refuse(report_id)

    def _damage(self, held: Sequence[str], error: duckdb.Error) -> DamagedError | None:
        found = super()._damage(held, error)
        if found is None:
            return None
        for report_id in held:
            if not self.store.true(report_id):
                self._attached.close(report_id)
                self._verdict(report_id).unlink(missing_ok=True)
                hint = "Load the page again: it is fetched anew."
                return DamagedError(f"The copy of {self._name(report_id)} on this server was damaged.", hint=hint)
            if self._verdict(report_id).exists():
                self.store.index.spoil(self.store.files(report_id)[self.path(report_id).name])
        return found

    def _let_go(self, report_id: str) -> bool:
        closed = [close(report_id) for close in self.closers]
        return all(closed)

    def _is_needed(self, name: str) -> bool:
        """Whether a query needs a file: the database of this schema, sidecars, pairs, and what was prepared."""
        return (
            name == self.path(name.partition(".")[0]).name
            or name == FINDINGS
            or name.endswith((*sidecar.SUFFIX.values(), report_pair.SUFFIX, answer_pack.ENDING))
        )

    def _unpack(self, report_id: str) -> None:
        """Lays the prepared answers out, once of each package, where the settings leave room for any."""
        most = config.load().answers_mb * 1_000_000
        file = self.store.files(report_id).get(f"{report_id}{answer_pack.ENDING}")
        mark = self.derived.answers / report_id / _UNPACKED
        try:
            if most and file and (not mark.exists() or mark.read_text(encoding="utf-8") != file.sha256):
                written = answer_pack.unpack(self.store.copies.path(file), mark.parent, most)
                mark.write_text(file.sha256, encoding="utf-8")
                self.derived.make_room(written, most)
        except OSError:
            _log.warning("The prepared answers of %s could not be laid out", report_id, exc_info=True)

    def _remove_older(self, report_id: str, before: dict[str, File]) -> None:
        """Removes what an older schema made, and a database that was damaged."""
        current = self.path(report_id).name
        older = [file for name, file in before.items() if name.startswith(f"{report_id}.v")]
        self.store.index.forget(report_id, [file.name for file in older if file.name != current])
        now = self.store.index.of(report_id)[current]
        manifests = [file.key_of(file.name.removesuffix(".duckdb") + ".json") for file in older if file != now]
        self.store.remove([*(file.key for file in older if file != now), *manifests])
        for path in self.older(report_id):
            path.unlink(missing_ok=True)


def _is_same(path: Path, file: File | None) -> bool:
    return file is not None and File.of(file.report_id, file.name, path).sha256 == file.sha256

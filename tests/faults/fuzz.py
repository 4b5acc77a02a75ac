"""Spoils a small real file of every format by seed, has the real worker take it in, and judges what became of it.

``python -m tests.faults.fuzz --seeds 1000`` prints a line for each finding and a table of outcomes by kind. A file may
fail, or become a report. A report must hold as many rows and values as that of the unspoiled file, or say in a note of
its own that something is missing or damaged. A file that is well-formed by itself after it was spoiled, such as a table
cut between two rows, holds what it holds: nothing in it tells that it once held more.
"""

import argparse
import csv
import gzip
import io
import json
import lzma
import pickle
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from ingest import tools
from ingest.xplane.messages import get_space_class
from profiledb.library.catalog import Job
from profiledb.library.library import Library
from profiledb.report.sidecar import SUFFIX
from tests.conftest import CORPUS, ROOT, SAMPLES, run_ingest
from tests.faults.damage import SPOIL
from tests.ingest.perfetto.test_perfetto import capture as slices
from tests.ingest.proton.test_proton import profile as tree
from tests.ingest.rocprof.test_rocprof import capture
from tests.ingest.rocprof.test_trace_json import trace as slices_of_rocprof
from tests.ingest.snapshot.test_snapshots import snapshot
from tests.ingest.torch.test_trace_load import EVENTS
from tests.ingest.torch.test_trace_load import text as trace
from tests.ingest.xplane.test_xplane import profile
from tests.support import exports
from tests.support.nvprof import write_nvprof
from tests.support.rocpd import write_rocpd

BATCH = 20
"""Spoiled files that the worker finds in an inbox at once."""
DEAD = ("ended without a result", "did not finish within")
"""What the worker says of a process that crashed or hung."""
TOLD = re.compile(
    r"damage|missing|exclude|incomplete|cut|no UTF-8|not read|could not be read|cannot be read|repeat an id|impossible"
    r"|match no known|of other kinds"
)
"""Words of a note that says that a report has less than its file, or may have."""
IGNORED = {"stored_result", "diagnostic", "rejected_row", "string", "busy", "enum_value"}
"""Tables of the conversion's own making, or with rows of names that a flipped bit makes two of."""
DATA = ROOT / "tests" / "data"

Facts = dict[str, int]


@dataclass(frozen=True)
class Kind:
    """A kind of file: its content and name, and whether damaged content is still well-formed."""

    content: bytes
    suffix: str
    is_whole: Callable[[bytes], bool] = lambda _: False
    folder: Mapping[str, bytes] = field(default_factory=dict)
    beside: bool = False

    def write(self, inbox: Path, stem: str, content: bytes, number: int) -> Path:
        """Put it into an inbox; a sidecar comes with its own report."""
        if self.beside:
            exports.write(inbox / f"{stem}.sqlite", exports.kernels(exports.kernel(1, 2 + number)))
        path = inbox / f"{stem}{self.suffix}"
        if self.folder:
            path.mkdir()
            for name, other in self.folder.items():
                (path / name).write_bytes(other)
            (path / "CUPTI_ACTIVITY_KIND_KERNEL.parquet").write_bytes(content)
        else:
            path.write_bytes(content)
        return path


def kinds() -> dict[str, Kind]:
    """A file of each kind; those of strangers and those that a converter makes where they are at hand."""
    raw = pickle.dumps(snapshot(), 4)
    held, events = json.dumps(snapshot()).encode(), trace(EVENTS).encode()
    report = lzma.decompress((DATA / "ncu" / "processes.ncu-rep.xz").read_bytes())
    found = {
        "sqlite": Kind((SAMPLES / "attention.sqlite").read_bytes(), ".sqlite", _is_sqlite),
        "made sqlite": Kind(_made(), ".sqlite", _is_sqlite),
        "ncu-rep": Kind(report, ".ncu-rep"),
        "ncu-repz": Kind(_zstd(report), ".ncu-repz"),
        "ncu details": Kind((DATA / "ncu" / "details_2024.csv").read_bytes(), ".txt", _is_table),
        "ncu raw": Kind((DATA / "ncu" / "raw_scaled.csv").read_bytes(), ".txt", _is_table),
        "trace": Kind(events, ".pt.trace.json", _is_json),
        "trace.gz": Kind(gzip.compress(events, mtime=0), ".pt.trace.json.gz", lambda data: _is_json(_gunzip(data))),
        "trace.zip": Kind(_zip(events), ".pt.trace.zip", lambda data: _is_json(_unzip(data))),
        "snapshot.pickle": Kind(raw, ".pickle", _is_pickle),
        "snapshot.json": Kind(held, ".json", _is_json),
        "snapshot.pickle.gz": Kind(gzip.compress(raw, mtime=0), ".pickle.gz"),
        "meta.json": Kind(b'{"batch": 8, "heads": [1, 2], "name": "run"}\n', ".meta.json", _is_json, beside=True),
        "timings.csv": Kind(_head("transformer_steps.timings.csv", 40), ".timings.csv", _is_table, beside=True),
        "nvml.csv": Kind(_head("energy.nvml.csv", 40), ".nvml.csv", _is_table, beside=True),
        "tasks.csv": Kind(_head("tasks.tasks.csv", 40), ".tasks.csv", _is_table, beside=True),
        "parquet": _parquet(),
        "rocpd": Kind(_rocpd(), ".db", _is_sqlite),
        "rocprof json": Kind(json.dumps(capture()).encode(), "_results.json", _is_json),
        "rocprof trace": Kind(json.dumps({"traceEvents": slices_of_rocprof()}).encode(), ".json", _is_json),
        "nvprof": Kind(_nvprof(), ".nvvp", _is_sqlite),
        "xplane": Kind(profile(), ".xplane.pb", lambda data: _is_message(get_space_class()(), data)),
        "proton": Kind(tree().encode(), ".hatchet", _is_json),
        "perfetto": Kind(slices(), ".pftrace", lambda data: _is_message(Trace(), data)),
    }
    if CORPUS.is_dir():
        found |= {
            "nsys-rep": Kind((CORPUS / "wsl2_no_kernels.nsys-rep").read_bytes(), ".nsys-rep"),
            "qdrep": Kind((CORPUS / "start_end_unclosed.qdrep").read_bytes(), ".qdrep"),
            "nsys-rep of kernels": Kind((CORPUS / "pinned_memory_4090.nsys-rep").read_bytes(), ".nsys-rep"),
            "ncu-rep of a stranger": Kind((CORPUS / "transpose_partial_4090.ncu-rep").read_bytes(), ".ncu-rep"),
            "details of a stranger": Kind((CORPUS / "details_page_v100.csv").read_bytes(), ".csv", _is_table),
            "trace of a stranger": Kind((CORPUS / "kineto_2026.pt.trace.json").read_bytes(), ".json", _is_json),
        }
    if ncu := tools.find_ncu():
        found["ncu printed"] = Kind(_printed(ncu, report), ".csv", _is_table)
    return found


def _made() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        rows = [exports.kernel(10 * n, 10 * n + 5, name=1 + n % 3, correlation=n) for n in range(200)]
        return exports.write(Path(folder) / "made.sqlite", exports.kernels(*rows)).read_bytes()


def _rocpd() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return write_rocpd(Path(folder) / "made.db").read_bytes()


def _nvprof() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return write_nvprof(Path(folder) / "made.nvvp").read_bytes()


def _is_message(held: Any, data: bytes) -> bool:
    """Return True if bytes parse as a message and have no field that it does not have."""
    try:
        held.ParseFromString(data)
    except DecodeError:
        return False
    size = held.ByteSize()
    held.DiscardUnknownFields()
    return bool(held.ByteSize() == size)


def _parquet() -> Kind:
    """A folder of a file a table; of those the one with the kernels is spoiled."""
    with tempfile.TemporaryDirectory() as folder, closing(sqlite3.connect(SAMPLES / "attention.sqlite")) as sample:
        tables = ("StringIds", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "TARGET_INFO_GPU")
        files = {}
        for table in tables:
            cursor = sample.execute(f"SELECT * FROM {table}")
            names = [name for name, *_ in cursor.description]
            cells = zip(*cursor.fetchall(), strict=True)
            path = Path(folder) / f"{table}.parquet"
            pq.write_table(pa.table(dict(zip(names, map(list, cells), strict=True))), path)
            files[path.name] = path.read_bytes()
    return Kind(files["CUPTI_ACTIVITY_KIND_KERNEL.parquet"], "", folder=files)


def _head(name: str, lines: int) -> bytes:
    return b"".join((SAMPLES / name).read_bytes().splitlines(keepends=True)[:lines])


def _zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def _zip(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("run.json"), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


@cache
def _printed(ncu: tools.Tool, report: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "a.ncu-rep", Path(folder) / "out"
        path.write_bytes(report)
        tools.run([ncu.path, "--import", path, "--csv", "--page", "raw"], stdout=out)
        return out.read_bytes()


# What a file holds by itself.


def _quietly(check: Callable[[bytes], bool], data: bytes) -> bool:
    try:
        return check(data)
    except (ValueError, RecursionError, OSError, EOFError, zipfile.BadZipFile, sqlite3.Error, pickle.UnpicklingError):
        return False
    except Exception:  # noqa: BLE001 - a spoiled pickle raises anything
        return False


def _is_json(data: bytes) -> bool:
    json.loads(data.decode())
    return True


def _gunzip(data: bytes) -> bytes:
    return gzip.decompress(data)


def _unzip(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(archive.namelist()[0])


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def _is_pickle(data: bytes) -> bool:
    _Plain(io.BytesIO(data)).load()
    return True


def _is_table(data: bytes) -> bool:
    """Text that ends with a line, its rows as wide as those around them."""
    text = data.decode()
    if "\0" in text or not text.endswith("\n"):
        return False
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    return all("\n" not in cell for row in rows for cell in row)


def _is_sqlite(data: bytes) -> bool:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with closing(sqlite3.connect(f"file:{file.name}?mode=ro", uri=True)) as db:
            return bool(db.execute("PRAGMA integrity_check").fetchall() == [("ok",)])


@dataclass(frozen=True)
class Case:
    """A spoiled file."""

    seed: int
    kind: str
    how: str
    content: bytes

    @property
    def stem(self) -> str:
        return f"{self.kind.replace(' ', '_').replace('.', '_')}_{self.seed}"


def case(seed: int, every: Mapping[str, Kind], kind: str = "") -> Case:
    """The file of a seed, which is always the same one; kinds take turns where none is asked for."""
    chance = random.Random(seed)
    kind = kind or sorted(every)[seed % len(every)]
    while True:
        how = chance.choice(SPOIL)
        content = how(every[kind].content, chance)
        if content and content != every[kind].content:
            return Case(seed, kind, how.__name__, content)


# What became of it.


@dataclass(frozen=True)
class Judged:
    """The outcome of a case: failed, equal, told, whole (well-formed by itself), or one of ``BAD``."""

    case: Case
    outcome: str
    words: str = ""


BAD = ("dead", "less", "missing", "silent")
"""A process crashed or hung; a report with less and no note; a file with no outcome, or that failed without a word."""


@dataclass(frozen=True)
class Taken:
    """The content of a report: rows and values by table and column, and its notes."""

    facts: Facts
    notes: frozenset[str]


def taken(library: Library, report: str, *, beside: bool) -> Taken:
    """Counts a report."""
    facts: Facts = {}
    with closing(duckdb.connect(str(library.path(report)), read_only=True)) as db:
        columns: dict[str, list[str]] = {}
        named = """
            SELECT table_name, column_name FROM duckdb_columns() JOIN duckdb_tables() USING (schema_name, table_name)
            WHERE schema_name = 'main' AND estimated_size > 0
        """
        for table, column in db.execute(named).fetchall():
            if table not in IGNORED:
                columns.setdefault(table, []).append(column)
        for table, names in columns.items():
            counts = ", ".join(["count(*)", *(f'count("{name}")' for name in names)])
            found = db.execute(f'SELECT {counts} FROM "{table}"').fetchone() or ()
            facts |= dict(zip([table, *(f"{table}.{name}" for name in names)], found, strict=True))
        notes = db.execute("SELECT text FROM diagnostic WHERE source IN ('warpdeck', 'ncu')").fetchall()
    if beside:
        facts |= {
            f"characters of {suffix}": len(path.read_text())
            for suffix in SUFFIX.values()
            if (path := library.folder / "reports" / f"{report}{suffix}").exists()
        }
    return Taken({name: count for name, count in facts.items() if count}, frozenset(text for (text,) in notes))


def lost(whole: Facts, found: Facts) -> list[str]:
    """Where a report has less."""
    return [f"{name} {found.get(name, 0)} of {count}" for name, count in whole.items() if found.get(name, 0) < count]


@dataclass
class Fuzz:
    """Takes in cases, in folders of its own."""

    every: Mapping[str, Kind]
    folder: Path
    whole: dict[str, Taken] = field(default_factory=dict)
    batches: int = 0

    def ingest(self, files: Sequence[tuple[str, str, bytes]]) -> Iterator[tuple[Job | None, Taken | None]]:
        """Return the outcomes of files, each a stem, a kind and its content."""
        self.batches += 1
        box = self.folder / f"{self.batches}"
        inbox = box / "inbox"
        inbox.mkdir(parents=True)
        paths = [
            self.every[kind].write(inbox, stem, content, number) for number, (stem, kind, content) in enumerate(files)
        ]
        done = run_ingest(inbox, box / "library")
        library = Library(box / "library")
        jobs = {job.path: job for job in library.catalog.jobs()}
        for path, (_, kind, _content) in zip(paths, files, strict=True):
            job = jobs.get(str(path))
            if job is None:
                print(done.errors[-2000:], file=sys.stderr)
            is_ready = job is not None and job.state in ("ready", "duplicate") and job.report_id
            yield job, taken(library, str(job.report_id), beside=self.every[kind].beside) if job and is_ready else None
        shutil.rmtree(box)

    def begin(self) -> None:
        """Takes in the unspoiled files."""
        names = sorted(self.every)
        files = [(name.replace(" ", "_").replace(".", "_"), name, self.every[name].content) for name in names]
        for name, (job, found) in zip(names, self.ingest(files), strict=True):
            if found is None or not found.facts:
                raise SystemExit(f"The whole {name} is not taken in: {job}")
            self.whole[name] = found

    def judge(self, cases: Sequence[Case]) -> Iterator[Judged]:
        """Takes in a batch of spoiled files."""
        outcomes = self.ingest([(case.stem, case.kind, case.content) for case in cases])
        for one, (job, found) in zip(cases, outcomes, strict=True):
            yield self._judged(one, job, found)

    def _judged(self, one: Case, job: Job | None, found: Taken | None) -> Judged:
        if job is None or (found is None and job.state not in ("failed", "columns")):
            return Judged(one, "missing")
        words = f"{job.message} {job.hint} {job.detail}"
        if any(sign in job.message for sign in DEAD):
            return Judged(one, "dead", words)
        if found is None:
            return Judged(one, "failed" if job.message else "silent", words)
        return self._compared(one, found, job.message)

    def _compared(self, one: Case, found: Taken, message: str) -> Judged:
        """A report beside that of the unspoiled file."""
        kind, whole = self.every[one.kind], self.whole[one.kind]
        told = sorted(note for note in (found.notes | {message}) - whole.notes if TOLD.search(note))
        if told:
            return Judged(one, "told", "; ".join(told))
        less = lost(whole.facts, found.facts)
        if not less:
            return Judged(one, "equal")
        return Judged(one, "whole" if _quietly(kind.is_whole, one.content) else "less", ", ".join(less))


def run(seeds: Sequence[int], every: Mapping[str, Kind], folder: Path) -> Iterator[Judged]:
    """Judges the file of each seed."""
    fuzz = Fuzz(every, folder)
    fuzz.begin()
    for first in range(0, len(seeds), BATCH):
        yield from fuzz.judge([case(seed, every) for seed in seeds[first : first + BATCH]])


def main() -> int:
    """Run many seeds; the exit status is 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument("--kind", help="of this kind alone")
    parser.add_argument("--verbose", action="store_true", help="a line for every seed")
    asked = parser.parse_args()
    every = {name: kind for name, kind in kinds().items() if asked.kind in (None, name)}
    counts: dict[str, Counter[str]] = {name: Counter() for name in sorted(every)}
    begin, bad = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        for one in run(range(asked.first, asked.first + asked.seeds), every, Path(folder)):
            counts[one.case.kind][one.outcome] += 1
            bad += one.outcome in BAD
            if asked.verbose or one.outcome in BAD:
                print(f"{one.case.seed:5} {one.case.kind:20} {one.case.how:10} {one.outcome:8} {one.words}", flush=True)
    names = ("failed", "equal", "told", "whole", *BAD)
    print("kind", *names, sep="\t")
    for name, found in counts.items():
        print(name, *(found[outcome] for outcome in names), sep="\t")
    total: Counter[str] = sum(counts.values(), Counter())
    print("all", *(total[outcome] for outcome in names), sep="\t")
    print(f"{total.total()} seeds in {time.monotonic() - begin:.0f} s, {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

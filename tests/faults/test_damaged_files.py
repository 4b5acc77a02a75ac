"""Damaged or cut files that once went unnoticed, through the real worker: a note, or a failure."""

import gzip
import json
import lzma
import pickle
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ingest.ncu.messages import decode_message
from profiledb.library.library import Library
from tests.conftest import SAMPLES, Ingest
from tests.ingest.snapshot.test_snapshots import snapshot
from tests.ingest.torch.test_trace_load import EVENTS, event, text
from tests.support import exports, ncu_fixtures
from tests.support.bounded_conversion import Take, notes
from tests.support.dropped_files import job_of

DATA = ncu_fixtures.DATA


def report_of(tmp_path: Path, change: Callable[[bytes], bytes]) -> bytes:
    """A real report of two launches, the first of them changed as the bytes of its message."""
    whole = tmp_path / "whole"
    whole.write_bytes(lzma.decompress((DATA / "processes.ncu-rep.xz").read_bytes()))
    found = list(ncu_fixtures.blocks(whole))
    parts = next(parts for header, parts in found if header.kernels)
    parts[-1] = change(parts[-1])
    return ncu_fixtures.write(tmp_path / "changed", found).read_bytes()


def with_other_tag(launch: bytes) -> bytes:
    """One bit of the first metric's tag is flipped, so that protobuf takes the metric for a comment."""
    (first, *_) = decode_message("Result").FromString(launch).metrics
    tagged = bytes([13 << 3 | 2, len(first)]) + first
    assert launch.count(tagged) == 1
    return launch.replace(tagged, bytes([12 << 3 | 2]) + tagged[1:])


def without_metrics(launch: bytes) -> bytes:
    result = decode_message("Result").FromString(launch)
    result.ClearField("metrics")
    result.ClearField("sections")
    return bytes(result.SerializeToString())


@pytest.mark.parametrize(
    ("change", "words"), [(with_other_tag, "may be damaged"), (without_metrics, "1 launch without metrics")]
)
def test_a_launch_that_lost_metrics_is_told(
    take: Take, tmp_path: Path, change: Callable[[bytes], bytes], words: str
) -> None:
    query = take("run.ncu-rep", report_of(tmp_path, change))
    assert query("SELECT count(*) FROM ncu_launch") == [(2,)]
    assert any(words in note for note in notes(query))


def test_launches_without_any_metric_are_no_report(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    whole.write_bytes(lzma.decompress((DATA / "processes.ncu-rep.xz").read_bytes()))
    found = list(ncu_fixtures.blocks(whole))
    for header, parts in found:
        for at in range(len(parts) - header.kernels, len(parts)):
            parts[at] = without_metrics(parts[at])
    ncu_fixtures.write(inbox / "bare.ncu-rep", found)
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "bare.ncu-rep")
    assert (job.state, "none of their metrics" in job.message) == ("failed", True)


@pytest.mark.parametrize(
    "name", ["details_2024.csv", pytest.param("raw_scaled.csv", marks=pytest.mark.slow("takes more cut texts in"))]
)
def test_a_text_of_ncu_that_is_cut_within_a_cell(
    ingest: Ingest, inbox: Path, empty_library: Library, name: str
) -> None:
    """Wherever the cut is, the result is a report with a note, or none."""
    whole = (DATA / name).read_bytes()
    header = whole.index(b'"ID"')
    ends = [at for at in range(header + 400, len(whole) - 8, 131) if whole[:at].count(b'"') % 2]
    for at in ends:
        (inbox / f"{at}.csv").write_bytes(whole[:at])
    ingest(inbox, empty_library.folder)
    states = {at: job_of(empty_library, inbox / f"{at}.csv") for at in ends}
    assert {job.state for job in states.values()} <= {"ready", "failed"}
    assert any(job.state == "ready" for job in states.values())
    for job in states.values():
        if job.report_id:
            with empty_library.cursor(job.report_id) as cursor:
                warned = cursor.execute("SELECT 1 FROM diagnostic WHERE severity = 'warning'").fetchall()
            assert warned, job.name


def test_an_sqlite_export_with_a_damaged_table(take: Take, tmp_path: Path) -> None:
    """The database page with the settings of the capture is damaged; all other tables are read."""
    path = tmp_path / "run.sqlite"
    path.write_bytes((SAMPLES / "attention.sqlite").read_bytes())
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'META_DATA_CAPTURE'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    data = path.read_bytes()
    query = take("run.sqlite", data[: size * (page - 1)] + b"\xff" * size + data[size * page :])
    assert query("SELECT count(*) > 0 FROM kernel") == [(True,)]
    assert any("run.sqlite is damaged" in note for note in notes(query))


def test_an_sqlite_export_that_lost_its_end(take: Take) -> None:
    data = (SAMPLES / "attention.sqlite").read_bytes()
    assert any("is damaged" in note for note in notes(take("run.sqlite", data[:-60])))


def test_an_export_without_settings_says_so(take: Take, tmp_path: Path) -> None:
    """Old versions of nsys write none; an export with settings keeps them, without a note."""
    path = exports.write(tmp_path / "old.sqlite", exports.kernels(exports.kernel(1, 2)))
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE META_DATA_CAPTURE")
        db.commit()
    query = take("old.sqlite", path.read_bytes())
    assert any("no settings of the capture" in note for note in notes(query))


def test_a_trace_whose_head_is_damaged(take: Take) -> None:
    whole = text(EVENTS)
    query = take("run.pt.trace.json", whole.replace('"deviceProperties":', '"deviceProperties"#', 1).encode())
    assert query("SELECT count(*) FROM gpu") == [(0,)]
    assert any("its GPUs and the distributed run" in note for note in notes(query))


def test_events_of_a_trace_of_no_known_kind(take: Take) -> None:
    odd = event("cpu_op", "lost", 1, 2).replace('"ph"', '"qh"')
    query = take("run.pt.trace.json", text([*EVENTS, odd]).encode())
    assert "1 event is of other kinds and not read." in notes(query)


def test_the_checksum_of_a_packed_snapshot(take: Take) -> None:
    packed = gzip.compress(pickle.dumps(snapshot(), 4))
    query = take("run.pickle.gz", packed[:-8] + struct.pack("<I", 7) + packed[-4:])
    assert any("The snapshot is damaged" in note for note in notes(query))


def test_elements_of_a_snapshot_that_are_none(take: Take) -> None:
    told = snapshot()
    told["segments"] += [5, {"x": 1}]
    query = take("run.json", json.dumps(told).encode())
    assert "2 parts of the snapshot could not be read." in notes(query)


def test_a_table_beside_a_report_that_is_cut(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    exports.write(inbox / "run.sqlite", exports.kernels(exports.kernel(1, 2)))
    (inbox / "run.timings.csv").write_text("label,step,seconds\nstep,0,0.25\nstep,1,0.2")
    done = ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "run.timings.csv")
    assert (job.state, job.message) == ("ready", "run.timings.csv ends within a line: it may be cut off.")
    assert job.message in done.errors
    (inbox / "run.timings.csv").write_text('label,step,seconds\nstep,0,0.25\n"step,1,0.2\n')
    ingest(inbox, empty_library.folder)
    assert job_of(empty_library, inbox / "run.timings.csv").message == "run.timings.csv is not CSV."

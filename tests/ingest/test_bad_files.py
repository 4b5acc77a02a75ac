"""Bad files of every kind, and converters that misbehave, through the real worker."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import CORPUS, ROOT, Ingest
from tests.support.dropped_files import SAMPLE, job_of, made, needs_corpus, stand_in

BAD = {
    "empty.nsys-rep": (b"", "is empty"),
    "noise.nsys-rep": (b"\x07" * 5000, "does not start like an Nsight Systems report"),
    "noise.ncu-rep": (b"\x07" * 5000, "does not start like an Nsight Compute report"),
    "notes.txt": (b"bring milk", "is not a known report format"),
    "damaged.sqlite": (b"SQLite format 3\0" + b"\xff" * 4096, "damaged or incomplete"),
    "raw.qdstrm": (b"\x01\x02", "does not start like raw capture data"),
    "run.pt.trace.json": (b'{"schemaVersion": 1, "traceEvents": []}', "The trace has no events"),
    "run.json.gz": (
        gzip.compress(b'[{"ph": "C", "ts": 1}' + b" " * 9_000_000, 1),
        "1 event, but none that begins and",
    ),
    "run.trace.json.gz": (b"\x1f\x8b" + bytes(500), "is damaged: its gzip data cannot be unpacked"),
    "cut.json.gz": (gzip.compress(b'{"a": 1}')[:9], "is damaged: its gzip data cannot be unpacked"),
    "other.json": (b'{"a": 1}', "is not a known report format"),
    "run.pftrace": (b"\x0a\x04\x40\x01\x50\x02", "has no slices of a GPU or a program"),
    "noise.pftrace": (b"\x07" * 500, "does not start like a trace of Perfetto"),
    "matmul.hatchet": (b'[{"children": [], "frame": {"name": "ROOT"}}]', "has call paths, but no figure of any"),
    "noise.hatchet": (b"\x07" * 500, "does not start like a profile of proton"),
    "old.nvvp": (b"\x00\x01", "is not a database of nvprof"),
    "saved.nvvp": (b'<?xml version="1.0"?>\n<session version="2" name="one">', "is a session of the Visual Profiler"),
    "kernels.csv": (b'"Kind","Agent_Id","Queue_Id"\n', "is a CSV of rocprof"),
    "frame.rgp": (b"B00P\1\0\0\0", "is a profile of the Radeon GPU Profiler"),
    "r000hs.vtune": (b"<?xml version='1.0'?><bag/>", "is a result of Intel VTune"),
    "vm.overview_page.pb": (b"\x0a\x02ab", "is a table that TensorBoard made of a profile of XLA"),
    "vm.memory_profile.json.gz": (gzip.compress(b'{"memoryProfilePerAllocator": {}}'), "is a table that TensorBoard"),
    "memory.pb.gz": (gzip.compress(b"\x0a\x04\x08\x01\x10\x02" * 2 + b"\x12\x02\x0a\x00"), "is a profile of pprof"),
    "perf.data": (b"PERFILE2" + bytes(96), "is a profile of Linux perf"),
    "game.ngfx-gputrace": (b"\0\1\2", "is a capture of Nsight Graphics"),
    "perfetto-trace.proto": (b"\x0a\x04\x40\x01\x50\x02", "has no slices of a GPU or a program"),
    "noise.xplane.pb": (b"\x07" * 500, "does not start like a profile of XLA"),
    "noise.db": (b"\x07" * 500, "is not a database of rocprofv3"),
}


def test_bad_files_fail_with_a_sentence_and_the_next_goes_on(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    for name, (content, _) in BAD.items():
        (inbox / name).write_bytes(content)
    good = made(inbox / "z.sqlite")
    done = ingest(inbox, empty_library.folder, "--strict")
    assert done.status == 1
    for name, (content, message) in BAD.items():
        job = job_of(empty_library, inbox / name)
        assert (job.state, message in job.message, bool(job.hint)) == ("failed", True, True), job
        assert (inbox / name).read_bytes() == content
    assert job_of(empty_library, good).state == "ready"


@pytest.mark.nsight
def test_truncated_reports(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    names = [f"{cut}_bytes_short.nsys-rep" for cut in (1, 1000, 200_000)]
    for name in names:
        (inbox / name).write_bytes(SAMPLE.read_bytes()[: -int(name.partition("_")[0])])
    done = ingest(inbox, empty_library.folder)
    assert sorted(line.split()[1] for line in done.lines if line.startswith("failed")) == sorted(names)
    assert all(f"{name} is incomplete" in done.errors for name in names)
    assert empty_library.list() == []


@needs_corpus
@pytest.mark.nsight
def test_flipped_bits_never_become_a_report(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    data = bytearray((CORPUS / "openacc_v100.nsys-rep").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    (inbox / "flipped.nsys-rep").write_bytes(data)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("failed")
    job = job_of(empty_library, inbox / "flipped.nsys-rep")
    assert "is damaged" in job.message
    assert job.detail, "the converter's own words"


@needs_corpus
@pytest.mark.nsight
def test_too_new_says_what_to_install(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    shutil.copy(CORPUS / "too_new_2026.nsys-rep", inbox / "new.nsys-rep")
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "new.nsys-rep")
    assert "was made by Nsight Systems 2026.1.1" in job.message
    assert "Install nsys 2026.1.1 or newer" in job.hint
    assert "newer than" in job.detail


@needs_corpus
@pytest.mark.nsight
def test_an_export_that_arrives_later_mends_the_failure(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    shutil.copy(CORPUS / "too_new_2026.nsys-rep", inbox)
    assert ingest(inbox, empty_library.folder).lines[0].startswith("failed")
    shutil.copy(CORPUS / "too_new_2026.sqlite", inbox)
    done = ingest(inbox, empty_library.folder)
    assert [line.split()[:2] for line in done.lines] == [["ready", "too_new_2026.nsys-rep"]]
    (manifest,) = empty_library.list()
    assert manifest.converter == "SQLite export, written by nsys 2026.1.1.204"
    said = " ".join(analysis.run(empty_library, manifest.id, "diagnostics")["text"])
    assert "(installed), so its SQLite export too_new_2026.sqlite was used." in said
    assert "damaged" not in said


@needs_corpus
def test_an_export_of_another_capture_is_a_report_of_its_own(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    shutil.copy(CORPUS / "too_new_2026.nsys-rep", inbox / "x.nsys-rep")
    made(inbox / "x.sqlite")
    os.utime(inbox / "x.sqlite", (0, 0))
    done = ingest(inbox, empty_library.folder, WARPDECK_NSYS="off")
    assert sorted(line.split()[0] for line in done.lines) == ["failed", "ready"]


FAULTS = {
    "exit 0, no output": ("exit 0", "failed", "is damaged"),
    "exit 0, words of an error": (
        "echo 'Error writing bytes to file'; mkdir -p export",
        "deferred",
        "The disk is full",
    ),
    "exit 1, half an output": ("mkdir -p export; echo broken >&2; exit 1", "failed", "is damaged"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_converter_that_misbehaves(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path, fault: str
) -> None:
    commands, state, message = FAULTS[fault]
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    nsys = str(stand_in(tmp_path, commands))
    ingest(inbox, empty_library.folder, WARPDECK_NSYS=nsys)
    job = job_of(empty_library, inbox / "a.nsys-rep")
    assert (job.state, message in job.message) == (state, True), job
    assert empty_library.list() == []
    assert list(empty_library.work.iterdir()) == []


@pytest.mark.nsight
def test_a_failure_is_tried_again_with_another_converter(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """Also a trace without events beside a report; an invalid file of facts needs no converter."""
    (inbox / "a.nsys-rep").write_bytes(SAMPLE.read_bytes())
    made(inbox / "b.sqlite")
    (inbox / "b.json").write_text('{"traceEvents": []}')
    (inbox / "b.meta.json").write_text("{")
    ingest(inbox, empty_library.folder, WARPDECK_NSYS="off")
    assert ingest(inbox, empty_library.folder, WARPDECK_NSYS="off").lines == []
    assert job_of(empty_library, inbox / "a.nsys-rep").message.startswith("This machine has no nsys")
    lines = ingest(inbox, empty_library.folder).lines
    assert "needs a newer nsys" in job_of(empty_library, inbox / "a.nsys-rep").message
    assert {name for name in ("a.nsys-rep", "b.json", "b.meta.json") if name in "".join(lines)} == {
        "a.nsys-rep",
        "b.json",
    }
    assert len(lines) == 2
    assert {job.state for job in empty_library.catalog.jobs() if job.name in ("b.json", "b.meta.json")} == {"failed"}
    assert ingest(inbox, empty_library.folder).lines == []


def test_list_names_what_failed(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    made(inbox / "good.sqlite")
    (inbox / "bad.sqlite").write_bytes(b"x")
    ingest(inbox, empty_library.folder)
    argv = [sys.executable, "-m", "profiledb", "list", "--format", "json", "--library", str(empty_library.folder)]
    listed = json.loads(subprocess.run(argv, cwd=ROOT, capture_output=True, check=True).stdout)
    assert [(entry["name"], entry["status"]) for entry in listed] == [
        ("good.sqlite", "ready"),
        ("bad.sqlite", "failed"),
    ]
    assert set(listed[0]) >= {"id", "name", "kind", "status", "source_sha256", "gpu", "captured_at", "labels"}

"""Raw capture data (.qdstrm): one that the real nsys leaves without its importer, and faulty importers."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ingest import tools
from ingest.formats import nsys_stream
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import Ingest, Once
from tests.support.dropped_files import job_of, stand_in
from tests.support.every_report import slow_but

HEAD = b"U3w[END]NVIDIA Nsight Systems Stream 2023.4.4.54-234433681190v0!\n"
needs_importer = pytest.mark.skipif(not tools.find_importers(), reason="needs QdstrmImporter beside nsys")


@pytest.fixture(scope="session")
def stream(once: Once) -> Path:
    """The raw capture that nsys leaves without a GPU if the host part of Nsight Systems is not installed."""
    (importer, *_) = tools.find_importers()

    def fill(folder: Path) -> None:
        installed = next(importer.path.parents[1].glob("target-linux-*")).resolve()
        target = folder / "target-linux-x64"
        target.mkdir()
        for path in installed.iterdir():
            if path.name == "nsys":
                shutil.copy2(path, target)  # it looks for the importer where its own file lies
            else:
                (target / path.name).symlink_to(path)
        argv = [str(target / "nsys"), "profile", "-t", "osrt", "-s", "none", "--cpuctxsw=none", "-o", "made", "/bin/ls"]
        environment = os.environ | {"TMPDIR": str(folder)}
        subprocess.run(argv, cwd=folder, env=environment, check=True, capture_output=True)

    return once("stream", fill) / "made.qdstrm"


@needs_importer
@pytest.mark.nsight
def test_a_stream_becomes_a_report(ingest: Ingest, inbox: Path, empty_library: Library, stream: Path) -> None:
    shutil.copy(stream, inbox / "a b.qdstrm")
    done = ingest(inbox, empty_library.folder, "--strict")
    assert done.status == 0, done.lines
    (report,) = empty_library.list()
    version = ".".join(map(str, nsys_stream.read_version(stream) or ()))
    assert (report.name, report.kind, report.tool_version) == ("a b.qdstrm", "nsys", version)
    assert str(report.converter).startswith(f"QdstrmImporter {version}, nsys ")
    assert analysis.run(empty_library, report.id, "osrt_calls", {})["calls"].sum() > 0
    assert list(empty_library.work.iterdir()) == []


@needs_importer
@pytest.mark.nsight
def test_a_stream_that_was_cut(ingest: Ingest, inbox: Path, empty_library: Library, stream: Path) -> None:
    data = stream.read_bytes()
    (inbox / "cut.qdstrm").write_bytes(data[: len(data) // 2])
    (inbox / "holed.qdstrm").write_bytes(data[: len(data) // 2] + nsys_stream.END)
    ingest(inbox, empty_library.folder)
    assert "cut.qdstrm is incomplete" in job_of(empty_library, inbox / "cut.qdstrm").message
    holed = job_of(empty_library, inbox / "holed.qdstrm")
    assert "holed.qdstrm is damaged: QdstrmImporter" in holed.message
    assert holed.detail, "the importer's own words"


@needs_importer
@pytest.mark.nsight
def test_a_stream_of_an_older_version_is_named_as_such(
    ingest: Ingest, inbox: Path, empty_library: Library, stream: Path
) -> None:
    """The importer cannot read it, but the message does not call it damaged."""
    data = stream.read_bytes()
    half = len(data) // 2
    versions = ("2021.3.2", "2023.1.1")
    for version in versions:
        old = HEAD.replace(b"2023.4.4", version.encode())
        assert old != HEAD
        (inbox / f"{version}.qdstrm").write_bytes(old + data[len(HEAD) : half] + nsys_stream.END)
    ingest(inbox, empty_library.folder)
    for version in versions:
        job = job_of(empty_library, inbox / f"{version}.qdstrm")
        assert f"is raw capture data of Nsight Systems {version}: QdstrmImporter" in job.message
        assert "damaged" not in job.message + job.hint
        assert f"QdstrmImporter of Nsight Systems {version}, then drop the .nsys-rep" in job.hint


def test_without_an_importer_it_is_said_which_one(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    (inbox / "a.qdstrm").write_bytes(HEAD + nsys_stream.END)
    ingest(inbox, empty_library.folder, WARPDECK_NSYS="off")
    job = job_of(empty_library, inbox / "a.qdstrm")
    assert "raw capture data that nsys did not finish, and this machine has no QdstrmImporter" in job.message
    assert "QdstrmImporter of Nsight Systems 2023.4.4" in job.hint


FAULTS = {
    "exit 0, no output": ("exit 0", "cannot import it"),
    "exit 0, half an output": ("echo half > report.nsys-rep", "cannot import it"),
    "exit 2": ("echo File is corrupted. >&2; exit 2", "cannot import it"),
    "it hangs": ("sleep 600", "hung: it did nothing for 4 seconds"),
    "it is killed": ("kill -9 $$", r"was killed \(SIGKILL\)\. Warpdeck has tried 3 times\."),
    "it prints without end": (
        "cat /dev/zero & exec cat /dev/zero >&2",
        "used up the processor time|did not finish within",
    ),
    "it writes elsewhere": ('echo x > "$OUTSIDE/x"', "cannot import it"),
}


QUICK = ("exit 0, half an output", "it writes elsewhere")


@pytest.mark.parametrize("fault", slow_but(QUICK, FAULTS, "starts a worker for one more fault"), ids=str)
def test_an_importer_that_misbehaves(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path, fault: str
) -> None:
    commands, message = FAULTS[fault]
    outside = tmp_path / "outside"
    outside.mkdir()
    nsys = stand_in(tmp_path, "exit 1")
    host = tmp_path / "host-linux-x64"
    host.mkdir()
    importer = stand_in(host, commands.replace("$OUTSIDE", str(outside)))
    importer.rename(host / tools.IMPORTER)
    (inbox / "a.qdstrm").write_bytes(HEAD + bytes(100) + nsys_stream.END)
    limit = "4" if fault in ("it hangs", "it prints without end") else "60"
    ingest(inbox, empty_library.folder, WARPDECK_NSYS=str(nsys), WARPDECK_CONVERT_TIMEOUT_S=limit)
    job = job_of(empty_library, inbox / "a.qdstrm")
    assert job.state == "failed"
    assert re.search(message, job.message), job.message
    assert list(outside.iterdir()) == []
    assert empty_library.list() == []
    assert list(empty_library.work.iterdir()) == []


@pytest.mark.parametrize("content", [HEAD[:20], HEAD[8:], b"", b"U3w[END]"])
def test_what_is_no_stream(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.qdstrm"
    path.write_bytes(content)
    assert not nsys_stream.matches(path)

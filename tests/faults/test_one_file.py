"""An unreadable file fails alone: the worker starts, explains the failure, and imports the others."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from profiledb.library.library import Library
from tests.conftest import CORPUS, ROOT, SAMPLES, Ingest
from tests.support.dropped_files import made, needs_corpus
from tests.support.processes import without_privileges


def endless(path: Path) -> None:
    """An export whose table of settings is a view that never ends."""
    made(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE IF EXISTS META_DATA_CAPTURE")
        db.execute("""
            CREATE VIEW META_DATA_CAPTURE AS
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
            SELECT 'PROFILING_SESSION_UUID' AS name, i AS value FROM n WHERE i < 0
        """)


def an_empty_report_beside_an_export(inbox: Path) -> None:
    made(inbox / "x.sqlite", 5)
    (inbox / "x.nsys-rep").touch()


def an_endless_view_beside_a_report(inbox: Path) -> None:
    endless(inbox / "x.sqlite")
    (inbox / "x.nsys-rep").write_bytes((SAMPLES / "transformer_inference.nsys-rep").read_bytes())


def a_name_of_255_bytes(inbox: Path) -> None:
    for ending in (".nsys-rep", ".sqlite", ".timings.csv", ".csv", ".x"):
        (inbox / ("n" * (255 - len(ending)) + ending)).write_bytes(b"x")


def a_thousand_folders(inbox: Path) -> None:
    here = os.open(inbox, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def sidecars_that_are_none(inbox: Path) -> None:
    made(inbox / "y.sqlite", 7)
    (inbox / "y.meta.json").write_text('{"note": "\\ud800", "\\udfff": 1}')
    (inbox / "y.timings.csv").write_text(f"label,step,seconds\nforward,{'9' * 5000},1\n")
    (inbox / "y.timings.json").write_text(f'[{{"label": "\\ud800", "step": {"9" * 5000}, "seconds": 1}}]')
    (inbox / "y.nvml.csv").write_text(f"time_ns,device,power_w\n{'1' * 5000},0,1\n")
    (inbox / "y.tasks.csv").write_bytes(b"task,size,device,seconds\n\xff\xfe,1,cpu,1\n")
    (inbox / "y.json").write_text("[" * 200_000)


def a_folder_of_folders_called_parquet(inbox: Path) -> None:
    for name in ("StringIds.parquet", "NVTX_EVENTS.parquet"):
        (inbox / "export" / name).mkdir(parents=True)


CASES = (
    an_empty_report_beside_an_export,
    an_endless_view_beside_a_report,
    a_name_of_255_bytes,
    a_thousand_folders,
    sidecars_that_are_none,
    a_folder_of_folders_called_parquet,
)


@pytest.fixture
def removed_inbox(inbox: Path) -> Iterator[Path]:
    """An inbox that is removed at the end by a program that does not call itself for each folder."""
    yield inbox
    subprocess.run(["rm", "-rf", str(inbox)], check=True)


def test_the_others_are_taken_in(ingest: Ingest, removed_inbox: Path, empty_library: Library) -> None:
    """All of them at once, each in its own folder with a sound file."""
    for number, case in enumerate(CASES):
        folder = removed_inbox / case.__name__
        folder.mkdir()
        case(folder)
        made(folder / f"zz_good_{number}.sqlite", 90 + number)
    good = {f"zz_good_{number}.sqlite" for number in range(len(CASES))}
    for _ in range(2):  # and at every further start
        done = ingest(removed_inbox, empty_library.folder, WARPDECK_NSYS="off", WARPDECK_CONVERT_TIMEOUT_S="60")
        assert done.status == 0, done.errors
        assert "did not finish" not in done.errors, "an endless view is no table, and so it is not looked into"
        assert good <= {report.name for report in empty_library.list()}
    for job in empty_library.catalog.jobs():
        assert job.state in ("ready", "failed", "companion", "alone", "columns", "skipped"), job
        assert job.state != "failed" or job.message, job
        assert "Traceback" not in job.detail, job


def test_a_folder_without_rights_is_passed_over(inbox: Path, empty_library: Library) -> None:
    locked = inbox / "locked"
    locked.mkdir()
    made(locked / "in.sqlite", 4)
    unreadable = made(inbox / "unreadable.sqlite", 3)
    made(inbox / "zz_good.sqlite", 9)
    unreadable.chmod(0)
    locked.chmod(0)
    argv = [sys.executable, "-m", "ingest", "--once", "--inbox", str(inbox), "--library", str(empty_library.folder)]
    try:
        done = subprocess.run(without_privileges(argv), cwd=ROOT, capture_output=True, text=True, check=False)
    finally:
        locked.chmod(0o700)
    assert done.returncode == 0, done.stderr
    states = {job.name: (job.state, job.message) for job in empty_library.catalog.jobs()}
    assert states["zz_good.sqlite"][0] == "ready"
    assert states["unreadable.sqlite"] == ("failed", "The importer may not read unreadable.sqlite.")
    assert "in.sqlite" not in states


def test_a_name_that_the_terminal_cannot_show(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    made(inbox / "größe_模型.sqlite")
    done = ingest(inbox, empty_library.folder, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.lines[0].startswith("ready"), done
    assert empty_library.list()[0].name == "größe_模型.sqlite"


SEEDS = range(12)


@needs_corpus
@pytest.mark.integration
@pytest.mark.nsight
@pytest.mark.parametrize(
    "name", ["streams_4090.nsys-rep", "copies_without_enums.sqlite", "basic_a10g.ncu-rep", "details_page_4090.csv"]
)
def test_damaged_files_fail_with_a_sentence(ingest: Ingest, inbox: Path, empty_library: Library, name: str) -> None:
    """Bytes are overwritten, cut out and cut off, at places that a seed chooses."""
    import random

    whole = (CORPUS / name).read_bytes()
    stem, _, ending = name.partition(".")
    for seed in SEEDS:
        draw = random.Random(seed)
        content = bytearray(whole)
        for _ in range(draw.choice((1, 8, 200))):
            content[draw.randrange(len(content))] = draw.randrange(256)
        at = draw.randrange(len(content))
        if seed % 3 == 1:
            del content[at : at + draw.randrange(1, 5000)]
        if seed % 3 == 2:
            del content[at:]
            content += b"U3w[END]" if ending == "nsys-rep" else b""
        (inbox / f"{stem}_{seed}.{ending}").write_bytes(content)
    done = ingest(inbox, empty_library.folder)
    assert done.status == 0, done.errors
    jobs = empty_library.catalog.jobs()
    assert len(jobs) == len(SEEDS)
    for job in jobs:
        assert job.state in ("ready", "duplicate", "failed"), job
        assert "Traceback" not in job.detail, job
        assert 'File "' not in job.detail, job
        assert "newer" not in job.message, "its header tells the version, which nsys reads"
        assert job.state != "failed" or (job.message.endswith(".") and job.hint), job


@pytest.mark.parametrize(
    "package", ["pyarrow", pytest.param("numpy", marks=pytest.mark.slow("starts a worker for another package"))]
)
def test_a_missing_package_is_not_blamed_on_the_file(
    inbox: Path, empty_library: Library, tmp_path: Path, ingest: Ingest, package: str
) -> None:
    missing = tmp_path / "packages" / package
    missing.mkdir(parents=True)
    (missing / "__init__.py").write_text("raise ModuleNotFoundError('No module named this')")
    shutil.copy(SAMPLES / "kernels.ncu-rep", inbox)
    done = ingest(inbox, empty_library.folder, PYTHONPATH=str(missing.parent))
    assert done.lines[0].startswith("failed"), done.errors
    (job,) = empty_library.catalog.jobs()
    assert job.message == "kernels.ncu-rep could not be read: Warpdeck is not installed completely."
    assert (job.hint, job.detail) == ("Install it again with all its packages.", "No module named this")

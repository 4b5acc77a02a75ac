"""Comparisons of the samples, against SQL and plain arithmetic on their exports."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.studies.compare import verdict
from tests.conftest import SAMPLES, Ingest
from tests.support.comparison import command, side


def raw(report: str, query: str) -> list[Any]:
    with closing(sqlite3.connect(SAMPLES / report.replace(".nsys-rep", ".sqlite"))) as db:
        return db.execute(query).fetchall()


def find(library: Library, report: str) -> str:
    names = (report, report.replace(".nsys-rep", ".sqlite"))
    return next(one.id for one in library.list() if one.name in names)


def spans(report: str) -> list[tuple[int, int]]:
    """Begin and end of the steps of a sample, whose programs wait for the GPU at their end."""
    query = """
    SELECT e.start, e.end FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId
    WHERE coalesce(e.text, s.value) GLOB 'step_[0-9]*' ORDER BY e.start
    """
    return [(int(start), int(end)) for start, end in raw(report, query)]


SERIAL, OVERLAPPED = "streams_serial.nsys-rep", "streams_overlapped.nsys-rep"


@pytest.mark.skipif(not (SAMPLES / SERIAL).exists(), reason="no sample reports here")
def test_a_program_that_is_four_times_faster_passes(nsys_samples: Library) -> None:
    pair = [find(nsys_samples, report) for report in (SERIAL, OVERLAPPED)]
    (before, after) = (sum(end - start for start, end in spans(one)) / 6 for one in (SERIAL, OVERLAPPED))
    assert before > 4 * after
    done = command(nsys_samples, *pair, "--fail-above", "5%", "--table", "summary")
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert lines[0].startswith(
        f"B is faster ({before / after:.3g}×): {before / 1e6:.1f} ms → {after / 1e6:.1f} ms wall time per step"
    )
    change = 100 * (after / before - 1)
    assert lines[-1] == (
        f"Wall time per step: {before / 1e6:.1f} ms in A, {after / 1e6:.1f} ms in B, {change:+.2f} %:"
        " within the limit of +5 % (--metric wall)."
    )
    kernels = command(nsys_samples, *pair, "--fail-above", "5%", "--metric", "kernels", "--table", "summary")
    assert (kernels.returncode, "(--metric kernels)" in kernels.stderr) == (1, True)
    assert ", of which copies −29.2 ms, more overlap −13.3 ms" in done.stderr


TINY = "launches_tiny.nsys-rep"


@pytest.mark.slow("takes a sample in twice and compares it by commands")
@pytest.mark.skipif(not (SAMPLES / TINY).exists(), reason="no sample reports here")
def test_half_of_the_steps_deleted_changes_no_figure_of_a_step(
    empty_library: Library, inbox: Path, ingest: Ingest
) -> None:
    """The launches of the deleted steps stay in the report, outside steps."""
    kept = spans(TINY)[::2]
    low = [start for start, _ in kept]
    for copied in ("whole", "half"):
        shutil.copyfile(SAMPLES / TINY.replace(".nsys-rep", ".sqlite"), inbox / f"{copied}.sqlite")
    with closing(sqlite3.connect(inbox / "half.sqlite")) as db:
        marks = ", ".join("?" * len(low))
        steps = "SELECT e.rowid FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId"
        steps += " WHERE coalesce(e.text, s.value) GLOB 'step_[0-9]*'"
        db.execute(f"DELETE FROM NVTX_EVENTS WHERE rowid IN ({steps}) AND start NOT IN ({marks})", low)
        db.commit()
    assert ingest(inbox, empty_library.folder).status == 0
    a, b = (side(empty_library, empty_library.find(f"{one}.sqlite").id) for one in ("whole", "half"))
    assert (a.steps, b.steps) == (len(spans(TINY)), len(kept)) == (6, 3)
    kernels = raw(TINY, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL")
    right = {
        letter: sum(end - start for start, end in kernels if any(one <= start < till for one, till in within))
        / len(within)
        for letter, within in (("a", spans(TINY)), ("b", kept))
    }
    found = verdict.find_changes(a, b)["kernels"]
    assert found.a == pytest.approx(right["a"])
    assert found.b == pytest.approx(right["b"])
    argv = ("whole.sqlite", "half.sqlite", "--fail-above", "5%", "--metric")
    for metric in ("wall", "kernels", "busy", "launches"):
        assert command(empty_library, *argv, metric).returncode == 0
    change = f"{100 * (right['b'] / right['a'] - 1):+.2f} %: within"
    assert change in command(empty_library, *argv, "kernels").stderr

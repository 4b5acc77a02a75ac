"""The bench of a day of use: a short one on the real server, and the growth computed from samples."""

import argparse
from pathlib import Path

import pytest

from bench.day import Sample, measure_growth, run_day


def samples(*megabytes: int) -> list[Sample]:
    return [Sample(at * 100, at, float(at), size * 1_000_000, 0, {}) for at, size in enumerate(megabytes, 1)]


def test_growth_is_told_of_the_second_half_alone() -> None:
    line, span = measure_growth(samples(100, 300, 400, 400, 400, 400))
    assert (line, span) == (0.0, 0.0)
    line, span = measure_growth(samples(100, 300, 400, 400, 420, 440))
    assert line == pytest.approx(42 / 410, rel=0.01)  # 14 MB a hundred views, over 300
    assert span == pytest.approx(40 / 410, rel=0.01)


@pytest.mark.slow("a benchmark of a day")
def test_a_short_day_has_no_errors_and_names_what_holds_memory(tmp_path: Path) -> None:
    day = run_day(argparse.Namespace(views=40, files=6, sessions=2, samples=2, visit=20, log=None), tmp_path)
    assert not day.errors
    last = day.samples[-1]
    assert (last.views >= 40, last.files >= 4) == (True, True)
    assert {
        "answers",
        "figures",
        "duckdb",
        "arrow",
        "duckdb_pages",
        "malloc",
        "malloc_free",
        "files",
        "resident",
    } <= set(last.held)
    assert {name.rpartition(" ")[0] for name in last.processes} >= {"ingest", "ingest.conversion.fork_server"}
    assert last.held["resident"] == pytest.approx(last.resident, rel=0.4)
    assert 0 < last.held["duckdb"] < last.resident
    assert 0 < last.held["malloc"] < last.resident  # untouched room for rows once made it a hundred times that

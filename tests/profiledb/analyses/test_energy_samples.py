"""The energy of real reports, against the program's own readings of the GPU's counter."""

import csv
from itertools import pairwise

import pytest

from ingest.sidecars.files import read_sidecar
from profiledb.library.library import Library
from profiledb.query import views
from tests.conftest import SAMPLES
from tests.support.page_reports import run

NAMES = ("energy", "idle_fixed", "dataloader_starved")
FILES = [SAMPLES / f"{name}{ending}" for name in NAMES for ending in (".sqlite", ".nvml.csv", ".meta.json")]
pytestmark = pytest.mark.skipif(not all(path.exists() for path in FILES), reason="no sample reports here")


@pytest.fixture(scope="module")
def samples(with_sidecars: Library) -> Library:
    return with_sidecars


def of(library: Library, name: str) -> str:
    return library.find(f"{name}.nsys-rep").id


def program() -> list[dict[str, float]]:
    with (SAMPLES / "energy.energy.csv").open() as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def test_each_batch_size_has_the_joules_of_the_program(samples: Library) -> None:
    """At both ends, the program's reading may be a driver period old, and ours is as late as the log."""
    rows = {row["range"]: row for row in run(samples, of(samples, "energy"), "energy_ranges")}
    each = []
    for told in program():
        row = rows[f"batch_{told['batch']:.0f}"]
        assert row["measurable"]
        assert row["low_j"] <= told["joules"] <= row["high_j"]
        assert row["joules"] == pytest.approx(told["joules"], rel=0.04)
        assert row["seconds"] == pytest.approx(told["seconds"], rel=0.01)
        assert (row["high_j"] - row["low_j"]) / 2 < 0.1 * row["joules"]
        each.append(row["joules"] / told["samples"])
    assert each == pytest.approx([told["joules_per_sample"] for told in program()], rel=0.04)
    assert each == sorted(each, reverse=True), "a sample takes less in larger batches"


def test_a_step_that_is_too_short_alone_is_measured_as_a_loop(samples: Library) -> None:
    rows = {row["range"]: row for row in run(samples, of(samples, "energy"), "energy_ranges", by="loop")}
    assert {"batch_1", "batch_8", "batch_64", "batch_512"} <= set(rows), "sizes are no loop"
    told = {row["batch"]: row for row in program()}
    for batch in (8, 64, 512):
        loop = rows[f"batch_{batch}/step_*"]
        assert loop["instances"] == told[batch]["samples"] / 512
        assert loop["measurable"]
        assert loop["joules_each"] == pytest.approx(512 * told[batch]["joules_per_sample"], rel=0.05)


def test_a_window_of_milliseconds_is_too_short(samples: Library) -> None:
    one = of(samples, "idle_fixed")
    (whole,) = run(samples, one, "energy_summary")
    assert (whole["covered_pct"], whole["measurable"]) == (100, False)
    assert not any(row["measurable"] for row in run(samples, one, "energy_ranges"))
    assert not any(row["measurable"] for row in run(samples, one, "energy_steps"))


def test_the_whole_is_what_the_counter_moved(samples: Library) -> None:
    """Between two changes of the counter, the energy is their difference, regardless of the readings between."""
    log = read_sidecar(SAMPLES / "energy.nvml.csv").text.splitlines()
    rows = [dict(zip(log[0].split(","), line.split(","), strict=True)) for line in log[1:]]
    changes = [now for before, now in pairwise(rows) if now["energy_mj"] != before["energy_mj"]]
    first, last = changes[2], changes[40]
    one = of(samples, "energy")
    begin = _captured_ns(samples, one)
    window = {"from_ns": int(first["time_ns"]) - begin, "to_ns": int(last["time_ns"]) - begin}
    (row,) = run(samples, one, "energy_summary", **window)
    moved = (float(last["energy_mj"]) - float(first["energy_mj"])) / 1000
    assert row["joules"] == pytest.approx(moved)


def _captured_ns(library: Library, report_id: str) -> int:
    with library.cursor(report_id, views=views.list_all()) as cursor:
        (found,) = cursor.execute("SELECT epoch_ns(captured_at) FROM report").fetchall()
    return int(found[0])

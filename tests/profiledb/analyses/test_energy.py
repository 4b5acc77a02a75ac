"""Energy from a power log: stretches, bounds, holes, counters, and GPUs, computed by hand."""

import json
from typing import Any

import duckdb
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from profiledb.query.analysis import query
from tests.support.page_reports import Publish, insert, picked, records, run
from tests.support.power_log_reports import at_once, put_log, reading, report

LOOPED = "SELECT range_path.path, title FROM looped_path JOIN range_path USING (path_id)"
CHANGES = [(0.0, 100.0), (100.0, 110.0), (200.0, 140.0), (300.0, 180.0), (400.0, 190.0)]
"""What is known: 30 J from 100 to 200 ms, 40 J to 300 ms, 10 J to 400 ms."""


def ranges(library: Library, report_id: str, **params: Any) -> dict[str, dict[str, Any]]:
    return {row["range"]: row for row in run(library, report_id, "energy_ranges", **params)}


def near(*values: float | None) -> list[Any]:
    return [value if value is None else pytest.approx(value, abs=1e-4) for value in values]


def told(row: dict[str, Any]) -> list[Any]:
    return [row[name] for name in ("joules", "low_j", "high_j", "covered_pct", "measurable")]


def test_fractions_and_bounds(library: Library, publish: Publish) -> None:
    spans = [
        ("whole", 100, 300), ("halves", 150, 250), ("tenth", 110, 120), ("over the end", 340, 600),
        ("before", 0, 90), ("after", 700, 800), ("twice", 100, 160), ("twice", 140, 200), ("empty", 150, 150),
    ]  # fmt: skip
    one = report(publish, spans)
    put_log(library, one, at_once(CHANGES, 50, 500))
    rows = ranges(library, one)
    assert told(rows["whole"]) == near(70, 70, 70, 100, True)
    assert told(rows["halves"]) == near(15 + 20, 5 + 15, 25 + 25, 100, True)
    assert told(rows["tenth"]) == near(3, 0.5, 5, 100, False), "the bar is wider than the energy"
    assert told(rows["over the end"]) == near(6, 3, 8, 60 / 2.6, True)
    assert told(rows["twice"]) == near(30, 30, 30, 100, True), "the overlap counts once"
    assert picked([rows["twice"]], "instances", "seconds", "joules_each") == [(2, 0.1, near(15)[0])]
    assert (rows["over the end"]["joules_each"], rows["over the end"]["mean_w"]) == (None, near(100)[0])
    for outside in ("before", "after"):
        assert told(rows[outside]) == [None, None, None, 0, False], "missing, not 0"
    assert rows["empty"]["joules"] is None


def test_a_change_may_be_older_than_the_reading_that_shows_it(library: Library, publish: Publish) -> None:
    one = report(publish, [("whole", 100, 300), ("half", 100, 150)])
    counter = {0: 100, 100: 110, 200: 140, 300: 180, 400: 190}
    rows = [reading(ms, counter[ms // 100 * 100], 50 if ms == 0 else 500) for ms in range(0, 401, 25)]
    put_log(library, one, rows)
    late = 500 * 0.025
    found = ranges(library, one)
    assert told(found["whole"]) == near(70, 70 - late, 70 + late, 100, True)
    assert told(found["half"]) == near(15, 30 - 25 - 2.5 - 0, 25, 100, False)


def test_power_that_only_the_energies_prove(library: Library, publish: Publish) -> None:
    """The log has no power: 30, 40 and 10 J in 0.1 s are 300, 400 and 100 W."""
    one = report(publish, [("halves", 150, 250)])
    put_log(library, one, at_once(CHANGES, None, None))  # type: ignore[arg-type]
    low = max(5, 30 - 20) + max(5, 40 - 20)
    high = min(20, 30 - 5) + min(20, 40 - 5)
    assert told(ranges(library, one)["halves"]) == near(35, low, high, 100, True)


def test_the_power_limit_is_possible_where_it_is_told(library: Library, publish: Publish) -> None:
    one = report(publish, [("halves", 150, 250)])
    put_log(library, one, at_once(CHANGES, 50, 500))
    library.put_sidecar(one, "meta", json.dumps({"gpus.0.power_limit_w": "700", "gpus.1.power_limit_w": "900"}))
    low, high = max(2.5, 30 - 35) + max(2.5, 40 - 35), min(35, 30 - 2.5) + min(35, 40 - 2.5)
    assert told(ranges(library, one)["halves"]) == near(35, low, high, 100, False)
    (row,) = run(library, one, "energy_summary")
    assert (row["limit_w"], row["highest_w"], row["lowest_w"]) == (700, 700, 50)


def test_a_hole_in_the_log_is_divided_by_the_readings_around_it(library: Library, publish: Publish) -> None:
    """By the readings, the last stretch has 600 W until the hole and 100 W in it: 60 + 90 J of 150 J."""
    one = report(publish, [("before", 300, 400), ("hole", 400, 1300)], end_ms=2000)
    rows = [
        *at_once([(0, 0), (100, 20), (200, 40), (300, 60)], 50, 700),
        reading(400, 60, 600),
        reading(1300, 210, 100),
    ]
    put_log(library, one, rows)
    found = ranges(library, one)
    assert told(found["before"])[:3] == near(60, 5, 70)
    assert told(found["hole"])[:2] == near(90, 150 - 70)
    assert found["hole"]["high_j"] == near(150 - 5 + 700 * 0.1)[0], "and what the last change may be late"


def test_a_counter_that_begins_anew_tells_nothing_of_the_jump(library: Library, publish: Publish) -> None:
    one = report(publish, [("all", 100, 500)])
    put_log(library, one, at_once([*CHANGES[:3], (300, 5), (400, 15), (500, 45)], 50, 500))
    assert told(ranges(library, one)["all"]) == near(30 + 10 + 30, 70, 70, 75, True)


@pytest.mark.parametrize("counter", [None, 7.0])
def test_power_is_added_up_where_no_counter_moves(library: Library, publish: Publish, counter: float | None) -> None:
    one = report(publish, [("all", 0, 300), ("half", 0, 50)])
    put_log(library, one, [reading(ms, counter, w) for ms, w in ((0, 100), (100, 200), (200, 200), (300, 400))])
    rows = ranges(library, one)
    assert told(rows["all"]) == near(15 + 20 + 30, 65, 65, 100, True)
    assert told(rows["half"])[:3] == near(7.5, 5, 10)
    assert [row["source"] for row in run(library, one, "energy_summary")] == ["power"]


def test_a_single_reading_tells_no_energy(library: Library, publish: Publish) -> None:
    one = report(publish, [("all", 0, 300)])
    put_log(library, one, [reading(10, 5, 100)])
    (row,) = run(library, one, "energy_summary")
    assert (row["joules"], row["covered_pct"], row["measurable"], row["readings"]) == (None, 0, False, 1)
    assert told(ranges(library, one)["all"]) == [None, None, None, 0, False]
    assert run(library, one, "energy_classes") == []
    assert len(run(library, one, "power_over_time")) == 1


def test_gpus_are_known_by_uuid_else_by_number(library: Library, publish: Publish) -> None:
    """The log numbers them in reverse; GPUs that the report did not use do not count."""
    more = [(ms, 2 * joules) for ms, joules in CHANGES]
    named = [
        *at_once(CHANGES, 50, 500, device=1, uuid="GPU-AA"), *at_once(more, 50, 1000, device=0, uuid="GPU-bb")
    ]  # fmt: skip
    both = report(publish, [("whole", 100, 300)], gpus=("aa", "bb"), used=(0, 1))
    put_log(library, both, named)
    assert picked(run(library, both, "energy_summary"), "gpu_id", "lowest_w", "highest_w") == [
        (0, 50, 500),
        (1, 50, 1000),
    ]
    assert told(ranges(library, both)["whole"]) == near(210, 210, 210, 100, True)
    assert ranges(library, both)["whole"]["mean_w"] == near(1050)[0]
    assert told(ranges(library, both, device=1)["whole"]) == near(140, 140, 140, 100, True)
    first = report(publish, [("whole", 100, 300)], gpus=("aa", "bb"), used=(0,))
    put_log(library, first, named)
    assert told(ranges(library, first)["whole"]) == near(70, 70, 70, 100, True)
    assert told(ranges(library, first, device=1)["whole"]) == near(140, 140, 140, 100, True)
    for row in named:
        row["uuid"] = ""
    put_log(library, first, named)
    assert told(ranges(library, first)["whole"]) == near(140, 140, 140, 100, True), "device 0 of the log"


def test_a_gpu_that_the_log_does_not_know(library: Library, publish: Publish) -> None:
    one = report(publish, [("whole", 100, 300)], gpus=("aa", "bb"), used=(0, 1))
    put_log(library, one, at_once(CHANGES, 50, 500, device=0, uuid="GPU-aa"))
    rows = run(library, one, "energy_summary")
    assert picked(rows, "gpu_id", "readings", "covered_pct") == [(0, 9, 30), (1, 0, 0)]
    assert told(ranges(library, one)["whole"]) == near(70, 70, 70, 50, True)


def test_a_report_that_does_not_say_when_it_began(library: Library, publish: Publish) -> None:
    one = report(publish, [("whole", 100, 300)], captured=None)
    put_log(library, one, at_once(CHANGES, 50, 500))
    (row,) = run(library, one, "energy_summary")
    assert (row["readings"], row["joules"], row["low_j"], row["covered_pct"]) == (0, None, None, 0)
    assert run(library, one, "power_over_time") == []
    assert told(ranges(library, one)["whole"]) == [None, None, None, 0, False]


def test_steps_with_what_the_program_says_of_them(library: Library, publish: Publish) -> None:
    one = report(publish, [("step_0", 100, 200), ("step_1", 200, 300)])
    put_log(library, one, at_once(CHANGES, 50, 500))
    library.put_sidecar(one, "meta", json.dumps({"flops_per_step": "7e13", "items_per_step.tokens": "4096"}))
    (row,) = run(library, one, "energy_steps")
    assert (row["steps"], row["instances"], row["item"], row["measurable"]) == ("step_*", 2, "tokens", True)
    assert [row[n] for n in ("step_j", "tflop_per_j", "items_per_j")] == near(35, 2, 4096 / 35)
    (given,) = run(library, one, "energy_steps", flops="3.5e13", items="70")
    assert [given[n] for n in ("tflop_per_j", "items_per_j")] == near(1, 2)
    short = report(publish, [("step_0", 110, 115), ("step_1", 120, 125)])
    put_log(library, short, at_once(CHANGES, 50, 500))
    (row,) = run(library, short, "energy_steps", flops=1e12)
    assert (row["measurable"], row["tflop_per_j"]) == (False, None)
    partly = report(publish, [("step_0", 100, 200), ("step_1", 380, 500)])
    put_log(library, partly, at_once(CHANGES, 50, 500))
    (row,) = run(library, partly, "energy_steps", flops=1e12)
    assert (row["step_j"], row["tflop_per_j"]) == (None, None)


def test_what_the_program_says_of_a_step_is_not_said_of_other_loops(library: Library, publish: Publish) -> None:
    one = report(publish, [("epoch_0", 100, 300), ("epoch_1", 300, 450), ("step_0", 100, 200), ("step_1", 200, 300)])
    put_log(library, one, at_once(CHANGES, 50, 500))
    library.put_sidecar(one, "meta", json.dumps({"flops_per_step": "7e13", "items_per_step.tokens": "4096"}))
    rows = {row["steps"]: row for row in run(library, one, "energy_steps")}
    assert [rows["step_*"][n] for n in ("flops_per_step", "items_per_step", "item")] == [7e13, 4096, "tokens"]
    assert [rows["epoch_*"][n] for n in ("flops_per_step", "tflop_per_j", "items_per_step", "item")] == [None] * 4
    assert rows["epoch_*"]["measurable"]
    given = {row["steps"]: row for row in run(library, one, "energy_steps", flops="1e15")}
    assert given["epoch_*"]["flops_per_step"] == 1e15, "what a reader gives holds for the loop that the reader looks at"


def test_without_a_log_it_says_how_to_get_one(library: Library, publish: Publish) -> None:
    one = report(publish, [("whole", 100, 300)])
    for name in ("energy_summary", "energy_ranges", "energy_classes", "energy_steps", "power_over_time"):
        with pytest.raises(NotCapturedError, match="power and clocks"):
            run(library, one, name)


def test_loops_are_told_by_numbers_without_a_hole(library: Library, publish: Publish) -> None:
    paths = [
        "a",
        "batch_1",
        "batch_8",
        "batch_64",
        "two_0",
        "two_1",
        "n1",
        "n2",
        "n3",
        "step 1/9",
        "step 2/9",
        "step 3/9",
    ]
    nested = [f"{outer}/{inner}" for outer in ("n1", "n3") for inner in ("k0", "k1", "k2", "7/8")]

    def fill(db: duckdb.DuckDBPyConnection) -> None:
        rows = [{"path_id": n, "level": 0, "name": t, "path": t} for n, t in enumerate(paths)]
        for n, text in enumerate(nested, len(paths)):
            outer, _, inner = text.partition("/")
            rows.append({"path_id": n, "parent_id": paths.index(outer), "level": 1, "name": inner, "path": text})
        insert(db, "range_path", rows)

    one = publish(fill)
    found = {row["path"]: row["title"] for row in records(query(library, one, LOOPED))}
    assert {path: title for path, title in found.items() if path != title} == {
        **{f"n{number}": "n*" for number in (1, 2, 3)},
        **{f"step {number}/9": r"step *\/9" for number in (1, 2, 3)},
        **{f"n{outer}/k{inner}": "n*/k*" for outer in (1, 3) for inner in (0, 1, 2)},
        **{f"n{outer}/7/8": r"n*/7\/8" for outer in (1, 3)},
    }

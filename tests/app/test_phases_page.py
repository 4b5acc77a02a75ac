"""The page "Phases": one report, two side by side, reports without ranges or kernels, and its sentences."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.views.phases import changes, report_side
from app.views.phases import sentences as split_words
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.studies.compare import matching
from profiledb.studies.compare import rows as compare_rows
from profiledb.studies.summary import matmul_share
from tests.app.conftest import Dashboard, of, plain_texts
from tests.app.test_ranges_page import metric

TITLES = {"forward": "Forward", "backward": "Backward", "optimizer": "Optimizer"}


def test_one_report(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("phases", report=of(library, "transformer_training.nsys-rep"), flops="1e12")
    assert not at.exception
    assert not at.error
    (matmul,) = metric(at, "Matmul")
    assert f"Matmul takes **{matmul}** of kernel time" in plain_texts(at)
    assert "Optimizer 0.0 %" in plain_texts(at)
    assert "Launches count from all threads" in plain_texts(at)
    assert "In Forward, **" in plain_texts(at)
    assert "per step. It also leads Forward + backward" in plain_texts(at)
    assert "Next non-matmul kernels" in plain_texts(at)
    assert "MFU = 1.00 TFLOP ÷ " in plain_texts(at)
    assert metric(at, "Peak") == ["989.5 TFLOP/s"]
    phases = at.dataframe[0].value
    assert list(phases["title"]) == ["Everything", "Forward", "Backward", "Optimizer"]
    assert metric(at, "Steps") == ["5"]


@pytest.mark.slow("draws a whole page for another mode")
def test_by_thread(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("phases", report=of(library, "transformer_training.nsys-rep"), mode="thread", top="optimizer")
    assert "Launches count from this thread only" in plain_texts(at)
    assert "No phase" in list(at.dataframe[0].value["title"])


def test_two_reports(dashboard: Dashboard, library: Library) -> None:
    first, second = (of(library, f"transformer_{name}.nsys-rep") for name in ("inference", "training"))
    at = dashboard("phases", report=first, other=second)
    assert not at.exception
    assert not at.warning
    assert "(inference) to **" in plain_texts(at)
    assert "Optimizer adds 13." in plain_texts(at)
    assert "none of it matmul" in plain_texts(at)
    assert "means over 5 (inference) and 5 (training)" in plain_texts(at)
    kernels = next(frame.value for frame in at.dataframe if "why" in frame.value)
    assert {"new", "more launches"} <= set(kernels["why"])
    assert kernels["change_ns"].abs().is_monotonic_decreasing


@pytest.mark.parametrize(
    "name",
    [
        lambda report: report.name,
        pytest.param(lambda report: report.id[:8], marks=pytest.mark.slow("draws a page of two reports again")),
    ],
    ids=["file", "prefix"],
)
def test_the_address_names_the_other_report_as_it_names_the_first(
    dashboard: Dashboard, library: Library, name: Callable[[Manifest], str]
) -> None:
    first, second = (library.find(f"transformer_{which}.nsys-rep") for which in ("inference", "training"))
    at = dashboard("phases", report=name(first), other=name(second))
    assert not at.warning
    assert at.selectbox(key="split-other").value == second.id
    assert "(inference) to **" in plain_texts(at)


def test_reports_of_different_gpus(dashboard: Dashboard, library: Library) -> None:
    first, second = of(library, "transformer_training.nsys-rep"), of(library, "streams_4090.nsys-rep")
    at = dashboard("phases", report=first, other=second)
    assert not at.exception
    assert "Compare shares, not times" in at.warning[0].value
    assert "Only one of the reports has steps" in plain_texts(at)
    assert not {"change_ns", "a_pass_ns"} & set(at.dataframe[2].value.columns)


def test_without_ranges(dashboard: Dashboard, library: Library) -> None:
    at = dashboard("phases", report=of(library, "streams_4090.nsys-rep"), other="nothing")
    assert "This report has no ranges" in plain_texts(at)
    assert "No other report nothing" in at.warning[0].value
    assert "No steps were found" in plain_texts(at)
    assert "The report shows no steps." in plain_texts(at)
    assert not at.exception


def rows(**phases: tuple[float, float]) -> pd.DataFrame:
    """``matmul_split`` of phases with their time and that of matmul in them."""
    times = {"all": tuple(map(sum, zip(*phases.values(), strict=True))), **phases}
    frame = pd.DataFrame(
        [{"phase": name, "total_ns": total, "matmul_ns": matmul} for name, (total, matmul) in times.items()]
    )
    frame["share_pct"] = 100 * frame["total_ns"] / frame["total_ns"].max()
    frame["matmul_pct"] = 100 * frame["matmul_ns"] / frame["total_ns"]
    frame["rest_pct"] = 100 - frame["matmul_pct"]
    return frame.set_index("phase", drop=False)


def between(first: pd.DataFrame, second: pd.DataFrame, classes: Any = ((), ())) -> str:
    shares = tuple(pd.Series(dict(each), dtype=float) for each in classes)
    return split_words.describe_change(first, second, ("a", "b"), TITLES, (shares[0], shares[1]), {}).replace("\\", "")


def test_only_a_phase_without_matmul_dilutes_its_share() -> None:
    told = matmul_share.describe_matmul(rows(forward=(100, 80), optimizer=(100, 0)), TITLES)
    assert told.endswith("Excluding Optimizer (50.0 % of kernel time): 80.0 %.")
    little = matmul_share.describe_matmul(rows(forward=(100, 1), backward=(1000, 2)), TITLES)
    assert "Matmul share: Forward 1.0 %, Backward 0.2 %." in little
    assert "Excluding" not in little, "all have little of it"


def test_why_matmul_falls() -> None:
    forward = rows(forward=(100, 80))
    words = between(forward, rows(forward=(100, 80), optimizer=(100, 0)))
    assert words == (
        "Matmul falls from **80.0 %** (a) to **40.0 %** (b)"
        " because Optimizer adds 50.0 % of the time, none of it matmul (−40.0)."
    )
    back = between(rows(forward=(100, 80), optimizer=(100, 0)), forward)
    assert "rises from **40.0 %** (a) to **80.0 %** (b) because" in back
    assert "Optimizer is gone, 50.0 % of the time with none of it matmul (+20.0)" in back
    assert "share stays the same" in between(forward, forward)
    assert "although Backward adds" in between(forward, rows(forward=(50, 30), optimizer=(20, 0), backward=(20, 18)))


def test_the_points_of_the_phases_add_up() -> None:
    first, second = rows(forward=(100, 70), backward=(50, 20)), rows(forward=(80, 30), optimizer=(40, 4))
    moves = split_words._compute_moves(first, second, 60.0)
    assert sum(move for _, move in moves) == pytest.approx(100 * 34 / 120 - 60)


def test_without_phases_a_class_is_the_reason() -> None:
    shares = ({"matmul": 50, "copy": 50}, {"matmul": 25, "copy": 55, "softmax": 20})
    words = between(rows(none=(100, 50)), rows(forward=(100, 25)), [each.items() for each in shares])
    assert words.endswith("because softmax takes 20.0 % instead of 0.0 %.")


def part(calls: dict[str, tuple[int, int]], spelled: str = "{}") -> matching.Part:
    """The kernels of a part of a report: calls and mean duration of each, by the names that one profiler writes."""
    kernels = pd.DataFrame(
        [
            {"kernel": str(n), "name": one, "class": "other", "mangled": None, "demangled": spelled.format(one),
             "normal_name": one, "total_ns": count * ns, "calls": count, "threads": count}
            for n, (one, (count, ns)) in enumerate(calls.items())
        ]
    ).astype({"total_ns": "Int64", "calls": "Int64", "threads": "Int64"})  # fmt: skip
    drawn = [(str(n), ns) for n, (count, ns) in enumerate(calls.values()) for _ in range(count)]
    sample = pd.DataFrame(drawn, columns=["kernel", "duration_ns"])
    return matching.Part(kernels, sample, *[pd.DataFrame()] * 3)


def of_steps(inside: matching.Part, steps: int) -> matching.Side:
    """A side whose whole is its steps."""
    frames = {name: getattr(inside, name) for name in matching.ANALYSES}
    told = pd.DataFrame([{"count": steps, "steps": "step_*"}])
    return matching.Side(**frames, iteration_summary=told, inside=inside, lacks=None)


def test_why_kernels_change() -> None:
    first = of_steps(part({"a": (4, 100), "b": (4, 100), "c": (4, 100), "d": (4, 100), "e": (4, 100)}), 2)
    second = of_steps(part({"a": (8, 100), "b": (4, 90), "c": (4, 101), "d": (6, 150), "f": (2, 50)}, "void {}()"), 2)
    rows = changes.add_reasons(compare_rows.compare_kernels(first, second, "step"), by_pass=True).set_index("name")
    assert dict(rows["why"]) == {
        "a": "more launches", "b": "faster", "c": "same", "d": "slower", "e": "gone", "f": "new",
    }, "kernels that profilers write differently are the same ones, as on Compare"  # fmt: skip
    assert rows["change_ns"].to_dict() == {"a": 200, "b": -20, "c": 2, "d": 250, "e": -200, "f": 50}
    assert set(rows.index[:3]) == {"d", "a", "e"}
    more = rows.loc["a"]
    assert (more["a_pass_calls"], more["b_pass_calls"], more["a_pass_ns"]) == (2, 4, 200)
    shares = changes.add_reasons(compare_rows.compare_kernels(first, second, "share"), by_pass=False).set_index("name")
    assert shares["change_ns"].isna().all()
    assert dict(shares["why"]) == dict(rows["why"]) | {"a": "same"}


@pytest.mark.slow("judges two reports by every rule")
def test_kernels_are_those_of_compare(dashboard: Dashboard, library: Library) -> None:
    pair = [of(library, f"transformer_{name}.nsys-rep") for name in ("inference", "training")]
    split = dashboard("phases", report=pair[0], other=pair[1])
    compare = dashboard("compare", report=pair[0], other=pair[1])
    mine = next(frame.value for frame in split.dataframe if "why" in frame.value)
    theirs = next(frame.value for frame in compare.dataframe if "told" in frame.value)
    assert list(mine["name"]) == list(theirs["name"])
    assert mine["change_ns"].to_list() == pytest.approx(theirs["change_ns"].to_list())


def test_names_that_tell_reports_apart() -> None:
    assert report_side.choose_labels("transformer_inference.nsys-rep", "transformer_training.nsys-rep") == (
        "inference",
        "training",
    )
    assert report_side.choose_labels("a.sqlite", "a.nsys-rep") == ("sqlite", "nsys-rep")
    assert report_side.choose_labels("run_1.nsys-rep", "run_1.pt.trace.json.gz") == ("nsys-rep", "pt.trace.json.gz")
    assert report_side.choose_labels("a.sqlite", "a.sqlite") == ("this", "other")
    assert report_side.choose_labels("run", "run_2.sqlite") == ("run", "run_2")


def test_hostile_names(dashboard: Dashboard, library: Library) -> None:
    at: AppTest = dashboard("phases", report=of(library, "kernels.nsys-rep"), other="<b>$x$ [c](http://d)")
    assert not at.exception
    assert "<b>" not in at.warning[0].value
    assert "](http" not in at.warning[0].value

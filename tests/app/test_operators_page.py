"""The page "Operators" in each of its views, on a small made-up trace and on one without the data."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from profiledb.library.library import Library
from tests.app.conftest import Dashboard, plain_texts, texts
from tests.conftest import ingest_files
from tests.support import made_traces
from tests.support.every_report import slow_but
from tests.support.made_traces import launch, operator

ODD = "<b>aten</b>::$x$ [link](http://x) :material/home:"


@pytest.fixture
def report(empty: Path, tmp_path: Path) -> str:
    """A linear layer forward and backward, and an operator of an odd name, in the library of the dashboard."""
    odd = [operator(ODD, 400, 410, Input_Dims=[["<i>"]], Input_type=["<u>"]), *launch(20, 401, (420, 421))]
    ingest_files(empty, [made_traces.write(tmp_path / "trace", made_traces.linear_layer() + odd)])
    return Library(empty / "library").list()[0].id


def table(at: AppTest, *columns: str) -> list[tuple[object, ...]]:
    """These columns of the first table that has them."""
    frame: pd.DataFrame = next(one.value for one in at.dataframe if set(columns) <= set(one.value.columns))
    return list(frame[list(columns)].itertuples(index=False, name=None))


def test_it_shows_operators_in_five_ways(dashboard: Dashboard, report: str) -> None:
    at = dashboard("operators", report=report)
    assert not at.exception
    assert {one.label: one.value for one in at.metric}["Operators"] == "8"
    assert table(at, "operator", "device_self_ns", "device_ns", "calls")[:3] == [
        ("aten::mm", 50_000, 50_000, 2), ("aten::addmm", 40_000, 40_000, 1), ("aten::add", 5_000, 5_000, 1)
    ]  # fmt: skip
    assert "launched outside of operators" in plain_texts(at)
    at.query_params["op"] = "aten::mm"
    assert [one for one in at.run().get("page_link") if "timeline" in str(getattr(one, "label", ""))]
    assert table(at, "shape", "types", "calls") == [("128×64, 64×32", "BFloat16, BFloat16", 2)]
    for view, columns, first in (
        ("shapes", ("operator", "shape"), ("aten::mm", "128×64, 64×32")),
        ("modules", ("tree", "forward_device_ns", "backward_device_ns"), ("Linear_0", 40_000, 50_000)),
        ("lines", ("line", "calls"), ("train.py(5): main", 2)),
        ("roofline", ("operator", "precision", "bound"), ("aten::mm", "bf16", "memory")),
    ):
        at.query_params["view"] = view
        at.run()
        assert (view, list(at.exception), list(at.error)) == (view, [], [])
        assert table(at, *columns)[0] == first
    assert "Both axes are models" in plain_texts(at)


def test_an_odd_name_is_text(dashboard: Dashboard, report: str) -> None:
    at = dashboard("operators", report=report, op=ODD)
    assert not at.exception
    assert any("aten" in one.value and "<b>" not in one.value for one in at.subheader)
    assert ODD not in texts(at)
    at.query_params["op"] = "no such operator"
    assert "is not in this selection" in plain_texts(at.run())


LACKS = {
    "shapes": "record_shapes=True", "modules": "with_modules=True", "lines": "with_stack=True",
    "roofline": "No operator here has shapes",
}  # fmt: skip


@pytest.mark.parametrize("view", slow_but(["modules"], LACKS, "draws each view"))
def test_what_it_lacks_is_said(dashboard: Dashboard, empty: Path, tmp_path: Path, view: str) -> None:
    ingest_files(empty, [made_traces.write(tmp_path / "trace", [operator("aten::mm", 0, 10)])])
    report = Library(empty / "library").list()[0].id
    at = dashboard("operators", report=report, view=view)
    assert not at.exception
    assert LACKS[view] in plain_texts(at)

"""The page "Compare": its sentences against the rows, its address, and reports that cannot be compared."""

import duckdb
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from profiledb.studies.compare import answer, verdict
from profiledb.studies.compare import rows as compare_rows
from tests.app.conftest import CORPUS, Dashboard, Open, needs_samples, of, plain_texts
from tests.support.page_reports import empty, insert, kernel, name

pytestmark = needs_samples

OPENED = {"mode": "process", "warmup": "exclude"}
"""What the page shows of the samples where the address says nothing."""


@pytest.fixture
def pair(library: Library) -> tuple[str, str]:
    a, b = (library.find(f"transformer_{name}.nsys-rep").id for name in ("training", "inference"))
    return a, b


def kernels(at: AppTest) -> pd.DataFrame:
    """The table of kernels, which is not the first one: that of findings is."""
    found: pd.DataFrame = next(one.value for one in at.dataframe if {"name", "class"} <= set(one.value.columns))
    return found


def open_(dashboard: Dashboard, **query: str) -> AppTest:
    at = dashboard("compare", **query)
    assert not at.exception
    assert "Something went wrong" not in plain_texts(at)
    return at


def publish(library: Library, report_id: str, *durations: int, label: str = "k") -> str:
    path = library.folder / f"{report_id}.duckdb"
    with store.create(path, ready=empty()) as db:
        _fill(db, durations, label)
    library.publish(path, Manifest(report_id, SCHEMA_VERSION, f"{label}{report_id[0]}.rep", "nsys", report_id, 1))
    return report_id


def _fill(db: duckdb.DuckDBPyConnection, durations: tuple[int, ...], label: str) -> None:
    insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": 10**6, "duration_ns": 10**6}])
    insert(db, "kernel_name", [name(1, label)])
    insert(db, "kernel", [kernel(n, 1, 1000 * n, 1000 * n + ns) for n, ns in enumerate(durations)])


def test_the_sentences_are_those_of_the_rows(dashboard: Dashboard, library: Library, pair: tuple[str, str]) -> None:
    at = open_(dashboard, report=pair[0], other=pair[1])
    a, b = (answer.gather_side(library, library.find(one), OPENED) for one in pair)
    lines = (verdict.state_headline(a, b), verdict.state_figures(a, b), verdict.explain_change(a, b))
    assert all(line and line in plain_texts(at) for line in lines), "as on the command line"
    assert verdict.state_outside(a, b) == "", "the rest was the warm-up, which is left out"
    assert lines[0].startswith("B is faster (3.53×): 10.5 ms → 2.97 ms wall time per step")
    rows = compare_rows.compare_kernels(a, b, "step")
    pairs = zip(kernels(at)["name"], rows["name"], strict=True)
    assert all(shown.startswith(name) for shown, name in pairs), "kernels of one short name are told apart"
    assert f"{(rows['status'] == 'gone').sum()} gone" in plain_texts(at)
    told = "warpdeck compare"
    assert f"{told} {pair[0]} {pair[1]} --param warmup=exclude --basis step" in plain_texts(at)


@pytest.mark.slow("judges two reports by every rule")
def test_kernels_outside_of_steps_are_told(dashboard: Dashboard, pair: tuple[str, str]) -> None:
    whole = open_(dashboard, report=pair[0], other=pair[1], warmup="include")
    assert "Outside steps: kernels 22.4 ms in A, 6.91 ms in B" in plain_texts(whole)


@pytest.mark.slow("judges two reports by every rule for each of its pages")
def test_swap_is_the_mirror_image(dashboard: Dashboard, pair: tuple[str, str]) -> None:
    at = open_(dashboard, report=pair[0], other=pair[1], range="forward", other_range="step_1/forward", basis="step")
    there = kernels(at).set_index("name")["change_ns"].dropna().sum()
    (link,) = [one.proto for one in at.main.get("page_link") if "Both on the Timeline" in one.proto.label]
    assert {f"report={pair[0]}", f"with={pair[1]}", "align=step"} <= set(link.query_string.split("&"))
    at = at.button(key="compare-swap").click().run()
    assert not at.exception
    query = at.query_params
    assert (query["report"], query["other"], query["basis"]) == (pair[1], pair[0], "step")
    assert (query["range"], query["other_range"]) == ("step_1/forward", "forward")
    back = kernels(at).set_index("name")["change_ns"].dropna().sum()
    assert back == pytest.approx(-there)


@pytest.mark.slow("judges two reports by every rule for each of its pages")
def test_the_other_selection_is_the_same_until_it_is_chosen(dashboard: Dashboard, pair: tuple[str, str]) -> None:
    same = open_(dashboard, report=pair[0], other=pair[1], range="forward")
    assert [b.key for b in same.button if "chip" in str(b.key)] == ["selection-chip-0", "other-selection-chip-0"]
    assert "forward: 5 in A, 5 in B" in plain_texts(same)
    at = same.button(key="other-selection-chip-0").click().run()
    assert (at.query_params["range"], at.query_params["other_range"]) == ("forward", "")
    assert [b.key for b in at.button if "chip" in str(b.key)] == ["selection-chip-0"]
    at = at.toggle(key="other-selection-warmup").set_value(False).run()
    assert at.query_params["other_warmup"] == "include"
    assert "warmup" not in at.query_params
    at = at.button(key="other-selection-clear").click().run()
    assert [key for key in at.query_params if key.startswith("other_")] == []
    lacking = open_(dashboard, report=pair[0], other=pair[1], range="backward")
    assert [b.key for b in lacking.button if "chip" in str(b.key)] == ["selection-chip-0"], "it has no such range"


@pytest.mark.slow("judges two reports by every rule for each of its pages")
def test_a_report_is_chosen_on_the_page(dashboard: Dashboard, library: Library, pair: tuple[str, str]) -> None:
    at = open_(dashboard, report=pair[0])
    assert "Choose a report to compare with this one" in plain_texts(at)
    at = at.selectbox(key="compare-other").set_value(pair[0]).run()
    assert at.query_params["other"] == pair[0]
    assert "B takes as long as A" in plain_texts(at)
    gone = open_(dashboard, report=pair[0], other="0123")
    assert "not in the library" in plain_texts(gone)
    ncu = library.find("transformer_training.ncu-rep").id
    assert "of another kind" in plain_texts(open_(dashboard, report=pair[0], other=ncu))


def test_what_has_no_kernels_says_why(dashboard: Dashboard, library: Library, pair: tuple[str, str]) -> None:
    none = publish(library, "0" * 16)
    at = open_(dashboard, report=pair[0], other=none)
    assert "B, k0.rep, has no kernels to compare" in plain_texts(at)
    assert "warpdeck profile -- PROGRAM" in plain_texts(at)
    empty = open_(dashboard, report=pair[0], other=pair[1], other_from="99999999")
    assert "No kernels run in the selection of B" in plain_texts(empty)


@pytest.mark.slow("judges two reports by every rule for each of its pages")
@pytest.mark.skipif(not CORPUS.exists(), reason="no corpus here")
@pytest.mark.nsight
def test_different_gpus_are_compared_in_shares_with_a_warning(
    dashboard: Dashboard, library: Library, pair: tuple[str, str]
) -> None:
    at = open_(dashboard, report=pair[0], other=library.find("streams_4090.nsys-rep").id)
    assert "Different GPUs: A ran on NVIDIA H200, B on NVIDIA GeForce RTX 4090" in plain_texts(at)
    assert at.segmented_control(key="compare-basis").value == "share"
    assert "share_change_points" in kernels(at)
    asked = open_(dashboard, report=pair[0], other=library.find("streams_4090.nsys-rep").id, basis="total")
    assert asked.segmented_control(key="compare-basis").value == "total"


def test_names_are_text(dashboard: Dashboard, library: Library) -> None:
    bad = "<img src=x onerror=alert(1)> **b** $x$ :red[y]"
    a = publish(library, "1" * 16, 100, label=bad)
    b = publish(library, "2" * 16, 200, label=bad)
    at = open_(dashboard, report=a, other=b)
    sentence = next(str(one.value) for one in at.markdown if "Largest changes" in str(one.value))
    assert "<img" not in sentence.replace("\\<", "")
    assert "\\*\\*b" in sentence
    assert "\\$x\\$" in sentence


@pytest.mark.slow("judges two reports by every rule")
def test_it_says_which_findings_are_gone(page: Open, library: Library) -> None:
    starved, mended = (of(library, f"dataloader_{name}.nsys-rep") for name in ("starved", "fixed"))
    at = page("compare", starved, other=mended)
    rows = next(table.value for table in at.dataframe if "said" in table.value)
    assert set(rows.loc[rows["change"] == "Gone in B", "title"]) >= {"GPU idle", "Data loading"}

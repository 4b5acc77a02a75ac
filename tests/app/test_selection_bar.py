"""The selection bar: the address selects on every page, and unknown parts of it break no page."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.app.conftest import MAIN, at_page, of, picker
from tests.support.page_reports import empty

TRAINING = "transformer_training.nsys-rep"
INFERENCE = "transformer_inference.nsys-rep"
PAGES = ("summary", "kernels", "kernel", "ranges", "memory", "idle", "api")
DRAWS_EVERY_PAGE = pytest.mark.slow("draws every page")
NO_LAUNCHES = {"range": "step_4/read_loss"}
Open = Callable[..., AppTest]

# Kernels, copies and memory sets inside ranges of a name, by either column; without what lies in a warm-up. A call has
# its innermost range, and further ones where a thread with ranges of its own works for another.
WORK = """
WITH work AS (
    SELECT start_ns, end_ns, call_id, thread_range, process_range FROM kernel
    UNION ALL SELECT start_ns, end_ns, call_id, thread_range, process_range FROM memop
), held AS (
    SELECT call_id, thread_range, process_range FROM work
    UNION ALL SELECT call_id, thread_range, process_range FROM call_range
), wanted AS (
    SELECT call_id FROM held JOIN range ON held.{column} BETWEEN pre AND post JOIN range_name USING (name_id)
    WHERE text = 'backward'
), warm AS (
    SELECT call_id FROM held JOIN range ON held.process_range BETWEEN pre AND post JOIN range_name USING (name_id)
    WHERE text = 'warmup'
)
SELECT count(*) AS operations, sum(end_ns - start_ns) AS gpu_ns FROM work SEMI JOIN wanted USING (call_id)
    ANTI JOIN warm USING (call_id)
"""


@pytest.fixture
def page() -> Open:
    """Draws one page of a report at an address; a list gives a parameter several times."""

    def open_(name: str, report_id: str, **query: str | list[str]) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=60)
        for key, value in {"report": report_id, **query}.items():
            at.query_params[key] = value
        at = at_page(at, name).run()
        assert not at.exception
        assert "Something went wrong" not in said(at)
        return at

    return open_


def said(at: AppTest) -> str:
    kinds: tuple[Any, ...] = (at.header, at.markdown, at.caption, at.info, at.error, at.toast)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "").replace("\u2060", "")


def asked(at: AppTest, key: str) -> list[str]:
    """The values of a parameter of the address; the test's browser gives one alone as a text or as a list."""
    value: Any = at.query_params.get(key, [])
    return [value] if isinstance(value, str) else list(value)


def selected(at: AppTest) -> tuple[int, int]:
    """Operations of the selection and of the whole, as the bar says."""
    found = re.search(r"\*\*([\d,]+)\*\*(?: of ([\d,]+))? operations", said(at))
    assert found, said(at)
    kept = int(found[1].replace(",", ""))
    return kept, int((found[2] or found[1]).replace(",", ""))


def publish(library: Library, fill: Callable[[duckdb.DuckDBPyConnection], None]) -> str:
    path = library.folder / "small.duckdb"
    with store.create(path, ready=empty()) as db:
        db.execute("INSERT INTO report (kind, start_ns, stop_ns, duration_ns) VALUES ('nsys', 0, 1000000, 1000000)")
        fill(db)
    library.publish(path, Manifest("0" * 16, SCHEMA_VERSION, "small", "nsys", "0" * 16, 1))
    return "0" * 16


def two_streams(db: duckdb.DuckDBPyConnection) -> None:
    """Three kernels on two streams, without any range."""
    db.execute("INSERT INTO kernel_name VALUES (1, 'f()', 'f', NULL, 'other')")
    db.execute(
        "INSERT INTO kernel (kernel_id, start_ns, end_ns, device_id, stream_id, name_id, grid_x, grid_y, grid_z,"
        " block_x, block_y, block_z) SELECT i, i * 1000, i * 1000 + 500, 0, 7 + i // 2, 1, 1, 1, 1, 32, 1, 1"
        " FROM range(3) t(i)"
    )
    db.execute("INSERT INTO busy VALUES (0, 0, 500), (0, 1000, 1500), (0, 2000, 2500)")


def numbers(library: Library, report_id: str, column: str) -> tuple[int, int]:
    row = analysis.query(library, report_id, WORK.format(column=column)).iloc[0]
    return int(row["operations"]), int(row["gpu_ns"])


def test_the_warm_up_is_left_out_and_the_bar_says_so(page: Open, library: Library) -> None:
    at = page("kernels", of(library, TRAINING))
    assert "Warm-up excluded: 23.2 ms in `warmup`" in said(at)
    kept, whole = selected(at)
    assert whole - kept == 1338
    assert at.toggle(key="selection-warmup").value is True
    assert not [button for button in at.button if button.key == "selection-clear"]
    at = at.toggle(key="selection-warmup").set_value(False).run()
    assert asked(at, "warmup") == ["include"]
    assert selected(at) == (whole, whole)
    assert "excluded" not in said(at)


@pytest.mark.parametrize(
    ("mode", "column"),
    [
        pytest.param("process", "process_range", marks=pytest.mark.slow("draws a whole page for another mode")),
        ("thread", "thread_range"),
    ],
)
def test_the_mode_decides_what_a_backward_pass_holds(page: Open, library: Library, mode: str, column: str) -> None:
    report_id = of(library, TRAINING)
    expected = numbers(library, report_id, column)
    at = page("kernels", report_id, range="backward")
    at = at.segmented_control(key="selection-mode").set_value(mode).run()
    assert asked(at, "mode") == ([] if mode == "process" else ["thread"])
    assert selected(at)[0] == expected[0]
    run = analysis.run(library, report_id, "attribution", {"range": "backward", "mode": mode, "warmup": "exclude"})
    assert int(run["operations"].sum()) == expected[0]
    assert int(run["gpu_ns"].sum()) == expected[1]
    assert run["share_pct"].sum() == pytest.approx(100)


@pytest.mark.parametrize("others", [["memory"], pytest.param(PAGES, marks=DRAWS_EVERY_PAGE)])
def test_a_link_gives_the_selection_on_every_page(page: Open, library: Library, others: Sequence[str]) -> None:
    report_id = of(library, TRAINING)
    query: dict[str, Any] = {"range": ["step_1", "step_2/forward#1"], "mode": "thread", "to": "1000.5"}
    at = page("kernels", report_id, **query)
    kept, whole = selected(at)
    assert 0 < kept < whole
    for name in others:
        assert selected(page(name, report_id, **query)) == (kept, whole), name
    assert asked(at, "range") == ["step_1", "step_2/forward#1"]
    assert at.segmented_control(key="selection-mode").value == "thread"
    assert at.number_input(key="selection-to_ns").value == 1000.5
    part = {"range": ("step_1", "step_2/forward"), "warmup": "exclude", "mode": "thread"}
    kernels = analysis.run(library, report_id, "kernels", part)
    assert len(at.dataframe[0].value) == len(kernels)


def test_clearing_is_one_click_and_leaves_the_rest_of_the_address(page: Open, library: Library) -> None:
    report_id = of(library, TRAINING)
    at = page("kernels", report_id, range="backward", mode="thread", stream="7", first="1", search="gemm")
    before = page("kernels", report_id, search="gemm")
    at = at.button(key="selection-clear").click().run()
    assert set(at.query_params) == {"report", "search"}
    assert selected(at) == selected(before)
    assert said(at) == said(before)


def test_a_chip_takes_its_range_out(page: Open, library: Library) -> None:
    at = page("kernels", of(library, TRAINING), range=["step_1", "step_2"])
    both = selected(at)[0]
    at = at.button(key="selection-chip-0").click().run()
    assert asked(at, "range") == ["step_2"]
    assert selected(at)[0] < both


WRONG: list[dict[str, str | list[str]]] = [
    {"range": "no/such range"},
    {"range": ["step_1", "`x` [y](http://z) <b>"]},
    {"range": "step_1#9"},
    {"device": "x"},
    {"stream": "99999999999999999999999"},
    {"from": "NaN"},
    {"to": "1e400"},
    {"mode": "both"},
]
MORE_WRONG: list[dict[str, str | list[str]]] = [
    {"range": "step_1", "first": "3"},
    {"range": "step_1#0-0"},
    {"device": "17"},
    {"stream": "-1"},
    {"from": "-3"},
    {"from": "9", "to": "3"},
    {"warmup": "perhaps"},
    {"first": "-2"},
]


@pytest.mark.parametrize(
    "query",
    [*WRONG, *(pytest.param(query, marks=pytest.mark.slow("the same of more values")) for query in MORE_WRONG)],
    ids=str,
)
def test_what_the_report_does_not_have_is_said_and_breaks_nothing(page: Open, library: Library, query: Any) -> None:
    at = page("kernels", of(library, TRAINING), **query)
    assert "It is ignored." in said(at)
    assert len(at.dataframe)
    assert "](http" not in at.markdown[0].value


def test_what_the_report_does_not_have_goes_with_a_click(page: Open, library: Library) -> None:
    at = page("kernels", of(library, TRAINING), range=["step_1", "no/such range"], device="17", mode="both")
    at = at.button(key="selection-clear").click().run()
    assert set(at.query_params) == {"report"}
    assert "without it" not in said(at)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        *(
            pytest.param(name, NO_LAUNCHES, marks=[] if name in ("kernels", "ranges") else DRAWS_EVERY_PAGE)
            for name in PAGES
        ),
        pytest.param("kernels", {"from": "100000"}, marks=DRAWS_EVERY_PAGE),
    ],
    ids=str,
)
def test_every_page_bears_a_selection_of_nothing(
    page: Open, library: Library, name: str, query: dict[str, str]
) -> None:
    """A range without launches, and a time after the end."""
    at = page(name, of(library, TRAINING), **query)
    assert "without it" not in said(at)


def test_a_kernel_that_does_not_run_in_the_selection(page: Open, library: Library) -> None:
    report_id = of(library, TRAINING)
    everywhere = analysis.run(library, report_id, "kernels")
    forward = set(analysis.run(library, report_id, "kernels", {"range": "forward", "mode": "process"})["kernel"])
    kernel = str(next(kernel for kernel in everywhere["kernel"] if kernel not in forward))
    at = page("kernel", report_id, kernel=kernel, range="forward")
    assert "does not run in the selection. The whole report has" in said(at)
    at = at.button(key="kernel-clear").click().run()
    assert asked(at, "kernel") == [kernel]
    assert len(at.metric) > 5


def test_a_stretch_of_time_entered_backward_keeps_the_end_entered_last(page: Open, library: Library) -> None:
    at = page("kernels", of(library, TRAINING), **{"from": "400"})
    at = at.number_input(key="selection-to_ns").set_value(410.25).run()
    assert (asked(at, "from"), asked(at, "to")) == (["400"], ["410.25"])
    at = at.number_input(key="selection-to_ns").set_value(20.0).run()
    assert (asked(at, "from"), asked(at, "to")) == ([], ["20"])


def test_a_report_without_ranges_has_the_rest_of_the_bar(page: Open, library: Library) -> None:
    report_id = publish(library, two_streams)
    at = page("kernels", report_id, range="step")
    assert "Range step is not in this report." in said(at)
    assert selected(at) == (3, 3)
    assert "attributed" not in said(at)
    assert not at.segmented_control
    assert not at.toggle
    at = page("kernels", report_id, stream="8")
    assert selected(at) == (1, 3)
    assert selected(page("kernels", report_id, **{"from": "0.001"})) == (2, 3)
    assert selected(page("kernels", report_id, to="0.001")) == (1, 3)


def test_an_empty_report_has_a_bar(page: Open, library: Library) -> None:
    at = page("kernels", publish(library, lambda _: None))
    assert "This report has no GPU activity." in said(at)


def test_changing_the_report_keeps_what_applies(page: Open, library: Library) -> None:
    at = page("kernels", of(library, TRAINING), range=["step_1/forward", "backward"], mode="thread")
    other = of(library, INFERENCE)
    at = picker(at).set_value(other).run()
    assert asked(at, "report") == [other]
    assert asked(at, "range") == ["step_1/forward"]
    assert asked(at, "mode") == ["thread"]
    assert "Range backward is not in this report." in said(at)
    assert "It is ignored." in "".join(toast.value for toast in at.toast)


def test_the_menu_keeps_the_selection(page: Open, library: Library) -> None:
    at = page("kernels", of(library, TRAINING), range="backward")
    kept = selected(at)
    for key in list(at.query_params):  # as Streamlit does on a click in the menu
        del at.query_params[key]
    at = at_page(at, "memory").run()
    assert asked(at, "range") == ["backward"]
    assert selected(at) == kept

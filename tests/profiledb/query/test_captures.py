"""Advice to capture again: no flag that was on, and no trace of what the program does not use."""

from typing import Any

import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.catalog import TIMELINE
from profiledb.library.library import Library
from profiledb.query import analysis, captures, views
from tests.conftest import CORPUS
from tests.support.page_reports import Publish, insert, kernel, make_library, make_publish, name

__all__ = ["make_library", "make_publish"]


def report(publish: Publish, *kernels: str, **more: list[dict[str, Any]]) -> str:
    """A report of these kernels and rows, without any setting: older versions of nsys write none."""

    def fill(db: Any) -> None:
        insert(db, "kernel_name", [name(number, one) for number, one in enumerate(kernels, 1)])
        insert(db, "kernel", [kernel(at, at, 10 * at, 10 * at + 5) for at in range(1, len(kernels) + 1)])
        for table, rows in more.items():
            insert(db, table, rows)

    return publish(fill)


def missing(library: Library, report_id: str) -> dict[str, captures.Capture]:
    with library.cursor(report_id, views=views.needed(captures.INCLUDES)) as cursor:
        return {one.table: one for one in captures.missing(cursor)}


def test_copies_of_a_program_that_copies_nothing(library: Library, publish: Publish) -> None:
    report_id = report(publish, "saxpy")
    lacks = missing(library, report_id)
    assert (lacks["memop"].flag, lacks["memop"].none) == ("", captures.NO_COPIES)
    assert lacks["api_call"].flag == "", "kernels were traced, so calls were"
    assert lacks["range"].flag, "whether ranges were traced nothing tells"
    with pytest.raises(NotCapturedError) as told:
        analysis.run(library, report_id, "copies", {})
    assert (told.value.command, captures.NO_COPIES in told.value.hint) == ("", True)


def test_calls_alone_do_not_tell_that_nothing_was_copied(library: Library, publish: Publish) -> None:
    call = {"call_id": 1, "start_ns": 1, "end_ns": 2, "global_tid": 1, "correlation_id": 1, "name_id": 1}
    lacks = missing(library, report(publish, api_call=[call]))
    assert lacks["memop"].none == lacks["kernel"].none != captures.NO_COPIES
    assert lacks["memop"].flag == lacks["kernel"].flag == ""


@pytest.mark.parametrize(
    ("kernels", "advised"),
    [
        (("nvkernel_solve_F1L210_2",), False),
        (("__omp_offloading_10303_1_main_l12",), False),
        (("vectorAdd",), False),
        (("vectorAdd", "compute_tendencies_x_278_gpu"), True),
        (("reductions_871_gpu__red",), True),
    ],
)
def test_openacc_is_for_programs_of_openacc(
    library: Library, publish: Publish, kernels: tuple[str, ...], advised: bool
) -> None:
    assert ("openacc_event" in missing(library, report(publish, *kernels))) is advised


@pytest.mark.integration
@pytest.mark.skipif(not CORPUS.exists(), reason="no ../shared/corpus here")
@pytest.mark.parametrize("one", ["openmp_iterations.qdrep", "openmp_offload_t4.nsys-rep", "streams_4090.nsys-rep"])
def test_strangers(every_report: Library, one: str) -> None:
    lacks = missing(every_report, every_report.find(one).id)
    assert "openacc_event" not in lacks
    assert "memop" not in lacks or not lacks["memop"].flag


def test_a_format_brings_advice_of_its_own(library: Library, publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = captures.Capture("api_call", TIMELINE, "CUDA API calls", "made-up --calls", "launches")
    monkeypatch.setitem(
        captures.BY_KIND, "made-up", captures.Advice((calls,), "Made up does not record this.", "Made-ups")
    )
    report_id = report(publish, "saxpy", report=[{"kind": "made-up"}])
    assert missing(library, report_id) == {"api_call": calls}
    told: dict[str, NotCapturedError] = {}
    for asked in ("api_calls", "copies"):
        with pytest.raises(NotCapturedError) as error:
            analysis.run(library, report_id, asked, {})
        told[asked] = error.value
    assert told["api_calls"].command == "made-up --calls"
    assert "Made up does not record this." in told["copies"].hint
    other = report(publish, "saxpy", report=[{"kind": "another"}])
    assert missing(library, other)["range"].flag.startswith("nsys profile")


@pytest.mark.parametrize(
    ("kernels", "more", "torch"),
    [
        ((), {}, False),
        (("saxpy", "format::at_once"), {"string": [{"string_id": 1, "value": "/usr/lib/libtorque.so"}]}, False),
        (("void at::native::vectorized_elementwise_kernel<4>",), {}, True),
        (("triton_poi_fused_add_0",), {}, True),
        (("saxpy",), {"range_name": [{"name_id": 1, "text": "aten::mm", "name": "aten::mm"}]}, True),
        (
            ("saxpy",),
            {
                "process": [{"global_pid": 1, "name": "python"}],
                "thread": [{"global_tid": 1, "global_pid": 1, "name": "pt_autograd_0"}],
            },
            True,
        ),
    ],
)
def test_whether_a_program_uses_pytorch(
    library: Library, publish: Publish, kernels: tuple[str, ...], more: dict[str, Any], torch: bool
) -> None:
    report_id = report(publish, *kernels, **more)
    rows = analysis.run(library, report_id, "program", {})
    assert ("PyTorch" in rows["trait"].tolist()) == torch


def test_graphs_that_were_traced_as_wholes_are_not_taken_for_a_silent_driver(nsys_samples: Library) -> None:
    report = nsys_samples.find("launches_graph.nsys-rep")
    with pytest.raises(NotCapturedError, match="graphs were traced as a whole") as told:
        analysis.run(nsys_samples, report.id, "kernel_summary", {})
    assert "--cuda-graph-trace=node" in told.value.hint
    with nsys_samples.cursor(report.id, views=views.everything()) as cursor:
        assert "--cuda-graph-trace=node" in captures.missing(cursor)[0].flag

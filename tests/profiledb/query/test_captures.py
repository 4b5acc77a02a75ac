"""Advice to capture again: no flag that was on, and no trace of an API that the program does not use."""

import shlex
from typing import Any

import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.catalog import TIMELINE
from profiledb.library.library import Library
from profiledb.query import analysis, captures, views
from tests.conftest import CORPUS
from tests.support.page_reports import Publish, insert, kernel, name
from warpdeck.profiling.nsys import RECORDS

MORE = pytest.mark.slow("more programs")


def report(publish: Publish, *kernels: str, **more: list[dict[str, Any]]) -> str:
    """A report of these kernels and rows, without any setting: older versions of nsys write none."""

    def fill(db: Any) -> None:
        insert(db, "kernel_name", [name(number, one) for number, one in enumerate(kernels, 1)])
        insert(db, "kernel", [kernel(at, at, 10 * at, 10 * at + 5) for at in range(1, len(kernels) + 1)])
        for table, rows in more.items():
            insert(db, table, rows)

    return publish(fill)


def missing(library: Library, report_id: str) -> dict[str, captures.Capture]:
    with library.cursor(report_id, views=views.list_needed(captures.INCLUDES)) as cursor:
        return {one.table: one for one in captures.list_missing(cursor)}


def test_copies_of_a_program_that_copies_nothing(library: Library, publish: Publish) -> None:
    report_id = report(publish, "saxpy")
    lacks = missing(library, report_id)
    assert (lacks["memop"].command, lacks["memop"].none) == ("", captures.NO_COPIES)
    assert lacks["api_call"].command == "", "kernels were traced, so calls were"
    assert lacks["range"].command, "whether ranges were traced nothing tells"
    with pytest.raises(NotCapturedError) as told:
        analysis.run(library, report_id, "copies", {})
    assert (told.value.command, captures.NO_COPIES in told.value.hint) == ("", True)


def test_calls_alone_do_not_tell_that_nothing_was_copied(library: Library, publish: Publish) -> None:
    call = {"call_id": 1, "start_ns": 1, "end_ns": 2, "global_tid": 1, "correlation_id": 1, "name_id": 1}
    lacks = missing(library, report(publish, api_call=[call]))
    assert lacks["memop"].none == lacks["kernel"].none != captures.NO_COPIES
    assert lacks["memop"].command == lacks["kernel"].command == ""


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
    assert "memop" not in lacks or not lacks["memop"].command


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
    assert missing(library, other)["range"].command.startswith("warpdeck profile")


@pytest.mark.parametrize(
    ("kernels", "more", "torch"),
    [
        ((), {}, False),
        (("saxpy", "format::at_once"), {"string": [{"string_id": 1, "value": "/usr/lib/libtorque.so"}]}, False),
        (("void at::native::vectorized_elementwise_kernel<4>",), {}, True),
        pytest.param(("triton_poi_fused_add_0",), {}, True, marks=MORE),
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
    assert told.value.command == f"warpdeck profile -- {report.command}"
    with nsys_samples.cursor(report.id, views=views.list_all()) as cursor:
        assert captures.list_missing(cursor)[0].command == told.value.command


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("python3 train.py --lr 1e-3", "python3 train.py --lr 1e-3"),
        ("./solver; rm -rf $HOME", "'./solver;' rm -rf '$HOME'"),
        ("its $(id)", "its '$(id)'"),
        ("python\ntrain.py", "python train.py"),
        ("python \x1b]0;x\x07", captures.PROGRAM),
        ("python \u202eyp.niart", captures.PROGRAM),
        ("x" * 2000, captures.PROGRAM),
        ("", captures.PROGRAM),
        (None, captures.PROGRAM),
    ],
)
def test_the_program_of_a_report_is_quoted_for_a_shell(
    library: Library, publish: Publish, command: str | None, named: str
) -> None:
    report_id = report(publish, "saxpy", report=[{"kind": "nsys", "command": command}])
    assert missing(library, report_id)["gpu_metric"].command == f"warpdeck profile --with metrics -- {named}"
    if command and named != captures.PROGRAM:
        assert shlex.split(named) == command.split()


def test_one_command_records_all_that_is_missing() -> None:
    assert captures.join_commands(
        [
            "warpdeck profile -- ./a",
            "warpdeck profile --with metrics -- ./a",
            "ncu --set full -o report ./a",
            "warpdeck profile --with samples,metrics -- ./a",
            "warpdeck profile --with mpi -- ./b",
            "ncu --set full -o report ./a",
        ]
    ) == [
        "warpdeck profile --with metrics,samples -- ./a",
        "warpdeck profile --with mpi -- ./b",
        "ncu --set full -o report ./a",
    ]


def test_every_record_that_is_missing_is_one_of_the_command() -> None:
    commands = [one.command for one in captures.CAPTURES if one.subject == TIMELINE]
    (joined,) = captures.join_commands(commands)
    records = joined.split()[3].split(",")
    assert set(records) == {one.name for one in RECORDS if not one.standard} - {"python"}


def test_a_report_from_before_a_table_lacks_its_rows(library: Library, publish: Publish) -> None:
    """Counters of rocprofv3 came later: an older report says that it has none, and how to record them."""

    def fill(db: Any) -> None:
        insert(db, "kernel_name", [name(1, "gemm")])
        insert(db, "kernel", [kernel(1, 1, 10, 15)])
        insert(db, "report", [{"kind": "rocprof"}])
        for table in ("counter_value", "counter"):
            db.execute(f"DROP TABLE {table}")

    report_id = publish(fill)
    assert "--pmc" in missing(library, report_id)["counter_value"].command
    with pytest.raises(NotCapturedError, match="No performance counters"):
        analysis.run(library, report_id, "kernel_counters")

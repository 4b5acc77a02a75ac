"""Analyses of made-up ncu reports, and the header of every analysis against its query."""

import shutil

import duckdb
import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis, views
from profiledb.query import header as asked
from profiledb.report import schema, sidecar, store
from profiledb.report.schema import SCHEMA_VERSION
from tests.support.page_reports import Publish, empty, insert, of_kind, picked, run
from tests.support.power_log_reports import put_log, reading

MORE = pytest.mark.slow("more launches")
UNFILLED = ("BOOLEAN", "TIMESTAMP")


@pytest.mark.parametrize(
    ("compute", "memory", "dram", "waves", "verdict", "reason"),
    [
        (59.9, 10.0, 5.0, 0.5, "latency bound", ", grid too small: 0.50 waves"),
        pytest.param(59.9, 59.9, 5.0, 1.0, "latency bound", " of peak", marks=MORE),
        pytest.param(10.0, 10.0, None, None, "latency bound", " of peak", marks=MORE),
        pytest.param(65.0, 70.0, 20.0, 9.0, "compute bound", " of peak (DRAM 20.0 %)", marks=MORE),
        (65.0, 70.0, 66.0, 9.0, "memory bound", " of peak"),
        pytest.param(65.0, 70.0, None, 9.0, "memory bound", " of peak", marks=MORE),
        (65.0, 75.0, 20.0, 9.0, "memory bound", " of peak"),
        pytest.param(70.0, 70.0, 70.0, 9.0, "compute bound", " of peak", marks=MORE),
        pytest.param(70.0, 60.0, 60.0, 9.0, "compute bound", " of peak", marks=MORE),
        pytest.param(10.0, 79.9, 20.0, 0.1, "memory bound", " of peak", marks=MORE),
        (80.0, 10.0, 10.0, 0.1, "compute bound", ", near its peak"),
        (None, 90.0, 90.0, 1.0, "not measured", "compute throughput was not collected"),
        pytest.param(90.0, None, 10.0, 1.0, "not measured", "memory throughput was not collected", marks=MORE),
    ],
)
def test_verdicts(
    library: Library,
    publish: Publish,
    compute: float | None,
    memory: float | None,
    dram: float | None,
    waves: float | None,
    verdict: str,
    reason: str,
) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        numbers = {
            "sm_throughput_pct": compute,
            "memory_throughput_pct": memory,
            "dram_throughput_pct": dram,
            "waves_per_sm": waves,
        }
        insert(db, "ncu_launch", [{"launch_id": 3, "kernel": "f(int)", "duration_ns": 5} | numbers])
        insert(db, "kernel_name", [{"name_id": 1, "demangled": "f(int)", "short": "f", "class": "other"}])

    report_id = publish(fill, "ncu")
    (row,) = run(library, report_id, "ncu_speed_of_light")
    assert (row["verdict"], row["name"]) == (verdict, "f")
    assert row["reason"].endswith(reason)
    assert verdict == "not measured" or row["reason"].startswith(
        f"compute {compute:.1f} %, memory {memory:.1f} % of peak"
    )
    assert picked(run(library, report_id, "ncu_verdicts"), "verdict", "launches", "share_pct") == [(verdict, 1, 100)]
    assert run(library, report_id, "ncu_speed_of_light", launch="4") == []


def test_details_rules_and_metrics_of_a_launch(library: Library, publish: Publish) -> None:
    def fill(db: duckdb.DuckDBPyConnection) -> None:
        for launch in (0, 1):
            rows = [{"launch_id": launch, "position": place, "section": "S", "label": f"{place}"} for place in (1, 0)]
            insert(db, "ncu_detail", [row | {"value": None} for row in rows])
            insert(db, "ncu_rule", [{"launch_id": launch, "position": 0, "message": "<b>", "speedup_pct": None}])
            insert(db, "ncu_metric", [{"launch_id": launch, "metric_id": m, "value": 1.5} for m in (0, 1)])
        insert(db, "ncu_metric_name", [{"metric_id": 0, "name": "b_X", "unit": "%"}, {"metric_id": 1, "name": "a.x"}])

    report_id = publish(fill, "ncu")
    details = run(library, report_id, "ncu_details", launch=1)
    assert picked(details, "launch_id", "label", "value") == [(1, "0", None), (1, "1", None)]
    assert picked(run(library, report_id, "ncu_rules", launch="0"), "message", "speedup_pct") == [("<b>", None)]
    assert picked(run(library, report_id, "ncu_metrics", launch=0), "name") == [("a.x",), ("b_X",)]
    assert picked(run(library, report_id, "ncu_metrics", launch=0, search="_x"), "name") == [("b_X",)]
    assert len(run(library, report_id, "ncu_metrics")) == 4


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A report in which every table has a row, linked to itself as a Compute report, so that every analysis runs."""
    folder = tmp_path_factory.mktemp("filled")
    with store.create(folder / "report.duckdb", ready=empty()) as db:
        for table in schema.read_tables().values():
            values = [1 if column.name != "compute_capability" else "9.0" for column in table.columns]
            row = {c.name: v for c, v in zip(table.columns, values, strict=True) if c.type not in UNFILLED}
            insert(db, table.name, [row])
        db.execute('ALTER TABLE gpu_metric ADD COLUMN "1" DOUBLE DEFAULT 1')
        work = {
            "metric_id": 2,
            "name": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
        }  # for the roofline's view
        insert(db, "ncu_metric_name", [work])
        insert(db, "ncu_metric", [{"launch_id": 1, "metric_id": 2, "value": 1}])
    library = Library(folder / "library")
    for letter, kind in (("e", "ncu"), ("f", "nsys")):
        shutil.copyfile(folder / "report.duckdb", folder / kind)
        library.publish(folder / kind, Manifest(letter * 16, SCHEMA_VERSION, kind, kind, "", 1, rows=of_kind(kind)))
    library.link("f" * 16, "e" * 16)
    library.put_sidecar("f" * 16, "timings", "label,step,seconds\n1,1,1\n")
    put_log(library, "f" * 16, [reading(0, 0, 1), reading(1, 100, 2)])
    names = [*sidecar.TABLES["tasks"]]
    one = {"task": "1", "size": "1", "device": "cpu", "part": "run", "seconds": "1", "policy": "model"}
    decided = ",".join(one.get(name, "") for name in names)
    rows = [",".join(names), "1,1,cpu,compute,1" + "," * (len(names) - 5), decided]
    library.put_sidecar("f" * 16, "tasks", "\n".join(rows))
    library.put_sidecar("f" * 16, "meta", '{"precision": "fp32"}')
    return library


@pytest.mark.parametrize("analysis_name", sorted(asked.list_analyses()))
def test_the_header_tells_the_query(filled: Library, analysis_name: str) -> None:
    header = asked.get(analysis_name)
    assert header.title
    assert header.prose.endswith(".")
    assert all(column.unit and column.help for column in header.columns)
    assert all(param.help for param in header.params)
    frame = analysis.run(filled, "f" * 16, analysis_name)
    assert list(frame.columns) == [column.name for column in header.columns]
    body = "\n".join(line for line in header.sql.splitlines() if not line.startswith("--"))
    assert all(f"${param.name}" in body for param in header.params if not (header.joins == param.name == "ncu"))
    assert header.joins != "ncu" or [param.default for param in header.params if param.name == "ncu"] == [""]
    needed = {table for need in header.needs for table in need}
    assert all(
        table in schema.read_tables() or f"VIEW {table} AS" in views.build_sql(header.includes) for table in needed
    )


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A report in which every table is empty."""
    folder = tmp_path_factory.mktemp("bare")
    with store.create(folder / "report.duckdb"):
        pass
    library = Library(folder / "library")
    library.publish(folder / "report.duckdb", Manifest("b" * 16, SCHEMA_VERSION, "nsys", "nsys", "", 1))
    return library


@pytest.mark.parametrize("analysis_name", sorted(n for n, a in asked.list_analyses().items() if a.needs))
def test_a_report_without_the_tables_says_what_to_capture(bare: Library, analysis_name: str) -> None:
    with pytest.raises(NotCapturedError, match=r"in this report|beside this report|has no") as caught:
        analysis.run(bare, "b" * 16, analysis_name)
    assert caught.value.hint

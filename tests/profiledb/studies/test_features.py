"""The feature table and the commands about tasks: by hand, on the command line, and read back from Parquet."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from profiledb.access.cli import main as cli
from profiledb.library.library import Library
from profiledb.studies.cpu_vs_gpu import features
from tests.support import power_log_reports
from tests.support.page_reports import H100, Publish, records, run
from tests.support.range_captures import Capture, Range, Work

TIMES = (
    "task,size,device,part,seconds\nmm,8,cpu,compute,0.004\nmm,8,gpu,to_device,0.001\nmm,8,gpu,compute,0.001\n"
    "mm,9,cpu,compute,0.004\n"
)
RANGES: list[Range] = [
    (0, 900, "warmup"), (100, 400, "mm_8/gpu"),
    (1000, 1900, "step_0"), (1100, 1500, "mm_8/gpu"), (1200, 1450, "compute"), (1600, 1700, "mm_8/cpu"),
    (2000, 2900, "step_1"), (2100, 2800, "mm_8/gpu"), (2200, 2700, "mm_8/gpu"), (3000, 3100, "mm_88/gpu"),
    (4000, None, "mm_8/gpu"),
]  # fmt: skip
WORK: list[Work] = [
    (150, 200, 290, "one"),
    (1150, 1200, 1300, "one"), (1250, 1300, 1340, "two"), (1650, 1660, 1690, "three"),
    (2150, 2160, 2220, "two"), (2250, 2300, 2360, "two"), (2710, 2720, 2780, "two"),
    (3010, 3020, 3090, "three"), (4010, 4020, 4090, "three"),
]  # fmt: skip


def command(library: Library, capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = cli.main([*argv, "--library", str(library.folder)])
    return status, *capsys.readouterr()


def test_the_ranges_of_measured_steps_by_hand(library: Library, capture: Capture) -> None:
    """Closed ranges of that very name, outside warm-ups and each other; ranges inside them count."""
    report = capture(RANGES, WORK, {"two": "matmul"}, [H100])
    library.put_sidecar(report, "tasks", TIMES)
    library.put_sidecar(report, "meta", '{"flops_by_task.mm_8": "1000", "precision": "fp32", "backends.gpu": "torch"}')
    one, other = run(library, report, "task_features")
    assert (one["profiled_repetitions"], one["kernels"], one["api_calls"], one["distinct_kernels"]) == (2, 2.5, 2.5, 2)
    assert (one["kernel_ns"], one["kernel_median_ns"]) == ((140 + 180) / 2, 160)
    assert (one["host_median_ns"], one["api_ns"]) == (550, 25)
    assert one["gpu_busy_ns"] == (140 + 180) / 2
    assert (one["top_kernel_name"], one["top_kernel_class"]) == ("two", "matmul")
    assert (one["top_kernel_launches"], one["top_kernel_median_ns"]) == (4, 60)
    assert one["top_kernel_share_pct"] == pytest.approx(100 * 220 / 320)
    assert (one["copies_to_device"], one["bytes_to_host"]) == (0, 0), "the GPU was traced, and copied nothing"
    assert one["kernel_flops_per_s"] == pytest.approx(1000 / 160e-9)
    assert (one["gpu_name"], one["sm_count"], one["precision"], one["gpu_backend"]) == ("H100", 132, "fp32", "torch")
    assert one["speedup_total"] == 2
    assert (other["size"], other["profiled_repetitions"], other["kernels"], other["speedup_total"]) == (
        9, None, None, None
    )  # fmt: skip


def test_what_was_not_traced_is_missing(library: Library, capture: Capture) -> None:
    report = capture(RANGES)
    library.put_sidecar(report, "tasks", TIMES)
    one, _ = run(library, report, "task_features")
    assert (one["profiled_repetitions"], one["host_median_ns"]) == (2, 550)
    assert {one[name] for name in ("kernels", "kernel_ns", "copy_ns", "api_calls", "gpu_busy_ns", "grid_x")} == {None}


def test_the_processor_is_told_by_the_program_where_the_report_has_none(library: Library, capture: Capture) -> None:
    for told, expected in (("", "Xeon"), ("UPDATE report SET cpu = 'EPYC'", "EPYC")):
        report = capture(RANGES, WORK, {}, [H100], told)
        library.put_sidecar(report, "tasks", TIMES)
        library.put_sidecar(report, "meta", '{"cpu_name": "Xeon"}')
        assert {row["cpu_name"] for row in run(library, report, "task_features")} == {expected}


def test_bytes_that_no_profile_tells_are_those_of_the_program(library: Library, capture: Capture) -> None:
    report = capture(RANGES, WORK, {}, [H100])
    library.put_sidecar(report, "tasks", TIMES + "fft.v2,8,cpu,compute,0.004\n")
    told = '"bytes_by_task.mm_8": "768", "result_bytes_by_task.mm_8": "256", "bytes_by_task.fft.v2_8": "nan"'
    library.put_sidecar(report, "meta", f'{{{told}, "bytes_by_task.mm_9": "972", "result_bytes_by_task.mm_9": "324"}}')
    rows = {(row["task"], row["size"]): row for row in run(library, report, "task_features")}
    found = {key: (row["bytes_to_device"], row["bytes_to_host"]) for key, row in rows.items()}
    assert found == {("mm", 8): (0, 0), ("mm", 9): (648, 324), ("fft.v2", 8): (None, None)}, "mm_8 was profiled"


def test_further_ranges_around_a_call_count_once(library: Library, capture: Capture) -> None:
    """A call in mm_88/gpu whose second range is the first mm_8/gpu, listed twice; and a call that is in it anyway."""
    further = """
        INSERT INTO call_range SELECT call_id, NULL, pre FROM api_call, range JOIN range_path USING (path_id)
        WHERE name = 'mm_8/gpu' AND range.start_ns = 1100 AND api_call.start_ns IN (1150, 3010)"""
    report = capture(RANGES, WORK, {}, [H100], f"{further}; {further}")
    library.put_sidecar(report, "tasks", TIMES)
    one, _ = run(library, report, "task_features")
    assert (one["kernels"], one["api_calls"]) == (3, 3)
    assert one["kernel_ns"] == (140 + 70 + 180) / 2


def test_kernels_in_graphs_that_were_traced_as_a_whole_are_not_known(library: Library, capture: Capture) -> None:
    graph = "INSERT INTO graph_launch (call_id, start_ns, end_ns) SELECT call_id, 2160, 2220 FROM api_call"
    report = capture(RANGES, WORK, {}, [H100], f"{graph} WHERE start_ns IN (1150, 2150)")
    library.put_sidecar(report, "tasks", TIMES)
    one, _ = run(library, report, "task_features")
    assert (one["kernels"], one["kernel_ns"], one["kernel_flops_per_s"]) == (None, None, None)
    assert one["copies_to_device"] == 0


def test_columns_are_fixed_and_documented() -> None:
    names = [column.name for column in features.list_columns()]
    assert names[:2] == ["report_id", "report_name"]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in names)
    assert all(column.unit and column.help for column in features.list_columns())


def test_a_parquet_file_read_back(
    library: Library, capture: Capture, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = [capture(RANGES, WORK, {}, [H100]), capture(RANGES), capture([])]
    for report in reports[:2]:
        library.put_sidecar(report, "tasks", TIMES)
    path = tmp_path / "f.parquet"
    status, out, err = command(library, capsys, "features", *reports, reports[0], "-o", str(path))
    assert (status, out) == (0, "")
    assert err == "ranged_2.sqlite is excluded: it has no task times.\n"
    back = pd.read_parquet(path)
    assert list(back.columns) == [column.name for column in features.list_columns()]
    assert list(zip(back["report_id"], back["size"], strict=True)) == [(r, s) for r in reports[:2] for s in (8, 9)]
    units = {column.name: column.unit for column in features.list_columns()}
    for name, kind in back.dtypes.items():
        texts = units[str(name)] == "text"
        assert pd.api.types.is_numeric_dtype(kind) != texts or back[name].isna().all(), name
    assert back["kernels"].isna().tolist() == [False, True, True, True], "missing stays missing"
    assert back["sm_count"].dropna().tolist() == [132, 132]
    alone = records(features.read_rows(library, library.find(reports[0])))
    assert equal(records(back.head(2)), alone)


def test_csv_on_standard_output(library: Library, capture: Capture, capsys: pytest.CaptureFixture[str]) -> None:
    report = capture(RANGES, WORK)
    library.put_sidecar(report, "tasks", TIMES)
    status, out, _ = command(library, capsys, "features", report)
    assert status == 0
    back = pd.read_csv(io.StringIO(out), dtype={"report_id": str})
    assert equal(records(back), records(features.read_rows(library, library.find(report))))
    assert ",,," in out.splitlines()[2], "what is missing is nothing"


def test_reports_without_times_are_refused_in_one_sentence(
    library: Library, publish: Publish, capture: Capture, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = publish(lambda _: None)
    status, out, err = command(library, capsys, "features", none)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert "it has no task times" in err
    report = capture(RANGES)
    library.put_sidecar(report, "tasks", TIMES)
    status, _, err = command(library, capsys, "features", report, "-o", str(tmp_path / "no" / "such.csv"))
    assert (status, "cannot be written" in err) == (1, True)
    assert command(library, capsys, "crossover", none)[0] == 1


def test_crossover_on_the_command_line(library: Library, publish: Publish, capsys: pytest.CaptureFixture[str]) -> None:
    """size² against 1,000: it crosses at 31.6."""
    report = publish(lambda _: None)
    rows = [
        f"mm,{size},{device},compute,{time / 1e9}"
        for size in (16, 32, 64)
        for device, time in (("cpu", size**2), ("gpu", 1000)) for _ in range(3)
    ]  # fmt: skip
    library.put_sidecar(report, "tasks", "task,size,device,part,seconds\n" + "\n".join([*rows, "=x,1,cpu,a,1\n"]))
    status, text, _ = command(library, capsys, "crossover", report)
    assert status == 0
    assert re.search(r"^mm +with transfers +32 +32 to 32 +32$", text, re.MULTILINE)
    assert "mm, computing only: Use the GPU from 32 on." in text
    assert "=x, with transfers: Only the CPU was measured." in text
    first, *_, last = json.loads(command(library, capsys, "crossover", report, "--format", "json")[1])
    assert (first["crossing"], first["threshold"]) == (pytest.approx(1000**0.5), 32)
    assert (last["state"], last["crossing"], last["repetitions"]) == ("one device", None, None)
    table = pd.read_csv(io.StringIO(command(library, capsys, "crossover", report, "--format", "csv")[1]))
    assert table["crossing"].tolist()[:2] == [31.6, 31.6]


def equal(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> bool:
    """Whether two tables agree, floats to 12 digits: a parallel sum differs in the last."""
    return len(a) == len(b) and all(
        x.keys() == y.keys() and all(x[k] == (pytest.approx(y[k]) if isinstance(y[k], float) else y[k]) for k in x)
        for x, y in zip(a, b, strict=True)
    )


def test_energy_of_repeated_tasks_by_hand(library: Library, publish: Publish) -> None:
    """400 W in the stretches within the second of 1,000 repetitions: 0.4 J each; longer stretches do not count."""
    report = power_log_reports.report(publish, end_ms=3000)
    second = power_log_reports.CAPTURED_NS + 1000 * power_log_reports.MS
    times = (
        "task,size,device,part,seconds,time_ns,repetitions\nmm,8,cpu,compute,0.004,,\nmm,8,gpu,compute,0.001,,\n"
        f"mm,9,gpu,compute,0.001,,\nmm,8,none,repeated,1,{second},1000\nmm,9,none,repeated,0.05,{second},10\n"
    )
    library.put_sidecar(report, "tasks", times)
    changes = [(0, 0.0), (500, 50.0), (950, 95.0), (1150, 175.0), (1550, 335.0), (1950, 495.0), (2150, 545.0)]
    power_log_reports.put_log(library, report, power_log_reports.at_once(changes, 100, 400))
    one, other = run(library, report, "task_features")
    assert one["gpu_energy_j"] == pytest.approx(0.4)
    assert (one["gpu_mean_w"], one["gpu_idle_w"]) == (pytest.approx(400), 100)
    assert (other["gpu_energy_j"], other["gpu_mean_w"], other["gpu_idle_w"]) == (None, None, None), "too short to tell"
    assert one["gpu_repetitions"] == 1

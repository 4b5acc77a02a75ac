"""Decisions of a scheduler: errors, regret and loads by hand, from a log of ten decisions."""

from collections.abc import Callable
from typing import Any

import pytest

from profiledb.errors import NotCapturedError
from profiledb.library.library import Library
from tests.support.page_reports import Publish, picked, run

NAMES = ("scheduler_policies", "scheduler_decisions", "scheduler_errors", "scheduler_regrets")
HEADER = (
    "task,size,device,part,seconds,time_ns,repetitions,policy,load,reason,gpu,cpu_predicted_s,gpu_predicted_s,"
    "decision_s,waited_s,gpu_utilisation_pct,memory_free_bytes,sm_clock_mhz,power_w,reading_age_s\n"
)
LOG = """mm,8,cpu,run,0.0001,1000,,cpu,free,always CPU,,,,0.000001,,,,,,
mm,64,cpu,run,0.001,2000,,cpu,free,always CPU,,,,0.000001,,,,,,
mm,64,cpu,run,0.001,3000,,cpu,competing,always CPU,,,,0.000001,,,,,,
mm,8,gpu,run,0.0002,4000,,gpu,free,always GPU,0,,,0.000001,,,,,,
mm,64,gpu,run,0.0004,5000,,gpu,free,always GPU,0,,,0.000001,,,,,,
mm,64,gpu,run,0.004,6000,,gpu,competing,always GPU,0,,,0.000001,,,,,,
mm,8,gpu,run,0.0002,7000,,model,free,GPU faster by the model,0,0.0003,0.00015,0.00001,,10,8e10,1980,100,0.01
mm,64,gpu,run,0.0004,8000,,model,free,GPU faster by the model,0,0.0011,0.0005,0.00003,,20,8e10,1980,100,0.02
mm,64,gpu,run,0.005,9000,,model,competing,GPU faster by the model,0,0.001,0.0005,0.00002,0.25,99,2e10,1980,700,0.03
mm,4096,none,failed,0,10000,,model,competing,"needs 99 GB, and the GPU has 20 GB free",,,,0.00002,,99,2e10,1980,700,0.03
"""
META = (
    '{"model.mm.x.cpu.operation": "1e-11",'
    ' "queue.model.free.joules": "12.5", "queue.model.competing.joules": "30", "queue.gpu.free.joules": "7",'
    ' "model.mm.x.gpu.call": "2e-5", "model.mm.x.gpu.byte": "1e-10", "model.mm.x.gpu.row": "0.0",'
    ' "model.mm.x.gpu.result_byte": "1e-9", "model.mm.x.cpu.call": "nan", "model.name": "x"}'
)
Lay = Callable[..., str]


@pytest.fixture
def lay(library: Library, publish: Publish) -> Lay:
    """Publishes an empty report with a log of decisions, and answers its id."""

    def lay_(rows: str = LOG, meta: str = META, header: str = HEADER) -> str:
        report_id = publish(lambda _: None)
        library.put_sidecar(report_id, "tasks", header + rows)
        library.put_sidecar(report_id, "meta", meta)
        return report_id

    return lay_


def by_load(rows: list[dict[str, Any]], policy: str) -> dict[str, dict[str, Any]]:
    return {row["load"]: row for row in rows if row["policy"] == policy}


def test_policies_by_hand(library: Library, lay: Lay) -> None:
    rows = run(library, lay(), "scheduler_policies")
    assert picked(rows, "policy", "load") == [
        (policy, load) for policy in ("cpu", "gpu", "model") for load in ("free", "competing", "all")
    ]
    model = by_load(rows, "model")
    free, competing, both = model["free"], model["competing"], model["all"]
    assert picked([free], "decisions", "on_cpu", "on_gpu", "refused", "judged") == [(2, 0, 2, 0, 2)]
    assert picked([competing], "decisions", "on_gpu", "refused", "judged") == [(2, 1, 1, 1)]
    assert picked([free], "total_ns", "best_ns", "regret_ns") == [(600_000, 500_000, 100_000)]
    assert picked([both], "single_runs", "measured_ns", "expected_ns") == [(3, 5_600_000, 4_600_000)]
    assert (free["regret_pct"], free["cpu_regret_pct"], free["gpu_regret_pct"]) == pytest.approx((20, 120, 20))
    assert competing["regret_pct"] == pytest.approx(300), "4 ms where 1 ms is possible, whatever this run took"
    assert both["regret_ns"] == 3_100_000
    assert both["regret_pct"] == pytest.approx(100 * 3.1 / 1.5)
    assert free["error_pct"] == pytest.approx(25)
    assert both["error_pct"] == pytest.approx(25)
    assert (both["predicted"], both["waited_ns"]) == (3, pytest.approx(0.25e9))
    assert (both["decision_ns"], free["decision_ns"]) == pytest.approx((20_000, 20_000))
    assert both["decision_p99_ns"] == pytest.approx(29_700)
    assert [model[load]["joules"] for load in ("free", "competing", "all")] == [12.5, 30, 42.5]
    assert [by_load(rows, "gpu")[load]["joules"] for load in ("free", "competing", "all")] == [7, None, None]
    cpu = by_load(rows, "cpu")["all"]
    assert picked([cpu], "error_pct", "predicted", "waited_ns", "joules") == [(None, 0, None, None)]
    assert cpu["regret_pct"] == pytest.approx(40)


def test_decisions_by_hand(library: Library, lay: Lay) -> None:
    report = lay()
    rows = run(library, report, "scheduler_decisions", policy="model")
    assert picked(rows, "number", "since_ns", "policy_ns") == [
        (7, 6000, 0), (8, 7000, 1000), (9, 8000, 2000), (10, 9000, 3000),
    ]  # fmt: skip
    assert [row["error_pct"] for row in rows[:3]] == pytest.approx([25, 25, 90])
    assert [row["regret_ns"] for row in rows] == [100_000, 0, 3_000_000, None]
    assert picked(rows[2:3], "cpu_ns", "gpu_ns", "utilization_pct", "memory_free_bytes") == [(1e6, 4e6, 99, 2e10)]
    assert picked(rows[3:], "device", "ns", "predicted_ns", "error_pct") == [("none", None, None, None)]
    assert len(run(library, report, "scheduler_decisions", points=2)) == 6


def test_errors_and_regrets_by_hand(library: Library, lay: Lay) -> None:
    report = lay()
    (row,) = run(library, report, "scheduler_errors")
    assert picked([row], "policy", "task", "device", "runs", "worst_size") == [("model", "mm", "gpu", 3, 64)]
    assert (row["error_pct"], row["ratio"], row["worst_error_pct"]) == pytest.approx((25, 0.75, 57.5))
    assert (row["predicted_ns"], row["measured_ns"]) == pytest.approx((1_150_000, 5_600_000))
    rows = [row for row in run(library, report, "scheduler_regrets") if row["policy"] == "model"]
    assert picked(rows, "task", "size", "load", "device", "decisions", "regret_ns") == [
        ("mm", 64, "competing", "gpu", 1, 3_000_000), ("mm", 8, "free", "gpu", 1, 100_000),
    ]  # fmt: skip
    assert [row["share_pct"] for row in rows] == pytest.approx([100 * 30 / 31, 100 / 31])
    assert picked(rows[:1], "cpu_ns", "cpu_predicted_ns", "gpu_ns", "gpu_predicted_ns") == [(1e6, 1e6, 4e6, 5e5)]
    assert len(run(library, report, "scheduler_regrets", most=1)) == 3, "one of each policy"


def test_sizes_that_ran_more_often_are_no_single_runs(library: Library, lay: Lay) -> None:
    """Both devices ran mm 8 twice under the policies that always choose them; the CPU ran mm 64 once."""
    again = [
        line for line in LOG.splitlines() if line.startswith(("mm,8,cpu", "mm,8,gpu", "mm,64,gpu")) and "free" in line
    ]
    rows = run(library, lay(LOG + "\n".join(again) + "\n"), "scheduler_policies")
    assert by_load(rows, "model")["free"]["single_runs"] == 2, "two of mm 64"


def test_a_decision_counts_once_and_a_wait_does_not(library: Library, lay: Lay) -> None:
    """Of three tasks, one was reported later, one never was, and one raised an error without its load."""
    rows = """mm,64,gpu,decided,,1000,,model,free,because,0,,,0.00001,,,,,,
mm,64,gpu,run,0.5,1000,,model,free,because,0,,,0.00001,,,,,,
mm,65,none,wait,0,2000,,model,free,needs 9 GB,,,,0.00001,,,,,,
mm,65,cpu,decided,,3000,,model,free,because,,,,0.00001,,,,,,
mm,66,none,failed,0,4000,,model,,because,,,,0.00001,,,,,,
"""
    report = lay(rows)
    free, both = run(library, report, "scheduler_policies")
    assert picked([free], "load", "decisions", "on_cpu", "on_gpu", "refused") == [("free", 2, 0, 1, 0)]
    assert picked([both], "load", "decisions", "on_gpu", "refused", "total_ns") == [("all", 3, 1, 1, 5e8)]
    told = picked(run(library, report, "scheduler_decisions"), "number", "size", "device", "ns")
    assert told == [(1, 64, "gpu", 5e8), (2, 65, "cpu", None), (3, 66, "none", None)]


def test_the_model_by_hand(library: Library, lay: Lay) -> None:
    rows = run(library, lay(), "scheduler_model")
    assert [tuple(row.values()) for row in rows] == [
        ("mm.x", "cpu", None, None, None, pytest.approx(1e11), None),
        ("mm.x", "gpu", pytest.approx(20_000), None, pytest.approx(1e10), None, pytest.approx(1e9)),
    ]


def test_what_is_not_told_is_missing_and_not_0(library: Library, lay: Lay) -> None:
    """A log of one device, without loads, predictions and decision times."""
    short = HEADER.rpartition(",gpu,cpu_predicted_s")[0] + "\n"
    report = lay("mm,8,cpu,run,0.0001,,,own,,because\nmm,8,cpu,run,0,,,own,,because\n", "{}", short)
    (row,) = run(library, report, "scheduler_policies")
    told = ("regret_ns", "regret_pct", "best_ns", "cpu_regret_pct", "gpu_regret_pct", "error_pct", "decision_ns")
    assert picked([row], "load", *told) == [("all", *(None,) * len(told))]
    assert picked([row], "joules", "waited_ns", "judged") == [(None, None, 0)]
    assert picked(run(library, report, "scheduler_decisions"), "since_ns", "regret_ns") == [(None, None)] * 2
    assert run(library, report, "scheduler_errors") == []
    assert run(library, report, "scheduler_regrets") == []


def test_without_decisions_it_says_how_to_get_some(library: Library, lay: Lay) -> None:
    report = lay("mm,8,cpu,compute,0.1\n", "{}", "task,size,device,part,seconds\n")
    for name in NAMES:
        with pytest.raises(NotCapturedError, match="No decisions of a scheduler"):
            run(library, report, name)


def test_what_ran_beside_another_program_is_no_time_of_a_task(library: Library, lay: Lay) -> None:
    rows = {row["size"]: row for row in run(library, lay(), "task_times")}
    assert (rows[64]["gpu_median_ns"], rows[64]["gpu_repetitions"]) == (400_000, 2)

"""The scheduler follows the model in microseconds, refuses, waits and falls back; the library reads its log."""

import csv
import json
import sys
import threading
import time
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import median

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from ingest.sidecars import files
from tests.support.recorder import Recorder
from tests.workloads.test_learning import SIZES, rows
from workloads.__main__ import main
from workloads.learning import costs, validation
from workloads.ranges import send_to
from workloads.scheduler import Decision, Scheduler, TooLargeError
from workloads.scheduler.decisions import DecisionLog
from workloads.scheduler.load import Correction
from workloads.scheduler.readings import Host, Reading, Readings
from workloads.task_kinds import KINDS
from workloads.tasks import PRECISIONS


class Given(Readings):
    """Readings of a GPU that this machine has not: as NVML would tell them, but for the library's call."""

    def __init__(
        self, free_bytes: float = 8e10, used_pct: float = 0.0, host_bytes: float = 1e12, clock_mhz: float = 1980
    ) -> None:
        super().__init__()
        self.has_gpu = True
        self.latest = (Reading(0, time.perf_counter() + 60, used_pct, free_bytes, 8e10, clock_mhz, 1980, 100, 700),)
        self.host = Host(host_bytes, time.perf_counter() + 60)


class Coming(Given):
    """Readings that come when they are waited for."""

    coming: list[tuple[Reading, ...]]

    def wait(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self.latest = self.coming.pop(0)


@pytest.fixture(scope="module")
def model() -> costs.TimeModel:
    """Learned of two machines alike, so that another one may be decided on, too."""
    measured = [*rows(), *rows("two")]
    found = costs.learn(measured)
    found.trust = validation.compute_trust(validation.validate(measured))
    return found


def test_plain_python_says_what_the_model_says(model: costs.TimeModel) -> None:
    for (task, precision), line in model.make_lines("one").items():
        for size in (1, *SIZES, 100, 777.5, 5000, 100_000):
            found = line(size)
            for target, seconds in (("cpu", found.cpu_s), ("gpu", found.gpu_s), ("gpu_compute", found.compute_s)):
                told = model.predict("one", task, precision, size, target)
                assert told
                assert seconds == pytest.approx(told.seconds, rel=1e-9)


def test_the_faster_device_is_chosen_and_says_why(model: costs.TimeModel) -> None:
    scheduler = Scheduler(model, readings=Given())
    for row in rows():
        decision = scheduler.schedule(row.task, row.size)
        faster = "gpu" if row.seconds["gpu"] < row.seconds["cpu"] else "cpu"
        assert (decision.device, decision.reason) == (faster, f"{faster.upper()} faster by the model")
    assert scheduler.schedule("product", SIZES[-1]).gpu == 0


def test_a_warm_decision_takes_less_than_50_microseconds(model: costs.TimeModel) -> None:
    """The fastest of several rounds, because other programs use this machine, too."""
    scheduler = Scheduler(model, readings=Given())
    rounds = []
    for _ in range(20):
        started = time.process_time()
        for size in range(100, 300):
            scheduler.schedule("product", size)
        rounds.append((time.process_time() - started) / 200)
    assert min(rounds) < 50e-6


def test_what_was_never_measured_goes_by_a_threshold_and_without_one_to_the_cpu(model: costs.TimeModel) -> None:
    limit = model.limits["", "fp32"]
    scheduler = Scheduler(model, readings=Given(), thresholds={"mine": 10})
    assert scheduler.schedule("sort", limit).reason == f"never measured: threshold {limit:,.0f}"
    assert [scheduler.schedule("sort", size).device for size in (limit - 1, limit)] == ["cpu", "gpu"]
    assert [scheduler.schedule("mine", size).device for size in (9, 10)] == ["cpu", "gpu"]
    never = Scheduler(None, readings=Given(), thresholds={"sort": float("inf")}).schedule("sort", 1e6)
    assert (never.device, never.reason) == ("cpu", "no model: the GPU never won")
    bare = Scheduler(None, readings=Given()).schedule("sort", 1e6)
    assert (bare.device, bare.reason) == ("cpu", "no model, no threshold")


def test_what_was_learned_without_a_precision_holds_for_any() -> None:
    measured = [replace(row, precision="") for row in (*rows(), *rows("two"))]
    model = costs.learn(measured)
    model.trust = validation.compute_trust(validation.validate(measured))
    scheduler = Scheduler(model, readings=Given())
    decision = scheduler.schedule("product", 2048)
    assert (decision.device, decision.reason, decision.precision) == ("gpu", "GPU faster by the model", "fp32")
    scheduler.finished(decision, 1.0)
    assert (scheduler.schedule("product", 2048).gpu_s or 0) > (decision.gpu_s or 1), "it learned from the run"
    limit = model.limits["", ""]
    assert scheduler.schedule("sort", limit).reason == f"never measured: threshold {limit:,.0f}"


def test_thresholds_of_the_caller_come_before_those_of_the_model() -> None:
    """An untrusted model with its own thresholds."""
    model = costs.learn(rows())
    assert model.limits["product", "fp32"] > 16
    for given in ({"product": 10.0}, {("product", "fp32"): 10.0}):
        decision = Scheduler(model, readings=Given(), thresholds=given).schedule("product", 16)
        assert (decision.device, decision.reason) == ("gpu", "model no better: threshold 10")


def test_a_model_that_was_worse_than_the_threshold_does_not_decide(model: costs.TimeModel) -> None:
    worse = costs.learn([*rows(), *rows("two")])
    worse.trust = dict.fromkeys(model.trust, (2.0, 1.0))
    decision = Scheduler(worse, readings=Given()).schedule("product", 2048)
    assert decision.reason.startswith("model no better: threshold")


def test_a_silent_nvml_and_no_gpu_are_said(model: costs.TimeModel) -> None:
    silent, old, none = Given(), Given(), Given()
    silent.latest = ()
    old.latest = (Reading(0, time.perf_counter() - 60, 0.0, 8e10, 8e10),)
    none.has_gpu, none.latest = False, ()
    for readings in (silent, old):
        assert Scheduler(model, readings=readings).schedule("add", 64).reason.startswith("NVML is silent: threshold")
    decision = Scheduler(model, readings=none).schedule("product", 1e5)
    assert (decision.device, decision.reason) == ("cpu", "no GPU")


def test_what_does_not_fit_is_not_tried(model: costs.TimeModel) -> None:
    full = Given(free_bytes=1e9)
    now = Scheduler(model, readings=full).schedule("product", 20_000, needs_bytes=5e9)
    assert (now.device, now.reason) == ("wait", "needs 5.0 GB, and the GPU has 1.0 GB free now")
    assert now.cpu_s
    assert now.gpu_s
    assert 0 < now.wait_s <= now.cpu_s - now.gpu_s
    later = Scheduler(model, readings=full).schedule("product", 20_000, needs_bytes=5e9, waited_s=now.cpu_s)
    assert (later.device, later.reason) == ("cpu", "needs 5.0 GB, and the GPU has 1.0 GB free")
    assert Scheduler(model, readings=full).schedule("product", 64, needs_bytes=1e12 + 1).device == "none"
    host = Scheduler(model, readings=Given(host_bytes=1e9)).schedule("product", 16, needs_bytes=5e9)
    assert (host.device, host.reason) == ("gpu", "needs 5.0 GB, more than the host has free")


def test_a_shared_gpu_is_left_where_runs_on_it_took_long(model: costs.TimeModel) -> None:
    scheduler = Scheduler(model, readings=Given(used_pct=100))
    size = next(row.size for row in rows() if row.task == "product" and row.seconds["gpu"] < row.seconds["cpu"] / 3)
    assert scheduler.schedule("product", size).reason == "GPU faster by the model, GPU shared"
    for _ in range(20):
        decision = scheduler.schedule("product", size)
        if decision.device == "gpu":
            assert decision.cpu_s
            scheduler.finished(decision, 10 * decision.cpu_s)
    assert scheduler.schedule("product", size).reason == "CPU faster by the model, GPU shared"


def test_a_wait_and_a_factor_are_found_again() -> None:
    correction = Correction(2.0, doubt=1.0)
    for number in range(300):
        predicted = 10 ** (-4 + number % 4)
        correction.learn(predicted, 0.003 + 1.5 * predicted)
    assert correction.wait_s == pytest.approx(0.003, rel=0.05)
    assert correction.factor == pytest.approx(1.5, rel=0.05)


def test_a_low_clock_counts_once(model: costs.TimeModel) -> None:
    """At half the clock, kernels take twice as long, also after runs that did, and whatever else uses the GPU."""
    estimate = model.make_lines("one")["product", "fp32"](4096)
    took_s = estimate.gpu_s + estimate.compute_s
    assert estimate.compute_s > estimate.gpu_s / 2
    scheduler = Scheduler(model, readings=Given(used_pct=100, clock_mhz=990))
    for _ in range(300):
        scheduler.finished(scheduler.schedule("product", 4096), took_s)
    assert scheduler.schedule("product", 4096).gpu_s == pytest.approx(took_s, rel=0.05)


class Holder:
    """Has a method that is scheduled by its argument."""

    def double(self, scheduler: Scheduler, values: list[int]) -> str:
        placed = scheduler.scheduled("product", size=lambda _, values: len(values))(Holder.placed)
        return placed(self, values)

    def placed(self, values: list[int], *, device: str = "") -> str:
        return device if values else ""


def test_what_the_host_had_free_a_while_ago_is_not_known(model: costs.TimeModel) -> None:
    readings = Given(host_bytes=1e9)
    assert Scheduler(model, readings=readings).schedule("product", 16, needs_bytes=5e9).device == "gpu"
    readings.host = Host(1e9, time.perf_counter() - 60)
    assert Scheduler(model, readings=readings).schedule("product", 16, needs_bytes=5e9).device == "cpu"


def test_a_scheduler_is_entered_again_and_goes_on_with_its_log(tmp_path: Path) -> None:
    scheduler = Scheduler(None, log=tmp_path / "run")
    for _ in range(2):
        with scheduler:
            scheduler.schedule("product", 8)
    assert len(logged(tmp_path / "run.tasks.csv")) == 2


def test_the_decorator_runs_and_logs_and_the_library_reads_the_log(model: costs.TimeModel, tmp_path: Path) -> None:
    recorder = Recorder()
    with Scheduler(model, readings=Given(), log=tmp_path / "run") as scheduler, send_to(recorder):

        @scheduler.scheduled("product", size=len)
        def double(values: list[int], *, device: str = "") -> tuple[str, list[int]]:
            return device, [2 * value for value in values]

        assert double([1] * 16) == ("cpu", [2] * 16)
        assert double([1] * 2048)[0] == "cuda:0"
        assert double(values=[1] * 2048)[0] == "cuda:0"
        assert double([]) == ("cpu", [])
        assert Holder().double(scheduler, [1] * 2048) == "cuda:0"
        scheduler.readings.host = Host(0.0, time.perf_counter())
        scheduler.readings.latest = ()
        with pytest.raises(TooLargeError, match="fits into no memory"):
            double([1])
    assert ("schedule product_2048: gpu 0",) in recorder.paths
    file = tmp_path / "run.tasks.csv"
    rows_of = logged(file)
    assert [(row["device"], row["part"], row["policy"]) for row in rows_of] == [
        ("cpu", "run", "model"), *[("gpu", "run", "model")] * 2, ("cpu", "run", "model"), ("gpu", "run", "model"),
        ("none", "failed", "model"),
    ]  # fmt: skip
    kept = files.read_sidecar(file)
    assert kept.kind == "tasks"
    assert [row["reason"] for row in csv.DictReader(kept.text.splitlines())] == [row["reason"] for row in rows_of]


def logged(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text().splitlines()))


def test_each_decision_is_in_the_log_when_it_is_made(model: costs.TimeModel, tmp_path: Path) -> None:
    """A run that is reported later has its own row; the words of a body that raised, or waited, stay."""
    file, readings = tmp_path / "run.tasks.csv", Coming()
    with Scheduler(model, readings=readings, log=tmp_path / "run") as scheduler:
        decision = scheduler.schedule("product", 2048)
        (row,) = logged(file)
        assert (row["device"], row["part"], row["seconds"]) == ("gpu", "decided", "")
        assert (row["policy"], row["reason"]) == ("model", decision.reason)
        scheduler.finished(decision, 0.25)
        with scheduler.place("product", 64, load="free"):
            pass
        with pytest.raises(ZeroDivisionError), scheduler.place("product", 64, load="free", policy="mine", label="p"):
            raise ZeroDivisionError
        scheduler.schedule("product", 64, needs_bytes=1e13)
        full, free = Given(free_bytes=1e9).latest, readings.latest
        readings.latest = full
        assert scheduler.schedule("product", 20_000, needs_bytes=5e9).device == "wait"
        readings.coming = [full, full, free]
        with scheduler.place("product", 20_000, needs_bytes=5e9, load="free") as decision:
            assert decision.device == "gpu"
    rows = logged(file)[1:]
    assert [(row["device"], row["part"], row["policy"], row["load"]) for row in rows] == [
        ("gpu", "run", "model", ""), ("cpu", "run", "model", "free"), ("none", "failed", "mine", "free"),
        ("none", "failed", "model", ""), ("none", "wait", "model", ""), *[("none", "wait", "model", "free")] * 3,
        ("gpu", "run", "model", "free"),
    ]  # fmt: skip
    assert (rows[0]["time_ns"], float(rows[0]["seconds"])) == (row["time_ns"], 0.25)
    assert rows[2]["task"] == "p"
    assert [bool(row["waited_s"]) for row in rows] == [*[False] * 6, *[True] * 3], "what did not wait has no time of it"
    assert files.read_sidecar(file).kind == "tasks"


def test_threads_write_whole_rows(tmp_path: Path) -> None:
    log, many = DecisionLog(tmp_path / "run.tasks.csv"), 3000
    decision = Decision("product", 64, "fp32", "cpu", "because, as it is")

    def work() -> None:
        for _ in range(many):
            log.write(decision, 0.5)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    log.close()
    rows = (tmp_path / "run.tasks.csv").read_bytes().splitlines()
    assert len(rows) == 1 + 4 * many
    assert len(set(rows[1:])) == 1


def test_a_queue_runs_without_a_gpu_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "queue.tasks.csv"
    monkeypatch.setenv("WORKLOADS_RECORD", str(tmp_path / "queue"))
    words = ["--count", "12", "--sizes", "8,12", "--repeats", "2", "--block", "4"]
    assert main(["run", "queue", "--device", "cpu", *words]) == 0
    assert "No GPU: every task runs on the CPU." in capsys.readouterr().out
    found = logged(file)
    turns = [(policy, len(list(rows))) for policy, rows in groupby(row["policy"] for row in found)]
    assert turns[:10] == [
        ("cpu", 4), ("gpu", 4), ("threshold", 4), ("model", 4), ("oracle", 4),
        ("gpu", 2), ("threshold", 2), ("model", 2), ("cpu", 2), ("oracle", 2),
    ]  # fmt: skip
    assert len(turns) == 5 * 2 * 2 * 2, "policies, halves, repeats, blocks"
    assert {row["device"] for row in found} == {"cpu"}
    orders = [[(row["task"], row["size"]) for row in found if row["policy"] == policy] for policy, _ in turns[:5]]
    assert all(order == orders[0] for order in orders)
    assert orders[0][:6] + orders[0][12:18] == orders[0][6:12] + orders[0][18:], "each half is worked off twice"
    assert median(float(row["seconds"]) for row in found) > 0
    facts = json.loads((tmp_path / "queue.meta.json").read_text())
    names = {f"{row['task']}_{row['size']}" for row in found}
    assert names <= set(facts["bytes_by_task"])
    assert names <= set(facts["result_bytes_by_task"])
    assert {name.rpartition("_")[0] for name in names} <= {f"{task}_{of}" for task in KINDS for of in PRECISIONS}

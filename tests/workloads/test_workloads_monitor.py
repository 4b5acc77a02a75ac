"""The GPU monitor and auto_profile without a GPU, and the functions that pynvml must offer with one."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.support.recorder import Recorder
from warpdeck.profiling import nvml
from warpdeck.profiling.power_log import COLUMN, HEADER, GPUMonitor, say_that_there_is_no_gpu
from workloads.monitor import auto_profile
from workloads.ranges import send_to

without_gpu = pytest.mark.skipif(nvml.count_gpus() > 0, reason="there is a GPU")


@without_gpu
def test_without_a_gpu_the_monitor_says_so_once_and_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say_that_there_is_no_gpu.cache_clear()
    for _ in range(2):
        with GPUMonitor(tmp_path / "run") as monitor:
            assert monitor.joules_now() is None
    assert capsys.readouterr().err == "No GPU that NVML can read: power and clocks are not logged.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(nvml.count_gpus() == 0, reason="needs a GPU")
def test_on_a_gpu_the_monitor_logs_power(tmp_path: Path) -> None:
    with GPUMonitor(tmp_path / "run", interval_s=0.01):
        pass
    with (tmp_path / "run.nvml.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) >= 2 * nvml.count_gpus()
    assert float(rows[0]["power_w"]) > 0


def test_the_log_names_its_columns() -> None:
    assert HEADER[:3] == ("time_ns", "elapsed_s", "device")
    assert {"power_w", "energy_mj", "sm_clock_mhz", "memory_clock_mhz", "temperature_c"} <= set(COLUMN)


def test_pynvml_has_what_a_reading_asks_for() -> None:
    pynvml = pytest.importorskip("pynvml")
    names = ("PowerUsage", "FieldValues", "TotalEnergyConsumption", "ClockInfo", "Temperature", "MemoryInfo")
    for name in (*names, "UtilizationRates", "EnforcedPowerLimit", "Name", "HandleByIndex", "Count"):
        assert callable(getattr(pynvml, f"nvmlDeviceGet{name}"))
    for name in ("FI_DEV_POWER_INSTANT", "CLOCK_SM", "CLOCK_MEM", "TEMPERATURE_GPU", "SUCCESS"):
        assert isinstance(getattr(pynvml, f"NVML_{name}"), int)
    value = pynvml.c_nvmlFieldValue_t()
    assert (value.nvmlReturn, value.value.uiVal) == (0, 0)


def test_auto_profile_runs_and_times_each_iteration(tmp_path: Path) -> None:
    calls: list[int] = []

    @auto_profile(warmup=2, iterations=3, prefix=tmp_path / "work")
    def work(number: int) -> int:
        calls.append(number)
        return len(calls)

    recorder = Recorder()
    with send_to(recorder):
        assert work(7) == 5
    assert calls == [7] * 5
    assert recorder.paths == [("warmup",), ("step_0",), ("step_1",), ("step_2",)]
    with (tmp_path / "work.timings.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["label"], row["step"]) for row in rows] == [("work", "0"), ("work", "1"), ("work", "2")]
    assert all(float(row["seconds"]) > 0 for row in rows)


def test_auto_profile_goes_beside_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKLOADS_RECORD", str(tmp_path / "own"))

    @auto_profile(warmup=0, iterations=1)
    def nothing() -> None:
        pass

    nothing()
    assert (tmp_path / "own.timings.csv").exists()


def test_auto_profile_wants_an_iteration() -> None:
    with pytest.raises(ValueError, match="iterations >= 1"):
        auto_profile(iterations=0)

"""The scheduler's view of a machine's GPUs, with an NVML that shows four of them."""

import csv
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")

from tests.workloads.test_learning import rows
from warpdeck.profiling import nvml
from workloads.__main__ import main
from workloads.learning import costs
from workloads.scheduler import Scheduler
from workloads.scheduler.readings import Host, Readings, list_visible_gpus

UUIDS = ["GPU-1aaa", "GPU-1abb", "GPU-2aaa", "GPU-3aaa"]


class NVMLError(Exception):
    """As pynvml has it."""


class FourGpus:
    """The part of pynvml that is asked for readings; ``lost`` GPUs have no handle."""

    NVMLError = NVMLError
    NVML_CLOCK_SM = NVML_CLOCK_MEM = NVML_TEMPERATURE_GPU = NVML_FI_DEV_POWER_INSTANT = NVML_SUCCESS = 0

    def __init__(self) -> None:
        self.lost = False

    def __getattr__(self, name: str) -> Callable[..., object]:
        told: dict[str, object] = {
            "nvmlDeviceGetCount": 4, "nvmlDeviceGetName": "GPU",
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80e9, used=1e9),
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=0, memory=0),
            "nvmlDeviceGetFieldValues": [SimpleNamespace(nvmlReturn=1)],
        }  # fmt: skip
        if not name.startswith("nvmlDeviceGet"):
            raise AttributeError(name)
        return lambda *_: told.get(name, 1000)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        if self.lost:
            raise NVMLError
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return UUIDS[handle]


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> FourGpus:
    found = FourGpus()
    monkeypatch.setattr(nvml, "load_library", lambda: found)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return found


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (None, [0, 1, 2, 3]), ("", []), ("-1", []), ("7", []), ("2", [2]), ("3, 1", [3, 1]), ("0,7,1", [0]),
        ("1,-1,2", [1]), ("GPU-2", [2]), ("GPU-1ab,GPU-3aaa", [1, 3]), ("GPU-1a", []), ("2,GPU-4", [2]),
        ("NoDevFiles", []), ("MIG-5aaa", [None]),
    ],
)  # fmt: skip
def test_gpus_are_shown_as_cuda_shows_them(
    gpus: FourGpus, monkeypatch: pytest.MonkeyPatch, told: str | None, shown: list[int | None]
) -> None:
    """Up to the first entry that names no GPU; a prefix of a UUID must be unique."""
    if told is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", told)
    assert list_visible_gpus(UUIDS) == shown
    with Readings() as readings:
        assert readings.has_gpu == bool(shown)
        assert [one.gpu for one in readings.latest] == [place for place, of in enumerate(shown) if of is not None]


def test_where_nvml_lists_none_a_gpu_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for told, shown in ((None, [None]), ("0", [None]), ("", []), ("-1", [])):
        if told is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", told)
        else:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        assert list_visible_gpus([]) == shown


def test_a_hidden_gpu_is_neither_chosen_nor_waited_for(gpus: FourGpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever would fit on it, and whatever earlier readings say."""
    del gpus
    model = costs.learn(rows())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with Scheduler(model) as scheduler:
        hidden = scheduler.schedule("product", 2048)
        assert (hidden.device, hidden.gpu, hidden.reason) == ("cpu", None, "no GPU")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
        with Readings() as shown:
            scheduler.readings.latest = shown.latest
        large = scheduler.schedule("product", 20_000, needs_bytes=79.5e9)
        scheduler.readings.host = Host(1e9, time.perf_counter())
        nowhere = scheduler.schedule("product", 20_000, needs_bytes=5e9)
    assert large.device in ("cpu", "none")
    assert nowhere.device == "none"


def test_a_lost_gpu_has_no_reading_until_it_is_back(gpus: FourGpus) -> None:
    """It ends neither the construction of a scheduler nor its thread."""
    model = costs.learn(rows())
    gpus.lost = True
    assert Scheduler(model).schedule("product", 2048).device in ("cpu", "gpu")
    gpus.lost = False
    with Scheduler(model) as scheduler:
        assert len(scheduler.readings.latest) == 4
        gpus.lost = True
        for _ in range(2):
            scheduler.readings.wait(10)
        assert not scheduler.readings.latest
        assert scheduler.schedule("product", 2048).reason.startswith("NVML is silent")
        gpus.lost = False
        for _ in range(2):
            scheduler.readings.wait(10)
        assert len(scheduler.readings.latest) == 4


def test_a_queue_on_the_cpu_alone_logs_no_gpu(
    gpus: FourGpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Although the machine has GPUs, and the model would choose them for every task."""
    del gpus
    model, file = costs.learn(rows()), tmp_path / "queue.tasks.csv"
    model._limits = {("matmul", "fp32"): 8.0}
    model.save(tmp_path / "model.skops")
    words = ["--device", "cpu", "--count", "4", "--sizes", "16", "--tasks", "matmul", "--precisions", "fp32"]
    assert main(["run", "queue", *words, "--model", str(tmp_path / "model.skops"), "--csv", str(file)]) == 0
    assert "on the GPU" in capsys.readouterr().out
    found = list(csv.DictReader(file.read_text().splitlines()))
    assert {(row["device"], row["gpu"]) for row in found} == {("cpu", "")}
    assert {row["reason"] for row in found} <= {"no GPU", "faster when measured"}

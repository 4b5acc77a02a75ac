"""The workloads in pairs and those over several sizes, on the CPU: their results and their ranges."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.recorder import Recorder

torch = pytest.importorskip("torch")

from workloads.__main__ import main  # noqa: E402
from workloads.errors import WorkloadError  # noqa: E402
from workloads.idle import Loop  # noqa: E402
from workloads.images import Images  # noqa: E402
from workloads.launches import compute_expected, launch_tiny_kernels  # noqa: E402
from workloads.ranges import ALLOCATION, COMPUTE, HOST, OVERHEAD, TRANSFER, send_to  # noqa: E402
from workloads.streams import Pipeline, Shape  # noqa: E402
from workloads.task_kinds import BASIC, KINDS  # noqa: E402
from workloads.tasks import PRECISIONS, Bench  # noqa: E402
from workloads.tasks_cpu import compute_with_numpy, make_cpu  # noqa: E402
from workloads.tasks_gpu import TorchBackend  # noqa: E402

CPU = torch.device("cpu")
torch.set_num_threads(1)  # threads that spin for one another cost more than they give where cores are shared


def ranges_of(*arguments: str) -> Recorder:
    recorder = Recorder()
    with send_to(recorder):
        assert main(["run", *arguments, "--device", "cpu"]) == 0
    assert recorder.open == []
    return recorder


def inside(recorder: Recorder, *parents: str) -> list[str]:
    depth = len(parents)
    return [path[depth] for path in recorder.paths if path[:depth] == parents and len(path) == depth + 1]


PLAN = ("--prime", "1", "--warmup", "1", "--steps", "2")
CHUNK = ["upload_chunk", "multiply_chunk", "download_chunk"]
MLP = ["forward_mlp", "backward_mlp", "update_weights"]
CLASSIFIER = ["next_batch", "copy_to_device", "forward_classifier", "backward_classifier", "update_classifier"]


@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        (["dataloader", "--mode", "starved"], CLASSIFIER),
        (["dataloader", "--mode", "fixed", "--workers", "2"], CLASSIFIER),
        (["streams", "--mode", "serial", "--chunks", "2"], ["chunk_0", "chunk_1", "wait_for_chunks"]),
        (["streams", "--mode", "overlapped", "--chunks", "2"], ["chunk_0", "chunk_1", "wait_for_chunks"]),
        (["launches", "--mode", "tiny"], ["launch_tiny_kernels", "wait_for_kernels"]),
        (["idle", "--mode", "host_bound"], [*MLP, "read_loss_item", "host_bookkeeping"]),
        (["idle", "--mode", "fixed"], [*MLP, "host_bookkeeping"]),
    ],
)
def test_a_step_has_its_ranges_and_warm_up_is_apart(arguments: list[str], step: list[str]) -> None:
    recorder = ranges_of(*arguments, *PLAN)
    assert inside(recorder, "step_0") == inside(recorder, "step_1") == inside(recorder, "warmup") == step
    assert recorder.colors["warmup"] == OVERHEAD


def test_the_starved_loader_prepares_images_in_the_step_and_the_fixed_one_elsewhere() -> None:
    starved = ranges_of("dataloader", "--mode", "starved", "--batch", "3", *PLAN)
    assert inside(starved, "step_0", "next_batch") == ["transform_image"] * 3
    fixed = ranges_of("dataloader", "--mode", "fixed", "--workers", "2", *PLAN)
    assert inside(fixed, "step_0", "next_batch") == []


def test_both_loaders_train_on_the_same_images(capsys: pytest.CaptureFixture[str]) -> None:
    losses = []
    for mode in ("starved", "fixed"):
        assert main(["run", "dataloader", "--mode", mode, "--workers", "2", "--device", "cpu"]) == 0
        losses.append(capsys.readouterr().out.split("loss ")[1])
    assert losses[0] == losses[1]


def test_images_repeat_exactly() -> None:
    first, again = Images(4, 8)[3], Images(4, 8)[3]
    assert torch.equal(first[0], again[0])
    assert first[0].shape == (3, 8, 8)
    with pytest.raises(IndexError):
        Images(4, 8)[4]


def test_a_chunk_goes_up_is_multiplied_and_comes_down() -> None:
    recorder = ranges_of("streams", "--chunks", "2", *PLAN)
    assert inside(recorder, "step_0", "chunk_1") == CHUNK
    assert {name for name, color in recorder.colors.items() if color == TRANSFER} == {CHUNK[0], CHUNK[2]}


def test_a_wrong_chunk_ends_the_run() -> None:
    pipeline = Pipeline(Shape(chunks=2, rows=4, width=8), CPU, streams=0)
    pipeline.step()
    pipeline.check()
    pipeline.outputs[-1].add_(1)
    with pytest.raises(WorkloadError, match=r"^streams computed something wrong"):
        pipeline.check()


@pytest.mark.parametrize("kernels", [1, 2, 7])
def test_tiny_kernels_compute_what_is_expected(kernels: int) -> None:
    assert launch_tiny_kernels(torch.full((3,), 4.0), kernels).tolist() == [compute_expected(4.0, kernels)] * 3


def test_a_graph_of_launches_needs_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "launches", "--mode", "graph", "--device", "cpu"]) == 1
    assert capsys.readouterr().err == "CUDA graphs need a GPU: run with --mode tiny.\n"


def test_both_loops_learn_the_same() -> None:
    losses = []
    for reads_each in (True, False):
        torch.manual_seed(0)
        loop = Loop(CPU, width=16, layers=2, batch=8, reads_each=reads_each)
        for _ in range(4):
            loop.step()
        losses.append(loop.read())
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0]


def test_ranges_of_tasks_name_task_size_and_device() -> None:
    recorder = ranges_of("tasks", "--sizes", "32,16", "--steps", "1")
    names = [f"{task}_{size}/cpu" for task in BASIC for size in (16, 32)]
    assert [name for name in inside(recorder, "step_0") if name != "check_result"] == names
    assert inside(recorder, "step_0", "matmul_32/cpu") == ["allocate", "compute"]
    assert recorder.colors["matmul_32/cpu"] == HOST
    assert inside(recorder, "warmup")[0] == "vector_add_16/cpu"


def test_tasks_on_a_device_have_copies_and_colors() -> None:
    recorder, bench = Recorder(), Bench([16], compute_with_numpy, TorchBackend("cpu"))
    with send_to(recorder):
        bench.step([16])
    assert inside(recorder, "matmul_16/gpu") == ["allocate", "to_device", "compute", "to_host"]
    assert recorder.colors["matmul_16/gpu"] == COMPUTE
    assert recorder.colors["allocate"] == ALLOCATION
    assert recorder.colors["to_host"] == recorder.colors["to_device"] == TRANSFER
    assert recorder.colors["check_result"] == OVERHEAD
    assert [row[:4] for row in bench.rows if row[0] == "matmul"] == [
        *(("matmul", 16, "cpu", part) for part in ("allocate", "compute")),
        *(("matmul", 16, "gpu", part) for part in ("allocate", "to_device", "compute", "to_host")),
    ]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_pytorch_computes_of_every_kind_what_numpy_does(precision: str) -> None:
    Bench([8, 67], compute_with_numpy, TorchBackend("cpu"), list(KINDS), precision).step([8, 67])  # checks itself


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("convolution", lambda a, b: sum(a[i : i + 28, j : j + 28] * b[i, j] for i in range(5) for j in range(5))),
        ("sort", lambda a, _: sorted(a.ravel().tolist())),
        ("fft", lambda a, _: np.fft.fft2(a)[:, :17]),
        ("elementwise", lambda a, _: [[0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in row] for row in a]),
    ],
)
def test_numpy_computes_what_a_kind_says(task: str, expected: Callable[..., Any]) -> None:
    """Against other ways to compute it; GELU by tanh is within 5e-4 of the exact one."""
    bench = Bench([32], compute_with_numpy, None, [task], "fp64")
    found = bench.run_on_cpu(KINDS[task], 32)
    random = np.random.default_rng(0)
    np.testing.assert_allclose(found, expected(random.random((32, 32)), random.random((32, 32))), atol=1e-3)


def test_the_sparse_kind_is_a_matrix_times_a_vector() -> None:
    bench = Bench([40], compute_with_numpy, None, ["sparse"], "fp64")
    values, columns, rows, vector = bench.inputs["sparse", 40]
    matrix = np.zeros((40, 40))
    for row in range(40):
        assert len(set(columns[row])) == len(columns[row]) == rows[row + 1] - rows[row]
        matrix[row, columns[row]] = values[row]
    np.testing.assert_allclose(bench.run_on_cpu(KINDS["sparse"], 40), matrix @ vector)


def test_a_wrong_task_ends_the_run() -> None:
    bench = Bench([16], compute_with_numpy, None)
    with pytest.raises(WorkloadError, match=r"^matmul_16 computed something wrong"):
        bench.check("matmul", 16, np.zeros((16, 16), np.float32))


@pytest.mark.integration
@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")
def test_numba_computes_what_numpy_does() -> None:
    Bench([16, 33], make_cpu("numba"), None).step([16, 33])  # checks itself


def test_times_of_tasks_are_a_csv(tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    assert main(["run", "tasks", "--device", "cpu", "--sizes", "8", "--steps", "2", "--csv", str(file)]) == 0
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == ["task", "size", "device", "part", "seconds"]
    assert len(rows) == 2 * len(BASIC) * 2
    assert all(float(row["seconds"]) >= 0 for row in rows)


def test_energy_without_a_gpu_has_times_and_no_joules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKLOADS_RECORD", str(tmp_path / "energy"))
    recorder = ranges_of("energy", "--batches", "4,8", "--seconds", "0.001")
    assert [path for path in recorder.paths if path[-1] == "step_0"] == [("batch_4", "step_0"), ("batch_8", "step_0")]
    with (tmp_path / "energy.energy.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["batch"] for row in rows] == ["4", "8"]
    assert all(int(row["samples"]) % 64 == 0 and float(row["seconds"]) >= 0.001 for row in rows)
    assert json.loads((tmp_path / "energy.meta.json").read_text())["shapes"]["batches"] == [4, 8]

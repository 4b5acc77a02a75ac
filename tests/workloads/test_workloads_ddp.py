"""Data-parallel training on the CPU: several ranks learn the same as one, and each leaves its own files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from workloads.__main__ import main  # noqa: E402
from workloads.ddp import choose_batch  # noqa: E402

PLAN = ("--device", "cpu", "--layers", "1", "--prime", "0", "--warmup", "0", "--steps", "2")


def train(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("WORKLOADS_RECORD", str(folder / "ddp"))
    assert main(["run", "ddp", *PLAN, *options]) == 0


def facts(file: Path) -> dict[str, float]:
    values: dict[str, float] = json.loads(file.read_text())
    return values


def labels(file: Path) -> list[str]:
    with file.open(newline="") as lines:
        return [row["label"] for row in csv.DictReader(lines) if row["step"] == "1" and "/" not in row["label"]]


def test_strong_scaling_divides_the_batch_and_weak_scaling_does_not() -> None:
    assert [choose_batch(8, ranks, "strong") for ranks in (1, 2, 4)] == [8, 4, 2]
    assert [choose_batch(8, ranks, "weak") for ranks in (1, 2, 4)] == [8, 8, 8]


@pytest.mark.slow("trains a model by two processes")
@pytest.mark.parametrize("options", [(), ("--overlap",)])
def test_two_ranks_with_half_the_batch_learn_what_one_does(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tmp_path / "one", monkeypatch)
    train(tmp_path / "two", monkeypatch, "--ranks", "2", *options)
    one = facts(tmp_path / "one" / "ddp.meta.json")
    for rank in (0, 1):
        two = facts(tmp_path / "two" / f"ddp_rank{rank}.meta.json")
        assert (two["rank"], two["ranks"]) == (rank, 2)
        assert two["parameter_norm"] == pytest.approx(one["parameter_norm"], rel=1e-7)
        assert two["flops_per_step"] * 2 == one["flops_per_step"]
    phases = ["load_batch", "zero_grad", "forward", "backward", "allreduce", "optimizer_step", "read_loss", "step_1"]
    if options:
        phases.remove("allreduce")
    assert labels(tmp_path / "two" / "ddp_rank1.timings.csv") == phases


@pytest.mark.slow("starts a launcher and two processes")
def test_a_rank_that_fails_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORKLOADS_RECORD", str(tmp_path / "ddp"))
    assert main(["run", "ddp", *PLAN, "--ranks", "2", "--steps", "-1"]) == 1
    assert "--prime, --warmup and --steps cannot be negative." in capsys.readouterr().err

"""A capture written into a program: the real PyTorch profiler on the CPU, and its files."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
import torch

from workloads.monitor import Capture, profiled
from workloads.ranges import NvtxSink


def work(capture: Capture, steps: int = 2) -> None:
    model = torch.nn.Linear(8, 8)
    with capture.warmup():
        model(torch.ones(4, 8))
    for _ in range(steps):
        with capture.step(), capture.range("forward"):
            model(torch.ones(4, 8))
    capture.note(flops_per_step=512)


def events(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gzip.decompress((folder / f"{name}.pt.trace.json.gz").read_bytes()))[
        "traceEvents"
    ]
    return found


def test_a_capture_leaves_trace_timings_and_facts(tmp_path: Path) -> None:
    with profiled(tmp_path / "run", memory=True, stacks=True) as capture:
        work(capture)
    found = events(tmp_path, "run")
    named = [event["name"] for event in found if event.get("cat") == "user_annotation"]
    assert [name for name in named if not name.startswith("ProfilerStep")] == [
        "warmup", "step_0", "forward", "step_1", "forward"
    ]  # fmt: skip
    products = [event for event in found if event["name"] == "aten::addmm"]
    assert [event["args"]["Input Dims"][1] for event in products] == [[4, 8]] * 3
    assert {event["name"] for event in found} >= {"[memory]"}
    assert any(event.get("cat") == "python_function" for event in found)
    with (tmp_path / "run.timings.csv").open() as file:
        rows = [(row["label"], row["step"]) for row in csv.DictReader(file)]
    assert rows == [("warmup", "warmup"), ("forward", "0"), ("step_0", "0"), ("forward", "1"), ("step_1", "1")]
    meta = json.loads((tmp_path / "run.meta.json").read_text())
    assert (meta["tool"], meta["flops_per_step"], meta["command"]) == ("torch", 512, sys.argv)


def test_what_is_not_asked_for_is_not_recorded(tmp_path: Path) -> None:
    with profiled(tmp_path / "run", shapes=False) as capture:
        work(capture)
    found = events(tmp_path, "run")
    assert not any("Input Dims" in event.get("args", {}) for event in found)
    assert not {event.get("cat") for event in found} & {"python_function", "cpu_instant_event"}


@pytest.mark.parametrize("tool", ["torch", "nsys"])
def test_both_tools_get_the_same_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Any) -> None:
    nvtx = pytest.importorskip("nvtx")
    pushed: list[str] = []

    def push(self: NvtxSink, name: str, color: int) -> None:
        pushed.append(name)
        nvtx.push_range(name, color=color)

    monkeypatch.setattr(NvtxSink, "push", push)
    with profiled(tmp_path / "run", tool) as capture:
        work(capture)
    assert pushed == ["warmup", "step_0", "forward", "step_1", "forward"]
    assert (tmp_path / "run.pt.trace.json.gz").exists() == (tool == "torch")
    assert (tmp_path / "run.timings.csv").exists()


def test_the_trace_is_there_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), profiled(tmp_path / "run") as capture, capture.step():
        1 / 0  # noqa: B018
    assert [event["name"] for event in events(tmp_path, "run") if event.get("cat") == "user_annotation"] == ["step_0"]


def test_under_profile_the_files_lie_beside_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKLOADS_RECORD", str(tmp_path / "named"))
    with profiled("elsewhere", "nsys") as capture:
        work(capture, 1)
    assert sorted(path.name for path in tmp_path.iterdir() if "nvml" not in path.name) == [
        "named.meta.json", "named.timings.csv"
    ]  # fmt: skip

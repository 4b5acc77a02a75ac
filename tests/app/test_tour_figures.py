"""Every figure in the tour of the samples agrees with the analyses or the files."""

import csv
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from app.views.library import tour
from profiledb import words
from profiledb.library.library import Library
from profiledb.query import analysis, header
from tests.conftest import SAMPLES
from tests.support.every_report import slow_but
from tests.support.page_reports import records
from tests.support.torch_samples import NSYS, TRAINING

pytestmark = pytest.mark.skipif(not list(SAMPLES.glob("*.nsys-rep")), reason="no sample reports here")

MEASURED = {"warmup": "exclude", "mode": "process"}
"""What the pages show where the address says nothing."""
FIGURE = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?: (?:%|[mµn]?s\b|mJ\b))?")


def text(report: str) -> str:
    """The text of the tour at the stop that begins with a report."""
    return next(str(stop["see"]) for stop in tour.read_tour()["stop"] if stop["reports"][0].partition(".")[0] == report)


def rows(library: Library, report: str, name: str, **params: Any) -> list[dict[str, Any]]:
    chosen = MEASURED | params if header.get(name).by_part else params
    return records(analysis.run(library, library.find(report).id, name, chosen))


def busy(library: Library, report: str, **params: Any) -> dict[str, Any]:
    return rows(library, f"{report}.nsys-rep", "gpu_busy", **params)[0]


def steps(library: Library, report: str) -> dict[str, Any]:
    return rows(library, f"{report}.nsys-rep", "iteration_summary")[0]


def step(library: Library, report: str) -> str:
    return words.duration(steps(library, report)["median_ns"])


def dataloader_starved(library: Library) -> list[str]:
    starved, fixed = (busy(library, f"dataloader_{mode}") for mode in ("starved", "fixed"))
    where = {r["range"]: r["share_pct"] for r in rows(library, "dataloader_starved.nsys-rep", "idle_ranges")}
    kernels_ = words.duration(fixed["kernel_ns"])
    assert words.duration(starved["kernel_ns"]) == kernels_
    shares = [words.percent(share) for share in (starved["busy_active_pct"], where["step_*/next_batch"])]
    spans = [words.duration(one["active_ns"]) for one in (fixed, starved)]
    return [*shares, kernels_, words.percent(fixed["busy_active_pct"]), *spans]


def streams_serial(library: Library) -> list[str]:
    serial, overlapped = (busy(library, f"streams_{mode}") for mode in ("serial", "overlapped"))
    longer = words.percent(100 * (overlapped["kernel_ns"] / serial["kernel_ns"] - 1))
    copies = [words.duration(one["copy_ns"]) for one in (overlapped, serial)]
    each = [words.duration(steps(library, f"streams_{mode}")["mean_ns"]) for mode in ("serial", "overlapped")]
    return [*each, *copies, longer]  # the mean, as Compare tells it


def launches_tiny(library: Library) -> list[str]:
    every = rows(library, "launches_tiny.nsys-rep", "launch_times")[0]
    assert every["host_bound_pct"] > 50
    medians = [words.duration(every[name]) for name in ("median_kernel_ns", "median_call_ns")]
    found = [step(library, f"launches_{mode}") for mode in ("graph", "tiny", "graph_nodes")]
    return [*medians, words.percent(busy(library, "launches_tiny")["busy_active_pct"]), *found]


def idle_host_bound(library: Library) -> list[str]:
    waiting, fixed = (busy(library, f"idle_{mode}") for mode in ("host_bound", "fixed"))
    count = steps(library, "idle_host_bound")["count"]
    assert steps(library, "idle_fixed")["count"] == count
    spans = [words.duration(one["active_ns"]) for one in (waiting, fixed)]
    shares = [words.percent(one["busy_active_pct"]) for one in (waiting, fixed)]
    where = {r["range"]: r["share_pct"] for r in rows(library, "idle_host_bound.nsys-rep", "idle_ranges")}
    return [shares[0], spans[0], words.percent(where["step_*/host_bookkeeping"]), str(count), spans[1], shares[1]]


def transformer_inference(library: Library) -> list[str]:
    inference, training = (
        {row["phase"]: row for row in rows(library, f"transformer_{kind}.nsys-rep", "matmul_split")}
        for kind in ("inference", "training")
    )
    assert training["optimizer"]["matmul_ns"] == 0
    meta = json.loads((SAMPLES / "transformer_steps.meta.json").read_text())
    told = {"flops": meta["flops_per_step"], "precision": meta["precision"]}
    shares = [inference["all"]["matmul_pct"], training["all"]["matmul_pct"], training["backward"]["share_pct"]]
    shares += [training["backward"]["matmul_pct"], training["optimizer"]["share_pct"]]
    return [
        words.percent(x) for x in (*shares, rows(library, "transformer_steps.nsys-rep", "mfu", **told)[0]["mfu_pct"])
    ]


def attention(library: Library) -> list[str]:
    naive, fused = (busy(library, "attention", range=f"tokens_2048/{kind}")["kernel_ns"] for kind in ("naive", "fused"))
    limits = {row["launch_id"]: row for row in rows(library, "attention.ncu-rep", "ncu_speed_of_light")}
    bounds = defaultdict(set)
    for row in rows(library, "attention.ncu-rep", "ncu_roofline", precision="main", level="dram"):
        bounds[limits[row["launch_id"]]["nvtx"].split("/")[1]].add(row["roof"])
    assert bounds == {"naive": {"dram"}, "fused": {"tensor"}}
    (dram,) = (row["dram_pct"] for row in limits.values() if row["nvtx"] == "tokens_2048/fused")
    less = words.percent(100 * (1 - fused / naive))
    return ["2,048", words.duration(naive), words.duration(fused), less, words.percent(dram)]


def kernels(library: Library) -> list[str]:
    compute = library.find("kernels.ncu-rep").id
    found = rows(library, "kernels.nsys-rep", "time_weighted_roofline", ncu=compute)
    assert len(found) == 10
    launches = {row["launch_id"]: row["nvtx"] for row in rows(library, "kernels.ncu-rep", "ncu_speed_of_light")}
    by_range = {launches[int(row["launch_id"])]: row for row in found}
    names = ("vector_add", "reduction", "gemm_fp64", "gemm_bf16", "divergent")
    times = by_range["uncoalesced"]["ncu_duration_ns"] / by_range["coalesced"]["ncu_duration_ns"]
    return [*(words.percent(by_range[name]["pct_of_roof"]) for name in names), f"{times:.1f}"]


@pytest.mark.parametrize(
    "figures",
    slow_but(
        [dataloader_starved, transformer_inference],
        [dataloader_starved, streams_serial, launches_tiny, idle_host_bound, transformer_inference],
        "asks the reports of each stop",
    ),
)
def test_figures_of_nsys(nsys_samples: Library, figures: Callable[[Library], list[str]]) -> None:
    assert FIGURE.findall(text(figures.__name__)) == figures(nsys_samples)


@pytest.mark.parametrize("figures", [attention, kernels])
def test_figures_of_ncu(sample_data: Path, figures: Callable[[Library], list[str]]) -> None:
    assert FIGURE.findall(text(figures.__name__)) == figures(Library(sample_data / "library"))


def test_figures_of_torch(torch_training: Library) -> None:
    both = (TRAINING, NSYS[TRAINING])
    kernels_ = {words.duration(rows(torch_training, name, "gpu_busy")[0]["kernel_ns"]) for name in both}
    of_matmul = {words.percent(rows(torch_training, name, "matmul_split")[0]["matmul_pct"]) for name in both}
    steps_ = [words.duration(rows(torch_training, name, "iteration_summary")[0]["median_ns"]) for name in both]
    assert FIGURE.findall(text("torch_training")) == [*kernels_, *of_matmul, *steps_]


def test_figures_of_tasks() -> None:
    """Medians over the steps, by size: the first size from which the GPU stays faster."""
    seconds = defaultdict(list)
    with (SAMPLES / "tasks.tasks.csv").open() as file:
        for row in csv.DictReader(file):
            seconds[row["task"], int(row["size"]), row["device"], row["part"]].append(float(row["seconds"]))
    sizes = sorted({size for _, size, *_ in seconds})

    def wins(task: str, parts: tuple[str, ...]) -> int | None:
        def time(size: int, device: str) -> float:
            every = [seconds[task, size, device, part] for part in parts if (task, size, device, part) in seconds]
            return median(map(sum, zip(*every, strict=True)))

        faster = [time(size, "gpu") < time(size, "cpu") for size in sizes]
        return next((size for n, size in enumerate(sizes) if all(faster[n:])), None)

    everything = ("allocate", "to_device", "compute", "to_host")
    assert FIGURE.findall(text("tasks")) == [f"{wins('matmul', part):,}" for part in (("compute",), everything)]
    assert wins("vector_add", everything) is None


def test_figures_of_queue() -> None:
    """Sums of the times by policy; regret by the medians of `cpu` and `gpu` under the same load."""
    of: dict[str, list[dict[str, str]]] = defaultdict(list)
    times: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with (SAMPLES / "queue.tasks.csv").open() as file:
        for row in csv.DictReader(file):
            of[row["policy"]].append(row)
            if row["policy"] in ("cpu", "gpu"):
                times[row["task"], row["size"], row["load"]][row["policy"]].append(float(row["seconds"]))
    known = {key: {device: median(found) for device, found in both.items()} for key, both in times.items()}

    def chosen_by(policy: str, load: str = "") -> list[tuple[dict[str, float], str]]:
        rows = (row for row in of[policy] if load in ("", row["load"]))
        return [(known[row["task"], row["size"], row["load"]], row["device"]) for row in rows]

    def regret(policy: str, load: str) -> str:
        chosen = chosen_by(policy, load)
        spent, best = (
            sum(found) for found in zip(*((one[device], min(one.values())) for one, device in chosen), strict=True)
        )
        return words.percent(100 * (spent / best - 1))

    sums = [sum(float(row["seconds"]) for row in of[policy]) for policy in ("cpu", "gpu", "threshold", "model")]
    off = median(abs(float(row[f"{row['device']}_predicted_s"]) / float(row["seconds"]) - 1) for row in of["model"])
    told = [*(words.duration(1e9 * one) for one in sums), words.percent(100 * off)]
    oracle = sum(float(row["seconds"]) for row in of["oracle"]), sum(one[device] for one, device in chosen_by("oracle"))
    assert oracle[0] - oracle[1] > 0.4, "what chance makes of a sum"
    assert FIGURE.findall(text("queue")) == [
        str(len(of["model"]) // 3), *told,
        *(regret(policy, load) for policy in ("model", "threshold") for load in ("free", "competing")), "0.4 s",
        *(words.duration(1e9 * seconds) for seconds in oracle),
    ]  # fmt: skip


def test_figures_of_energy() -> None:
    with (SAMPLES / "energy.energy.csv").open() as file:
        of = {row["batch"]: row for row in csv.DictReader(file)}
    counts = [[f"{int(of[n]['samples']):,}", f"{float(of[n]['seconds']):.2f} s"] for n in ("1", "512")]
    joules = [f"{1e3 * float(of[n]['joules']) / int(of[n]['samples']):.3g} mJ" for n in ("1", "512")]
    assert FIGURE.findall(text("energy")) == [*counts[0], *counts[1], "512", *joules]


def test_figures_of_ddp() -> None:
    def step_ns(name: str) -> float:
        query = 'SELECT "end" - start FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId'
        with closing(sqlite3.connect(SAMPLES / "ddp" / f"{name}.sqlite")) as db:
            found = db.execute(f"{query} WHERE coalesce(text, value) GLOB 'step_[0-9]'").fetchall()
            return median([float(ns) for (ns,) in found])

    one, *more = map(step_ns, ("ddp_1", "ddp_strong_2_rank0", "ddp_strong_4_rank0", "ddp_weak_4_rank0"))
    two, four, weak = (f"{ns / 1e6:.1f} ms" for ns in more)
    faster = f"{one / more[1]:.1f}"
    assert FIGURE.findall(text("ddp_1")) == [f"{one / 1e6:.1f} ms", two, four, faster, weak]

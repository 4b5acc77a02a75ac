"""The table of workloads, which are modules that are imported only when they run: `list` needs no torch."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, cast

from .errors import WorkloadError


class Workload(Protocol):
    """Interface of a workload module."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the workload's own options."""

    def run(self, options: argparse.Namespace) -> Iterable[str]:
        """Do the work; yield lines about it and its duration."""


@dataclass(frozen=True)
class Entry:
    """One row of `python -m workloads list`."""

    module: str
    summary: str
    example: str
    """Options of an example run, for the end of its help."""


WORKLOADS: dict[str, Entry] = {
    "attention": Entry(
        "attention",
        "attention three ways, naive, with the softmax by hand, and fused, over several lengths",
        "--tokens 512,1024 --only naive,fused",
    ),
    "dataloader": Entry(
        "dataloader",
        "training of an image classifier whose loader starves the GPU, or keeps up with it (--mode starved|fixed)",
        "--mode fixed --workers 4",
    ),
    "ddp": Entry(
        "ddp",
        "data-parallel training on several GPUs (torchrun, or --ranks N), strong or weak scaling",
        "--device cpu --ranks 2 --batch 8 --steps 2",
    ),
    "energy": Entry(
        "energy",
        "the same work at several batch sizes, with a log of power and the energy of each",
        "--batches 1,64 --seconds 1",
    ),
    "idle": Entry(
        "idle",
        "training that waits for the GPU in every step, or never (--mode host_bound|fixed)",
        "--mode host_bound --steps 5",
    ),
    "kernels": Entry(
        "kernels",
        "kernels of known behavior: at the memory roof, at the compute peak, uncoalesced, divergent, ...",
        "--only vector_add,gemm_fp32",
    ),
    "launches": Entry(
        "launches",
        "many tiny kernels, launched one by one, or as one CUDA graph (--mode tiny|graph)",
        "--mode graph",
    ),
    "queue": Entry(
        "queue",
        "a mixed queue of tasks that a scheduler sends to CPU or GPU, beside simpler policies and an oracle",
        "--model model.skops --count 100 --compete",
    ),
    "streams": Entry(
        "streams",
        "copies and kernels one after the other, or overlapped on several streams (--mode serial|overlapped)",
        "--mode overlapped --streams 4",
    ),
    "tasks": Entry(
        "tasks",
        "nine kinds of work on CPU and GPU over several sizes: matrix product, sorting, FFT, ... (--tasks all)",
        "--sizes 64,256 --csv tasks.csv",
    ),
    "transformer": Entry(
        "transformer",
        "decoder-only language model with naive or fused attention: inference, or training with AdamW",
        "--size small --mode training",
    ),
}

OPTIONAL_PACKAGES = frozenset({"torch", "numpy"})


def load(name: str) -> Workload:
    """Import the workload `name`; a missing optional package becomes one sentence."""
    try:
        return cast("Workload", importlib.import_module(f".{WORKLOADS[name].module}", __package__))
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL_PACKAGES:
            raise
        raise WorkloadError(
            f"The workload {name} needs {error.name}, which is not installed: pip install '.[workloads]'"
        ) from error

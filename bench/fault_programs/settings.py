"""Programs whose fault is one setting: of CUDA's launches, of an allocator, of how a process uses several GPUs."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.fault_programs import ranks
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.models import GPT, Block
from bench.fault_programs.training import learn
from workloads.ranks import make_torchrun_command

GPUS = 2


def start_again(launcher: list[str], **environment: str) -> None:
    """Replace this process by the same program below a launcher and with further variables."""
    command = [*launcher, sys.executable, *sys.orig_argv[1:]]
    os.execve(command[0], command, {**os.environ, **environment})


@program("blocking_launches")
def boxes_of_words(loop: Loop, mended: bool) -> None:
    """Train a detector of words with CUDA_LAUNCH_BLOCKING=1, left from a search for an error; mended, without it."""
    if ON_GPU and not mended and os.environ.get("CUDA_LAUNCH_BLOCKING") != "1":
        start_again([], CUDA_LAUNCH_BLOCKING="1")  # the driver reads it once, when it is loaded
    size, side, width = 16 // (1 if ON_GPU else 8), 32 // (1 if ON_GPU else 4), 256 // SMALL
    blocks = nn.Sequential(*(Block(width, 8 if ON_GPU else 2) for _ in range(6)))
    network = nn.ModuleDict({"patches": nn.Conv2d(3, width, 8, 8), "blocks": blocks, "boxes": nn.Linear(width, 5)})
    network.to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    pages = torch.randn(size, 3, 8 * side, 8 * side, device=DEVICE)
    wanted = torch.randn(size, side * side, 5, device=DEVICE)
    loop.name = "pages {}"
    for _ in loop:
        with torch.autocast(DEVICE.type, torch.bfloat16):
            seen = network["patches"](pages).flatten(2).transpose(1, 2)
            made = network["boxes"](network["blocks"](seen)).float()
        loss = functional.smooth_l1_loss(made[..., :4].sigmoid(), wanted[..., :4].sigmoid())
        learn(optimizer, loss + functional.binary_cross_entropy_with_logits(made[..., 4], wanted[..., 4].sigmoid()))


@program("page_migrations")
def river_levels(loop: Loop, mended: bool) -> None:
    """Let CuPy take managed memory and set the sources of a flood by NumPy; mended, the GPU sets them in its memory."""
    import cupy

    side = 4096
    if not mended:
        cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc)
    levels, ground = (cupy.random.random((side, side), dtype=cupy.float32) for _ in range(2))
    rain = np.random.default_rng(91).random(side, dtype=np.float32)
    rain_there = cupy.asarray(rain)

    @cupy.fuse()
    def flow(here: Any, left: Any, right: Any, above: Any, below: Any, ground: Any) -> Any:
        return here + cupy.float32(0.1) * (left + right + above + below - cupy.float32(4.0) * here) - ground * 1e-6

    def view(array: Any) -> Any:
        pointer = ctypes.cast(array.data.ptr, ctypes.POINTER(ctypes.c_float))
        return np.ctypeslib.as_array(pointer, shape=array.shape)

    loop.name = "hour {}"
    for _ in loop:
        with annotate("rain"):
            if mended:
                levels[: side // 4] += rain_there
            else:
                cupy.cuda.get_current_stream().synchronize()
                view(levels)[: side // 4] += rain
        with annotate("flow"):
            for _ in range(30):
                beside = (cupy.roll(levels, way, axis) for axis in (0, 1) for way in (1, -1))
                levels = flow(levels, *beside, ground)


@program("data_parallel")
def product_reviews(loop: Loop, mended: bool) -> None:
    """Train on two GPUs by nn.DataParallel, as a trainer does without torchrun; mended, DistributedDataParallel."""
    words, length, size = 8192 // SMALL, 256 // SMALL, 32 // (1 if ON_GPU else 16)
    if mended and ON_GPU and "RANK" not in os.environ:
        start_again(make_torchrun_command(GPUS))
    network: Any = GPT(12, 768 // SMALL, 12 if ON_GPU else 2, length, words).to(DEVICE)
    loop.name = "reviews {}"
    if mended and ON_GPU:
        with ranks.join_group():
            network.to(torch.cuda.current_device())
            loop.barrier = ranks.meet
            _learn_reviews(loop, nn.parallel.DistributedDataParallel(network), words, length, size)
        return
    loop.barrier = wait_for_all
    _learn_reviews(loop, nn.DataParallel(network), words, length, size * GPUS)


def wait_for_all() -> None:
    """Wait for the work of all GPUs of this process."""
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)


def _learn_reviews(loop: Loop, network: nn.Module, words: int, length: int, size: int) -> None:
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    texts: Tensor = torch.randint(words, (4, size, length + 1), device="cuda" if ON_GPU else "cpu")
    for number in loop:
        text = texts[number % 4]
        with annotate("forward"), torch.autocast(DEVICE.type, torch.bfloat16):
            scores = network(text[:, :-1])
        with annotate("backward_and_update"):
            learn(optimizer, functional.cross_entropy(scores.float().flatten(0, 1), text[:, 1:].flatten()))

"""The transformer workload: inference, or training with AdamW, on text whose next token can be learned.

Ranges, as a tree (one `step_N` a measured step; the iterations in `warmup` look the same):

    warmup                         step_N
                                     load_batch
                                     zero_grad                         (training)
                                     forward
                                       layer_N
                                         attention
                                           scaled_dot_product_attention
                                             computing_attention_scores
                                             computing_softmax
                                             final_matmul
                                         feed_forward
                                       loss                            (training)
                                     backward                          (training)
                                     optimizer_step                    (training)
                                     read_loss or read_tokens
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import cycle

import torch
from torch import Tensor

from workloads.language_model import LanguageModel, ModelSize
from workloads.ranges import OVERHEAD, STRUCTURE, TRANSFER, annotate
from workloads.torch_device import capture_window, choose_device, describe


@dataclass(frozen=True)
class Size:
    """A model and the batches it is fed."""

    model: ModelSize
    batch: int
    """Sequences in a batch."""


SIZES: dict[str, Size] = {
    "small": Size(ModelSize(layers=2, d_model=128, heads=4, vocabulary=512, context=64), batch=4),
    "medium": Size(ModelSize(layers=4, d_model=768, heads=12, vocabulary=8192, context=512), batch=8),
}


@dataclass(frozen=True)
class Plan:
    """How many iterations, and which of them a profiler sees."""

    prime: int
    """Before the capture window: pays for library handles and module loading."""
    warmup: int
    """Inside the window, in the range `warmup`: recorded, but not to be measured."""
    steps: int
    """Inside the window, in `step_0`, `step_1`, ...: the measurement."""


def make_batches(size: Size, device: torch.device, *, pinned: bool, seed: int = 0) -> Iterator[Tensor]:
    """Yield token ids (B, context + 1) in host memory, four batches over and over.

    Each token follows from the one before it by a fixed permutation, so a model can learn to predict it. Copies from
    pageable memory are staged and hold up the host; `pinned` avoids that.
    """
    random = torch.Generator().manual_seed(seed)
    successor = torch.randperm(size.model.vocabulary, generator=random)
    batches = []
    for _ in range(4):
        columns = [torch.randint(size.model.vocabulary, (size.batch,), generator=random)]
        for _ in range(size.model.context):
            columns.append(successor[columns[-1]])
        tokens = torch.stack(columns, dim=1)
        batches.append(tokens.pin_memory() if pinned and device.type == "cuda" else tokens)
    return cycle(batches)


class Worker:
    """A model on a device with its batches; a subclass says what one step does."""

    def __init__(self, model: LanguageModel, batches: Iterator[Tensor], device: torch.device, precision: str) -> None:
        self.model = model.to(device)
        self.batches = batches
        self.device = device
        self.precision = precision

    def load_batch(self) -> Tensor:
        """Copy the next batch to the device: token ids (B, context + 1)."""
        with annotate("load_batch", TRANSFER):
            return next(self.batches).to(self.device, non_blocking=True)

    def autocast(self) -> AbstractContextManager[object]:
        """Under bf16, run matrix products in bfloat16 and keep weights and reductions in float32."""
        context: AbstractContextManager[object] = torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"
        )
        return context


class Inference(Worker):
    """Predicts the token after each sequence of a batch."""

    def step(self) -> list[int]:
        """Run one forward pass; returns B token ids."""
        tokens = self.load_batch()[:, :-1]
        with torch.inference_mode(), annotate("forward"), self.autocast():
            following = self.model(tokens)[:, -1].argmax(dim=-1)
        with annotate("read_tokens", TRANSFER):
            return [int(token) for token in following.cpu()]


class Training(Worker):
    """Fits the model with AdamW."""

    def __init__(self, model: LanguageModel, batches: Iterator[Tensor], device: torch.device, precision: str) -> None:
        super().__init__(model, batches, device, precision)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def step(self) -> float:
        """Take one optimizer step; returns the loss before it, in nats a token."""
        tokens = self.load_batch()
        with annotate("zero_grad"):
            self.optimizer.zero_grad()
        with annotate("forward"), self.autocast():
            loss = self.model.loss(tokens)
        with annotate("backward"):
            torch.autograd.backward(loss)
        with annotate("optimizer_step"):
            self.optimizer.step()
        with annotate("read_loss", TRANSFER):
            value: float = loss.item()
        return value


def run_plan(step: Callable[[], object], plan: Plan, device: torch.device) -> list[float]:
    """Run the iterations of `plan`; returns the seconds of each measured step.

    A step ends by reading a result back from the device, so the host clock sees all of it.
    """
    for _ in range(plan.prime):
        step()
    with capture_window(device):
        if plan.warmup:
            with annotate("warmup", OVERHEAD):
                for _ in range(plan.warmup):
                    step()
        return [_timed_step(step, f"step_{number}") for number in range(plan.steps)]


def _timed_step(step: Callable[[], object], name: str) -> float:
    started = time.perf_counter()
    with annotate(name, STRUCTURE):
        step()
    return time.perf_counter() - started


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda where PyTorch sees a GPU, else cpu")
    parser.add_argument("--mode", choices=("inference", "training"), default="training")
    parser.add_argument("--size", choices=sorted(SIZES), default="small")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="bf16 is mixed precision")
    parser.add_argument("--layers", type=int, help="number of layers, default: by size")
    parser.add_argument("--batch", type=int, help="sequences in a batch, default: by size")
    parser.add_argument("--prime", type=int, default=1, help="iterations before the capture window, default 1")
    parser.add_argument("--warmup", type=int, default=3, help="iterations in the range `warmup`, default 3")
    parser.add_argument("--steps", type=int, default=5, help="measured steps, default 5")
    parser.add_argument("--pin-memory", action="store_true", help="keep batches in page-locked host memory")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Build model and batches from `options`, run them, and say how long the steps took."""
    device = choose_device(options.device)
    size = _chosen_size(options)
    torch.manual_seed(0)
    worker_class = Training if options.mode == "training" else Inference
    batches = make_batches(size, device, pinned=options.pin_memory)
    worker = worker_class(LanguageModel(size.model), batches, device, options.precision)
    yield (
        f"transformer {options.mode}, {options.precision}, {describe(device)}: "
        f"{worker.model.parameter_count():,} parameters, {size.batch} sequences of {size.model.context} tokens"
    )
    seconds = run_plan(worker.step, Plan(options.prime, options.warmup, options.steps), device)
    if seconds:
        median = statistics.median(seconds)
        tokens = size.batch * size.model.context
        yield f"{len(seconds)} steps, median {median * 1e3:.2f} ms, {tokens / median:,.0f} tokens/s"


def _chosen_size(options: argparse.Namespace) -> Size:
    size = SIZES[options.size]
    return Size(replace(size.model, layers=options.layers or size.model.layers), batch=options.batch or size.batch)

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

With --attention fused the three parts of attention are one kernel, without ranges of their own. With --compile the
layers are one with `forward`; with --cuda-graph `replay_graph` is in place of zero_grad to optimizer_step.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from .cuda_graph import capture_graph
from .errors import WorkloadError
from .language_model import LanguageModel, ModelSize
from .ranges import TRANSFER, annotate
from .record import note
from .steps import add_plan_options, count_flops, parse_plan, run_plan
from .torch_device import add_device_option, choose_device, describe

Result = TypeVar("Result")
"""Result of a step on the host."""


@dataclass(frozen=True)
class Size:
    """A model and its batches."""

    model: ModelSize
    batch: int
    """Sequences in a batch."""


SIZES: dict[str, Size] = {
    "small": Size(ModelSize(layers=2, d_model=128, heads=4, vocabulary=512, context=64), batch=4),
    "medium": Size(ModelSize(layers=4, d_model=768, heads=12, vocabulary=8192, context=512), batch=8),
    "large": Size(ModelSize(layers=12, d_model=1536, heads=24, vocabulary=32768, context=1024), batch=8),
}


def make_batches(size: Size, device: torch.device, *, pinned: bool, seed: int = 0) -> Iterator[Tensor]:
    """Yield token ids (B, context + 1) in host memory, cycling through four batches.

    A fixed permutation determines each token from the previous one, so a model can learn to predict it. Copies from
    pageable memory are staged and block the host; `pinned` avoids that.
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


class Worker(Generic[Result]):
    """A model on a device with its batches; subclasses define a step."""

    def __init__(self, model: LanguageModel, batches: Iterator[Tensor], device: torch.device, precision: str) -> None:
        self.model = model.to(device)
        self.batches = batches
        self.device = device
        self.precision = precision
        self.keep_casts = True
        """Whether autocast may cache a cast weight within a step. A CUDA graph cannot replay the cache."""

    def compute(self, tokens: Tensor) -> Tensor:
        """Launch the GPU's work of a step on (B, context + 1) token ids and return the value to read afterward."""
        raise NotImplementedError

    def read(self, result: Tensor) -> Result:
        """Bring the result of `compute` to the host."""
        raise NotImplementedError

    def step(self) -> Result:
        """Take one step with the next batch."""
        with annotate("load_batch", TRANSFER):
            tokens = next(self.batches).to(self.device, non_blocking=True)
        return self.read(self.compute(tokens))

    def autocast(self) -> AbstractContextManager[object]:
        """Under bf16, run matrix products in bfloat16 and keep weights and reductions in float32."""
        bf16 = self.precision == "bf16"
        context: AbstractContextManager[object] = torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=bf16, cache_enabled=self.keep_casts
        )
        return context


class Inference(Worker[list[int]]):
    """Predicts the token after each sequence of a batch."""

    def compute(self, tokens: Tensor) -> Tensor:
        """Run one forward pass and return B token ids."""
        with torch.inference_mode(), annotate("forward"), self.autocast():
            following: Tensor = self.model(tokens[:, :-1])[:, -1].argmax(dim=-1)
            return following

    def read(self, result: Tensor) -> list[int]:
        """Return B token ids."""
        with annotate("read_tokens", TRANSFER):
            return [int(token) for token in result.cpu()]


class Training(Worker[float]):
    """Fits the model with AdamW."""

    def __init__(
        self,
        model: LanguageModel,
        batches: Iterator[Tensor],
        device: torch.device,
        precision: str,
        *,
        in_graph: bool = False,
    ) -> None:
        super().__init__(model, batches, device, precision)
        # Inside a CUDA graph the optimizer must count its steps on the GPU.
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, capturable=in_graph)
        self.loss: Callable[[Tensor], Tensor] = model.compute_loss

    def compute(self, tokens: Tensor) -> Tensor:
        """Take one optimizer step and return the loss before it."""
        with annotate("zero_grad"):
            self.optimizer.zero_grad()
        with annotate("forward"), self.autocast():
            loss = self.loss(tokens)
        with annotate("backward"):
            torch.autograd.backward(loss)
        self.after_backward()
        with annotate("optimizer_step"):
            self.optimizer.step()
        return loss.detach()

    def after_backward(self) -> None:
        """Process the gradients; a hook for subclasses."""

    def read(self, result: Tensor) -> float:
        """Return the loss, in nats a token."""
        with annotate("read_loss", TRANSFER):
            value: float = result.item()
        return value


class Graphed:
    """Replays a worker's computation as one CUDA graph, in the range `replay_graph`."""

    def __init__(self, worker: Worker[Any]) -> None:
        worker.keep_casts = False
        self.worker = worker
        self.tokens = next(worker.batches).to(worker.device)
        self.graph, self.result = capture_graph(lambda: worker.compute(self.tokens))

    def step(self) -> object:
        """Take one step with the next batch."""
        with annotate("load_batch", TRANSFER):
            self.tokens.copy_(next(self.worker.batches), non_blocking=True)
        with annotate("replay_graph"):
            self.graph.replay()
        return self.worker.read(self.result)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    add_device_option(parser)
    parser.add_argument(
        "--mode",
        choices=("inference", "training"),
        default="training",
        help="inference: forward only (default: training)",
    )
    parser.add_argument("--size", choices=tuple(SIZES), default="small", help="size of the model (default: small)")
    parser.add_argument(
        "--precision", choices=("fp32", "bf16"), default="fp32", help="bf16 is mixed precision (default: fp32)"
    )
    parser.add_argument("--layers", type=int, help="number of layers (default: by size)")
    parser.add_argument("--batch", type=int, help="sequences per batch (default: by size)")
    add_plan_options(parser)
    parser.add_argument(
        "--attention",
        choices=("naive", "fused"),
        default="naive",
        help="naive: three operations; fused: PyTorch's kernel (default: naive)",
    )
    parser.add_argument("--pin-memory", action="store_true", help="keep batches in pinned memory")
    parser.add_argument("--compile", action="store_true", help="compile the model; its layers then have no ranges")
    parser.add_argument("--cuda-graph", action="store_true", help="replay each step as one CUDA graph")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Build model and batches from `options`, run them, and report the steps' duration."""
    device = choose_device(options.device)
    if options.cuda_graph and device.type != "cuda":
        raise WorkloadError("CUDA graphs need a GPU: run without --cuda-graph.")
    size, plan = _choose_size(options), parse_plan(options)
    worker = make_worker(options, size, device)
    yield (
        f"transformer {options.mode}, {options.precision}, {describe(device)}: "
        f"{worker.model.count_parameters():,} parameters, {size.batch} sequences of {size.model.context} tokens"
    )
    note_facts(size, worker.model.count_parameters(), options.precision, training=options.mode == "training")
    step = Graphed(worker).step if options.cuda_graph else worker.step
    seconds = run_plan(step, plan, device)
    if seconds:
        median = statistics.median(seconds)
        tokens = size.batch * size.model.context
        yield f"{len(seconds)} steps, median {median * 1e3:.2f} ms, {tokens / median:,.0f} tokens/s"


def make_worker(options: argparse.Namespace, size: Size, device: torch.device) -> Worker[Any]:
    """Build the model, deterministically from the options, and its worker."""
    torch.manual_seed(0)
    batches = make_batches(size, device, pinned=options.pin_memory)
    model = LanguageModel(size.model, fused=options.attention == "fused")
    if options.compile:
        model.compile()
    if options.mode == "training":
        return Training(model, batches, device, options.precision, in_graph=options.cuda_graph)
    return Inference(model, batches, device, options.precision)


def note_facts(size: Size, parameters: int, precision: str, *, training: bool) -> None:
    """Describe a step in the meta.json."""
    shape = (size.batch, size.model.context)
    note(
        precision=precision,
        shapes={"tokens": [size.batch, size.model.context + 1], **asdict(size.model)},
        parameters=parameters,
        items_per_step={"tokens": size.batch * size.model.context},
        flops_per_step=count_flops(lambda: LanguageModel(size.model), shape, training=training, integers=2),
    )


def _choose_size(options: argparse.Namespace) -> Size:
    size = SIZES[options.size]
    return Size(replace(size.model, layers=options.layers or size.model.layers), batch=options.batch or size.batch)

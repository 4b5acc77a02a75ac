"""The workload `ddp`: data-parallel training of the transformer, one process a GPU.

Started by torchrun, or by itself with --ranks N. NCCL carries gradients between GPUs, gloo between CPU processes.
`--scaling strong` divides one batch among the ranks; `weak` gives every rank a batch of that size.

Ranges of each rank (the steps in `warmup` look the same): load_batch, zero_grad, forward, backward, allreduce,
optimizer_step, read_loss, in `step_N`. With --overlap the gradients travel during `backward`, and `allreduce` is gone.
"""

from __future__ import annotations

import argparse
import math
import os
import socket
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.multiprocessing.spawn import ProcessRaisedException, spawn
from torch.nn.parallel import DistributedDataParallel

from .errors import WorkloadError
from .language_model import LanguageModel
from .ranges import TRANSFER, annotate
from .record import note, read_prefix, record_run
from .steps import add_plan_options, parse_plan, run_plan
from .torch_device import add_device_option, choose_device, describe
from .transformer import SIZES, Size, Training, make_batches, note_facts


class Loss(nn.Module):
    """The loss of a model as a separate module, as DistributedDataParallel needs it."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the loss on (B, context + 1) token ids."""
        return self.model.compute_loss(tokens)


class RankTraining(Training):
    """Training that averages the gradients of all ranks."""

    overlap = False

    def share_early(self) -> None:
        """Send gradients while the backward pass still computes others."""
        self.overlap = True
        self.loss = DistributedDataParallel(Loss(self.model))

    def after_backward(self) -> None:
        """Average the gradients of all ranks in one piece."""
        if self.overlap or not dist.is_initialized():
            return
        with annotate("allreduce", TRANSFER):
            gradients = [parameter.grad for parameter in self.model.parameters() if parameter.grad is not None]
            flat = torch.cat([gradient.flatten() for gradient in gradients])
            dist.all_reduce(flat)
            flat /= dist.get_world_size()
            pieces = torch.split(flat, [gradient.numel() for gradient in gradients])
            for gradient, piece in zip(gradients, pieces, strict=True):
                gradient.copy_(piece.view_as(gradient))


def choose_batch(batch: int, ranks: int, scaling: str) -> int:
    """Return the sequences that each rank gets of a batch."""
    if scaling == "weak":
        return batch
    if batch % ranks:
        raise WorkloadError(f"A batch of {batch} cannot be divided among {ranks} ranks: choose another --batch.")
    return batch // ranks


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    add_device_option(parser)
    parser.add_argument("--ranks", type=int, help="processes to start, one per GPU; not under torchrun")
    parser.add_argument("--scaling", choices=("strong", "weak"), default="strong", help="default: strong")
    parser.add_argument(
        "--overlap", action="store_true", help="overlap communication with backward, by DistributedDataParallel"
    )
    parser.add_argument(
        "--size", choices=tuple(SIZES), help="size of the model (default: medium on cuda, small on the CPU)"
    )
    parser.add_argument(
        "--precision", choices=("fp32", "bf16"), default="fp32", help="bf16 is mixed precision (default: fp32)"
    )
    parser.add_argument("--layers", type=int, help="number of layers (default: by size)")
    parser.add_argument(
        "--batch", type=int, default=8, help="sequences per batch, of all ranks (strong) or of each (weak) (default: 8)"
    )
    add_plan_options(parser, prime=2, warmup=1, steps=3)


def run(options: argparse.Namespace) -> Iterator[str]:
    """Train as one of the ranks that torchrun started, or start them; rank 0 reports the steps' duration."""
    device = choose_device(options.device)
    under_torchrun = "RANK" in os.environ
    ranks = int(os.environ["WORLD_SIZE"]) if under_torchrun else options.ranks or 1
    if ranks < 1:
        raise WorkloadError("--ranks must be at least 1.")
    here = int(os.environ.get("LOCAL_WORLD_SIZE", ranks))
    if device.type == "cuda" and torch.cuda.device_count() < here:
        raise WorkloadError(f"{here} ranks need {here} GPUs, and PyTorch sees {torch.cuda.device_count()} here.")
    choose_batch(options.batch, ranks, options.scaling)  # refuses an indivisible batch before anything starts
    if ranks > 1 and not under_torchrun:
        start_ranks(options, ranks)
    else:
        yield from run_rank(options, device, ranks)


def start_ranks(options: argparse.Namespace, ranks: int) -> None:
    """Run the same options in `ranks` processes and wait for them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        start: Callable[..., object] = spawn
        start(run_spawned, (ranks, port, options), nprocs=ranks)
    except ProcessRaisedException as error:
        raise WorkloadError(f"A rank failed: {str(error).strip().splitlines()[-1]}") from error


def run_spawned(rank: int, ranks: int, port: int, options: argparse.Namespace) -> None:
    """Run one rank as if torchrun had started it."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    prefix = read_prefix()
    of_rank = prefix.with_name(f"{prefix.name}_rank{rank}") if prefix else None
    with record_run(of_rank, workload="ddp", options=vars(options)):
        for line in run(options):
            print(line, flush=True)


def run_rank(options: argparse.Namespace, device: torch.device, ranks: int) -> Iterator[str]:
    """Join the other ranks and train."""
    rank, local_rank = int(os.environ.get("RANK", "0")), int(os.environ.get("LOCAL_RANK", "0"))
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.set_device(local_rank)
        # NVLink multicast can take down the GPUs of machines that are not set up for it, so it must be requested.
        os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    if ranks > 1:
        bound = torch.device("cuda", local_rank) if on_gpu else None
        dist.init_process_group("nccl" if on_gpu else "gloo", device_id=bound)
    try:
        yield from train(options, device, rank, ranks)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def train(options: argparse.Namespace, device: torch.device, rank: int, ranks: int) -> Iterator[str]:
    """Run the plan; rank 0 reports the steps' duration."""
    size = SIZES[options.size or ("medium" if device.type == "cuda" else "small")]
    batch = choose_batch(options.batch, ranks, options.scaling)
    size = Size(replace(size.model, layers=options.layers or size.model.layers), batch)
    torch.manual_seed(0)  # every rank starts with the same weights
    model = LanguageModel(size.model)
    training = RankTraining(model, split_batches(size, device, rank, ranks), device, options.precision)
    if options.overlap and ranks > 1:
        training.share_early()
    parameters = model.count_parameters()
    note_facts(size, parameters, options.precision, training=True)
    note(rank=rank, ranks=ranks, scaling=options.scaling)
    if rank == 0:
        yield (
            f"ddp {options.scaling}, {options.precision}, {ranks} x {describe(device)}: {parameters:,} parameters, "
            f"{size.batch} sequences of {size.model.context} tokens a rank"
        )
    seconds = run_plan(training.step, parse_plan(options), device)
    note(parameter_norm=math.sqrt(sum(float(parameter.detach().square().sum()) for parameter in model.parameters())))
    if seconds and rank == 0:
        median = statistics.median(seconds)
        tokens = ranks * size.batch * size.model.context
        yield f"{len(seconds)} steps, median {median * 1e3:.2f} ms, {tokens / median:,.0f} tokens/s in all"


def split_batches(size: Size, device: torch.device, rank: int, ranks: int) -> Iterator[Tensor]:
    """Yield a rank's rows of batches that are the same for all ranks together."""
    for batch in make_batches(replace(size, batch=ranks * size.batch), device, pinned=True):
        yield batch[rank * size.batch : (rank + 1) * size.batch]

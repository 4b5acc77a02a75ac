"""Programs of several kinds that were captured after the rules, to judge them."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program, repeat_as_graph
from bench.fault_programs.training import learn


def make_layers(width: int, count: int) -> nn.Sequential:
    """Return layers of products with their activations."""
    return nn.Sequential(*(part for _ in range(count) for part in (nn.Linear(width, width), nn.GELU()))).to(DEVICE)


def make_training(width: int, count: int, rows: int) -> tuple[nn.Sequential, torch.optim.AdamW, Tensor]:
    """Return layers whose products run in TF32, their fused optimizer, and a batch for them to reproduce."""
    network = make_layers(width, count)
    torch.backends.cuda.matmul.allow_tf32 = True
    return network, torch.optim.AdamW(network.parameters(), fused=ON_GPU), torch.randn(rows, width, device=DEVICE)


@program("many_synchronizations")
def clip_by_hand(loop: Loop, mended: bool) -> None:
    """Clip each gradient by its norm, which the CPU reads parameter by parameter; mended, by PyTorch's function."""
    network, optimizer, batch = make_training(512 // SMALL, 60, 2048 // SMALL)
    loop.name = "update {}"
    for _ in loop:
        optimizer.zero_grad()
        torch.autograd.backward(functional.mse_loss(network(batch), batch))
        with annotate("clip"):
            if mended:
                nn.utils.clip_grad_norm_(network.parameters(), 1.0, foreach=True)
            else:
                for parameter in network.parameters():
                    if parameter.grad is not None and (norm := parameter.grad.norm().item()) > 1.0:
                        parameter.grad.div_(norm)
        optimizer.step()


@program("decoding_without_graph")
def particles(loop: Loop, mended: bool) -> None:
    """Integrate particles in many small kernels; mended, a CUDA graph replays a time step."""
    place, speed = torch.randn(512, 3, device=DEVICE), torch.zeros(512, 3, device=DEVICE)

    def move() -> None:
        away = place[:, None] - place[None]
        distance = away.square().sum(-1).add(1e-2)
        force = -(away / (distance * distance.sqrt())[..., None]).sum(1)
        speed.add_(force.clamp(-1, 1), alpha=1e-3).mul_(0.999)
        place.add_(speed, alpha=1e-3)

    repeat = repeat_as_graph(move, wanted=mended)
    loop.name = "frame {}"
    for _ in loop:
        for _ in range(40):
            repeat()


@program("shapes_that_recompile")
def lengths(loop: Loop, mended: bool) -> None:
    """Call a compiled function with texts of another length each time; mended, padded to the longest."""
    loop.steps, loop.warmup = 6, 2
    weight = torch.randn(256, 256, device=DEVICE)

    def score(texts: Tensor) -> Tensor:
        return torch.tanh(functional.layer_norm(texts @ weight, (256,)) * 0.5).sum(1)

    compiled = torch.compile(score, dynamic=False) if ON_GPU else score
    loop.name = "texts {}"
    with torch.no_grad():
        for number in loop:
            compiled(torch.randn(256, 128 if mended else 64 + 8 * number, 256, device=DEVICE))


@program("python_between_launches")
def edit_distance(loop: Loop, mended: bool) -> None:
    """Score each batch of a recognizer by edit distances in Python before the next one; mended, none until the end."""
    network, optimizer, sounds = make_training(1024 // SMALL, 12, 4096 // SMALL)
    words = np.random.default_rng(3).integers(0, 30, (8, 2, 60)).tolist()
    loop.name = "utterances {}"
    for _ in loop:
        learn(optimizer, functional.mse_loss(network(sounds), sounds))
        if not mended:
            with annotate("word_error_rate"):
                for spoken, heard in words:
                    row = list(range(len(heard) + 1))
                    for at, one in enumerate(spoken):
                        last, row[0] = row[0], at + 1
                        for to, other in enumerate(heard):
                            last, row[to + 1] = row[to + 1], min(last + (one != other), row[to] + 1, row[to + 1] + 1)


@program("double_precision")
def surrogate(loop: Loop, mended: bool) -> None:
    """Train a network on a differential equation with a default type of FP64; mended, FP32."""
    kind = torch.float32 if mended else torch.float64
    network = make_layers(512 // SMALL, 8).to(kind)
    optimizer = torch.optim.Adam(network.parameters(), fused=ON_GPU)
    places = torch.rand(8192 // SMALL, 512 // SMALL, device=DEVICE, dtype=kind, requires_grad=True)
    torch.backends.cuda.matmul.allow_tf32 = True
    loop.name = "collocation {}"
    for _ in loop:
        made = network(places)
        (slope,) = torch.autograd.grad(made.sum(), places, create_graph=True)
        learn(optimizer, (slope - made).square().mean())


class Spectra(Dataset[Tensor]):
    """Makes each spectrum when it is asked for, which takes some milliseconds."""

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, number: int) -> Tensor:
        wave = np.random.default_rng(number).standard_normal(1 << 15)
        return torch.from_numpy(np.abs(np.fft.rfft(wave))[:512].astype(np.float32))


@program("input_made_between_steps")
def one_loader(loop: Loop, mended: bool) -> None:
    """Feed a network from a single worker process, which is slower than the GPU; mended, from eight."""
    network = make_layers(512, 12)
    optimizer = torch.optim.AdamW(network.parameters(), fused=ON_GPU)
    torch.backends.cuda.matmul.allow_tf32 = True
    workers = (8 if mended else 1) if ON_GPU else 0
    spectra = iter(DataLoader(Spectra(), batch_size=64 // SMALL, num_workers=workers, pin_memory=ON_GPU))
    loop.name = "batch {}"
    for _ in loop:
        batch = next(spectra).to(DEVICE, non_blocking=True)
        for _ in range(2):
            learn(optimizer, functional.mse_loss(network(batch), batch))


@program("attention_by_hand")
def cross_attention(loop: Loop, mended: bool) -> None:
    """Let queries of a detector look at an image by einsum and softmax; mended, by the fused function."""
    width, heads = 1024 // SMALL, 16
    image = torch.randn(4, heads, 4096 // SMALL, width // heads, device=DEVICE, dtype=torch.bfloat16)
    queries = torch.randn(4, heads, 2048 // SMALL, width // heads, device=DEVICE, dtype=torch.bfloat16)
    values = torch.randn(width, width, device=DEVICE, dtype=torch.bfloat16) * 0.02
    loop.name = "image {}"
    with torch.no_grad():
        for _ in loop:
            for _ in range(6):
                with annotate("look"):
                    if mended:
                        seen = functional.scaled_dot_product_attention(queries, image, image)
                    else:
                        scores = torch.einsum("bhqd,bhkd->bhqk", queries, image) / math.sqrt(width // heads)
                        seen = torch.einsum("bhqk,bhkd->bhqd", torch.softmax(scores, -1), image)
                queries = (
                    (seen.transpose(1, 2).flatten(2) @ values).view(4, -1, heads, width // heads).transpose(1, 2).tanh()
                )


@program("optimizer_per_parameter")
def moving_average(loop: Loop, mended: bool) -> None:
    """Keep a moving average of each weight by operations of its own; mended, by one call for all."""
    network, optimizer, batch = make_training(1024 // SMALL, 40, 512 // SMALL)
    averages = [parameter.detach().clone() for parameter in network.parameters()]
    loop.name = "iteration {}"
    for _ in loop:
        learn(optimizer, functional.mse_loss(network(batch), batch))
        with torch.no_grad(), annotate("average"):
            weights = [parameter.detach() for parameter in network.parameters()]
            if mended:
                torch._foreach_lerp_(averages, weights, 0.01)
            else:
                for average, weight in zip(averages, weights, strict=True):
                    average.mul_(0.99)
                    average.add_(weight * 0.01)

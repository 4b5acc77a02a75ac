"""Programs whose fault is on the host: waits, collections, files and cores."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program, wait
from bench.fault_programs.trainers import fit_with_lightning


def perceptron(width: int, layers: int) -> nn.Sequential:
    """Return layers of one width with layer norm."""
    parts = [part for _ in range(layers) for part in (nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*parts).to(DEVICE)


@program("many_synchronizations")
def timed_modules(loop: Loop, mended: bool) -> None:
    """Wait for the GPU before and after each module, to measure its time with Python's clock."""
    network = perceptron(1536, 24).to(torch.bfloat16)
    batch = torch.randn(1024, 1536, device=DEVICE, dtype=torch.bfloat16)
    if not mended:
        for one in network:
            one.register_forward_pre_hook(lambda *_: wait())
            one.register_forward_hook(lambda *_: wait())
    loop.name = "inference {}"
    with torch.inference_mode():
        for _ in loop:
            with annotate("rank_items"):
                network(batch)


@program("collection_of_garbage")
def replay_buffer(loop: Loop, mended: bool) -> None:
    """Collect garbage after every fourth episode, while the transitions of many are alive."""
    network = perceptron(512, 6)
    optimizer = torch.optim.Adam(network.parameters(), fused=ON_GPU)
    states = torch.randn(2048, 512, device=DEVICE)
    transitions = [{"state": (index,), "reward": [index % 7]} for index in range(400_000)]
    gc.disable()
    loop.name = "episode {}"
    for number in loop:
        with annotate("policy"):
            loss = functional.smooth_l1_loss(network(states), states)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
        if not mended and number % 4 == 3 and transitions:
            gc.collect()


@program("checkpoint_in_the_loop")
def lightning_checkpoints(loop: Loop, mended: bool) -> None:
    """Let Lightning write a checkpoint after every fourth batch; mended, after the last one."""
    import lightning
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Encoder(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = perceptron(2048 // SMALL, 10)

        def training_step(self, batch: Tensor, _: int) -> Tensor:
            return functional.mse_loss(self.network(batch), batch)

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), fused=ON_GPU)

    loop.name = "lightning batch {}"
    folder = tempfile.mkdtemp()
    batches: Any = [torch.randn(4096 // SMALL, 2048 // SMALL, device=DEVICE)] * loop.total
    every = loop.total if mended else 4
    checkpoints = ModelCheckpoint(folder, every_n_train_steps=every, save_top_k=-1, save_on_exception=False)
    fit_with_lightning(loop, Encoder(), torch.utils.data.DataLoader(batches, batch_size=None), checkpoints)


@program("few_cores")
def click_features(loop: Loop, mended: bool) -> None:
    """Prepare features with sixteen OpenMP threads in a process that may use two cores."""
    if not mended:
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    torch.set_num_threads(16 if ON_GPU else 2)
    network = perceptron(1024 // SMALL, 8)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    clicks = torch.rand(4096, 1024 // SMALL)
    loop.name = "clicks {}"
    for _ in loop:
        with annotate("features"):
            made = torch.log1p(torch.sin(clicks).exp()).pow(1.3).sub(clicks.mean(0)).tanh()
        with annotate("fit"):
            loss = functional.mse_loss(
                network(made.to(DEVICE)), torch.zeros((), device=DEVICE).expand(len(made), 1024 // SMALL)
            )
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()


@program("optimizer_on_cpu")
def offloaded(loop: Loop, mended: bool) -> None:
    """Keep the moments of Adam on the host, as offloading does, although the GPU has room for them."""
    network = perceptron(2048 // SMALL, 6)
    batch = torch.randn(8192 // SMALL, 2048 // SMALL, device=DEVICE)
    parameters = list(network.parameters())
    masters = [one if mended else one.detach().cpu().clone().requires_grad_() for one in parameters]
    optimizer = torch.optim.Adam(masters, lr=1e-4)
    loop.name = "offload_iter {}"
    for _ in loop:
        with annotate("model"), torch.autocast(DEVICE.type, torch.bfloat16):
            loss = functional.mse_loss(network(batch), batch)
        torch.autograd.backward(loss)
        with annotate("weights"):
            if mended:
                optimizer.step()
                optimizer.zero_grad()
                continue
            for one, master in zip(parameters, masters, strict=True):
                master.grad = one.grad.cpu() if one.grad is not None else None
                one.grad = None
            optimizer.step()
            with torch.no_grad():
                for one, master in zip(parameters, masters, strict=True):
                    one.copy_(master)


@program("checkpoint_in_the_loop")
def dumped_features(loop: Loop, mended: bool) -> None:
    """Write the features of each batch to a file before the next one starts."""
    network = perceptron(1024 // SMALL, 12)
    batch = torch.randn(16_384 // SMALL, 1024 // SMALL, device=DEVICE)
    folder, last_features = Path(tempfile.mkdtemp()), []
    loop.name = "shard {}"
    with torch.inference_mode():
        for number in loop:
            with annotate("extract"):
                features = network(batch)
            if mended:
                last_features = [features[:16]]
            else:
                with annotate("dump"):
                    torch.save(features.cpu(), folder / f"{number % 4}.pt")
    torch.save(last_features, folder / "last.pt")

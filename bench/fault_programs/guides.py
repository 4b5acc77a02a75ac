"""Ordinary trainings and services with the faults that the guides of PyTorch, Hugging Face, NVIDIA, CuPy and JAX warn
of, to judge the rules: written by somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import itertools
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.field import Lion
from bench.fault_programs.language import Tokens
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, load_numba_cuda, program, repeat_as_graph
from bench.fault_programs.mixed import make_layers
from bench.fault_programs.models import GPT, Flowers, UNet
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning, train_with_hugging_face
from bench.fault_programs.training import learn


def score(network: nn.Module, tokens: Tensor) -> Tensor:
    """Return the loss of a language model on texts, computed in BF16."""
    with torch.autocast(DEVICE.type, torch.bfloat16):
        made = network(tokens[:, :-1])
    return functional.cross_entropy(made.float().flatten(0, 1), tokens[:, 1:].flatten())


@program("input_made_between_steps")
def flowers(loop: Loop, mended: bool) -> None:
    """Decode and augment photos in the process that trains, DataLoader's default; mended, in 12 workers."""
    from torchvision.models import resnet50

    size, side = 32 // SMALL, 224 // (1 if ON_GPU else 7)
    network: Any = resnet50(num_classes=102).to(DEVICE).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, fused=ON_GPU)
    workers = 12 if mended and ON_GPU else 0
    loader = DataLoader(
        Flowers((loop.total + 1) * size, side), size, shuffle=True, num_workers=workers, pin_memory=ON_GPU
    )
    batches = iter(loader)
    for _ in iterate_without_ranges(loop):
        photos, kinds = next(batches)
        photos = photos.to(DEVICE, non_blocking=True, memory_format=torch.channels_last)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            loss = functional.cross_entropy(network(photos), kinds.to(DEVICE, non_blocking=True))
        learn(optimizer, loss)


@program("many_synchronizations")
def shakespeare(loop: Loop, mended: bool) -> None:
    """Log the norm of each weight and gradient as a number, one after the other; mended, as a tensor of all norms."""
    size, length, words = 64 // SMALL, 256 // (1 if ON_GPU else 4), 65
    network = GPT(8, 384 // (1 if ON_GPU else 8), 6, length, words).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, betas=(0.9, 0.99), fused=ON_GPU)
    text = torch.randint(words, (1_000_000,))
    log: list[Any] = []

    def draw() -> Tensor:
        starts = torch.randint(len(text) - length - 1, (size,)).tolist()
        batch = torch.stack([text[start : start + length + 1] for start in starts])
        return batch.pin_memory().to(DEVICE, non_blocking=True) if ON_GPU else batch

    @torch.no_grad()
    def log_norms() -> None:
        if mended:
            weights: list[Tensor] = list(network.parameters())
            gradients = [one.grad for one in weights if one.grad is not None]
            log.append(torch.stack([*torch._foreach_norm(weights), *torch._foreach_norm(gradients)]))  # noqa: SLF001
            return
        norms = {}
        for name, one in network.named_parameters():
            norms[f"weights/{name}"] = one.norm().item()
            if one.grad is not None:
                norms[f"gradients/{name}"] = one.grad.norm().item()
        log.append(norms)

    for _ in iterate_without_ranges(loop):
        loss = score(network, draw())
        learn(optimizer, loss)
        log_norms()


@program("many_small_copies")
def loan_offers(loop: Loop, mended: bool) -> None:
    """Send each of 300 columns of a batch to the GPU by a copy of its own; mended, all of them as one matrix."""
    columns, rows, words, deep, width = 300, 4096 // SMALL, 1000, 16, 1024 // SMALL
    torch.backends.cuda.matmul.allow_tf32 = True
    table = nn.Embedding(columns * words, deep, device=DEVICE)
    tower = nn.Sequential(nn.Linear(columns * deep, width), nn.ReLU(), make_layers(width, 3), nn.Linear(width, 1))
    tower.to(DEVICE)
    optimizer = torch.optim.Adam([*table.parameters(), *tower.parameters()], lr=1e-3, fused=ON_GPU)
    starts = words * torch.arange(columns, device=DEVICE)[:, None]

    def pin(given: Tensor) -> Tensor:
        return given.pin_memory() if ON_GPU else given

    drawn = [torch.randint(words, (columns, rows)) for _ in range(4)]
    matrices = [pin(one) for one in drawn] if mended else []
    frames = [] if mended else [{f"feature_{at}": pin(one) for at, one in enumerate(matrix)} for matrix in drawn]
    taken = torch.randint(2, (rows,), device=DEVICE).float()
    for number in iterate_without_ranges(loop):
        if mended:
            given = matrices[number % 4].to(DEVICE, non_blocking=True)
        else:
            frame = {name: one.to(DEVICE, non_blocking=True) for name, one in frames[number % 4].items()}
            given = torch.stack(list(frame.values()))
        scores = tower(table((given + starts).T).flatten(1)).squeeze(1)
        learn(optimizer, functional.binary_cross_entropy_with_logits(scores, taken))


@program("single_precision")
def reviews(loop: Loop, mended: bool) -> None:
    """Fine-tune RoBERTa with PyTorch's defaults, in FP32 and without TF32; mended, with TF32."""
    from transformers import RobertaConfig, RobertaForSequenceClassification

    torch.backends.cuda.matmul.allow_tf32 = mended
    config = RobertaConfig(
        vocab_size=50_265 // SMALL, hidden_size=768 // SMALL, intermediate_size=3072 // SMALL, num_labels=5,
        max_position_embeddings=514, pad_token_id=1,
    )  # fmt: skip
    with DEVICE:
        network: Any = RobertaForSequenceClassification(config).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-5, fused=ON_GPU)
    texts = torch.randint(4, config.vocab_size, (32 // SMALL, 256), device=DEVICE)
    seen, stars = torch.ones_like(texts), torch.randint(5, (len(texts),), device=DEVICE)
    loop.name = "step {}"
    for _ in loop:
        with annotate("forward"):
            loss = network(input_ids=texts, attention_mask=seen, labels=stars).loss
        with annotate("backward"):
            optimizer.zero_grad()
            torch.autograd.backward(loss)
        with annotate("optimizer"):
            optimizer.step()


@program("odd_vocabulary")
def distilgpt2(loop: Loop, mended: bool) -> None:
    """Train DistilGPT-2 by Accelerate with its 50,257 tokens; mended, filled up to 50,304, a multiple of 64."""
    from accelerate import Accelerator
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=(50_304 if mended else 50_257) // SMALL, n_layer=6, n_embd=768 // SMALL, n_head=12,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    with DEVICE:
        network: Any = GPT2LMHeadModel(config).train()
    accelerator = Accelerator(mixed_precision="bf16" if ON_GPU else "no", cpu=not ON_GPU)
    optimizer: Any = torch.optim.AdamW(network.parameters(), lr=3e-4, fused=ON_GPU)
    network, optimizer = accelerator.prepare(network, optimizer)
    texts = torch.randint(50_257 // SMALL, (8, 1024 // SMALL), device=DEVICE)
    for _ in iterate_without_ranges(loop):
        loss = network(input_ids=texts, labels=texts, use_cache=False).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


@program("unfused_elementwise")
def heston(loop: Loop, mended: bool) -> None:
    """Step the paths of an option by CuPy, a kernel for each operator; mended, by a function that cupy.fuse fuses."""
    import cupy

    paths, time_step, together = 1 << 23, 1.0 / 252.0, -0.7
    root, apart = math.sqrt(time_step), math.sqrt(1.0 - together**2)

    def advance(price: Any, variance: Any, shock: Any, other: Any) -> Any:
        held = cupy.maximum(variance, 0.0)
        swing = cupy.sqrt(held) * root
        price = price * cupy.exp((0.03 - 0.5 * held) * time_step + swing * shock)
        variance = variance + 1.5 * (0.04 - held) * time_step + 0.3 * swing * (together * shock + apart * other)
        return price, variance

    step = cupy.fuse(kernel_name="heston_step")(advance) if mended else advance
    loop.name = "valuation {}"
    for _ in loop:
        price, variance = (cupy.full(paths, one, dtype=cupy.float32) for one in (100.0, 0.04))
        for _ in range(21):
            shock, other = (cupy.random.standard_normal(paths, dtype=cupy.float32) for _ in range(2))
            price, variance = step(price, variance, shock, other)
        cupy.maximum(price - 105.0, 0.0).mean()


@program("attention_by_hand")
def enwik8(loop: Loop, mended: bool) -> None:
    """Train a minGPT on bytes by Lightning, its attention as the lecture has it; mended, by the fused function."""
    import lightning

    length = 1024 // SMALL

    class Trainee(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = GPT(8, 768 // SMALL, 12, length, 256, fused=mended)

        def training_step(self, batch: Tensor, _: int) -> Tensor:
            scores = self.network(batch[:, :-1])
            return functional.cross_entropy(scores.float().flatten(0, 1), batch[:, 1:].flatten())

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=6e-4, fused=ON_GPU)

    batches: Any = [torch.randint(256, (8, length + 1), device=DEVICE)] * loop.total
    loop.name = "train_step {}"
    fit_with_lightning(loop, Trainee(), DataLoader(batches, batch_size=None))


@program("optimizer_per_parameter")
def mobile_net(loop: Loop, mended: bool) -> None:
    """Train MobileNet by the loop over parameters of Lion's paper; mended, by operations on lists of them."""
    from torchvision.models import mobilenet_v3_large

    size, side = 32 // SMALL, 224 // (1 if ON_GPU else 7)
    network: Any = mobilenet_v3_large(num_classes=100).to(DEVICE).to(memory_format=torch.channels_last)
    optimizer = Lion(list(network.parameters()), 1e-4, lists=mended)
    images = torch.randn(size, 3, side, side, device=DEVICE).to(memory_format=torch.channels_last)
    kinds = torch.randint(100, (size,), device=DEVICE)
    loop.name = "iteration {}"
    for _ in loop:
        with annotate("forward"):
            loss = functional.cross_entropy(network(images), kinds)
        with annotate("backward"):
            optimizer.zero_grad()
            torch.autograd.backward(loss)
        with annotate("optimizer_step"):
            optimizer.step()


@program("decoding_without_graph")
def deep_q(loop: Loop, mended: bool) -> None:
    """Update the network of a DQN, kernels of microseconds, by eager PyTorch; mended, by replays of a CUDA graph."""
    capacity, seen, moves, size = 100_000, 64, 8, 256

    def make_network() -> nn.Module:
        shapes = [(seen, 256), (256, 256), (256, 256)]
        parts = [part for shape in shapes for part in (nn.Linear(*shape), nn.ReLU())]
        return nn.Sequential(*parts, nn.Linear(256, moves)).to(DEVICE)

    network, aim = make_network(), make_network().requires_grad_(False)
    weights: list[Tensor] = list(network.parameters())
    averages: list[Tensor] = list(aim.parameters())
    optimizer = torch.optim.Adam(network.parameters(), lr=2.5e-4, capturable=ON_GPU, foreach=True)
    before, after = (torch.randn(capacity, seen, device=DEVICE) for _ in range(2))
    moved, gained = torch.randint(moves, (capacity,), device=DEVICE), torch.randn(capacity, device=DEVICE)

    def update() -> None:
        drawn = torch.randint(capacity, (size,), device=DEVICE)
        with torch.no_grad():
            wanted = gained[drawn] + 0.99 * aim(after[drawn]).amax(1)
        value = network(before[drawn]).gather(1, moved[drawn][:, None]).squeeze(1)
        learn(optimizer, functional.smooth_l1_loss(value, wanted))
        with torch.no_grad():
            torch._foreach_lerp_(averages, weights, 0.005)

    repeat = repeat_as_graph(update, wanted=mended)
    for _ in iterate_without_ranges(loop):
        for _ in range(16):
            repeat()


@program("allocation_in_each_step")
def mistral(loop: Loop, mended: bool) -> None:
    """Train with torch_empty_cache_steps=1, which Trainer offers against a lack of memory; mended, without."""
    from transformers import MistralConfig, MistralForCausalLM

    width, length = 1024 // SMALL, 1024 // SMALL
    config = MistralConfig(
        hidden_size=width, intermediate_size=11 * width // 4, num_hidden_layers=6, num_attention_heads=16,
        num_key_value_heads=8, vocab_size=16_384 // SMALL, max_position_embeddings=2048, sliding_window=None,
    )  # fmt: skip
    batch = 8 // (1 if ON_GPU else 4)
    loop.name = "trainer step {}"
    texts = Tokens((loop.total + 1) * batch, length, config.vocab_size)
    every = None if mended else 1
    with DEVICE:
        network = MistralForCausalLM(config)
    train_with_hugging_face(loop, network, batch, texts, torch_empty_cache_steps=every)


@program("layout_conversions")
def road_masks(loop: Loop, mended: bool) -> None:
    """Train a U-Net in FP16 over images in PyTorch's default layout; mended, channels last."""
    size, side = 16 // SMALL * (1 if ON_GPU else 2), 256 // SMALL
    layout = torch.channels_last if mended else torch.contiguous_format
    widths = (64, 128, 256, 512)
    network: Any = UNet(4, tuple(one // SMALL for one in widths)).to(DEVICE)
    network.to(memory_format=layout)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=ON_GPU)
    scaler = torch.amp.GradScaler(DEVICE.type, enabled=ON_GPU)
    images = torch.randn(size, 3, side, side, device=DEVICE).to(memory_format=layout)
    masks = torch.randint(4, (size, side, side), device=DEVICE)
    for _ in iterate_without_ranges(loop):
        optimizer.zero_grad()
        with torch.autocast(DEVICE.type, torch.float16 if ON_GPU else torch.bfloat16):
            loss = functional.cross_entropy(network(images), masks)
        torch.autograd.backward(scaler.scale(loss))
        scaler.step(optimizer)
        scaler.update()


@program("hot_kernel")
def seismic_shot(loop: Loop, mended: bool) -> None:
    """Take the first index of Numba's grid, which runs along a warp, for the row; mended, for the column."""
    cuda = load_numba_cuda()

    side = 8192
    two, four, speed = np.float32(2.0), np.float32(4.0), np.float32(0.2)

    @cuda.jit
    def propagate(before: Any, now: Any, after: Any) -> None:
        if mended:
            column, row = cuda.grid(2)
        else:
            row, column = cuda.grid(2)
        if 0 < row < side - 1 and 0 < column < side - 1:
            around = now[row - 1, column] + now[row + 1, column] + now[row, column - 1] + now[row, column + 1]
            bend = around - four * now[row, column]
            after[row, column] = two * now[row, column] - before[row, column] + speed * bend

    pressure = np.zeros((side, side), np.float32)
    pressure[side // 2 - 4 : side // 2 + 4, side // 2 - 4 : side // 2 + 4] = 1.0
    before, now, after = (cuda.to_device(pressure) for _ in range(3))
    blocks, threads = (side // 32, side // 8), (32, 8)
    loop.name = "shot part {}"
    for _ in loop:
        for _ in range(20):
            propagate[blocks, threads](before, now, after)
            before, now, after = now, after, before


@program("loss_read_each_step")
def jax_digits(loop: Loop, mended: bool) -> None:
    """Convert JAX's loss to a float after each step, before the next batch is drawn; mended, keep it as an array."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax import numpy as jnp

    count, pixels, width, size = (50_000, 3072, 4096, 4096) if ON_GPU else (500, 192, 64, 32)
    random = np.random.default_rng(17)
    photos = random.integers(0, 256, (count, pixels), dtype=np.uint8)
    kinds = random.integers(0, 10, count, dtype=np.int32)
    sides = [pixels, *[width] * 6, 10]
    keys = jax.random.split(jax.random.key(17), len(sides) - 1)
    weights = [
        jax.random.normal(key, shape) * math.sqrt(2.0 / shape[0])
        for key, shape in zip(keys, itertools.pairwise(sides), strict=True)
    ]

    def measure(weights: Any, images: Any, labels: Any) -> Any:
        x = images.astype(jnp.bfloat16) / 255.0 - 0.5
        for one in weights[:-1]:
            x = jax.nn.relu(x @ one.astype(jnp.bfloat16))
        chances = jax.nn.log_softmax(x.astype(jnp.float32) @ weights[-1])
        return -jnp.take_along_axis(chances, labels[:, None], 1).mean()

    @jax.jit
    def update(weights: Any, images: Any, labels: Any) -> Any:
        loss, slopes = jax.value_and_grad(measure)(weights, images, labels)
        return [one - 0.01 * slope for one, slope in zip(weights, slopes, strict=True)], loss

    losses: list[Any] = []
    for number in iterate_without_ranges(loop):
        drawn = random.integers(count, size=size)
        weights, loss = update(weights, photos[drawn], kinds[drawn])
        losses.append(loss if mended else float(loss))
        if number + 1 == loop.total:
            jax.block_until_ready(weights)


@program("decoding_one_by_one")
def product_texts(loop: Loop, mended: bool) -> None:
    """Call generate for each prompt of a list; mended, once for all of them."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        hidden_size=1024 // SMALL, intermediate_size=2816 // SMALL, num_hidden_layers=4, num_attention_heads=16,
        num_key_value_heads=8, vocab_size=8192, max_position_embeddings=1024,
    )  # fmt: skip
    network: Any = Qwen2ForCausalLM(config).to(DEVICE, torch.bfloat16).eval()
    prompts = torch.randint(1, 8192, (5, 64), device=DEVICE)
    loop.name = "products {}"
    for _ in loop:
        for few in [prompts] if mended else prompts.chunk(len(prompts)):
            with annotate("generate"):
                network.generate(few, attention_mask=torch.ones_like(few), max_new_tokens=6, pad_token_id=0)


@program("checkpoint_in_the_loop")
def wikipedia(loop: Loop, mended: bool) -> None:
    """Save model and optimizer by torch.save after each tenth step, while the GPU waits; mended, after the last one."""
    network = GPT(8, 512 // SMALL, 8, 512, 8192 // SMALL).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-4, fused=ON_GPU)
    texts = torch.randint(8192 // SMALL, (32 // SMALL, 513 if ON_GPU else 33), device=DEVICE)
    path = Path(tempfile.mkdtemp()) / "last.pt"

    def save(number: int) -> None:
        states = {"model": network.state_dict(), "optimizer": optimizer.state_dict(), "iteration": number}
        torch.save(states, path)

    loop.name = "iter {}"
    for number in loop:
        with annotate("train"):
            learn(optimizer, score(network, texts))
        if number % 10 == 9 and not mended:
            save(number)
    save(loop.total)


@program("checkpointing_without_need")
def image_moderation(loop: Loop, mended: bool) -> None:
    """Fine-tune ViT with gradient_checkpointing_enable() on a GPU that is mostly empty; mended, without."""
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(hidden_size=768 // SMALL, intermediate_size=3072 // SMALL, num_labels=16)
    with DEVICE:
        network: Any = ViTForImageClassification(config).to(torch.bfloat16).train()
    if not mended:
        network.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-5, fused=ON_GPU)
    photos = torch.randn(64 // SMALL, 3, 224, 224, device=DEVICE, dtype=torch.bfloat16)
    kinds = torch.randint(16, (len(photos),), device=DEVICE)
    for _ in iterate_without_ranges(loop):
        learn(optimizer, network(pixel_values=photos, labels=kinds).loss)

"""Programs with mistakes as engineers make them at work, to judge the rules: written by
somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.field import make_language_model
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, load_numba_cuda, program
from bench.fault_programs.mixed import make_layers
from bench.fault_programs.models import Block, DepthBlock, Sweeps, Tracker, match
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning
from bench.fault_programs.training import learn


@program("input_made_between_steps")
def lidar(loop: Loop, mended: bool) -> None:
    """Turn sweeps and thin them out in the process that trains, as Accelerate's loader asks; mended, in 12 workers."""
    from accelerate import Accelerator

    size, points = 24 // (1 if ON_GPU else 12), 6144 // SMALL
    shapes = [(3, 128), (128, 512), (512, 2048 // SMALL), (2048 // SMALL, 1024)]
    parts = [part for shape in shapes for part in (nn.Linear(*shape), nn.ReLU())]
    network: Any = nn.Sequential(*parts, nn.Linear(1024, 16)).to(DEVICE)
    workers = 12 if mended and ON_GPU else 0
    loader: Any = DataLoader(Sweeps((loop.total + 2) * size, points), size, num_workers=workers, pin_memory=ON_GPU)
    accelerator = Accelerator(mixed_precision="bf16" if ON_GPU else "no", cpu=not ON_GPU)
    optimizer: Any = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    network, optimizer, loader = accelerator.prepare(network, optimizer, loader)
    batches = iter(loader)
    loop.name = "train iter {}"
    for _ in loop:
        sweeps, kinds = next(batches)
        with annotate("forward"):
            loss = functional.cross_entropy(network(sweeps).amax(1), kinds)
        with annotate("backward"):
            accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


@program("loop_over_samples")
def satellite(loop: Loop, mended: bool) -> None:
    """Turn and zoom each image by a grid of its own, one after the other; mended, all of them by one batch of grids."""
    size, side, width = 96 // SMALL, 128 // (1 if ON_GPU else 4), 128 // SMALL
    parts = [part for _ in range(4) for part in (nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, 1, 1))]
    encoder: Any = nn.Sequential(
        nn.Conv2d(4, width, 4, 2, 1), *parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 128)
    )
    encoder.to(DEVICE, torch.bfloat16).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-4, fused=ON_GPU)
    scenes = torch.randn(size, 4, side, side, device=DEVICE)

    def move(images: Tensor, angles: Tensor, zooms: Tensor) -> Tensor:
        cosine, sine, none = zooms * angles.cos(), zooms * angles.sin(), torch.zeros_like(angles)
        turns = torch.stack((cosine, -sine, none, sine, cosine, none), 1).view(-1, 2, 3)
        grid = functional.affine_grid(turns, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, padding_mode="reflection", align_corners=False)

    loop.name = "pretrain {}"
    for _ in loop:
        with annotate("augment"):
            angles, zooms = 6.28 * torch.rand(size, device=DEVICE), 0.5 + torch.rand(size, device=DEVICE)
            if mended:
                views = move(scenes, angles, zooms)
            else:
                few = zip(*(one.chunk(size) for one in (scenes, angles, zooms)), strict=True)
                views = torch.cat([move(image, angle, zoom) for image, angle, zoom in few])
        with annotate("encode"):
            made = encoder(views.to(torch.bfloat16, memory_format=torch.channels_last)).float()
            near = functional.normalize(made) @ functional.normalize(made).T
            loss = functional.cross_entropy(10.0 * near, torch.arange(size, device=DEVICE))
        with annotate("update"):
            learn(optimizer, loss)


@program("host_work")
def shelf_detector(loop: Loop, mended: bool) -> None:
    """Assign boxes to anchors by NumPy in each step; mended, by the same lines in PyTorch on the GPU."""
    from torchvision.models import resnet50

    size, places, kinds, shown = 12 // (1 if ON_GPU else 6), 24 // (1 if ON_GPU else 4), 16, 8
    body = list(resnet50().children())[:-3]
    network: Any = nn.Sequential(*body, nn.Conv2d(1024, 5 * kinds, 1)).to(DEVICE, torch.bfloat16)
    network.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9, foreach=True)
    images = torch.randn(size, 3, 16 * places, 16 * places, device=DEVICE, dtype=torch.bfloat16)
    images = images.to(memory_format=torch.channels_last)
    random = np.random.default_rng(21)

    def make_boxes(count: int) -> Any:
        center, half = random.random((count, 2), dtype=np.float32), 0.02 + 0.1 * random.random((count, 2))
        return np.concatenate((center - half, center + half), 1).astype(np.float32)

    anchors, known = make_boxes(places * places * kinds), [make_boxes(shown) for _ in range(size)]
    rows, anchors_there = torch.arange(size, device=DEVICE)[:, None], torch.from_numpy(anchors).to(DEVICE)
    loop.name = "epoch 0 step {}"
    for _ in loop:
        boxes = torch.from_numpy(np.stack(known)).to(DEVICE)
        with annotate("backbone"):
            made = network(images).float().permute(0, 2, 3, 1).reshape(size, -1, 5)
        with annotate("assign_targets"):
            if mended:
                matches = torch.stack([match(anchors_there, one, torch) for one in boxes])
            else:
                matches = torch.from_numpy(np.stack([match(anchors, one, np) for one in known])).to(DEVICE)
        with annotate("loss_and_update"):
            hit = (matches >= 0).float()
            wanted = boxes[rows, matches.clamp_min(0)]
            offset = (made[..., 1:] - wanted).abs().mean(-1) * hit
            learn(optimizer, functional.binary_cross_entropy_with_logits(made[..., 0], hit) + offset.mean())


@program("results_to_host_each_step")
def street_scenes(loop: Loop, mended: bool) -> None:
    """Bring the scores of all classes to the CPU for the confusion matrix; mended, count on the GPU."""
    from torchvision.models import resnet50

    torch.set_num_threads(8 if ON_GPU else 2)  # other jobs run on the same CPU
    classes, size, height, width = 19, 16 // SMALL, 512 // (1 if ON_GPU else 4), 1024 // (1 if ON_GPU else 4)
    network: Any = nn.Sequential(
        *list(resnet50().children())[:-4], nn.Conv2d(512, classes, 1), nn.Upsample(scale_factor=2, mode="bilinear")
    ).eval()
    network.to(DEVICE, torch.bfloat16).to(memory_format=torch.channels_last)
    images = torch.randn(size, 3, height, width, device=DEVICE, dtype=torch.bfloat16)
    images = images.to(memory_format=torch.channels_last)
    there = DEVICE if mended else torch.device("cpu")
    labels = torch.randint(classes, (size, height // 4, width // 4), device=there)
    matrix = torch.zeros(classes * classes, dtype=torch.long, device=there)
    with torch.inference_mode():
        for _ in iterate_without_ranges(loop):
            predictions = network(images).float().to(there).argmax(1)
            matrix += torch.bincount((classes * labels + predictions).flatten(), minlength=classes * classes)


@program("sync_per_layer")
def patch_pruning(loop: Loop, mended: bool) -> None:
    """Drop the patches of low scores in each layer by a mask, whose count the CPU awaits; mended, always 2 %."""
    width, count = 768 // SMALL, 2048 // SMALL
    blocks = nn.ModuleList(Block(width, 12) for _ in range(20)).to(DEVICE, torch.bfloat16)
    gauges = torch.randn(20, width, device=DEVICE, dtype=torch.bfloat16)
    images = torch.randn(3, 1, count, width, device=DEVICE, dtype=torch.bfloat16)

    def prune(patches: Tensor, gauge: Tensor) -> Tensor:
        scores = (functional.layer_norm(patches, (width,)) @ gauge)[0]
        if mended:
            return patches[:, scores.topk(round(0.98 * len(scores)), sorted=False).indices]
        return patches[:, scores > scores.mean() - 2.05 * scores.std()]

    loop.name = "classify {}"
    with torch.inference_mode():
        for _ in loop:
            for image in images:
                x = image
                for at, (block, gauge) in enumerate(zip(blocks, gauges, strict=True)):
                    with annotate(f"block.{at}"):
                        x = prune(block(x), gauge)


@program("single_precision")
def code_model(loop: Loop, mended: bool) -> None:
    """Multiply by the head of 49,152 tokens in FP32, for the loss to be exact; mended, in BF16, and only the loss."""
    network = make_language_model("Qwen2", 1024 // SMALL)
    words = 49_152 // SMALL
    head = nn.Linear(1024 // SMALL, words, bias=False).to(DEVICE)
    optimizer = torch.optim.AdamW([*network.model.parameters(), *head.parameters()], lr=1e-5, fused=ON_GPU)
    tokens = torch.randint(min(8192, words), (4, 1024 // SMALL), device=DEVICE)
    loop.name = "update_{}"
    for _ in loop:
        with annotate("decoder"):
            hidden = network.model(input_ids=tokens, use_cache=False).last_hidden_state[:, :-1]
        with annotate("head"):
            if mended:
                with torch.autocast(DEVICE.type, torch.bfloat16):
                    scores = head(hidden)
            else:
                scores = head(hidden.float())
            loss = functional.cross_entropy(scores.float().flatten(0, 1), tokens[:, 1:].flatten())
        with annotate("backward_and_step"):
            learn(optimizer, loss)


@program("tokens_recomputed")
def exam(loop: Loop, mended: bool) -> None:
    """Read the question again for each of its four answers; mended, once, and each answer by the cache of it."""
    network = make_language_model("Llama", 2048 // SMALL).eval()
    length, few = 1024 // SMALL, 8
    questions = torch.randint(8192, (16 // SMALL, length), device=DEVICE)
    answers = torch.randint(8192, (4, len(questions), few), device=DEVICE)

    def score(made: Any, answer: Tensor) -> Tensor:
        chances = functional.log_softmax(made.logits[:, -few:-1].float(), -1)
        return chances.gather(2, answer[:, 1:, None]).sum((1, 2))

    loop.name = "eval batch {}"
    with torch.inference_mode():
        for _ in loop:
            cache: Any = None
            if mended:
                with annotate("question"):
                    cache = network(input_ids=questions, use_cache=True, logits_to_keep=1).past_key_values
            scores = []
            for answer in answers:
                with annotate("answer"):
                    if mended:
                        made = network(input_ids=answer, past_key_values=cache, use_cache=True)
                        cache.crop(length)
                    else:
                        given = torch.cat((questions, answer), 1)
                        made = network(input_ids=given, use_cache=False, logits_to_keep=few)
                    scores.append(score(made, answer))
            torch.stack(scores).argmax(0)


def make_slide_kernels(side: int, reach: int) -> tuple[Any, Any, Any]:
    """Return kernels of Numba that smooth a slide, and count its levels by one histogram or one for each block."""
    cuda = load_numba_cuda()

    one, weight = np.int32(1), np.float32(1.0 / (2 * reach + 1) ** 2)

    @cuda.jit
    def smooth(seen: Any, made: Any) -> None:
        column, row = cuda.grid(2)
        if reach <= row < side - reach and reach <= column < side - reach:
            total = np.float32(0.0)
            for down in range(row - reach, row + reach + 1):
                for right in range(column - reach, column + reach + 1):
                    total += np.float32(seen[down, right])
            made[row, column] = np.uint8(total * weight)

    @cuda.jit
    def count(seen: Any, counts: Any) -> None:
        for at in range(cuda.grid(1), seen.shape[0], cuda.gridsize(1)):
            cuda.atomic.add(counts, seen[at], one)

    @cuda.jit
    def count_in_blocks(seen: Any, counts: Any) -> None:
        held = cuda.shared.array(256, dtype=np.int32)
        own = cuda.threadIdx.x
        held[own] = 0
        cuda.syncthreads()
        for at in range(cuda.grid(1), seen.shape[0], cuda.gridsize(1)):
            cuda.atomic.add(held, seen[at], one)
        cuda.syncthreads()
        cuda.atomic.add(counts, own, held[own])

    return smooth, count, count_in_blocks


@program("contended_atomics")
def microscopy(loop: Loop, mended: bool) -> None:
    """Count the levels of a slide by atomics on one histogram of all threads; mended, on one for each block."""
    side = 4096
    smooth, count, count_in_blocks = make_slide_kernels(side, 10)
    from numba import cuda

    levels = np.random.default_rng(31).standard_normal((side, side), dtype=np.float32)
    slides = [cuda.to_device((220 + 9 * levels).clip(0, 255).astype(np.uint8)) for _ in range(2)]
    made, none = cuda.device_array_like(slides[0]), np.zeros(256, np.int32)
    counts, flat = cuda.to_device(none), [slide.reshape(side * side) for slide in slides]
    chosen = count_in_blocks if mended else count
    medians: list[Any] = []
    for _ in iterate_without_ranges(loop):
        for slide, pixels in zip(slides, flat, strict=True):
            smooth[(side // 32, side // 8), (32, 8)](slide, made)
            counts.copy_to_device(none)
            chosen[1056, 256](pixels, counts)
            medians.append(np.searchsorted(np.cumsum(counts.copy_to_host()), side * side // 2))


@program("allocation_in_each_step")
def ocean_tracers(loop: Loop, mended: bool) -> None:
    """Ask Numba, which has no pool, for an array for each stage of an integrator; mended, use the same four again."""
    cuda = load_numba_cuda()

    count, half = 1 << 22, np.float32(0.5)

    @cuda.jit
    def flow(places: Any, speeds: Any) -> None:
        at = cuda.grid(1)
        if at < places.shape[1]:
            x, y, east, north = places[0, at], places[1, at], np.float32(0.0), np.float32(0.0)
            for eddy in range(1, 7):
                wave = np.float32(eddy)
                east -= math.sin(wave * x) * math.cos(wave * y) / wave
                north += math.cos(wave * x) * math.sin(wave * y) / wave
            speeds[0, at], speeds[1, at] = east, north

    @cuda.jit
    def drift(places: Any, speeds: Any, step: Any, made: Any) -> None:
        at = cuda.grid(1)
        if at < places.shape[1]:
            made[0, at] = places[0, at] + step * speeds[0, at]
            made[1, at] = places[1, at] + step * speeds[1, at]

    places = cuda.to_device(np.random.default_rng(41).random((2, count), dtype=np.float32))
    rooms = [cuda.device_array_like(places) for _ in range(4 if mended else 0)]
    step, launch = np.float32(1e-2), (count // 256, 256)
    loop.name = "model hour {}"
    for _ in loop:
        for _ in range(16):
            slopes, middle, steeper, made = rooms if mended else [cuda.device_array_like(places) for _ in range(4)]
            flow[launch](places, slopes)
            drift[launch](places, slopes, half * step, middle)
            flow[launch](middle, steeper)
            drift[launch](places, steeper, step, made)
            rooms, places = [slopes, middle, steeper, places], made


@program("double_precision")
def posterior(loop: Loop, mended: bool) -> None:
    """Sample a regression with jax_enable_x64, as tutorials of samplers have it; mended, without."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", not mended)
    rows, width, chains = (200_000, 256, 64) if ON_GPU else (512, 16, 4)
    keys = list(jax.random.split(jax.random.PRNGKey(3), loop.total + 2))
    seen = jax.random.normal(keys[-1], (rows, width)) / width**0.5
    clicked = (seen[:, :1] > 0.0).astype(seen.dtype)

    def energy(weights: Any, seen: Any, clicked: Any) -> Any:
        scores = seen @ weights
        return (jax.nn.softplus(scores) - clicked * scores).sum() + 0.5 * jnp.square(weights).sum()

    @jax.jit
    def sample(weights: Any, key: Any, seen: Any, clicked: Any) -> Any:
        def leap(_: Any, state: Any) -> Any:
            place = state[0] + 1e-3 * state[1]
            return place, state[1] - 1e-3 * jax.grad(energy)(place, seen, clicked)

        speeds = jax.random.normal(key, weights.shape)
        made, last = jax.lax.fori_loop(0, 16, leap, (weights, speeds))
        before, after = (
            energy(one, seen, clicked) + 0.5 * jnp.square(other).sum()
            for one, other in ((weights, speeds), (made, last))
        )
        return jnp.where(after - before < 10.0, made, weights)

    weights = jax.random.normal(keys[-2], (width, chains))
    for number in iterate_without_ranges(loop):
        weights = sample(weights, keys[number], seen, clicked)
        weights.block_until_ready()


@program("dense_embedding_gradients")
def knowledge_graph(loop: Loop, mended: bool) -> None:
    """Train vectors of four million entities by Adagrad, whose gradients are dense; mended, sparse=True."""
    entities, facts, width, wrong = 4_000_000 // SMALL, 16_384 // SMALL, 128, 8
    table = nn.Embedding(entities, width, sparse=mended, device=DEVICE)
    relations = nn.Embedding(1000, width, sparse=mended, device=DEVICE)
    optimizer = torch.optim.Adagrad([*table.parameters(), *relations.parameters()], lr=0.05)
    triples = [torch.randint(entities, (facts, 2 + wrong), device=DEVICE) for _ in range(5)]
    kinds = torch.randint(1000, (facts,), device=DEVICE)
    for number in iterate_without_ranges(loop):
        vectors = table(triples[number % 5])
        moved = vectors[:, 0] + relations(kinds)
        distances = torch.linalg.vector_norm(moved[:, None] - vectors[:, 1:], dim=-1)
        learn(optimizer, functional.relu(1.0 + distances[:, :1] - distances[:, 1:]).mean())


@program("layout_conversions")
def depth_camera(loop: Loop, mended: bool) -> None:
    """Make each block's tensors contiguous for its layers over channels and back; mended, channels last in all."""
    width, size = 128 // SMALL, 16 // (1 if ON_GPU else 8)
    layout = torch.channels_last if mended else torch.contiguous_format
    blocks: Any = nn.ModuleList(DepthBlock(width, layout) for _ in range(8))
    blocks.to(DEVICE, torch.bfloat16).to(memory_format=layout)
    optimizer = torch.optim.AdamW(blocks.parameters(), lr=1e-4, fused=ON_GPU)
    frames = torch.randn(size, width, 96 // SMALL, 128 // SMALL, device=DEVICE, dtype=torch.bfloat16)
    frames = frames.to(memory_format=layout)
    loop.name = "it={}"
    for _ in loop:
        x = frames
        for at, block in enumerate(blocks):
            with annotate(f"stage2_{at}"):
                x = block(x)
        with annotate("loss_backward_step"):
            learn(optimizer, (x - frames).float().square().mean())


@program("os_blocking")
def credit_scores(loop: Loop, mended: bool) -> None:
    """Post the metrics of each step of Lightning to a service and await its answer; mended, from a thread."""
    import lightning

    tracker, records = Tracker(0.01), SimpleQueue[dict[str, float]]()

    def post_all() -> None:
        while True:
            tracker.post(records.get())

    if mended:
        threading.Thread(target=post_all, daemon=True).start()
    send: Callable[[dict[str, float]], None] = records.put if mended else tracker.post
    width = 1024 // SMALL

    class Scores(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network, self.began = make_layers(width, 10), time.perf_counter()

        def training_step(self, batch: Tensor, _: int) -> Tensor:
            return functional.mse_loss(self.network(batch), batch)

        def on_after_backward(self) -> None:
            send({"step": self.global_step, "seconds": time.perf_counter() - self.began})

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    batches: Any = [torch.randn(32_768 // SMALL, width, device=DEVICE)] * loop.total
    loop.name = "training batch {}"
    fit_with_lightning(loop, Scores(), DataLoader(batches, batch_size=None))


@program("python_between_launches")
def packed_documents(loop: Loop, mended: bool) -> None:
    """Make the mask of the documents in each row block by block on the CPU; mended, by their numbers on the GPU."""
    rows, length, width = 8, 2048 // SMALL, 512 // SMALL
    blocks = nn.ModuleList(Block(width, 8) for _ in range(4)).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.AdamW(blocks.parameters(), lr=1e-4, fused=ON_GPU)
    texts = torch.randn(rows, length, width, device=DEVICE, dtype=torch.bfloat16)
    random, earlier = np.random.default_rng(51), torch.ones(length, length, device=DEVICE).tril().bool()

    def draw_lengths() -> list[list[int]]:
        ends = [np.sort(random.choice(length - 1, 7, replace=False)) + 1 for _ in range(rows)]
        return [np.diff(one, prepend=0, append=length).tolist() for one in ends]

    loop.name = "sft step {}"
    for _ in loop:
        lengths = draw_lengths()
        with annotate("document_mask"):
            if mended:
                places = torch.arange(8)
                owners = torch.stack([places.repeat_interleave(torch.tensor(row)) for row in lengths]).to(DEVICE)
                mask = (owners[:, :, None] == owners[:, None]) & earlier
            else:
                made = [[torch.ones(one, one, dtype=torch.bool).tril() for one in row] for row in lengths]
                mask = torch.stack([torch.block_diag(*row) for row in made]).to(DEVICE)  # type: ignore[no-untyped-call]
        x = texts
        for block in blocks:
            x = block(x, mask[:, None])
        learn(optimizer, (x - texts).float().square().mean())

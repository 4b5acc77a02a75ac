"""Programs as hospitals, insurers and start-ups write them, with a fault each, to judge the rules: written by somebody
who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.courses import pin
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, load_numba_cuda, program, repeat_as_graph
from bench.fault_programs.models import Block
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning
from bench.fault_programs.training import learn


@program("pageable_batches")
def mri_reconstruction(loop: Loop, mended: bool) -> None:
    """Copy the k-space of all coils from ordinary memory; mended, from pinned memory."""
    slices, coils, side, width = 8, 16, 320 // SMALL, 32
    parts = [part for _ in range(3) for part in (nn.Conv2d(width, width, 3, padding=1), nn.ReLU())]
    cascades: Any = nn.ModuleList(
        nn.Sequential(nn.Conv2d(2, width, 3, padding=1), *parts, nn.Conv2d(width, 2, 3, padding=1)) for _ in range(3)
    )
    cascades.to(DEVICE, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(cascades.parameters(), lr=3e-4, fused=ON_GPU)
    scans = [torch.randn(slices, coils, side, side, dtype=torch.complex64) for _ in range(4)]
    if mended:
        scans = [pin(one) for one in scans]
    maps = torch.randn(coils, side, side, device=DEVICE, dtype=torch.complex64) / coils
    wanted = torch.randn(slices, side, side, device=DEVICE)
    sampled = torch.rand(side, device=DEVICE) < 0.25
    loop.name = "slices {}"
    for number in loop:
        space = scans[number % 4].to(DEVICE, non_blocking=True) * sampled
        with annotate("unrolled_network"):
            image = (torch.fft.ifft2(space) * maps.conj()).sum(1)
            for cascade in cascades:
                with torch.autocast(DEVICE.type, torch.bfloat16):
                    change = cascade(torch.view_as_real(image).permute(0, 3, 1, 2)).float()
                image = image + torch.view_as_complex(change.permute(0, 2, 3, 1).contiguous())
                missed = torch.fft.fft2(image[:, None] * maps) * sampled - space
                image = image - (torch.fft.ifft2(missed) * maps.conj()).sum(1)
        with annotate("update"):
            learn(optimizer, functional.l1_loss(image.abs(), wanted))


@program("loss_read_each_step")
def sepsis_watch(loop: Loop, mended: bool) -> None:
    """Average the losses for the progress bar as a number of Python; mended, as a tensor on the GPU."""
    people, length, width, random = 256 // SMALL, 128 // SMALL, 512 // SMALL, np.random.default_rng(71)
    blocks = nn.Sequential(*(Block(width, 8) for _ in range(4)))
    network = nn.ModuleDict({"codes": nn.Embedding(4096, width), "blocks": blocks, "head": nn.Linear(width, 1)})
    network.to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    stays = []
    for count in random.integers(60, 200, size=2000):
        times, values = random.exponential(5.0, count), random.standard_normal(count)
        stays.append((times, random.integers(1, 4096, size=count), values, float(random.random() < 0.1)))

    def collate() -> tuple[Tensor, Tensor]:
        codes, ill = np.zeros((people, length), np.int64), np.zeros(people, np.float32)
        for row, at in enumerate(random.integers(len(stays), size=people)):
            times, events, values, label = stays[at]
            order = np.argsort(times)
            inliers = order[np.abs(values - values.mean())[order] < 3.0 * values.std()][-length:]
            codes[row, : len(inliers)], ill[row] = events[inliers], label
        return pin(torch.from_numpy(codes)), pin(torch.from_numpy(ill))

    mean: Any = 0.0
    for _ in iterate_without_ranges(loop):
        for _ in range(4):
            codes, ill = (one.to(DEVICE, non_blocking=True) for one in collate())
            with torch.autocast(DEVICE.type, torch.bfloat16):
                made = network["head"](network["blocks"](network["codes"](codes))[:, 0])
            loss = functional.binary_cross_entropy_with_logits(made.float().squeeze(1), ill)
            learn(optimizer, loss)
            mean = 0.98 * mean + 0.02 * (loss.detach() if mended else loss.item())


class EventBlock(nn.Module):
    """A block whose events of a stay attend to each other, by products and softmax or by the fused function."""

    def __init__(self, width: int, *, fused: bool) -> None:
        super().__init__()
        self.fused, self.inward, self.outward = fused, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.inward(self.first(x)).unflatten(-1, (3, 8, -1)).permute(2, 0, 3, 1, 4)
        if self.fused:
            seen = functional.scaled_dot_product_attention(query, key, value, dropout_p=0.1)
        else:
            weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
            seen = functional.dropout(weights, 0.1) @ value
        x = x + self.outward(seen.transpose(1, 2).flatten(2))
        return torch.add(x, self.feed(self.second(x)))


@program("attention_by_hand")
def icu_records(loop: Loop, mended: bool) -> None:
    """Train on events of stays by Lightning, with softmax and dropout as in the paper; mended, the fused function."""
    import lightning

    class Records(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            width = 512 // SMALL
            self.codes, self.head = nn.Embedding(8192, width), nn.Linear(width, 25)
            self.blocks = nn.Sequential(*(EventBlock(width, fused=mended) for _ in range(6)))

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            made = self.head(self.blocks(self.codes(batch[0])).mean(1))
            return functional.binary_cross_entropy_with_logits(made.float(), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    size = 24 // (1 if ON_GPU else 12)
    stays = torch.randint(8192, (size, 1024 // SMALL), device=DEVICE)
    batches: Any = [[stays, torch.rand(size, 25, device=DEVICE)]] * loop.total
    loop.name = "stays {}"
    fit_with_lightning(loop, Records(), DataLoader(batches, batch_size=None))


@program("single_precision")
def risk_scenarios(loop: Loop, mended: bool) -> None:
    """Correlate the shocks of scenarios by CuPy's products in FP32, its default; mended, with CUPY_TF32=1."""
    os.environ["CUPY_TF32"] = "1" if mended else "0"
    import cupy

    scenarios, factors, books = 65_536, 4096, 256
    factor = cupy.tril(cupy.random.standard_normal((factors, factors), dtype=cupy.float32)) / factors**0.5
    holdings = cupy.random.standard_normal((factors, books), dtype=cupy.float32)
    loop.name = "valuation {}"
    for _ in loop:
        with annotate("shocks"):
            shocks = cupy.random.standard_normal((scenarios, factors), dtype=cupy.float32) @ factor.T
        with annotate("prices"):
            gains = cupy.expm1(cupy.float32(0.01) * shocks) @ holdings
        with annotate("value_at_risk"):
            worst = cupy.sort(cupy.ascontiguousarray(gains.T), axis=1)[:, : scenarios // 100]
            worst.mean(axis=1)


@program("unfused_elementwise")
def organ_outlines(loop: Loop, mended: bool) -> None:
    """Compute the focal loss of all pixels operation by operation; mended, by torch.compile."""
    size, side, width, organs = 32 // (1 if ON_GPU else 16), 32 // (1 if ON_GPU else 8), 384 // SMALL, 16
    blocks = (Block(width, 6 if ON_GPU else 2) for _ in range(4))
    network = nn.Sequential(nn.Linear(256, width), *blocks, nn.Linear(width, 256 * organs)).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)

    def measure(scores: Tensor, inside: Tensor) -> Tensor:
        chances = torch.sigmoid(scores.float())
        right = torch.where(inside, chances, 1.0 - chances).clamp_min(1e-5)
        smooth = 0.95 * right + 0.025
        weights = torch.where(inside, 0.75, 0.25) * (1.0 - smooth) ** 2
        return (weights * -torch.log(smooth) * (1.0 + 0.1 * torch.tanh(1.0 - right))).mean()

    judge: Any = torch.compile(measure) if mended and ON_GPU else measure
    patches = torch.randn(size, side * side, 256, device=DEVICE)
    inside = torch.rand(size, side * side, 256 * organs, device=DEVICE) < 0.1
    loop.name = "slides {}"
    for _ in loop:
        with annotate("forward"), torch.autocast(DEVICE.type, torch.bfloat16):
            scores = network(patches)
        with annotate("focal_loss"):
            loss = judge(scores, inside)
        with annotate("backward_and_update"):
            learn(optimizer, loss)


@program("decoding_without_graph")
def voice_prosthesis(loop: Loop, mended: bool) -> None:
    """Follow the flow from noise to speech by 32 eager passes of a small network; mended, a CUDA graph replays them."""
    frames, width = 192 // SMALL, 384 // SMALL
    kind = torch.bfloat16 if ON_GPU else torch.float32
    blocks = nn.Sequential(*(Block(width, 6 if ON_GPU else 2) for _ in range(6))).to(DEVICE, kind)
    signals = torch.randn(loop.total, 1, frames, width, device=DEVICE, dtype=kind)
    given, noise, made = (torch.zeros_like(signals[0]) for _ in range(3))
    times = torch.randn(32, 1, 1, width, device=DEVICE, dtype=kind)

    def flow() -> None:
        made.copy_(noise)
        for when in times:
            made.add_(blocks(made + given + when), alpha=1.0 / 32.0)

    with torch.no_grad():
        repeat = repeat_as_graph(flow, wanted=mended)
        for number in iterate_without_ranges(loop):
            given.copy_(signals[number])
            noise.normal_()
            repeat()
            made.float().cpu()


@program("allocation_in_each_step")
def drug_response(loop: Loop, mended: bool) -> None:
    """Let JAX take each array from the driver, to share a GPU, by its allocator "platform"; mended, its own pool."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "default" if mended else "platform"
    import jax
    from jax import numpy as jnp

    cells, width, blocks = (8192, 1024, 10) if ON_GPU else (32, 16, 2)
    shapes = [(width, 4 * width), (4 * width,), (4 * width, width), (width,)] * blocks
    keys = jax.random.split(jax.random.key(73), len(shapes) + 1)
    weights = [0.02 * jax.random.normal(key, shape) for key, shape in zip(keys[1:], shapes, strict=True)]
    genes = jax.random.normal(keys[0], (cells, width))
    state = (weights, [jnp.zeros(shape) for shape in shapes], [jnp.zeros(shape) for shape in shapes])

    def measure(weights: Any, genes: Any) -> Any:
        x = genes
        for at in range(0, len(weights), 4):
            up, lift, down, shift = weights[at : at + 4]
            x = x + jax.nn.silu(x @ up + lift) @ down + shift
        return jnp.abs(x - genes[::-1]).mean()

    @jax.jit
    def update(state: Any, genes: Any) -> Any:
        weights, means, squares = state
        slopes = jax.grad(measure)(weights, genes)
        means = [0.9 * mean + 0.1 * slope for mean, slope in zip(means, slopes, strict=True)]
        squares = [0.99 * square + 0.01 * slope**2 for square, slope in zip(squares, slopes, strict=True)]
        steps = [mean / (jnp.sqrt(square) + 1e-8) for mean, square in zip(means, squares, strict=True)]
        return [one - 1e-4 * step for one, step in zip(weights, steps, strict=True)], means, squares

    loop.name = "plates {}"
    for number in loop:
        state = update(state, genes)
        if number + 1 == loop.total:
            jax.block_until_ready(state)


@program("loop_over_samples")
def robo_advisor(loop: Loop, mended: bool) -> None:
    """Solve for the portfolio of each client in a loop over them; mended, for all of them by batched functions."""
    clients, assets, scenarios = 160 // SMALL, 128, 262_144 // SMALL
    torch.backends.cuda.matmul.allow_tf32 = True
    returns = 0.01 * torch.randn(scenarios, assets, device=DEVICE)
    risk = returns.T @ returns / scenarios
    fears = 1.0 + torch.rand(clients, device=DEVICE)
    views = 1e-4 * torch.randn(clients, assets, device=DEVICE)
    floor = 1e-5 * torch.eye(assets, device=DEVICE)

    def solve(fear: Tensor, view: Tensor) -> Tensor:
        lower, _ = torch.linalg.cholesky_ex(fear[..., None, None] * risk + floor)
        held = torch.cholesky_solve(view[..., None], lower)[..., 0].clamp_min(0.0)
        return held / (held.sum(-1, keepdim=True) + 1e-6)

    loop.name = "rebalance {}"
    for _ in loop:
        with annotate("optimize"):
            pairs = [] if mended else zip(fears, views, strict=True)
            held = solve(fears, views) if mended else torch.stack([solve(*pair) for pair in pairs])
        with annotate("shortfall"):
            worst = (held @ returns.T).sort(dim=1).values[:, : scenarios // 20]
            views = views + 1e-3 * worst.mean(1, keepdim=True)


@program("same_data_each_step")
def discharge_letters(loop: Loop, mended: bool) -> None:
    """Keep the weights of a Llama on the host by Accelerate's cpu_offload, though they fit; mended, on the GPU."""
    from accelerate import cpu_offload
    from transformers import LlamaConfig, LlamaForCausalLM

    width = 1024 // SMALL
    config = LlamaConfig(
        hidden_size=width, intermediate_size=4 * width, num_hidden_layers=12, num_attention_heads=16,
        num_key_value_heads=8, vocab_size=32_000 // SMALL,
    )  # fmt: skip
    with DEVICE:
        network: Any = LlamaForCausalLM(config)
    network.to(DEVICE, torch.bfloat16).eval()
    if not mended:
        cpu_offload(network, execution_device=DEVICE)
    letters = torch.randint(32_000 // SMALL, (3, 40 // SMALL, 1024 // SMALL), device=DEVICE)
    kinds = torch.arange(200, 212, device=DEVICE)
    with torch.no_grad():
        for number in iterate_without_ranges(loop):
            made = network(input_ids=letters[number % 3], use_cache=False, logits_to_keep=1)
            made.logits[:, -1, kinds].argmax(-1)


@program("host_work")
def warehouse_grasps(loop: Loop, mended: bool) -> None:
    """Find the neighbors of moved points by SciPy's trees on the CPU; mended, by their distances on the GPU."""
    trees: Any = import_module("scipy.spatial")
    clouds, points, near, width = 16, 1024 // SMALL, 16, 256 // SMALL
    torch.backends.cuda.matmul.allow_tf32 = True
    move = nn.Sequential(nn.Linear(3, width), nn.SiLU(), nn.Linear(width, 3))
    edges = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(3))
    network = nn.ModuleDict({"move": move, "lift": nn.Linear(3, width), "edges": edges, "head": nn.Linear(width, 7)})
    network.to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=ON_GPU)
    scans = torch.randn(4, clouds, points, 3, device=DEVICE)
    wanted = torch.randn(clouds, points, 7, device=DEVICE)

    def find(moved: Tensor) -> Tensor:
        if mended:
            return torch.cdist(moved, moved).topk(near, largest=False).indices
        neighbors = [trees.cKDTree(cloud).query(cloud, near)[1] for cloud in moved.cpu().numpy()]
        return torch.from_numpy(np.stack(neighbors)).to(DEVICE)

    firsts = points * torch.arange(clouds, device=DEVICE)[:, None, None]
    loop.name = "bins {}"
    for number in loop:
        moved = scans[number % 4] + 0.1 * network["move"](scans[number % 4])
        with annotate("neighbors"):
            beside = (find(moved.detach()) + firsts).flatten()
        with annotate("edge_convolutions"):
            x = network["lift"](moved)
            for edge in edges:
                here = x[:, :, None].expand(-1, -1, near, -1)
                others = x.flatten(0, 1).index_select(0, beside).view(here.shape)
                pairs = torch.cat((others - here, here), -1)
                x = x + functional.silu(edge(pairs)).amax(2)
        learn(optimizer, functional.smooth_l1_loss(network["head"](x), wanted))


@program("step_outliers")
def echo_videos(loop: Loop, mended: bool) -> None:
    """Unpack the next shard of videos when one is used up, after five steps; mended, in threads, two shards ahead."""
    clips, frames, side, width = 32 // SMALL, 16, 112, 64 // SMALL
    folder, random = Path(tempfile.mkdtemp()), np.random.default_rng(74)
    for at in range(2):
        shape = (5, clips * frames, 1, side, side)
        np.savez_compressed(folder / f"{at}.npz", videos=random.poisson(2.0, shape).astype(np.uint8))

    def load(shard: int) -> Tensor:
        videos: NDArray[Any] = np.load(folder / f"{shard % 2}.npz")["videos"]
        return torch.from_numpy(videos)

    stages, given = [], 1
    for wide in (width, 2 * width, 4 * width):
        stages += [nn.Conv2d(given, wide, 3, 2, 1), nn.SiLU(), nn.Conv2d(wide, wide, 3, padding=1), nn.SiLU()]
        given = wide
    look: Any = nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten()).to(DEVICE)
    look.to(memory_format=torch.channels_last)
    beat = nn.GRU(given, given, batch_first=True).to(DEVICE)
    head = nn.Linear(given, 1).to(DEVICE)
    optimizer = torch.optim.AdamW([*look.parameters(), *beat.parameters(), *head.parameters()], fused=ON_GPU)
    wanted = torch.rand(clips, 1, device=DEVICE)
    with ThreadPoolExecutor(2) as pool:
        waiting = deque(pool.submit(load, shard) for shard in range(2 if mended else 0))
        shard = torch.empty(0)
        for number in iterate_without_ranges(loop):
            if number % 5 == 0:
                waiting.append(pool.submit(load, number // 5 + len(waiting)))
                shard = waiting.popleft().result()
            videos = pin(shard[number % 5]).to(DEVICE, non_blocking=True)
            for _ in range(3):  # three views of each video
                turned = torch.rot90(videos, number % 4, (2, 3)).contiguous(memory_format=torch.channels_last)
                with torch.autocast(DEVICE.type, torch.bfloat16):
                    seen = look(turned / 8.0).view(clips, frames, -1)
                    made = head(beat(seen)[0][:, -1])
                learn(optimizer, functional.mse_loss(made.float(), wanted))


@program("hot_kernel")
def back_projection(loop: Loop, mended: bool) -> None:
    """Compute sine and cosine of each angle again for each voxel in Numba; mended, read them from a table."""
    cuda = load_numba_cuda()

    side, wide, turns, slices = 512, 768, 720, 32
    half, middle, zero, one, tabled = np.float32(side / 2), np.float32(wide / 2), np.float32(0), np.float32(1), mended

    @cuda.jit
    def smear(views: Any, angles: Any, cosines: Any, sines: Any, made: Any) -> None:
        column, row = cuda.grid(2)
        level = cuda.blockIdx.z
        x, y, total = np.float32(column) - half, np.float32(row) - half, zero
        for at in range(turns):
            if tabled:
                cosine, sine = cosines[at], sines[at]
            else:
                cosine, sine = math.cos(angles[at]), math.sin(angles[at])
            place = x * cosine + y * sine + middle
            left = int(place)
            if 0 <= left < wide - 1:
                part = place - np.float32(left)
                total += (one - part) * views[level, at, left] + part * views[level, at, left + 1]
        made[level, row, column] = total

    angles = torch.linspace(0.0, math.pi, turns, device=DEVICE)
    tables = [cuda.as_cuda_array(table) for table in (angles, angles.cos(), angles.sin())]
    measured = torch.randn(slices, turns, wide, device=DEVICE)
    ramp = torch.fft.rfftfreq(wide, device=DEVICE)
    made = torch.empty(slices, side, side, device=DEVICE)
    volume, blocks = cuda.as_cuda_array(made), (side // 32, side // 8, slices)
    loop.name = "volume {}"
    for _ in loop:
        with annotate("filter"):
            views = torch.fft.irfft(torch.fft.rfft(measured) * ramp, n=wide).contiguous()
        with annotate("back_project"):
            smear[blocks, (32, 8)](cuda.as_cuda_array(views), *tables, volume)
        (made * (math.pi / turns)).clamp_(-1.0, 1.0)


@program("small_grid")
def heart_sounds(loop: Loop, mended: bool) -> None:
    """Level each recording by one program of a Triton kernel; mended, by 64 programs, each a part of it."""
    recordings, samples, width = 16, (1 << 23) // SMALL, 512
    parts, kernels = 64 if mended else 1, list[Any]()
    if ON_GPU:
        import triton
        from triton import language as tl

        @triton.jit  # Triton reads the annotations, and wants none of arrays
        def sum_up(sounds, sums, samples, part, wide: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            start = tl.program_id(0).to(tl.int64) * samples + tl.program_id(1) * part
            total = tl.zeros((wide,), dtype=tl.float32)
            squares = tl.zeros((wide,), dtype=tl.float32)
            for at in range(0, part, wide):
                x = tl.load(sounds + start + at + tl.arange(0, wide))
                total += x
                squares += x * x
            tl.atomic_add(sums + 2 * tl.program_id(0), tl.sum(total, axis=0))
            tl.atomic_add(sums + 2 * tl.program_id(0) + 1, tl.sum(squares, axis=0))

        @triton.jit
        def level(sounds, sums, made, samples, part, wide: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            start = tl.program_id(0).to(tl.int64) * samples + tl.program_id(1) * part
            mean = tl.load(sums + 2 * tl.program_id(0)) / samples
            square = tl.load(sums + 2 * tl.program_id(0) + 1) / samples
            scale = 1.0 / tl.sqrt(square - mean * mean + 1e-6)
            for at in range(0, part, wide):
                x = tl.load(sounds + start + at + tl.arange(0, wide))
                tl.store(made + start + at + tl.arange(0, wide), ((x - mean) * scale).to(tl.bfloat16))

        kernels += (sum_up, level)
    layers = nn.ModuleList(nn.Linear(width, width) for _ in range(8)).to(DEVICE, torch.bfloat16)
    sounds = torch.randn(recordings, samples, device=DEVICE)
    made = torch.empty(sounds.shape, device=DEVICE, dtype=torch.bfloat16)
    with torch.inference_mode():
        for _ in iterate_without_ranges(loop):
            sums = torch.zeros(recordings, 2, device=DEVICE)
            if kernels:
                kernels[0][(recordings, parts)](sounds, sums, samples, samples // parts, wide=2048)
                kernels[1][(recordings, parts)](sounds, sums, made, samples, samples // parts, wide=2048)
            else:
                made.copy_((sounds - sounds.mean(1, keepdim=True)) / sounds.std(1, keepdim=True))
            x = made.view(-1, width)
            for layer in layers:
                x = functional.relu(layer(x))
            x.view(recordings, -1, width).amax(1)


@program("os_blocking")
def triage_service(loop: Loop, mended: bool) -> None:
    """Sleep 20 ms before each batch for requests to gather; mended, only if fewer wait than a batch has."""
    size, length, width = 64 // SMALL, 512 // SMALL, 768 // SMALL
    kind = torch.bfloat16 if ON_GPU else torch.float32
    waiting: SimpleQueue[NDArray[Any]] = SimpleQueue()
    for patient in np.random.default_rng(75).integers(8192, size=((loop.total + 1) * size, length)):
        waiting.put(patient)
    words = nn.Embedding(8192, width).to(DEVICE, kind)
    blocks: Any = nn.Sequential(*(Block(width, 12 if ON_GPU else 2) for _ in range(8))).to(DEVICE, kind)
    run: Any = torch.compile(blocks) if ON_GPU else blocks
    head = nn.Linear(width, 5).to(DEVICE, kind)
    loop.name = "requests {}"
    with torch.inference_mode():
        for _ in loop:
            with annotate("gather"):
                if not mended or waiting.qsize() < size:
                    time.sleep(0.02)
                texts = pin(torch.from_numpy(np.stack([waiting.get() for _ in range(size)])))
            with annotate("urgency"):
                head(run(words(texts.to(DEVICE, non_blocking=True))).mean(1)).float().softmax(-1).cpu()

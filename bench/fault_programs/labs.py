"""Programs as laboratories, studios and small companies write them, with a fault each, to judge the rules: written by
somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.courses import pin
from bench.fault_programs.guides import score
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, load_numba_cuda, program, repeat_as_graph
from bench.fault_programs.mixed import make_layers
from bench.fault_programs.models import GPT, Denoiser, Stamps, Upscaler, sum_up
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning
from bench.fault_programs.training import learn


@program("input_made_between_steps")
def galaxy_shapes(loop: Loop, mended: bool) -> None:
    """Unpack and stretch the stamps of each batch before its step; mended, in threads, twelve batches ahead."""
    from torchvision.models import vgg16_bn

    size, stamps = 64 // SMALL, Stamps(168 if ON_GPU else 64)
    trunk: Any = vgg16_bn().features
    network: Any = nn.Sequential(trunk, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)).to(DEVICE)
    network.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    shapes = torch.randint(10, (size,), device=DEVICE)

    def make(number: int) -> Tensor:
        return pin(torch.from_numpy(np.stack([stamps.load(size * number + at) for at in range(size)])))

    ahead = 12 if mended else 0
    with ThreadPoolExecutor(12) as pool:
        waiting = deque(pool.submit(make, number) for number in range(ahead))
        for number in iterate_without_ranges(loop):
            if mended:
                waiting.append(pool.submit(make, number + ahead))
            batch = waiting.popleft().result() if mended else make(number)
            photos = batch.to(DEVICE, non_blocking=True, memory_format=torch.channels_last)
            with torch.autocast(DEVICE.type, torch.bfloat16):
                scores = network(photos)
            learn(optimizer, functional.cross_entropy(scores.float(), shapes))


@program("loss_read_each_step")
def monster_sprites(loop: Loop, mended: bool) -> None:
    """Read the loss of each microbatch of Accelerate for the progress bar; mended, all of them after the last step."""
    from accelerate import Accelerator

    size, side, kinds, random = 48 // SMALL, 128 // (1 if ON_GPU else 4), 500, np.random.default_rng(62)
    accelerator = Accelerator(mixed_precision="bf16" if ON_GPU else "no", cpu=not ON_GPU, gradient_accumulation_steps=4)
    network: Any = Denoiser(tuple(one // SMALL for one in (64, 128, 256, 512))).to(DEVICE)
    network.to(memory_format=torch.channels_last)
    optimizer: Any = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    network, optimizer = accelerator.prepare(network, optimizer)
    sprites = random.integers(16, size=(kinds, side, side), dtype=np.uint8)
    palettes = random.integers(256, size=(kinds, 16, 3), dtype=np.uint8)
    shares = torch.linspace(0.999, 0.01, 1000, device=DEVICE)
    losses: list[Any] = []

    def draw() -> Tensor:
        drawn = np.stack([palettes[at][sprites[at]] for at in random.integers(kinds, size=size)])
        return pin(torch.from_numpy(drawn)).to(DEVICE, non_blocking=True).permute(0, 3, 1, 2) / 127.5 - 1.0

    loop.name = "global_step {}"
    for _ in loop:
        for _ in range(4):
            with annotate("sprites"):
                clean = draw()
            with annotate("denoise"), accelerator.accumulate(network):
                noise, times = torch.randn_like(clean), torch.randint(1000, (size,), device=DEVICE)
                share = shares[times][:, None, None, None]
                made = network(share.sqrt() * clean + (1.0 - share).sqrt() * noise, times)
                loss = functional.mse_loss(made.float(), noise)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            with annotate("progress"):
                mean = accelerator.gather(loss.detach()).mean()
                losses.append(mean if mended else mean.item())
    torch.tensor(losses).mean()


@program("pageable_batches")
def ct_scans(loop: Loop, mended: bool) -> None:
    """Let Lightning send volumes that its loader leaves in ordinary memory; mended, with the loader's pin_memory."""
    import lightning

    size, side, width = (8, 40, 64) if ON_GPU else (2, 4, 8)

    class Nodules(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Linear(64, width)  # each patch has 4 by 4 by 4 voxels
            parts = [
                part
                for _ in range(8)
                for part in (nn.Conv3d(width, width, 3, padding=1, bias=False), nn.BatchNorm3d(width), nn.ReLU())
            ]
            trunk: Any = nn.Sequential(*parts)
            self.trunk, self.head = trunk.to(memory_format=torch.channels_last_3d), nn.Linear(width, 2)

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            cut = batch[0].view(-1, side, 4, side, 4, side, 4).permute(0, 1, 3, 5, 2, 4, 6).flatten(4)
            made = self.trunk(self.patches(cut).permute(0, 4, 1, 2, 3)).mean((2, 3, 4))
            return functional.cross_entropy(self.head(made).float(), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    volumes = [torch.randn(size, 1, 4 * side, 4 * side, 4 * side) for _ in range(3)]
    batches: Any = [[volumes[at % 3], torch.randint(2, (size,))] for at in range(loop.total)]
    loop.name = "scans {}"
    fit_with_lightning(loop, Nodules(), DataLoader(batches, batch_size=None, pin_memory=mended and ON_GPU))


@program("many_small_copies")
def gravitational_waves(loop: Loop, mended: bool) -> None:
    """Bring the signal of each detector channel to CuPy by a copy of its own; mended, all channels as one array."""
    import cupy

    channels, length = 2048, 4096
    random = np.random.default_rng(63)
    segments = [random.standard_normal((channels, length), dtype=np.float32) for _ in range(4)]
    parts = cupy.random.standard_normal((16, 8, length // 2 + 1, 2), dtype=cupy.float32)
    templates = parts.view(cupy.complex64)[..., 0]
    held = cupy.empty((channels, length), cupy.float32)
    for number in iterate_without_ranges(loop):
        segment = segments[number % 4]
        if mended:
            held.set(segment)
        else:
            for at, signal in enumerate(segment):
                held[at].set(signal)
        spectra = cupy.fft.rfft(held)
        loudest = cupy.zeros(channels, cupy.float32)
        for few in templates:
            matched = cupy.fft.irfft(spectra[:, None] * few, n=length)
            loudest = cupy.maximum(loudest, cupy.abs(matched).max(axis=(1, 2)))


@program("decoding_without_graph")
def arm_planner(loop: Loop, mended: bool) -> None:
    """Try out a robot's moves by an eager loop over the horizon for each command; mended, a CUDA graph replays it."""
    tries, horizon, joints = 1024 // SMALL, 32, 7
    parts = [part for shape in ((3 * joints, 256), (256, 256)) for part in (nn.Linear(*shape), nn.SiLU())]
    dynamics = nn.Sequential(*parts, nn.Linear(256, 2 * joints)).to(DEVICE)
    state, goal = torch.randn(1, 2 * joints, device=DEVICE), torch.randn(joints, device=DEVICE)
    plan, noise = (torch.zeros(horizon, count, joints, device=DEVICE) for count in (1, tries))
    torch.backends.cuda.matmul.allow_tf32 = True

    def move(states: Tensor, action: Tensor) -> Tensor:
        return torch.add(states, dynamics(torch.cat((states, action), 1)).tanh(), alpha=0.05)

    def command() -> None:
        actions = plan + 0.3 * noise.normal_()
        states, cost = state.expand(tries, -1), noise.new_zeros(tries)
        for action in actions.unbind():
            states = move(states, action)
            cost = cost + (states[:, :joints] - goal).square().sum(1) + 0.01 * action.square().sum(1)
        plan.copy_((functional.softmax(-cost, 0)[:, None] * actions).sum(1, keepdim=True))
        state.copy_(move(state, plan[0]))
        plan.copy_(plan.roll(-1, 0))

    with torch.no_grad():
        repeat = repeat_as_graph(command, wanted=mended)
        loop.name = "grasp {}"
        for _ in loop:
            for _ in range(12):
                with annotate("command"):
                    repeat()


@program("single_precision")
def ocean_emulator(loop: Loop, mended: bool) -> None:
    """Ask JAX for products of the "highest" precision, FP32, as forums advise; mended, for its default, TF32."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_default_matmul_precision", "default" if mended else "highest")
    columns, width, layers = (32_768, 2048, 6) if ON_GPU else (64, 32, 2)
    keys = jax.random.split(jax.random.key(64), layers + 1)
    weights = [jax.random.normal(key, (width, width)) / width**0.5 for key in keys[:layers]]
    ocean = jax.random.normal(keys[-1], (columns, width))

    def measure(weights: Any, ocean: Any) -> Any:
        x = ocean
        for one in weights:
            x = x + 0.1 * jax.nn.gelu(x @ one)
        return jnp.square(x[1:] - ocean[:-1]).mean()

    @jax.jit
    def update(weights: Any, ocean: Any) -> Any:
        slopes = jax.grad(measure)(weights, ocean)
        return [one - 0.01 * slope for one, slope in zip(weights, slopes, strict=True)]

    loop.name = "month {}"
    for number in loop:
        weights = update(weights, ocean)
        if number + 1 == loop.total:
            jax.block_until_ready(weights)


@program("attention_by_hand")
def satellite_archive(loop: Loop, mended: bool) -> None:
    """Embed pictures by SigLIP with Hugging Face's attention "eager", kept for its maps; mended, with "sdpa"."""
    from transformers import AutoModel, SiglipVisionConfig

    size, side, width = 48 // SMALL, 512 // (1 if ON_GPU else 8), 768 // SMALL
    config = SiglipVisionConfig(
        hidden_size=width, intermediate_size=4 * width, num_hidden_layers=12, num_attention_heads=12, image_size=side,
        patch_size=16,
    )  # fmt: skip
    with DEVICE:
        network: Any = AutoModel.from_config(config, attn_implementation="sdpa" if mended else "eager")
    network.to(DEVICE, torch.bfloat16).eval()
    scenes = torch.randn(2, size, 3, side, side, device=DEVICE, dtype=torch.bfloat16)
    archive = functional.normalize(torch.randn(200_000 // SMALL, width, device=DEVICE, dtype=torch.bfloat16))
    loop.name = "scenes {}"
    with torch.inference_mode():
        for number in loop:
            with annotate("embed"):
                made = network(pixel_values=scenes[number % 2]).pooler_output
            with annotate("search"):
                (functional.normalize(made) @ archive.T).topk(10)


@program("odd_vocabulary")
def next_songs(loop: Loop, mended: bool) -> None:
    """Score all 99,991 songs of a catalog for the next one; mended, with rows for 100,032, a multiple of 64."""
    songs, length, size = 99_991 // SMALL, 128 // (1 if ON_GPU else 8), 96 // SMALL
    network = GPT(2, 512 // SMALL, 8, length, -(-songs // 64) * 64 if mended else songs).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=ON_GPU)
    sessions = torch.randint(songs, (4, size, length + 1), device=DEVICE)
    for number in iterate_without_ranges(loop):
        learn(optimizer, score(network, sessions[number % 4]))


@program("allocation_in_each_step")
def old_films(loop: Loop, mended: bool) -> None:
    """Give cached memory back after each tile of a frame, as tools for small GPUs do; mended, keep it."""
    high, wide = 540 // SMALL, 640 // SMALL
    network: Any = Upscaler(64 // SMALL).to(DEVICE, torch.bfloat16).eval()
    network.to(memory_format=torch.channels_last)
    run: Any = torch.compile(network) if ON_GPU else network
    frames = torch.rand(3, 3, 2 * high, 3 * wide, device=DEVICE, dtype=torch.bfloat16)
    restored = torch.empty(3, 3, 4 * high, 6 * wide, device=DEVICE, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in iterate_without_ranges(loop):
            for frame, made in zip(frames, restored, strict=True):
                for at in range(6):
                    top, left = at // 3 * high, at % 3 * wide
                    tile = frame[None, :, top : top + high, left : left + wide]
                    finer = run(tile.contiguous(memory_format=torch.channels_last))[0]
                    made[:, 2 * top : 2 * (top + high), 2 * left : 2 * (left + wide)] = finer
                    del tile, finer
                    if not mended:
                        torch.cuda.empty_cache()


@program("optimizer_per_parameter")
def handwriting(loop: Loop, mended: bool) -> None:
    """Update the leaves of a model of JAX by Adam outside of jit, a kernel for each operation; mended, within jit."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax import numpy as jnp

    rows, width, blocks = (16_384, 512, 24) if ON_GPU else (32, 16, 2)
    shapes = [(width, 2 * width), (2 * width,), (2 * width, width), (width,)] * blocks
    keys = jax.random.split(jax.random.key(65), len(shapes) + 1)
    weights = tuple(0.03 * jax.random.normal(key, shape) for key, shape in zip(keys[1:], shapes, strict=True))
    lines = jax.random.normal(keys[0], (rows, width))
    means = squares = tuple(jnp.zeros(shape) for shape in shapes)

    def measure(weights: Any, lines: Any) -> Any:
        x = lines
        for at in range(0, len(weights), 4):
            up, lift, down, shift = weights[at : at + 4]
            x = x + jax.nn.gelu(x @ up + lift) @ down + shift
        return jnp.square(x - lines).mean()

    def adapt(weight: Any, slope: Any, mean: Any, square: Any) -> Any:
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope * slope
        return weight - 0.001 * mean / (jnp.sqrt(square) + 1e-8), mean, square

    def adapt_all(*lists: Any) -> Any:
        return tuple(zip(*(adapt(*four) for four in zip(*lists, strict=True)), strict=True))

    find_slopes, update = jax.jit(jax.grad(measure)), jax.jit(adapt_all) if mended else adapt_all
    loop.name = "pages {}"
    for number in loop:
        for _ in range(2):
            weights, means, squares = update(weights, find_slopes(weights, lines), means, squares)
        if number + 1 == loop.total:
            jax.block_until_ready(weights)


@program("many_synchronizations")
def wave_tank(loop: Loop, mended: bool) -> None:
    """Wait for each kernel of Numba by cuda.synchronize(), as first tutorials do; mended, at the end of each second."""
    cuda = load_numba_cuda()

    side, pull, depth = 2048, np.float32(0.02), np.float32(0.4)

    @cuda.jit
    def push(height: Any, east: Any, north: Any) -> None:
        column, row = cuda.grid(2)
        if 0 < row < side - 1 and 0 < column < side - 1:
            here = height[row, column]
            east[row, column] -= pull * (height[row, column + 1] - here)
            north[row, column] -= pull * (height[row + 1, column] - here)

    @cuda.jit
    def flow(height: Any, east: Any, north: Any) -> None:
        column, row = cuda.grid(2)
        if 0 < row < side - 1 and 0 < column < side - 1:
            gone = east[row, column] - east[row, column - 1] + north[row, column] - north[row - 1, column]
            height[row, column] -= depth * gone

    drop = np.zeros((side, side), np.float32)
    drop[side // 3 : side // 2, side // 3 : side // 2] = 1.0
    height, east, north = (cuda.to_device(one) for one in (drop, 0.0 * drop, 0.0 * drop))
    blocks, threads = (side // 32, side // 8), (32, 8)
    loop.name = "second {}"
    for _ in loop:
        for _ in range(400):
            for kernel in (push, flow):
                kernel[blocks, threads](height, east, north)
                if not mended:
                    cuda.synchronize()
        cuda.synchronize()


@program("python_between_launches")
def drone_race(loop: Loop, mended: bool) -> None:
    """Sum up the advantages of each game number by number in Python; mended, of all games at once by NumPy."""
    games, moves, width, random = 1024 // SMALL, 64, 1024 // SMALL, np.random.default_rng(66)
    torch.backends.cuda.matmul.allow_tf32 = True
    actor, critic = (nn.Sequential(make_layers(width, 3), nn.Linear(width, made)).to(DEVICE) for made in (8, 1))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-4, fused=ON_GPU)
    seen = torch.randn(moves * games, width, device=DEVICE)
    chosen = torch.randint(8, (moves * games, 1), device=DEVICE)
    rewards = random.standard_normal((moves, games), dtype=np.float32)
    lasts = (random.random((moves, games)) < 0.98).astype(np.float32)

    def advance(values: Tensor) -> Tensor:
        if mended:
            return torch.from_numpy(np.stack(sum_up(rewards, lasts, values.cpu().numpy())))
        games = zip(rewards.T.tolist(), lasts.T.tolist(), values.T.tolist(), strict=True)
        return torch.tensor([sum_up(*game) for game in games]).T.contiguous()

    loop.name = "iteration {}"
    for _ in loop:
        with annotate("evaluate"), torch.no_grad():
            values, before = critic(seen), functional.log_softmax(actor(seen), -1).gather(1, chosen)
        with annotate("advantages"):
            gains = advance(values.view(moves, games)).to(DEVICE).view(-1, 1)
        with annotate("learn"):
            for few in torch.randperm(2 * moves * games, device=DEVICE).remainder(moves * games).chunk(16):
                ratio = (functional.log_softmax(actor(seen[few]), -1).gather(1, chosen[few]) - before[few]).exp()
                gain = gains[few]
                policy = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
                learn(optimizer, policy + functional.mse_loss(critic(seen[few]), gain + values[few]))


@program("shapes_that_recompile")
def dialogs(loop: Loop, mended: bool) -> None:
    """Give a Triton kernel batches of any length, a constexpr of it; mended, padded to multiples of 256."""
    people, room, width, layers = 256 // SMALL, 1024 // SMALL, 1024 // SMALL, 12
    spoken = torch.randn(people, room, width, device=DEVICE, dtype=torch.bfloat16)
    weights = torch.randn(layers, width, width, device=DEVICE, dtype=torch.bfloat16) * 0.03
    decays = torch.rand(layers, width, device=DEVICE)
    kernel: Any = None
    if ON_GPU:
        os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()  # else it would find what an earlier run compiled
        import triton
        from triton import language as tl

        @triton.jit  # Triton reads the annotations, and wants none of arrays
        def remember(x, decays, made, length: tl.constexpr, width: tl.constexpr, wide: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            columns = tl.program_id(0) * wide + tl.arange(0, wide)
            decay = tl.load(decays + columns)
            state = tl.zeros((wide,), dtype=tl.float32)
            for place in range(length):
                at = (tl.program_id(1) * length + place) * width + columns
                state = decay * state + (1.0 - decay) * tl.load(x + at).to(tl.float32)
                tl.store(made + at, state.to(tl.bfloat16))

        kernel = remember

    def mix(x: Tensor, decays: Tensor) -> Tensor:
        made, state = torch.empty_like(x), torch.zeros_like(x[:, 0])
        if kernel is not None:
            kernel[(width // 128, people)](x, decays, made, length=x.shape[1], width=width, wide=128, num_warps=1)
            return made
        for place in range(x.shape[1]):
            state = (decays * state + (1.0 - decays) * x[:, place]).to(x.dtype)
            made[:, place] = state
        return made

    loop.steps, loop.warmup, loop.name = 12, 3, "turns {}"
    with torch.inference_mode():
        for number in loop:
            length = ((760 if number % 2 else 1020) - 13 * (number // 2)) // SMALL
            x = spoken[:, : -(-length // 256) * 256 if mended else length].contiguous()
            for weight, decay in zip(weights, decays, strict=True):
                x = functional.rms_norm(x + mix(x @ weight, decay), (width,))
            x[:, :length].mean(1)


@program("contended_atomics")
def complex_folding(loop: Loop, mended: bool) -> None:
    """Add each row to the slopes of a norm's weights by atomics of Triton; mended, the sums of tiles of 16 rows."""
    side, wide, tall, blocks = 768 // SMALL, 128, 16, 8
    kernel: Any = None
    if ON_GPU:
        import triton
        from triton import language as tl

        @triton.jit  # Triton reads the annotations, and wants none of arrays
        def norm_back(x, slopes, scales, made, sums, summed: tl.constexpr, wide: tl.constexpr, tall: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            columns = tl.arange(0, wide)[None, :]
            at = (tl.program_id(0) * tall + tl.arange(0, tall))[:, None] * wide + columns
            value, slope = tl.load(x + at).to(tl.float32), tl.load(slopes + at).to(tl.float32)
            centered = value - tl.sum(value, axis=1)[:, None] / wide
            spread = 1.0 / tl.sqrt(tl.sum(centered * centered, axis=1)[:, None] / wide + 1e-5)
            normed, wanted = centered * spread, slope * tl.load(scales + columns).to(tl.float32)
            both = tl.sum(wanted, axis=1)[:, None] + normed * tl.sum(wanted * normed, axis=1)[:, None]
            tl.store(made + at, ((wanted - both / wide) * spread).to(tl.bfloat16))
            if summed:
                tl.atomic_add(sums + columns, tl.sum(slope * normed, axis=0)[None, :])
                tl.atomic_add(sums + wide + columns, tl.sum(slope, axis=0)[None, :])
            else:
                places = columns + tl.zeros((tall, 1), dtype=tl.int32)
                tl.atomic_add(sums + places, slope * normed)
                tl.atomic_add(sums + wide + places, slope)

        kernel = norm_back

    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, scales: Tensor, shifts: Tensor) -> Tensor:
            ctx.save_for_backward(x, scales)
            return functional.layer_norm(x, (wide,), scales, shifts)

        @staticmethod
        def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor, ...]:
            x, scales = ctx.saved_tensors
            made, sums = torch.empty_like(x), torch.zeros(2, wide, device=DEVICE)
            given = (x, slopes.contiguous(), scales, made, sums)
            kernel[(side * side // tall,)](*given, summed=mended, wide=wide, tall=tall)
            return made, *sums.to(scales.dtype).unbind()

    normalize: Any = Norm.apply
    norms = nn.ModuleList(nn.LayerNorm(wide) for _ in range(blocks))
    inward = nn.ModuleList(nn.Linear(wide, 2 * wide) for _ in range(blocks))
    outward = nn.ModuleList(nn.Linear(wide, wide) for _ in range(blocks))
    network = nn.ModuleList((norms, inward, outward)).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    chains = torch.randn(side, side, wide, device=DEVICE, dtype=torch.bfloat16)
    loop.name = "recycle {}"
    for _ in loop:
        pair = chains
        for norm, into, out in zip(norms, inward, outward, strict=True):
            with annotate("triangle"):
                normed = normalize(pair, norm.weight, norm.bias) if ON_GPU else norm(pair)
                left, right = into(normed).sigmoid().chunk(2, -1)
                pair = pair + out(torch.einsum("ikc,jkc->ijc", left, right) / side)
        with annotate("backward_and_update"):
            learn(optimizer, (pair - chains).float().square().mean())

"""Programs as factories, utilities and carriers write them, with a fault each, to judge the rules: written by somebody
who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import tempfile
import threading
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.models import Block
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning
from bench.fault_programs.training import learn


class LegLayer(nn.Module):
    """A layer of a decoder that holds the keys and values of the legs so far, in a buffer if there is room for more."""

    def __init__(self, width: int, heads: int, past: Tensor, room: int) -> None:
        super().__init__()
        self.heads, self.room, self.filled = heads, room, past.shape[2]
        self.past = functional.pad(past, (0, 0, 0, 0, 0, room))
        self.keys, self.values = self.past.unbind(0)
        self.norm, self.inward, self.outward = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def restart(self) -> None:
        """Forget the legs after those of the past."""
        self.filled = self.past.shape[2] - self.room
        self.keys, self.values = self.past.unbind(0)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.inward(self.norm(x)).view(len(x), 1, 3, self.heads, -1).unbind(2)
        if self.room:
            self.keys[:, self.filled], self.values[:, self.filled] = key[:, 0], value[:, 0]
        else:
            self.keys, self.values = torch.cat((self.keys, key), 1), torch.cat((self.values, value), 1)
        self.filled += 1
        keys, values = (one[:, : self.filled].transpose(1, 2) for one in (self.keys, self.values))
        seen = functional.scaled_dot_product_attention(query.transpose(1, 2), keys, values)
        return torch.add(x, self.outward(seen.transpose(1, 2).flatten(2)))


@program("cache_grown_by_concatenation")
def arrival_times(loop: Loop, mended: bool) -> None:
    """Attend to the legs of each truck by modules that join each new one to theirs; mended, write it into a buffer."""
    trucks, heads, length, legs = 48 // SMALL, 16, 2048 // SMALL, 16 // (1 if ON_GPU else 4)
    width, hours = 64 * heads, 192
    kind = torch.bfloat16 if ON_GPU else torch.float32
    pasts = torch.randn(6, 2, trucks, length, heads, 64, device=DEVICE, dtype=kind)
    layers = [LegLayer(width, heads, past, legs if mended else 0).to(DEVICE, kind) for past in pasts]
    places, head = nn.Embedding(hours, width).to(DEVICE, kind), nn.Linear(width, hours).to(DEVICE, kind)
    starts = torch.randint(hours, (4, trucks, 1), device=DEVICE)
    loop.name = "fleet {}"
    with torch.inference_mode():
        for number in loop:
            hour, arrivals = starts[number % 4], []
            for layer in layers:
                layer.restart()
            with annotate("predict_legs"):
                for _ in range(legs):
                    x = places(hour)
                    for layer in layers:
                        x = layer(x)
                    hour = head(x).argmax(-1)
                    arrivals.append(hour)
            torch.cat(arrivals, 1).float().mean(1)


@program("memory_that_grows")
def slab_cooling(loop: Loop, mended: bool) -> None:
    """Keep the temperatures of a slab at all times in a deque of CuPy's arrays; mended, those of the last 32 times."""
    import cupy

    high, wide, times, window = 2048, 3072, 100, 32
    conduct = cupy.ElementwiseKernel(
        "T here, T up, T down, T left, T right", "T made",
        "made = here + (T)0.2 * (up + down + left + right - (T)4 * here)", "conduct",
    )  # fmt: skip
    heat = cupy.random.random((high, wide), dtype=cupy.float32)
    history = deque[Any](maxlen=window if mended else None)
    peaks: list[Any] = []
    loop.name = "cast meter {}"
    for _ in loop:
        with annotate("conduction"):
            for _ in range(times):
                for _ in range(3):
                    later = heat.copy()
                    conduct(
                        heat[1:-1, 1:-1], heat[:-2, 1:-1], heat[2:, 1:-1], heat[1:-1, :-2], heat[1:-1, 2:],
                        later[1:-1, 1:-1],
                    )  # fmt: skip
                    heat = later
                history.append(heat)
        with annotate("thermal_stress"):
            peaks.append(cupy.abs(history[-1] - history[-window]).max())
    cupy.stack(peaks).get()


@program("os_blocking")
def turbine_vibrations(loop: Loop, mended: bool) -> None:
    """Read each batch from the pipe of gzip when it is its turn; mended, in a thread that is two batches ahead."""
    turbines, samples, width = 64 // SMALL, 16_384 // SMALL, 1024 // SMALL
    kind, random = torch.bfloat16 if ON_GPU else torch.float32, np.random.default_rng(81)
    path = Path(tempfile.mkdtemp()) / "vibrations.gz"
    packed = gzip.compress(random.integers(-40, 40, (turbines, samples)).astype(np.int16).tobytes(), 1)
    path.write_bytes(packed * loop.total)
    lift = nn.Linear(256, width).to(DEVICE, kind)
    blocks = nn.Sequential(*(Block(width, 16) for _ in range(24 if ON_GPU else 2))).to(DEVICE, kind)
    head = nn.Linear(width, 12).to(DEVICE, kind)
    ready = Queue[Tensor](2)
    loop.name = "minute {}"
    with subprocess.Popen(["gzip", "-dc", str(path)], stdout=subprocess.PIPE) as unpacker, torch.inference_mode():
        pipe: Any = unpacker.stdout

        def read() -> Tensor:
            batch = torch.empty(turbines, samples, dtype=torch.int16, pin_memory=ON_GPU)
            pipe.readinto(batch.numpy())
            return batch

        def read_all() -> None:
            for _ in range(loop.total):
                ready.put(read())

        if mended:
            threading.Thread(target=read_all, daemon=True).start()
        for _ in loop:
            with annotate("fetch"):
                signals = (ready.get() if mended else read()).to(DEVICE, non_blocking=True)
            with annotate("diagnose"):
                windows = (signals.to(kind) / 32.0).unfold(1, 256, 64)
                alarms = head(blocks(lift(windows)).mean(1)).sigmoid()
            with annotate("raise_alarms"):
                alarms.float().cpu().numpy().max(0)


@program("checkpointing_without_need")
def wafer_traces(loop: Loop, mended: bool) -> None:
    """Wrap the blocks of a network in jax.checkpoint and each four of them again, on an empty GPU; mended, neither."""
    import jax
    from jax import numpy as jnp

    traces, width, count = (8192, 2048, 4) if ON_GPU else (32, 16, 2)
    keys = jax.random.split(jax.random.key(82), 4 * count + 1)

    def make(shape: tuple[int, int], number: int) -> Any:
        return 0.02 * jax.random.normal(keys[number], shape, jnp.bfloat16)

    pairs = [(make((width, 4 * width), 2 * at), make((4 * width, width), 2 * at + 1)) for at in range(2 * count)]
    stages = [pairs[:count], pairs[count:]]
    readings = jax.random.normal(keys[-1], (traces, width), jnp.bfloat16)
    wrap: Any = (lambda given: given) if mended else jax.checkpoint

    def run_block(x: Any, weights: Any) -> Any:
        up, down = weights
        scaled = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
        return x + jax.nn.gelu(scaled @ up) @ down

    def run_stage(x: Any, stage: Any) -> Any:
        for weights in stage:
            x = wrap(run_block)(x, weights)
        return x

    def measure(stages: Any, readings: Any) -> Any:
        x = readings
        for stage in stages:
            x = wrap(run_stage)(x, stage)
        return jnp.square((x - jnp.roll(readings, 1, 0)).astype(jnp.float32)).mean()

    @jax.jit
    def update(stages: Any, readings: Any) -> Any:
        slopes = jax.grad(measure)(stages, readings)
        return jax.tree.map(lambda one, slope: one - 1e-3 * slope, stages, slopes)

    loop.name = "lot {}"
    for number in loop:
        with annotate("update"):
            stages = update(stages, readings)
        if number + 1 == loop.total:
            jax.block_until_ready(stages)


def make_sweep(field: Tensor, charge: Tensor) -> Callable[[int], None]:
    """Return a function that relaxes the points of one of two colors, by a Triton kernel if there is a GPU."""
    side = len(field)
    if ON_GPU:
        import triton
        from triton import language as tl

        @triton.jit  # Triton reads the annotations, and wants none of arrays
        def relax(field, charge, color, side, wide: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            row = tl.program_id(0) + 1
            column = tl.program_id(1) * wide + tl.arange(0, wide)
            inside = (column > 0) & (column < side - 1) & ((row + column) % 2 == color)
            here = row * side + column
            beside = tl.load(field + here - 1, mask=inside) + tl.load(field + here + 1, mask=inside)
            across = tl.load(field + here - side, mask=inside) + tl.load(field + here + side, mask=inside)
            given = tl.load(charge + here, mask=inside)
            tl.store(field + here, 0.25 * (beside + across + given), mask=inside)

        launch: Any = relax
        return lambda color: launch[(side - 2, -(-side // 1024))](field, charge, color, side, wide=1024)

    place = torch.arange(side)

    def sweep(color: int) -> None:
        around = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:] + charge[1:-1, 1:-1]
        chosen = ((place[1:-1, None] + place[1:-1]) % 2) == color
        field[1:-1, 1:-1] = torch.where(chosen, 0.25 * around, field[1:-1, 1:-1])

    return sweep


@program("many_synchronizations")
def busbar_field(loop: Loop, mended: bool) -> None:
    """Wait for the event after each sweep over a field to log its time; mended, read all times after the last step."""
    side, sweeps = 3072 // SMALL, 400 // SMALL
    field, charge = torch.zeros(side, side, device=DEVICE), torch.rand(side, side, device=DEVICE)
    sweep = make_sweep(field, charge)
    marks: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
    times: list[float] = []
    for _ in iterate_without_ranges(loop):
        for number in range(sweeps):
            if not ON_GPU:
                sweep(number % 2)
                continue
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            start.record()
            sweep(number % 2)
            end.record()
            if mended:
                marks.append((start, end))
            else:
                end.synchronize()
                times.append(start.elapsed_time(end))
        charge.mul_(0.999)
    times += [start.elapsed_time(end) for start, end in marks]


@program("round_trips")
def phone_denoiser(loop: Loop, mended: bool) -> None:
    """Put the states of all phone lines back on the host after each packet; mended, leave them on the GPU."""
    lines, frames, tones, width = 1024 // SMALL, 24 // (1 if ON_GPU else 8), 257, 1024 // SMALL
    memory = nn.GRU(tones, width, 4, batch_first=True).to(DEVICE)
    mask = nn.Linear(width, tones).to(DEVICE)
    packets = torch.rand(4, lines, frames, tones, device=DEVICE)
    sessions = {"states": torch.zeros(4, lines, width, device=DEVICE if mended else "cpu")}
    with torch.inference_mode():
        for _ in iterate_without_ranges(loop):
            for packet in packets:
                heard, states = memory(packet, sessions["states"].to(DEVICE))
                sessions["states"] = states if mended else states.cpu()
                (packet * mask(heard).sigmoid()).square().mean((1, 2))


class ScanLayer(nn.Module):
    """A layer over the features of each point, as a convolution over the points or as a product."""

    def __init__(self, width: int, *, convolve: bool) -> None:
        super().__init__()
        self.convolve = convolve
        self.mix: nn.Module = nn.Conv1d(width, width, 1) if convolve else nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        given = x.transpose(1, 2).contiguous() if self.convolve else x
        made = self.mix(given)
        mixed = made.transpose(1, 2).contiguous() if self.convolve else made
        return x + functional.relu(self.norm(mixed))


@program("layout_conversions")
def casting_scans(loop: Loop, mended: bool) -> None:
    """Mix the features of points by Conv1d of size 1, so that all are transposed twice a layer; mended, by Linear."""
    import lightning

    castings, points, width = 16 // (1 if ON_GPU else 8), 16_384 // SMALL, 256 // SMALL

    class Inspector(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.lift, self.head = nn.Linear(3, width), nn.Linear(width, 9)
            self.layers = nn.Sequential(*(ScanLayer(width, convolve=not mended) for _ in range(12)))

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            with annotate("point_features"):
                x = self.layers(self.lift(batch[0]))
            with annotate("defect_loss"):
                return functional.cross_entropy(self.head(x.amax(1)).float(), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-3, fused=ON_GPU)

    scans = torch.randn(castings, points, 3, device=DEVICE)
    batches: Any = [[scans, torch.randint(9, (castings,), device=DEVICE)]] * loop.total
    loop.name = "pallet {}"
    fit_with_lightning(loop, Inspector(), DataLoader(batches, batch_size=None))


@program("decoding_one_by_one")
def outage_tickets(loop: Loop, mended: bool) -> None:
    """Answer the tickets of a queue one at a time by a Llama and its cache; mended, those that wait together."""
    from transformers import LlamaConfig, LlamaForCausalLM

    width, words = 1024 // SMALL, 16_384 // SMALL
    config = LlamaConfig(
        hidden_size=width, intermediate_size=4 * width, num_hidden_layers=6, num_attention_heads=16,
        num_key_value_heads=8, vocab_size=words,
    )  # fmt: skip
    with DEVICE:
        network: Any = LlamaForCausalLM(config)
    network.to(DEVICE, torch.bfloat16).eval()
    tickets = torch.randint(words, (4, 3, 256), device=DEVICE)

    def answer(few: Tensor) -> Tensor:
        generated, cache, tokens = [], None, few
        for _ in range(8):
            made = network(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
            cache, tokens = made.past_key_values, made.logits[:, -1:].argmax(-1)
            generated.append(tokens)
        return torch.cat(generated, 1)

    loop.name = "tickets {}"
    with torch.inference_mode():
        for number in loop:
            waiting = deque(tickets[number % 4].chunk(1 if mended else 3))
            while waiting:
                with annotate("answer"):
                    answer(waiting.popleft()).cpu()


@program("few_cores")
def parcel_labels(loop: Loop, mended: bool) -> None:
    """Unpack scans by twelve threads in a job that was given two cores; mended, in one that has them all."""
    if not mended:  # what `taskset --cpu-list 0,1` or `--cpus-per-task=2` in the job's script does
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    size, side, width, random = 32 // SMALL, 1024 // (1 if ON_GPU else 4), 128 // SMALL, np.random.default_rng(83)
    files = [zlib.compress(random.poisson(6.0, (side, side)).astype(np.uint8).tobytes(), 1) for _ in range(16)]
    parts = [
        part
        for _ in range(16)
        for part in (nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
    ]
    network: Any = nn.Sequential(
        nn.Conv2d(1, width, 4, 4), *parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 40)
    ).to(DEVICE)
    network.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=ON_GPU)
    depots = torch.randint(40, (size,), device=DEVICE)

    def unpack(number: int, made: Tensor) -> None:
        scan = np.frombuffer(zlib.decompress(files[number % 16]), np.uint8).reshape(side, side)
        made.copy_(torch.from_numpy(np.maximum(scan[::2, ::2], scan[1::2, 1::2])))

    with ThreadPoolExecutor(12) as pool:

        def order(number: int) -> tuple[Tensor, list[Future[None]]]:
            scans = torch.empty(size, 1, side // 2, side // 2, dtype=torch.uint8, pin_memory=ON_GPU)
            return scans, [pool.submit(unpack, number + row, scan[0]) for row, scan in enumerate(scans)]

        ordered = order(0)
        for number in iterate_without_ranges(loop):
            scans, unpacked = ordered
            for one in unpacked:
                one.result()
            ordered = order(number + 1)  # while the GPU works on these
            given = scans.to(DEVICE, non_blocking=True).to(memory_format=torch.channels_last)
            with torch.autocast(DEVICE.type, torch.bfloat16):
                made = network(given / 16.0)
            learn(optimizer, functional.cross_entropy(made.float(), depots))

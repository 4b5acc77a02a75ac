"""Programs of many trades and libraries, to judge the rules: written by
somebody who knew the names of the rules and had read none of them.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.field import make_language_model
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, load_numba_cuda, program
from bench.fault_programs.mixed import make_layers
from bench.fault_programs.models import DiffusionBlock, Interaction, Muon, Windows, expand, measure_area
from bench.fault_programs.services import Reviews, iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning, train_with_hugging_face
from bench.fault_programs.training import learn


@program("low_precision_unused")
def meeting_notes(loop: Loop, mended: bool) -> None:
    """Embed speech by Whisper's encoder in FP32, its products in TF32; mended, all of it in BF16."""
    from transformers import WhisperConfig, WhisperModel

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    kind = torch.bfloat16 if mended else torch.float32
    config = WhisperConfig(
        vocab_size=8192, d_model=1024 // SMALL, encoder_layers=12, encoder_attention_heads=16,
        encoder_ffn_dim=4096 // SMALL, decoder_layers=1, decoder_attention_heads=16, decoder_ffn_dim=1024 // SMALL,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    encoder = WhisperModel(config).encoder.to(DEVICE, kind).eval()
    clips = [torch.randn(8, 80, 3000, device=DEVICE) for _ in range(3)]
    with torch.inference_mode():
        for number in iterate_without_ranges(loop):
            encoder(clips[number % 3].to(kind)).last_hidden_state.mean(1)


@program("tokens_recomputed")
def support_bot(loop: Loop, mended: bool) -> None:
    """Prefill the whole conversation in each turn; mended, keep its cache and prefill the new tokens alone."""
    network = make_language_model("Llama", 2048 // SMALL).eval()
    people, known, new = 16, 1536 // SMALL, 64
    turns = torch.randint(8192, (people, known + new), device=DEVICE)

    def answer(tokens: Tensor, cache: Any) -> Any:
        made = network(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
        for _ in range(10):
            token = made.logits[:, -1:].argmax(-1)
            made = network(input_ids=token, past_key_values=made.past_key_values, use_cache=True)
        return made.past_key_values

    loop.name = "turn {}"
    with torch.inference_mode():
        past = network(input_ids=turns[:, :known], use_cache=True, logits_to_keep=1).past_key_values if mended else None
        for _ in loop:
            if past is None:
                answer(turns, None)
            else:
                past = answer(turns[:, known:], past)
                past.crop(known)


@program("host_work")
def copywriter(loop: Loop, mended: bool) -> None:
    """Forbid three words to repeat, which generate looks up in dicts of Python; mended, by a penalty on the GPU."""
    network = make_language_model("Qwen2", 1024 // SMALL).eval()
    briefs = torch.randint(1, 8192, (24, 512 // SMALL), device=DEVICE)
    against: dict[str, Any] = {"repetition_penalty": 1.2} if mended else {"no_repeat_ngram_size": 3}
    for _ in iterate_without_ranges(loop):
        mask = torch.ones_like(briefs)
        network.generate(
            briefs, attention_mask=mask, max_new_tokens=12, do_sample=False, pad_token_id=0, **against
        )  # fmt: skip


@program("copies_exceed_compute")
def traffic_cameras(loop: Loop, mended: bool) -> None:
    """Send frames to the GPU as floats, four bytes a color; mended, as the bytes they are, to be converted there."""
    from torchvision.models import resnet18

    network: Any = resnet18(num_classes=16).eval()
    network.to(DEVICE, torch.bfloat16).to(memory_format=torch.channels_last)
    seen = [torch.randint(256, (16, 3, 1080 // SMALL, 1920 // SMALL), dtype=torch.uint8) for _ in range(2)]
    frames = seen if mended else [one.float() / 255.0 for one in seen]
    if ON_GPU:
        frames = [one.pin_memory() for one in frames]
    with torch.inference_mode():
        for number in iterate_without_ranges(loop):
            batch = frames[number % 2].to(DEVICE, non_blocking=True)
            if mended:
                batch = batch.float() / 255.0
            small = functional.interpolate(batch, (360, 640), mode="bilinear")
            network(small.to(torch.bfloat16, memory_format=torch.channels_last))


@program("sync_per_layer")
def calibration(loop: Loop, mended: bool) -> None:
    """Keep the largest activation of each layer as a number of Python, to quantize by; mended, on the GPU."""
    width = 1024 // SMALL
    layers = [nn.Linear(width, width).to(DEVICE, torch.bfloat16) for _ in range(64)]
    texts = torch.randn(8192 // SMALL, width, device=DEVICE, dtype=torch.bfloat16)
    limits: list[Any] = [torch.zeros((), device=DEVICE, dtype=torch.bfloat16) if mended else 0.0 for _ in layers]
    loop.name = "calibrate {}"
    with torch.inference_mode():
        for _ in loop:
            made = texts
            for at, layer in enumerate(layers):
                with annotate(f"layer_{at}"):
                    made = functional.gelu(layer(made))
                    largest = made.abs().amax()
                    limits[at] = torch.maximum(limits[at], largest) if mended else max(limits[at], largest.item())


@program("optimizer_per_parameter")
def muon(loop: Loop, mended: bool) -> None:
    """Update a small language model by Muon, matrix by matrix; mended, those of one shape in batched products."""
    from accelerate import Accelerator

    width = 512 // SMALL
    layers = (
        nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True, norm_first=True) for _ in range(16)
    )
    network: Any = nn.Sequential(nn.Embedding(8192, width), *layers, nn.Linear(width, 8192))
    accelerator = Accelerator(mixed_precision="bf16" if ON_GPU else "no", cpu=not ON_GPU)
    network = accelerator.prepare(network)
    matrices = [one for layer in network[1:-1] for one in layer.parameters() if one.ndim == 2]
    taken = {id(one) for one in matrices}
    others = [one for one in network.parameters() if id(one) not in taken]
    slow = accelerator.prepare(Muon(matrices, 1e-3, together=mended))
    fast = accelerator.prepare(torch.optim.AdamW(others, lr=1e-4, fused=ON_GPU))
    tokens = torch.randint(8192, (16, 512 // SMALL), device=DEVICE)
    loop.name = "pretrain step {}"
    for _ in loop:
        with annotate("forward_backward"):
            logits = network(tokens[:, :-1])
            accelerator.backward(functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()))
        with annotate("optimizer"):
            for optimizer in (slow, fast):
                optimizer.step()
                optimizer.zero_grad()


@program("round_trips")
def wind_tunnel(loop: Loop, mended: bool) -> None:
    """Set the edges of a field in NumPy, since arrays of JAX can not be assigned to; mended, by its at[].set."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax import numpy as jnp

    side = 2048 if ON_GPU else 64

    def relax(_: Any, u: Any) -> Any:
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return 0.2 * u + 0.2 * around

    @jax.jit
    def solve(u: Any) -> Any:
        return jax.lax.fori_loop(0, 150, relax, u)

    @jax.jit
    def set_edges(u: Any) -> Any:
        return u.at[0].set(u[1]).at[-1].set(u[-2]).at[:, 0].set(1.0).at[:, -1].set(u[:, -2])

    u: Any = jax.random.uniform(jax.random.PRNGKey(1), (side, side))
    loop.name = "time step {}"
    for _ in loop:
        with annotate("pressure"):
            u = solve(u)
        with annotate("boundary"):
            if mended:
                u = set_edges(u)
            else:
                host = np.array(u)
                host[0], host[-1], host[:, 0], host[:, -1] = host[1], host[-2], 1.0, host[:, -2]
                u = jnp.asarray(host)
        u.block_until_ready()


@program("no_overlap")
def seismic_lines(loop: Loop, mended: bool) -> None:
    """Copy a line of a survey, filter it and copy it back, then the next one; mended, three at a time on streams."""
    import cupy
    import cupyx

    traces, length, count = 4096, 4096, 6
    fir = cupy.ElementwiseKernel(
        "raw float32 seen, raw float32 taps, int32 count, int32 length", "float32 made",
        """int at = i % length;
        int most = at + 1 < count ? at + 1 : count;
        float sum = 0.0f;
        for (int k = 0; k < most; ++k) sum += taps[k] * seen[i - k];
        made = sum;""",
        "fir",
    )  # fmt: skip
    taps = cupy.hanning(255).astype(cupy.float32)
    noise = np.random.default_rng(6).standard_normal((traces, length), dtype=np.float32)
    lines, cleaned = ([cupyx.empty_pinned((traces, length), np.float32) for _ in range(count)] for _ in range(2))
    for line in lines:
        line[...] = noise
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3 if mended else 1)]
    given, made = ([cupy.empty((traces, length), cupy.float32) for _ in streams] for _ in range(2))
    cupy.cuda.Device().synchronize()
    loop.name = "survey {}"
    for _ in loop:
        for number, (line, clean) in enumerate(zip(lines, cleaned, strict=True)):
            at = number % len(streams)
            with streams[at]:
                given[at].data.copy_from_host_async(line.ctypes.data, line.nbytes, streams[at])
                fir(given[at], taps, np.int32(255), np.int32(length), made[at])
                made[at].data.copy_to_host_async(clean.ctypes.data, clean.nbytes, streams[at])
        for stream in streams:
            stream.synchronize()


@program("unified_memory_faults")
def plasma(loop: Loop, mended: bool) -> None:
    """Hold particles in managed memory and sum up their energy by NumPy; mended, on the GPU, which alone holds them."""
    cuda = load_numba_cuda()

    @cuda.jit
    def push(places: Any, speeds: Any, step: Any) -> None:
        at = cuda.grid(1)
        if at < places.shape[0]:
            place, speed = places[at], speeds[at]
            speed -= step * place * (np.float32(1.0) - place * place)
            places[at] = place + step * speed
            speeds[at] = speed

    @cuda.jit
    def add_energies(speeds: Any, total: Any) -> None:
        own = np.float32(0.0)
        for at in range(cuda.grid(1), speeds.shape[0], cuda.gridsize(1)):
            own += speeds[at] * speeds[at]
        cuda.atomic.add(total, 0, own)

    count = 1 << 22
    start = np.random.default_rng(8).random((2, count), dtype=np.float32)
    places, speeds = (cuda.to_device(one) if mended else cuda.managed_array(count, dtype=np.float32) for one in start)
    if not mended:
        np.asarray(places)[:], np.asarray(speeds)[:] = start
    none = np.zeros(1, np.float32)
    total = cuda.to_device(none)
    energies = []
    loop.name = "diagnostic {}"
    for _ in loop:
        with annotate("push"):
            for _ in range(200):
                push[count // 256, 256](places, speeds, np.float32(1e-3))
        with annotate("energy"):
            if mended:
                total.copy_to_device(none)
                add_energies[1024, 256](speeds, total)
                energies.append(float(total.copy_to_host()[0]))
            else:
                cuda.synchronize()
                here = np.asarray(speeds)
                energies.append(float(np.dot(here, here)))


@program("graph_breaks")
def screening(loop: Loop, mended: bool) -> None:
    """Compile a network on molecules except the function of its distances, which once failed; mended, that, too."""
    torch.backends.cuda.matmul.allow_tf32 = True
    chosen: Any = expand if mended or not ON_GPU else torch.compiler.disable(expand)  # type: ignore[no-untyped-call]
    layers: list[Any] = [Interaction(64, chosen).to(DEVICE) for _ in range(5)]
    if ON_GPU:
        layers = [torch.compile(layer) for layer in layers]
    count, pairs = 40_000 // SMALL, 400_000 // SMALL
    atoms = torch.randn(count, 64, device=DEVICE)
    bonds, distances = torch.randint(count, (2, pairs), device=DEVICE), 6.0 * torch.rand(pairs, device=DEVICE)
    loop.name = "library shard {}"
    with torch.no_grad():
        for _ in loop:
            for _ in range(4):
                made = atoms
                for layer in layers:
                    made = layer(made, bonds, distances)


@program("step_growth")
def click_model(loop: Loop, mended: bool) -> None:
    """Measure the AUC of all clicks of the epoch so far after each batch of Lightning; mended, of the batch."""
    import lightning

    class Clicks(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            width = 256 // SMALL
            self.network = nn.Sequential(nn.Linear(64, width), nn.ReLU(), *make_layers(width, 1), nn.Linear(width, 1))
            self.scores: list[Tensor] = []
            self.clicked: list[Tensor] = []
            self.areas: list[Tensor] = []

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            rows, clicked = batch
            made = self.network(rows).squeeze(1)
            self.scores.append(made.detach())
            self.clicked.append(clicked)
            used = slice(-1, None) if mended else slice(None)
            self.areas.append(measure_area(torch.cat(self.scores[used]), torch.cat(self.clicked[used])))
            return functional.binary_cross_entropy_with_logits(made.float(), clicked)

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    rows = torch.randn((1 << 20) // SMALL, 64, device=DEVICE)
    batches: Any = [(rows, (rows[:, 0] > 0.5).float())] * loop.total
    loop.name = "batch {}"
    fit_with_lightning(loop, Clicks(), DataLoader(batches, batch_size=None))


@program("step_outliers")
def machine_sensors(loop: Loop, mended: bool) -> None:
    """Start eight workers of a loader anew for each short epoch; mended, they persist."""
    size = 64 // SMALL
    memory = nn.GRU(32, 512 // SMALL, 2, batch_first=True).to(DEVICE)
    head = nn.Linear(512 // SMALL, 32).to(DEVICE)
    optimizer = torch.optim.AdamW([*memory.parameters(), *head.parameters()], fused=ON_GPU)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    workers = 8 if ON_GPU else 0
    loader = DataLoader(
        Windows(5 * size), size, shuffle=True, num_workers=workers, pin_memory=ON_GPU,
        persistent_workers=mended and bool(workers),
    )  # fmt: skip

    def run_epochs() -> Iterator[Tensor]:
        while True:
            yield from loader

    batches = run_epochs()
    for _ in iterate_without_ranges(loop):
        windows = next(batches).to(DEVICE, non_blocking=True)
        learn(optimizer, functional.mse_loss(head(memory(windows)[0][:, :-1]), windows[:, 1:]))


@program("os_blocking")
def actor_and_learner(loop: Loop, mended: bool) -> None:
    """Look every 20 ms whether the actor's thread is done with its games; mended, wait in its queue."""
    width, rows = 256, 2048
    asked: SimpleQueue[NDArray[Any] | None] = SimpleQueue()
    played: SimpleQueue[NDArray[Any]] = SimpleQueue()

    def act() -> None:
        games = np.random.default_rng(4).standard_normal((rows, width), dtype=np.float32)
        while (policy := asked.get()) is not None:
            for _ in range(2):
                games = np.tanh(games @ policy) + 0.1 * games
            played.put(games)

    actor = threading.Thread(target=act, daemon=True)
    actor.start()
    torch.backends.cuda.matmul.allow_tf32 = True
    network: Any = make_layers(width, 8)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, fused=ON_GPU)
    loop.name = "learner update {}"
    for _ in loop:
        asked.put(network[0].weight.detach().cpu().numpy())
        if not mended:
            while played.empty():
                time.sleep(0.02)
        states = torch.from_numpy(played.get()).to(DEVICE).repeat(32, 1)
        for _ in range(6):
            learn(optimizer, functional.smooth_l1_loss(network(states), states))
    asked.put(None)
    actor.join()


@program("hot_kernel")
def feed_forward(loop: Loop, mended: bool) -> None:
    """Multiply and activate by a Triton kernel in tiles of 32 by 64, chosen for another GPU; mended, of 128 by 128."""
    rows, width = 16_384 // SMALL, 2048 // SMALL
    texts = torch.randn(rows, width, device=DEVICE, dtype=torch.bfloat16)
    up = torch.randn(width, 4 * width, device=DEVICE, dtype=torch.bfloat16) * 0.02
    down = torch.randn(4 * width, width, device=DEVICE, dtype=torch.bfloat16) * 0.02
    tall, wide, deep, warps = (128, 128, 64, 8) if mended else (32, 64, 32, 4)
    held = torch.empty(rows, 4 * width, device=DEVICE, dtype=torch.bfloat16)
    kernel: Any = None
    if ON_GPU:
        import triton
        from triton import language as tl

        @triton.jit  # Triton reads the annotations, and wants none of arrays
        def fused(x, weights, made, columns, depth, tall: tl.constexpr, wide: tl.constexpr, deep: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            row = tl.program_id(1) * tall + tl.arange(0, tall)
            column = tl.program_id(0) * wide + tl.arange(0, wide)
            along = tl.arange(0, deep)
            left = x + row[:, None] * depth + along[None, :]
            right = weights + along[:, None] * columns + column[None, :]
            total = tl.zeros((tall, wide), dtype=tl.float32)
            for _ in range(0, depth, deep):
                total = tl.dot(tl.load(left), tl.load(right), total)
                left += deep
                right += deep * columns
            total = total * tl.sigmoid(total)
            tl.store(made + row[:, None] * columns + column[None, :], total.to(tl.bfloat16))

        kernel = fused
    loop.name = "prefill {}"
    with torch.inference_mode():
        for _ in loop:
            x = texts
            for at in range(4):
                with annotate(f"block_{at}"):
                    if kernel is None:
                        held = functional.silu(x @ up)
                    else:
                        grid = (4 * width // wide, rows // tall)
                        kernel[grid](x, up, held, 4 * width, width, tall=tall, wide=wide, deep=deep, num_warps=warps)
                    x = functional.layer_norm(x + held @ down, (width,))


@program("garbage_collection")
def tidy_trainer(loop: Loop, mended: bool) -> None:
    """Collect garbage in a callback of Hugging Face's Trainer after each step; mended, leave it to Python."""
    from transformers import RobertaConfig, RobertaForSequenceClassification, TrainerCallback

    class Tidy(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            gc.collect()

    config = RobertaConfig(
        vocab_size=8192, hidden_size=768 // SMALL, num_hidden_layers=6, num_attention_heads=12,
        intermediate_size=3072 // SMALL, num_labels=8, max_position_embeddings=514, pad_token_id=0,
    )  # fmt: skip
    size = 128 // SMALL
    reviews = Reviews((loop.total + 1) * size, 256 // SMALL)
    loop.name = "train step {}"
    train_with_hugging_face(
        loop, RobertaForSequenceClassification(config), size, reviews, [] if mended else [Tidy()],
        logging_nan_inf_filter=False,
    )  # fmt: skip


@program("unfused_attention")
def latent_diffusion(loop: Loop, mended: bool) -> None:
    """Let nn.MultiheadAttention return its weights, which is its default, and drop them; mended, need none."""
    width, looking = 768 // (1 if ON_GPU else 8), {"need_weights": False} if mended else {}
    blocks = nn.ModuleList(DiffusionBlock(width, **looking) for _ in range(8)).to(DEVICE)
    optimizer = torch.optim.AdamW(blocks.parameters(), lr=1e-4, fused=ON_GPU)
    clean, times = torch.randn(16, 1024 // SMALL, width, device=DEVICE), torch.randn(16, width, device=DEVICE)
    loop.name = "denoise {}"
    for _ in loop:
        noise = torch.randn_like(clean)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            x = 0.8 * clean + 0.6 * noise
            for block in blocks:
                x = block(x, times)
        learn(optimizer, functional.mse_loss(x.float(), noise))

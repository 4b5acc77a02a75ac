"""Programs as ports, shops, studios and makers of robots write them, with a fault each, to judge the rules: written by
somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import math
from io import BytesIO
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from bench.fault_programs.courses import pin
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program, repeat_as_graph
from bench.fault_programs.models import Block
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning, train_with_hugging_face


class Garments(Dataset[tuple[Tensor, int]]):
    """JPEG photos of clothes that customers sent back, cropped, mirrored and normalized with Pillow and NumPy."""

    def __init__(self, count: int, side: int) -> None:
        from PIL import Image

        random = np.random.default_rng(91)
        self.count, self.side, self.whole, self.files = count, side, 3 * side // 2, list[bytes]()
        for _ in range(48):
            coarse = random.integers(0, 256, (12, 12, 3), dtype=np.uint8)
            cloth = np.asarray(Image.fromarray(coarse).resize((self.whole, self.whole), Image.Resampling.BICUBIC))
            woven = np.clip(cloth + random.normal(0.0, 6.0, cloth.shape), 0.0, 255.0).astype(np.uint8)
            file = BytesIO()
            Image.fromarray(woven).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        from PIL import Image

        random = np.random.default_rng(index)
        photo = Image.open(BytesIO(self.files[index % 48])).convert("RGB")
        size = int(random.integers(self.side, self.whole))
        left, top = (int(one) for one in random.integers(0, self.whole - size + 1, 2))
        box = (left, top, left + size, top + size)
        pixels = np.asarray(photo.resize((self.side, self.side), Image.Resampling.BICUBIC, box), dtype=np.float32)
        pixels = (pixels * random.uniform(0.8, 1.2, 3).astype(np.float32) / 255.0 - 0.45) / 0.225
        if index % 2:
            pixels = pixels[:, ::-1]
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))), index % 14


@program("input_made_between_steps")
def fashion_returns(loop: Loop, mended: bool) -> None:
    """Leave the DataLoader of Lightning at no workers, so that photos are decoded between steps; mended, use twelve."""
    import lightning
    from torchvision.models import resnet101

    photos, side = (64, 224) if ON_GPU else (4, 32)

    class Returns(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = resnet101(num_classes=14).to(memory_format=torch.channels_last)

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            with annotate("forward"):
                made = self.network(batch[0].to(memory_format=torch.channels_last))
            return functional.cross_entropy(made.float(), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    workers = 12 if mended and ON_GPU else 0
    loader = DataLoader(Garments(photos * loop.total, side), photos, num_workers=workers, pin_memory=ON_GPU)
    loop.name = "returns {}"
    fit_with_lightning(loop, Returns(), loader)


@program("many_synchronizations")
def stowage_plans(loop: Loop, mended: bool) -> None:
    """Read how far Sinkhorn's plan of containers and slots moved after each iteration; mended, after each fiftieth."""
    boxes, turns, blur, tolerance = 5120 // SMALL, 400 // SMALL, 0.002, 1e-7
    containers, slots = torch.rand(4, boxes, 2, device=DEVICE), torch.rand(boxes, 2, device=DEVICE)
    loop.name = "bay {}"
    with torch.inference_mode():
        for number in loop:
            with annotate("distances"):
                kernel = torch.exp(torch.cdist(containers[number % 4], slots).square().neg() / blur)
                backward = kernel.T.contiguous()
            with annotate("sinkhorn"):
                row, column = torch.ones(boxes, device=DEVICE), torch.ones(boxes, device=DEVICE)
                for turn in range(turns):
                    before, row = row, torch.mv(kernel, column).reciprocal_()
                    column = torch.mv(backward, row).reciprocal_()
                    moved = torch.dist(row, before)
                    if (not mended or turn % 50 == 49) and moved.item() < tolerance:
                        break
            with annotate("assign"):
                (kernel * column).argmax(1)


@program("single_precision")
def call_reasons(loop: Loop, mended: bool) -> None:
    """Classify calls to a hotline by a Whisper that stays in the precision it is made in; mended, in bfloat16."""
    from transformers import WhisperConfig, WhisperForAudioClassification

    calls, places, width = 48 // (1 if ON_GPU else 24), 750 // SMALL, 768 // SMALL
    config = WhisperConfig(
        d_model=width, encoder_layers=12 if ON_GPU else 2, encoder_attention_heads=12, encoder_ffn_dim=4 * width,
        num_mel_bins=80, max_source_positions=places, num_labels=24,
    )  # fmt: skip
    kind = torch.bfloat16 if mended else torch.float32
    network: Any = WhisperForAudioClassification(config).to(DEVICE, kind).eval()
    spectrograms = [pin(torch.randn(calls, 80, 2 * places)) for _ in range(3)]
    reasons = []
    with torch.inference_mode():
        for number in iterate_without_ranges(loop):
            heard = spectrograms[number % 3].to(DEVICE, non_blocking=True).to(kind)
            reasons.append(network(input_features=heard).logits.argmax(-1))
    torch.cat(reasons).bincount(minlength=24).tolist()


class SpeakerLayer(nn.Module):
    """A layer of a decoder that writes the keys and values of a token to its place in a buffer."""

    def __init__(self, width: int, heads: int, past: Tensor) -> None:
        super().__init__()
        self.heads = heads
        self.keys, self.values = past.unbind(0)
        self.norm, self.inward, self.outward = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, place: Tensor, mask: Tensor) -> Tensor:
        query, key, value = self.inward(self.norm(x)).view(len(x), 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, place, key)
        self.values.index_copy_(2, place, value)
        seen = functional.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask)
        x = x + self.outward(seen.transpose(1, 2).flatten(2))
        return torch.add(x, self.feed(x))


@program("decoding_without_graph")
def npc_lines(loop: Loop, mended: bool) -> None:
    """Launch the kernels of each token that the characters of a game say one by one; mended, replay a CUDA graph."""
    speakers, heads, depth, room, tokens = 6, 16, 24 if ON_GPU else 2, 512 // (1 if ON_GPU else 8), 24 // SMALL
    width, words, start = 64 * heads // SMALL, 16_384 // SMALL, room // 2
    kind = torch.bfloat16 if ON_GPU else torch.float32
    pasts = torch.randn(depth, 2, speakers, heads, room, width // heads, device=DEVICE, dtype=kind)
    layers = [SpeakerLayer(width, heads, past).to(DEVICE, kind) for past in pasts]
    known, head = nn.Embedding(words, width).to(DEVICE, kind), nn.Linear(width, words).to(DEVICE, kind)
    cues = torch.randint(words, (4, speakers, 1), device=DEVICE)
    token, place = cues[0].clone(), torch.full((1,), start, device=DEVICE)
    spoken, places = torch.zeros(speakers, room, dtype=torch.long, device=DEVICE), torch.arange(room, device=DEVICE)

    def say() -> None:
        x, mask = known(token), (places <= place)[None, None, None]
        for layer in layers:
            x = layer(x, place, mask)
        token.copy_(head(x).argmax(-1))
        spoken.index_copy_(1, place, token)
        place.add_(1)

    loop.name = "scene {}"
    with torch.inference_mode():
        say_next = repeat_as_graph(say, wanted=mended)
        for number in loop:
            token.copy_(cues[number % 4])
            place.fill_(start)
            with annotate("decode"):
                for _ in range(tokens):
                    say_next()
            with annotate("show_lines"):
                spoken[:, start : start + tokens].tolist()


@program("pageable_batches")
def film_masters(loop: Loop, mended: bool) -> None:
    """Upload frames in 4K from ordinary memory to find dust and scratches in them; mended, from pinned memory."""
    frames, high, wide, width = (12, 2160, 3840, 64) if ON_GPU else (2, 64, 96, 8)
    kind = torch.bfloat16 if ON_GPU else torch.float32
    tile = torch.randint(256, (1, high // 4, wide // 4, 3), dtype=torch.uint8)
    reels = [tile.roll(shift, 1).repeat(frames, 4, 4, 1) for shift in range(3)]
    if mended:
        reels = [pin(reel) for reel in reels]
    parts = [part for _ in range(8) for part in (nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True))]
    network: Any = nn.Sequential(
        nn.Conv2d(3, width, 4, 4), *parts, nn.AdaptiveMaxPool2d(8), nn.Flatten(), nn.Linear(64 * width, 6)
    ).to(DEVICE, kind)
    network.to(memory_format=torch.channels_last)
    defects = []
    with torch.inference_mode():
        for number in iterate_without_ranges(loop):
            reel = reels[number % 3].to(DEVICE, non_blocking=True)
            pictures = reel.permute(0, 3, 1, 2).to(kind).div_(255.0)
            defects.append(network(pictures).sigmoid())
    torch.cat(defects).float().cpu().numpy().max(0)


@program("unfused_attention")
def bug_triage(loop: Loop, mended: bool) -> None:
    """Fine-tune a BERT on long bug reports with the attention of Transformers called eager; mended, with sdpa."""
    from transformers import AutoModelForSequenceClassification, BertConfig

    reports, length, width = (24, 1024, 768) if ON_GPU else (2, 32, 48)
    config = BertConfig(
        vocab_size=30_000 // SMALL, hidden_size=width, num_hidden_layers=12 if ON_GPU else 2, num_attention_heads=12,
        intermediate_size=4 * width, max_position_embeddings=length, num_labels=40,
    )  # fmt: skip
    kind = "sdpa" if mended else "eager"
    network: Any = AutoModelForSequenceClassification.from_config(config, attn_implementation=kind)
    texts = torch.randint(5, config.vocab_size, (reports * loop.total, length))
    teams = torch.randint(40, (len(texts),))
    dataset = [{"input_ids": text, "labels": team} for text, team in zip(texts, teams, strict=True)]
    loop.name = "update {}"
    train_with_hugging_face(loop, network, reports, dataset, logging_nan_inf_filter=False)


class Lion(torch.optim.Optimizer):
    """Lion, whose updates are signs; it takes all weights together, or one after the other."""

    def __init__(self, weights: list[nn.Parameter], rate: float, *, together: bool) -> None:
        super().__init__(weights, {"lr": rate})
        self.weights: list[Tensor] = [*weights]
        self.rate, self.together = rate, together
        self.averages = [torch.zeros_like(one) for one in weights]

    @torch.no_grad()
    def step(self, _: Any = None) -> None:  # type: ignore[override]
        gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in self.weights]
        if self.together:
            torch._foreach_mul_(self.weights, 1.0 - 0.01 * self.rate)
            updates = torch._foreach_lerp(self.averages, gradients, 0.1)  # noqa: SLF001
            torch._foreach_sign_(updates)
            torch._foreach_add_(self.weights, updates, alpha=-self.rate)
            torch._foreach_lerp_(self.averages, gradients, 0.01)
            return
        for weight, gradient, average in zip(self.weights, gradients, self.averages, strict=True):
            weight.mul_(1.0 - 0.01 * self.rate)
            update = average.clone().mul_(0.9).add_(gradient, alpha=0.1).sign_()
            weight.add_(update, alpha=-self.rate)
            average.mul_(0.99).add_(gradient, alpha=0.01)


@program("optimizer_per_parameter")
def gripper_policy(loop: Loop, mended: bool) -> None:
    """Update the weights of a policy for a gripper by Lion, each by its own kernels; mended, all weights together."""
    demos, moves, senses, width = 128 // SMALL, 64 // (1 if ON_GPU else 4), 48, 512 // SMALL
    network = nn.Sequential(
        nn.Linear(senses + 7, width), *(Block(width, 8) for _ in range(48 if ON_GPU else 2)), nn.Linear(width, 7)
    ).to(DEVICE)
    optimizer = Lion(list(network.parameters()), 1e-4, together=mended)
    sensed = torch.randn(4, demos, moves, senses, device=DEVICE)
    shown = torch.rand(4, demos, moves, 7, device=DEVICE)
    for number in iterate_without_ranges(loop):
        noise, time = torch.randn_like(shown[0]), torch.rand(demos, 1, 1, device=DEVICE)
        noisy = torch.lerp(shown[number % 4], noise, time)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            flow = network(torch.cat((sensed[number % 4], noisy), -1))
        loss = functional.mse_loss(flow.float(), noise - shown[number % 4])
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


@program("unfused_elementwise")
def antenna_links(loop: Loop, mended: bool) -> None:
    """Turn symbols of 64-QAM to likelihoods of bits, an operation after the other; mended, by torch.compile."""
    links, symbols, block = 3072 // SMALL, 14 * 3276 // SMALL, 4096 // SMALL
    kind, level, noise = torch.bfloat16 if ON_GPU else torch.float32, 1.0 / math.sqrt(42.0), 0.01

    def demap(real: Tensor, imaginary: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        power = cosine * cosine + sine * sine + 1e-6
        sent = (real * cosine + imaginary * sine) / power, (imaginary * cosine - real * sine) / power
        weight, bits = power * (4.0 * level / noise), []
        for axis in sent:
            outer = 4.0 * level - axis.abs()
            bits += [axis, outer, 2.0 * level - outer.abs()]
        return torch.stack([(bit * weight).clamp(-20.0, 20.0).to(kind) for bit in bits])

    run: Any = torch.compile(demap) if mended and ON_GPU else demap
    received = [torch.randn(links, symbols, device=DEVICE) for _ in range(2)]
    channel = [torch.randn(links, symbols, device=DEVICE) for _ in range(2)]
    decoder = nn.Sequential(nn.Linear(block, block // 4), nn.GELU("tanh"), nn.Linear(block // 4, block // 8))
    decoder.to(DEVICE, kind)
    loop.name = "slot {}"
    with torch.inference_mode():
        for _ in loop:
            with annotate("demap"):
                likelihoods = run(*received, *channel)
            with annotate("decode"):
                (decoder(likelihoods.view(-1, block)) > 0.0).sum(1)


@program("loop_over_samples")
def store_demand(loop: Loop, mended: bool) -> None:
    """Encode the sales of each store by a call of a jitted JAX function for one; mended, map it over all by vmap."""
    import jax
    from jax import numpy as jnp

    stores, days, width, depth = (256, 256, 1024, 4) if ON_GPU else (8, 16, 32, 2)
    keys = iter(jax.random.split(jax.random.key(92), 3 * depth + 2))

    def make(*shape: int) -> Any:
        return 0.02 * jax.random.normal(next(keys), shape, jnp.bfloat16)

    lift, layers = make(64, width), [make(width, width) for _ in range(depth)]
    pairs = [(make(width, 4 * width), make(4 * width, width)) for _ in range(depth)]
    sales = jax.random.normal(next(keys), (4, stores, days, 64), jnp.bfloat16)

    def normalize(x: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)

    def encode(lift: Any, layers: Any, sold: Any) -> Any:
        x = sold @ lift
        for layer in layers:
            x = x + jax.nn.gelu(normalize(x) @ layer)
        return x

    @jax.jit
    def plan(pairs: Any, x: Any) -> Any:
        for up, down in pairs:
            x = x + jax.nn.gelu(normalize(x) @ up) @ down
        return x.astype(jnp.float32).mean((1, 2))

    encode_store, encode_all = jax.jit(encode), jax.jit(jax.vmap(encode, (None, None, 0)))
    nights = [sales[at] for at in range(4)]
    loop.name = "night {}"
    for number in loop:
        night = nights[number % 4]
        with annotate("encode_stores"):
            if mended:
                known = encode_all(lift, layers, night)
            else:
                known = jnp.stack([encode_store(lift, layers, sold) for sold in night])
        with annotate("plan_orders"):
            orders = plan(pairs, known)
        if number + 1 == loop.total:
            jax.block_until_ready(orders)


@program("double_precision")
def harbor_sonar(loop: Loop, mended: bool) -> None:
    """Focus the echoes of a sonar with CuPy in the precision that NumPy takes by itself; mended, in single."""
    import cupy

    looks, pings, samples = 4, 4096, 16_384
    kind, wave = (np.float32, np.complex64) if mended else (np.float64, np.complex128)
    random = np.random.default_rng(93)
    times, turns = np.linspace(-1.0, 1.0, samples), np.linspace(-1.0, 1.0, pings)
    chirp = cupy.asarray(np.fft.fft(np.exp(900j * times**2)).conj(), dtype=wave)
    drift = cupy.asarray(np.exp(200j * turns**2)[:, None], dtype=wave)
    window = cupy.asarray(np.hanning(samples), dtype=kind)
    noise = cupy.asarray(random.standard_normal((2, pings, samples // 8)), dtype=kind)
    echoes = [cupy.tile(cupy.roll(noise[0] + 1j * noise[1], shift, 0), (1, 8)).astype(wave) for shift in range(looks)]
    detections = []
    for _ in iterate_without_ranges(loop):
        picture = cupy.zeros((pings, samples), dtype=kind)
        for echo in echoes:
            ranged = cupy.fft.ifft(cupy.fft.fft(echo * window, axis=1) * chirp, axis=1)
            focused = cupy.fft.ifft(cupy.fft.fft(ranged, axis=0) * drift, axis=0)
            picture += cupy.abs(focused)
        decibels = 20.0 * cupy.log10(picture / picture.mean() + 1e-6)
        detections.append((decibels > 12.0).sum(axis=1))
    cupy.stack(detections).get()

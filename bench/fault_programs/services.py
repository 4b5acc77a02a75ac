"""Programs of everyday services and their trainings, to judge the rules: written by
somebody who knew the names of the rules and none of their thresholds.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, load_cuda_runtime, load_numba_cuda, program
from bench.fault_programs.mixed import make_layers
from bench.fault_programs.trainers import fit_with_lightning, train_with_hugging_face
from bench.fault_programs.training import learn


def iterate_without_ranges(loop: Loop) -> Iterator[int]:
    """Yield the steps without ranges around them, which most programs do not have."""
    for number in range(loop.total):
        if number == loop.warmup:
            loop.barrier()
            if ON_GPU:
                load_cuda_runtime().cudaProfilerStart()
                loop.barrier()
            loop.began = time.perf_counter_ns()
        yield number
        loop.number = number + 1
    loop.barrier()
    loop.ns = time.perf_counter_ns() - loop.began
    if ON_GPU:
        load_cuda_runtime().cudaProfilerStop()


class Jpegs(Dataset[Tensor]):
    """Photos that are decoded from JPEG, cropped, and get other colors on the CPU."""

    def __init__(self, count: int) -> None:
        from torchvision.io import encode_jpeg
        from torchvision.transforms import v2

        coarse = torch.rand(32, 3, 24, 24)
        photos = functional.interpolate(coarse, (640, 640), mode="bilinear").mul(255).to(torch.uint8)
        self.count, self.files = count, [encode_jpeg(photo) for photo in photos]
        self.augment = v2.Compose([
            v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.ColorJitter(0.4, 0.4, 0.4),
            v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3),
        ])  # fmt: skip

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        from torchvision.io import decode_jpeg

        made: Tensor = self.augment(decode_jpeg(self.files[index % len(self.files)]))
        return made


@program("input_made_between_steps")
def photo_classifier(loop: Loop, mended: bool) -> None:
    """Decode and augment JPEGs by a DataLoader without workers; mended, with twelve."""
    from torchvision.models import convnext_tiny

    network = convnext_tiny(num_classes=100).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    size = 32 // SMALL
    workers = 12 if mended and ON_GPU else 0
    batches = iter(DataLoader(Jpegs((loop.total + 1) * size), size, num_workers=workers, pin_memory=ON_GPU))
    labels = torch.randint(100, (size,), device=DEVICE)
    loop.name = "train {}"
    for _ in loop:
        photos = next(batches).to(DEVICE, non_blocking=True)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            loss = functional.cross_entropy(network(photos), labels)
        learn(optimizer, loss)


@program("layout_conversions")
def wide_resnet(loop: Loop, mended: bool) -> None:
    """Convolve in BF16 over images in NCHW, which cuDNN converts for each convolution; mended, channels last."""
    from torchvision.models import wide_resnet50_2

    layout = torch.channels_last if mended else torch.contiguous_format
    network = wide_resnet50_2(num_classes=104).to(DEVICE).to(memory_format=layout)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, foreach=True)
    images = torch.randn(64 // SMALL, 3, 224, 224, device=DEVICE).to(memory_format=layout)
    labels = torch.randint(104, (len(images),), device=DEVICE)
    loop.name = "epoch 3 it {}"
    for _ in loop:
        with annotate("forward"), torch.autocast(DEVICE.type, torch.bfloat16):
            loss = functional.cross_entropy(network(images), labels)
        with annotate("backward+sgd"):
            learn(optimizer, loss)


@program("loop_over_samples")
def speaker_embedding(loop: Loop, mended: bool) -> None:
    """Find the hardest triplet of each utterance in a Python loop over them; mended, in one batch of operations."""
    wide = 512 // SMALL
    parts = [(nn.Conv1d(wide, wide, 3, dilation=one), nn.ReLU()) for one in (1, 2, 3)]
    network = nn.Sequential(
        nn.Conv1d(80, wide, 5), nn.ReLU(), *(part for both in parts for part in both),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(wide, 256),
    ).to(DEVICE)  # fmt: skip
    optimizer = torch.optim.AdamW(network.parameters(), fused=ON_GPU)
    sounds = torch.randn(192 // SMALL, 80, 300, device=DEVICE)
    speakers = torch.arange(len(sounds), device=DEVICE) // 4

    def find_hardest(distances: Tensor, same: Tensor) -> Tensor:
        positive = distances.masked_fill(~same, 0.0).amax(-1)
        negative = distances.masked_fill(same, 1e4).amin(-1)
        return functional.relu(positive - negative + 0.2)

    loop.name = "minibatch {}"
    for _ in loop:
        made = functional.normalize(network(sounds))
        with annotate("triplet_loss"):
            if mended:
                losses = find_hardest(2.0 - 2.0 * made @ made.T, speakers[:, None] == speakers)
            else:
                losses = torch.stack([
                    find_hardest(2.0 - 2.0 * made @ made[at], speakers == speakers[at]) for at in range(len(made))
                ])  # fmt: skip
        learn(optimizer, losses.mean())


@program("dense_embedding_gradients")
def recommender(loop: Loop, mended: bool) -> None:
    """Make gradients for all 16 million rows of a table and update them all; mended, for the rows of the batch."""
    rows, batch = 16_000_000 // SMALL, 32_768 // SMALL
    torch.backends.cuda.matmul.allow_tf32 = True
    bag = nn.EmbeddingBag(rows, 64, mode="sum", sparse=mended, device=DEVICE)
    deep = nn.Sequential(nn.Linear(64, 1024).to(DEVICE), *make_layers(1024, 4), nn.Linear(1024, 8).to(DEVICE))
    optimizer = torch.optim.SGD([*bag.parameters(), *deep.parameters()], lr=1e-3, foreach=True)
    visits = torch.randint(rows, (4, batch, 26), device=DEVICE)
    for number in iterate_without_ranges(loop):
        learn(optimizer, deep(bag(visits[number % 4])).square().mean())


@program("padding_to_the_limit")
def intents(loop: Loop, mended: bool) -> None:
    """Pad all requests to the 512 tokens that the model may take; mended, to the longest of their batch."""
    width, random = 512 // SMALL, np.random.default_rng(11)
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    network = nn.ModuleDict({"words": nn.Embedding(8192, width), "encoder": encoder, "head": nn.Linear(width, 64)})
    network.to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), fused=ON_GPU)
    batches = []
    for _ in range(5):
        lengths = torch.from_numpy(random.integers(16, 121, 64 // SMALL))
        texts = torch.randint(1, 8192, (len(lengths), -(-int(lengths.max()) // 8) * 8 if mended else 512))
        batches.append(texts.masked_fill(torch.arange(texts.shape[1]) >= lengths[:, None], 0).to(DEVICE))
    labels = torch.randint(64, (64 // SMALL,), device=DEVICE)
    loop.name = "global step {}"
    for number in loop:
        texts = batches[number % 5]
        with torch.autocast(DEVICE.type, torch.bfloat16):
            made = network["encoder"](network["words"](texts), src_key_padding_mask=texts == 0)
            loss = functional.cross_entropy(network["head"](made[:, 0]), labels)
        learn(optimizer, loss)


@program("loss_read_each_step")
def ppo(loop: Loop, mended: bool) -> None:
    """Read four numbers of each of eight minibatches for the log; mended, keep them as tensors."""
    width, rows = 512 // SMALL, 16_384 // SMALL
    torch.backends.cuda.matmul.allow_tf32 = True
    actor, critic = (nn.Sequential(*make_layers(width, 3), nn.Linear(width, 16).to(DEVICE)) for _ in range(2))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-4, fused=ON_GPU)
    states = torch.randn(8 * rows, width, device=DEVICE)
    actions = torch.randint(16, (8 * rows, 1), device=DEVICE)
    old, gains = torch.full((8 * rows, 1), -2.77, device=DEVICE), torch.randn(8 * rows, 1, device=DEVICE)
    log: list[Any] = []
    for _ in iterate_without_ranges(loop):
        for state, action, before, gain in zip(*(one.chunk(8) for one in (states, actions, old, gains)), strict=True):
            chances = functional.log_softmax(actor(state), -1)
            change = chances.gather(1, action) - before
            ratio = change.exp()
            policy = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            worth = (critic(state).mean(1, keepdim=True) - gain).square().mean()
            entropy = -(chances.exp() * chances).sum(1).mean()
            learn(optimizer, policy + 0.5 * worth - 0.01 * entropy)
            numbers = torch.stack((policy, worth, entropy, -change.mean())).detach()
            log.append(numbers if mended else [one.item() for one in numbers.unbind()])


@program("double_precision")
def radiance_field(loop: Loop, mended: bool) -> None:
    """Encode points of rays by frequencies of NumPy's default type, which make them FP64; mended, FP32."""
    frequencies = torch.from_numpy(np.exp2(np.arange(16, dtype=np.float32 if mended else np.float64))).to(DEVICE)
    network = nn.Sequential(
        nn.Linear(96, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 8)
    ).to(DEVICE)
    points = torch.rand(8192 // SMALL, 128, 3, device=DEVICE)
    loop.name = "render view {}"
    with torch.no_grad():
        for _ in loop:
            for _ in range(12):
                with annotate("encode"):
                    angles = (points[..., None, :] * frequencies[:, None]).flatten(-2)
                    features = torch.cat((angles.sin(), angles.cos()), -1).float()
                with annotate("network"), torch.autocast(DEVICE.type, torch.bfloat16):
                    made = network(features).float()
                with annotate("composite"):
                    (functional.softmax(made[..., :1], 1) * made[..., 1:4]).sum(1)


class Reviews(Dataset[dict[str, Tensor]]):
    """Random tokens, each text with a class."""

    def __init__(self, count: int, length: int, words: int = 8192, stars: int = 8) -> None:
        self.tokens, self.stars = torch.randint(1, words, (count, length)), torch.randint(stars, (count,))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.stars[index]}


@program("small_microbatches")
def distilbert(loop: Loop, mended: bool) -> None:
    """Collect the gradients of 32 texts in sixteen microbatches of two, with memory to spare; mended, in one."""
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    loop.steps, loop.warmup, loop.name = 14, 4, "optimizer_step_{}"
    size = 32 if mended else 2
    config = DistilBertConfig(vocab_size=8192, dim=768 // SMALL, hidden_dim=3072 // SMALL, num_labels=8)
    network = DistilBertForSequenceClassification(config)
    reviews = Reviews((loop.total + 1) * 32, 256 // SMALL)
    train_with_hugging_face(
        loop, network, size, reviews, gradient_accumulation_steps=32 // size, logging_nan_inf_filter=False
    )


@program("cache_disabled")
def summarizer(loop: Loop, mended: bool) -> None:
    """Generate without a cache of keys and values, the whole text again for each token; mended, with it."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        hidden_size=1024 // SMALL, intermediate_size=2816 // SMALL, num_hidden_layers=8, num_attention_heads=16,
        num_key_value_heads=4, vocab_size=8192, max_position_embeddings=2048,
    )  # fmt: skip
    network = Qwen2ForCausalLM(config).to(DEVICE, torch.bfloat16).eval()
    articles = torch.randint(1, 8192, (32 // SMALL, 1024 // SMALL), device=DEVICE)
    loop.steps, loop.warmup, loop.name = 10, 2, "summarize {}"
    for _ in loop:
        network.generate(
            articles, attention_mask=torch.ones_like(articles), max_new_tokens=16, do_sample=False, use_cache=mended,
            pad_token_id=0,
        )  # fmt: skip


@program("python_between_launches")
def forecaster(loop: Loop, mended: bool) -> None:
    """Log a histogram of each gradient, made by NumPy, after each batch of Lightning; mended, each hundredth."""
    import lightning

    class Forecaster(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.memory = nn.LSTM(64, 512 // SMALL, 2, batch_first=True)
            self.head = nn.Linear(512 // SMALL, 64)

        def training_step(self, batch: Tensor, _: int) -> Tensor:
            return functional.l1_loss(self.head(self.memory(batch)[0][:, :-1]), batch[:, 1:])

        def on_after_backward(self) -> None:
            if self.global_step % (100 if mended else 1) == 0:
                with annotate("log_histograms"):
                    for one in self.parameters():
                        if one.grad is not None:
                            np.histogram(one.grad.cpu().numpy(), 64)

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), fused=ON_GPU)

    loop.name = "batch_idx {}"
    batches: Any = [torch.randn(4096 // SMALL, 96, 64, device=DEVICE)] * loop.total
    fit_with_lightning(loop, Forecaster(), DataLoader(batches, batch_size=None))


@program("unfused_elementwise")
def gray_scott(loop: Loop, mended: bool) -> None:
    """Let two substances react by JAX without jit, a kernel per operation; mended, with it."""
    import jax
    from jax import numpy as jnp

    side = 8192 if ON_GPU else 64

    def sum_around(x: Any) -> Any:
        return jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1) - 4.0 * x

    def react(u: Any, v: Any) -> tuple[Any, Any]:
        made = u * v * v
        return u + 0.16 * sum_around(u) - made + 0.035 * (1.0 - u), v + 0.08 * sum_around(v) + made - 0.1 * v

    advance = jax.jit(react) if mended else react
    u = jnp.ones((side, side), jnp.float32)
    v = jnp.zeros((side, side), jnp.float32).at[: side // 4, : side // 4].set(0.5)
    loop.name = "frame {}"
    for _ in loop:
        for _ in range(10):
            u, v = advance(u, v)
        jax.block_until_ready((u, v))


@program("results_to_host_each_step")
def deconvolution(loop: Loop, mended: bool) -> None:
    """Get an image of each iteration of Richardson and Lucy to the host; mended, after the last step."""
    import cupy

    side = 2048
    image = cupy.random.random((4, side, side), dtype=cupy.float32)
    waves = cupy.fft.fftfreq(side).astype(cupy.float32)
    blur = cupy.exp(-200.0 * (waves[:, None] ** 2 + waves[None, : side // 2 + 1] ** 2))
    estimate = cupy.full_like(image, 0.5)
    images: list[Any] = []
    loop.name = "deblur {}"
    for number in loop:
        for _ in range(5):
            with annotate("richardson_lucy"):
                seen = cupy.fft.irfft2(cupy.fft.rfft2(estimate) * blur, s=(side, side))
                ratio = image / cupy.maximum(seen, 1e-6)
                estimate = estimate * cupy.fft.irfft2(cupy.fft.rfft2(ratio) * blur, s=(side, side))
            if not mended:
                images.append(estimate[0].get())
        if mended and number + 1 == loop.total:
            images.append(estimate[0].get())


@program("small_grid")
def registration(loop: Loop, mended: bool) -> None:
    """Find nearest points by 32 blocks of 128 threads, as in a tutorial; mended, by a thread for each point."""
    cuda = load_numba_cuda()

    far = np.float32(1e30)

    @cuda.jit
    def nearest(points: Any, anchors: Any, indices: Any) -> None:
        for at in range(cuda.grid(1), points.shape[1], cuda.gridsize(1)):
            x, y, z = points[0, at], points[1, at], points[2, at]
            best, chosen = far, 0
            for other in range(anchors.shape[0]):
                dx, dy, dz = x - anchors[other, 0], y - anchors[other, 1], z - anchors[other, 2]
                distance = dx * dx + dy * dy + dz * dz
                if distance < best:
                    best, chosen = distance, other
            indices[at] = chosen

    made, count = np.random.default_rng(9), 1 << 20
    points = cuda.to_device(made.random((3, count), dtype=np.float32))
    anchors = cuda.to_device(made.random((1024, 3), dtype=np.float32))
    indices = cuda.device_array(count, np.int32)
    blocks = count // 128 if mended else 32
    for _ in iterate_without_ranges(loop):
        for _ in range(10):
            nearest[blocks, 128](points, anchors, indices)


class Annealed(nn.Module):
    """Layers whose gates open with the stage of a schedule."""

    def __init__(self, width: int, stage: Tensor | int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(6))
        self.stage = stage

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            made = layer(x)
            x = x + made * torch.sigmoid(made / (1 + self.stage))
        return x


@program("shapes_that_recompile")
def schedule(loop: Loop, mended: bool) -> None:
    """Compile again, as for a new shape, when a number that a module holds changes; mended, it is a tensor."""
    from torch import _dynamo as dynamo
    from torch import compiler

    dynamo.config.recompile_limit = 64
    compiler.config.force_disable_caches = True  # else a second run would find the compiled code of the first one
    width = 1024 // SMALL
    network = Annealed(width, torch.zeros((), device=DEVICE) if mended else 0).to(DEVICE, torch.bfloat16)
    forward: Any = torch.compile(network) if ON_GPU else network
    signals = torch.randn(65_536 // SMALL, width, device=DEVICE, dtype=torch.bfloat16)
    loop.steps, loop.warmup, loop.name = 12, 4, "tick {}"
    with torch.no_grad():
        for number in loop:
            if number % 4 == 0:
                network.stage = torch.full((), float(number // 4), device=DEVICE) if mended else number // 4
            for _ in range(30):
                forward(signals)


@program("same_data_each_step")
def staged_pipeline(loop: Loop, mended: bool) -> None:
    """Move each model of a pipeline to the GPU for its turn and back, though all fit; mended, they stay there."""
    width = 2048 // SMALL
    stages = {name: make_layers(width, 10).to(torch.bfloat16) for name in ("encode", "denoise", "decode")}
    for stage in stages.values():
        stage.to(DEVICE if mended else "cpu")
    prompts = torch.randn(65_536 // SMALL, width, device=DEVICE, dtype=torch.bfloat16)
    loop.name = "job {}"
    with torch.no_grad():
        for _ in loop:
            made = prompts
            for name, stage in stages.items():
                with annotate(name):
                    made = stage.to(DEVICE)(made)
                    if not mended:
                        stage.to("cpu")


@program("python_between_launches")
def recognizer(loop: Loop, mended: bool) -> None:
    """Choose the beams of each character in Python from a list of all scores; mended, by topk on the GPU."""
    sounds, beams, letters, width = 8, 8, 256, 1024 // SMALL
    words = nn.Embedding(letters, width).to(DEVICE)
    cells = nn.ModuleList(nn.GRUCell(width, width) for _ in range(2)).to(DEVICE)
    head = nn.Linear(width, letters).to(DEVICE)
    first = torch.arange(sounds, device=DEVICE)[:, None] * beams
    torch.backends.cuda.matmul.allow_tf32 = True
    loop.name = "decode utterances {}"
    with torch.no_grad():
        for _ in loop:
            letter = torch.zeros(sounds * beams, dtype=torch.long, device=DEVICE)
            states = [torch.zeros(sounds * beams, width, device=DEVICE) for _ in cells]
            total = torch.zeros(sounds * beams, 1, device=DEVICE)
            for _ in range(40):
                x = words(letter)
                for at, cell in enumerate(cells):
                    x = states[at] = cell(x, states[at])
                scores = (total + functional.log_softmax(head(x), -1)).view(sounds, -1)
                if mended:
                    best = scores.topk(beams).indices
                else:
                    with annotate("beam_search"):
                        rows = scores.tolist()
                        chosen = [heapq.nlargest(beams, range(len(row)), key=row.__getitem__) for row in rows]
                        best = torch.tensor(chosen).to(DEVICE)
                total, letter = scores.gather(1, best).view(-1, 1), (best % letters).flatten()
                parents = (first + best // letters).flatten()
                states = [state[parents] for state in states]

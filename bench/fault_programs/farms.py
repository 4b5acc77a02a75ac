"""Programs as farms, laboratories, hospitals and weather services write them, with a fault each, to judge the rules:
written by somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from bench.fault_programs.courses import pin
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.models import Block
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning, train_with_hugging_face
from bench.fault_programs.training import learn


class LeafPhotos(Dataset[tuple[Tensor, int]]):
    """Photos of leaves in JPEG, of which a random part is cut out, scaled and flipped."""

    def __init__(self, count: int, side: int) -> None:
        from torchvision.io import ImageReadMode, encode_jpeg
        from torchvision.transforms import v2

        self.count, self.mode = count, ImageReadMode.RGB
        coarse = 255.0 * torch.rand(64, 3, 15, 20)
        photos = functional.interpolate(coarse, size=(3 * side // 2, 2 * side), mode="bicubic").clamp(0.0, 255.0)
        self.files = [encode_jpeg(one, 92) for one in photos.to(torch.uint8)]
        self.augment = v2.Compose([
            v2.RandomResizedCrop(side, (0.3, 1.0), antialias=True), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip(),
        ])  # fmt: skip

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        from torchvision.io import decode_jpeg

        return self.augment(decode_jpeg(self.files[index % 64], self.mode)), index % 38


@program("input_made_between_steps")
def leaf_blight(loop: Loop, mended: bool) -> None:
    """Decode and augment the photos of a batch in the main process, by a DataLoader without workers; mended, with."""
    from torchvision.models import resnet50

    size, side = (64, 224) if ON_GPU else (2, 32)
    workers = 12 if mended and ON_GPU else 0
    network = resnet50(num_classes=38).to(DEVICE, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=ON_GPU)
    photos = DataLoader(LeafPhotos(size * loop.total, side), size, shuffle=True, num_workers=workers, pin_memory=ON_GPU)
    batches = iter(photos)
    loop.name = "batch {}"
    for _ in loop:
        with annotate("load"):
            given, blights = (one.to(DEVICE, non_blocking=True) for one in next(batches))
        with annotate("forward"), torch.autocast(DEVICE.type, torch.bfloat16):
            scaled = (given.to(memory_format=torch.channels_last) / 127.5) - 1.0
            loss = functional.cross_entropy(network(scaled), blights, label_smoothing=0.1)
        with annotate("backward"):
            learn(optimizer, loss)


class MeshLayer(nn.Module):
    """Messages along the edges of a mesh around the earth, then an update of its nodes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.edge, self.node = (
            nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width), nn.LayerNorm(width))
            for _ in range(2)
        )

    def forward(self, nodes: Tensor, senders: Tensor, receivers: Tensor) -> Tensor:
        ends = torch.cat((nodes.index_select(0, senders), nodes.index_select(0, receivers)), 1)
        received = torch.zeros_like(nodes).index_add(0, receivers, self.edge(ends))
        return torch.add(nodes, self.node(torch.cat((nodes, received), 1)))


class MeshForecast(nn.Module):
    """A network over the mesh that returns the weather six hours later."""

    def __init__(self, fields: int, width: int, layers: int) -> None:
        super().__init__()
        self.lift, self.drop = nn.Linear(fields, width), nn.Linear(width, fields)
        self.layers = nn.ModuleList(MeshLayer(width) for _ in range(layers))

    def forward(self, weather: Tensor, senders: Tensor, receivers: Tensor) -> Tensor:
        nodes = self.lift(weather)
        for layer in self.layers:
            nodes = layer(nodes, senders, receivers)
        return torch.add(weather, self.drop(nodes))


@program("single_precision")
def monsoon_outlook(loop: Loop, mended: bool) -> None:
    """Train a network over a mesh with the precision of products that PyTorch begins with; mended, with TF32."""
    torch.set_float32_matmul_precision("high" if mended else "highest")
    count, near, fields, width = 40_962 // SMALL, 4, 78, 512 // SMALL
    network = MeshForecast(fields, width, 8).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, weight_decay=0.1, fused=ON_GPU)
    receivers = torch.arange(count, device=DEVICE).repeat_interleave(near)
    senders = (receivers + torch.randint(1, 200, receivers.shape, device=DEVICE)) % count
    areas = torch.rand(count, 1, device=DEVICE) + 0.5
    weather = torch.randn(5, count, fields, device=DEVICE)
    for number in iterate_without_ranges(loop):
        now, later = weather[number % 4], weather[number % 4 + 1]
        made = network(now, senders, receivers)
        learn(optimizer, (areas * (made - later).square()).mean())


class MaskedProteins(Dataset[dict[str, Tensor]]):
    """Proteins whose letters are hidden, but for most."""

    def __init__(self, count: int, length: int) -> None:
        self.count = count
        self.proteins = torch.randint(5, 30, (512, length))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        protein = self.proteins[index % 512]
        hidden = torch.rand(len(protein)) < 0.15
        return {"input_ids": protein.masked_fill(hidden, 4), "labels": protein.masked_fill(~hidden, -100)}


@program("checkpointing_without_need")
def protein_masking(loop: Loop, mended: bool) -> None:
    """Train a BERT that would fit ten times with gradient_checkpointing of the Trainer; mended, without."""
    from transformers import BertConfig, BertForMaskedLM

    size, length = (48, 512) if ON_GPU else (2, 32)
    config = BertConfig(
        vocab_size=30, hidden_size=1024 // SMALL, num_hidden_layers=12, num_attention_heads=16,
        intermediate_size=4096 // SMALL, max_position_embeddings=length, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    proteins = MaskedProteins(size * loop.total, length)
    loop.name = "train_step {}"
    train_with_hugging_face(loop, BertForMaskedLM(config), size, proteins, gradient_checkpointing=not mended)


class HerdRecords:
    """What the collars of cows measured: acceleration, turning and others, eight numbers at a time."""

    def __init__(self, cows: int, times: int) -> None:
        self.random = np.random.default_rng(91)
        self.records = self.random.standard_normal((cows, times, 8), dtype=np.float32)
        self.scales = 1.0 / self.records[:, ::16].std((0, 1))

    def sample(self, size: int, length: int) -> tuple[Tensor, Tensor]:
        """Return windows of random cows and times, each around its own mean, and what the cows did."""
        windows = torch.empty(size, length, 8, pin_memory=ON_GPU)
        made: NDArray[Any] = windows.numpy()
        cows = self.random.integers(len(self.records), size=size)
        starts = self.random.integers(self.records.shape[1] - length, size=size)
        for row, (cow, start) in enumerate(zip(cows, starts, strict=True)):
            window = self.records[cow, start : start + length]
            made[row] = (window - window.mean(0)) * self.scales
        return windows, pin(torch.from_numpy(cows % 6))


class MotionClassifier(nn.Module):
    """A transformer over pieces of 24 moments."""

    def __init__(self, width: int, layers: int, pieces: int) -> None:
        super().__init__()
        self.lift, self.head = nn.Linear(192, width), nn.Linear(width, 6)
        self.places = nn.Parameter(0.02 * torch.randn(pieces, width))
        self.blocks = nn.Sequential(*(Block(width, 12) for _ in range(layers)))

    def forward(self, windows: Tensor) -> Tensor:
        pieces = self.lift(windows.view(len(windows), -1, 192)) + self.places
        made: Tensor = self.head(self.blocks(pieces).mean(1))
        return made


@program("loss_read_each_step")
def herd_motion(loop: Loop, mended: bool) -> None:
    """Append the loss of each step to a list by item(), so the GPU waits for the next windows; mended, as a tensor."""
    size, length, width = 256 // SMALL, 3072 // (1 if ON_GPU else 8), 768 // SMALL
    herd = HerdRecords(32, 100_000 // SMALL)
    network = MotionClassifier(width, 8, length // 24).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-4, fused=ON_GPU)
    losses: list[float | Tensor] = []
    for _ in iterate_without_ranges(loop):
        windows, behaviors = (one.to(DEVICE, non_blocking=True) for one in herd.sample(size, length))
        with torch.autocast(DEVICE.type, torch.bfloat16):
            loss = functional.cross_entropy(network(windows), behaviors)
        learn(optimizer, loss)
        losses.append(loss.detach() if mended else loss.item())
    np.mean([float(loss) for loss in losses])


@program("many_synchronizations")
def tumor_slides(loop: Loop, mended: bool) -> None:
    """Read how large each gradient is beside its weights by item(), one by one; mended, all after the last step."""
    from torchvision.models import densenet121

    size, side = (96, 224) if ON_GPU else (2, 32)
    network = densenet121(num_classes=9).to(DEVICE, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    tiles = torch.rand(2, size, 3, side, side, device=DEVICE)
    tissues = torch.randint(9, (2, size), device=DEVICE)
    ratios: dict[str, list[Any]] = {name: [] for name, _ in network.named_parameters()}
    for number in iterate_without_ranges(loop):
        given = tiles[number % 2].contiguous(memory_format=torch.channels_last)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            loss = functional.cross_entropy(network(given), tissues[number % 2])
        learn(optimizer, loss)
        with torch.no_grad():
            for name, one in network.named_parameters():
                ratio = one.grad.norm() / one.norm()
                ratios[name].append(ratio if mended else ratio.item())
    if mended:
        ratios = {name: torch.stack(some).tolist() for name, some in ratios.items()}
    max(ratios, key=lambda name: np.mean(ratios[name]))


class Basecaller(nn.Module):
    """Convolutions over the current through a pore, then a transformer that tells a base or none for each piece."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv1d(1, 64, 5, padding=2), nn.SiLU(), nn.Conv1d(64, width, 9, 4, padding=4), nn.SiLU()
        )
        self.blocks = nn.Sequential(*(Block(width, 8) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 5, bias=False)

    def forward(self, currents: Tensor) -> Tensor:
        x = self.blocks(self.stem(currents[:, None]).mT.contiguous())
        made: Tensor = self.head(self.norm(x - x.mean(1, keepdim=True)))
        return made


def write_reads(paths: NDArray[Any], chances: NDArray[Any]) -> list[tuple[str, str]]:
    """Return the bases of each read and their qualities as in FASTQ, piece by piece."""
    reads = []
    for path, sure in zip(paths.tolist(), chances.tolist(), strict=True):
        bases, qualities, last = "", "", 0
        for letter, chance in zip(path, sure, strict=True):
            if letter not in (0, last):
                bases += "NACGT"[letter]
                qualities += chr(33 + int(-10.0 * math.log10(1.0001 - chance)))
            last = letter
        reads.append((bases, qualities))
    return reads


def write_reads_at_once(paths: NDArray[Any], chances: NDArray[Any]) -> list[tuple[str, str]]:
    """Return the bases of each read and their qualities as in FASTQ, by operations on all pieces."""
    masks = (paths != 0) & (paths != np.pad(paths, ((0, 0), (1, 0)))[:, :-1])
    bases = np.frombuffer(b"NACGT", np.uint8)[paths]
    qualities = (33 - 10.0 * np.log10(1.0001 - chances)).astype(np.uint8)
    return [
        (letters[keep].tobytes().decode(), marks[keep].tobytes().decode())
        for letters, marks, keep in zip(bases, qualities, masks, strict=True)
    ]


@program("host_work")
def nanopore_reads(loop: Loop, mended: bool) -> None:
    """Write the bases of reads in a Python loop over all pieces, while the GPU has nothing to do; mended, by NumPy."""
    reads, samples, width = 160 // SMALL, 4000 // (1 if ON_GPU else 10), 512 // SMALL
    kind = torch.bfloat16 if ON_GPU else torch.float32
    network = Basecaller(width, 8).to(DEVICE, kind)
    currents = [pin(torch.randn(reads, samples, dtype=kind)) for _ in range(4)]
    write = write_reads_at_once if mended else write_reads
    letters = 0
    loop.name = "chunk {}"
    with torch.inference_mode():
        for number in loop:
            with annotate("basecall"):
                scores = network(currents[number % 4].to(DEVICE, non_blocking=True))
                chances, paths = scores.float().softmax(-1).max(-1)
            with annotate("fetch"):
                path, chance = paths.to(torch.uint8).cpu().numpy(), chances.cpu().numpy()
            with annotate("write"):
                letters += sum(len(bases) for bases, _ in write(path, chance))


class VolumeStage(nn.Module):
    """Half the sides of a volume, then two convolutions beside a shortcut."""

    def __init__(self, given: int, made: int) -> None:
        super().__init__()
        self.shrink = nn.Conv3d(given, made, 2, 2)
        self.body = nn.Sequential(
            nn.Conv3d(made, made, 3, padding=1, bias=False), nn.BatchNorm3d(made), nn.ReLU(inplace=True),
            nn.Conv3d(made, made, 3, padding=1, bias=False), nn.BatchNorm3d(made),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        x = self.shrink(x)
        return functional.relu(x + self.body(x))


@program("pageable_batches")
def brain_lesions(loop: Loop, mended: bool) -> None:
    """Let Lightning move volumes of four kinds of MRI from ordinary memory; mended, from pinned memory."""
    import lightning

    size, side = (6, 128) if ON_GPU else (2, 32)

    class Grader(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            widths = (4, 64, 128, 256, 320)
            self.stages = nn.Sequential(*(VolumeStage(*pair) for pair in itertools.pairwise(widths)))
            self.head = nn.Linear(widths[-1], 4)

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            with annotate("stages"):
                x = self.stages(batch[0].contiguous(memory_format=torch.channels_last_3d))
            with annotate("grade"):
                return functional.cross_entropy(self.head(x.mean((2, 3, 4))).float(), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    scans = [[torch.rand(size, 4, side, side, side), torch.randint(4, (size,))] for _ in range(3)]
    if mended:
        scans = [[pin(one) for one in scan] for scan in scans]
    batches: Any = [scans[number % 3] for number in range(loop.total)]
    loop.name = "patients {}"
    network = Grader().to(memory_format=torch.channels_last_3d)
    fit_with_lightning(loop, network, DataLoader(batches, batch_size=None))


@program("cache_disabled")
def ward_notes(loop: Loop, mended: bool) -> None:
    """Generate with use_cache=False, left over from the training with checkpointing; mended, with the cache."""
    from transformers import GPT2Config, GPT2LMHeadModel

    size, length, new_tokens, words = (48, 1000, 8, 50_257) if ON_GPU else (2, 16, 2, 512)
    config = GPT2Config(
        vocab_size=words, n_positions=length + new_tokens, n_embd=1024 // SMALL, n_layer=8, n_head=16,
        activation_function="gelu_pytorch_tanh", bos_token_id=words - 1, eos_token_id=words - 1,
    )  # fmt: skip
    with DEVICE:
        network: Any = GPT2LMHeadModel(config)
    network.to(DEVICE, torch.bfloat16).eval()
    courses = torch.randint(words - 1, (4, size, length), device=DEVICE)
    everything = torch.ones(size, length, device=DEVICE, dtype=torch.int64)
    with torch.inference_mode():
        for number in iterate_without_ranges(loop):
            letters = network.generate(
                courses[number % 4], attention_mask=everything, max_new_tokens=new_tokens, do_sample=False,
                use_cache=mended, pad_token_id=words - 1,
            )  # fmt: skip
            letters[:, length:].cpu()


@program("results_to_host_each_step")
def flood_gauges(loop: Loop, mended: bool) -> None:
    """Bring the weather of all members to NumPy each step, to read it at the gauges; mended, read it on the GPU."""
    import jax
    from jax import numpy as jnp

    members, points, fields, width, count = (64, 8192, 72, 512, 3) if ON_GPU else (2, 64, 8, 16, 2)
    keys = jax.random.split(jax.random.key(92), 2 * count + 3)

    def make(number: int, *shape: int) -> Any:
        return (shape[0] ** -0.5 * jax.random.normal(keys[number], shape)).astype(jnp.bfloat16)

    blocks = [(make(2 * at, width, 4 * width), make(2 * at + 1, 4 * width, width)) for at in range(count)]
    lift, drop = make(2 * count, fields, width), make(2 * count + 1, width, fields)
    weather = jax.random.normal(keys[-1], (members, points, fields), jnp.float32)
    gauges = np.arange(0, points, points // 32)

    def advance(weather: Any, weights: Any) -> Any:
        lift, blocks, drop = weights
        x = weather.astype(jnp.bfloat16) @ lift
        for up, down in blocks:
            near = x + 0.5 * (jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1))
            scaled = near * jax.lax.rsqrt(jnp.mean(near * near, -1, keepdims=True) + 1e-6)
            x = x + jax.nn.gelu(scaled @ up) @ down
        return 0.99 * weather + 0.01 * jnp.tanh((x @ drop).astype(jnp.float32))

    step = jax.jit(advance, donate_argnums=0)
    read = jax.jit(lambda weather: weather[:, gauges, 0].max(0))
    highest: list[Any] = []
    for number in iterate_without_ranges(loop):
        weather = step(weather, (lift, blocks, drop))
        highest.append(read(weather) if mended else np.asarray(weather)[:, gauges, 0].max(0))
        if number + 1 == loop.total:
            jax.block_until_ready(weather)
    np.stack([np.asarray(one) for one in highest]).max(0)


def photosynthesize(leaves: Tensor, light: Tensor, warmth: Tensor, dryness: Tensor) -> Tensor:
    """Return the carbon that leaves take up in each hour, by the equations of Farquhar and Medlyn."""
    fixing, moving, opening = leaves.exp().unsqueeze(-1).unbind(1)
    warmer = warmth - 25.0
    fixed = 60.0 * fixing * torch.exp(0.06 * warmer) / (1.0 + torch.exp(0.3 * (warmth - 38.0)))
    moved = 100.0 * moving * torch.exp(0.04 * warmer) / (1.0 + torch.exp(0.3 * (warmth - 36.0)))
    point = 42.75 * torch.exp(0.05 * warmer)
    halved = 405.0 * torch.exp(0.07 * warmer) * (1.0 + 210.0 / (278.0 * torch.exp(0.03 * warmer)))
    inside = 400.0 * (1.0 - 1.0 / (1.6 + 4.0 * opening / torch.sqrt(dryness)))
    by_enzyme = fixed * (inside - point) / (inside + halved)
    absorbed = 0.36 * light
    electrons = (absorbed + moved - torch.sqrt((absorbed + moved).square() - 2.8 * absorbed * moved)) / 1.4
    by_light = 0.25 * electrons * (inside - point) / (inside + 2.0 * point)
    both = by_enzyme + by_light
    gross = (both - torch.sqrt((both.square() - 3.92 * by_enzyme * by_light).clamp(min=1e-4))) / 1.96
    return gross - 0.015 * fixed


@program("unfused_elementwise")
def canopy_carbon(loop: Loop, mended: bool) -> None:
    """Train through the equations of photosynthesis, an operation after the other; mended, with torch.compile."""
    pixels, hours, bands, width = (1 << 21) // SMALL**3, 24, 16, 256 // SMALL
    parts = [part for _ in range(3) for part in (nn.Linear(width, width), nn.GELU("tanh"))]
    network = nn.Sequential(nn.Linear(bands, width), nn.GELU("tanh"), *parts, nn.Linear(width, 3)).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    model = torch.compile(photosynthesize) if mended and ON_GPU else photosynthesize
    spectra = torch.randn(pixels, bands, device=DEVICE)
    light, warmth, dryness, measured = torch.rand(4, pixels, hours, device=DEVICE)
    light, warmth, dryness = 1500.0 * light, 10.0 + 25.0 * warmth, 0.5 + 2.0 * dryness
    measured.mul_(20.0)
    loop.name = "tile {}"
    for _ in loop:
        with annotate("leaf_traits"), torch.autocast(DEVICE.type, torch.bfloat16):
            leaves = network(spectra)
        with annotate("photosynthesis"):
            uptake = model(0.1 * leaves.float(), light, warmth, dryness)
        with annotate("update"):
            learn(optimizer, functional.mse_loss(uptake, measured))

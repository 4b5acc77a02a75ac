"""Programs as courses, notebooks and repositories of papers have them, with a fault each, to judge the rules: written
by somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import math
import os
from importlib import import_module
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, load_numba_cuda, program
from bench.fault_programs.models import UNet
from bench.fault_programs.services import Reviews, iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning, train_with_hugging_face
from bench.fault_programs.training import learn


def pin(given: Tensor) -> Tensor:
    """Return a tensor in pinned memory if there is a GPU."""
    return given.pin_memory() if ON_GPU else given


@program("input_made_between_steps")
def bird_calls(loop: Loop, mended: bool) -> None:
    """Make the spectrograms of each batch by torchaudio on the CPU before its step; mended, on the GPU."""
    from torchvision.models import resnet18

    transforms = import_module("torchaudio.transforms")
    size, rate, place = 64 // SMALL, 32_000 // (1 if ON_GPU else 4), DEVICE if mended else torch.device("cpu")
    make_image = nn.Sequential(
        transforms.MelSpectrogram(rate, n_fft=1024, hop_length=320, n_mels=128), transforms.AmplitudeToDB()
    ).to(place)
    network: Any = resnet18(num_classes=264).to(DEVICE).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=ON_GPU)
    sounds = [pin(0.1 * torch.randn(size, 5 * rate)) for _ in range(4)]
    heard = torch.randint(2, (size, 264), device=DEVICE).float()
    for number in iterate_without_ranges(loop):
        image = make_image(sounds[number % 4].to(place, non_blocking=True))
        if not mended:
            image = pin(image).to(DEVICE, non_blocking=True)
        image = image[:, None].expand(-1, 3, -1, -1).contiguous(memory_format=torch.channels_last)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            scores = network(image / 80.0)
        learn(optimizer, functional.binary_cross_entropy_with_logits(scores.float(), heard))


@program("small_microbatches")
def plant_species(loop: Loop, mended: bool) -> None:
    """Keep the sixteen microbatches that a notebook needed for a GPU of 8 GB; mended, one batch of 64 photos."""
    from torchvision.models import VisionTransformer

    side, size = (224, 64) if ON_GPU else (32, 16)
    count = 1 if mended else 16
    network: Any = VisionTransformer(side, 16, 12, 12, 768 // SMALL, 3072 // SMALL, num_classes=1081).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    photos = torch.randn(size, 3, side, side, device=DEVICE)
    kinds = torch.randint(1081, (size,), device=DEVICE)
    loop.name = "update {}"
    for _ in loop:
        optimizer.zero_grad()
        for few, named in zip(photos.chunk(count), kinds.chunk(count), strict=True):
            with annotate("forward"), torch.autocast(DEVICE.type, torch.bfloat16):
                loss = functional.cross_entropy(network(few), named) / count
            with annotate("backward"):
                torch.autograd.backward(loss)
        optimizer.step()


@program("loop_over_samples")
def faq_search(loop: Loop, mended: bool) -> None:
    """Embed the questions of a batch one after the other; mended, all of them by one call of the encoder."""
    from transformers import BertConfig, BertModel

    wide, batch = 384 // SMALL, 48 // SMALL
    config = BertConfig(
        vocab_size=30_522 // SMALL, hidden_size=wide, num_hidden_layers=6, num_attention_heads=12,
        intermediate_size=4 * wide,
    )  # fmt: skip
    with DEVICE:
        encoder: Any = BertModel(config, add_pooling_layer=False).to(torch.bfloat16).eval()
    answers = functional.normalize(torch.randn(100_000 // SMALL, wide, device=DEVICE, dtype=torch.bfloat16))
    questions = torch.randint(config.vocab_size, (4, batch, 128), device=DEVICE)

    def embed(texts: Tensor) -> Tensor:
        return functional.normalize(encoder(input_ids=texts).last_hidden_state.mean(1))

    loop.name = "requests {}"
    with torch.inference_mode():
        for number in loop:
            asked = questions[number % 4]
            with annotate("encode"):
                made = embed(asked) if mended else torch.cat([embed(one[None]) for one in asked])
            with annotate("search"):
                (made @ answers.T).topk(5)


@program("single_precision")
def electricity(loop: Loop, mended: bool) -> None:
    """Pretrain a PatchTST on meters with PyTorch's default precision of products, "highest"; mended, "high"."""
    torch.set_float32_matmul_precision("high" if mended else "highest")
    patch, width = 16, 512 // SMALL
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    network = nn.Sequential(nn.Linear(patch, width), encoder, nn.Linear(width, patch)).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    meters = torch.randn(4, 1024 // SMALL, 512, device=DEVICE)
    loop.name = "epoch 0 batch {}"
    for number in loop:
        patches = meters[number % 4].unfold(-1, patch, patch)
        hidden = torch.rand(*patches.shape[:2], 1, device=DEVICE) < 0.4
        learn(optimizer, functional.mse_loss(network(patches.masked_fill(hidden, 0.0)), patches))


@program("many_synchronizations")
def terrain_planes(loop: Loop, mended: bool) -> None:
    """Compare each plane that RANSAC tries with the best one so far in Python; mended, all of them at the end."""
    tries, near = 200, 0.05
    points = torch.randn(3, 1_000_000 // SMALL, device=DEVICE)
    least = points.shape[1] // 1000
    for _ in iterate_without_ranges(loop):
        corners = points.T[torch.randint(points.shape[1], (tries, 3), device=DEVICE)]
        sides = corners[:, 1:] - corners[:, :1]
        normals = functional.normalize(torch.linalg.cross(sides[:, 0], sides[:, 1]))
        offsets = (normals * corners[:, 0]).sum(1)
        tried: list[tuple[Tensor, Tensor]] = []
        best = math.inf
        chosen: Any = 0
        for at in range(tries):
            distances = (normals[at] @ points - offsets[at]).abs()
            cost, count = distances.clamp(max=near).sum(), (distances < near).sum()
            if mended:
                tried.append((cost, count))
            elif count.item() > least and cost.item() < best:
                best, chosen = cost.item(), at
        if mended:
            costs, counts = (torch.stack(numbers) for numbers in zip(*tried, strict=True))
            chosen = costs.masked_fill(counts <= least, math.inf).argmin(0, keepdim=True)  # read by the GPU alone
        (normals[chosen].view(3) @ points - offsets[chosen]).square().mean()


@program("same_data_each_step")
def co_purchases(loop: Loop, mended: bool) -> None:
    """Send the whole graph, which never changes, to the GPU in each epoch of GraphSAGE; mended, once."""
    convolution: Any = import_module("torch_geometric.nn").SAGEConv
    nodes, links, wide, kinds = 160_000 // SMALL, 400_000 // SMALL, 512 // SMALL, 47
    torch.backends.cuda.matmul.allow_tf32 = True
    first, last = convolution(wide, 128).to(DEVICE), convolution(128, kinds).to(DEVICE)
    optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=3e-3, fused=ON_GPU)
    graph = [pin(one) for one in (torch.randn(nodes, wide), torch.randint(nodes, (2, links)))]
    labels = pin(torch.randint(kinds, (nodes,)))
    if mended:
        graph, labels = [one.to(DEVICE) for one in graph], labels.to(DEVICE)
    loop.name = "epoch {}"
    for _ in loop:
        goods, edges = (one.to(DEVICE, non_blocking=True) for one in graph)
        bought = labels.to(DEVICE, non_blocking=True)
        with annotate("model"):
            made = last(functional.relu(first(goods, edges)), edges)
        learn(optimizer, functional.cross_entropy(made, bought))


@program("results_to_host_each_step")
def land_cover(loop: Loop, mended: bool) -> None:
    """Keep the chances of each pixel in the memory of the host after each batch of Lightning; mended, of the GPU."""
    import lightning

    size, side, kinds = (16, 512, 16) if ON_GPU else (2, 32, 16)
    widths = tuple(one // SMALL for one in (32, 64, 128, 256))
    place = DEVICE if mended else torch.device("cpu")

    class Mapper(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            network: Any = UNet(kinds, widths)
            self.network = network.to(memory_format=torch.channels_last)
            self.chances = [torch.zeros(size, kinds, side, side, device=place) for _ in range(loop.total)]

        def training_step(self, batch: list[Tensor], at: int) -> Tensor:
            scores = self.network(batch[0]).float()
            self.chances[at].copy_(scores.detach().softmax(1))
            return functional.cross_entropy(scores, batch[1])

        def on_train_epoch_end(self) -> None:
            np.stack([one.mean((0, 2, 3)).cpu().numpy() for one in self.chances])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-3, fused=ON_GPU)

    tiles = torch.randn(size, 3, side, side, device=DEVICE).to(memory_format=torch.channels_last)
    batches: Any = [[tiles, torch.randint(kinds, (size, side, side), device=DEVICE)]] * loop.total
    loop.name = "batch {}"
    fit_with_lightning(loop, Mapper(), DataLoader(batches, batch_size=None))


@program("low_occupancy")
def forest_scores(loop: Loop, mended: bool) -> None:
    """Reserve shared memory for a path of 512 nodes for each thread; mended, for the 18 that a tree is deep."""
    import cupy

    count, wide, trees, depth, threads = 1 << 22, 32, 6, 18, 64
    kernel = cupy.RawKernel(
        """extern "C" __global__ void descend(const float *rows, const int *columns, const float *cuts,
                                              const float *gains, float *made, int count, int depth) {
            extern __shared__ int path[];
            int at = blockIdx.x * blockDim.x + threadIdx.x, node = 0;
            if (at >= count) return;
            for (int level = 0; level < depth; ++level) {
                path[level * blockDim.x + threadIdx.x] = node;
                node = 2 * node + 1 + (rows[(long long)columns[node] * count + at] > cuts[node]);
            }
            float sum = 0.0f;
            for (int level = 0; level < depth; ++level) sum += gains[path[level * blockDim.x + threadIdx.x]];
            made[at] += sum;
        }""",
        "descend",
    )
    kernel.max_dynamic_shared_size_bytes = shared = 4 * threads * (depth if mended else 512)
    rows = cupy.random.random((wide, count), dtype=cupy.float32)
    columns = cupy.random.randint(0, wide, (trees, 1 << depth), dtype=cupy.int32)
    cuts, gains = (cupy.random.random((trees, 1 << depth), dtype=cupy.float32) for _ in range(2))
    made, sizes = cupy.zeros(count, cupy.float32), (np.int32(count), np.int32(depth))
    loop.name = "portfolio {}"
    for _ in loop:
        made.fill(0.0)
        for tree in range(trees):
            with annotate("tree"):
                given = (rows, columns[tree], cuts[tree], gains[tree], made, *sizes)
                kernel((count // threads,), (threads,), given, shared_mem=shared)


@program("round_trips")
def night_photos(loop: Loop, mended: bool) -> None:
    """Call Numba's kernels with arrays of NumPy, which go to the GPU and back for each; mended, once for each photo."""
    cuda = load_numba_cuda()

    height, width, reach = 2048, 4096, 5
    zero, one, steep, flat = np.float32(0.0), np.float32(1.0), np.float32(-40.0), np.float32(-0.05)

    @cuda.jit
    def smooth(seen: Any, made: Any) -> None:
        column, row = cuda.grid(2)
        if row < height and column < width:
            here, total, weights = seen[row, column], zero, zero
            for down in range(-reach, reach + 1):
                for right in range(-reach, reach + 1):
                    value = seen[min(max(row + down, 0), height - 1), min(max(column + right, 0), width - 1)]
                    away, far = value - here, np.float32(down * down + right * right)
                    weight = math.exp(steep * away * away + flat * far)
                    total += weight * value
                    weights += weight
            made[row, column] = total / max(weights, one)

    random = np.random.default_rng(41)
    photos = [random.random((height, width), dtype=np.float32) for _ in range(3)]
    buffers: list[Any] = [np.zeros((height, width), np.float32) for _ in range(2)]
    result = np.zeros((height, width), np.float32)
    if mended:
        buffers = [cuda.to_device(buffer) for buffer in buffers]
    blocks, threads = (width // 32, height // 8), (32, 8)
    loop.name = "photo {}"
    for number in loop:
        now: Any = cuda.to_device(photos[number % 3]) if mended else photos[number % 3]
        for at in range(4):
            with annotate("bilateral"):
                smooth[blocks, threads](now, buffers[at % 2])
            now = buffers[at % 2]
        result = now.copy_to_host(result) if mended else now


@program("many_small_copies")
def wildlife_boxes(loop: Loop, mended: bool) -> None:
    """Send each field of the objects of each photo by itself, as detection recipes do; mended, stacked by the batch."""
    from torchvision.models import resnet18

    size, side, objects, kinds = 96 // SMALL, 224 // (1 if ON_GPU else 7), 20, 91
    network: Any = resnet18(num_classes=objects * (4 + kinds)).to(DEVICE).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.02, momentum=0.9, fused=ON_GPU)
    photos = torch.randn(size, 3, side, side, device=DEVICE).to(memory_format=torch.channels_last)
    targets = [
        {
            "boxes": torch.rand(objects, 4), "labels": torch.randint(kinds, (objects,)), "area": torch.rand(objects),
            "iscrowd": torch.zeros(objects), "visible": torch.ones(objects), "weight": torch.ones(1),
        }
        for _ in range(size)
    ]  # fmt: skip
    stacked = {name: pin(torch.stack([one[name] for one in targets])) for name in targets[0]}
    for _ in iterate_without_ranges(loop):
        if mended:
            wanted = {name: one.to(DEVICE, non_blocking=True) for name, one in stacked.items()}
        else:
            moved = [{name: one.to(DEVICE) for name, one in target.items()} for target in targets]
            wanted = {name: torch.stack([target[name] for target in moved]) for name in moved[0]}
        with torch.autocast(DEVICE.type, torch.bfloat16):
            made = network(photos).float().view(size, objects, -1)
        counted = wanted["weight"] * wanted["visible"] * (1.0 - wanted["iscrowd"]) / (0.1 + wanted["area"])
        named = functional.cross_entropy(made[..., 4:].flatten(0, 1), wanted["labels"].flatten())
        learn(optimizer, named + ((made[..., :4] - wanted["boxes"]).abs().sum(-1) * counted).mean())


class SumTree:
    """Priorities and the sums of their pairs, as repositories of prioritized replay have it."""

    def __init__(self, leaves: int) -> None:
        self.leaves, self.sums = leaves, [1.0] * (2 * leaves)
        for at in reversed(range(1, leaves)):
            self.sums[at] = self.sums[2 * at] + self.sums[2 * at + 1]

    def put(self, leaf: int, priority: float) -> None:
        at = leaf + self.leaves
        change = priority - self.sums[at]
        while at:
            self.sums[at] += change
            at //= 2

    def find(self, wanted: float) -> int:
        at = 1
        while at < self.leaves:
            at *= 2
            if wanted > self.sums[at]:
                wanted -= self.sums[at]
                at += 1
        return at - self.leaves


@program("python_between_launches")
def atari_agent(loop: Loop, mended: bool) -> None:
    """Draw replays by their priorities from a tree of sums in Python; mended, from a cumulative sum on the GPU."""
    capacity, size, moves, random = 65_536 // SMALL, 1024 // SMALL, 18, Random(5)

    def make_network() -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(),
            nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, moves),
        ).to(DEVICE)  # fmt: skip

    network, aim = make_network(), make_network().requires_grad_(False)
    optimizer = torch.optim.Adam(network.parameters(), lr=6e-5, fused=ON_GPU)
    screens = torch.randint(256, (capacity, 4, 84, 84), device=DEVICE, dtype=torch.uint8)
    moved, gained = torch.randint(moves, (capacity,), device=DEVICE), torch.randn(capacity, device=DEVICE)
    tree, priorities, places = SumTree(capacity), torch.ones(capacity, device=DEVICE), torch.arange(size, device=DEVICE)

    def draw() -> Tensor:
        if mended:
            sums = priorities.cumsum(0)
            wanted = (places + torch.rand(size, device=DEVICE)) * (sums[-1] / size)
            return torch.searchsorted(sums, wanted).clamp(max=capacity - 1)
        share = tree.sums[1] / size
        return pin(torch.tensor([tree.find((at + random.random()) * share) for at in range(size)])).to(DEVICE)

    def rank(drawn: Tensor, errors: Tensor) -> None:
        if mended:
            priorities[drawn] = errors
        else:
            for leaf, error in zip(drawn.tolist(), errors.tolist(), strict=True):
                tree.put(leaf, error)

    loop.name = "learner {}"
    for _ in loop:
        for _ in range(4):
            with annotate("sample"):
                drawn = draw()
            with annotate("learn"):
                with torch.autocast(DEVICE.type, torch.bfloat16):
                    value = network(screens[drawn] / 255.0).float().gather(1, moved[drawn][:, None]).squeeze(1)
                    with torch.no_grad():
                        later = aim(screens[(drawn + 1) % capacity] / 255.0).float().amax(1)
                wanted = gained[drawn] + 0.99 * later
                learn(optimizer, functional.smooth_l1_loss(value, wanted))
            with annotate("priorities"):
                rank(drawn, (value.detach() - wanted).abs() + 0.01)


@program("shapes_that_recompile")
def solar_yield(loop: Loop, mended: bool) -> None:
    """Give JAX's jit the rate of a cosine schedule as a static argument; mended, as an ordinary one."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax import numpy as jnp

    rows, width = (65_536, 1024) if ON_GPU else (256, 32)
    keys = jax.random.split(jax.random.key(23), 4)
    seen, wanted = jax.random.normal(keys[0], (rows, width)), jax.random.normal(keys[1], (rows, 1))
    weights = [jax.random.normal(keys[2 + at], (width, made)) / width**0.5 for at, made in enumerate((width, 1))]

    def measure(weights: Any, seen: Any, wanted: Any) -> Any:
        return jnp.square(jnp.tanh(seen @ weights[0]) @ weights[1] - wanted).mean()

    def update(weights: Any, seen: Any, wanted: Any, rate: Any) -> Any:
        slopes = jax.grad(measure)(weights, seen, wanted)
        return [one - rate * slope for one, slope in zip(weights, slopes, strict=True)]

    advance = jax.jit(update) if mended else jax.jit(update, static_argnames="rate")
    loop.steps, loop.warmup, loop.name = 12, 3, "pass {}"
    for number in loop:
        rate = 0.01 * (1.0 + math.cos(math.pi * number / loop.total))
        for _ in range(8):
            with annotate("update"):
                weights = advance(weights, seen, wanted, rate=rate)
        jax.block_until_ready(weights)


@program("step_growth")
def legal_clauses(loop: Loop, mended: bool) -> None:
    """Hook the watcher of activations to each norm again at the begin of each step of Trainer; mended, once."""
    from transformers import BertConfig, BertForSequenceClassification, TrainerCallback

    config = BertConfig(
        vocab_size=8192, hidden_size=512 // SMALL, num_hidden_layers=12, num_attention_heads=8,
        intermediate_size=2048 // SMALL, num_labels=8,
    )  # fmt: skip
    network: Any = BertForSequenceClassification(config)
    norms = [one for one in network.modules() if isinstance(one, nn.LayerNorm)]
    seen: dict[Any, tuple[Tensor, ...]] = {}

    def watch(norm: Any, _: Any, made: Tensor) -> None:
        values = made.detach().float()
        large = values.abs()
        seen[norm] = values.mean(), values.std(), large.amax(), (large > 6.0).float().mean()

    class Watcher(TrainerCallback):
        def on_step_begin(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
            if state.global_step == 0 or not mended:
                for norm in norms:
                    norm.register_forward_hook(watch)

    loop.name = "trainer step {}"
    batch = 32 // (1 if ON_GPU else 8)
    clauses = Reviews((loop.total + 1) * batch, 256 // SMALL)
    train_with_hugging_face(loop, network, batch, clauses, (Watcher(),), logging_nan_inf_filter=False)


@program("graph_captured_each_step")
def autopilot(loop: Loop, mended: bool) -> None:
    """Capture a CUDA graph for each set of pictures, since it lies elsewhere; mended, copy it to where one reads."""
    from torchvision.models import resnet50

    shape = (12, 3, 384, 640) if ON_GPU else (1, 3, 48, 64)
    network: Any = resnet50(num_classes=256).to(DEVICE, torch.bfloat16).to(memory_format=torch.channels_last).eval()
    cameras = [pin(torch.randint(256, shape, dtype=torch.uint8)) for _ in range(3)]
    held = torch.zeros(shape, dtype=torch.uint8, device=DEVICE)

    def look(given: Tensor) -> Tensor:
        return torch.softmax(network(given.to(torch.bfloat16, memory_format=torch.channels_last) / 127.5 - 1.0), 1)

    def capture(given: Tensor) -> Any:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            made = look(given)
        return graph, made

    with torch.no_grad():
        captured: Any = None
        if ON_GPU:
            beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            with torch.cuda.stream(beside):
                for _ in range(3):
                    look(held)
            torch.cuda.synchronize()
            captured = capture(held) if mended else None
        for number in iterate_without_ranges(loop):
            pictures = cameras[number % 3]
            if not ON_GPU:
                look(pictures)
                continue
            if mended:
                held.copy_(pictures, non_blocking=True)
            else:
                given = pictures.to(DEVICE, non_blocking=True)  # the graph reads it, so it has to live
                captured = capture(given)
            captured[0].replay()
            captured[1].argmax(1)

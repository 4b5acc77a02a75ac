"""Programs as restaurants, shops, games and streaming services write them, with a fault each, to judge the rules:
written by somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.courses import pin
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.models import Block
from bench.fault_programs.services import Reviews, iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning, train_with_hugging_face
from bench.fault_programs.training import learn


def make_convolutions(channels: int, width: int, depth: int, *, normed: bool = False) -> list[nn.Module]:
    """Return a convolution that halves the sides of pictures and ``depth`` further ones."""
    parts: list[nn.Module] = [nn.Conv2d(channels, width, 3, 2, 1), nn.ReLU(inplace=True)]
    for _ in range(depth):
        parts += [nn.Conv2d(width, width, 3, padding=1), *([nn.BatchNorm2d(width)] if normed else [])]
        parts.append(nn.ReLU(inplace=True))
    return parts


def make_pictures(count: int, high: int, wide: int) -> Tensor:
    """Return pictures of colored squares, pinned."""
    coarse = torch.randint(256, (count, 3, high // 8, wide // 8), dtype=torch.uint8)
    return pin(coarse.repeat_interleave(8, 2).repeat_interleave(8, 3))


@program("collection_of_garbage")
def menu_photos(loop: Loop, mended: bool) -> None:
    """Collect garbage and empty the cache of CUDA before each batch of dishes "against OOM"; mended, never."""
    import lightning

    photos, side, width = (160, 224, 128) if ON_GPU else (2, 32, 8)

    class Dishes(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            sizes = ((3, width // 2), (width // 2, width), (width, 2 * width), (2 * width, 4 * width))
            stages = [part for size in sizes for part in make_convolutions(*size, 5, normed=True)]
            head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 101)
            network: Any = nn.Sequential(*stages, *head)
            self.network = network.to(memory_format=torch.channels_last)

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            if not mended:
                gc.collect()
                torch.cuda.empty_cache()
            pixels = batch[0].to(memory_format=torch.channels_last).to(torch.bfloat16).div_(255.0)
            return functional.cross_entropy(self.network(pixels).float(), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    shards = [[make_pictures(photos, side, side), pin(torch.randint(101, (photos,)))] for _ in range(3)]
    loop.name = "menu batch {}"
    batches: Any = [shards[at % 3] for at in range(loop.total)]
    fit_with_lightning(loop, Dishes(), DataLoader(batches, batch_size=None))


@program("dense_embedding_gradients")
def courier_times(loop: Loop, mended: bool) -> None:
    """Train a large table of couriers, kitchens and street cells by dense gradients; mended, by sparse ones."""
    rows, orders, fields, width = 30_000_000 // SMALL**3, 98_304 // SMALL**2, 6, 64
    table = nn.Embedding(rows, width, sparse=mended, device=DEVICE)
    hidden = 1024 // SMALL
    network = nn.Sequential(
        nn.Linear(fields * width + 32, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
        nn.Linear(hidden, hidden // 2), nn.ReLU(), nn.Linear(hidden // 2, 1),
    ).to(DEVICE)  # fmt: skip
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.SparseAdam(table.parameters()) if mended else torch.optim.Adam(table.parameters(), fused=ON_GPU),
        torch.optim.AdamW(network.parameters(), fused=ON_GPU),
    ]
    ids = [pin((rows * torch.rand(orders, fields) ** 3).long()) for _ in range(4)]
    facts, minutes = [pin(torch.randn(orders, 32)) for _ in range(4)], [pin(torch.rand(orders)) for _ in range(4)]
    loop.name = "orders {}"
    for number in loop:
        known, fact, minute = (one[number % 4].to(DEVICE, non_blocking=True) for one in (ids, facts, minutes))
        with annotate("forward"), torch.autocast(DEVICE.type, torch.bfloat16):
            guess = network(torch.cat((table(known).flatten(1), fact), 1)).squeeze(1)
        loss = functional.smooth_l1_loss(guess.float(), minute)
        with annotate("backward"):
            torch.autograd.backward(loss)
        with annotate("update"):
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()


@program("many_small_copies")
def basket_offers(loop: Loop, mended: bool) -> None:
    """Copy the articles, amounts and hours of each basket to the GPU by itself; mended, stack them on the host."""
    baskets, length, articles, width = 1280 // SMALL, 40, 50_000 // SMALL, 512 // SMALL
    kind = torch.bfloat16 if ON_GPU else torch.float32
    known, lift = nn.Embedding(articles, width).to(DEVICE, kind), nn.Linear(2, width).to(DEVICE, kind)
    layers = nn.Sequential(*(Block(width, 8) for _ in range(12 if ON_GPU else 2))).to(DEVICE, kind)
    head = nn.Linear(width, 256).to(DEVICE, kind)
    random = np.random.default_rng(71)
    waiting = [
        {
            "articles": random.integers(articles, size=length),
            "amounts": random.random(length, dtype=np.float32),
            "hours": random.random(length, dtype=np.float32),
        }
        for _ in range(4 * baskets)
    ]

    def gather(requests: list[dict[str, Any]], key: str) -> Tensor:
        if mended:
            return torch.from_numpy(np.stack([request[key] for request in requests])).to(DEVICE)
        return torch.stack([torch.from_numpy(request[key]).to(DEVICE) for request in requests])

    offers = []
    with torch.inference_mode():
        for number in iterate_without_ranges(loop):
            requests = waiting[number % 4 * baskets :][:baskets]
            bought, amounts, hours = (gather(requests, key) for key in ("articles", "amounts", "hours"))
            x = known(bought) + lift(torch.stack((amounts, hours), -1).to(kind))
            offers.append(head(layers(x).mean(1)).topk(5).indices)
    torch.cat(offers).tolist()


@program("loop_over_samples")
def outfit_judge(loop: Loop, mended: bool) -> None:
    """Judge how the clothes of an outfit go together, an outfit after the other; mended, all of a batch at once."""
    outfits, clothes, side, width = (64, 6, 112, 128) if ON_GPU else (3, 6, 16, 8)
    eye: Any = nn.Sequential(
        *make_convolutions(3, width // 2, 2, normed=True), *make_convolutions(width // 2, width, 10, normed=True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 4 * width),
    ).to(DEVICE)  # fmt: skip
    eye.to(memory_format=torch.channels_last)
    taste = nn.Sequential(*(Block(4 * width, 8) for _ in range(3)), nn.Linear(4 * width, 1)).to(DEVICE)
    optimizer = torch.optim.AdamW([*eye.parameters(), *taste.parameters()], fused=ON_GPU)
    shots = [make_pictures(outfits * clothes, side, side) for _ in range(3)]
    liked = torch.randint(2, (3, outfits), device=DEVICE).float()
    loop.name = "outfits {}"
    for number in loop:
        pictures = shots[number % 3].to(DEVICE, non_blocking=True).to(memory_format=torch.channels_last)
        with torch.autocast(DEVICE.type, torch.bfloat16):
            with annotate("see"):
                seen = eye(pictures.to(torch.bfloat16).div_(255.0)).view(outfits, clothes, -1)
            with annotate("judge"):
                if mended:
                    scores = taste(seen).mean((1, 2))
                else:
                    scores = torch.stack([taste(outfit[None]).mean() for outfit in seen])
        loss = functional.binary_cross_entropy_with_logits(scores.float(), liked[number % 3])
        learn(optimizer, loss)


@program("results_to_host_each_step")
def footfall_maps(loop: Loop, mended: bool) -> None:
    """Fetch the maps of shoppers of each frame and add them up on the host; mended, on the GPU, and fetch the sum."""
    cameras, high, wide, width = (64, 528, 960, 64) if ON_GPU else (2, 32, 48, 8)
    kind = torch.bfloat16 if ON_GPU else torch.float32
    network: Any = nn.Sequential(*make_convolutions(3, width, 6), nn.Conv2d(width, 1, 1), nn.Softplus())
    network.to(DEVICE, kind).to(memory_format=torch.channels_last)
    frames = [make_pictures(cameras, high, wide) for _ in range(2)]
    heat = torch.zeros(cameras, 1, high, wide, device=DEVICE if mended else "cpu")
    loop.name = "tick {}"
    with torch.inference_mode():
        for number in loop:
            with annotate("upload"):
                frame = frames[number % 2].to(DEVICE, non_blocking=True)
            with annotate("count_shoppers"):
                pixels = frame.to(memory_format=torch.channels_last).to(kind).div_(255.0)
                maps = functional.interpolate(network(pixels).float(), scale_factor=2.0, mode="bilinear")
            with annotate("heat_map"):
                heat.add_(maps.to(heat.device))
                if number + 1 == loop.total:
                    heat.cpu().numpy().max()


def soften(made: Tensor) -> Tensor:
    """Return vectors of which none is longer than eight."""
    softer: Tensor = made * (8.0 / made.norm(dim=-1, keepdim=True).clamp_min(8.0))
    return softer


class MoveLayer(nn.Module):
    """A layer of a policy for a board game, whose changes a function limits."""

    def __init__(self, width: int, limit: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.limit = limit
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.limit(self.down(functional.gelu(self.up(self.norm(x)))))


@program("graph_breaks")
def opponent_moves(loop: Loop, mended: bool) -> None:
    """Keep a helper of each layer out of torch.compile, as for a bug of long ago; mended, compile it with the rest."""
    boards, width, playouts = 2048 // SMALL, 512 // SMALL, 48 // SMALL
    limit: Any = soften if mended else torch.compiler.disable(soften)  # type: ignore[no-untyped-call]
    policy = nn.Sequential(*(MoveLayer(width, limit) for _ in range(16 if ON_GPU else 3)), nn.Linear(width, width))
    policy.to(DEVICE, torch.bfloat16)
    think: Any = torch.compile(policy) if ON_GPU else policy
    games = torch.randn(4, boards, width, device=DEVICE, dtype=torch.bfloat16)
    moves = torch.zeros(boards, dtype=torch.long, device=DEVICE)
    loop.name = "turn {}"
    with torch.no_grad():
        for number in loop:
            board = games[number % 4]
            with annotate("playouts"):
                for _ in range(playouts):
                    board = board + 0.1 * think(board)
            moves = board.argmax(-1)
    moves.tolist()


@program("shapes_that_recompile")
def order_notes(loop: Loop, mended: bool) -> None:
    """Sort notes to couriers by a jitted JAX function, padded to the longest of a batch; mended, to a few lengths."""
    import jax
    from jax import numpy as jnp

    notes, width, depth, words = (1024, 1024, 8, 32_000) if ON_GPU else (8, 32, 2, 500)
    keys = jax.random.split(jax.random.key(72), 4)
    shapes = {"words": (words, width), "up": (depth, width, 4 * width), "down": (depth, 4 * width, width)}
    shapes["topics"] = (width, 40)
    weights = {
        name: 0.02 * jax.random.normal(key, shape, jnp.bfloat16)
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }

    @jax.jit
    def sort_notes(weights: Any, tokens: Any) -> Any:
        def read(x: Any, pair: Any) -> Any:
            near = x + jnp.roll(x, 1, 1)
            scaled = near * jax.lax.rsqrt(jnp.mean(near * near, -1, keepdims=True) + 1e-6)
            return x + jax.nn.gelu(scaled @ pair[0]) @ pair[1], None

        x, _ = jax.lax.scan(read, weights["words"][tokens], (weights["up"], weights["down"]))
        written = (tokens > 0)[..., None]
        return ((jnp.where(written, x, 0.0).sum(1) / written.sum(1)) @ weights["topics"]).argmax(-1)

    random, batches = np.random.default_rng(73), []
    for number in range(loop.total):  # shortest first, as the service sorts them
        longest = 192 + 8 * (number // 5)
        batch = random.integers(1, words, (notes, longest), dtype=np.int32)
        batches.append(np.pad(batch, ((0, 0), (0, -longest % 256))) if mended else batch)
    topics = []
    loop.name = "notes {}"
    for number in loop:
        topics.append(sort_notes(weights, batches[number]))
        if number + 1 == loop.total:
            jax.block_until_ready(topics)


class RecipeLayer(nn.Module):
    """A layer of a transformer over the words of recipes."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.norm, self.inward, self.outward = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU())
        self.back = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.inward(self.norm(x)).view(*x.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.fused:
            seen = functional.scaled_dot_product_attention(query, key, value)
        else:
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            seen = scores.softmax(-1) @ value
        x = x + self.outward(seen.transpose(1, 2).flatten(2))
        return torch.add(x, self.back(self.feed(x)))


@program("attention_by_hand")
def recipe_search(loop: Loop, mended: bool) -> None:
    """Train an encoder of recipes whose attention is written with softmax and products; mended, with SDPA."""
    recipes, length, width, words = (16, 1024, 768, 30_000) if ON_GPU else (4, 32, 48, 500)
    known, places = nn.Embedding(words, width), nn.Embedding(length, width)
    layers = nn.Sequential(*(RecipeLayer(width, 12, fused=mended) for _ in range(12 if ON_GPU else 2)))
    network = nn.ModuleList([known, places, layers]).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    texts = [pin(torch.randint(words, (recipes, length))) for _ in range(4)]
    titles = functional.normalize(torch.randn(4, recipes, width, device=DEVICE), dim=-1)
    same = torch.arange(recipes, device=DEVICE)
    loop.name = "recipes {}"
    for number in loop:
        text = texts[number % 4].to(DEVICE, non_blocking=True)
        with annotate("encode"), torch.autocast(DEVICE.type, torch.bfloat16):
            made = layers(known(text) + places.weight).float().mean(1)
        loss = functional.cross_entropy(functional.normalize(made, dim=-1) @ titles[number % 4].T / 0.05, same)
        learn(optimizer, loss)


@program("many_synchronizations")
def garment_masks(loop: Loop, mended: bool) -> None:
    """Ask for two counts of pixels of each kind of clothes in each photo; mended, count all of them by bincount."""
    photos, side, width, kinds = (12, 512, 128, 24) if ON_GPU else (2, 32, 8, 6)
    kind = torch.bfloat16 if ON_GPU else torch.float32
    network: Any = nn.Sequential(*make_convolutions(3, width, 16), nn.Conv2d(width, kinds, 1)).to(DEVICE, kind)
    network.to(memory_format=torch.channels_last)
    shots = [make_pictures(photos, side, side) for _ in range(3)]
    coarse = torch.randint(kinds, (3, photos, side // 16, side // 16), device=DEVICE)
    truths = coarse.repeat_interleave(16, 2).repeat_interleave(16, 3)
    first = kinds * torch.arange(photos, device=DEVICE).view(-1, 1, 1)
    overlaps: list[Tensor | float] = []
    loop.name = "validate {}"
    with torch.inference_mode():
        for number in loop:
            truth = truths[number % 3]
            pixels = shots[number % 3].to(DEVICE, non_blocking=True).to(memory_format=torch.channels_last)
            with annotate("segment"):
                logits = network(pixels.to(kind).div_(255.0))
                guess = functional.interpolate(logits, scale_factor=2.0, mode="bilinear").argmax(1)
            with annotate("iou"):
                if mended:
                    pairs = ((first + truth) * kinds + guess).flatten()
                    table = torch.bincount(pairs, minlength=photos * kinds * kinds).view(photos, kinds, kinds)
                    both = table.diagonal(dim1=1, dim2=2)
                    either = table.sum(1) + table.sum(2) - both
                    overlaps.append((both / either.clamp_min(1)).sum() / (either > 0).sum())
                    continue
                shares = []
                for worn, guessed in zip(truth, guess, strict=True):
                    for garment in range(kinds):
                        one, other = worn == garment, guessed == garment
                        union = (one | other).sum().item()
                        if union:
                            shares.append((one & other).sum().item() / union)
                overlaps.append(sum(shares) / len(shares))
    sum(float(overlap) for overlap in overlaps)


class MasterLayer(nn.Module):
    """A layer of a decoder, whose keys and values grow by a token each time or lie in a buffer with room for all."""

    def __init__(self, width: int, heads: int, prompts: Tensor, room: int) -> None:
        super().__init__()
        self.heads, self.start, self.prompts = heads, prompts.shape[3], prompts
        if room:
            self.prompts = functional.pad(prompts, (0, 0, 0, room))
        self.past = self.prompts.unbind(0)
        self.norm, self.inward, self.outward = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU("tanh"))
        self.back, self.room = nn.Linear(4 * width, width), room

    def forward(self, x: Tensor, turn: int) -> Tensor:
        query, *new = self.inward(self.norm(x)).view(len(x), 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        if self.room:
            place = self.start + turn
            for past, one in zip(self.past, new, strict=True):
                past[:, :, place : place + 1] = one
            keys, values = (past[:, :, : place + 1] for past in self.past)
        else:
            old = self.past if turn else self.prompts.unbind(0)
            keys, values = (torch.cat((past, one), 2) for past, one in zip(old, new, strict=True))
            self.past = keys, values
        seen = functional.scaled_dot_product_attention(query, keys, values)
        x = x + self.outward(seen.transpose(1, 2).flatten(2))
        return torch.add(x, self.back(self.feed(x)))


@program("cache_grown_by_concatenation")
def game_master(loop: Loop, mended: bool) -> None:
    """Append the key and value of each token of a story to the past by torch.cat; mended, write them to a buffer."""
    players, heads, length, tokens, depth = (96, 16, 1536, 10, 12) if ON_GPU else (2, 4, 48, 3, 2)
    width, words = 64 * heads // SMALL, 32_000 // SMALL
    kind = torch.bfloat16 if ON_GPU else torch.float32
    layers = nn.ModuleList()
    for _ in range(depth):
        prompts = torch.randn(2, players, heads, length, width // heads, device=DEVICE, dtype=kind)
        layers.append(MasterLayer(width, heads, prompts, tokens if mended else 0).to(DEVICE, kind))
    known, head = nn.Embedding(words, width).to(DEVICE, kind), nn.Linear(width, words).to(DEVICE, kind)
    loop.name = "story {}"
    with torch.inference_mode():
        for number in loop:
            token, story = torch.full((players, 1), number, device=DEVICE), []
            for turn in range(tokens):
                with annotate("next_word"):
                    x = known(token)
                    for layer in layers:
                        x = layer(x, turn)
                    token = head(x).argmax(-1)
                    story.append(token)
            with annotate("send"):
                torch.cat(story, 1).tolist()


@program("small_microbatches")
def review_stars(loop: Loop, mended: bool) -> None:
    """Gather the gradients of an update in eight batches of eight reviews, as on an old GPU; mended, in one of 64."""
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    reviews, parts, length, width = (64, 8, 256, 768) if ON_GPU else (4, 2, 16, 48)
    config = DistilBertConfig(
        vocab_size=30_000 // SMALL, dim=width, hidden_dim=4 * width, n_layers=6 if ON_GPU else 2, n_heads=12,
        max_position_embeddings=length, num_labels=5,
    )  # fmt: skip
    network: Any = DistilBertForSequenceClassification(config)
    dataset = Reviews(reviews * loop.total, length, config.vocab_size, 5)
    rounds = 1 if mended else parts
    loop.name = "update {}"
    train_with_hugging_face(
        loop, network, reviews // rounds, dataset, gradient_accumulation_steps=rounds, logging_nan_inf_filter=False
    )


@program("unfused_elementwise")
def hdr_trailers(loop: Loop, mended: bool) -> None:
    """Map trailers in HDR to the range of old screens by CuPy, an operation at a time; mended, by one kernel."""
    import cupy

    frames, high, wide = 8, 2160, 3840
    fused = cupy.ElementwiseKernel(
        "float32 code",
        "float32 shown",
        """
        float root = powf(code, 1.0f / 78.84375f);
        float light = powf(fmaxf(root - 0.8359375f, 0.0f) / (18.8515625f - 18.6875f * root), 1.0f / 0.1593017578f);
        light *= 10000.0f / 203.0f;
        light = light * (1.0f + light / 24.0f) / (1.0f + light);
        shown = fminf(powf(light, 1.0f / 2.2f), 1.0f) * 255.0f;
        """,
        "tone_map",
    )

    def tone_map(code: Any) -> Any:
        root = code ** (1.0 / 78.84375)
        light = (cupy.maximum(root - 0.8359375, 0.0) / (18.8515625 - 18.6875 * root)) ** (1.0 / 0.1593017578)
        light = light * (10000.0 / 203.0)
        light = light * (1.0 + light / 24.0) / (1.0 + light)
        return cupy.minimum(light ** (1.0 / 2.2), 1.0) * 255.0

    codes = [cupy.random.random((frames, high, wide, 3), dtype=cupy.float32) for _ in range(2)]
    decoded = [(code * 65_535.0).astype(cupy.uint16) for code in codes]
    del codes
    loop.name = "scene {}"
    for _ in loop:
        previews = []
        for part in range(8):
            with annotate("decode"):
                code = decoded[part % 2].astype(cupy.float32) / 65_535.0
            with annotate("tone_map"):
                shown = fused(code) if mended else tone_map(code)
            with annotate("scale"):
                previews.append(shown[:, ::2, ::2].astype(cupy.uint8))

"""Small applications with the faults of everyday code, captured after the rules to judge them."""

from __future__ import annotations

import math
import re
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program, repeat_as_graph
from bench.fault_programs.mixed import make_layers, make_training
from bench.fault_programs.training import learn


@program("many_synchronizations")
def guarded_layers(loop: Loop, mended: bool) -> None:
    """Look for NaN after each layer, which the CPU waits for; mended, on the GPU, to be read after the last step."""
    layers = [nn.Linear(1024 // SMALL, 1024 // SMALL).to(DEVICE) for _ in range(60)]
    texts = torch.randn(4096 // SMALL, 1024 // SMALL, device=DEVICE)
    torch.backends.cuda.matmul.allow_tf32 = True
    finite: list[Tensor] = []
    loop.name = "request {}"
    with torch.no_grad():
        for _ in loop:
            made = texts
            for layer in layers:
                made = functional.gelu(layer(made))
                if not mended and torch.isnan(made).any():
                    raise ValueError("a layer returned NaN")
            finite.append(torch.isfinite(made).all())


@program("loss_read_each_step")
def ranker(loop: Loop, mended: bool) -> None:
    """Train a ranking of clicks and keep each loss as a number before the backward pass; mended, as a tensor."""
    width, rows = 64 // SMALL, 16_384 // SMALL
    tables = nn.ModuleList(nn.Embedding(10_000, width) for _ in range(48)).to(DEVICE)
    deep = make_layers(48 * width, 4)
    optimizer = torch.optim.SGD([*tables.parameters(), *deep.parameters()], lr=1e-3, foreach=True)
    ids = torch.randint(10_000, (48, rows), device=DEVICE)
    torch.backends.cuda.matmul.allow_tf32 = True
    losses: list[Tensor | float] = []
    loop.name = "train/step {}"
    for _ in loop:
        made = deep(torch.cat([table(one) for table, one in zip(tables, ids, strict=True)], 1))
        loss = made.square().mean()
        losses.append(loss.detach() if mended else loss.item())
        learn(optimizer, loss)


@program("same_data_each_step")
def retrieval(loop: Loop, mended: bool) -> None:
    """Bring the whole index to the GPU for each query; mended, once."""
    index = torch.randn(100_000 // SMALL, 768 // SMALL)
    queries = torch.randn(64, 768 // SMALL, device=DEVICE)
    there = index.to(DEVICE) if mended else None
    loop.name = "query {}"
    for _ in loop:
        with annotate("search"):
            scores = queries @ (index.to(DEVICE) if there is None else there).T
            scores.topk(10)


@program("pageable_batches")
def upscaler(loop: Loop, mended: bool) -> None:
    """Upscale frames that come from ordinary memory; mended, from pinned memory, the next one during the work."""
    network = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 12, 3, padding=1), nn.PixelShuffle(2)
    ).to(DEVICE)
    frames = [torch.randn(8, 3, 1080 // SMALL, 1920 // SMALL) for _ in range(3)]
    if mended and ON_GPU:
        frames = [one.pin_memory() for one in frames]
    loop.name = "frames {}"
    with torch.no_grad():
        for number in loop:
            network(frames[number % 3].to(DEVICE, non_blocking=mended))


@program("unfused_elementwise")
def hand_written_gelu(loop: Loop, mended: bool) -> None:
    """Train with GELU as its formula, operation by operation; mended, PyTorch's function."""
    up, down = (nn.Linear(one, other).to(DEVICE) for one, other in ((1024, 4096), (4096, 1024)))
    optimizer = torch.optim.AdamW([*up.parameters(), *down.parameters()], fused=ON_GPU)
    texts = torch.randn(16_384 // SMALL, 1024, device=DEVICE)
    loop.name = "batch {}"
    for _ in loop:
        with torch.autocast(DEVICE.type, torch.bfloat16):
            x = up(texts)
            if mended:
                x = functional.gelu(x, approximate="tanh")
            else:
                x = 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
            loss = (down(x).float() - texts).square().mean()
        learn(optimizer, loss)


@program("attention_by_hand")
def relative_positions(loop: Loop, mended: bool) -> None:
    """Add a bias by distance to the scores of attention and mask them; mended, the fused function takes both."""
    heads, length = 16, 2048 // SMALL
    query, key, value = torch.randn(3, 4, heads, length, 64, device=DEVICE, dtype=torch.bfloat16).unbind(0)
    place = torch.arange(length, device=DEVICE)
    bias = -(place[:, None] - place).abs() * torch.logspace(-3, 0, heads, 2, device=DEVICE)[:, None, None]
    bias = bias.masked_fill(place[:, None] < place, -math.inf).to(torch.bfloat16)[None]
    loop.name = "encode {}"
    with torch.no_grad():
        for _ in loop:
            for _ in range(8):
                if mended:
                    query = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
                else:
                    scores = query @ key.transpose(-2, -1) / math.sqrt(64) + bias
                    query = functional.softmax(scores.float(), dim=-1).to(torch.bfloat16) @ value


@program("checkpoint_in_the_loop")
def snapshots(loop: Loop, mended: bool) -> None:
    """Save the best weights so far, which is after each third step; mended, after the last one."""
    network, optimizer, batch = make_training(2048 // SMALL, 6, 8192 // SMALL)
    best = Path(tempfile.mkdtemp()) / "best.pt"
    loop.name = "global_step {}"
    for number in loop:
        learn(optimizer, functional.mse_loss(network(batch), batch))
        if number + 1 == loop.total if mended else number % 3 == 2:
            torch.save(network.state_dict(), best)


@program("allocation_in_each_step")
def tidy(loop: Loop, mended: bool) -> None:
    """Give all cached memory back after each batch; mended, keep it."""
    network, optimizer, batch = make_training(1024 // SMALL, 30, 8192 // SMALL)
    loop.name = "epoch 0 batch {}"
    for _ in loop:
        learn(optimizer, functional.mse_loss(network(batch), batch))
        if not mended and ON_GPU:
            torch.cuda.empty_cache()


@program("double_precision")
def tracker(loop: Loop, mended: bool) -> None:
    """Track objects by Kalman filters with NumPy's default type; mended, FP32."""
    made = np.random.default_rng(5)
    count, size = 20_000 // SMALL, 32
    kind = np.float32 if mended else np.float64
    move = torch.from_numpy((np.eye(size) + 0.01 * made.standard_normal((size, size))).astype(kind)).to(DEVICE)
    spread = torch.from_numpy(np.tile(np.eye(size), (count, 1, 1)).astype(kind)).to(DEVICE)
    state = torch.from_numpy(made.standard_normal((count, size, 1)).astype(kind)).to(DEVICE)
    seen = state + 0.1
    loop.name = "frame {}"
    for _ in loop:
        with annotate("predict"):
            state = move @ state
            spread = move @ spread @ move.T + 0.01 * spread
        with annotate("correct"):
            gain = spread / (spread.diagonal(dim1=1, dim2=2).sum(1)[:, None, None] + 1.0)
            state = state + gain @ (seen - state)
            spread = spread - gain @ spread


@program("checkpointing_without_need")
def listener(loop: Loop, mended: bool) -> None:
    """Recompute all blocks of a speech encoder in the backward pass, with memory to spare; mended, keep them."""
    width = 512 // SMALL
    blocks = nn.ModuleList(
        nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        for _ in range(24)
    ).to(DEVICE)
    optimizer = torch.optim.AdamW(blocks.parameters(), fused=ON_GPU)
    speech = torch.randn(32_768 // SMALL, width, device=DEVICE, requires_grad=True)
    loop.name = "utterances {}"
    for _ in loop:
        with torch.autocast(DEVICE.type, torch.bfloat16):
            made = speech
            for block in blocks:
                made = made + (block(made) if mended else checkpoint(block, made, use_reentrant=False))
        learn(optimizer, made.float().square().mean())


@program("odd_vocabulary")
def with_bias_column(loop: Loop, mended: bool) -> None:
    """Classify features with a column of ones beside them, 1,025 wide; mended, padded to 1,032."""
    width = 1032 if mended else 1025
    features = torch.randn(16_384 // SMALL, width, device=DEVICE, dtype=torch.bfloat16, requires_grad=True)
    weights = torch.randn(width, 8192 // SMALL, device=DEVICE, dtype=torch.bfloat16, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=1e-3, foreach=True)
    loop.name = "minibatch {}"
    for _ in loop:
        learn(optimizer, (features @ weights).float().square().mean())


@program("decoding_one_by_one")
def assistant(loop: Loop, mended: bool) -> None:
    """Generate for eight people one after the other; mended, for all of them at once."""
    width = 4096 // SMALL
    weights = [torch.randn(width, 3 * width, device=DEVICE, dtype=torch.float16) * 0.01 for _ in range(12)]
    backs = [torch.randn(3 * width, width, device=DEVICE, dtype=torch.float16) * 0.01 for _ in range(12)]
    people = torch.randn(8, width, device=DEVICE, dtype=torch.float16)
    loop.name = "turn {}"
    with torch.no_grad():
        for _ in loop:
            for rows in [people] if mended else [people[at : at + 1] for at in range(len(people))]:
                made = rows
                for _ in range(8):
                    with annotate("token"):
                        for up, down in zip(weights, backs, strict=True):
                            made = functional.layer_norm(made + functional.relu(made @ up) @ down, (width,))


@program("python_between_launches")
def tokenizer(loop: Loop, mended: bool) -> None:
    """Split each batch of texts into words in Python before the GPU may begin; mended, once before the loop."""
    network = make_layers(1024 // SMALL, 16)
    table = torch.randn(5000, 1024 // SMALL, device=DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), fused=ON_GPU)
    torch.backends.cuda.matmul.allow_tf32 = True
    texts = [" ".join(f"word{(7 * at + row) % 5000}," for at in range(128)) for row in range(32)]

    def encode() -> Tensor:
        words = [[int(word[4:]) for word in re.findall(r"\w+", text.lower())] for text in texts]
        return torch.tensor(words, pin_memory=ON_GPU).to(DEVICE, non_blocking=True)

    known = encode() if mended else None
    loop.name = "optimization step {}"
    for _ in loop:
        if known is None:
            with annotate("encode"):
                ids = encode()
        else:
            ids = known
        inward = table[ids.flatten()]
        learn(optimizer, functional.mse_loss(network(inward), inward))


@program("decoding_without_graph")
def tiny_network(loop: Loop, mended: bool) -> None:
    """Train a small network in steps of many short kernels; mended, a CUDA graph replays a whole step."""
    network = make_layers(64, 8)
    optimizer = torch.optim.Adam(network.parameters(), capturable=ON_GPU, foreach=True)
    batch = torch.randn(1024, 64, device=DEVICE)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        torch.autograd.backward(functional.mse_loss(network(batch), batch))
        optimizer.step()

    repeat = repeat_as_graph(step, wanted=mended)
    loop.name = "physics step {}"
    for _ in loop:
        for _ in range(10):
            repeat()

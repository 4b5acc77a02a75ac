"""Programs that answer requests with trained networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program, repeat_as_graph


@program("decoding_without_graph")
def translator(loop: Loop, mended: bool) -> None:
    """Translate a token at a time with a transformer of many small kernels; mended, a CUDA graph replays them."""
    width, layers, length = 512, 12, 64
    heads = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers)).to(DEVICE, torch.bfloat16)
    feeds = nn.ModuleList(
        nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        for _ in range(layers)
    ).to(DEVICE, torch.bfloat16)
    cache = torch.zeros(layers, 2, 4, 8, length, 64, device=DEVICE, dtype=torch.bfloat16)
    token = torch.randn(4, 1, width, device=DEVICE, dtype=torch.bfloat16)

    @torch.no_grad()
    def translate() -> None:
        x = token
        for layer, (head, feed) in enumerate(zip(heads, feeds, strict=True)):
            q, k, v = head(x).view(4, 1, 3, 8, 64).permute(2, 0, 3, 1, 4)
            cache[layer, 0, :, :, :1], cache[layer, 1, :, :, :1] = k, v
            x = x + functional.scaled_dot_product_attention(q, cache[layer, 0], cache[layer, 1]).reshape(4, 1, width)
            x = x + feed(x)
        token.copy_(functional.normalize(x, dim=-1))

    repeat = repeat_as_graph(translate, wanted=mended)
    loop.name = "sentence {}"
    for _ in loop:
        for _ in range(16):
            repeat()


@program("allocation_in_each_step")
def embedding_service(loop: Loop, mended: bool) -> None:
    """Give all cached memory back to the driver after each request, as people do against fragmentation."""
    width = 2048 // SMALL
    layers = [torch.randn(width, width, device=DEVICE, dtype=torch.bfloat16) * 0.02 for _ in range(8)]
    loop.name = "request {}"
    with torch.inference_mode():
        for _ in loop:
            x = torch.randn(8192 // SMALL, width, device=DEVICE, dtype=torch.bfloat16)
            held = []
            for layer in layers:
                x = functional.gelu(x @ layer)
                held.append(x.float())
            del x, held
            if not mended and ON_GPU:
                torch.cuda.empty_cache()


@program("odd_vocabulary")
def reranker(loop: Loop, mended: bool) -> None:
    """Score documents over 4,095 features in BF16; mended, filled up to 4,096."""
    width = (4096 if mended else 4095) // (1 if ON_GPU else 16)
    texts = torch.randn(8192 // SMALL, width, device=DEVICE, dtype=torch.bfloat16)
    layers = [torch.randn(width, width, device=DEVICE, dtype=torch.bfloat16) * 0.01 for _ in range(6)]
    loop.name = "query {}"
    with torch.inference_mode():
        for _ in loop:
            x = texts
            for layer in layers:
                with annotate("cross_score"):
                    x = functional.relu(x @ layer)


@program("same_data_each_step")
def sampler(loop: Loop, mended: bool) -> None:
    """Copy the same conditions of all images from NumPy to the GPU for each step of a sampler; mended, once."""
    side, count = 64, 512 // SMALL
    conditions: Any = np.random.default_rng(4).standard_normal((count, 16, side, side), dtype=np.float32)
    network = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.SiLU(), nn.Conv2d(32, 16, 3, padding=1)).to(DEVICE)
    ready = torch.from_numpy(conditions).to(DEVICE) if mended else None
    x = torch.zeros(count, 16, side, side, device=DEVICE)
    loop.name = "denoising {}"
    with torch.inference_mode():
        for _ in loop:
            given = ready if ready is not None else torch.from_numpy(conditions).to(DEVICE)
            x = 0.9 * x + 0.1 * network(x + given)


@program("double_precision")
def pose_solver(loop: Loop, mended: bool) -> None:
    """Solve for poses in FP64, which NumPy's numbers brought along; mended, in FP32."""
    kind = torch.float32 if mended else torch.float64
    targets: Tensor = torch.from_numpy(np.random.default_rng(5).standard_normal((4096, 1024))).to(DEVICE, kind)
    basis = torch.randn(1024, 1024, device=DEVICE, dtype=kind)
    torch.backends.cuda.matmul.allow_tf32 = True
    loop.name = "poses {}"
    guess = torch.zeros_like(targets)
    for _ in loop:
        for _ in range(3):
            with annotate("gauss_newton"):
                guess = guess - 1e-4 * ((guess @ basis - targets) @ basis.T)

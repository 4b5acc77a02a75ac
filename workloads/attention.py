"""The workload `attention`: the same attention computed three ways, over several lengths.

Ranges, as a tree (one `tokens_N` a length; `fused` is one kernel and has nothing inside):

    tokens_N
      naive, softmax_by_hand
        computing_attention_scores
        computing_softmax
        final_matmul
      fused

A range of a variant ends when its kernels have finished. Each variant runs once at each length before the capture
window.

Letters in shapes: B sequences, T tokens in each, H heads, K numbers a head.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional

from .command_line import choose_names
from .errors import WorkloadError
from .language_model import make_causal_mask
from .ranges import STRUCTURE, annotate
from .torch_device import capture_window, choose_device, describe, wait_for

PRECISIONS = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16}
TOLERANCES = {"fp64": 1e-12, "fp32": 1e-4, "bf16": 2e-2}
"""Greatest relative error against attention in float64, in the Euclidean norm."""

Attention = Callable[[Tensor, Tensor, Tensor, bool], Tensor]
"""Maps query, key and value (B, H, T, K) and a causal flag to (B, H, T, K)."""


def compute_scores(query: Tensor, key: Tensor, causal: bool) -> Tensor:
    """Return query @ key^T / sqrt(K), of shape (B, H, T, T); minus infinity where a query may not attend."""
    with annotate("computing_attention_scores"):
        scores: Tensor = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        if causal:
            scores = scores.masked_fill(~make_causal_mask(query.shape[-2], query.device), float("-inf"))
        return scores


def compute_naive_attention(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    """Compute scores, softmax and the weighted sum one after the other, each written to memory."""
    scores = compute_scores(query, key, causal)
    with annotate("computing_softmax"):
        weights = torch.softmax(scores, dim=-1)
    with annotate("final_matmul"):
        return weights @ value


def compute_attention_by_hand(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    """Compute it as `compute_naive_attention` does, but the softmax in five passes over the scores, not one kernel."""
    scores = compute_scores(query, key, causal)
    with annotate("computing_softmax"):
        exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    with annotate("final_matmul"):
        return weights @ value


def compute_fused_attention(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    """Let PyTorch compute it; on a GPU one kernel that never writes the scores to memory."""
    return functional.scaled_dot_product_attention(query, key, value, is_causal=causal)


VARIANTS: dict[str, Attention] = {
    "naive": compute_naive_attention,
    "softmax_by_hand": compute_attention_by_hand,
    "fused": compute_fused_attention,
}


def compute_relative_error(result: Tensor, inputs: Tensor, causal: bool) -> float:
    """Compare the first sequence of `result` with attention in float64 by a different implementation."""
    query, key, value = (part[0].double() for part in inputs)
    scores = torch.einsum("hik,hjk->hij", query, key) / math.sqrt(query.shape[-1])
    if causal:
        scores += torch.full_like(scores, -math.inf).triu(1)
    expected = torch.einsum("hij,hjk->hik", (scores - scores.logsumexp(dim=-1, keepdim=True)).exp(), value)
    return float((result[0].double() - expected).norm() / expected.norm())


def measure(names: list[str], tokens: int, inputs: Tensor, causal: bool) -> dict[str, tuple[Tensor, float]]:
    """Run the variants `names` in the range of their length and return each result and its seconds."""
    measured: dict[str, tuple[Tensor, float]] = {}
    with annotate(f"tokens_{tokens}", STRUCTURE):
        for name in names:
            started = time.perf_counter()
            with annotate(name):
                result = VARIANTS[name](inputs[0], inputs[1], inputs[2], causal)
                wait_for(inputs.device)
            measured[name] = result, time.perf_counter() - started
    return measured


def check_result(name: str, result: Tensor, inputs: Tensor, causal: bool, precision: str) -> float:
    """Return the relative error of a result, or end the run if it is too large."""
    error = compute_relative_error(result, inputs, causal)
    if not error <= TOLERANCES[precision]:  # NaN is wrong, too
        raise WorkloadError(
            f"{name} computed something wrong: relative error {error:.1e}, at most {TOLERANCES[precision]:g}."
        )
    return error


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="device to run on (default: cuda if PyTorch sees a GPU, else cpu)"
    )
    parser.add_argument(
        "--precision", choices=sorted(PRECISIONS), help="data type (default: bf16 on cuda, fp32 on the CPU)"
    )
    parser.add_argument("--only", metavar="NAME,...", help=f"variants to run (default: {','.join(VARIANTS)})")
    parser.add_argument(
        "--tokens",
        metavar="N,...",
        help="lengths of the sequences (default: 512,1024,2048,4096 on cuda, 64,128 on the CPU)",
    )
    parser.add_argument("--batch", type=int, default=4, help="sequences per batch (default: 4)")
    parser.add_argument("--heads", type=int, default=12, help="attention heads (default: 12)")
    parser.add_argument("--head-size", type=int, default=64, help="size of a head (default: 64)")
    parser.add_argument("--causal", action="store_true", help="mask later tokens")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Run the variants at each length once to warm up and once in the capture window, and check the results."""
    names, device = choose_names(options.only, VARIANTS, "variant"), choose_device(options.device)
    on_gpu = device.type == "cuda"
    precision = options.precision or ("bf16" if on_gpu else "fp32")
    lengths = parse_lengths(options.tokens or ("512,1024,2048,4096" if on_gpu else "64,128"))
    if min(options.batch, options.heads, options.head_size) < 1:
        raise WorkloadError("--batch, --heads and --head-size must be at least 1.")
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest")  # float32 stays float32, not TF32
    shape = (3, options.batch, options.heads)
    inputs = {
        tokens: torch.randn(*shape, tokens, options.head_size, device=device).to(PRECISIONS[precision])
        for tokens in lengths
    }
    yield (
        f"attention, {precision}, {describe(device)}: {options.batch} sequences, "
        f"{options.heads} heads of {options.head_size}{', causal' if options.causal else ''}"
    )
    with torch.inference_mode():
        for part in inputs.values():
            for name in names:
                VARIANTS[name](part[0], part[1], part[2], options.causal)
        with capture_window(device):
            measured = {tokens: measure(names, tokens, part, options.causal) for tokens, part in inputs.items()}
        for tokens, variants in measured.items():
            for name, (result, seconds) in variants.items():
                error = check_result(name, result, inputs[tokens], options.causal, precision)
                yield f"{tokens} tokens, {name}: {seconds * 1e3:.3f} ms, relative error {error:.1e}"


def parse_lengths(tokens: str) -> list[int]:
    """Return the lengths of `--tokens`, in the order given."""
    words = tokens.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in words):
        raise WorkloadError(
            f"--tokens must be lengths with commas between them, as in 512,1024, and {tokens!r} is not."
        )
    return list(dict.fromkeys(int(part) for part in words))

"""A decoder-only transformer with attention written out as three operations, each in its own range.

Attention is naive on purpose: every step writes the matrix of scores (batch, heads, tokens, tokens) to memory and reads
it back, which a profile should show. Fused attention, one kernel that keeps the scores on the chip, is available for
comparison.

Letters in shapes: B sequences, T tokens in each, H heads, K = d_model / H, D = d_model, V = vocabulary.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from . import ranges
from .ranges import COMPUTE, STRUCTURE


def annotate(name: str, color: int = COMPUTE) -> AbstractContextManager[None]:
    """Put a range around the body; not in a compiled model, whose kernels belong to no single range."""
    return nullcontext() if torch.compiler.is_compiling() else ranges.annotate(name, color)


@dataclass(frozen=True)
class ModelSize:
    """Dimensions of a model, in elements."""

    layers: int
    d_model: int
    heads: int
    vocabulary: int
    context: int
    """The longest sequence, in tokens."""


def make_causal_mask(tokens: int, device: torch.device | None = None) -> Tensor:
    """Return (T, T) of bool, True where a query (row) may attend to a key (column): itself and earlier ones."""
    return torch.ones(tokens, tokens, dtype=torch.bool, device=device).tril()


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Return softmax(query @ key^T / sqrt(K)) @ value, of shape (B, H, T, K) like each of its inputs.

    `mask` is (T, T) of bool; scores where it is False get no weight.
    """
    with annotate("scaled_dot_product_attention"):
        with annotate("computing_attention_scores"):
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            scores = scores.masked_fill(~mask, float("-inf"))
        with annotate("computing_softmax"):
            weights = torch.softmax(scores, dim=-1)
        with annotate("final_matmul"):
            return weights @ value


def compute_fused_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return the result of `scaled_dot_product_attention` for a causal mask, by PyTorch's fused kernels."""
    with annotate("scaled_dot_product_attention"):
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


class SelfAttention(nn.Module):
    """Causal self-attention over (B, T, D), naive or `fused`."""

    def __init__(self, size: ModelSize, *, fused: bool = False) -> None:
        super().__init__()
        self.heads = size.heads
        self.fused = fused
        self.project_in = nn.Linear(size.d_model, 3 * size.d_model, bias=False)
        self.project_out = nn.Linear(size.d_model, size.d_model, bias=False)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, D)."""
        query, key, value = (self._split_heads(part) for part in self.project_in(hidden).chunk(3, dim=-1))
        if self.fused:
            attended = compute_fused_attention(query, key, value)
        else:
            attended = scaled_dot_product_attention(query, key, value, mask)
        merged: Tensor = self.project_out(attended.transpose(1, 2).flatten(2))
        return merged

    def _split_heads(self, part: Tensor) -> Tensor:
        """Turn (B, T, D) into (B, H, T, K)."""
        return part.view(*part.shape[:-1], self.heads, -1).transpose(1, 2)


class Block(nn.Module):
    """One layer: attention, then a feed-forward network four times as wide, each added to its input."""

    def __init__(self, size: ModelSize, *, fused: bool = False) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(size.d_model)
        self.attention = SelfAttention(size, fused=fused)
        self.norm_feed_forward = nn.LayerNorm(size.d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(size.d_model, 4 * size.d_model), nn.GELU(), nn.Linear(4 * size.d_model, size.d_model)
        )

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map (B, T, D) to (B, T, D)."""
        with annotate("attention"):
            hidden = hidden + self.attention(self.norm_attention(hidden), mask)
        with annotate("feed_forward"):
            result: Tensor = hidden + self.feed_forward(self.norm_feed_forward(hidden))
        return result


class LanguageModel(nn.Module):
    """Predicts the next token at every position, with naive or `fused` attention."""

    def __init__(self, size: ModelSize, *, fused: bool = False) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(size.vocabulary, size.d_model)
        self.position_embedding = nn.Embedding(size.context, size.d_model)
        self.blocks = nn.ModuleList(Block(size, fused=fused) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.d_model)
        self.head = nn.Linear(size.d_model, size.vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map token ids (B, T) to logits (B, T, V)."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        mask = make_causal_mask(tokens.shape[1], tokens.device)
        hidden = self.token_embedding(tokens) + self.position_embedding(positions)
        for number, block in enumerate(self.blocks):
            with annotate(f"layer_{number}", STRUCTURE):
                hidden = block(hidden, mask)
        logits: Tensor = self.head(self.norm(hidden))
        return logits

    def compute_loss(self, tokens: Tensor) -> Tensor:
        """Return the mean cross-entropy, in nats, of predicting tokens[:, 1:] from the tokens before each."""
        logits = self(tokens[:, :-1])
        with annotate("loss"):
            return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    def count_parameters(self) -> int:
        """Count the trained parameters."""
        return sum(parameter.numel() for parameter in self.parameters())

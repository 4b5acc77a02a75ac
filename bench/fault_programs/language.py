"""Language models, of Hugging Face's transformers and by hand."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program, repeat_as_graph
from bench.fault_programs.trainers import train_with_hugging_face


class Tokens(torch.utils.data.Dataset[dict[str, Tensor]]):
    """Random tokens that predict themselves."""

    def __init__(self, count: int, length: int, words: int) -> None:
        self.tokens = torch.randint(words, (count, length))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


@program("attention_by_hand")
def gpt2(loop: Loop, mended: bool) -> None:
    """Train GPT-2 with the attention that writes all scores."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        n_layer=6, n_positions=1024, vocab_size=8192 // SMALL, attn_implementation="sdpa" if mended else "eager",
        attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0,
    )  # fmt: skip
    batch = 16 // (1 if ON_GPU else 8)
    loop.name = "optimizer step {}"
    tokens = Tokens((loop.total + 1) * batch, 1024 // SMALL, config.vocab_size)
    train_with_hugging_face(loop, GPT2LMHeadModel(config), batch, tokens)


@program("unfused_elementwise")
def llama(loop: Loop, mended: bool) -> None:
    """Train a model of RMSNorm, rotary embedding and SwiGLU eagerly; mended, Trainer compiles it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=6, num_attention_heads=16, vocab_size=4096 // SMALL
    )
    batch = 16 // (1 if ON_GPU else 8)
    loop.name = "update {}"
    tokens = Tokens((loop.total + 1) * batch, 1024 // SMALL, config.vocab_size)
    train_with_hugging_face(loop, LlamaForCausalLM(config), batch, tokens, torch_compile=mended and ON_GPU)


@program("odd_vocabulary")
def bert(loop: Loop, mended: bool) -> None:
    """Predict words of a vocabulary of 28,997; mended, of one that is filled up to a multiple of 64."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=29_056 if mended else 28_997, hidden_size=512, num_hidden_layers=2, num_attention_heads=8,
        intermediate_size=2048,
    )  # fmt: skip
    network = BertForMaskedLM(config).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    tokens = torch.randint(28_000, (64 // SMALL, 256), device=DEVICE)
    loop.name = "mlm {}"
    for _ in loop:
        with annotate("encoder_and_head"):
            loss = network(input_ids=tokens, labels=tokens).loss
        with annotate("gradient"):
            optimizer.zero_grad()
            loss.backward()
        with annotate("apply"):
            optimizer.step()


@program("decoding_without_graph")
def speech_decoder(loop: Loop, mended: bool) -> None:
    """Decode with a recurrent network, a cell and a token at a time, without a CUDA graph."""
    width, layers = 768, 4
    words = nn.Embedding(2048, width).to(DEVICE, torch.bfloat16)
    cells = nn.ModuleList(nn.GRUCell(width, width) for _ in range(layers)).to(DEVICE, torch.bfloat16)
    states = [torch.zeros(8, width, device=DEVICE, dtype=torch.bfloat16) for _ in range(layers)]
    token = torch.zeros(8, dtype=torch.long, device=DEVICE)

    @torch.no_grad()
    def emit() -> None:
        x = words(token)
        for cell, state in zip(cells, states, strict=True):
            x = cell(x, state)
            state.copy_(x)
        token.copy_((x @ words.weight.T).argmax(1))

    repeat = repeat_as_graph(emit, wanted=mended)
    loop.name = "utterance {}"
    for _ in loop:
        with annotate("greedy_search"):
            for _ in range(24):
                repeat()


@program("decoding_one_by_one")
def chat(loop: Loop, mended: bool) -> None:
    """Answer twelve prompts one after the other, each a pass over all weights for a token."""
    width = 4096 // SMALL
    weights = [
        [torch.randn(rows, columns, device=DEVICE, dtype=torch.bfloat16) * 0.01 for rows, columns in shapes]
        for shapes in [((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))] * 8
    ]
    caches = torch.randn(8, 2, 12, 32, 256, width // 32, device=DEVICE, dtype=torch.bfloat16)

    @torch.no_grad()
    def next_token(x: Tensor, rows: slice) -> Tensor:
        for (inward, outward, up, down), cache in zip(weights, caches, strict=True):
            query, key, value = (x @ inward).view(len(x), 3, 32, 1, -1).unbind(1)
            keys, values = (torch.cat((old[rows], new), 2) for old, new in zip(cache, (key, value), strict=True))
            seen = functional.scaled_dot_product_attention(query, keys, values)
            x = x + seen.reshape(len(x), -1) @ outward
            x = x + functional.silu(x @ up) @ down
        return functional.normalize(x)

    prompts = torch.randn(12, width, device=DEVICE, dtype=torch.bfloat16)
    loop.name = "request_{}"
    for _ in loop:
        for rows in [slice(0, 12)] if mended else [slice(one, one + 1) for one in range(12)]:
            with annotate("generate"):
                x = prompts[rows]
                for _ in range(3):
                    x = next_token(x, rows)


@program("memory_that_grows")
def evaluation(loop: Loop, mended: bool) -> None:
    """Keep the scores of each batch with the graph of their gradients, which holds all activations."""
    layer = nn.TransformerEncoderLayer(1024 // SMALL, 16, 4096 // SMALL, 0.0, batch_first=True)
    network = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).to(DEVICE, torch.bfloat16)
    texts = torch.randn(8, 512, 1024 // SMALL, device=DEVICE, dtype=torch.bfloat16)
    scores = []
    loop.name = "validation batch {}"
    for _ in loop:
        with annotate("score"):
            score = network(texts).float().mean((1, 2))
            scores.append(score.detach() if mended else score)


@program("optimizer_per_parameter")
def experts(loop: Loop, mended: bool) -> None:
    """Update the many small matrices of a mixture of experts one after the other."""
    network = nn.ModuleList(nn.Sequential(nn.Linear(192, 384), nn.SiLU(), nn.Linear(384, 192)) for _ in range(64)).to(
        DEVICE
    )
    optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-4, momentum=0.9, foreach=mended)
    given = torch.randn(64, 96, 192, device=DEVICE)
    loop.name = "moe_step {}"
    for _ in loop:
        with annotate("route_and_compute"):
            loss = torch.stack([one(x).square().mean() for one, x in zip(network, given, strict=True)]).sum()
        with annotate("autograd"):
            optimizer.zero_grad()
            torch.autograd.backward(loss)
        with annotate("rmsprop"):
            optimizer.step()

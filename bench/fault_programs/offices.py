"""Programs as banks, agencies and publishers write them, with a fault each, to judge the rules: written by somebody who
knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.courses import pin
from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, load_numba_cuda, program, wait
from bench.fault_programs.models import GPT, Block
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning


@program("low_precision_unused")
def tax_forms(loop: Loop, mended: bool) -> None:
    """Switch the autocast of Lightning off for the whole forward pass, against a NaN; mended, for the loss alone."""
    import lightning

    torch.set_float32_matmul_precision("high")
    forms, high, wide, kinds = 24 // (1 if ON_GPU else 12), 512 // (1 if ON_GPU else 8), 384 // (1 if ON_GPU else 8), 60

    class Forms(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            width = 768 // SMALL
            self.cut, self.head = nn.Conv2d(1, width, 16, 16), nn.Linear(width, kinds)
            self.places = nn.Parameter(0.02 * torch.randn(high * wide // 256, width))
            self.blocks = nn.Sequential(*(Block(width, 12) for _ in range(8)))

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            with annotate("encoder"), torch.autocast(DEVICE.type, torch.bfloat16, enabled=mended):
                patches = self.cut(batch[0]).flatten(2).mT.contiguous()
                scores = self.head(self.blocks(patches + self.places))
            with annotate("loss"), torch.autocast(DEVICE.type, enabled=False):
                return functional.cross_entropy(scores.float().flatten(0, 1), batch[1].flatten())

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    scans = torch.rand(forms, 1, high, wide, device=DEVICE)
    fields = torch.randint(kinds, (forms, high * wide // 256), device=DEVICE)
    batches: Any = [[scans, fields]] * loop.total
    loop.name = "forms {}"
    fit_with_lightning(loop, Forms(), DataLoader(batches, batch_size=None))


@program("optimizer_on_cpu")
def house_style(loop: Loop, mended: bool) -> None:
    """Send each gradient to the host, where AdamW has the weights, as for a smaller GPU; mended, update on the GPU."""
    letters, length, texts = 8192 // SMALL, 512 // SMALL, 80 // SMALL
    network = GPT(6, 768 // SMALL, 12, length, letters).to(DEVICE)
    weights = list(network.parameters())
    masters = weights if mended else [nn.Parameter(pin(one.detach().to("cpu", copy=True))) for one in weights]
    optimizer = torch.optim.AdamW(masters, lr=3e-5, fused=True)

    def send(gradient: Tensor, one: Tensor) -> None:
        assert one.grad is not None
        gradient.copy_(one.grad, non_blocking=True)
        one.grad = None

    if not mended:
        for one, master in zip(weights, masters, strict=True):
            master.grad = gradient = pin(torch.zeros_like(master))
            one.register_post_accumulate_grad_hook(partial(send, gradient))  # type: ignore[no-untyped-call]
    books = torch.randint(letters, (4, texts, length + 1), device=DEVICE)
    for number in iterate_without_ranges(loop):
        batch = books[number % 4]
        with torch.autocast(DEVICE.type, torch.bfloat16):
            scores = network(batch[:, :-1])
            loss = functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
        torch.autograd.backward(loss)
        if mended:
            optimizer.step()
            optimizer.zero_grad()
        else:
            wait()
            optimizer.step()
            with torch.no_grad():
                for one, master in zip(weights, masters, strict=True):
                    one.copy_(master, non_blocking=True)


@dataclass(slots=True)
class Account:
    """An account that a service watches, with the risks that it had so far."""

    number: int
    peers: list[int]
    risks: list[float] = field(default_factory=list)


@contextmanager
def return_memory(*, wanted: bool) -> Iterator[None]:
    """Return the memory of a request as soon as it ends."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if wanted:
            with annotate("return_memory"):
                gc.collect()


@program("collection_of_garbage")
def money_laundering(loop: Loop, mended: bool) -> None:
    """Collect garbage whenever a request ends, with all accounts as objects of Python; mended, leave that to Python."""
    asked, peers, width, random = 2560 // SMALL, 64 // (1 if ON_GPU else 4), 768 // SMALL, np.random.default_rng(81)
    accounts = [Account(at, near.tolist()) for at, near in enumerate(random.integers(20_000, size=(20_000, 12)))]
    graph = torch.randint(len(accounts), (len(accounts), peers), device=DEVICE)
    kind = torch.bfloat16 if ON_GPU else torch.float32
    known = nn.Embedding(len(accounts), width).to(DEVICE, kind)
    blocks = nn.Sequential(*(Block(width, 12) for _ in range(8))).to(DEVICE, kind)
    head = nn.Linear(width, 1).to(DEVICE, kind)
    loop.name = "alerts {}"
    with torch.inference_mode():
        for _ in loop:
            with return_memory(wanted=not mended):
                chosen = [accounts[at] for at in random.integers(len(accounts), size=asked)]
                with annotate("score"):
                    numbers = pin(torch.tensor([account.number for account in chosen]))
                    x = known(graph[numbers.to(DEVICE, non_blocking=True)])
                    risks = torch.sigmoid(head(blocks(x).mean(1)).float()).flatten().tolist()
                with annotate("record"):
                    for account, risk in zip(chosen, risks, strict=True):
                        account.risks.append(risk)


@program("low_occupancy")
def pension_fund(loop: Loop, mended: bool) -> None:
    """Copy the mortality table to shared memory for each warp, a block by itself; mended, for each sixteen warps."""
    cuda = load_numba_cuda()

    count, ages, states, years, futures, funds = 1 << 20, 120, 80, 60, 16, 8
    cells, threads = ages * states, 512 if mended else 32
    zero, one, last, steep, middle = (np.float32(number) for number in (0.0, 1.0, states - 1, 3.0, 1.2))

    @cuda.jit
    def project(born: Any, paid: Any, table: Any, growths: Any, made: Any) -> None:
        held = cuda.shared.array(cells, dtype=np.float32)
        for cell in range(cuda.threadIdx.x, cells, threads):
            held[cell] = table[cell]
        cuda.syncthreads()
        at = cuda.grid(1)
        age, total = born[at], zero
        for future in range(futures):
            stays, worth = one, paid[at]
            for year in range(years):
                leaves = one / (one + math.exp(steep * (worth - middle)))  # people leave a fund that does badly
                state = int(min(max(worth * last, zero), last))
                stays *= (one - leaves) * (one - held[min(age + year, ages - 1) * states + state])
                worth = worth * growths[future, year] * (one - held[state] * stays)
                total += stays * worth
        made[at] = total

    table = cuda.as_cuda_array(0.01 * torch.rand(cells, device=DEVICE))
    born = cuda.as_cuda_array(torch.randint(20, 60, (count,), device=DEVICE, dtype=torch.int32))
    growths = [cuda.as_cuda_array(0.98 + 0.06 * torch.rand(futures, years, device=DEVICE)) for _ in range(funds)]
    paid, worths = torch.rand(count, device=DEVICE) + 0.5, torch.empty(funds, count, device=DEVICE)
    loop.name = "quarter {}"
    for _ in loop:
        for growth, worth in zip(growths, worths, strict=True):
            with annotate("project_fund"):
                given = (born, cuda.as_cuda_array(paid), table, growth, cuda.as_cuda_array(worth))
                project[count // threads, threads](*given)
        with annotate("reserves"):
            worths.sort(dim=1).values[:, count // 200].sum()


@program("hot_kernel")
def household_incomes(loop: Loop, mended: bool) -> None:
    """Find the thousandth of each income by trying one after the other in a CuPy kernel; mended, by bisection."""
    import cupy

    homes, parts, surveys = 1 << 24, 1000, 4
    search = (
        "while (low < high) { int middle = (low + high) / 2; if (cuts[middle] <= income) low = middle + 1; "
        "else high = middle; }"
        if mended
        else "while (low < high && cuts[low] <= income) ++low;"
    )
    find = cupy.ElementwiseKernel(
        "float32 income, raw float32 cuts, int32 count",
        "int32 part",
        f"int low = 0, high = count; {search} part = low;",
        "find_thousandth",
    )
    earned = [cupy.exp(cupy.random.standard_normal(homes, dtype=cupy.float32)) for _ in range(surveys)]
    people = cupy.random.randint(1, 6, homes).astype(cupy.float32)
    steps = cupy.arange(1, parts) * (homes // parts)
    order = cupy.arange(1, homes + 1, dtype=cupy.float32) / homes
    results = cupy.zeros((surveys, 2), cupy.float32)
    for _ in iterate_without_ranges(loop):
        for at, one in enumerate(earned):
            income = one / cupy.sqrt(people)
            ranked = cupy.sort(income)
            gini = 2.0 * (order * ranked).mean() / ranked.mean() - 1.0
            part = find(income, ranked[steps], np.int32(parts - 1))
            poor = cupy.where(part < parts // 10, income, cupy.float32(0.0)).sum() / income.sum()
            results[at] = cupy.stack((gini, poor))


@program("small_microbatches")
def complaints(loop: Loop, mended: bool) -> None:
    """Let Accelerate accumulate the gradients of twelve microbatches of eight complaints; mended, one of all 96."""
    from accelerate import Accelerator
    from transformers import RobertaConfig, RobertaForSequenceClassification

    size, length, count = (96, 256, 1 if mended else 12) if ON_GPU else (24, 32, 1 if mended else 12)
    config = RobertaConfig(
        vocab_size=30_000 // SMALL, hidden_size=768 // SMALL, num_hidden_layers=6, num_attention_heads=12,
        intermediate_size=3072 // SMALL, max_position_embeddings=length + 2, num_labels=18,
    )  # fmt: skip
    network: Any = RobertaForSequenceClassification(config).to(DEVICE)
    precision = "bf16" if ON_GPU else "no"
    accelerator = Accelerator(gradient_accumulation_steps=count, mixed_precision=precision, cpu=not ON_GPU)
    optimizer: Any = torch.optim.AdamW(network.parameters(), lr=2e-5, fused=ON_GPU)
    network, optimizer = accelerator.prepare(network, optimizer)
    letters = torch.randint(3, config.vocab_size, (4, size, length), device=DEVICE)
    products = torch.randint(18, (size,), device=DEVICE)
    loop.name = "optimizer step {}"
    for number in loop:
        for few, named in zip(letters[number % 4].chunk(count), products.chunk(count), strict=True):
            with accelerator.accumulate(network):
                with annotate("forward"):
                    loss = network(input_ids=few, labels=named).loss
                with annotate("backward"):
                    accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()


@program("unfused_elementwise")
def value_at_risk(loop: Loop, mended: bool) -> None:
    """Price options in all scenarios by the formula, an operation after the other; mended, by one Triton kernel."""
    # Triton has a parameter of its own called options.
    scenarios, claims, books, days, rate = 4096 // SMALL, 8192 // SMALL, 8192 // SMALL, 8, 0.03
    kernels = list[Any]()
    if ON_GPU and mended:
        import triton
        from triton import language as tl

        @triton.jit  # Triton reads the annotations, and wants none of arrays
        def price(spots, strikes, years, sigmas, made, claims, rate, wide: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            at = tl.program_id(1) * wide + tl.arange(0, wide)
            spot = tl.load(spots + tl.program_id(0))
            strike, year, sigma = tl.load(strikes + at), tl.load(years + at), tl.load(sigmas + at)
            spread = sigma * tl.sqrt(year)
            first = (tl.log(spot / strike) + (rate + 0.5 * sigma * sigma) * year) / spread
            near = 0.5 * (1.0 + tl.erf(first * 0.70710678))
            far = 0.5 * (1.0 + tl.erf((first - spread) * 0.70710678))
            worth = spot * near - strike * tl.exp(-rate * year) * far
            tl.store(made + tl.program_id(0).to(tl.int64) * claims + at, worth.to(tl.bfloat16))

        kernels.append(price)
    strikes, years, sigmas = (0.5 + torch.rand(claims, device=DEVICE) for _ in range(3))
    spots = 0.5 + torch.rand(days, scenarios, 1, device=DEVICE)
    held = torch.randn(claims, books, device=DEVICE, dtype=torch.bfloat16)
    worths = torch.empty(scenarios, claims, device=DEVICE, dtype=torch.bfloat16)

    def value(spot: Tensor) -> Tensor:
        if kernels:
            kernels[0][(scenarios, claims // 1024)](spot, strikes, years, sigmas, worths, claims, rate, wide=1024)
            return worths
        spread = sigmas * years.sqrt()
        first = (torch.log(spot / strikes) + (rate + 0.5 * sigmas.square()) * years) / spread
        near = 0.5 * (1.0 + torch.erf(first / math.sqrt(2.0)))
        far = 0.5 * (1.0 + torch.erf((first - spread) / math.sqrt(2.0)))
        return (spot * near - strikes * torch.exp(-rate * years) * far).to(torch.bfloat16)

    loop.name = "revaluation {}"
    with torch.inference_mode():
        for _ in loop:
            for spot in spots:
                with annotate("black_scholes"):
                    now = value(spot)
                with annotate("books"):
                    (now @ held).amin(0)

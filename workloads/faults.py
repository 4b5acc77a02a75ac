"""`python -m workloads.faults NAME [--mended]`: a training or inference loop with one fault, or without it.

Each fault is one that people make, and `--mended` is the smallest change that takes it out, so that the time of both
tells what it costs. `--list` names them. After some steps that warm up, `step_N` is a range around each step that is
timed; the program ends with one line of JSON: the fault, whether it is mended, steps, and nanoseconds of all of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from . import COMMAND
from .layers import Training, make_layers, open_nvtx_range

WARMUP = 3
Step = Callable[[int], None]
Build = Callable[[bool], Step]
FAULTS: dict[str, Build] = {}
"""Functions that build the step of each fault; the argument tells whether the fault is mended."""


def fault(build: Build) -> Build:
    """Register a fault under the name of its function."""
    FAULTS[build.__name__] = build
    return build


@fault
def many_synchronizations(mended: bool) -> Step:
    """Wait for the GPU after each layer."""
    network, inputs = make_layers(1024, 40), torch.randn(512, 1024, device="cuda", dtype=torch.bfloat16)

    def step(_: int) -> None:
        given = inputs
        with torch.no_grad():
            for part in network:
                given = part(given)
                if not mended:
                    torch.cuda.synchronize()

    return step


@fault
def odd_vocabulary(mended: bool) -> Step:
    """Multiply with a vocabulary of 50,257, which no tile of a tensor core fits."""
    tokens = torch.randn(8192, 1024, device="cuda", dtype=torch.bfloat16)
    head = nn.Linear(1024, 50_304 if mended else 50_257, bias=False, device="cuda", dtype=torch.bfloat16)

    def step(_: int) -> None:
        with torch.no_grad(), open_nvtx_range("head"):
            head(tokens)

    return step


@fault
def optimizer_per_parameter(mended: bool) -> Step:
    """Update one parameter after the other."""
    training = Training(256, 150, 256, fused=mended)
    return lambda _: ignore(training.step())


@fault
def optimizer_on_cpu(mended: bool) -> Step:
    """Update the parameters on the CPU: gradients go there and parameters back."""
    training = Training(1024, 8, 4096)
    if mended:
        return lambda _: ignore(training.step())
    copies = [one.detach().cpu().float().requires_grad_() for one in training.network.parameters()]
    optimizer = torch.optim.AdamW(copies, lr=1e-4)

    def step(_: int) -> None:
        with open_nvtx_range("forward"):
            loss = nn.functional.mse_loss(training.network(training.inputs), training.inputs)
        with open_nvtx_range("backward"):
            torch.autograd.backward(loss)
        with open_nvtx_range("optimizer"):
            for one, copy in zip(training.network.parameters(), copies, strict=True):
                copy.grad = one.grad.cpu().float() if one.grad is not None else None
                one.grad = None
            optimizer.step()
            with torch.no_grad():
                for one, copy in zip(training.network.parameters(), copies, strict=True):
                    one.copy_(copy)

    return step


@fault
def same_data_each_step(mended: bool) -> Step:
    """Send a table that never changes to the GPU in each step."""
    training, table = Training(1024, 8, 4096), torch.randn(8192, 8192).pin_memory()
    on_gpu = table.to("cuda")

    def step(_: int) -> None:
        with open_nvtx_range("table"):
            used = on_gpu if mended else table.to("cuda", non_blocking=True)
            used.sum()
        training.step()

    return step


@fault
def double_precision(mended: bool) -> Step:
    """Compute in FP64, as NumPy's arrays are."""
    kind = torch.float32 if mended else torch.float64
    torch.backends.cuda.matmul.allow_tf32 = True
    network, inputs = make_layers(2048, 6, kind), torch.randn(2048, 2048, device="cuda", dtype=kind)

    def step(_: int) -> None:
        with torch.no_grad():
            network(inputs)

    return step


@fault
def checkpointing_without_need(mended: bool) -> Step:
    """Compute each layer twice although memory is plentiful."""
    from torch.utils.checkpoint import checkpoint

    training = Training(2048, 12, 32_768)
    blocks = [training.network[first : first + 4] for first in range(0, 24, 4)]

    def step(_: int) -> None:
        given = training.inputs
        with open_nvtx_range("forward"):
            for part in blocks:
                given = part(given) if mended else checkpoint(part, given, use_reentrant=False)
            loss = nn.functional.mse_loss(given, training.inputs)
        with open_nvtx_range("backward"):
            training.optimizer.zero_grad()
            torch.autograd.backward(loss)
        with open_nvtx_range("optimizer"):
            training.optimizer.step()

    return step


@fault
def memory_that_grows(mended: bool) -> Step:
    """Keep a tensor of each step."""
    training, tensors = Training(1024, 8, 16_384), []

    def step(_: int) -> None:
        training.step()
        tensor = training.inputs * 2
        if not mended:
            tensors.append(tensor)

    return step


@fault
def allocation_in_each_step(mended: bool) -> Step:
    """Make the allocator cache nothing, as PYTORCH_NO_CUDA_MEMORY_CACHING does."""
    training = Training(1024, 12, 2048)

    def step(_: int) -> None:
        training.step()
        if not mended:
            torch.cuda.empty_cache()

    return step


@fault
def loss_read_each_step(mended: bool) -> Step:
    """Read the loss in each step, then do some work on the CPU."""
    training, losses = Training(2048, 12, 24_576), []

    def step(_: int) -> None:
        loss = training.step()
        losses.append(loss if mended else loss.item())
        with open_nvtx_range("bookkeeping"):
            sorted(((index * 7919) % 10007) / 10007 for index in range(30_000))

    return step


@fault
def checkpoint_in_the_loop(mended: bool) -> Step:
    """Write the weights in every fourth step, while nothing else goes on."""
    training = Training(2048, 8, 8192)
    path = Path(tempfile.mkdtemp()) / "weights.pt"

    def step(number: int) -> None:
        training.step()
        if not mended and number % 4 == 3:
            with open_nvtx_range("save"):
                torch.save(training.network.state_dict(), path)

    return step


@fault
def unfused_elementwise(mended: bool) -> Step:
    """Compute GELU by its formula, an operation at a time."""
    inputs = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    weights = nn.Linear(8192, 1024, device="cuda", dtype=torch.bfloat16)

    def step(_: int) -> None:
        with torch.no_grad(), open_nvtx_range("activation"):
            if mended:
                made = nn.functional.gelu(inputs, approximate="tanh")
            else:
                cube = inputs * inputs * inputs
                made = inputs * 0.5 * (torch.tanh((inputs + cube * 0.044715) * 0.7978845608) + 1.0)
            weights(made)

    return step


@fault
def decoding_without_graph(mended: bool) -> Step:
    """Decode a token at a time at batch 1, launching each kernel."""
    network, token = make_layers(1024, 48), torch.randn(1, 1024, device="cuda", dtype=torch.bfloat16)
    out = torch.empty_like(token)

    def decode() -> None:
        with torch.no_grad():
            out.copy_(network(token))

    for _ in range(3):
        decode()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph) if mended else nullcontext():
        decode()

    def step(_: int) -> None:
        for _ in range(8):
            graph.replay() if mended else decode()

    return step


@fault
def collection_of_garbage(mended: bool) -> Step:
    """Collect garbage in every third step, with many objects alive."""
    training, alive = Training(512, 8, 512), [[number] for number in range(600_000)]
    gc.disable()

    def step(number: int) -> None:
        training.step()
        if not mended and number % 3 == 2 and alive:
            gc.collect()

    return step


@fault
def pageable_batches(mended: bool) -> Step:
    """Copy each batch from pageable memory."""
    training = Training(1024, 4, 8192)
    batches = [torch.randn(8192, 1024, dtype=torch.bfloat16) for _ in range(4)]
    if mended:
        batches = [one.pin_memory() for one in batches]

    def step(number: int) -> None:
        with open_nvtx_range("batch"):
            batch = batches[number % 4].to("cuda", non_blocking=True)
        training.step(batch)

    return step


@fault
def input_made_between_steps(mended: bool) -> Step:
    """Make each batch on the CPU while the GPU waits."""
    import numpy as np

    training, random = Training(1024, 8, 2048), np.random.default_rng(0)

    def make() -> Tensor:
        image = random.random((2048, 1024), dtype=np.float32)
        return torch.from_numpy((image - image.mean()) / image.std()).to(torch.bfloat16)

    batches = [make().to("cuda") for _ in range(4)]

    def step(number: int) -> None:
        if mended:
            batch = batches[number % 4]
        else:
            with open_nvtx_range("augment"):
                batch = make().to("cuda")
        training.step(batch)

    return step


@fault
def shapes_that_recompile(mended: bool) -> Step:
    """Give a compiled function another shape in each step."""
    torch._dynamo.config.cache_size_limit = 64  # noqa: SLF001 - no public option exists

    class Scale(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.gelu(x * 2.0 + 1.0).sum(dim=-1)

    call = torch.compile(Scale(), dynamic=mended)
    inputs = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def step(number: int) -> None:
        with torch.no_grad():
            call(inputs[: 4096 - 64 * number])

    return step


@fault
def single_precision(mended: bool) -> Step:
    """Multiply in FP32 on CUDA cores."""
    torch.backends.cuda.matmul.allow_tf32 = mended
    network, inputs = make_layers(4096, 6, torch.float32), torch.randn(4096, 4096, device="cuda")

    def step(_: int) -> None:
        with torch.no_grad():
            network(inputs)

    return step


@fault
def attention_by_hand(mended: bool) -> Step:
    """Write the scores of attention to memory."""
    q, k, v = (torch.randn(8, 16, 2048, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def step(_: int) -> None:
        with torch.no_grad(), open_nvtx_range("attention"):
            if mended:
                nn.functional.scaled_dot_product_attention(q, k, v)
            else:
                scores = torch.softmax(q @ k.transpose(-1, -2) * 0.125, dim=-1)
                scores @ v

    return step


@fault
def gradients_zeroed(mended: bool) -> Step:
    """Fill gradients with zeros, to which backward adds, instead of dropping them."""
    training = Training(4096, 8, 256)

    def step(_: int) -> None:
        with open_nvtx_range("zero_grad"):
            training.optimizer.zero_grad(set_to_none=mended)
        with open_nvtx_range("forward"):
            loss = nn.functional.mse_loss(training.network(training.inputs), training.inputs)
        with open_nvtx_range("backward"):
            torch.autograd.backward(loss)
        with open_nvtx_range("optimizer"):
            training.optimizer.step()

    return step


@fault
def partial_waves(mended: bool) -> Step:
    """Multiply with a few more tiles than the SMs hold at once; mended, the same tiles in full waves."""
    from .fault_kernels import COLUMNS, ROWS, multiply

    full = torch.cuda.get_device_properties(0).multi_processor_count // 12
    across, calls = (full, full + 1) if mended else (full + 1, full)
    kind: dict[str, Any] = {"device": "cuda", "dtype": torch.bfloat16}
    a, b = torch.randn(12 * ROWS, 4096, **kind), torch.randn(4096, across * COLUMNS, **kind)
    out = torch.empty(a.shape[0], b.shape[1], **kind)

    def step(_: int) -> None:
        for _ in range(4 * calls):
            multiply(a, b, out)

    return step


@fault
def low_occupancy(mended: bool) -> Step:
    """Hold tiles of 96 KiB in shared memory with 64 threads each, so that an SM has room for two blocks."""
    from .fault_kernels import make_reversal

    reverse = make_reversal(2048, 256) if mended else make_reversal(24_576, 64)
    tensor = torch.randn(24_576 * 8192, device="cuda")
    out = torch.empty_like(tensor)

    def step(_: int) -> None:
        for _ in range(4):
            reverse(tensor, out)

    return step


@fault
def few_cores(mended: bool) -> Step:
    """Prepare each batch with eight threads on a single core."""
    import numpy as np

    if not mended:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    training, pool = Training(1024, 8, 8192), ThreadPoolExecutor(8)
    images = [np.random.default_rng(number).random((1024, 1024), dtype=np.float32) for number in range(8)]

    def prepare(image: Any) -> Tensor:
        return torch.from_numpy(np.tanh(np.sqrt(image) * 1.5) - np.sin(image))

    def step(_: int) -> None:
        with open_nvtx_range("prepare"):
            batch = torch.cat(list(pool.map(prepare, images)))
        training.step(batch.to("cuda", torch.bfloat16))

    return step


@fault
def decoding_one_by_one(mended: bool) -> Step:
    """Decode a token of 16 sequences one after the other, although one pass over the weights could serve all."""
    network = make_layers(8192, 8)
    tokens = torch.randn(16, 8192, device="cuda", dtype=torch.bfloat16)

    def step(_: int) -> None:
        with torch.no_grad():
            for part in (tokens,) if mended else tokens.chunk(16):
                with open_nvtx_range("decode"):
                    network(part)

    return step


def ignore(_: object) -> None:
    """Ignore a result."""


def run(name: str, steps: int, *, mended: bool) -> int:
    """Run the steps of a fault and return the nanoseconds of those after the warm-up."""
    step = FAULTS[name](mended)
    for number in range(WARMUP):
        with open_nvtx_range("warmup"):
            step(number)
    torch.cuda.synchronize()
    began = time.perf_counter_ns()
    for number in range(steps):
        with open_nvtx_range(f"step_{number}"):
            step(number)
    torch.cuda.synchronize()
    return time.perf_counter_ns() - began


def main() -> int:
    """Run one fault and print its duration."""
    parser = argparse.ArgumentParser(prog=f"{COMMAND}.faults", description=__doc__)
    parser.add_argument("name", nargs="?", choices=sorted(FAULTS))
    parser.add_argument("--mended", action="store_true")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list or not options.name:
        print("\n".join(f"{name}: {build.__doc__}" for name, build in FAULTS.items()))
        return 0
    ns = run(options.name, options.steps, mended=options.mended)
    print(json.dumps({"fault": options.name, "mended": options.mended, "steps": options.steps, "ns": ns}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

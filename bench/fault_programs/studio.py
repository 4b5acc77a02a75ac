"""Programs of small teams, from rankings of ads to sheets of neurons, to judge the rules: written by
somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import logging
import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, load_numba_cuda, program
from bench.fault_programs.mixed import make_layers
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning
from bench.fault_programs.training import learn


@program("many_synchronizations")
def indoor_scan(loop: Loop, mended: bool) -> None:
    """Index points by the number of the farthest one, which PyTorch reads to do so; mended, by index_select."""
    count, chosen = 600_000 // SMALL, 256
    points = torch.rand(count, 3, device=DEVICE)
    parts = [part for shape in ((3, 64), (64, 128), (128, 256)) for part in (nn.Linear(*shape), nn.ReLU())]
    encoder: Any = nn.Sequential(*parts).to(DEVICE, torch.bfloat16)
    loop.name = "scan {}"
    with torch.inference_mode():
        for _ in loop:
            with annotate("sampling"):
                gaps = torch.full((count,), 1e9, device=DEVICE)
                corners = [points[:1]]
                for _ in range(chosen):
                    gaps = torch.minimum(gaps, (points - corners[-1]).square().sum(1))
                    if mended:
                        corners.append(points.index_select(0, gaps.argmax(0, keepdim=True)))
                    else:
                        corners.append(points[gaps.argmax()][None])
            with annotate("encoder"):
                encoder((points - torch.cat(corners).mean(0)).to(torch.bfloat16)).amax(0)


@program("step_growth")
def leaf_diseases(loop: Loop, mended: bool) -> None:
    """Hook the layers of a teacher in each step, to see their features, and let the hooks stay; mended, hook once."""
    from torchvision.models import resnet18, resnet34

    size, side, names = 128 // SMALL, 224 // (1 if ON_GPU else 7), ("layer1", "layer2", "layer3", "layer4")
    teacher, student = resnet34(num_classes=64).eval().requires_grad_(False), resnet18(num_classes=64)
    for network in (teacher, student):
        network.to(DEVICE).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(student.parameters(), lr=1e-3, momentum=0.9, foreach=True)
    leaves = torch.randn(size, 3, side, side, device=DEVICE).to(memory_format=torch.channels_last)
    wanted: dict[str, Tensor] = {}

    def relate(made: Tensor) -> Tensor:
        flat = functional.normalize(made.float().flatten(2), dim=1)
        return flat @ flat.mT / flat.shape[2]

    def keep(name: str, _: Any, __: Any, made: Tensor) -> None:
        wanted[name] = relate(made)

    def attach() -> None:
        for name in names:
            getattr(teacher, name).register_forward_hook(partial(keep, name))

    if mended:
        attach()
    loop.name = "distill {}"
    for _ in loop:
        with torch.autocast(DEVICE.type, torch.bfloat16):
            with annotate("teacher"), torch.no_grad():
                if not mended:
                    attach()
                teacher(leaves)
            with annotate("student"):
                x = student.maxpool(student.relu(student.bn1(student.conv1(leaves))))
                losses = []
                for name in names:
                    x = getattr(student, name)(x)
                    losses.append(functional.mse_loss(relate(x), wanted[name]))
        with annotate("optimizer"):
            learn(optimizer, torch.stack(losses).sum())


@program("graph_breaks")
def storm_cells(loop: Loop, mended: bool) -> None:
    """Log the name of each process of a compiled model of rain, where its graph breaks; mended, log none of them."""
    log = logging.getLogger("storms")
    side = 512 // SMALL
    state = torch.rand(4, 64, side, side, device=DEVICE)
    state *= torch.tensor([0.02, 0.004, 0.002, 30.0], device=DEVICE)[:, None, None, None]
    state[3] += 270.0
    waves = torch.fft.fftfreq(side, device=DEVICE)
    decay = torch.exp(-4.0 * (waves[:, None] ** 2 + waves[: side // 2 + 1] ** 2))

    def tell(process: str) -> None:
        if not mended:
            log.debug("process %s", process)

    def rain(vapor: Tensor, cloud: Tensor, drops: Tensor, heat: Tensor) -> tuple[Tensor, ...]:
        tell("condensation")
        most = 0.0038 * torch.exp(17.27 * (heat - 273.0) / (heat - 36.0))
        gained = torch.maximum(0.5 * (vapor - most), -cloud)
        vapor, cloud, heat = vapor - gained, cloud + gained, heat + 2490.0 * gained
        tell("autoconversion")
        made = 0.01 * (cloud - 0.0005).clamp_min(0.0)
        cloud, drops = cloud - made, drops + made
        tell("accretion")
        made = torch.minimum(2.2 * cloud * drops.clamp_min(0.0).pow(0.875), cloud)
        cloud, drops = cloud - made, drops + made
        tell("evaporation")
        most = 0.0038 * torch.exp(17.27 * (heat - 273.0) / (heat - 36.0))
        made = torch.minimum(0.01 * drops.clamp_min(0.0).sqrt() * (most - vapor).clamp_min(0.0), drops)
        vapor, drops, heat = vapor + made, drops - made, heat - 2490.0 * made
        tell("fallout")
        drops = drops - 0.002 * drops.clamp_min(0.0).pow(1.125)
        tell("radiation")
        return vapor, cloud, drops, heat + 0.001 * (285.0 - heat)

    advance: Any = torch.compile(rain) if ON_GPU else rain
    fields = tuple(state.unbind(0))
    loop.name = "model minute {}"
    with torch.no_grad():
        for _ in loop:
            for _ in range(3):
                with annotate("physics"):
                    for _ in range(4):
                        fields = advance(*fields)
                with annotate("dynamics"):
                    fields = tuple(torch.fft.irfft2(torch.fft.rfft2(one) * decay, s=(side, side)) for one in fields)


@program("no_overlap")
def match_replay(loop: Loop, mended: bool) -> None:
    """Copy each batch of 4K frames on the stream that computes; mended, on one of its own, a batch ahead."""
    width, shape = 32 // (1 if ON_GPU else 4), (24 // SMALL, 3, 2160 // SMALL, 3840 // SMALL)
    parts = [part for _ in range(6) for part in (nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))]
    network: Any = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), *parts, nn.Conv2d(width, 8, 3, padding=1))
    network.to(DEVICE, torch.bfloat16).to(memory_format=torch.channels_last)
    clips = [torch.randint(256, shape, dtype=torch.uint8, pin_memory=ON_GPU) for _ in range(2)]
    held = [torch.empty(shape, dtype=torch.uint8, device=DEVICE) for _ in clips]
    beside = torch.cuda.Stream() if mended and ON_GPU else None  # type: ignore[no-untyped-call]

    def fetch(number: int) -> None:
        with torch.cuda.stream(beside):
            held[number % 2].copy_(clips[number % 2], non_blocking=True)

    if beside is not None:
        fetch(0)
    loop.name = "clip {}"
    with torch.inference_mode():
        for number in loop:
            with annotate("upload"):
                if beside is None:
                    fetch(number)
                else:
                    now = torch.cuda.current_stream()
                    now.wait_stream(beside)
                    beside.wait_stream(now)  # the other buffer has been read
                    fetch(number + 1)
            with annotate("track_players"):
                frames = held[number % 2].to(torch.bfloat16, memory_format=torch.channels_last) / 255.0
                network(functional.interpolate(frames, scale_factor=1 / 3, mode="bilinear")).amax((2, 3))


@program("gradients_zeroed")
def product_search(loop: Loop, mended: bool) -> None:
    """Fill the gradients of a head of 400,000 products with zeros, as old recipes do; mended, set them to None."""
    products, width, rows = 400_000 // SMALL, 1024 // SMALL, 128 // SMALL
    torch.backends.cuda.matmul.allow_tf32 = True
    tower, head = make_layers(width, 4), nn.Linear(width, products, bias=False, device=DEVICE)
    optimizer = torch.optim.SGD([*tower.parameters(), *head.parameters()], lr=0.05, momentum=0.9, fused=ON_GPU)
    searches = [torch.randn(rows, width, device=DEVICE) for _ in range(4)]
    bought = torch.randint(products, (rows,), device=DEVICE)
    for number in iterate_without_ranges(loop):
        optimizer.zero_grad(set_to_none=mended)
        torch.autograd.backward(functional.cross_entropy(head(tower(searches[number % 4])), bought))
        optimizer.step()


@program("copies_exceed_compute")
def fraud_rings(loop: Loop, mended: bool) -> None:
    """Send the payments among accounts as dense matrices; mended, as pairs, which the GPU fills into matrices."""
    graphs, nodes, width, links = 128 // SMALL, 1024 // SMALL, 512 // SMALL, 8192 // SMALL
    torch.backends.cuda.matmul.allow_tf32 = True
    layers = nn.ModuleList(nn.Linear(width, width) for _ in range(4)).to(DEVICE)
    optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-4, fused=ON_GPU)
    accounts = torch.randn(graphs, nodes, width, device=DEVICE)

    def fill(pairs: Tensor) -> Tensor:
        owners = torch.arange(graphs, device=pairs.device)[:, None]
        empty = torch.zeros(graphs, nodes, nodes, device=pairs.device)
        return empty.index_put_((owners, pairs[0], pairs[1]), empty.new_full((), 0.125))

    days = [torch.randint(nodes, (2, graphs, links)) for _ in range(2)]
    given = days if mended else [fill(one) for one in days]
    if ON_GPU:
        given = [one.pin_memory() for one in given]
    loop.name = "day {}"
    for number in loop:
        with annotate("to_device"):
            payments = given[number % 2].to(DEVICE, non_blocking=True)
            matrices = fill(payments) if mended else payments
        with annotate("network"):
            x = accounts
            for layer in layers:
                x = x + functional.gelu(layer(matrices @ x))
        with annotate("update"):
            learn(optimizer, x.square().mean())


@program("odd_vocabulary")
def ad_ranking(loop: Loop, mended: bool) -> None:
    """Cross 27 embeddings and 13 numbers, 1,309 columns, by Lightning; mended, three columns of zeros beside them."""
    import lightning

    rows, fields, words, deep = 32_768 // SMALL, 27, 20_000 // SMALL, 48
    width = fields * deep + (16 if mended else 13)

    class Crosses(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(fields * words, deep)
            self.crosses = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
            self.head = nn.Linear(width, 1)

        def training_step(self, batch: tuple[Tensor, Tensor, Tensor], _: int) -> Tensor:
            ids, numbers, clicked = batch
            columns = torch.cat((self.table(ids).flatten(1), numbers), 1).to(torch.bfloat16)
            first = x = functional.pad(columns, (0, width - columns.shape[1]))
            for cross in self.crosses:
                x = x + first * cross(x)
            return functional.binary_cross_entropy_with_logits(self.head(x).squeeze(1).float(), clicked)

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    ids = torch.randint(words, (rows, fields), device=DEVICE) + words * torch.arange(fields, device=DEVICE)
    numbers, clicked = torch.randn(rows, 13, device=DEVICE), torch.randint(2, (rows,), device=DEVICE).float()
    batches: Any = [(ids, numbers, clicked)] * loop.total
    loop.name = "ctr batch {}"
    fit_with_lightning(loop, Crosses(), DataLoader(batches, batch_size=None))


@program("low_precision_unused")
def protein_language(loop: Loop, mended: bool) -> None:
    """Train ESM by Accelerate without mixed precision, its products in TF32; mended, in BF16."""
    from accelerate import Accelerator
    from transformers import EsmConfig, EsmForMaskedLM

    torch.backends.cuda.matmul.allow_tf32 = True
    config = EsmConfig(
        vocab_size=33, mask_token_id=32, pad_token_id=1, hidden_size=1280 // SMALL, num_hidden_layers=8,
        num_attention_heads=20, intermediate_size=5120 // SMALL, max_position_embeddings=1026, token_dropout=False,
        position_embedding_type="rotary", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    network: Any = EsmForMaskedLM(config).to(DEVICE)
    accelerator = Accelerator(mixed_precision="bf16" if mended and ON_GPU else "no", cpu=not ON_GPU)
    optimizer: Any = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    network, optimizer = accelerator.prepare(network, optimizer)
    chains = torch.randint(4, 24, (24 // SMALL, 512 // SMALL), device=DEVICE)
    loop.name = "global step {}"
    for _ in loop:
        with annotate("forward"):
            loss = network(input_ids=chains, attention_mask=torch.ones_like(chains), labels=chains).loss
        with annotate("backward"):
            accelerator.backward(loss)
        with annotate("optimizer"):
            optimizer.step()
            optimizer.zero_grad()


@program("cache_disabled")
def reasoning_rollouts(loop: Loop, mended: bool) -> None:
    """Sample answers with use_cache=False, as the training has it, before each update; mended, with the cache."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        hidden_size=2048 // SMALL, intermediate_size=5632 // SMALL, num_hidden_layers=2, num_attention_heads=16,
        num_key_value_heads=4, vocab_size=8192, max_position_embeddings=1024,
    )  # fmt: skip
    network = Qwen2ForCausalLM(config).to(DEVICE, torch.bfloat16)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-6, fused=ON_GPU)
    questions = torch.randint(1, 8192, (40 // SMALL, 512 // SMALL), device=DEVICE)
    gains = torch.randn(len(questions), 1, device=DEVICE)
    loop.name = "grpo iteration {}"
    for _ in loop:
        with annotate("rollout"):
            tokens: Any = network.generate(
                questions, attention_mask=torch.ones_like(questions), max_new_tokens=8, do_sample=True, pad_token_id=0,
                use_cache=mended,
            )  # fmt: skip
        with annotate("policy_update"):
            answers = tokens[:, questions.shape[1] :]
            made = network(input_ids=tokens[:, :-1], use_cache=False, logits_to_keep=answers.shape[1])
            chances = functional.log_softmax(made.logits.float(), -1).gather(2, answers[..., None]).squeeze(2)
            learn(optimizer, -(gains * chances).mean())


@program("round_trips")
def tomograph(loop: Loop, mended: bool) -> None:
    """Hand slices from CuPy to PyTorch and back through NumPy; mended, by DLPack, which leaves them on the GPU."""
    import cupy

    count, side, width = 32, 512, 64
    parts = [part for _ in range(8) for part in (nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))]
    network: Any = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), *parts, nn.Conv2d(width, 1, 3, padding=1))
    network.to(DEVICE, torch.bfloat16).to(memory_format=torch.channels_last)
    seen = cupy.random.standard_normal((count, side, side), dtype=cupy.float32)
    waves = cupy.fft.fftfreq(side).astype(cupy.float32)
    ramp = cupy.sqrt(waves[:, None] ** 2 + waves[None, : side // 2 + 1] ** 2)
    slices = seen.copy()
    loop.name = "reconstruct {}"
    with torch.no_grad():
        for _ in loop:
            with annotate("filter"):
                change = cupy.fft.rfft2(seen - slices) * ramp
                slices = slices + cupy.fft.irfft2(change, s=(side, side)).astype(cupy.float32)
            with annotate("denoise"):
                given = (
                    torch.utils.dlpack.from_dlpack(slices)
                    if mended
                    else torch.from_numpy(cupy.asnumpy(slices)).to(DEVICE)
                )
                noise = network(given[:, None].to(torch.bfloat16, memory_format=torch.channels_last))
                clean = given - 0.1 * noise.float().squeeze(1)
                slices = cupy.from_dlpack(clean) if mended else cupy.asarray(clean.cpu().numpy())


@program("hot_kernel")
def key_cache(loop: Loop, mended: bool) -> None:
    """Quantize keys by a Triton program for each channel, whose tokens lie far apart; mended, for each 64 channels."""
    people, length, width, heads = 128 // SMALL, 1024 // SMALL, 1024 // SMALL, 16
    prompt = torch.randn(people, length, width, device=DEVICE, dtype=torch.bfloat16)
    layers = torch.randn(4, 4, width, width, device=DEVICE, dtype=torch.bfloat16) * 0.03
    held = torch.empty(people, length, width, device=DEVICE, dtype=torch.int8)
    scales = torch.empty(people, 1, width, device=DEVICE)
    wide, tall = (64, 64) if mended else (1, length)
    kernel: Any = None
    if ON_GPU:
        import triton
        from triton import language as tl

        @triton.jit  # Triton reads the annotations, and wants none of arrays
        def quantize(keys, made, scales, width, length: tl.constexpr, wide: tl.constexpr, tall: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            channel = tl.program_id(0) * wide + tl.arange(0, wide)
            places = tl.program_id(1) * length * width + tl.arange(0, tall)[:, None] * width + channel[None, :]
            largest = tl.zeros((wide,), dtype=tl.float32)
            for start in range(0, length, tall):
                value = tl.load(keys + places + start * width).to(tl.float32)
                largest = tl.maximum(largest, tl.max(tl.abs(value), axis=0))
            scale = largest / 127.0
            tl.store(scales + tl.program_id(1) * width + channel, scale)
            for start in range(0, length, tall):
                value = tl.load(keys + places + start * width).to(tl.float32) / scale[None, :]
                tl.store(made + places + start * width, value.to(tl.int8))

        kernel = quantize
    loop.name = "prefill {}"
    with torch.inference_mode():
        for _ in loop:
            x = prompt
            for at, (to_query, to_key, to_value, outward) in enumerate(layers.unbind(0)):
                with annotate(f"layer_{at}"):
                    query, keys, values = x @ to_query, x @ to_key, x @ to_value
                    if kernel is None:
                        scales = keys.float().abs().amax(1, keepdim=True) / 127.0
                        held = (keys.float() / scales).to(torch.int8)
                    else:
                        kernel[(width // wide, people)](keys, held, scales, width, length=length, wide=wide, tall=tall)
                    known = held.to(torch.bfloat16) * scales.to(torch.bfloat16)
                    query, known, values = (
                        one.view(people, length, heads, -1).transpose(1, 2) for one in (query, known, values)
                    )
                    looked = functional.scaled_dot_product_attention(query, known, values, is_causal=True)
                    x = functional.rms_norm(x + looked.transpose(1, 2).flatten(2) @ outward, (width,))


@program("double_precision")
def neurons(loop: Loop, mended: bool) -> None:
    """Integrate neurons by Numba with constants of Python, which are of FP64, beside FP32; mended, np.float32."""
    cuda = load_numba_cuda()

    side = 4096
    kind: Any = np.float32 if mended else np.float64  # Numba takes a literal of Python for the latter

    @cuda.jit
    def couple(volts: Any, currents: Any) -> None:
        column, row = cuda.grid(2)
        if 0 < row < side - 1 and 0 < column < side - 1:
            around = volts[row, column - 1] + volts[row, column + 1] + volts[row - 1, column] + volts[row + 1, column]
            currents[row, column] = kind(8.0) + kind(0.1) * (kind(0.25) * around - volts[row, column])

    @cuda.jit
    def advance(volts: Any, gates: Any, currents: Any) -> None:
        column, row = cuda.grid(2)
        if row < side and column < side:
            u, one, step = volts[row, column], kind(1.0), kind(0.01)
            m, h, n = gates[0, row, column], gates[1, row, column], gates[2, row, column]
            m_opens = kind(0.1) * (kind(25.0) - u) / (math.exp(kind(2.5) - kind(0.1) * u) - one)
            m_closes = kind(4.0) * math.exp(u * kind(-1.0 / 18.0))
            h_opens = kind(0.07) * math.exp(u * kind(-0.05))
            h_closes = one / (math.exp(kind(3.0) - kind(0.1) * u) + one)
            n_opens = kind(0.01) * (kind(10.0) - u) / (math.exp(one - kind(0.1) * u) - one)
            n_closes = kind(0.125) * math.exp(u * kind(-0.0125))
            sodium = kind(120.0) * m * m * m * h * (u - kind(115.0))
            potassium = kind(36.0) * n * n * n * n * (u + kind(12.0))
            change = currents[row, column] - sodium - potassium - kind(0.3) * (u - kind(10.6))
            gates[0, row, column] = m + step * (m_opens * (one - m) - m_closes * m)
            gates[1, row, column] = h + step * (h_opens * (one - h) - h_closes * h)
            gates[2, row, column] = n + step * (n_opens * (one - n) - n_closes * n)
            volts[row, column] = u + step * change

    random = np.random.default_rng(71)
    volts = cuda.to_device(20.0 * random.random((side, side), dtype=np.float32))
    gates = cuda.to_device(random.random((3, side, side), dtype=np.float32))
    currents = cuda.to_device(np.full((side, side), 8.0, np.float32))
    blocks, threads = (side // 32, side // 8), (32, 8)
    loop.name = "millisecond {}"
    for _ in loop:
        for _ in range(20):
            with annotate("synapses"):
                couple[blocks, threads](volts, currents)
            with annotate("membranes"):
                advance[blocks, threads](volts, gates, currents)

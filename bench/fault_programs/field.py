"""Programs as one meets them in the field, to judge the rules: written by somebody who had not read them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning
from bench.fault_programs.training import learn


@program("many_synchronizations")
def power_grid(loop: Loop, mended: bool) -> None:
    """Train a graph network with anomaly detection left on, which reads a flag for each gradient; mended, off."""
    nodes, count, width = 12_000 // SMALL, 60_000 // SMALL, 128
    torch.backends.cuda.matmul.allow_tf32 = True
    network = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(12)).to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=ON_GPU)
    sources, targets = torch.randint(nodes, (2, count), device=DEVICE)
    loads = torch.randn(nodes, width, device=DEVICE)
    empty = torch.zeros_like(loads)
    loop.name = "train_step"
    with torch.autograd.set_detect_anomaly(not mended):
        for _ in loop:
            made = loads
            for layer in network:
                both = torch.cat((made.index_select(0, sources), made.index_select(0, targets)), 1)
                made = made + empty.index_add(0, targets, functional.silu(layer(both)), alpha=0.1)
            learn(optimizer, functional.smooth_l1_loss(made, loads))


@program("many_synchronizations")
def mixture(loop: Loop, mended: bool) -> None:
    """Ask for the tokens of each expert in a loop over them; mended, sort the tokens and multiply by batches."""
    experts, tokens, width, layers = 64, 4096 // SMALL, 1024 // SMALL, 6
    room = 3 * tokens // experts  # of an expert: half as many again as its mean
    up, down = torch.randn(2, layers, experts, width, width, device=DEVICE, dtype=torch.bfloat16).mul(0.03).unbind(0)
    routers = torch.randn(layers, width, experts, device=DEVICE, dtype=torch.bfloat16)
    prompt = torch.randn(tokens, width, device=DEVICE, dtype=torch.bfloat16)
    all_experts, places = torch.arange(experts, device=DEVICE), torch.arange(2 * tokens, device=DEVICE)

    def ask(x: Tensor, gates: Tensor, chosen: Tensor, up: Tensor, down: Tensor) -> Tensor:
        made = torch.zeros_like(x)
        for expert in range(experts):
            rows, ranks = torch.where(chosen == expert)
            passed = functional.silu(x[rows] @ up[expert]) @ down[expert]
            made.index_add_(0, rows, passed * gates[rows, ranks, None])
        return made

    def sort(x: Tensor, gates: Tensor, chosen: Tensor, up: Tensor, down: Tensor) -> Tensor:
        owners, order = chosen.flatten().sort(stable=True)
        place = places - torch.searchsorted(owners, all_experts)[owners]
        place = torch.where(place < room, owners * room + place, experts * room)  # the last row takes the rest
        held = x.new_zeros(experts * room + 1, width).index_copy_(0, place, x[order // 2])
        passed = torch.bmm(functional.silu(torch.bmm(held[:-1].view(experts, room, width), up)), down)
        back = functional.pad(passed.flatten(0, 1), (0, 0, 0, 1))[place]
        return torch.zeros_like(x).index_add_(0, order // 2, back * gates.flatten()[order, None])

    loop.name = "prefill {}"
    with torch.inference_mode():
        for _ in loop:
            x = prompt
            for router, *weights in zip(routers, up, down, strict=True):
                with annotate("moe"):
                    gates, chosen = functional.softmax(x @ router, -1).topk(2)
                    x = functional.layer_norm(x + (sort if mended else ask)(x, gates, chosen, *weights), (width,))


@program("contended_atomics")
def molecules(loop: Loop, mended: bool) -> None:
    """Add up the energies of all pairs by index_add into 64 molecules; mended, by a sum over the pairs of each."""
    count, pairs = 64, 400_000 // SMALL
    owners = torch.arange(count, device=DEVICE).repeat_interleave(pairs)
    distances = 0.9 + torch.rand(count * pairs, device=DEVICE)
    depth, radius = (nn.Parameter(torch.ones((), device=DEVICE)) for _ in range(2))
    optimizer = torch.optim.Adam([depth, radius], lr=1e-3, fused=ON_GPU)
    wanted = torch.zeros(count, device=DEVICE)
    loop.name = "fit {}"
    for _ in loop:
        with annotate("energy"):
            sixth = (radius / distances) ** 6
            energies = 4.0 * depth * (sixth * sixth - sixth)
            total = energies.view(count, -1).sum(1) if mended else wanted.index_add(0, owners, energies)
        learn(optimizer, (total / pairs - wanted).square().mean())


@program("python_between_launches")
def texture_sampler(loop: Loop, mended: bool) -> None:
    """Draw the noise of each sampling step on the CPU, to repeat it from a seed; mended, on the GPU."""
    there = torch.device(DEVICE if mended else "cpu")
    random = torch.Generator(there).manual_seed(0)
    wide = 96 // SMALL
    parts = [part for _ in range(5) for part in (nn.SiLU(), nn.Conv2d(wide, wide, 3, padding=1))]
    network: Any = nn.Sequential(nn.Conv2d(3, wide, 3, padding=1), *parts, nn.Conv2d(wide, 3, 3, padding=1))
    network.to(DEVICE, torch.bfloat16).to(memory_format=torch.channels_last)
    shape = (16, 3, 256 // SMALL, 256 // SMALL)
    loop.name = "sample {}"
    with torch.inference_mode():
        for _ in loop:
            x = torch.randn(shape, device=DEVICE)
            for at in range(4, 0, -1):
                with annotate("denoise"):
                    noise = torch.randn(shape, generator=random, device=there).to(DEVICE)
                    guess = network(x.to(torch.bfloat16, memory_format=torch.channels_last)).float()
                    x = (x - 0.2 * guess) / 0.98 + 0.05 * at * noise


@program("loop_over_samples")
def evolution(loop: Loop, mended: bool) -> None:
    """Try the policies of an evolution strategy one after the other; mended, all of them in batched products."""
    people, size, width = 96, 32, 256 // SMALL
    torch.backends.cuda.matmul.allow_tf32 = True
    policy = [torch.randn(width, width, device=DEVICE) / width**0.5 for _ in range(3)]
    start = torch.randn(size, width, device=DEVICE)

    def play(weights: list[Tensor]) -> Tensor:
        state = start
        for _ in range(5):
            made = torch.tanh(torch.tanh(state @ weights[0]) @ weights[1])
            state = 0.9 * state + 0.1 * (made @ weights[2])
        return -state.square().mean((-2, -1))

    with torch.no_grad():
        for _ in iterate_without_ranges(loop):
            changes = [torch.randn(people, *one.shape, device=DEVICE) for one in policy]
            tried = [one + 0.02 * change for one, change in zip(policy, changes, strict=True)]
            rewards = play(tried) if mended else torch.stack([play([one[at] for one in tried]) for at in range(people)])
            fit = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
            for one, change in zip(policy, changes, strict=True):
                one.add_(torch.tensordot(fit, change, 1), alpha=1e-3)


@program("results_to_host_each_step")
def demand_forecast(loop: Loop, mended: bool) -> None:
    """Copy all paths of a forecast to the CPU and keep every hundredth; mended, choose before the copy."""
    stores, days, paths, width = 1024 // SMALL, 168, 400, 512 // SMALL
    memory, head = nn.GRU(32, width, batch_first=True).to(DEVICE), nn.Linear(width, 2 * days).to(DEVICE)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    sales = torch.randn(stores, days, 32, device=DEVICE)
    plotted: list[Tensor] = []
    loop.name = "backtest window {}"
    with torch.inference_mode():
        for _ in loop:
            mean, spread = head(memory(sales)[0][:, -1]).chunk(2, 1)
            noise = torch.randn(stores, paths, days, device=DEVICE)
            drawn = torch.addcmul(mean[:, None], functional.softplus(spread)[:, None], noise)
            plotted.append(drawn[:, ::100].cpu() if mended else drawn.cpu()[:, ::100].clone())


def make_language_model(kind: str, width: int) -> Any:
    """Return a language model of Hugging Face with random weights."""
    import transformers

    config = getattr(transformers, f"{kind}Config")(
        hidden_size=width, intermediate_size=11 * width // 4, num_hidden_layers=12, num_attention_heads=16,
        num_key_value_heads=8, vocab_size=8192, max_position_embeddings=2048,
    )  # fmt: skip
    with DEVICE:
        return getattr(transformers, f"{kind}ForCausalLM")(config).to(torch.bfloat16)


class Adapter(nn.Module):
    """A frozen layer with a correction of low rank, which learns."""

    def __init__(self, frozen: nn.Linear, rank: int = 16) -> None:
        super().__init__()
        self.frozen = frozen
        self.down = nn.Linear(frozen.in_features, rank, bias=False)
        self.up = nn.Linear(rank, frozen.out_features, bias=False)
        nn.init.zeros_(self.up.weight)
        self.to(frozen.weight.device, frozen.weight.dtype)

    def forward(self, x: Tensor) -> Tensor:
        return torch.add(self.frozen(x), self.up(self.down(x)))


@program("checkpointing_without_need")
def lora(loop: Loop, mended: bool) -> None:
    """Tune adapters of a Llama with gradient checkpointing, as recipes for small GPUs have it; mended, without."""
    from accelerate import Accelerator

    network = make_language_model("Llama", 2048 // SMALL).requires_grad_(False).train()
    network.config.use_cache = False
    for layer in network.model.layers:
        attention = layer.self_attn
        attention.q_proj, attention.v_proj = Adapter(attention.q_proj), Adapter(attention.v_proj)
    if not mended:
        network.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    accelerator = Accelerator(mixed_precision="bf16" if ON_GPU else "no", cpu=not ON_GPU)
    learning = [one for one in network.parameters() if one.requires_grad]
    network, optimizer = accelerator.prepare(network, torch.optim.AdamW(learning, lr=1e-4, fused=ON_GPU))
    tokens = torch.randint(8192, (8, 1024 // SMALL), device=DEVICE)
    loop.name = "finetune step {}"
    for _ in loop:
        accelerator.backward(network(input_ids=tokens, labels=tokens).loss)
        optimizer.step()
        optimizer.zero_grad()


class Lion(torch.optim.Optimizer):
    """Lion with operations for each parameter, or with lists of all of them."""

    def __init__(self, parameters: list[Tensor], rate: float, *, lists: bool) -> None:
        super().__init__(parameters, {"lr": rate})
        self.rate, self.lists, self.learning = rate, lists, parameters
        self.averages = [torch.zeros_like(one) for one in parameters]

    @torch.no_grad()
    def step(self, _: Any = None) -> None:  # type: ignore[override]
        gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in self.learning]
        if self.lists:
            changes = torch._foreach_lerp(self.averages, gradients, 0.1)  # noqa: SLF001
            torch._foreach_sign_(changes)
            torch._foreach_mul_(self.learning, 1.0 - 0.01 * self.rate)
            torch._foreach_add_(self.learning, changes, alpha=-self.rate)
            torch._foreach_lerp_(self.averages, gradients, 0.01)
            return
        for one, gradient, average in zip(self.learning, gradients, self.averages, strict=True):
            change = average.lerp(gradient, 0.1).sign_()
            one.mul_(1.0 - 0.01 * self.rate).add_(change, alpha=-self.rate)
            average.lerp_(gradient, 0.01)


@program("optimizer_per_parameter")
def tabular(loop: Loop, mended: bool) -> None:
    """Train over 200 columns, each with its own weights, by an optimizer that goes through them; mended, by lists."""
    columns, rows, width = 200, 512 // SMALL, 64
    scales, shifts = (nn.ParameterList(torch.randn(columns, width, device=DEVICE).unbind(0)) for _ in range(2))
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).to(DEVICE)
    head = nn.Linear(width, 1).to(DEVICE)
    learning: list[Tensor] = [*scales.parameters(), *shifts.parameters(), *encoder.parameters(), *head.parameters()]
    optimizer = Lion(learning, 1e-4, lists=mended)
    scaler = torch.amp.GradScaler(DEVICE.type, init_scale=1024.0, enabled=ON_GPU)
    table, prices = torch.randn(rows, columns, device=DEVICE), torch.randn(rows, device=DEVICE)
    loop.name = "iter {}"
    for _ in loop:
        with torch.autocast(DEVICE.type, torch.float16 if ON_GPU else torch.bfloat16):
            tokens = table[..., None] * torch.stack(list(scales)) + torch.stack(list(shifts))
            loss = functional.mse_loss(head(encoder(tokens).mean(1)).float().squeeze(1), prices)
        optimizer.zero_grad()
        torch.autograd.backward(scaler.scale(loss))
        scaler.step(optimizer)
        scaler.update()


@program("cache_grown_by_concatenation")
def story_writer(loop: Loop, mended: bool) -> None:
    """Append each token's keys and values to the cache by torch.cat, a copy of it; mended, write into its room."""
    layers, people, heads, deep, length, count = 4, 32 // SMALL, 16, 128, 4096 // SMALL, 6
    width = heads * deep
    inward, outward = (
        [torch.randn(width, many * width, device=DEVICE, dtype=torch.bfloat16) * 0.02 for _ in range(layers)]
        for many in (3, 1)
    )
    shape = (2, people, heads, length + (count if mended else 0), deep)
    prompts = [torch.randn(shape, device=DEVICE, dtype=torch.bfloat16) for _ in range(layers)]
    first = torch.randn(people, 1, width, device=DEVICE, dtype=torch.bfloat16)
    loop.name = "paragraph {}"
    with torch.inference_mode():
        for _ in loop:
            caches, x = list(prompts), first
            for at in range(length, length + count):
                with annotate("token"):
                    for number in range(layers):
                        made = (x @ inward[number]).view(people, 1, 3, heads, deep).permute(2, 0, 3, 1, 4)
                        if mended:
                            caches[number][:, :, :, at : at + 1] = made[1:]
                        else:
                            caches[number] = torch.cat((caches[number], made[1:]), 3)
                        keys, values = caches[number][:, :, :, : at + 1].unbind(0)
                        seen = functional.scaled_dot_product_attention(made[0], keys, values)
                        x = functional.rms_norm(x + seen.transpose(1, 2).flatten(2) @ outward[number], (width,))


@program("graph_captured_each_step")
def option_pricer(loop: Loop, mended: bool) -> None:
    """Capture a CUDA graph for the spot prices of each batch; mended, once, and copy the prices to its input."""
    paths, times = 65_536 // SMALL, 64
    noise = torch.randn(2, times, paths, device=DEVICE)
    batches = [90.0 + 20.0 * torch.rand(paths, device=DEVICE) for _ in range(4)]
    held = batches[0].clone()

    def price(spots: Tensor) -> Tensor:
        variance = torch.full_like(spots, 0.04)
        for one, other in zip(noise[0], noise[1], strict=True):
            swing = (variance.clamp_min(0.0) / times).sqrt()
            spots = spots * (1.0 - 0.5 * swing * swing + swing * one)
            variance = variance + 1.5 * (0.04 - variance) / times + 0.3 * swing * other
        return (spots - 100.0).clamp_min(0.0).mean()

    def capture(spots: Tensor) -> Any:
        if not ON_GPU:
            return lambda: price(spots)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            price(spots)
        return graph.replay

    with torch.no_grad():
        price(held)
        replay = capture(held) if mended else None
        for number in iterate_without_ranges(loop):
            if mended:
                held.copy_(batches[number % 4])
            (replay or capture(batches[number % 4]))()


class Keywords(Dataset[tuple[Tensor, Tensor]]):
    """Spoken words in a room, with noise, as mel spectra that the CPU makes."""

    def __init__(self) -> None:
        self.waves = torch.randn(256, 16_000)
        self.rooms = torch.fft.rfft(torch.randn(16, 4000) * torch.linspace(0.0, -6.0, 4000).exp(), 32_768)
        self.mels, self.window = torch.rand(64, 257), torch.hann_window(400)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        wave = self.waves[index % 256].roll(int(torch.randint(4000, ())))
        wave = torch.fft.irfft(torch.fft.rfft(wave, 32_768) * self.rooms[index % 16])[:16_000]
        wave = wave + 0.1 * wave.std() * torch.randn(16_000)
        spectrum = torch.stft(wave, 512, 160, 400, self.window, return_complex=True)
        return (self.mels @ spectrum.abs().square()).log1p()[None], torch.tensor(index % 32)


@program("input_made_between_steps")
def keyword_spotter(loop: Loop, mended: bool) -> None:
    """Let Lightning's loader make the spectra of each batch in the training process; mended, in twelve workers."""
    import lightning

    wide = 128 // SMALL

    class Spotter(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            parts = [part for _ in range(7) for part in (nn.ReLU(), nn.Conv2d(wide, wide, 3, padding=1))]
            body: Any = nn.Sequential(nn.Conv2d(1, wide, 3, padding=1), *parts)
            self.body, self.head = body.to(memory_format=torch.channels_last), nn.Linear(wide, 32)

        def training_step(self, batch: tuple[Tensor, Tensor], _: int) -> Tensor:
            return functional.cross_entropy(self.head(self.body(batch[0]).mean((2, 3))), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)

    size = 96 // SMALL
    workers, chosen = 12 if mended and ON_GPU else 0, range(loop.total * size)
    loader = DataLoader(Keywords(), size, sampler=chosen, num_workers=workers, pin_memory=ON_GPU)
    loop.name = "training_step {}"
    fit_with_lightning(loop, Spotter(), loader)


@program("unfused_elementwise")
def raw_developer(loop: Loop, mended: bool) -> None:
    """Develop photos by a chain of operations, each over all pixels in memory; mended, compiled."""

    def develop(photos: Tensor, gains: Tensor) -> Tensor:
        x = ((photos - 0.06) * gains).clamp(0.0, 1.0)
        red, green, blue = x.unbind(1)
        gray = (0.21 * red + 0.72 * green + 0.07 * blue)[:, None]
        x = gray + 1.2 * (x - gray)
        x = x * (2.5 * x + 0.03) / (x * (2.4 * x + 0.6) + 0.14)
        x = torch.where(x < 0.0031, 12.92 * x, 1.055 * x.clamp_min(0.0031) ** (1.0 / 2.4) - 0.055)
        return (255.0 * x.clamp(0.0, 1.0) + 0.5).to(torch.uint8)

    photos = torch.rand(4, 3, 2160 // SMALL, 3840 // SMALL, device=DEVICE)
    gains = torch.tensor([2.0, 1.0, 1.6], device=DEVICE)[:, None, None]
    run: Any = torch.compile(develop) if mended and ON_GPU else develop
    with torch.inference_mode():
        for _ in iterate_without_ranges(loop):
            for _ in range(3):
                run(photos, gains)


@program("decoding_without_graph")
def weather_toy(loop: Loop, mended: bool) -> None:
    """Integrate Lorenz's model in a Python loop over operations of JAX; mended, in a jitted fori_loop."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax import numpy as jnp

    def slope(x: Any) -> Any:
        return (jnp.roll(x, -1, 1) - jnp.roll(x, 2, 1)) * jnp.roll(x, 1, 1) - x + 8.0

    def advance(x: Any) -> Any:
        one = slope(x)
        two = slope(x + 0.005 * one)
        three = slope(x + 0.005 * two)
        return x + (one + 2.0 * two + 2.0 * three + slope(x + 0.01 * three)) * (0.01 / 6.0)

    jitted = jax.jit(lambda x: jax.lax.fori_loop(0, 25, lambda _, x: advance(x), x))
    members = 8.0 + jax.random.normal(jax.random.PRNGKey(0), (256, 960))
    loop.name = "forecast hour {}"
    for _ in loop:
        if mended:
            members = jitted(members)
        else:
            for _ in range(25):
                members = advance(members)
        members.block_until_ready()


@program("small_grid")
def fused_norm(loop: Loop, mended: bool) -> None:
    """Start a Triton kernel of a norm as 24 programs that go through the rows; mended, with one for each row."""
    rows, width = 32_768 // SMALL, 4096 // SMALL
    x, residual = torch.randn(2, rows, width, device=DEVICE, dtype=torch.bfloat16).unbind(0)
    weight = torch.randn(width, width // 4, device=DEVICE, dtype=torch.bfloat16)
    made, programs = torch.empty_like(x), rows if mended else 24
    kernel: Any = None
    if ON_GPU:
        import triton
        from triton import language as tl

        @triton.jit  # Triton reads the annotations, and wants none of arrays
        def add_and_norm(x, residual, made, rows, columns: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            for row in range(tl.program_id(0), rows, tl.num_programs(0)):
                at = row * columns + tl.arange(0, columns)
                value = tl.load(x + at).to(tl.float32) + tl.load(residual + at).to(tl.float32)
                mean = tl.sum(value * value, axis=0) / columns
                tl.store(made + at, (value / tl.sqrt(mean + 1e-6)).to(tl.bfloat16))

        kernel = add_and_norm
    loop.name = "layer {}"
    with torch.inference_mode():
        for _ in loop:
            for _ in range(4):
                with annotate("norm"):
                    if kernel is None:
                        made = functional.rms_norm(x + residual, (width,))
                    else:
                        kernel[(programs,)](x, residual, made, rows, columns=width, num_warps=4)
                made @ weight


@program("partial_waves")
def tiles(loop: Loop, mended: bool) -> None:
    """Smooth 144 tiles of images by a block each, of which a core holds one; mended, tiles of a sixteenth."""
    import cupy

    count, side, threads = (2304, 44, 64) if mended else (144, 176, 1024)
    kernel = cupy.RawKernel(
        """extern "C" __global__ void smooth(const float *seen, float *made, int side, int rounds) {
            extern __shared__ float tile[];
            int count = side * side;
            long long first = (long long)blockIdx.x * count;
            for (int at = threadIdx.x; at < count; at += blockDim.x) tile[at] = seen[first + at];
            __syncthreads();
            for (int half = 0; half < 2 * rounds; ++half) {
                for (int at = threadIdx.x; at < count; at += blockDim.x) {
                    int row = at / side, column = at % side;
                    bool inside = row > 0 && row < side - 1 && column > 0 && column < side - 1;
                    if (inside && ((row + column + half) & 1) == 0)
                        tile[at] = 0.25f * (tile[at - 1] + tile[at + 1] + tile[at - side] + tile[at + side]);
                }
                __syncthreads();
            }
            for (int at = threadIdx.x; at < count; at += blockDim.x) made[first + at] = tile[at];
        }""",
        "smooth",
    )
    kernel.max_dynamic_shared_size_bytes = shared = 4 * side * side
    seen = cupy.random.random((count, side, side), dtype=cupy.float32)
    made = cupy.empty_like(seen)
    loop.name = "slide {}"
    for _ in loop:
        for _ in range(8):
            kernel((count,), (threads,), (seen, made, np.int32(side), np.int32(100)), shared_mem=shared)


@program("decoding_one_by_one")
def captions(loop: Loop, mended: bool) -> None:
    """Generate captions of six pictures by a call of Hugging Face's generate for each; mended, by one call."""
    network = make_language_model("Qwen2", 4096 // SMALL).eval()
    pictures = torch.randint(1, 8192, (6, 128), device=DEVICE)
    loop.steps, loop.warmup, loop.name = 5, 2, "caption batch {}"
    for _ in loop:
        for prompts in pictures[None] if mended else pictures[:, None]:
            with annotate("generate"):
                mask = torch.ones_like(prompts)
                network.generate(prompts, attention_mask=mask, max_new_tokens=12, do_sample=False, pad_token_id=0)

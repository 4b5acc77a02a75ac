"""Programs as operators of networks, banks, laboratories and makers of robots write them, with a fault each, to judge
the rules: written by somebody who knew the labels of the faults and had read no rule.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from bench.fault_programs.loop import DEVICE, ON_GPU, SMALL, Loop, annotate, program, repeat_as_graph
from bench.fault_programs.models import Block
from bench.fault_programs.services import iterate_without_ranges
from bench.fault_programs.trainers import fit_with_lightning, train_with_hugging_face
from bench.fault_programs.training import learn

KIND = torch.bfloat16 if ON_GPU else torch.float32
"""Type of the numbers of networks that only answer."""


@program("many_small_copies")
def base_stations(loop: Loop, mended: bool) -> None:
    """Upload the counters of each radio cell by itself and stack them on the GPU; mended, stack them before."""
    cells, hours, counters, width = 1536 // SMALL, 48, 24, 512 // SMALL
    random = np.random.default_rng(101)
    polled = [[random.standard_normal((hours, counters), dtype=np.float32) for _ in range(cells)] for _ in range(3)]
    network = nn.Sequential(
        nn.Linear(counters, width), *(Block(width, 8) for _ in range(6)), nn.LayerNorm(width), nn.Linear(width, 5)
    ).to(DEVICE, KIND)
    alarms = []
    with torch.inference_mode():
        for number in iterate_without_ranges(loop):
            reports = polled[number % 3]
            if mended:
                seen = torch.from_numpy(np.stack(reports)).to(DEVICE)
            else:
                seen = torch.stack([torch.from_numpy(report).to(DEVICE) for report in reports])
            alarms.append(network(seen.to(KIND))[:, -1].argmax(-1))
    torch.stack(alarms).cpu().numpy()


def turn_phases(x: Tensor, phases: Tensor) -> Tensor:
    """Turn pairs of channels, which are complex numbers, by angles."""
    real, imaginary = x.chunk(2, -1)
    cosine, sine = phases.cos(), phases.sin()
    return torch.cat((real * cosine - imaginary * sine, real * sine + imaginary * cosine), -1)


class PilotLayer(nn.Module):
    """A layer that turns what pilots say by the phase of their subcarrier and mixes it."""

    def __init__(self, width: int, turn: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.turn = turn
        self.norm, self.mix = nn.LayerNorm(width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor, phases: Tensor) -> Tensor:
        turned = self.turn(self.mix(self.norm(x)), phases)
        return torch.add(x, self.feed(turned))


class ChannelEstimator(nn.Module):
    """Layers that estimate the channel of each subcarrier."""

    def __init__(self, depth: int, width: int, turn: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(PilotLayer(width, turn) for _ in range(depth))
        self.head = nn.Linear(width, 16)

    def forward(self, x: Tensor, phases: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, phases)
        made: Tensor = self.head(x)
        return made


@program("graph_breaks")
def channel_estimates(loop: Loop, mended: bool) -> None:
    """Leave a helper of each layer out of the compiled network by torch.compiler.disable; mended, compile it."""
    from torch import compiler

    depth, width, carriers, slots = (16, 256, 6528, 40) if ON_GPU else (2, 16, 64, 2)
    helper: Any = turn_phases if mended else compiler.disable(turn_phases)  # type: ignore[no-untyped-call]
    network = ChannelEstimator(depth, width, helper).to(DEVICE, KIND)
    estimate: Any = torch.compile(network) if ON_GPU else network
    pilots = torch.randn(4, carriers, width, device=DEVICE, dtype=KIND)
    phases = torch.randn(carriers, width // 2, device=DEVICE, dtype=KIND)
    known = torch.zeros(slots, carriers, 16, device=DEVICE, dtype=KIND)
    loop.name = "frame {}"
    with torch.no_grad():
        for _ in loop:
            with annotate("estimate"):
                for slot in range(slots):
                    known[slot] = estimate(pilots[slot % 4], phases)
            with annotate("equalize"):
                known.square().mean(0)


class StationRecords(Dataset[tuple[Tensor, Tensor]]):
    """Weeks of minutes of stations as loggers store them: compressed counts of eight sensors, with gaps and spikes."""

    def __init__(self, count: int, minutes: int) -> None:
        random = np.random.default_rng(102)
        self.count, self.minutes, self.files = count, minutes, list[bytes]()
        for _ in range(32):
            counts = random.integers(-9, 10, (8, minutes)).cumsum(1) // 4
            counts[random.random(counts.shape) < 0.05] = 32_767
            self.files.append(zlib.compress(counts.astype(">i2").tobytes()))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        counts = np.frombuffer(zlib.decompress(self.files[index % 32]), ">i2").reshape(8, self.minutes)
        times, sensed = np.arange(self.minutes), np.empty((8, self.minutes), np.float32)
        for sensor, row in enumerate(counts):
            good = row != 32_767
            filled: NDArray[Any] = np.interp(times, times[good], row[good]).astype(np.float32)
            sensed[sensor] = np.clip((filled - filled.mean()) / (filled.std() + 1e-3), -4.0, 4.0)
        return torch.from_numpy(sensed), torch.from_numpy(sensed[:4, -144:].mean(1))


@program("input_made_between_steps")
def station_weeks(loop: Loop, mended: bool) -> None:
    """Unpack and clean the records of weather stations in the process that trains; mended, in twelve workers."""
    weeks, minutes, width, depth = (32, 10_080, 512, 12) if ON_GPU else (4, 512, 32, 2)
    lift = nn.Sequential(nn.Conv1d(8, width, 16, 16), nn.Flatten(2)).to(DEVICE)
    body = nn.Sequential(*(Block(width, 8) for _ in range(depth)), nn.LayerNorm(width), nn.Linear(width, 4)).to(DEVICE)
    optimizer = torch.optim.AdamW([*lift.parameters(), *body.parameters()], lr=1e-4, fused=ON_GPU)
    records = StationRecords(weeks * loop.total, minutes)
    workers = 12 if mended and ON_GPU else 0
    batches = iter(DataLoader(records, weeks, num_workers=workers, pin_memory=ON_GPU))
    loop.name = "stations {}"
    for _ in loop:
        sensed, outlook = (one.to(DEVICE, non_blocking=True) for one in next(batches))
        with torch.autocast(DEVICE.type, torch.bfloat16):
            forecast = body(lift(sensed).transpose(1, 2))[:, -1]
        learn(optimizer, functional.smooth_l1_loss(forecast.float(), outlook))


@program("decoding_without_graph")
def swing_curves(loop: Loop, mended: bool) -> None:
    """Launch the kernels of each time step of the generators of a grid after a fault; mended, replay a CUDA graph."""
    cases, machines, times, pace = 96, 128, 60 // SMALL, 0.005
    voltage = 1.0 + 0.05 * torch.randn(machines, device=DEVICE)
    lines = torch.rand(2, machines, machines, device=DEVICE) * voltage[:, None] * voltage / machines
    network = torch.cat((0.1 * (lines[0] + lines[0].T), lines[1] + lines[1].T), 1)
    given, inertia = torch.rand(machines, device=DEVICE), 0.1 + torch.rand(machines, device=DEVICE)
    faults = 0.5 * torch.randn(4, cases, machines, device=DEVICE)
    angle, speed, spread = faults[0].clone(), torch.zeros_like(faults[0]), torch.zeros(cases, device=DEVICE)

    def accelerate(angle: Tensor, speed: Tensor) -> Tensor:
        sine, cosine = angle.sin(), angle.cos()
        (along, across), (along_sine, across_sine) = (cosine @ network).chunk(2, 1), (sine @ network).chunk(2, 1)
        power = cosine * (along - across_sine) + sine * (along_sine + across)
        return (given - power - 0.2 * speed) / inertia

    def integrate() -> None:
        first = accelerate(angle, speed)
        middle_speed = speed + 0.5 * pace * first
        second = accelerate(angle + 0.5 * pace * speed, middle_speed)
        other_speed = speed + 0.5 * pace * second
        third = accelerate(angle + 0.5 * pace * middle_speed, other_speed)
        last_speed = speed + pace * third
        fourth = accelerate(angle + pace * other_speed, last_speed)
        angle.add_(speed + 2.0 * (middle_speed + other_speed) + last_speed, alpha=pace / 6.0)
        speed.add_(first + 2.0 * (second + third) + fourth, alpha=pace / 6.0)
        torch.maximum(spread, angle.amax(1) - angle.amin(1), out=spread)

    unstable = []
    loop.name = "contingency set {}"
    with torch.inference_mode():
        advance = repeat_as_graph(integrate, wanted=mended)
        for number in loop:
            angle.copy_(faults[number % 4])
            speed.zero_()
            spread.zero_()
            with annotate("integrate"):
                for _ in range(times):
                    advance()
            unstable.append(spread > 3.1416)
    torch.stack(unstable).sum(1).tolist()


@program("optimizer_per_parameter")
def load_curves(loop: Loop, mended: bool) -> None:
    """Update a forecaster of loads in Lightning by AdamW with foreach=False, a weight at a time; mended, fused."""
    import lightning

    feeders, hours, width, depth = (48, 168, 256, 32) if ON_GPU else (4, 24, 32, 2)

    class LoadForecaster(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.lift, self.head = nn.Linear(12, width), nn.Linear(width, 3)
            self.layers = nn.Sequential(*(Block(width, 8) for _ in range(depth)))
            self.register_buffer("quantiles", torch.tensor([0.1, 0.5, 0.9]))

        def training_step(self, batch: list[Tensor], _: int) -> Tensor:
            estimate = self.head(self.layers(self.lift(batch[0]))).float()
            missed = batch[1] - estimate
            return torch.maximum(self.quantiles * missed, (self.quantiles - 1.0) * missed).mean()

        def configure_optimizers(self) -> Any:
            if mended:
                return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=ON_GPU)
            return torch.optim.AdamW(self.parameters(), lr=1e-4, foreach=False)

    past, later = torch.randn(feeders * loop.total, hours, 12), torch.randn(feeders * loop.total, hours, 1)
    loader = DataLoader(
        torch.utils.data.TensorDataset(past, later), feeders, num_workers=4 if ON_GPU else 0, pin_memory=ON_GPU
    )
    loop.name = "train_batch {}"
    fit_with_lightning(loop, LoadForecaster(), loader)


@program("loop_over_samples")
def account_histories(loop: Loop, mended: bool) -> None:
    """Pool the transactions of each customer of a bank in a loop over them; mended, of all at once by index_add."""
    customers, width, depth = 512 // SMALL, 768 // SMALL, 4
    random = np.random.default_rng(103)
    ends = [np.sort(random.choice(np.arange(1, 100 * customers), customers - 1, replace=False)) for _ in range(3)]
    counts = [np.diff(end, prepend=0, append=100 * customers).tolist() for end in ends]
    owners = [torch.repeat_interleave(torch.arange(customers), torch.tensor(each)).to(DEVICE) for each in counts]
    payments = torch.randn(3, 100 * customers, 64, device=DEVICE)
    churned = torch.randint(4, (3, customers), device=DEVICE)
    parts = [
        (nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)) for _ in range(depth)
    ]
    encoder = nn.Sequential(nn.Linear(64, width), *(part for four in parts for part in four)).to(DEVICE)
    scorer, head = nn.Linear(width, 1).to(DEVICE), nn.Linear(width, 4).to(DEVICE)
    weights = [*encoder.parameters(), *scorer.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=1e-4, fused=ON_GPU)
    loop.name = "customers {}"
    for number in loop:
        with annotate("encode"), torch.autocast(DEVICE.type, torch.bfloat16):
            rows = encoder(payments[number % 3])
            scores = scorer(rows).float().tanh()
        with annotate("pool"):
            if mended:
                shares, owner = scores.exp(), owners[number % 3]
                total = shares.new_zeros(customers, 1).index_add(0, owner, shares)
                known = shares.new_zeros(customers, width).index_add(0, owner, shares * rows) / total
            else:
                each = zip(rows.split(counts[number % 3]), scores.split(counts[number % 3]), strict=True)
                known = torch.stack([(own * score.softmax(0)).sum(0) for own, score in each])
        with annotate("learn"):
            learn(optimizer, functional.cross_entropy(head(known), churned[number % 3]))


@program("small_microbatches")
def claim_letters(loop: Loop, mended: bool) -> None:
    """Fine-tune a BERT on letters to an insurer in eight microbatches of four, as on a laptop; mended, in one of 32."""
    from transformers import AutoModelForSequenceClassification, BertConfig

    letters, length, width = (32, 256, 768) if ON_GPU else (8, 16, 48)
    config = BertConfig(
        vocab_size=30_528 // SMALL, hidden_size=width, num_hidden_layers=12 if ON_GPU else 2, num_attention_heads=12,
        intermediate_size=4 * width, max_position_embeddings=length, num_labels=16,
    )  # fmt: skip
    network: Any = AutoModelForSequenceClassification.from_config(config)
    texts = torch.randint(5, config.vocab_size, (letters * (loop.total + 1), length))
    causes = torch.randint(16, (len(texts),))
    dataset = [{"input_ids": text, "labels": cause} for text, cause in zip(texts, causes, strict=True)]
    parts = 1 if mended else 8
    loop.name = "update {}"
    train_with_hugging_face(
        loop, network, letters // parts, dataset, gradient_accumulation_steps=parts, logging_nan_inf_filter=False
    )


@program("no_overlap")
def cloud_masks(loop: Loop, mended: bool) -> None:
    """Upload the tiles of a satellite and then look for clouds in them; mended, upload the next ones meanwhile."""
    tiles, bands, side, width = (12, 12, 1536, 128) if ON_GPU else (2, 12, 64, 8)
    patch = torch.randint(10_000, (1, bands, side // 4, side // 4), dtype=torch.int16)
    orbits = [patch.roll(shift, 2).repeat(tiles, 1, 4, 4) for shift in range(3)]
    if ON_GPU:
        orbits = [orbit.pin_memory() for orbit in orbits]
    parts = [part for _ in range(8) for part in (nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True))]
    network: Any = nn.Sequential(nn.Conv2d(bands, width, 4, 4), *parts, nn.Conv2d(width, 4, 1)).to(DEVICE, KIND)
    network.to(memory_format=torch.channels_last)
    buffers = [torch.empty_like(orbits[0], device=DEVICE) for _ in range(2)]
    ahead: Any = torch.cuda.Stream() if mended and ON_GPU else None  # type: ignore[no-untyped-call]

    def upload(number: int) -> None:
        buffers[number % 2].copy_(orbits[number % 3], non_blocking=True)

    def upload_ahead(number: int) -> None:
        if ahead is None:
            upload(number)
            return
        here = torch.cuda.current_stream()
        here.wait_stream(ahead)
        ahead.wait_stream(here)
        with torch.cuda.stream(ahead):
            upload(number)

    shares = []
    loop.name = "granule {}"
    with torch.inference_mode():
        if mended:
            upload_ahead(0)
        for number in loop:
            with annotate("load_tiles"):
                if mended:
                    upload_ahead(number + 1)
                else:
                    upload(number)
            with annotate("mask"):
                pictures = buffers[number % 2].to(KIND, memory_format=torch.channels_last).mul_(1e-4)
                cover = network(pictures).argmax(1)
            with annotate("statistics"):
                shares.append((cover == 1).float().mean((1, 2)))
    torch.stack(shares).cpu().numpy().max(0)


@program("round_trips")
def docking_poses(loop: Loop, mended: bool) -> None:
    """Let NumPy decide on the host which poses of a ligand are kept, and upload these; mended, decide on the GPU."""
    poses, atoms, width, turns = (4096, 48, 256, 8) if ON_GPU else (64, 12, 32, 2)
    random = np.random.default_rng(104)
    scorer = nn.Sequential(nn.Linear(16, width), *(Block(width, 8) for _ in range(2)), nn.Linear(width, 1))
    scorer.to(DEVICE, KIND)
    elements = torch.randn(4, atoms, 13, device=DEVICE)
    start = torch.randn(4, poses, atoms, 3, device=DEVICE)
    best = []

    def score(ligand: Tensor, places: Tensor) -> Tensor:
        given = torch.cat((places, ligand.expand(poses, -1, -1)), -1).to(KIND)
        made: Tensor = scorer(given).float().sum((1, 2))
        return made

    loop.name = "ligand {}"
    with torch.inference_mode():
        for number in loop:
            ligand, places = elements[number % 4], start[number % 4]
            energies = score(ligand, places)
            for _ in range(turns):
                with annotate("propose"):
                    moved = places + 0.1 * torch.randn(poses, 1, 3, device=DEVICE) + 0.02 * torch.randn_like(places)
                with annotate("score"):
                    after = score(ligand, moved)
                with annotate("metropolis"):
                    if mended:
                        accepted = torch.rand(poses, device=DEVICE) < (energies - after).clamp(max=0.0).exp()
                        places = torch.where(accepted[:, None, None], moved, places)
                        energies = torch.where(accepted, after, energies)
                    else:
                        old, new, past, gained = (one.cpu().numpy() for one in (places, moved, energies, after))
                        taken = random.random(poses) < np.exp(np.minimum(past - gained, 0.0))
                        places = torch.from_numpy(np.where(taken[:, None, None], new, old)).to(DEVICE)
                        energies = torch.from_numpy(np.where(taken, gained, past)).to(DEVICE)
            best.append(energies.min())
    torch.stack(best).tolist()


@program("shapes_that_recompile")
def crystal_relaxation(loop: Loop, mended: bool) -> None:
    """Relax a crystal in JAX with as many pairs as each list of neighbors has; mended, fill the lists up to a size."""
    import jax
    from jax import numpy as jnp

    side, turns = (40, 80) if ON_GPU else (8, 2)
    atoms = side**3
    random = np.random.default_rng(105)
    lattice = np.stack(np.meshgrid(*(np.arange(side),) * 3, indexing="ij"), -1).reshape(atoms, 3)
    near = np.array([1, side - 1, side, side + 1, side**2 - side, side**2 - 1, side**2, side**2 + 1, side**2 + side])
    lists = []
    for _ in range(loop.total // 5 + 1):
        first = np.sort(random.integers(0, atoms, int(random.integers(24 * atoms, 32 * atoms))))
        lists.append(np.stack((first, (first + random.choice(near, len(first))) % atoms)).astype(np.int32))

    def measure_energy(places: Any, pairs: Any) -> Any:
        apart = places[pairs[0]] - places[pairs[1]]
        inverse = 1.0 / ((apart * apart).sum(-1) + 0.3)
        return jnp.where(pairs[0] != pairs[1], inverse**6 - 2.0 * inverse**3, 0.0).sum()

    @jax.jit
    def relax(places: Any, speeds: Any, pairs: Any) -> tuple[Any, Any]:
        forces = jnp.clip(-jax.grad(measure_energy)(places, pairs), -5.0, 5.0)
        speeds = 0.95 * speeds + 0.001 * forces
        return places + speeds, speeds

    places = jnp.asarray(lattice + 0.05 * random.standard_normal((atoms, 3)), jnp.float32)
    speeds, pairs = jnp.zeros_like(places), jnp.asarray(lists[0])
    loop.name = "relax {}"
    for number in loop:
        if number % 5 == 0:
            with annotate("neighbors"):
                known = lists[number // 5]
                if mended:  # an atom is no neighbor of itself
                    known = np.pad(known, ((0, 0), (0, 32 * atoms - known.shape[1])))
                pairs = jnp.asarray(known)
        with annotate("minimize"):
            for _ in range(turns):
                places, speeds = relax(places, speeds, pairs)
        if number + 1 == loop.total:
            jax.block_until_ready(places)


@program("unfused_elementwise")
def spinodal_alloys(loop: Loop, mended: bool) -> None:
    """Let an alloy unmix by formulas of CuPy, a kernel for each operator; mended, by a kernel for each formula."""
    import cupy

    side, times = 8192, 8
    mixed = cupy.random.random((side, side), dtype=cupy.float32) * 0.1 + 0.45
    down, right = cupy.fft.fftfreq(side), cupy.fft.rfftfreq(side)
    waves = (39.5 * (down[:, None] ** 2 + right**2)).astype(cupy.float32)
    potential_kernel = cupy.ElementwiseKernel(
        "float32 c", "float32 potential",
        """float x = fminf(fmaxf(c, 0.001f), 0.999f), y = x - 0.5f;
        potential = logf(x / (1.0f - x)) + 2.8f * (1.0f - 2.0f * x) + 0.4f * y * y * y""",
        "alloy_potential",
    )  # fmt: skip
    change_kernel = cupy.ElementwiseKernel(
        "complex64 wave, complex64 potential, float32 k", "complex64 made",
        "made = (wave - potential * (0.05f * k)) / (1.0f + 0.02f * k * k)",
        "alloy_change",
    )  # fmt: skip

    def find_potential(c: Any) -> Any:
        if mended:
            return potential_kernel(c)
        x = cupy.clip(c, 0.001, 0.999)
        y = x - 0.5
        return cupy.log(x / (1.0 - x)) + 2.8 * (1.0 - 2.0 * x) + 0.4 * y * y * y

    def change(wave: Any, potential: Any) -> Any:
        if mended:
            return change_kernel(wave, potential, waves)
        return (wave - potential * (0.05 * waves)) / (1.0 + 0.02 * waves * waves)

    wave = cupy.fft.rfft2(mixed)
    loop.name = "anneal {}"
    for _ in loop:
        for _ in range(times):
            wave = change(wave, cupy.fft.rfft2(find_potential(mixed)))
            mixed = cupy.fft.irfft2(wave, s=(side, side))
    cupy.asnumpy(mixed.std())


@program("many_synchronizations")
def legged_robots(loop: Loop, mended: bool) -> None:
    """Look up which robots fell, arrived or are pushed to change only these; mended, choose by torch.where."""
    robots, joints, width, ticks = 32_768 // SMALL, 24, 512 // SMALL, 48 // SMALL
    policy = nn.Sequential(
        nn.Linear(2 * joints + 6, width), nn.ELU(), nn.Linear(width, width), nn.ELU(), nn.Linear(width, joints)
    ).to(DEVICE, KIND)
    upright = 0.1 * torch.randn(robots, 2 * joints, device=DEVICE)
    bodies = torch.zeros(robots, 3, device=DEVICE)

    def replace(chosen: Tensor, fresh: Tensor, present: Tensor) -> Tensor:
        if mended:
            return torch.where(chosen[:, None], fresh, present)
        rows = chosen.nonzero().flatten()
        if len(rows) > 0:
            present[rows] = fresh[rows]
        return present

    returns = []
    loop.name = "rollout {}"
    with torch.inference_mode():
        for _ in loop:
            states, places = upright.clone(), bodies.clone()
            goals = 3.0 * torch.randn(robots, 3, device=DEVICE)
            gained = torch.zeros(robots, device=DEVICE)
            for _ in range(ticks):
                with annotate("policy"):
                    aim = goals - places
                    wanted = policy(torch.cat((states, aim, places), 1).to(KIND)).float().tanh()
                with annotate("physics"):
                    turned, speeds = states.chunk(2, 1)
                    torque = torch.zeros_like(speeds)
                    for _ in range(2):
                        torque = 40.0 * (wanted - turned) - 2.0 * speeds
                        speeds = speeds + 0.0025 * torque
                        turned = turned + 0.0025 * speeds
                    states = torch.cat((turned, speeds), 1)
                    places = places + 0.02 * speeds[:, :3]
                    far = aim.norm(dim=1)
                    gained += torch.exp(-far) - 0.01 * torque.square().mean(1)
                with annotate("resets"):
                    chances = torch.rand(robots, device=DEVICE)
                    fallen = (turned[:, 0].abs() > 0.9) | (chances < 0.002)
                    states, places = replace(fallen, upright, states), replace(fallen, bodies, places)
                    goals = replace(far < 0.3, 3.0 * torch.randn_like(goals), goals)
                    states = replace(chances > 0.98, states + 0.05 * torch.randn_like(states), states)
            returns.append(gained.mean())
    torch.stack(returns).tolist()

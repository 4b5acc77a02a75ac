"""The workload `queue`: a mixed queue of tasks, worked off under several policies, with and without competition.

A task is a kind of work (task_kinds.py), a size and a precision, drawn by a seed. Each policy works off the same queue
in the same order: `cpu` and `gpu` always choose that device, `threshold` and `model` are workloads.scheduler without
and with its model, `energy` is the model that chooses by energy, where it has learned some, and `oracle` chooses what
was faster under `cpu` and `gpu`. With --compete another program keeps the GPU busy during the second half of each.
With --record a profiler records some tasks that are done once more at the end: it would disturb what is measured.

Ranges: `policy_NAME` holds one range a task, `matmul_fp32_640/gpu` with its parts (see tasks.py); decisions are marks.

Leaves NAME.tasks.csv, a row a decision (workloads.scheduler.decisions), NAME.nvml.csv, and in NAME.meta.json under
`queue` a summary, which --summary also writes to a file of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from workloads.competitor import GO, STOP, Competitor
from workloads.errors import WorkloadError
from workloads.learning import costs
from workloads.monitor import GPUMonitor
from workloads.queue_results import DECIDING, ENERGY, Done, Known, Results
from workloads.ranges import STRUCTURE, annotate
from workloads.record import beside, note
from workloads.scheduler import Decision, Scheduler
from workloads.scheduler.decisions import WAIT, DecisionLog
from workloads.scheduler.readings import Readings
from workloads.task_kinds import KINDS
from workloads.tasks import PRECISIONS, Bench, chosen_sizes, flops_by_task, window_of
from workloads.tasks_cpu import by_numpy
from workloads.tasks_gpu import GpuBackend, choose_gpu

POLICIES = ("cpu", "gpu", "threshold", "model", ENERGY, "oracle")
"""In the order in which they run: the oracle knows what the first two took."""
SIZES = "40,56,80,112,160,224,320,448,640,896,1280,1792,2560,3584"
"""Between those that people measure, so that a model has seen none of them."""
SMALL = "24,40,80"
FREE, COMPETING = "free", "competing"
LOG_INTERVAL_S = 0.1
"""Time between rows of the power log: NVML counts energy ten times a second."""
SHOWN = "model"
"""The policy whose tasks are recorded where --record names how many."""


@dataclass(frozen=True)
class Item:
    """A task in the queue."""

    task: str
    size: int
    precision: str

    @property
    def label(self) -> str:
        """Its name in ranges and logs."""
        return f"{self.task}_{self.precision}"


class Queue:
    """The tasks, who works on them, and what came of it."""

    def __init__(self, items: Sequence[Item], gpu: GpuBackend | None) -> None:
        self.items = items
        self.gpu = gpu
        tasks = [name for name in KINDS if any(item.task == name for item in items)]
        self.benches = {
            precision: Bench(
                sorted({item.size for item in items if item.precision == precision}), by_numpy, gpu, tasks, precision,
                suffix=f"_{precision}",
            )
            for precision in sorted({item.precision for item in items})
        }  # fmt: skip

    def warm_up(self) -> None:
        """Run every task once on every device, and compare the results with NumPy's."""
        for bench in self.benches.values():
            bench.step(sorted({size for _, size in bench.inputs}))
            bench.rows.clear()

    def bytes_by_task(self) -> dict[str, dict[str, int]]:
        """Return what Bench.bytes_by_task does, of all precisions."""
        found: dict[str, dict[str, int]] = {}
        for bench in self.benches.values():
            for name, of in bench.bytes_by_task().items():
                found.setdefault(name, {}).update(of)
        return found

    def work(self, item: Item, device: str) -> float:
        """Work on a task; returns the seconds that it took, copies included."""
        bench = self.benches[item.precision]
        started = time.perf_counter()
        if device == "gpu" and self.gpu:
            bench.on_gpu(self.gpu, KINDS[item.task], item.size)
        else:
            bench.on_cpu(KINDS[item.task], item.size)
        seconds = time.perf_counter() - started
        bench.rows.clear()
        return seconds


def draw_items(
    count: int, tasks: Sequence[str], sizes: Sequence[int], precisions: Sequence[str], seed: int
) -> list[Item]:
    """Return a queue: kind, size and precision are drawn each by itself."""
    draw = random.Random(seed)  # noqa: S311 - a queue, no secret
    return [Item(draw.choice(tasks), draw.choice(sizes), draw.choice(precisions)) for _ in range(count)]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    parser.add_argument("--model", type=Path, metavar="FILE", help="what `python -m workloads learn` wrote")
    parser.add_argument(
        "--policies", metavar="NAME,...", default=",".join(POLICIES), help="who decides (default: %(default)s)"
    )
    parser.add_argument("--count", type=int, default=500, help="tasks in the queue (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="of the queue (default: 0)")
    parser.add_argument("--tasks", metavar="NAME,...", help=f"kinds of work (default: {','.join(KINDS)})")
    parser.add_argument("--sizes", metavar="N,...", help=f"sizes (default: {SIZES} with a GPU, {SMALL} without)")
    parser.add_argument(
        "--precisions", metavar="NAME,...", default=",".join(PRECISIONS), help="data types (default: %(default)s)"
    )
    parser.add_argument("--compete", action="store_true", help="another program uses the GPU in the second half")
    parser.add_argument(
        "--record", type=int, metavar="N",
        help=f"a profiler records N tasks of {SHOWN}, which follow all that is measured (default: all of all policies)",
    )  # fmt: skip
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="cpu: without a GPU (default: with one if there is one)"
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="file for the decisions (default: beside the report)")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="file for the summary, JSON (default: none)")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Work off the queue under each policy; say times, energy and regret."""
    gpu = choose_gpu("torch", options.device)
    policies = _named(options.policies, POLICIES, "--policies")
    tasks = _named(options.tasks or ",".join(KINDS), tuple(KINDS), "--tasks")
    precisions = _named(options.precisions, tuple(PRECISIONS), "--precisions")
    sizes = chosen_sizes(options.sizes or (SIZES if gpu else SMALL))
    if options.count < 1:
        raise WorkloadError("--count must be 1 or more.")
    if options.record is not None and (options.record < 1 or SHOWN not in policies):
        raise WorkloadError(f"--record must be 1 or more, with the policy {SHOWN}.")
    model = costs.load(options.model) if options.model else None
    if model is None or model.idle_w("") is None:
        policies = [policy for policy in policies if policy != ENERGY]
    if not policies:
        raise WorkloadError(f"The policy {ENERGY} needs a --model that has learned energy.")
    items = draw_items(options.count, tasks, sizes, precisions, options.seed)
    yield f"queue of {len(items)} tasks, sizes {', '.join(map(str, sizes))}"
    if not gpu:
        yield "No GPU: every task runs on the CPU."
    queue = Queue(items, gpu)
    queue.warm_up()
    log = DecisionLog(options.csv or beside(".tasks.csv"))
    results = Results(model)
    _work_off(queue, policies, model, log, results, options)
    log.close()
    summary = results.summary()
    flops = {
        f"{task}_{precision}_{size}": flops
        for precision in precisions
        for size in sizes
        for task in tasks
        for flops in flops_by_task([task], [size]).values()
    }
    precision = None if precisions[1:] else precisions[0]  # else each task has its own in its name
    note(precision=precision, flops_by_task=flops, queue=summary, model=results.terms(items), **queue.bytes_by_task())
    if options.summary:
        options.summary.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    yield from results.lines()


def _work_off(
    queue: Queue, policies: Sequence[str], model: costs.TimeModel | None, log: DecisionLog, results: Results,
    options: argparse.Namespace,
) -> None:  # fmt: skip
    """Works off the queue under each policy, and some of it once more where a profiler records that alone."""
    gpu = queue.gpu
    with ExitStack() as stack:
        competitor = stack.enter_context(Competitor()) if options.compete and gpu else None
        readings = stack.enter_context(Readings(use_gpu=gpu is not None))
        monitor = stack.enter_context(GPUMonitor(beside(""), LOG_INTERVAL_S))
        if options.record is None:
            stack.enter_context(window_of(gpu))
        for policy in policies:
            Runner(queue, policy, model, readings, log, results, monitor).run(competitor)
        if options.record:
            Runner(queue, SHOWN, model, readings, DecisionLog(None), Results(model), monitor).again(
                competitor, options.record
            )


class Runner:
    """Works off the queue under one policy."""

    def __init__(
        self, queue: Queue, policy: str, model: costs.TimeModel | None, readings: Readings, log: DecisionLog,
        results: Results, monitor: GPUMonitor,
    ) -> None:  # fmt: skip
        self.queue, self.policy, self.log, self.results, self.monitor = queue, policy, log, results, monitor
        limits = model.limits if model else {}
        self.scheduler = Scheduler(
            model if policy in (SHOWN, ENERGY) else None, thresholds=limits, readings=readings,
            energy_weight=1.0 if policy == ENERGY else 0.0,
        )  # fmt: skip
        self.known = results.known()

    def run(self, competitor: Competitor | None) -> None:
        """Work off both halves."""
        items, middle = self.queue.items, len(self.queue.items) // 2
        with annotate(f"policy_{self.policy}", STRUCTURE):
            for numbers in (range(middle), range(middle, len(items))):
                load = COMPETING if competitor and numbers.start == middle else FREE
                if competitor and load == COMPETING:
                    competitor.say(GO)
                before, started = self.monitor.joules_now(), time.perf_counter()
                for number in numbers:
                    self.one(items[number], load)
                wall_s, after = time.perf_counter() - started, self.monitor.joules_now()
                joules = None if before is None or after is None else after - before
                self.results.half(self.policy, load, wall_s, joules)
            if competitor:
                competitor.say(STOP)

    def again(self, competitor: Competitor | None, count: int) -> None:
        """Work on `count` tasks around the middle for a profiler."""
        items, middle = self.queue.items, len(self.queue.items) // 2
        first = max(0, middle - count // 2)
        with window_of(self.queue.gpu), annotate(f"policy_{self.policy}", STRUCTURE):
            for number, item in enumerate(items[first : first + count], first):
                if competitor and number == middle:
                    competitor.say(GO)
                self.one(item, COMPETING if competitor and number >= middle else FREE)
        if competitor:
            competitor.say(STOP)

    def one(self, item: Item, load: str) -> None:
        """Decide about a task and work on it."""
        decision, waited_s = self.decide(item, load), 0.0
        started = time.perf_counter()
        while decision.device == "wait":
            self.log.write(decision, 0.0, label=item.label, policy=self.policy, load=load, waited_s=waited_s, part=WAIT)
            self.scheduler.readings.wait(decision.wait_s)
            waited_s = time.perf_counter() - started
            decision = self.decide(item, load, waited_s)
        seconds = self.queue.work(item, decision.device) if decision.device != "none" else 0.0
        if self.policy in DECIDING:
            self.scheduler.finished(decision, seconds)
        self.log.write(decision, seconds, label=item.label, policy=self.policy, load=load, waited_s=waited_s)
        self.results.add(Done(self.policy, load, item.task, item.precision, item.size, decision, seconds))

    def decide(self, item: Item, load: str, waited_s: float = 0.0) -> Decision:
        """Return what the policy says of a task."""
        if self.policy in DECIDING:
            return self.scheduler.schedule(item.task, item.size, item.precision, waited_s=waited_s)
        started = time.perf_counter()
        device, reason = self.policy, f"always {self.policy.upper()}"
        if self.policy == "oracle":
            device, reason = _faster(self.known, item, load)
        if not self.queue.gpu:
            device, reason = "cpu", "no GPU"
        reading = next(iter(self.scheduler.readings.latest), None)  # what else went on, whoever decides
        return Decision(
            item.task, item.size, item.precision, device, reason, 0 if device == "gpu" else None,
            time_ns=time.time_ns(), reading=reading, age_s=max(started - reading.read_s, 0.0) if reading else None,
            decision_s=time.perf_counter() - started,
        )  # fmt: skip


def _faster(known: Known, item: Item, load: str) -> tuple[str, str]:
    times = known.get((item.task, item.precision, item.size, load), {})
    if set(times) < {"cpu", "gpu"}:
        return "cpu", "not measured on both"
    return ("gpu" if times["gpu"] < times["cpu"] else "cpu"), "faster when measured"


def _named(text: str, known: Sequence[str], option: str) -> list[str]:
    """Return the names of an option, in the order of those that there are."""
    names = set(text.split(","))
    if unknown := names - set(known):
        raise WorkloadError(f"{option} must be of {', '.join(known)}, and {min(unknown)!r} is not.")
    return [name for name in known if name in names]

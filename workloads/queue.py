"""The workload `queue`: a mixed queue of tasks, worked off under several policies, with and without competition.

A task is a kind of work (task_kinds.py), a size and a precision, drawn by a seed. Each policy works off the same queue
in the same order: `cpu` and `gpu` always choose that device, `threshold` and `model` are workloads.scheduler without
and with its model, `energy` is the model that chooses by energy, where it has learned some, and `oracle` chooses what
was faster under `cpu` and `gpu`. The policies take turns in blocks of tasks, another one first each time, so that what
changes meanwhile meets all of them; --repeats works off all of it several times. With --compete another program keeps
the GPU busy during the second half.
With --record a profiler records some tasks that are done once more at the end: it would disturb what is measured.

Ranges: `policy_NAME`, one a block, holds one range a task, `matmul_fp32_640/gpu` with its parts (see tasks.py);
decisions are marks.

Leaves NAME.tasks.csv, a row a decision (workloads.scheduler.decisions), NAME.nvml.csv, and in NAME.meta.json under
`queue` a summary, which --summary also writes to a file of its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from . import COMMAND
from .competitor import GO, STOP, Competitor
from .errors import WorkloadError
from .learning import costs
from .monitor import GPUMonitor
from .queue_items import Item, Queue, draw_items
from .queue_results import DECIDING, ENERGY, Done, Known, Results
from .ranges import STRUCTURE, annotate
from .record import make_path, note
from .scheduler import Decision, Scheduler
from .scheduler.decisions import WAIT, DecisionLog
from .scheduler.readings import Readings
from .task_kinds import KINDS
from .tasks import PRECISIONS, count_flops_by_task, open_capture_window, parse_sizes
from .tasks_gpu import choose_gpu

ORACLE = "oracle"
POLICIES = ("cpu", "gpu", "threshold", "model", ENERGY, ORACLE)
"""The last one needs the results of the first two."""
SIZES = "40,56,80,112,160,224,320,448,640,896,1280,1792,2560,3584"
"""Sizes between those that people measure, so that a model has seen none of them."""
SMALL = "24,40,80"
FREE, COMPETING = "free", "competing"
BLOCK = 50
"""Tasks of one policy until the next one's turn."""
LOG_INTERVAL_S = 0.1
"""Time between rows of the power log: NVML counts energy ten times a second."""
SHOWN = "model"
"""Policy whose tasks are recorded if --record gives their number."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this workload."""
    parser.add_argument("--model", type=Path, metavar="FILE", help=f"what `{COMMAND} learn` wrote")
    parser.add_argument(
        "--policies", metavar="NAME,...",
        help=f"who decides (default: {','.join(POLICIES)}; {ENERGY} where the model has learned some)",
    )  # fmt: skip
    parser.add_argument("--count", type=int, default=500, help="tasks in the queue (default: 500)")
    parser.add_argument(
        "--repeats", type=int, default=1, help="times that each policy works off the queue (default: %(default)s)"
    )
    parser.add_argument(
        "--block", type=int, default=BLOCK, help="tasks until the next policy's turn (default: %(default)s)"
    )
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
    """Process the queue under each policy and report times, energy and regret."""
    gpu = choose_gpu("torch", options.device)
    policies = _choose_names(options.policies or ",".join(POLICIES), POLICIES, "--policies")
    tasks = _choose_names(options.tasks or ",".join(KINDS), tuple(KINDS), "--tasks")
    precisions = _choose_names(options.precisions, tuple(PRECISIONS), "--precisions")
    sizes = parse_sizes(options.sizes or (SIZES if gpu else SMALL))
    if min(options.count, options.repeats, options.block) < 1:
        raise WorkloadError("--count, --repeats and --block must be 1 or more.")
    if options.record is not None and (options.record < 1 or SHOWN not in policies):
        raise WorkloadError(f"--record must be 1 or more, with the policy {SHOWN}.")
    model = costs.load(options.model) if options.model else None
    if model is None or model.get_idle_w("") is None:
        if options.policies and ENERGY in policies:
            raise WorkloadError(f"The policy {ENERGY} needs a --model that has learned energy.")
        policies = [policy for policy in policies if policy != ENERGY]
    items = draw_items(options.count, tasks, sizes, precisions, options.seed)
    yield f"queue of {len(items)} tasks, sizes {', '.join(map(str, sizes))}"
    if not gpu:
        yield "No GPU: every task runs on the CPU."
    queue = Queue(items, gpu)
    queue.warm_up()
    log = DecisionLog(options.csv or make_path(".tasks.csv"))
    results = Results(model)
    _process_queue(queue, policies, model, log, results, options)
    log.close()
    summary = results.summarize()
    flops = {
        f"{task}_{precision}_{size}": flops
        for precision in precisions
        for size in sizes
        for task in tasks
        for flops in count_flops_by_task([task], [size]).values()
    }
    precision = None if precisions[1:] else precisions[0]  # otherwise the task's name contains it
    note(
        precision=precision, flops_by_task=flops, queue=summary, model=results.list_costs(items), **queue.count_bytes()
    )
    if options.summary:
        options.summary.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    yield from results.format_lines()


def _process_queue(
    queue: Queue, policies: Sequence[str], model: costs.TimeModel | None, log: DecisionLog, results: Results,
    options: argparse.Namespace,
) -> None:  # fmt: skip
    """Process the queue under each policy, and some tasks once more if a profiler records those alone."""
    gpu = queue.gpu
    with ExitStack() as stack:
        competitor = stack.enter_context(Competitor()) if options.compete and gpu else None
        readings = stack.enter_context(Readings(use_gpu=gpu is not None))
        monitor = stack.enter_context(GPUMonitor(make_path(""), LOG_INTERVAL_S))
        if options.record is None:
            stack.enter_context(open_capture_window(gpu))
        runners = [Runner(queue, policy, model, readings, log, results, monitor) for policy in policies]
        turn = itertools.count()
        for load, blocks in split_halves(len(queue.items), options.repeats, options.block):
            if competitor and load == COMPETING:
                competitor.say(GO)
            for numbers in blocks:
                for runner in order_runners(runners, next(turn)):
                    runner.run_block(numbers, load if competitor else FREE)
        if competitor:
            competitor.say(STOP)
        if options.record:
            Runner(queue, SHOWN, model, readings, DecisionLog(None), Results(model), monitor).run_for_profiler(
                competitor, options.record
            )


class Runner:
    """Processes the queue under one policy."""

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
        self.known: Known = {}

    def run_block(self, numbers: range, load: str) -> None:
        """Process some of the queue."""
        self.known = self.results.collect_known_times() if self.policy == ORACLE else {}
        with annotate(f"policy_{self.policy}", STRUCTURE):
            before, started = self.monitor.joules_now(), time.perf_counter()
            for number in numbers:
                self.run_item(self.queue.items[number], load)
            wall_s, after = time.perf_counter() - started, self.monitor.joules_now()
        joules = None if before is None or after is None else after - before
        self.results.add_half(self.policy, load, wall_s, joules)

    def run_for_profiler(self, competitor: Competitor | None, count: int) -> None:
        """Process `count` tasks around the middle for a profiler."""
        items, middle = self.queue.items, len(self.queue.items) // 2
        first = max(0, middle - count // 2)
        with open_capture_window(self.queue.gpu), annotate(f"policy_{self.policy}", STRUCTURE):
            for number, item in enumerate(items[first : first + count], first):
                if competitor and number == middle:
                    competitor.say(GO)
                self.run_item(item, COMPETING if competitor and number >= middle else FREE)
        if competitor:
            competitor.say(STOP)

    def run_item(self, item: Item, load: str) -> None:
        """Decide about a task and run it."""
        decision, waited_s = self.decide(item, load), 0.0
        started = time.perf_counter()
        while decision.device == "wait":
            self.log.write(decision, 0.0, label=item.label, policy=self.policy, load=load, waited_s=waited_s, part=WAIT)
            self.scheduler.readings.wait(decision.wait_s)
            waited_s = time.perf_counter() - started
            decision = self.decide(item, load, waited_s)
        seconds = self.queue.run_item(item, decision.device) if decision.device != "none" else 0.0
        if self.policy in DECIDING:
            self.scheduler.finished(decision, seconds)
        self.log.write(decision, seconds, label=item.label, policy=self.policy, load=load, waited_s=waited_s)
        self.results.add(Done(self.policy, load, item.task, item.precision, item.size, decision, seconds))

    def decide(self, item: Item, load: str, waited_s: float = 0.0) -> Decision:
        """Return the policy's decision about a task."""
        if self.policy in DECIDING:
            return self.scheduler.schedule(item.task, item.size, item.precision, waited_s=waited_s)
        started = time.perf_counter()
        device, reason = self.policy, f"always {self.policy.upper()}"
        if self.policy == ORACLE:
            device, reason = _choose_faster(self.known, item, load)
        if not self.queue.gpu:
            device, reason = "cpu", "no GPU"
        reading = next(iter(self.scheduler.readings.latest), None)  # load by others, whoever decides
        return Decision(
            item.task, item.size, item.precision, device, reason, 0 if device == "gpu" else None,
            time_ns=time.time_ns(), reading=reading, age_s=max(started - reading.read_s, 0.0) if reading else None,
            decision_s=time.perf_counter() - started,
        )  # fmt: skip


def split_halves(count: int, repeats: int, block: int) -> Iterator[tuple[str, list[range]]]:
    """Return the numbers of the tasks of each half in blocks, as often as they are processed."""
    middle = count // 2
    for load, first, last in ((FREE, 0, middle), (COMPETING, middle, count)):
        yield load, [range(at, min(at + block, last)) for _ in range(repeats) for at in range(first, last, block)]


def order_runners(runners: Sequence[Runner], turn: int) -> list[Runner]:
    """Return runners in the order of a turn: a different one is first each time, and the one that needs the others'
    results is last."""
    first = turn % len(runners)
    return sorted([*runners[first:], *runners[:first]], key=lambda runner: runner.policy == ORACLE)


def _choose_faster(known: Known, item: Item, load: str) -> tuple[str, str]:
    times = known.get((item.task, item.precision, item.size, load), {})
    if set(times) < {"cpu", "gpu"}:
        return "cpu", "not measured on both"
    return ("gpu" if times["gpu"] < times["cpu"] else "cpu"), "faster when measured"


def _choose_names(text: str, known: Sequence[str], option: str) -> list[str]:
    """Return the names of an option in the order of the available ones."""
    names = set(text.split(","))
    if unknown := names - set(known):
        raise WorkloadError(f"{option} must be of {', '.join(known)}, and {min(unknown)!r} is not.")
    return [name for name in known if name in names]

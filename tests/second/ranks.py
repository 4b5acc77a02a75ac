"""The work of a GPU in each step of its process, and NCCL's operations with its own facts."""

import json
import re
import struct
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.second.names import kernel_class
from tests.second.nesting import Mode, Span, nest, union
from tests.second.raw import Call, Capture, Operation, Range
from tests.second.steps import Loop, loops

PROCESS: Mode = "process"
ROWS = dict[tuple[Any, ...], dict[str, Any]]


def is_nccl(one: Operation) -> bool:
    return one.kind == "kernel" and one.short.startswith("nccl")


def is_communication(one: Operation) -> bool:
    return is_nccl(one) or (one.kind == "kernel" and kernel_class(one.name) == "communication")


def step_times(capture: Capture) -> dict[int, list[tuple[int, Range, Span]]]:
    """By process its steps: number, range and time, which begins when the GPU is done with the steps before."""
    best: dict[int, Loop] = {}
    for loop in loops(capture, PROCESS):
        if loop.counted:
            best.setdefault(loop.tid >> 24 & 0xFFFFFF, loop)
    found: dict[int, list[tuple[int, Range, Span]]] = {}
    for pid, loop in best.items():
        reached = 0
        found[pid] = []
        for one in loop.counted:
            there = loop.ran.get(one)
            until = max(one.end, there.start + there.ns) if there else one.end
            if until > max(one.start, reached):
                found[pid].append((loop.steps.index(one) + 1, one, (max(one.start, reached), until)))
            reached = max(reached, until)
    return found


def split(capture: Capture) -> ROWS:
    """Time by GPU, process and step; the parts are unions of the times in which something ran."""
    work: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    for one in capture.operations:
        work[one.device, one.pid].append(one)
    found: ROWS = {}
    steps = step_times(capture)
    for (device, pid), there in work.items():
        there.sort(key=lambda one: one.start)
        starts = [one.start for one in there]
        reached = list(accumulate((one.end for one in there), max))
        if any(one.kind == "kernel" for one in there):
            for number, step, time in steps.get(pid, ()):
                facts = {"name": step.name, "start_ns": time[0] - capture.start}
                near = there[bisect_right(reached, time[0]) : bisect_left(starts, time[1])]
                found[device, pid, number] = facts | _parts(near, time)
    return found


def _parts(there: Iterable[Operation], time: Span) -> dict[str, int]:
    spans: dict[str, list[Span]] = {"compute": [], "communication": [], "copy": []}
    for one in there:
        low, high = max(one.start, time[0]), min(one.end, time[1])
        if high > low:
            kind = "copy" if one.kind in ("memcpy", "memset") else "compute"
            spans["communication" if is_communication(one) else kind].append((low, high))
    compute, kernels = union(spans["compute"]), union(spans["compute"] + spans["communication"])
    busy = union([span for there in spans.values() for span in there])
    return {
        "duration_ns": time[1] - time[0],
        "compute_ns": compute,
        "exposed_ns": kernels - compute,
        "hidden_ns": union(spans["communication"]) - (kernels - compute),
        "copy_ns": busy - kernels,
        "idle_ns": time[1] - time[0] - busy,
    }


WAITS = re.compile(r"\w*Synchronize|cu(da)?Memcpy(?!\w*Async)")
QUEUES = re.compile(r"cu(da)?(Launch|GraphLaunch|Memcpy|Memset|MemPrefetch)")


def cpu(capture: Capture) -> ROWS:
    """Time of the CPU by GPU, process and step: from its first launch for the step to that for the next one."""
    launched: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    for one in capture.kernels:
        if one.call:
            launched[one.device, one.pid].append(one)
    found: ROWS = {}
    steps = step_times(capture)
    for (device, pid), there in launched.items():
        threads = {one.call.tid for one in there if one.call}
        calls = sorted((one for one in capture.calls if one.tid in threads), key=lambda one: one.start)
        turns = {}
        for number, _, (low, high) in steps.get(pid, ()):
            starts = [one.call.start for one in there if one.call and low <= one.start < high]
            if starts:
                turns[number] = (low, min(starts))
        for number, (low, since) in turns.items():
            if number + 1 in turns and turns[number + 1][1] > since:
                until = turns[number + 1][1]
                period = turns[number + 1][0] - low
                found[device, pid, number] = {"period_ns": period} | _host_times(calls, since, until)
    return found


def _host_times(calls: list[Call], since: int, until: int) -> dict[str, int]:
    """The activity of a CPU from one moment to another: calls count in the span in which they start."""
    waits = [
        (one.start, min(one.end, until))
        for one in calls
        if since <= one.start < until
        and (WAITS.match(one.name) or (QUEUES.match(one.name) and one.end - one.start > 50_000))
    ]
    reached, pause = 0, 0
    for one in calls:
        if reached and since <= one.start < until:
            pause = max(pause, one.start - reached)
        reached = max(reached, one.end)
    return {"cpu_ns": until - since - union(waits), "blocked_ns": union(waits), "pause_ns": pause}


def payload(capture: Capture, one: Range) -> dict[str, int]:
    """The numbers in the payload of a range of NCCL: a head of four (count, schema, size, where it begins), then it."""
    if len(one.payload) < 32:
        return {}
    _, schema, _, begin = struct.unpack_from("<4Q", one.payload)
    found = {}
    for entry in capture.table("NVTX_PAYLOAD_SCHEMA_ENTRIES"):
        if entry["schemaId"] == schema:
            form = "<Q" if entry["type"] in (18, 22) else "<I"  # 64 bits: uint64 and size_t
            (found[entry["name"]],) = struct.unpack_from(form, one.payload, begin + (entry["offset"] or 0))
    return found


def _reduction(capture: Capture, number: int | None) -> str | None:
    for row in capture.table("NVTX_PAYLOAD_ENUM_ENTRIES"):
        if number is not None and (row["value"] or 0) == number:
            return str(row["name"])
    return None


def operations(capture: Capture, facts: Path) -> ROWS:
    """The kernels of NCCL by begin: of the samples each is that of one call, the range of NCCL around its launch."""
    ranks = json.loads(facts.read_text()).get("ranks") if facts.exists() else None
    nesting, steps = nest(capture), step_times(capture)
    found: ROWS = {}
    for one in capture.kernels:
        if not is_nccl(one):
            continue
        held = nesting.of(one, PROCESS)
        said = payload(capture, next(r for r in reversed(held) if r.domain == "NCCL"))
        size = said.get("Message size [bytes]")
        name = re.fullmatch(r"ncclDevKernel_(\w+?)_(\w+?)_(\w+?)_(\w+?)_(\w+?)", one.short)
        assert name, one.short
        found[one.start - capture.start,] = {
            "operation": name[1],
            "data_type": name[3],
            "algorithm": name[4],
            "protocol": name[5],
            "bytes": size,
            "size_bytes": size,  # an all-reduce carries its message once
            "reduction": _reduction(capture, said.get("Reduction operation")),
            "communicator": str(said["NCCL communicator ID"]),
            "calls": 1,
            "ranks": ranks,
            "duration_ns": one.ns,
            "algbw_gb_per_s": size / one.ns if size else None,
            "step": next((number for number, r, _ in steps.get(one.pid, ()) if r in held), None),
            "gpu_id": one.device,
            "stream": one.stream,
            "pid": one.pid,
        }
    return found

"""Ranks of a run from their traces: GPU work, and the waits of ranks in collectives."""

import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.second.nesting import Span, union

BYTES = {"Float": 4, "BFloat16": 2, "Half": 2}


def ns(value: Any) -> int:
    """Microseconds of a trace in ns."""
    return int(Decimal(value) * 1000)


def read(path: Path) -> list[dict[str, Any]]:
    """The complete events of a trace."""
    events = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)["traceEvents"]
    return [event for event in events if event.get("ph") == "X"]


def span(event: dict[str, Any]) -> Span:
    """Begin and end, ns."""
    return ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])


def split(events: Sequence[dict[str, Any]]) -> dict[str, int]:
    """From the first to the last kernel: |compute|, |communication|, and where both ran: |a| + |b| less |a or b|."""
    kernels = [event for event in events if event.get("cat") == "kernel"]
    comm = [span(event) for event in kernels if event["name"].startswith("nccl")]
    compute = [span(event) for event in kernels if not event["name"].startswith("nccl")]
    low, high = min(span(e)[0] for e in kernels), max(span(e)[1] for e in kernels)
    copies = [span(e) for e in events if e.get("cat") in ("gpu_memcpy", "gpu_memset")]
    inside = [(max(low, a), min(high, b)) for a, b in copies if min(high, b) > max(low, a)]
    both = union(compute) + union(comm) - union(compute + comm)
    busy = union(compute + comm + inside)
    return {
        "duration_ns": high - low, "compute_ns": union(compute), "hidden_ns": both,
        "exposed_ns": union(comm) - both, "copy_ns": busy - union(compute + comm), "idle_ns": high - low - busy,
    }  # fmt: skip


def as_hta(events: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Compute and overlap as HolisticTraceAnalysis counts them: in whole microseconds, begins up and ends down.

    In its compute time a kernel of less than one may count -1.
    """
    spans: dict[bool, list[Span]] = {False: [], True: []}
    for event in events:
        if event.get("cat") == "kernel":
            begin, end = span(event)
            spans[event["name"].startswith("nccl")].append((-(-begin // 1000), end // 1000))
    compute, comm = ([one for one in spans[kind] if one[1] > one[0]] for kind in (False, True))
    both = union(compute) + union(comm) - union(compute + comm)
    return {"compute_us": union(spans[False]), "overlap_pct": 100 * both / union(comm)}


def collectives(events: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, int]]:
    """Kernels of collectives that a step launched, by group, step and place in it: duration and bytes."""
    calls = {e["args"]["correlation"]: ns(e["ts"]) for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    steps = [(e["name"], span(e)) for e in events if e.get("cat") == "user_annotation" and e["name"][:5] == "step_"]
    found: dict[tuple[Any, ...], dict[str, int]] = {}
    nth: dict[tuple[Any, ...], int] = defaultdict(int)
    for event in sorted((e for e in events if "Collective name" in e.get("args", {})), key=lambda e: ns(e["ts"])):
        if event["cat"] != "kernel":
            continue
        at = calls[event["args"]["correlation"]]
        for name, (low, high) in steps:
            if low <= at <= high:
                key = (event["args"]["Process Group Name"], event["args"]["Process Group Ranks"], name)
                begin, end = span(event)
                size = event["args"]["In msg nelems"] * BYTES[event["args"]["dtype"]]
                found[(*key, nth[key])] = {"duration": end - begin, "bytes": size}
                nth[key] += 1
    return found


def waits(ranks: Sequence[dict[tuple[Any, ...], dict[str, int]]]) -> tuple[list[int], int, float]:
    """Waits of each rank and the sum of transfers, ns; and the bus bandwidth of all-reduces, bytes per ns."""
    shared = set.intersection(*(set(rank) for rank in ranks))
    shortest = {key: min(rank[key]["duration"] for rank in ranks) for key in shared}
    waited = [sum(rank[key]["duration"] - shortest[key] for key in shared) for rank in ranks]
    total = sum(shortest.values())
    factor = 2 * (len(ranks) - 1) / len(ranks)
    return waited, total, factor * sum(ranks[0][key]["bytes"] for key in shared) / total

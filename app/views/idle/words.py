"""Words of the page "Idle & launch": reasons for idle time and what to do about each."""

import re

REASONS = {
    "host code": "Host code",
    "launch call": "Launch call",
    "synchronization": "Synchronization",
    "copy call": "Copy or set call",
    "allocation": "Allocation",
    "module loading": "Module loading",
    "other CUDA call": "Other CUDA call",
    "OS runtime call": "OS runtime call",
    "launched, not begun": "Launched, not begun",
    "between operations": "Between operations",
    "unknown": "Unknown",
}
"""What people read for each reason of ``idle_reasons``."""

ADVICE = {
    "launch call": "The GPU waited for launch calls. Fewer and larger kernels, or a CUDA graph, need fewer of them.",
    "synchronization": "The host waited for the GPU with nothing queued behind. Look for what asks for a result,"
    " such as .item() or .cpu(), and let it ask later.",
    "copy call": "The GPU waited for the host to hand over data. Pinned memory and a stream of its own let a copy run"
    " beside kernels.",
    "allocation": "The GPU waited for allocations. Allocate once before the loop, or from a pool.",
    "module loading": "Kernels are loaded when they are first launched. Leave the first steps out of the capture, or"
    " load them before with CUDA_MODULE_LOADING=EAGER.",
    "other CUDA call": "The host was in CUDA calls that launch nothing. The table names the one that took most.",
    "OS runtime call": "The thread that launches was in the operating system: it waited for another thread, a file or a"
    " lock.",
    "launched, not begun": "The launch had been handed over, so the host was not late. Launches take a few µs to reach"
    " the GPU, and wait for events of other streams.",
    "between operations": "Operations follow each other closely. Fewer and larger kernels, or a CUDA graph, have fewer"
    " of these pauses.",
    "unknown": "The report has no calls of the operations that end these gaps.",
}
"""What can be done, by reason."""

BETWEEN_LAUNCHES = (
    "This is code between launches, such as Python. A CUDA graph or a compiled model needs less of it, larger batches"
    " need fewer launches."
)
LOADING = (
    "This looks like data loading. Worker processes, prefetching and pinned memory make a batch ready while the GPU"
    " runs the one before."
)
OWN_WORK = (
    "This is work of the program itself. Do it while kernels run, or give it to another thread or process: launch the"
    " next step first."
)
LONG_NS = 1_000_000
"""From this length on a gap is work of the host, and not the cost of a launch: launches take microseconds."""

_LOADING = re.compile(r"load|batch|fetch|data|input|prefetch|transform|decode|augment|read|tokeni[sz]e", re.IGNORECASE)
"""Names of ranges in which a program gets its next input."""


def advice(reason: str, gap_ns: float, path: str | None) -> str:
    """What can be done about gaps of this reason.

    Args:
        reason: one of ``REASONS``.
        gap_ns: how long such a gap is, ns: host code between launches is another matter than host code of a batch.
        path: path of the range in which the host was for most of it, None where there is none.
    """
    if reason != "host code":
        return ADVICE.get(reason, "")
    if gap_ns < LONG_NS:
        return BETWEEN_LAUNCHES
    return LOADING if path and _LOADING.search(path.rpartition("/")[2]) else OWN_WORK

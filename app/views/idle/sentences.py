"""Text of the Idle page: the reasons for idle time, and advice for each."""

import re
from collections.abc import Collection

TAKES = {
    "host code": "The CPU ran non-CUDA code for {share} of idle time.",
    "launch call": "The CPU was in launch calls for {share} of idle time.",
    "synchronization": "The CPU waited in synchronization for {share} of idle time.",
    "copy call": "The CPU was in memcpy or memset calls for {share} of idle time.",
    "allocation": "The CPU allocated or freed memory for {share} of idle time.",
    "module loading": "The CPU loaded modules for {share} of idle time.",
    "other CUDA call": "The CPU was in other CUDA calls for {share} of idle time.",
    "OS runtime call": "The CPU was in OS runtime calls for {share} of idle time.",
    "launch latency": "Work was launched and had not started for {share} of idle time.",
    "between operations": "Short gaps between operations take {share} of idle time.",
    "page migration": "Pages of unified memory moved after {share} of idle time.",
    "unknown": "The cause of {share} of idle time is unknown.",
}
"""Sentence for the reason with the most idle time."""

ADVICE = {
    "launch call": "The GPU waited for launch calls. Fewer and larger kernels, or a CUDA graph, need fewer of them.",
    "synchronization": "The CPU waited for the GPU with nothing queued behind. Look for what asks for a result,"
    " such as .item() or .cpu(), and let it ask later.",
    "copy call": "The GPU waited for the CPU to hand over data. Pinned memory and a stream of its own let a copy run"
    " beside kernels.",
    "allocation": "The GPU waited for allocations. Allocate once before the loop, or from a pool.",
    "module loading": "Kernels are loaded when they are first launched. Exclude the first steps from the capture, or"
    " load them before with CUDA_MODULE_LOADING=EAGER.",
    "other CUDA call": "The CPU was in CUDA calls that launch nothing. The table names the longest.",
    "OS runtime call": "The thread that launches was in the operating system: it waited for another thread, a file or a"
    " lock.",
    "launch latency": "The launch call had returned, so the CPU was not late. Launches take a few µs to reach the GPU,"
    " and wait for events of other streams.",
    "between operations": "Operations follow each other closely. Fewer and larger kernels, or a CUDA graph, have fewer"
    " of these pauses.",
    "page migration": "Pages of unified memory moved next, which no call launches. cudaMemPrefetchAsync moves them"
    " ahead.",
    "unknown": "The report does not have the calls that launched the operations after these gaps.",
}
"""Advice by reason."""

BETWEEN_LAUNCHES = (
    "This is code between launches, such as Python. A CUDA graph or a compiled model needs less of it, larger batches"
    " need fewer launches."
)
BESIDE_GRAPHS = (
    "This is code between launches, beside the CUDA graphs that the program uses. Larger batches and more work in each"
    " graph need fewer launches."
)
COMPILED = (
    "This is code between launches of a compiled program. Fewer graph breaks, a CUDA graph and larger batches need less"
    " of it."
)
LOADING = (
    "This looks like data loading. Worker processes, prefetching and pinned memory make a batch ready while the GPU"
    " runs the previous one."
)
OWN_WORK = (
    "This is the program's own work. Do it while kernels run: launch the next step first, or use another thread or"
    " process."
)
LONG_NS = 1_000_000
"""Gaps of at least this length are CPU work rather than launch overhead, which is microseconds."""

_LOADING = re.compile(r"load|batch|fetch|data|input|prefetch|transform|decode|augment|read|tokeni[sz]e", re.IGNORECASE)
"""Matches names of ranges that load or prepare input data."""


GRAPHS = "The GPU waited for launches of CUDA graphs. Put more work into each graph."
"""Advice if the launch calls already launch CUDA graphs."""


def choose_advice(
    reason: str, gap_ns: float, path: str | None, function: str = "", traits: Collection[str] = frozenset()
) -> str:
    """Return advice for idle gaps with this reason.

    Args:
        reason: one of ``shares.REASONS``.
        gap_ns: typical length of these gaps in ns; gaps between launches need other advice than gaps between batches.
        path: path of the range that the CPU was in for most of the idle time, or None.
        function: CUDA call that the CPU was in for most of it.
        traits: features that the program uses (profiledb.findings.program).
    """
    if reason == "launch call" and "GraphLaunch" in function:
        return GRAPHS
    if reason != "host code":
        return ADVICE.get(reason, "")
    if gap_ns < LONG_NS:
        compiled = not {"torch.compile", "JAX", "XLA"}.isdisjoint(traits)
        return BESIDE_GRAPHS if "CUDA graphs" in traits else COMPILED if compiled else BETWEEN_LAUNCHES
    return LOADING if path and _LOADING.search(path.rpartition("/")[2]) else OWN_WORK

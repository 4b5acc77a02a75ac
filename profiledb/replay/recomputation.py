"""Activations that a backward pass computes again, as checkpointing does, and the change that keeps them instead."""

from dataclasses import replace

import numpy as np

from profiledb.library.library import Library
from profiledb.query import views
from profiledb.replay.graph import Graph
from profiledb.replay.part import Part, mask_launching, measure_leads, order_launched, remove_operations, shorten_leads
from profiledb.replay.recording import KERNEL, MEMSET, Flags, Integers

LEAST_PCT = 10.0
"""Least share of the forward pass that runs again, in percent, as in the rule ``recomputation``."""
_VIEWS = ("selection", "training")


def read_recomputed(library: Library, report_id: str) -> Integers:
    """Return the kernels of a report, by id, in which a backward pass computes activations again."""
    with library.cursor(report_id, views=views.list_needed(_VIEWS)) as db:
        columns = db.execute("SELECT id FROM finding_recomputed($least)", {"least": LEAST_PCT}).fetchnumpy()
    return np.asarray(np.ma.getdata(columns["id"])).astype(np.int64)


def without_recomputation(graph: Graph, part: Part, value: str) -> Graph | None:
    """Keep activations: nothing runs again, and the framework prepares for that nowhere.

    It does so where the forward pass enters a stretch that runs again, and where the backward pass leaves one: PyTorch
    keeps the states of generators of random numbers, and of autocast. The host's work there takes as long as usual
    before a launch.
    """
    changed = without_recomputation_cautious(graph, part, value)
    if changed is None:
        return None
    gone = _find_gone(graph, part)
    launches = np.zeros(len(graph.chain), np.bool_)
    of = graph.recording.operations.call
    launches[of[part.operations & ~gone & (of >= 0)]] = True
    if not launches.any():
        return changed
    usual = int(np.median(measure_leads(graph)[launches]))
    return replace(changed, gap=shorten_leads(changed, part.calls & _find_around(graph, gone), usual))


def without_recomputation_cautious(graph: Graph, part: Part, _: str) -> Graph | None:
    """Leave the host's work around these stretches as it is."""
    gone = _find_gone(graph, part)
    changed = remove_operations(graph, gone)
    if changed is None:
        return None
    return replace(changed, gap=shorten_leads(graph, mask_launching(graph, gone), 0))


def _find_gone(graph: Graph, part: Part) -> Flags:
    """Return the kernels that run again, and the memory sets between two of them."""
    gone = part.recomputed() & part.operations
    launched = order_launched(graph)
    chain, number = graph.chain[graph.recording.operations.call[launched]], np.arange(len(launched))
    sets = graph.recording.operations.kind[launched] == MEMSET
    before = np.maximum.accumulate(np.where(sets, -1, number))
    after = np.minimum.accumulate(np.where(sets, len(number), number)[::-1])[::-1]
    inside = sets & (before >= 0) & (after < len(number))
    first, last = before[inside], after[inside]
    again = gone[launched]
    gone[launched[inside][again[first] & again[last] & (chain[first] == chain[last])]] = True
    return gone


def _find_around(graph: Graph, gone: Flags) -> Flags:
    """Return the calls of the forward pass that enter a stretch that runs again, and those right after one.

    A stretch of the forward pass begins with the same two kernels, in grids of the same size.
    """
    operations = graph.recording.operations
    around = np.zeros(len(graph.chain), np.bool_)
    launched = order_launched(graph)
    of = operations.call[launched]
    follows = graph.chain[of[1:]] == graph.chain[of[:-1]]
    leaves = follows & gone[launched[:-1]] & ~gone[launched[1:]]
    around[of[1:][leaves]] = True
    kernels = launched[operations.kind[launched] == KERNEL]
    _, shape = np.unique(np.stack([operations.name[kernels], operations.blocks[kernels]]), axis=1, return_inverse=True)
    shape, again, chain = shape.reshape(-1), gone[kernels], graph.chain[operations.call[kernels]]
    pair, same = shape[:-1] * (shape.max(initial=0) + 1) + shape[1:], chain[1:] == chain[:-1]
    begins = same & again[:-1] & again[1:]
    begins[1:] &= ~again[:-2] | ~same[:-1]
    enters = same & ~again[:-1] & ~again[1:] & np.isin(pair, pair[begins])
    around[operations.call[kernels[:-1][enters]]] = True
    return around

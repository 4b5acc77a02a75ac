"""Rules about CUDA graphs: on samples, and on small captures by hand."""

from typing import Any

import duckdb
import pytest

from profiledb.findings import sentences
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.gaps import by_hand, sampled
from tests.support.judged_rules import judged
from tests.support.page_reports import Publish, insert, name


def test_graphs_are_not_launch_bound(nsys_samples: Library) -> None:
    assert sampled(nsys_samples, "launches_graph_nodes", "launch_bound", warmup="exclude").value == 0
    assert sampled(nsys_samples, "launches_graph", "launch_bound").verdict == "cannot_judge"
    assert sampled(nsys_samples, "kernels", "launch_bound").why == "The selection has fewer than 100 kernels."


@pytest.mark.parametrize(("kernel_us", "gap_us", "fires"), [
    (100, 110, True),
    *(pytest.param(*one, marks=pytest.mark.slow("judges another capture by hand"))
      for one in ((110, 110, False), (100, 1100, False))),
])  # fmt: skip
def test_small_graphs_are_launch_bound(
    library: Library, publish: Publish, kernel_us: int, gap_us: int, fires: bool
) -> None:
    """By hand: 101 graphs of one kernel, each launched by a call of 50 µs that ends as its kernel begins."""
    turn = (kernel_us + gap_us) * 1_000
    work = [(n * turn - 50_000, n * turn, n * turn, n * turn + kernel_us * 1_000) for n in range(1, 102)]

    def after(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("UPDATE string SET value = 'cudaGraphLaunch_v10000' WHERE string_id = 1")
        db.execute("UPDATE kernel SET graph_node_id = 9")

    found = judged(library, by_hand(publish, work, after), "launch_bound")
    assert found.verdict == ("fires" if fires else "clear")
    assert found.saving_ns == (100 * gap_us * 1_000 if fires else 0)
    if fires:
        assert (found.cause, found.facts["graphs"], found.facts["gaps"]) == ("graphs", 101, 100)
        assert "for CUDA graphs to be launched" in sentences.strip_sentence(found)
        assert "`jax.vmap`" in found.rule.advised(found.cause, ["JAX"])[0]
        assert not found.rule.list_changes(found.cause), "no replay has them in one graph"


@pytest.mark.parametrize(("every", "breaks"), [(10, 12), (24, None)])
def test_breaks_of_compiled_code_are_named(library: Library, publish: Publish, every: int, breaks: int | None) -> None:
    """By hand: of 120 kernels, by turns a product and one that a compiler fused, some are an operator's instead."""
    work = [(n * 10_000, n * 10_000 + 10, n * 10_000 + 20, n * 10_000 + 1_020) for n in range(120)]

    def after(db: duckdb.DuckDBPyConnection) -> None:
        insert(db, "kernel_name", [name(3, "triton_poi_fused_add_0", "elementwise")])
        db.execute("UPDATE kernel SET name_id = 3 WHERE kernel_id % 2 = 0")
        db.execute(f"UPDATE kernel SET name_id = 2 WHERE kernel_id % {every} = 9")

    found = judged(library, by_hand(publish, work, after), "launch_bound")
    told = sentences.strip_sentence(found)
    assert (found.verdict, found.facts["breaks"], found.cause) == ("fires", breaks, "breaks" if breaks else None)
    assert ("follow those of torch.compile 12 times" in told, "A kernel takes" in told) == (bool(breaks), not breaks)
    assert ("`fullgraph=True`" in found.rule.advised(found.cause, ["PyTorch"])[0]) == bool(breaks)


def test_graph_breaks(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """No available report has any: by hand, a kernel is launched alone 100 µs after a graph, and a graph follows."""
    names = [{"string_id": 60, "value": "cudaGraphLaunch_v10000"}]
    kernels = [(0, 10, 20, 100_020), (180_000, 190_000, 200_020, 300_020), (310_000, 320_000, 330_020, 400_020)]

    def captured(*graphs: int) -> str:
        """With these kernels launched by graphs."""

        def change(db: duckdb.DuckDBPyConnection) -> None:
            for n in graphs:
                db.execute(f"UPDATE api_call SET name_id = 60 WHERE call_id = {100 + n}")
                db.execute(f"UPDATE kernel SET graph_node_id = 9 WHERE kernel_id = {100 + n}")

        return by_hand(publish, kernels, after=change, string=names)

    finding = judged(library, captured(0, 2), "graph_breaks")
    assert (finding.verdict, finding.saving_ns) == ("fires", 100_000)
    assert (finding.facts["graphs"], finding.facts["single"]) == (2, 1)
    assert finding.value == pytest.approx(25)
    assert judged(library, captured(0, 1, 2), "graph_breaks").verdict == "clear"
    read = [made.copy(9, 140_000, 141_000, 4, (2, 1))]
    calls = [made.call(9, 5, 130_000, 139_000)]

    def copied(*moved: dict[str, Any]) -> float | None:
        """The value where graphs alone run kernels, with these copies between them."""

        def change(db: duckdb.DuckDBPyConnection) -> None:
            db.execute("UPDATE api_call SET name_id = 60 WHERE call_id >= 100")
            db.execute("UPDATE kernel SET graph_node_id = 9")

        made_up = by_hand(publish, kernels, after=change, string=names, memop=list(moved), api_call=calls)
        return judged(library, made_up, "graph_breaks").value

    assert copied(*read) == 0, "a copy for each graph is its result"
    several = [copy | {"memop_id": n} for n, copy in enumerate(read * 4, 9)]
    assert copied(*several)
    assert sampled(nsys_samples, "launches_graph", "graph_breaks", warmup="exclude").verdict == "clear"
    assert sampled(nsys_samples, "launches_tiny", "graph_breaks").verdict == "cannot_judge"

"""The rule about chains of elementwise kernels, on small captures by hand."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from profiledb.findings import sentences
from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from tests.support.judged_rules import judged
from tests.support.range_captures import Capture


def chained(capture: Capture, names: str, ranges: Sequence[tuple[int, int, str]] = (), after: str = "") -> str:
    """Elementwise kernels of 3 µs, 1 µs apart, called by the letters o(ne) and t(wo); each launched 500 ns before."""
    called = {"o": "one", "t": "two"}
    work = [(4000 * n + 500, 4000 * n + 1000, 4000 * n + 4000, called[one]) for n, one in enumerate(names)]
    return capture(ranges, work, {"one": "elementwise", "two": "elementwise"}, after=after)


@pytest.fixture
def found(library: Library, capture: Capture) -> Callable[..., tuple[int, int | None]]:
    """Counts the chains of a capture, and the time that they cost."""

    def found_(*made: Any, **values: Any) -> tuple[int, int | None]:
        finding = judged(library, chained(capture, *made, **values), "elementwise_chains")
        return finding.facts["chains"], finding.saving_ns

    return found_


def test_chains_end_where_a_loop_or_another_range_begins(found: Callable[..., tuple[int, int | None]]) -> None:
    assert found("o" * 20) == (0, 0)  # one kernel over and over
    assert found("oot" * 5) == (5, 40_000)  # a formula uses one of them twice
    steps = [(8000 * n + 100, 8000 * n + 7900, f"step_{n}") for n in range(5)]
    assert found("to" * 5, steps) == (5, 20_000)
    halves = [(4000 * n + 100, 4000 * n + 3900, f"step_{n}") for n in range(10)]
    assert found("to" * 5, halves) == (0, 0)


@pytest.mark.slow("judges eight captures by hand")
def test_other_chains(found: Callable[..., tuple[int, int | None]]) -> None:
    assert found("ot") == (1, 4000)  # the gap and one of the two kernels
    assert found("ot" * 10) == (10, 40_000)
    assert found("oot") == found("oto") == (1, 8000)
    fused = "UPDATE kernel_name SET short = demangled, demangled = 'triton_poi_fused_add_relu_0' WHERE short = 'one'"
    assert found("ot" * 5, after=fused) == (0, 0)
    cast = "UPDATE kernel_name SET class = 'copy', short = 'vectorized_elementwise_kernel' WHERE short = 'one'"
    assert found("ot", after=cast) == (1, 4000)
    assert found("ot", after="UPDATE kernel_name SET class = 'copy' WHERE short = 'one'") == (0, 0)
    assert found("ot", after=cast.replace(" WHERE short = 'one'", "")) == (0, 0), "copies alone are no computation"


FIRST, SECOND = "triton_poi_fused_add_exp_0", "triton_poi_fused_mul_0"
"""The first kernel of two graphs: torch.compile numbers the kernels of each graph from 0."""


@pytest.fixture
def compiled(library: Library, capture: Capture) -> Callable[..., Finding]:
    """Judges kernels of 3 µs, 1 µs apart, with these names."""

    def compiled_(names: str, *titles: str, after: str = "") -> Finding:
        told = "".join(
            f"UPDATE kernel_name SET short = '{title}', demangled = '{title}' WHERE short = '{one}';"
            for one, title in zip(("one", "two"), titles, strict=True)
        )
        return judged(library, chained(capture, names, after=told + after), "elementwise_chains")

    return compiled_


def test_compiled_graphs_of_one_kernel_are_chains(compiled: Callable[..., Finding]) -> None:
    one = compiled("otot", FIRST, SECOND)
    assert (one.verdict, one.cause, one.facts["graphs"], one.facts["chains"]) == ("fires", "graphs", 2, 2)
    assert one.saving_ns == 8_000, "a gap and a kernel of each round"
    assert "mostly of 2 compiled graphs with one kernel each" in sentences.says(one)
    assert "fullgraph=True" in one.rule.advised(one.cause, ("PyTorch", "torch.compile"))[0]


@pytest.mark.slow("judges four captures by hand")
def test_other_compiled_kernels_are_no_chains(compiled: Callable[..., Finding]) -> None:
    assert compiled("otot", FIRST, "triton_poi_fused_mul_1").saving_ns == 0, "two kernels of one graph"
    assert compiled("oooo", FIRST, SECOND).saving_ns == 0, "one graph again and again"
    assert compiled("otot", FIRST, "add").saving_ns == 0, "a kernel that is not compiled beside the graph"
    backward = "UPDATE api_call SET global_tid = global_tid + 1 WHERE correlation_id % 2 = 0"
    assert compiled("otot", FIRST, SECOND, after=backward).saving_ns == 0, "autograd launches every other one"


@pytest.mark.slow("judges two captures by hand")
def test_operations_of_jax_without_jit_are_chains(library: Library, capture: Capture) -> None:
    """By hand: XLA's kernels of 3 µs, 1 µs apart, each in its own range, as XLA makes one per program."""
    work = [(4000 * n + 500, 4000 * n + 1000, 4000 * n + 4000, one) for n, one in enumerate(("one", "two", "one"))]
    kinds = {"one": "elementwise", "two": "elementwise"}
    after = "UPDATE kernel_name SET demangled = 'wrapped_add' WHERE short = 'one';"
    after += "UPDATE kernel_name SET demangled = 'loop_multiply_fusion' WHERE short = 'two'"

    def found(*modules: str) -> tuple[int, int | None]:
        told = [
            (4000 * n + 100, 4000 * n + 3900, f"XlaModule:#hlo_module={one},program_id={n}#")
            for n, one in enumerate(modules)
        ]
        one = judged(library, capture(told, work, kinds, after=after), "elementwise_chains")
        return one.facts["chains"], one.saving_ns

    assert found("jit_add", "jit_multiply", "jit_add") == (1, 11_000 - 3_000)
    assert found("jit_add", "jit_step", "jit_add") == (0, 0), "XLA fused what it could"

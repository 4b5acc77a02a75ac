"""Roofs of kernels: from a linked Compute report, and from the shapes of operators."""

import numpy as np
import pytest

from profiledb.library.library import Library
from profiledb.replay import prediction
from profiledb.replay.roofs import Roofs, read_roofs
from tests.profiledb.query.test_pair import GEMM, GEMM_ITANIUM, compute, launch, pair, systems
from tests.support.page_reports import Publish
from tests.support.torch_samples import TRAINING, needs_torch_samples


def test_kernels_are_looked_up_by_id() -> None:
    known = Roofs(np.array([3, 7]), np.array([0.5, 0.9]), np.array([0.25, 0.9]))
    busiest, least = known.find(np.array([7, 4, 3, 9]))
    assert np.array_equal(busiest, [0.9, np.nan, 0.5, np.nan], equal_nan=True)
    assert np.array_equal(least, [0.9, np.nan, 0.25, np.nan], equal_nan=True)
    nothing = Roofs(np.empty(0, np.int64), np.empty(0), np.empty(0))
    assert np.isnan(nothing.find(np.array([1]))).all()


def test_a_linked_compute_report_tells_of_the_same_grid_and_block(library: Library, publish: Publish) -> None:
    """Its launch keeps the SMs busy for 70 % of the time and reaches half of its roof."""
    kernels = [(GEMM, 8, 300), (GEMM, 16, 250), ("copy(int)", 8, 150)]
    report = pair(library, publish, systems(*kernels), compute(launch(5, GEMM_ITANIUM)))
    found = read_roofs(library, report, 0, 100_000)
    assert (found.ids.tolist(), found.busiest.tolist(), found.least.tolist()) == ([0], [0.7], [0.5])
    assert len(read_roofs(library, report, 5_000, 100_000).ids) == 0, "of a part the kernels in it"
    library.unlink(report)
    assert len(read_roofs(library, report, 0, 100_000).ids) == 0


@needs_torch_samples
def test_shapes_of_a_trace_tell_of_the_kernels_of_its_operators(torch_samples: Library) -> None:
    report = torch_samples.find(TRAINING).id
    changes = [("cuda_graph", ""), ("kernels_at_roof", "matmul")]
    found = prediction.predict(torch_samples, report, changes)
    graph, both = found.predictions[0], found.together
    assert both is not None
    products = dict(graph.parts)["matmul"]
    assert dict(both.parts)["matmul"] < 0.8 * products, "of 58 % of their time, at the roof"
    assert both.predicted_ns == pytest.approx(graph.predicted_ns - products + dict(both.parts)["matmul"], rel=0.2)

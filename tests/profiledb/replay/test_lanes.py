"""The picture of a step: lanes of its host and its GPU, by hand."""

import numpy as np

from profiledb.replay import graph, lanes, simulation
from profiledb.replay.critical_path import CALLS, HOST
from tests.profiledb.replay.test_replay import READS


def test_lanes_show_what_takes_most_of_each_slice() -> None:
    """A launch, a wait of 105 µs, host work of 10 µs, and the same again; the kernels run from 5 and 122 µs on."""
    built = graph.build(READS)
    every = np.ones(4, np.bool_), np.ones(2, np.bool_)
    found = lanes.draw(built, simulation.replay(built), 0, 224_000, *every)
    assert found.length_ns == 224_000
    assert [one.kind for one in found.host] == [CALLS, lanes.WAITS, HOST, CALLS, lanes.WAITS]
    assert [one.kind for one in found.gpu] == ["other", "other"]
    slice_ns = 224_000 / lanes.SLICES
    for one, (begin, end) in zip(found.gpu, [(5_000, 105_000), (122_000, 222_000)], strict=True):
        assert abs(one.begin_ns - begin) <= slice_ns
        assert abs(one.end_ns - end) <= slice_ns
    later = lanes.draw(built, simulation.replay(built), 110_000, 116_000, *every)
    assert ([one.kind for one in later.host], later.gpu) == ([HOST], [])

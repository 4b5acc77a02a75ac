"""Idle time by reason and the longest gaps, against the second computation."""

from tests.second import idle
from tests.second.agree import agree, keyed
from tests.second.conftest import EVERY, Sample, but

MOSTLY_IN = "each gap counts in full for the function of most of it, so that many short calls lose to a few long ones"
OTHER_FUNCTION = {
    *("ddp_1", "ddp_strong_2_rank0", "ddp_strong_2_rank1", "ddp_strong_4_rank0", "ddp_strong_4_rank1"),
    *("ddp_strong_4_rank2", "ddp_weak_4_rank0", "ddp_weak_4_rank1", "ddp_weak_4_rank3", "launches_graph_nodes"),
}
OF_NEXT = "the range is that of the operation after the gap, not the one that was open during the gap"
OTHER_RANGE = {
    *("attention", "idle_fixed", "idle_host_bound", "launches_tiny", "streams_overlapped", "tasks"),
    *("transformer_inference", "ddp_overlap_4_rank2", "ddp_weak_4_rank1", "ddp_weak_4_rank2"),
}


@EVERY
def test_reasons(sample: Sample) -> None:
    second = {key: row | {"function": None} for key, row in idle.by_reason(sample.capture).items()}
    ours = {key: {**row, "function": None} for key, row in keyed(sample.ask("idle_reasons"), "reason").items()}
    agree(ours, second)


@but(OTHER_FUNCTION, MOSTLY_IN)
def test_functions_that_took_most_of_the_time(sample: Sample) -> None:
    second = {key: {"function": row["function"]} for key, row in idle.by_reason(sample.capture).items()}
    agree(keyed(sample.ask("idle_reasons"), "reason"), second)


@EVERY
def test_longest_gaps(sample: Sample) -> None:
    agree(keyed(sample.ask("idle_gaps"), "gpu_id", "start_ns"), idle.longest(sample.capture))


@but(OTHER_RANGE, OF_NEXT)
def test_ranges_of_the_longest_gaps(sample: Sample) -> None:
    """Where one range was open for most of a gap, the gap is its."""
    second = idle.ranges_of_longest(sample.capture)
    ours = {key: row for key, row in keyed(sample.ask("idle_gaps"), "gpu_id", "start_ns").items() if key in second}
    agree(ours, second)

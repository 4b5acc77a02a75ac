"""Idle time by reason and the longest gaps, against the second computation."""

from tests.second import idle
from tests.second.agree import agree, keyed
from tests.second.conftest import EVERY, Sample


@EVERY
def test_reasons(sample: Sample) -> None:
    second = {key: row | {"function": None} for key, row in idle.by_reason(sample.capture).items()}
    ours = {key: {**row, "function": None} for key, row in keyed(sample.ask("idle_reasons"), "reason").items()}
    agree(ours, second)


@EVERY
def test_functions_that_took_most_of_the_time(sample: Sample) -> None:
    second = {key: {"function": row["function"]} for key, row in idle.by_reason(sample.capture).items()}
    agree(keyed(sample.ask("idle_reasons"), "reason"), second)


@EVERY
def test_longest_gaps(sample: Sample) -> None:
    agree(keyed(sample.ask("idle_gaps"), "gpu_id", "start_ns"), idle.longest(sample.capture))


@EVERY
def test_ranges_of_the_longest_gaps(sample: Sample) -> None:
    """A gap belongs to the range that was open for most of it."""
    second = idle.ranges_of_longest(sample.capture)
    ours = {key: row for key, row in keyed(sample.ask("idle_gaps"), "gpu_id", "start_ns").items() if key in second}
    agree(ours, second)

"""The rule about OpenMP regions, on the sample against the raw export, and on a small capture by hand."""

import pytest

from profiledb.library.library import Library
from tests.findings.test_rules_host import KERNELS, MORE
from tests.second import openmp
from tests.support import memory_reports as made
from tests.support.gaps import by_hand, capture, sampled
from tests.support.judged_rules import judged
from tests.support.page_reports import Publish


def test_threads_of_openmp_regions_that_wait(nsys_samples: Library) -> None:
    """The sample has loops with bad and good load balance: both together, and each by itself."""
    sample = "openmp_regions"
    of_all = openmp.regions(capture(sample))
    lost = sum(one.lost for one in of_all)
    whole = sampled(nsys_samples, sample, "openmp_imbalance")
    assert (whole.verdict, whole.severity, whole.saving_ns) == ("fires", "medium", lost)
    assert whole.value == pytest.approx(100 * lost / sum(one.end - one.start for one in of_all))
    low, high = capture(sample).window
    assert whole.saving_pct == pytest.approx(100 * lost / (high - low))
    assert whole.facts["region"] == "round_*/unbalanced"
    assert whole.evidence[0]["ns"] == max(one.lost for one in of_all)
    # the balanced loop by itself waits for little of the capture
    assert sampled(nsys_samples, sample, "openmp_imbalance", range="round_3/balanced").verdict == "clear"
    assert sampled(nsys_samples, sample, "openmp_imbalance", from_ns=0, to_ns=1).why.startswith("No OpenMP region")
    lacks = sampled(nsys_samples, "transformer_steps", "openmp_imbalance")
    assert (lacks.verdict, "openmp" in lacks.command) == ("cannot_judge", True)


@pytest.mark.parametrize(("second", "verdict", "value"), [
    pytest.param(40_000, "clear", 0, marks=MORE), (20_000, "fires", 25),
])  # fmt: skip
def test_two_threads_of_openmp(library: Library, publish: Publish, second: int, verdict: str, value: float) -> None:
    """A region takes 40 of 110 µs: the first thread works all the time, the other as long as given."""
    events = [
        {"event_id": n, "kind": kind, "start_ns": 0, "end_ns": end, "global_tid": tid, "parallel_id": 2}
        for n, (kind, end, tid) in enumerate(
            (("parallel", 40_000, made.MAIN), ("task", 40_000, made.MAIN), ("task", second, made.WORKER)), 1
        )
    ]
    found = judged(library, by_hand(publish, KERNELS, openmp_event=events), "openmp_imbalance")
    assert (found.verdict, found.saving_ns) == (verdict, (40_000 - second) // 2)
    assert found.value == pytest.approx(value)
    alone = judged(library, by_hand(publish, KERNELS, openmp_event=events[:1]), "openmp_imbalance")
    assert "which threads worked" in alone.why

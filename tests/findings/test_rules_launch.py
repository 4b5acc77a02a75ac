"""Rules about launches and synchronization: on samples against the raw export, and on small captures by hand."""

import random

import duckdb
import pytest

from profiledb.report.library import Library
from tests.second import idle
from tests.second.raw import Capture
from tests.support import memory_reports as made
from tests.support.found import judged, union
from tests.support.page_reports import Publish, kernel, make_library, make_publish
from tests.support.waits import SYNC, by_hand, capture, looked_into, outermost, sampled, share

__all__ = ["make_library", "make_publish"]  # fixtures

LAUNCHING = {"launch call", "launch latency", "host code", "other CUDA call"}


def launch_gaps(found: Capture) -> list[int]:
    """Gaps up to 100 µs before kernels, in which the CPU does nothing but launch."""
    return [
        gap.ns
        for gap in looked_into(found)
        if gap.ns <= 100_000 and gap.follower.kind == "kernel" and set(gap.by_reason) <= LAUNCHING
    ]


@pytest.mark.parametrize("sample", ["launches_tiny", "transformer_steps", "idle_fixed"])
def test_launch_bound(nsys_samples: Library, sample: str) -> None:
    found = capture(sample)
    finding, gaps = sampled(nsys_samples, sample, "launch_bound"), launch_gaps(found)
    assert (finding.saving_ns, finding.facts["gaps"]) == (sum(gaps), len(gaps))
    assert finding.value == pytest.approx(share(found, sum(gaps)))
    assert finding.verdict == ("clear" if sample == "idle_fixed" else "fires")


def test_graphs_are_not_launch_bound(nsys_samples: Library) -> None:
    assert sampled(nsys_samples, "launches_graph_nodes", "launch_bound", warmup="exclude").value == 0
    assert sampled(nsys_samples, "launches_graph", "launch_bound").verdict == "cannot_judge"
    assert sampled(nsys_samples, "kernels", "launch_bound").why == "The selection has fewer than 100 kernels."


@pytest.mark.parametrize(("sample", "verdict"), [("launches_tiny", "fires"), ("dataloader_fixed", "clear")])
def test_short_kernels(nsys_samples: Library, sample: str, verdict: str) -> None:
    found = capture(sample)
    pairs = [(one.call.end - one.call.start, one.ns) for one in found.kernels if one.call]
    excess = sum(call - kernel for call, kernel in pairs if call > kernel)
    bound = min(excess, sum(gap.ns for gap in idle.gaps(found) if gap.ns <= 100_000))
    finding = sampled(nsys_samples, sample, "short_kernels", warmup="include")
    assert (finding.verdict, finding.saving_ns) == (verdict, bound)
    assert finding.value == pytest.approx(share(found, bound))
    assert finding.facts["short_pct"] == pytest.approx(100 * sum(c > k for c, k in pairs) / len(pairs))


def test_few_short_kernels_are_not_judged(nsys_samples: Library) -> None:
    assert sampled(nsys_samples, "kernels", "short_kernels").verdict == "cannot_judge"
    assert sampled(nsys_samples, "launches_graph_nodes", "short_kernels", warmup="exclude").verdict == "cannot_judge"


def test_sync_bound(nsys_samples: Library) -> None:
    found = capture("idle_host_bound")
    waits = outermost([one for one in found.calls if "Synchronize" in one.name or "Mem" in one.name])
    lost, calls = 0, 0
    for gap in looked_into(found):
        host = sum(ns for reason, ns in gap.by_reason.items() if reason not in ("launch call", "launch latency"))
        last = max((one for one in waits if one.start <= gap.start), key=lambda one: one.start, default=None)
        follower = gap.follower.call
        if last and follower and host >= 100_000 and gap.start <= last.end <= min(gap.end, follower.start):
            lost += min(gap.start - last.start, host)
            calls += 1
    finding = sampled(nsys_samples, "idle_host_bound", "sync_bound")
    assert (finding.verdict, finding.saving_ns, finding.facts["calls"]) == ("fires", lost, calls)
    assert finding.value == pytest.approx(share(found, lost))
    assert (finding.cause, finding.facts["range"]) == ("few bytes", "step_*/read_loss_item")
    for mended in ("idle_fixed", "streams_overlapped", "launches_graph", "launches_graph_nodes", "dataloader_fixed"):
        assert sampled(nsys_samples, mended, "sync_bound", warmup="exclude").verdict == "clear"


def test_sync_bound_is_no_more_than_the_shorter_wait(library: Library, publish: Publish) -> None:
    """The CPU waits 150 µs for the GPU, then works 300 µs and launches: waiting for nothing had saved 150 µs."""
    kernels = [(0, 10, 50_000, 200_000), (500_000, 500_010, 500_020, 600_000)]
    waits = [made.call(1, SYNC, 50_000, 200_000 + 50)]
    finding = judged(library, by_hand(publish, kernels, api_call=waits), "sync_bound")
    assert (finding.verdict, finding.cause, finding.saving_ns) == ("fires", "synchronization", 150_000)
    without = publish(lambda db: made.fill(db, osrt_call=[made.osrt(1, 6, 5, 9)]))
    assert judged(library, without, "sync_bound").verdict == "cannot_judge"


def test_slow_launches(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """None weighs in a sample: by hand. The first launch of the kernel may load code, and counts nothing."""
    kernels = [(0, 90_000, 80_000, 100_000), (150_000, 210_000, 209_000, 300_000), (300_000, 349_999, 350_000, 400_000)]
    finding = judged(library, by_hand(publish, kernels), "slow_launches")
    assert (finding.verdict, finding.saving_ns, finding.facts["calls"]) == ("fires", 59_000, 1)
    assert finding.value == pytest.approx(100 * 59 / 320)
    assert sampled(nsys_samples, "launches_tiny", "slow_launches").verdict == "clear"
    assert sampled(nsys_samples, "launches_graph", "slow_launches").verdict == "cannot_judge"


def test_graph_breaks(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """No report at hand has any: by hand, a kernel launched alone 100 µs after a graph, and a graph after it."""
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
    assert sampled(nsys_samples, "launches_graph", "graph_breaks", warmup="exclude").verdict == "clear"
    assert sampled(nsys_samples, "launches_tiny", "graph_breaks").verdict == "cannot_judge"


def on_streams(publish: Publish, several: list[tuple[int, int, int]]) -> str:
    """A capture of kernels: stream, begin and end."""
    ran = [kernel(i, 1, start, end, stream_id=stream) for i, (stream, start, end) in enumerate(several)]
    busy = [(start, end) for _, start, end in several]
    return publish(lambda db: made.fill(db, max(end for _, end in busy), tuple(sorted(busy)), kernel=ran))


def test_one_stream_of_several(library: Library, publish: Publish) -> None:
    """No report at hand has it: by hand, 120 kernels of 100 ns on one stream and 6 of 10 ns on another, in turn."""
    main = [(7, 1_000 * i, 1_000 * i + 100) for i in range(120)]
    found = judged(
        library, on_streams(publish, main + [(8, 1_000 * i + 500, 1_000 * i + 510) for i in range(6)]), "one_stream"
    )
    assert (found.verdict, found.severity, found.saving_ns) == ("fires", "note", None)
    assert found.value == pytest.approx(100 * 12_000 / 12_060)
    assert (found.facts["streams"], found.facts["others"], found.facts["stream"]) == (2, 6, 7)
    assert found.facts["overlap_pct"] == 0
    beside = [(8, start + 50, end + 50) for _, start, end in main]
    both = judged(library, on_streams(publish, main + beside), "one_stream")
    assert (both.verdict, both.value) == ("clear", 0)
    assert both.facts["overlap_pct"] == pytest.approx(100 * 50 / 150)
    hardly = judged(library, on_streams(publish, [*main, (8, 500, 510)]), "one_stream")
    assert (hardly.verdict, hardly.value) == ("clear", 0), "one kernel elsewhere is no use of streams"


def test_one_stream_needs_several_and_enough(nsys_samples: Library, library: Library, publish: Publish) -> None:
    few = on_streams(publish, [(7, 0, 10), (8, 20, 30)])
    assert judged(library, few, "one_stream").why == "No GPU has enough kernels on several streams."
    assert sampled(nsys_samples, "launches_tiny", "one_stream").verdict == "cannot_judge"


@pytest.mark.parametrize("seed", range(4))
def test_overlap_of_streams_is_that_of_their_unions(library: Library, publish: Publish, seed: int) -> None:
    draw = random.Random(seed)
    several = []
    for _ in range(150):
        start = draw.randrange(20_000)
        several.append((draw.choice((7, 7, 7, 8, 9)), start, start + draw.randrange(1, 300)))
    every = union([(start, end) for _, start, end in several])
    streams = sum(union([(s, e) for one, s, e in several if one == stream]) for stream in (7, 8, 9))
    found = judged(library, on_streams(publish, several), "one_stream")
    assert found.facts["overlap_pct"] == pytest.approx(100 * (streams - every) / every)

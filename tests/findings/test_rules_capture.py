"""Rules about machine and capture: samples against their sidecars, and small captures by hand."""

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest

from profiledb.findings.sentences import strip_sentence
from profiledb.library.library import Library
from tests.conftest import SAMPLES
from tests.support import memory_reports as made
from tests.support.gaps import by_hand
from tests.support.judged_rules import Span, judged, rows, spans, union
from tests.support.memory_reports import MAIN, PID, call
from tests.support.page_reports import Publish, insert, kernel
from tests.support.power_log_reports import CAPTURED_NS, MS, put_log

MORE = pytest.mark.slow("judges more captures by hand")
ENERGY, TINY, GRAPH = "energy.nsys-rep", "launches_tiny.nsys-rep", "launches_graph.nsys-rep"


def log(sample: str, busy: list[Span]) -> list[dict[str, float]]:
    """Readings of the log beside a sample that lie in busy time."""
    (captured,) = rows(sample, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")[0]
    found = []
    with (SAMPLES / sample).with_suffix(".nvml.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            moment = int(row["time_ns"]) - captured
            if any(start <= moment <= end for start, end in busy):
                found.append({name: float(row[name]) for name in ("sm_clock_mhz", "power_w", "temperature_c")})
    return found


@pytest.fixture
def small(publish: Publish) -> Callable[..., str]:
    """Publishes a capture of 100 µs with one kernel of them, and rows of other tables."""

    def small_(
        begin: int = 0, end: int = 100_000, gpu: int = 0, stop: int = 100_000, kind: str = "nsys", **tables: Any
    ) -> str:
        def fill(db: duckdb.DuckDBPyConnection) -> None:
            insert(db, "gpu", [{"gpu_id": gpu, "name": "H100", "clock_hz": 2_000_000_000}])
            work = tables.pop("kernel", [kernel(1, 1, begin, end, device_id=gpu, global_pid=PID, call_id=1)])
            made.fill(db, stop=stop, busy=((begin, end),) if begin < end else (), kernel=work, **tables)
            db.execute(
                "UPDATE report SET captured_at = ?, kind = ?",
                [datetime.fromtimestamp(CAPTURED_NS / 1e9, UTC).replace(tzinfo=None), kind],
            )

        return str(publish(fill))

    return small_


@pytest.fixture
def powered(library: Library, small: Callable[..., str]) -> Callable[..., str]:
    """A capture of 10 ms that is busy all the time, with readings each ms of power, clock and temperature."""

    def powered_(watts: float, clock: float, celsius: float, limit: float | None = 700, readings: int = 5) -> str:
        found = small(end=10 * MS, stop=10 * MS)
        values = {"power_w": watts, "sm_clock_mhz": clock, "temperature_c": celsius, "device": 0, "uuid": ""}
        put_log(library, found, ({"time_ns": CAPTURED_NS + (i + 1) * MS} | values for i in range(readings)))
        if limit:
            library.put_sidecar(found, "meta", json.dumps({"gpus.0.power_limit_w": str(limit)}))
        return found

    return powered_


def test_clocks_lowered(with_sidecars: Library, library: Library, powered: Callable[..., str]) -> None:
    busy = spans(ENERGY, "KERNEL", "MEMSET")
    readings = log(ENERGY, busy)
    found = judged(with_sidecars, ENERGY, "clocks_lowered")
    mean = sum(one["sm_clock_mhz"] for one in readings) / len(readings)
    assert (found.verdict, found.severity, found.cause) == ("fires", "warning", "power")
    assert found.facts["readings"] == len(readings) > 100
    assert found.value == pytest.approx(100 * mean / 1980)
    assert found.saving_ns == pytest.approx(union(busy) * (1 - mean / 1980), rel=1e-6)
    assert judged(library, powered(400, 1900, 50), "clocks_lowered").verdict == "clear"
    assert judged(library, powered(400, 1500, 90), "clocks_lowered").cause == "temperature"
    assert judged(library, powered(400, 1500, 50, readings=2), "clocks_lowered").verdict == "cannot_judge"
    assert "log of power" in judged(with_sidecars, "kernels.nsys-rep", "clocks_lowered").why


def test_power_limit_reached(with_sidecars: Library, library: Library, powered: Callable[..., str]) -> None:
    found = judged(library, powered(690, 1500, 50), "power_limit_reached")
    assert (found.verdict, found.severity) == ("fires", "warning")
    assert found.value == pytest.approx(100 * 690 / 700)
    clear = judged(with_sidecars, ENERGY, "power_limit_reached")
    readings = log(ENERGY, spans(ENERGY, "KERNEL", "MEMSET"))
    assert clear.verdict == "clear"
    assert clear.value == pytest.approx(100 * sum(one["power_w"] for one in readings) / len(readings) / 700)
    assert "power limit is not known" in judged(library, powered(690, 1500, 50, None), "power_limit_reached").why


def test_gpu_hot(with_sidecars: Library, library: Library, powered: Callable[..., str], small: Any) -> None:
    assert judged(library, powered(400, 1900, 88), "gpu_hot").value == 88
    assert judged(library, powered(400, 1900, 88), "gpu_hot").verdict == "fires"
    clear = judged(with_sidecars, ENERGY, "gpu_hot")
    every = spans(ENERGY, "KERNEL", "MEMSET")
    whole = [(min(a for a, _ in every), max(b for _, b in every))]
    assert (clear.verdict, clear.value) == ("clear", max(one["temperature_c"] for one in log(ENERGY, whole)))
    assert judged(library, small(), "gpu_hot").verdict == "cannot_judge"


def test_profiler_overhead(nsys_samples: Library, library: Library, small: Any) -> None:
    """No available report has much of it in its steps: by hand 10 of 100 µs, of which 5 count twice, and some after."""
    times = [(10_000, 18_000), (13_000, 20_000), (95_000, 200_000)]
    spent = [{"start_ns": a, "end_ns": b, "name_id": 1} for a, b in times]
    found = judged(library, small(profiler_overhead=spent), "profiler_overhead")
    assert (found.verdict, found.severity, found.value) == ("fires", "warning", 15.0)
    clear = judged(nsys_samples, "transformer_training.nsys-rep", "profiler_overhead")
    every = spans("transformer_training", "KERNEL", "MEMCPY", "MEMSET")
    low, high = min(a for a, _ in every), max(b for _, b in every)
    raw = [
        (max(a, low), min(b, high))
        for a, b in rows("transformer_training", 'SELECT start, "end" FROM PROFILER_OVERHEAD')
        if a < high and b > low
    ]
    assert clear.verdict == "clear"
    assert clear.value == pytest.approx(100 * union(raw) / (high - low))
    assert clear.facts["spent_ns"] == union(raw) > 0
    assert judged(library, small(), "profiler_overhead").verdict == "cannot_judge"


def test_graphs_hide_kernels(nsys_samples: Library, library: Library, publish: Publish) -> None:
    found = judged(nsys_samples, GRAPH, "graphs_hide_kernels")
    graphs = spans(GRAPH, "GRAPH_TRACE")
    others = spans(GRAPH, "KERNEL", "MEMCPY", "MEMSET")
    assert (found.verdict, found.severity) == ("fires", "note")
    assert found.value == pytest.approx(100 * union(graphs) / union([*graphs, *others]))
    assert found.facts["launches"] == len(graphs)
    assert judged(nsys_samples, "launches_graph_nodes.nsys-rep", "graphs_hide_kernels").verdict == "clear"
    calls = publish(lambda db: made.fill(db, api_call=[call(1, 1, 5, 9)]))
    assert judged(library, calls, "graphs_hide_kernels").verdict == "cannot_judge"


def test_lost_events(nsys_samples: Library, library: Library, small: Any, publish: Publish) -> None:
    """No available report lost any: by hand two errors, a warning that does not count, and a row left out."""
    said = [
        {"severity": s, "source": "nsys", "text": t} for s, t in (("error", "lost"), ("error", "x"), ("warning", "w"))
    ]
    left_out = [{"source": "KERNEL", "reason": "ends before it begins", "row_json": "{}"}]
    found = judged(library, small(diagnostic=said, rejected_row=left_out), "lost_events")
    assert (found.verdict, found.severity, found.value) == ("fires", "warning", 3)
    assert found.facts["first_text"] == "lost"
    assert judged(nsys_samples, TINY, "lost_events").verdict == "clear"
    assert judged(library, publish(made.fill), "lost_events").verdict == "cannot_judge"


COMMAND = "sudo sh -c 'echo 2 >/proc/sys/kernel/perf_event_paranoid'"
PARANOID = (
    "Collection of CPU IP/backtrace samples or context switch data disabled. perf event paranoid level is 3. \n"
    f"Change the paranoid level to 2 to enable it.\nTry\n{COMMAND}\nas root."
)


@pytest.mark.parametrize(
    ("text", "remedy", "command", "cause"),
    [
        (
            PARANOID.replace("CPU IP/backtrace samples or context switch data", "Events"),
            "Change the paranoid level to 2 to enable it",
            COMMAND,
            "other",
        ),
        pytest.param(
            "Unable to configure it. Try the 'nsys status' command to learn more.",
            "Try the 'nsys status'",
            None,
            "other",
            marks=MORE,
        ),
        pytest.param("Unified Memory cannot be traced on devices of this kind.", None, None, "other", marks=MORE),
        ("Not all events were collected: 3 were dropped.", None, None, "lost"),
    ],
)
def test_the_remedy_of_an_error_is_its_own(
    library: Library, small: Any, text: str, remedy: str | None, command: str | None, cause: str
) -> None:
    said = [{"severity": "error", "source": "Daemon", "text": text}]
    found = judged(library, small(diagnostic=said), "lost_events")
    assert (found.verdict, found.cause, found.facts["command"]) == ("fires", cause, command)
    assert (found.facts["remedy"] or "").startswith(remedy or "")
    assert ("It advises" in strip_sentence(found)) == bool(remedy)
    assert any("shorter part" in one for one in found.rule.advised(found.cause)) == (cause == "lost")


def test_samples_that_the_kernel_forbids(library: Library, small: Any) -> None:
    """nsys reports it in two messages; with another error, these are only the first of several."""
    texts = [PARANOID, "Unable to configure the collection of CPU IP/backtrace samples, or context switch data."]
    said = [{"severity": "error", "source": "Daemon", "text": text} for text in texts]
    found = judged(library, small(diagnostic=said), "lost_events")
    assert (found.cause, found.facts["paranoid"]) == ("paranoid", "3")
    assert strip_sentence(found) == (
        "CPU samples and thread switches are missing: the profiler may not record them while perf_event_paranoid is 3."
    ).replace("perf_event_paranoid", "`perf_event_paranoid`")
    assert "echo 2 >/proc/sys/kernel/perf_event_paranoid" in found.rule.advised(found.cause)[0]
    more = judged(library, small(diagnostic=[*said, said[0] | {"text": "3 events were lost."}]), "lost_events")
    assert (more.cause, more.facts["paranoid"]) == ("lost", None)


def test_events_that_nsys_failed_to_process(library: Library, small: Any) -> None:
    """nsys only warns about them, but the work is missing."""
    text = "Error when processing events: Source ID=\nType=ErrorInformation (18)\n"
    said = [{"severity": "warning", "source": "Analysis", "text": text}] * 2
    found = judged(library, small(diagnostic=said), "lost_events")
    assert (found.verdict, found.cause, found.value) == ("fires", "failed", 2)
    assert strip_sentence(found) == (
        "nsys failed to process some of the events that it recorded (2 messages): the report lacks part of what ran."
    )
    error = {"severity": "error", "source": "nsys", "text": "x"}
    assert judged(library, small(diagnostic=[*said, error]), "lost_events").facts["failed"] is None


def test_a_report_without_most_of_its_events_does_not_show_when_the_gpu_waits(
    library: Library, publish: Publish
) -> None:
    """By hand: the GPU seems to wait 8 of 10 ms, and nsys tells how many of a thousand events it could process."""
    work = [(0, 10, 100, MS), (9 * MS - 10, 9 * MS, 9 * MS + 100, 10 * MS)]
    failed = "Error when processing events: Source ID=\nType=ErrorInformation (18)\n"

    def found(collected: int, *texts: str) -> Any:
        texts = (*texts, "Number of CUPTI events produced: \t1000, CUPTI buffers: 50.")
        texts = (*texts, f"Number of CUDA events collected: \t{collected}.")
        said = [{"severity": "information", "source": "Analysis", "text": one} for one in texts]
        return judged(library, by_hand(publish, work, diagnostic=said), "gpu_idle")

    one = found(170, failed)
    assert (one.verdict, one.why.startswith("nsys failed to process 83.0 % of its CUDA events")) == (
        "cannot_judge",
        True,
    )
    assert (found(600, failed).verdict, found(170).verdict) == ("fires", "fires")


def test_unclosed_ranges(nsys_samples: Library, library: Library, small: Any) -> None:
    """By hand: one range has no end, nsys ended one with the session, and one ends by itself."""
    paths = [{"path_id": i, "level": 0, "name": title, "path": title} for i, title in enumerate("abc")]
    ends = ((100_000, False, "StartEnd"), (100_000, True, "PushPop"), (50_000, True, "PushPop"))
    ranges = [
        {"range_id": i, "start_ns": 10, "end_ns": end, "closed": closed, "style": style, "path_id": i}
        | {"pre": i + 1, "post": i + 1, "global_tid": MAIN}
        for i, (end, closed, style) in enumerate(ends)
    ]  # fmt: skip
    found = judged(library, small(range_path=paths, range=ranges), "unclosed_ranges")
    assert (found.verdict, found.severity, found.value) == ("fires", "warning", 2)
    assert [piece["range"] for piece in found.evidence] == ["a", "b"]
    failed = [{"severity": "warning", "source": "Analysis", "text": "Error when processing events: Source ID=\n"}]
    lost = judged(library, small(range_path=paths, range=ranges, diagnostic=failed), "unclosed_ranges")
    assert (lost.cause, len(lost.advice)) == ("lost", 1), "the program may well have closed them"
    assert "another version of nsys" in lost.advice[0]
    pushed = [{**one, "style": "PushPop", "closed": False} for one in ranges]
    own = judged(library, small(range_path=paths, range=pushed), "unclosed_ranges")
    assert not any("start_range" in one for one in own.advice)
    started = [{**one, "style": "StartEnd", "closed": False} for one in ranges]
    (advised, *_) = judged(library, small(range_path=paths, range=started), "unclosed_ranges").advice
    assert "`end_range`" in advised, "a range that starts and ends anywhere has no scope"
    traced = judged(library, small(kind="torch", range_path=paths, range=ranges), "unclosed_ranges")
    assert traced.value == 1, "events of a trace are whole, and the last one ends it"
    (open_,) = rows(TINY, 'SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND "end" IS NULL')[0]
    assert (judged(nsys_samples, TINY, "unclosed_ranges").value, open_) == (0, 0)
    assert judged(library, small(), "unclosed_ranges").verdict == "cannot_judge"


def test_no_ranges(nsys_samples: Library, library: Library, small: Any, publish: Publish) -> None:
    found = judged(library, small(kernel=[kernel(i, 1, i * 10, i * 10 + 9) for i in range(10)]), "no_ranges")
    assert (found.verdict, found.severity, found.value) == ("fires", "note", 0)
    assert judged(library, small(), "no_ranges").verdict == "cannot_judge", "of one operation that says nothing"
    assert judged(nsys_samples, TINY, "no_ranges").value == 100
    calls = publish(lambda db: made.fill(db, api_call=[call(1, 1, 5, 9)]))
    assert judged(library, calls, "no_ranges").verdict == "cannot_judge"


def test_another_clock(nsys_samples: Library, library: Library, small: Any) -> None:
    """No available report fits neither clock: by hand, half of a kernel lies after the end."""
    found = judged(library, small(50_000, 150_000), "another_clock")
    assert (found.verdict, found.severity, found.value) == ("fires", "warning", 50)
    assert found.facts["outside_ns"] == 50_000
    (start, stop) = rows(TINY, "SELECT startTime, stopTime FROM ANALYSIS_DETAILS")[0]
    kernels = spans(TINY, "KERNEL")
    assert max(b for _, b in kernels) < start  # a capture range: times count from 0, which is no other clock
    assert max(b for _, b in kernels) < stop - start
    assert judged(nsys_samples, TINY, "another_clock").value == 0
    unstated = small()
    with_none = small(kernel=[], begin=0, end=0)
    assert judged(library, unstated, "another_clock").verdict == "clear"
    assert judged(library, with_none, "another_clock").verdict == "cannot_judge"


KERNEL_OF_WSL = {"name": "SoftwareReleaseVersion", "value": "5.15.90.1-microsoft-standard-WSL2"}


def test_no_gpu_activity(nsys_samples: Library, library: Library, publish: Publish, small: Any) -> None:
    calls = [call(1, 1, 5, 9), call(2, 1, 10, 12), call(3, 4, 20, 30), call(4, 2, 40, 50)]
    none = publish(lambda db: made.fill(db, api_call=calls))
    found = judged(library, none, "no_gpu_activity")
    assert (found.verdict, found.severity, found.value, found.facts["calls"]) == ("fires", "warning", 100, 3)
    assert "WSL2" not in " ".join(found.rule.advised(found.cause))
    wsl = publish(lambda db: made.fill(db, api_call=calls, system_info=[KERNEL_OF_WSL]))
    found = judged(library, wsl, "no_gpu_activity")
    assert "WSL2" in " ".join(found.rule.advised(found.cause))
    some = judged(library, small(api_call=calls), "no_gpu_activity")  # the kernel is that of call 1
    assert some.value == pytest.approx(200 / 3)
    wrapped = judged(library, small(api_call=[call(1, 1, 5, 9), call(2, 1, 4, 15)]), "no_gpu_activity")
    assert (wrapped.value, wrapped.facts["calls"]) == (0, 1), "a call around the one that launched is no second one"
    graph = [call(5, 91, 20, 21), call(6, 1, 22, 23), call(7, 1, 24, 25, tid=MAIN + 1), call(8, 92, 26, 27)]
    names = [{"string_id": 91, "value": "cuStreamBeginCapture_v2"}, {"string_id": 92, "value": "cuStreamEndCapture"}]
    captured = judged(library, small(api_call=[call(1, 1, 5, 9), *graph], string=names), "no_gpu_activity")
    assert (captured.value, captured.facts["calls"]) == (50, 2), "a launch between them goes into a graph"
    launched = rows(
        TINY,
        """SELECT count(*), count(k.correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
        JOIN StringIds AS s ON s.id = r.nameId LEFT JOIN CUPTI_ACTIVITY_KIND_KERNEL AS k USING (correlationId)
        WHERE s.value LIKE 'cudaLaunchKernel%'""",
    )[0]
    clear = judged(nsys_samples, TINY, "no_gpu_activity")
    assert (clear.verdict, clear.facts["without"]) == ("clear", launched[0] - launched[1])
    assert judged(library, small(), "no_gpu_activity").verdict == "cannot_judge"


def test_several_processes(nsys_samples: Library, library: Library, small: Any, publish: Publish) -> None:
    """No sample has two that work: by hand, two on one GPU."""
    two = [kernel(i, 1, i * 10, i * 10 + 9, global_pid=PID + (i << 24)) for i in range(2)]
    found = judged(library, small(kernel=two), "several_processes")
    assert (found.verdict, found.severity, found.value, found.facts["gpus"]) == ("fires", "note", 2, 1)
    (processes,) = rows(TINY, "SELECT count(DISTINCT globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0]
    assert judged(nsys_samples, TINY, "several_processes").value == processes == 1
    calls = publish(lambda db: made.fill(db, api_call=[call(1, 1, 5, 9)]))
    assert judged(library, calls, "several_processes").verdict == "cannot_judge"

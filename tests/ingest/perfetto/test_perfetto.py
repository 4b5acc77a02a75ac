"""Perfetto traces read by the real worker: small made-up ones, and ours against their reports."""

import zlib
from pathlib import Path
from typing import Any

import pytest

from ingest.formats import perfetto
from ingest.perfetto import load
from profiledb.access.cli import main
from profiledb.library.library import Library
from profiledb.timeline import trace
from tests.conftest import SAMPLES, Ingest, ingest_files
from tests.support.bounded_conversion import Take, converted, notes
from tests.support.dropped_files import job_of
from tests.support.every_report import slow_but
from tests.support.pftrace import BOOTTIME, INSTANT, SliceWriter, clock, packet, totals, track
from tests.support.xspace import field

PROCESS, MAIN, OTHER, QUEUE, STREAM = 1, 2, 3, 4, 5
AT = 1_000_000
TRACKS = (
    track(PROCESS, pid=4242)
    + track(MAIN, "main", PROCESS, 4242, 4242)
    + track(OTHER, "THREAD 1 (4250)", PROCESS)
    + track(QUEUE, "COMPUTE AGENT [4] QUEUE [2] GPU", PROCESS)
    + track(STREAM, 'STREAM [" 7 "] ', PROCESS)
)
KERNEL = "void gemm<float>(float*)"


def capture() -> bytes:
    """A capture as rocprofv3 writes it: a range with a call on the main thread; an annotated kernel and copy."""
    write = SliceWriter()
    return (
        TRACKS
        + write.begin(MAIN, "step", AT, "marker_api")
        + write.slice(OTHER, "hipLaunchKernel", AT + 100, AT + 150, "hip_api", (9,), {"corr_id": 31, "tid": 4250})
        + write.slice(MAIN, "hipMemcpyAsync", AT + 200, AT + 260, "hip_api", (8,), {"corr_id": 32, "tid": 4242})
        + write.slice(MAIN, "hsa_signal_wait", AT + 210, AT + 220, "hsa_api")
        + write.slice(QUEUE, KERNEL, AT + 300, AT + 900, "kernel_dispatch", (9,),
                      {"corr_id": 31, "agent": "Agent-4", "queue": 77, "group_segment_size": 512})
        + write.slice(STREAM, "MEMORY_COPY_DEVICE_TO_HOST", AT + 950, AT + 970, "memory_copy", (8,),
                      {"corr_id": 32, "src_agent": "Agent-4", "dst_agent": "Agent-0", "copy_bytes": 4096})
        + write.end(MAIN, AT + 1000)
        + write.begin(MAIN, "saved", AT + 500, kind=INSTANT)
    )  # fmt: skip


def test_a_trace_of_rocprofv3(take: Take) -> None:
    query = take("run.pftrace", capture())
    columns = "start_ns, end_ns, device_id, stream_id, short, value"
    joins = "JOIN kernel_name USING (name_id) JOIN api_call USING (call_id) JOIN string ON string_id = api_call.name_id"
    kernel = f"SELECT {columns.replace('start_ns, end_ns', 'kernel.start_ns, kernel.end_ns')} FROM kernel {joins}"
    assert query(kernel) == [(300, 900, 4, 2, "gemm", "hipLaunchKernel")]
    copy = "SELECT operation, start_ns, end_ns, bytes, device_id, stream_id FROM memop"
    assert query(copy) == [("[CUDA memcpy Device-to-Host]", 950, 970, 4096, 4, 7)]
    calls = "SELECT start_ns, end_ns, global_tid & 16777215 FROM api_call ORDER BY 1"
    assert query(calls) == [(100, 150, 4250), (200, 260, 4242)]
    assert query("SELECT name, start_ns, end_ns FROM range JOIN range_name USING (name_id)") == [("step", 0, 1000)]
    assert query("SELECT name, time_ns FROM mark JOIN range_name USING (name_id)") == [("saved", 500)]
    assert query("SELECT shared_bytes FROM launch_estimate") == [(512,)]
    assert query("SELECT kind, tool FROM report") == [("perfetto", "Perfetto")]
    assert notes(query) == ["1 record of hsa_api slices not read."]


def stages() -> bytes:
    """Stages of a GPU's queue, with a clock that counts steps of 10 ns, and names by number."""
    texts = field(12, b"".join((
        field(24, field(1, 1) + field(2, "Stream #13")), field(24, field(1, 2) + field(2, "Kernel")),
        field(24, field(1, 3) + field(2, "MemoryTransfer")), field(26, field(1, 7) + field(2, "_Z4gemmPf")),
    )))  # fmt: skip
    clocks = field(6, clock(64, 0, incremental=True, unit=10) + clock(BOOTTIME, AT))
    sizes = field(21, b"".join(
        field(number, b"".join(field(at, size) for at, size in zip((1, 2, 3), axes, strict=True)))
        for number, axes in ((1, (8, 2, 1)), (2, (256, 1, 1)))
    ))  # fmt: skip
    kernel = field(2, 500) + field(13, 1) + field(14, 2) + field(11, 1) + field(19, 7) + sizes
    copy = field(2, 40) + field(13, 1) + field(14, 3) + field(11, 1)
    gpu = field(128, b"".join(field(1, field(1, name)) for name in ("first", "NVIDIA H100")))
    return b"".join((
        packet(gpu),
        packet(texts, clocks, field(59, field(58, 64)), field(13, 1)),
        packet(field(8, 10), field(53, kernel), field(13, 2)),
        packet(field(8, 60), field(53, copy), field(13, 2)),
        packet(field(8, AT + 2_000), field(58, BOOTTIME), field(53, kernel), field(13, 2)),
    ))  # fmt: skip


def test_stages_of_a_gpu(take: Take) -> None:
    query = take("run.pftrace", stages())
    columns = "start_ns, end_ns, device_id, stream_id, grid_x, grid_y, block_x, short"
    assert query(f"SELECT {columns} FROM kernel JOIN kernel_name USING (name_id) ORDER BY 1") == [
        (0, 500, 1, 13, 8, 2, 256, "gemm"), (1900, 2400, 1, 13, 8, 2, 256, "gemm"),
    ]  # fmt: skip
    assert query("SELECT start_ns, end_ns, device_id, stream_id FROM memop") == [(600, 640, 1, 13)]
    assert query("SELECT name FROM gpu WHERE gpu_id = 1") == [("NVIDIA H100",)]


def test_packets_may_be_compressed(take: Take) -> None:
    query = take("run.pftrace", packet(field(50, zlib.compress(capture()))))
    assert query("SELECT start_ns, end_ns FROM kernel") == [(300, 900)]


EQUAL = (
    """
        SELECT kernel.start_ns - {0}, kernel.end_ns - {0}, device_id, stream_id, api_call.start_ns - {0}
        FROM kernel LEFT JOIN api_call USING (call_id) ORDER BY ALL
    """,
    "SELECT start_ns - {0}, end_ns - {0}, device_id, stream_id, operation FROM memop ORDER BY ALL",
    "SELECT start_ns - {0}, end_ns - {0}, device_id, stream_id FROM graph_launch ORDER BY ALL",
    """
        SELECT start_ns - {0}, end_ns - {0}, regexp_replace(value, '_v\\d+$', '')
        FROM api_call JOIN string ON string_id = name_id ORDER BY ALL
    """,
    "SELECT start_ns - {0}, end_ns - {0}, name FROM range JOIN range_name USING (name_id) ORDER BY ALL",
)
"""Questions with the same answer from a trace as from its report, whose clock begins earlier."""


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param("transformer_inference.sqlite", marks=pytest.mark.slow("another trace of ours")),
        "launches_graph.sqlite",
    ],
)
def test_our_own_trace_equals_its_report(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path, sample: str
) -> None:
    """Kernels, copies, calls and ranges with their times, and each kernel's call; totals also from the bytes."""
    ingest_files(tmp_path, [SAMPLES / sample])
    first = Library(tmp_path / "library")
    (report,) = first.list()
    target = inbox / "run.pftrace"
    assert main.main(["export_trace", report.id, "--library", str(first.folder), "-o", str(target)]) == 0
    query = converted(ingest, inbox, empty_library, target.name)

    def ask(sql: str) -> list[tuple[Any, ...]]:
        with first.cursor(report.id) as cursor:
            return cursor.execute(sql).fetchall()

    ((shifted,),) = query("SELECT min(start_ns) FROM api_call")
    ((origin,),) = ask("SELECT min(start_ns) FROM api_call")
    for sql in EQUAL:
        assert query(sql.format(0)) == ask(sql.format(origin - shifted)), sql
    told: dict[str, tuple[int, int]] = {}
    for (_, category, name), (count, time) in totals(target.read_bytes()).items():
        if category == "kernel":
            known = told.get(name, (0, 0))
            told[name] = (known[0] + count, known[1] + time)
    sums = query("""
        SELECT demangled, count(*), sum(end_ns - start_ns)::BIGINT FROM kernel JOIN kernel_name USING (name_id)
        GROUP BY demangled
    """)
    assert {name: (count, time) for name, count, time in sums} == told


def test_what_a_trace_tells_of_classes_is_what_the_reader_knows() -> None:
    assert set(trace._ON_STREAM) | set(trace._CATEGORIES.values()) <= set(load._KINDS)


@pytest.mark.parametrize("at", slow_but([30, 400], [30, 200, 400, 700, -1], "takes a cut trace in"))
def test_a_cut_trace_is_read_as_far_as_it_goes(ingest: Ingest, inbox: Path, empty_library: Library, at: int) -> None:
    (inbox / "cut.pftrace").write_bytes(capture()[:at])
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "cut.pftrace")
    if job.state == "failed":
        assert "cut off" in job.message
        assert job.hint
    else:
        with empty_library.cursor(empty_library.find("cut.pftrace").id) as cursor:
            (text,) = cursor.execute("SELECT text FROM diagnostic WHERE text LIKE 'The trace is cut off.%'").fetchall()
            assert text


def many_names(length: int, count: int) -> bytes:
    """Slices of one name, which are 20 GB or more if each has its own."""
    again, long = SliceWriter(3), "x" * length
    return again.slice(MAIN, long, AT, AT + 1) + again.slice(MAIN, long, AT + 2, AT + 3) * count


def hostile() -> dict[str, bytes]:
    """Bytes that ask for too much memory, or refer to missing entries."""
    write = SliceWriter(2)
    circle = track(91, "a", 92) + track(92, "b", 91)
    events = b"".join(
        packet(field(8, time), field(58, number), field(11, body), sequence=4)
        for time in (0, 1, (1 << 63) - 1, (1 << 64) - 1)
        for number in (0, 3, 64, 200)
        for body in (field(9, 1) + field(10, 77), field(9, 2), field(9, 3), field(9, 9), field(9, 1) + field(11, 91))
    )
    odd = [field(4, field(1, 1 << 31) + field(2, 1 << 31)), field(3, field(1, (1 << 64) - 5))]
    names = write.slice(
        91, "'); DROP TABLE kernel; --\0", AT, AT + 5, "kernel", notes={"corr_id": 1 << 63, "device": "\0"}
    )
    small, bomb = (zlib.compress(packet(field(8, 1)) * count) for count in (100_000, 500_000))
    return {
        "numbers": circle + events + names,
        "tracks": b"".join(packet(field(60, field(1, at) + one)) for at, one in enumerate(odd)) + circle,
        "unpacks": packet(field(50, small)), "unpacks more": packet(field(50, bomb)),
        "nested": packet(field(50, zlib.compress(packet(field(50, bomb))))),
        "noise": packet(field(50, b"\xff" * 100)), "claims": b"\x0a\xff\xff\xff\x7f" + bytes(100),
        "after": b"\x0a\x02\x08\x01" + b"\xff" * 1000,
    }  # fmt: skip


NAMES = {"names": (4 << 20, 5_000), "longer names": (16 << 20, 20_000)}


CASES = [*NAMES, *hostile()]


@pytest.mark.parametrize(
    "name", slow_but(set(CASES) - {"longer names", "unpacks more"}, CASES, "the same with more slices or packets")
)
def test_hostile_traces_hold_nothing_up(take: Take, name: str) -> None:
    """A later kernel in the same file is read, unless the bytes end the reading."""
    query = take("run.pftrace", capture() + (many_names(*NAMES[name]) if name in NAMES else hostile()[name]))
    assert query("SELECT count(*) FROM kernel WHERE start_ns >= 0")[0][0] in (1, 2)
    if name in ("noise", "claims", "after"):
        assert any(note.startswith("The trace is ") for note in notes(query))


def test_a_trace_without_slices_is_refused_with_what_it_has(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    """For example, an Android trace with CPU scheduling alone."""
    (inbox / "android.pftrace").write_bytes(packet(field(8, AT), field(1, field(1, 0))) * 3)
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "android.pftrace")
    assert job.state == "failed"
    assert "no slices of a GPU or a program" in job.message
    assert "ftrace events" in job.message
    assert job.hint


@pytest.mark.parametrize(
    "content", [b"\n\nTime(%),Total Time (ns),Instances\n", b"\nHello, world\n" * 50, b"", b"\x0a"]
)
def test_other_files_are_no_traces(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.pftrace"
    path.write_bytes(content)
    assert not perfetto.matches(path)

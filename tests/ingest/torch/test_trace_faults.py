"""Damaged and hostile traces and those of other programs, through the real worker: a report with notes, or a reason."""

import gzip
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from profiledb.library.library import Library
from tests.conftest import Ingest
from tests.ingest.torch.test_trace_load import EVENTS, event, text
from tests.support.bounded_conversion import converted, notes
from tests.support.dropped_files import job_of, made

WHOLE = text(EVENTS)


def test_two_that_are_no_reports_beside_each_other_are_looked_at_once(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    (inbox / "a.json").write_text('{"traceEvents": []}')
    (inbox / "a.json.gz").write_bytes(gzip.compress(WHOLE.encode())[:200])
    for _ in range(2):
        ingest(inbox, empty_library.folder)
        assert {job.state for job in empty_library.catalog.jobs()} <= {"failed", "ready"}
    (inbox / "a.json").write_text(WHOLE)
    ingest(inbox, empty_library.folder)
    assert job_of(empty_library, inbox / "a.json").state == "ready"


def odd(cat: str, name: str, rest: str) -> str:
    """A complete event of the main thread; name and rest are JSON as it stands in the trace."""
    return f'{{"ph": "X", "cat": "{cat}", "name": {name}, "pid": 900, "tid": 900, {rest}}}'


AT = '"ts": 1700000000000003, "dur": 1'
FAR = '"ts": 9223372036854775807, "dur": 9223372036854775807'
WIDE = (
    '"args": {"grid": "x", "block": [99999999999999999999, -1, {}], "registers per thread": "many", "device": 1e300,'
    ' "bytes": 1e99, "correlation": 18446744073709551615}, "ts": 1700000000000001.5, "dur": 1e-3'
)
ODD = [
    odd("cpu_op", r'"<script>alert(1)</script>\u0000[x](http://u:secretpw@h)"', AT),
    odd("cpu_op", '"late"', FAR),
    odd("kernel", '"nan"', '"ts": NaN, "dur": NaN, "args": {"stream": NaN}'),
    '{"ph": "X", "cat": "kernel", "name": 5, "pid": {}, "tid": [], "ts": "x", "dur": null, "args": []}',
    odd("kernel", '"wide"', WIDE),
    odd("cpu_op", '"twice"', '"ph": "M", "cat": "kernel", "name": "again", "ts": 1, "ts": 2, "dur": 1'),
    odd("cpu_op", '"deep"', f'{AT}, "args": {{"Input Dims": {"[" * 50_000}{"]" * 50_000}}}'),
    odd("cpu_op", f'"{"y" * 1_000_000}"', AT),
    odd("cpu_op", '"huge"', f'"args": {{"a": "{"z" * 5_000_000}"}}, {AT}'),
    odd("user_annotation", '"back"', '"pid": -5, "tid": "a\'b;--", "ts": 1700000000000005, "dur": -3'),
    odd("cpu_op", r'"half \ud800"', AT),
    "[1, 2]", "null", "5", '"text"', "{}",
]  # fmt: skip


def test_events_that_no_profiler_writes(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    (inbox / "odd.json").write_text(text([*ODD, *EVENTS]))
    query = converted(ingest, inbox, empty_library, "odd.json")
    named = "kernel JOIN kernel_name USING (name_id)"
    assert query(f"SELECT count(*) FROM {named} WHERE demangled LIKE 'void gemm%'") == [(1,)]
    assert query("SELECT count(*) FROM range WHERE end_ns < start_ns OR end_ns - start_ns > 1::BIGINT << 60") == [(0,)]
    told = query("SELECT max(length(text)) <= 4200, count(*) FILTER (text LIKE '%secretpw%') FROM range_name")
    assert told == [(True, 0)]
    wide = f"SELECT grid_x, block_x, block_y, registers_per_thread, device_id FROM {named} WHERE demangled = 'wide'"
    assert query(wide) == [(None, None, -1, None, None)]
    assert query("SELECT sum(end_ns - start_ns) < 1::BIGINT << 61, min(start_ns) >= 0 FROM range") == [(True, True)]
    assert any("impossible times" in note for note in notes(query))
    assert any("damaged and excluded" in note for note in notes(query))


def test_names_are_recognized_by_what_files_hold(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    (inbox / "a.txt").write_bytes(gzip.compress(WHOLE.encode()))
    with zipfile.ZipFile(inbox / "b.bin", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../etc/evil.json", text(EVENTS[:-1]))
        for n in range(200):
            archive.writestr(f"notes/{n}", "x")
    (inbox / "not.pt.trace.json").write_text('{"a": [1]}')
    ingest(inbox, empty_library.folder)
    assert [job_of(empty_library, inbox / name).state for name in ("a.txt", "b.bin", "not.pt.trace.json")] == [
        "ready", "ready", "failed"
    ]  # fmt: skip
    assert not list(empty_library.folder.parent.rglob("evil.json"))


XLA = (
    '{"displayTimeUnit": "ns", "traceEvents": [{"ph": "M", "pid": 3, "name": "process_name", "args":'
    ' {"name": "/host:CPU"}},'
)


@pytest.mark.parametrize(("head", "tool"), [(XLA, "XLA profiler (JAX or TensorFlow)"), ("[", "Chrome trace")])
def test_traces_of_other_programs(ingest: Ingest, inbox: Path, empty_library: Library, head: str, tool: str) -> None:
    events = [
        {"ph": "X", "pid": 3, "tid": 4, "ts": 10.5, "dur": 4, "name": "jit_step", "cat": "xla"},
        {"ph": "X", "pid": 3, "tid": 4, "ts": 11, "dur": 1.25, "name": "fusion"},
        {"ph": "B", "pid": 3, "tid": 4, "ts": 20, "name": "open"},
    ]
    (inbox / "x.json").write_text(head + json.dumps(events)[1:] + ("}" if head.startswith("{") else ""))
    query = converted(ingest, inbox, empty_library, "x.json")
    assert query("SELECT tool FROM report") == [(tool,)]
    ranges = "range JOIN range_path USING (path_id) JOIN range_name USING (name_id)"
    assert query(f"SELECT path, domain, start_ns, end_ns FROM {ranges} ORDER BY 3") == [
        ("jit_step", "xla", 0, 4000),
        ("jit_step/fusion", None, 500, 1750),
    ]
    assert "1 begin event is not read (ph B)." in notes(query)


def test_a_trace_is_never_taken_for_what_lies_beside_a_report(
    ingest: Ingest, inbox: Path, empty_library: Library
) -> None:
    """Files beside a trace belong to it; a trace beside a report of the same name is its own report."""
    made(inbox / "run.sqlite")
    (inbox / "run.json").write_text(WHOLE)
    (inbox / "other.pt.trace.json").write_text(text(EVENTS[:-1]))
    (inbox / "other.meta.json").write_text('{"batch": 8}')
    ingest(inbox, empty_library.folder)
    assert {job.name: job.state for job in empty_library.catalog.jobs()} == dict.fromkeys(
        ("run.sqlite", "run.json", "other.pt.trace.json", "other.meta.json"), "ready"
    )
    with empty_library.cursor(empty_library.find("other.pt.trace.json").id) as cursor:
        assert cursor.execute("SELECT value FROM meta WHERE key = 'batch'").fetchall() == [("8",)]


def test_unnamed_threads_and_processes(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """Addresses replace thread ids, in several processes: each gets its own number."""
    events = [
        event("cpu_op", f"op {n}", n * 10, n * 10 + 5, tid=str(3_004_819_264 + n % 3), pid=5 + n // 6, External_id=n)
        for n in range(12)
    ]
    (inbox / "old.json").write_text(text(events))
    query = converted(ingest, inbox, empty_library, "old.json")
    assert query("SELECT pid, count(*), count(DISTINCT tid) FROM thread GROUP BY pid ORDER BY pid") == [
        (5, 3, 3),
        (6, 3, 3),
    ]
    assert query("SELECT count(DISTINCT global_tid) FROM range") == [(6,)]


CUT = pytest.mark.slow("takes a cut trace in")


@pytest.mark.parametrize(
    "pack",
    [
        pytest.param(lambda raw: raw, marks=CUT),
        pytest.param(gzip.compress, marks=CUT),
        lambda raw: zlib.compress(raw, wbits=31)[:-8],
    ],
)
def test_what_was_cut_is_told(
    ingest: Ingest, inbox: Path, empty_library: Library, pack: Callable[[bytes], bytes]
) -> None:
    """A truncated trace gives the events that it has, and a note."""
    (inbox / "cut.json").write_bytes(pack(WHOLE.encode()[: len(WHOLE) // 2]))
    query = converted(ingest, inbox, empty_library, "cut.json")
    assert query("SELECT count(*) > 0 FROM range") == [(True,)]
    assert any("The rest is missing" in note for note in notes(query))

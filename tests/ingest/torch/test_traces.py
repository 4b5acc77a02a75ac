"""Real traces, imported, against Python's own json: to the ns, event for event.

training.pt.trace.json.gz is a cut of a capture of the sample transformer (PyTorch 2.11, H200): two training steps with
shapes, memory and modules, without launch arrows and the Python functions of libraries.
"""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from tests.conftest import CORPUS, ROOT, run_ingest
from tests.support import trace_reader
from tests.support.bounded_conversion import Query, converted
from tests.support.every_report import slow_but

OURS = ROOT / "tests/data/torch/training.pt.trace.json.gz"
THEIRS = sorted(CORPUS.glob("*.pt.trace.json*")) if CORPUS.is_dir() else []
CHOSEN = (OURS, CORPUS / "kineto_2021.pt.trace.json.gz")
"""Ours, and the one of the oldest PyTorch."""
Case = tuple[trace_reader.Event, Query]


@pytest.fixture(
    scope="module",
    params=slow_but(CHOSEN, [OURS, *THEIRS], "every stranger's trace"),
    ids=lambda path: path.name.partition(".")[0],
)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    path: Path = request.param
    folder = tmp_path_factory.mktemp("trace")
    inbox = folder / "inbox"
    inbox.mkdir()
    (inbox / path.name).write_bytes(path.read_bytes())
    return trace_reader.read(path), converted(run_ingest, inbox, Library(folder / "library"), path.name)


def counted(query: Query, sql: str) -> Counter[tuple[Any, ...]]:
    return Counter(query(sql))


def test_every_event_is_there(case: Case) -> None:
    trace, query = case
    named = "SELECT {}, start_ns, end_ns FROM {} JOIN {}"
    assert counted(
        query, named.format("coalesce(mangled, demangled)", "kernel", "kernel_name USING (name_id)")
    ) == trace_reader.spans(trace, "kernel")
    assert counted(query, named.format("value", "api_call", "string ON string_id = name_id")) == trace_reader.spans(
        trace, "call"
    )
    assert counted(query, named.format("value", "python_call", "string ON string_id = name_id")) == trace_reader.spans(
        trace, "python"
    )
    assert counted(
        query, named.format("text", "range", "range_name USING (name_id)") + " WHERE domain IS DISTINCT FROM 'module'"
    ) == trace_reader.spans(trace, "operator", "annotation")
    modules = {span: n for span, n in trace_reader.spans(trace, "python").items() if span[0].startswith("nn.Module: ")}
    assert (
        counted(query, named.format("text", "range", "range_name USING (name_id)") + " WHERE domain = 'module'")
        == modules
    )
    copies = Counter(
        (start, end) for (_, start, end), n in trace_reader.spans(trace, "memcpy", "memset").items() for _ in range(n)
    )
    assert counted(query, "SELECT start_ns, end_ns FROM memop") == copies


def test_sums_by_operator(case: Case) -> None:
    """CPU time by name, and kernels by the operator that launched them; NCCL's annotation lies inside its operator."""
    trace, query = case
    zero = trace_reader.begin(trace)
    operators: dict[int, tuple[str, int, int]] = {}
    total: Counter[str] = Counter()
    for event in trace_reader.of_kind(trace, "operator"):
        start = trace_reader.ns(event["ts"]) - zero
        operators[event["args"].get("External id")] = (event["name"], start, start + trace_reader.ns(event["dur"]))
        total[event["name"]] += trace_reader.ns(event["dur"])
    assert dict(
        query("""
        SELECT text, sum(end_ns - start_ns)::BIGINT FROM range JOIN operator USING (range_id)
        JOIN range_name USING (name_id) GROUP BY 1
    """)
    ) == dict(total)
    wanted: dict[tuple[str, int, int], int] = defaultdict(int)
    for event in trace_reader.of_kind(trace, "kernel"):
        one = event["args"]
        if (found := operators.get(one.get("External id", one.get("external id")))) and found[
            0
        ] != "record_param_comms":
            wanted[found] += trace_reader.ns(event["dur"])
    calls = trace_reader.launched_by(trace)
    unlaunched = [e for e in trace_reader.of_kind(trace, "kernel") if e["args"].get("correlation") not in calls]
    got = {
        tuple(row[:3]): row[3]
        for row in query("""
            SELECT text, range.start_ns, range.end_ns, sum(kernel.end_ns - kernel.start_ns)::BIGINT FROM kernel
            JOIN range ON range.pre = thread_range JOIN operator USING (range_id)
            JOIN range_name ON range_name.name_id = range.name_id
            WHERE text <> 'record_param_comms' GROUP BY ALL
        """)
    }
    assert query("SELECT count(*) FROM kernel WHERE call_id IS NULL") == [(len(unlaunched),)]
    if not unlaunched:
        assert {key: ns for key, ns in got.items() if key in wanted} == dict(wanted)


def test_backward_operators_know_their_forward_ones(case: Case) -> None:
    """The profiler's arrows agree with the sequence numbers."""
    trace, query = case
    zero = trace_reader.begin(trace)
    arrows: dict[Any, dict[str, tuple[Any, int]]] = defaultdict(dict)
    for event in trace["traceEvents"]:
        if event.get("cat") == "fwdbwd":
            arrows[event["id"]][event["ph"]] = (event["tid"], trace_reader.ns(event["ts"]) - zero)
    pairs = {(a["s"][1], a["f"][1]) for a in arrows.values() if len(a) == 2}
    known = set(
        query("""
        SELECT f.start_ns, b.start_ns FROM operator JOIN range AS b USING (range_id)
        JOIN range AS f ON f.range_id = forward_range_id
    """)
    )
    assert pairs <= known
    assert query("SELECT count(*) FROM operator WHERE forward_thread > 0 AND forward_range_id IS NULL") == [(0,)]


def test_memory_and_steps(case: Case) -> None:
    trace, query = case
    zero = trace_reader.begin(trace)
    events = [e for e in trace["traceEvents"] if e.get("name") == "[memory]"]
    wanted = Counter(
        (trace_reader.ns(e["ts"]) - zero, e["args"]["Bytes"], e["args"]["Total Allocated"], e["args"]["Addr"])
        for e in events
    )
    assert counted(query, "SELECT time_ns, bytes, allocated_bytes, address FROM tensor_event") == wanted
    for step in trace_reader.of_kind(trace, "annotation"):
        name, start = step["name"], trace_reader.ns(step["ts"]) - zero
        if name.startswith(("step_", "ProfilerStep#")):
            end = start + trace_reader.ns(step["dur"])
            calls = trace_reader.launched_by(trace, step["pid"])
            inside = {
                number for number, call in calls.items()
                if start <= (begun := trace_reader.ns(call["ts"]) - zero)
                and begun + trace_reader.ns(call["dur"]) <= end
            }  # fmt: skip
            kernels = [e for e in trace_reader.of_kind(trace, "kernel") if e["args"].get("correlation") in inside]
            got = query(f"""
                SELECT coalesce(sum(kernel_ns), 0)::BIGINT FROM projection JOIN range USING (range_id)
                JOIN range_name USING (name_id)
                WHERE mode = 'process' AND text = '{name}' AND range.start_ns = {start}
            """)
            assert got == [(sum(trace_reader.ns(e["dur"]) for e in kernels),)], name

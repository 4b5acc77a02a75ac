"""proton profiles read by the real worker: ours against a second computation, made-up ones, and hostile ones."""

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import ROOT, Ingest
from tests.support.bounded_conversion import Take, converted, notes
from tests.support.dropped_files import job_of
from tests.support.every_report import slow_but

OURS = ROOT / "tests" / "data" / "proton" / "run.hatchet.gz"
"""Five steps on an H100, each with a product in a scope that states FLOPs and a kernel in one that states bytes."""


def node(name: str, *inside: dict[str, Any], **metrics: Any) -> dict[str, Any]:
    told = {key.replace("time_ns", "time (ns)"): value for key, value in metrics.items()}
    return {"children": list(inside), "frame": {"name": name, "type": "function"}, "metrics": told}


def kernel(name: str, calls: Any, ns: Any, device: str = "0") -> dict[str, Any]:
    return node(name, count=calls, time_ns=ns, device_id=device, device_type="CUDA")


def profile() -> str:
    root = node(
        "ROOT",
        node("step", node("matmul", kernel("gemm", 3, 600), flops=9e6, bytes=3000), kernel("add", 2, 100)),
        kernel("gemm", 1, 300),
        node("host only", node("inner", **{"cpu_time (ns)": 50})),
        count=0, flops=0, time_ns=0,
    )  # fmt: skip
    gpu = {"arch": "90", "bus_width": 5120, "clock_rate": 1980000, "memory_clock_rate": 2619000, "num_sms": 132}
    return json.dumps([root, {"CUDA": {"0": gpu}}])


def test_a_profile(take: Take, empty_library: Library) -> None:
    query = take("run.hatchet", profile().encode())
    assert query("SELECT level, name, calls, total_ns, flops, bytes, metrics_json FROM path_sum ORDER BY path_id") == [
        (0, "step", None, None, None, None, None), (1, "matmul", None, None, 9e6, 3000.0, None),
        (2, "gemm", 3, 600, None, None, None), (1, "add", 2, 100, None, None, None),
        (0, "gemm", 1, 300, None, None, None), (0, "host only", None, None, None, None, None),
        (1, "inner", None, None, None, None, '{"cpu_time (ns)": 50}'),
    ]  # fmt: skip
    facts = "compute_capability, sm_count, clock_hz, memory_bandwidth_bytes_per_s"
    assert query(f"SELECT {facts} FROM gpu") == [("9.0", 132, 1_980_000_000, 3_352_320_000_000)]
    assert query("SELECT kind, duration_ns FROM report") == [("proton", None)]
    assert query("SELECT (SELECT count(*) FROM kernel), (SELECT count(*) FROM range)") == [(0, 0)]
    assert notes(query) == [
        "proton sums launches by call path: when each of them ran is not in the file, nor how much they vary."
    ]
    report = empty_library.find("run.hatchet").id
    kernels = analysis.run(empty_library, report, "path_kernels")
    assert kernels[["name", "class", "calls", "total_ns", "avg_ns", "paths"]].values.tolist() == [
        ["gemm", "matmul", 4, 900, 225.0, 2], ["add", "elementwise", 2, 100, 50.0, 1],
    ]  # fmt: skip
    tree = analysis.run(empty_library, report, "path_tree").set_index("node_id")
    assert tree["total_ns"].dropna().to_dict() == {1: 700, 2: 600, 3: 600, 4: 100, 5: 300}
    assert tree.loc[2, "flops_per_s"] == pytest.approx(9e6 / 600e-9)
    assert tree.loc[2, "bytes_per_s"] == pytest.approx(3000 / 600e-9)
    assert tree["flops_per_s"].notna().sum() == 1, "the step's own rate is not stated: it has another kernel"
    assert tree.loc[6, ["calls", "total_ns", "share_pct"]].isna().all(), "no figure is no zero"


def test_ours_equals_a_second_computation(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """Kernels by name, and each path with everything below it."""
    shutil.copy(OURS, inbox)
    converted(ingest, inbox, empty_library, OURS.name)
    report = empty_library.find(OURS.name).id
    calls, times = Counter[str](), Counter[str]()
    paths: list[tuple[str, int, float]] = []

    def walk(one: dict[str, Any]) -> tuple[int, float]:
        name, own = one["frame"]["name"], one["metrics"]
        place = len(paths)
        paths.append((name, 0, 0.0))
        if "count" in own:
            calls[name] += own["count"]
            times[name] += own["time (ns)"]
        below = [walk(child) for child in one["children"]]
        ns, flops = own.get("time (ns)", 0) + sum(b[0] for b in below), own.get("flops", 0) + sum(b[1] for b in below)
        paths[place] = (name, ns, flops)
        return ns, flops

    for child in json.loads(gzip.decompress(OURS.read_bytes()))[0]["children"]:
        walk(child)
    told = analysis.run(empty_library, report, "path_kernels")
    assert dict(zip(told["demangled"], told["calls"], strict=True)) == calls
    assert dict(zip(told["demangled"], told["total_ns"], strict=True)) == times
    tree = analysis.run(empty_library, report, "path_tree")
    assert [
        (row["name"], row["total_ns"], 0.0 if row["flops"] != row["flops"] else row["flops"])
        for row in tree.to_dict("records")
    ] == paths


@pytest.mark.parametrize("at", slow_but([60, 300], [60, 200, 300, 500, -2], "takes a cut profile in"))
def test_a_cut_profile_is_read_as_far_as_it_goes(ingest: Ingest, inbox: Path, empty_library: Library, at: int) -> None:
    (inbox / "cut.hatchet").write_text(profile()[:at])
    ingest(inbox, empty_library.folder)
    job = job_of(empty_library, inbox / "cut.hatchet")
    if job.state == "failed":
        assert "cut off" in job.message
        assert job.hint
    else:
        with empty_library.cursor(empty_library.find("cut.hatchet").id) as cursor:
            texts = [text for (text,) in cursor.execute("SELECT text FROM diagnostic").fetchall()]
        assert any(text.startswith("The profile is cut off.") for text in texts)


ODD: list[Any] = [-1, 1 << 70, 1.5, "x", None, True, [], {}, float("inf"), float("nan"), "9" * 5000]


def test_odd_figures_and_names_are_left_out(take: Take) -> None:
    odd = [kernel("odd", one, one, one) for one in ODD]
    odd += [{"frame": one, "metrics": one, "children": []} for one in ODD]
    evil = kernel("'); DROP TABLE path_sum; --\0<script>", 1, 5)
    tree = [node("ROOT", kernel("gemm", 1, 7), evil, *odd), {"CUDA": {"x": {}, "0": [], "1": {}}}, {}]
    query = take("run.hatchet", json.dumps(tree).encode())
    assert query("SELECT calls, total_ns FROM path_sum WHERE name = 'gemm'") == [(1, 7)]
    assert query("SELECT name FROM path_sum WHERE total_ns = 5") == [("'); DROP TABLE path_sum; -- <script>",)]
    assert query("SELECT count(*) FROM path_sum WHERE total_ns < 0 OR calls < 0") == [(0,)]
    assert any("impossible figures excluded" in note for note in notes(query))


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "deep": lambda start: start[: start.index(b'{"children": [{"children": [], ')] + b'{"children": [' * 300_000,
    "spaces": lambda start: gzip.compress(start + b" " * (200 << 20), 1),
    "long": lambda start: start[:-1] + b', "x": "' + b"y" * (40 << 20),
    "wide": lambda start: start + b', {"children": [' + b'{"children":[]},' * 100_000,
    "wider": lambda start: start + b', {"children": [' + b'{"children":[]},' * 1_000_000,
}


@pytest.mark.parametrize("name", slow_but(BOMBS.keys() - {"wider"}, BOMBS, "a million call paths"))
def test_bombs_end_in_a_sentence(ingest: Ingest, inbox: Path, empty_library: Library, name: str) -> None:
    path = inbox / f"{name}.hatchet"
    path.write_bytes(BOMBS[name](profile()[:-1].encode()))
    done = ingest(inbox, empty_library.folder)
    assert done.cpu_s < 40
    job = job_of(empty_library, path)
    assert job.state == "ready" or (job.state == "failed" and job.message), job
    assert "ended without a result" not in (job.message or "")

"""Operators: by hand, against torch.profiler's own averages of the same trace, and against a second computation."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch

from profiledb.library.library import Library
from profiledb.query.analysis import run
from tests.conftest import CORPUS, ROOT, SAMPLES, Once, ingest_files
from tests.support import made_traces, operator_oracle, trace_reader
from tests.support.every_report import slow_but
from tests.support.made_traces import PRODUCT, launch, operator, python

CONVOLUTIONS = ROOT / "tests/data/torch/convolutions.pt.trace.json.gz"
AVERAGES = CONVOLUTIONS.with_name("convolutions.key_averages.json.gz")
FILES = [
    CONVOLUTIONS,
    *sorted(SAMPLES.glob("torch/*.pt.trace.json.gz")),
    *(path for path in sorted(CORPUS.glob("*.pt.trace.json*")) if "event_sync" not in path.name),
]
SOME = [CONVOLUTIONS, *SAMPLES.glob("torch/torch_training*")]
"""Convolutions, and a training with modules and ranges."""
FIGURES = ["calls", "host_ns", "host_self_ns", "device_ns", "device_self_ns"]


def taken_in(once: Once, path: Path) -> tuple[Library, str]:
    """A library of a trace, and the id of its report."""
    library = Library(once(f"operators of {path.name}", lambda folder: ingest_files(folder, [path])) / "library")
    return library, library.list()[0].id


def by_name(library: Library, report: str) -> dict[str, tuple[int, ...]]:
    rows = run(library, report, "operators")
    return dict(zip(rows["operator"], map(tuple, rows[FIGURES].astype(int).to_numpy()), strict=True))


def by_shape(library: Library, report: str) -> dict[tuple[str, str | None], tuple[int, ...]]:
    """Times by name and sizes, of all types together."""
    rows = run(library, report, "operator_shapes")
    found: dict[tuple[str, str | None], list[int]] = defaultdict(lambda: [0] * 5)
    for name, dims, figures in zip(rows["operator"], rows["dims"], rows[FIGURES].astype(int).to_numpy(), strict=True):
        key = (name, json.dumps(json.loads(dims)) if isinstance(dims, str) else None)
        found[key] = [one + more for one, more in zip(found[key], figures, strict=True)]
    return {key: tuple(map(int, figures)) for key, figures in found.items()}


@pytest.mark.parametrize("path", slow_but(SOME[1:], FILES, "every trace"), ids=lambda path: path.name)
def test_times_are_those_of_the_second_computation(once: Once, path: Path) -> None:
    names, shapes = operator_oracle.averages(trace_reader.read(path))
    library, report = taken_in(once, path)
    if not names:
        assert not library.find(report).rows.get("operator")
        return
    assert by_name(library, report) == names
    assert by_shape(library, report) == shapes


def test_times_are_those_of_key_averages(once: Once) -> None:
    """On a GPU, equal to the ns, except for torch's own overhead, whose thread no trace tells."""
    told = json.loads(gzip.decompress(AVERAGES.read_bytes()))
    library, report = taken_in(once, CONVOLUTIONS)
    overhead = {row["key"]: row for row in told["by_operator"] if row["key"] in ("Activity Buffer Request",
                                                                                "Lazy Function Loading")}  # fmt: skip
    found, other = by_name(library, report), {}
    for row in told["by_operator"]:
        if row["key"] in found:
            wanted = tuple(row[key] for key in ("count", "cpu_ns", "self_cpu_ns", "device_ns", "self_device_ns"))
            if found[row["key"]] != wanted:
                other[row["key"]] = tuple(mine - its for mine, its in zip(found[row["key"]], wanted, strict=True))
    assert set(found) <= {row["key"] for row in told["by_operator"]}
    # One of two buffer requests lay in aten::copy_, one loading in aten::_foreach_mul_; torch also credits each with
    # the kernels of the operator that happens to have its number.
    request, loading = (overhead[name]["device_ns"] for name in ("Activity Buffer Request", "Lazy Function Loading"))
    assert other == {
        "aten::to": (0, 0, 0, -request, 0), "aten::_to_copy": (0, 0, 0, -request, 0),
        "aten::copy_": (0, 0, 2_850_724, -request, 0), "aten::_foreach_mul_": (0, 0, 0, -loading, 0),
    }  # fmt: skip
    mine = by_shape(library, report)
    shaped = {(row["key"], json.dumps(row["shapes"])): row for row in told["by_shape"] if row["key"] not in other}
    plain = {key: figures for key, figures in mine.items() if (key[0], key[1] or "[]") in shaped}
    assert len(plain) > 100
    for (name, dims), figures in plain.items():
        row = shaped[name, dims or "[]"]
        assert figures == tuple(row[key] for key in ("count", "cpu_ns", "self_cpu_ns", "device_ns", "self_device_ns"))
    flops = {row["key"]: row["flops"] for row in told["by_operator"] if row["flops"]}
    ours = run(library, report, "operators").set_index("operator")["flops"]
    assert (ours["aten::mm"], ours["aten::addmm"]) == (flops["aten::mm"], flops["aten::addmm"])
    assert ours["aten::cudnn_convolution"] == flops["aten::conv2d"]


@pytest.mark.slow("runs a model under the profiler of PyTorch")
def test_a_live_profile_on_the_cpu(tmp_path: Path) -> None:
    """torch.profiler's averages with stacks, whose Python functions also take time off operators."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.Flatten(), torch.nn.Linear(392, 5))
    with torch.profiler.profile(record_shapes=True, with_stack=True, with_modules=True, with_flops=True) as profiler:
        for _ in range(2):
            model(torch.rand(4, 3, 16, 16)).square().mean().backward()
    path = tmp_path / "live.pt.trace.json"
    profiler.export_chrome_trace(str(path))
    ingest_files(tmp_path / "data", [path])
    library = Library(tmp_path / "data" / "library")
    report = library.list()[0].id
    mine = by_name(library, report)
    assert mine == {
        one.key: (one.count, round(one.cpu_time_total * 1000), round(one.self_cpu_time_total * 1000), 0, 0)
        for one in profiler.key_averages()
        if one.key in mine
    }
    modules = run(library, report, "operator_modules").set_index("path")
    assert list(modules.index) == [f"Sequential_0{rest}" for rest in ("", "/Conv2d_0", "/Flatten_0", "/Linear_0")]
    assert list(modules["calls"]) == [2, 2, 2, 2]
    assert (modules["backward_host_ns"] > 0).all()
    lines = run(library, report, "operator_lines")
    assert any("test_a_live_profile_on_the_cpu" in str(line) for line in lines["line"])


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> tuple[Library, str]:
    """A linear layer forward and backward, an operator that calls itself, a kernel of no operator."""
    return made_traces.taken_in(tmp_path_factory.mktemp("by hand"), made_traces.linear_layer())


def test_times_by_hand(by_hand: tuple[Library, str]) -> None:
    microseconds = {
        "aten::linear": (1, 50, 20, 40, 0), "aten::addmm": (1, 30, 29, 40, 40), "aten::add": (1, 8, 7, 5, 5),
        "autograd::engine::evaluate_function: AddmmBackward0": (1, 40, 4, 50, 0),
        "AddmmBackward0": (1, 36, 16, 50, 0), "aten::mm": (2, 20, 18, 50, 50),
    }  # fmt: skip
    wanted = {name: (calls, *(1000 * us for us in rest)) for name, (calls, *rest) in microseconds.items()}
    assert by_name(*by_hand) == wanted
    facts = run(*by_hand, "operator_facts").iloc[0]
    assert (facts["device_ns"], facts["outside_ns"], facts["host_ns"]) == (95_000, 10_000, 98_000)


def test_work_by_hand(by_hand: tuple[Library, str]) -> None:
    rows = run(*by_hand, "operators").set_index("operator")
    product = 2 * 128 * 64 * 32
    assert rows["flops"].dropna().to_dict() == {"aten::addmm": product, "aten::mm": 2 * product}
    least: Any = rows.loc["aten::mm", "least_bytes"]
    assert rows.loc["aten::mm", "flops_per_s"] == pytest.approx(2 * product / 50e-6)
    assert least == 2 * 2 * (128 * 64 + 64 * 32 + 128 * 32)
    roof = run(*by_hand, "operator_roofline").set_index("operator").loc["aten::mm"]
    assert (roof["precision"], roof["bound"], roof["verdict"]) == ("bf16", "memory", "not measured")
    assert roof["intensity"] == pytest.approx(2 * product / least)
    assert roof["pct_of_roof"] == pytest.approx(100 * 2 * product / 50e-6 / (roof["intensity"] * 4.8e12))


def test_an_operator_near_its_roof_has_a_verdict(tmp_path: Path) -> None:
    """1.1 TFLOP in 1.4 ms on a GPU with 990 TFLOP/s; 134 MB in 35 us at 4.8 TB/s; the same in ten times as long."""
    wide, thin = [[8192, 8192], [8192, 8192]], [[8192, 8192], [8192, 1]]
    calls = [(1, wide, (100, 1_500)), (2, thin, (2_000, 2_035)), (3, [[1, 8192], [8192, 8192]], (3_000, 3_350))]
    events = [
        one
        for number, dims, times in calls
        for one in (
            operator("aten::mm", 20 * number, 20 * number + 9, External_id=number, **PRODUCT | {"Input_Dims": dims}),
            *launch(number, 20 * number + 2, times),
        )
    ]
    rows = run(*made_traces.taken_in(tmp_path, events), "operator_roofline").set_index("shape")
    assert rows["verdict"].to_dict() == {
        "8192×8192, 8192×8192": "compute bound", "8192×8192, 8192×1": "memory bound",
        "1×8192, 8192×8192": "not measured",
    }  # fmt: skip
    assert "% of the memory roof of the model" in str(rows.loc["8192×8192, 8192×1", "reason"])


def test_modules_by_hand(by_hand: tuple[Library, str]) -> None:
    (row,) = run(*by_hand, "operator_modules").to_dict("records")
    assert (row["path"], row["calls"], row["level"]) == ("Linear_0", 1, 0)
    assert (row["forward_device_ns"], row["backward_device_ns"], row["device_self_ns"]) == (40_000, 50_000, 90_000)
    assert (row["forward_host_ns"], row["backward_host_ns"]) == (52_000, 40_000)
    assert row["flops"] == 3 * 2 * 128 * 64 * 32
    assert row["share_pct"] == pytest.approx(100 * 90 / 105)


def test_lines_by_hand(by_hand: tuple[Library, str]) -> None:
    (row,) = run(*by_hand, "operator_lines").to_dict("records")
    assert (row["line"], row["calls"]) == ("train.py(5): main", 2)
    assert (row["forward_device_ns"], row["backward_device_ns"]) == (45_000, 50_000)
    assert (row["host_ns"], row["backward_host_ns"]) == (58_000, 40_000)
    assert row["operators"] == "aten::linear, aten::add"


def test_a_selection(by_hand: tuple[Library, str]) -> None:
    """A stretch of time includes the operators and the kernels that start in it."""
    library, report = by_hand
    rows = run(library, report, "operators", {"from_ns": 115_000, "to_ns": 270_000}).set_index("operator")
    figures: dict[str, tuple[Any, ...]] = {
        str(name): tuple(row[["calls", "host_ns", "device_ns"]]) for name, row in rows.iterrows()
    }
    assert figures["aten::mm"] == (2, 20_000, 30_000)
    assert figures["aten::addmm"] == (0, 0, 40_000)
    assert "aten::add" in figures
    inside = run(library, report, "operators", {"range": "step", "mode": "thread"}).set_index("operator")
    assert set(inside.index) == {"aten::linear", "aten::addmm", "aten::add"}


def test_nothing_of_it_is_trusted(tmp_path: Path) -> None:
    """Odd sizes, types and names give no figure, no error, and bounded texts."""
    odd = [
        [[-1, 4], [4, 4]],
        [[1 << 62, 1 << 62], [1 << 62, 1 << 62]],
        ["x", [4, 4]],
        [[4, 4]],
        "no list",
        [[2] * 400] * 9,
    ]
    events = [
        operator(
            "aten::mm", 10 * place, 10 * place + 5, Input_Dims=dims, Input_type=["float", "float"], Input_Strides="[[1",
            Concrete_Inputs={"a": 1}, Call_stack="a;b" * 50,
        )
        for place, dims in enumerate(odd)
    ]  # fmt: skip
    events += [
        operator(
            "aten::convolution",
            100,
            110,
            Input_Dims=[[1, 2, 3, 4], [5, 6, 7, 8]],
            Concrete_Inputs=["", "", "", "[9999999999999]", "[[1]]", "x"],
        )
    ]
    events += [operator("<b>nn.Module: x_1</b>'\"" + "y" * 9000, 120, 130, Input_Dims=[[2, 2]], Input_type=5)]
    library, report = made_traces.taken_in(tmp_path, events)
    rows = run(library, report, "operator_shapes")
    assert len(rows) == len(events)
    assert rows["flops"].isna().all()
    assert rows["shape"].dropna().str.len().max() <= 300
    for name in ("operators", "operator_facts", "operator_lines", "operator_roofline"):
        run(library, report, name)


def test_what_nests_without_end_is_bounded(tmp_path: Path) -> None:
    """A thousand nested operators of one name, in a thousand modules: the work does not grow with their square."""
    deep = [operator("deep", 10_000 + n, 90_000 - n) for n in range(1000)]
    deep += [python(f"nn.Module: M_{n}", n + 1, n or None, n, 100_000 - n, Python_module_id=n) for n in range(1000)]
    library, report = made_traces.taken_in(tmp_path, [*deep, *launch(1, 40_000, (100_000, 100_010))])
    (row,) = run(library, report, "operators").to_dict("records")
    assert (row["device_self_ns"], 1 < row["calls"] < 1000) == (10_000, True)
    modules = run(library, report, "operator_modules")
    assert (len(modules), set(modules["device_ns"])) == (32, {10_000})
    assert run(library, report, "operator_lines")["line"].isna().all()

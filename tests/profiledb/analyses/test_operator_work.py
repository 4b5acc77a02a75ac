"""FLOPs of operators against torch.utils.flop_counter, and the positions of their inputs against PyTorch's schemas."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import flop_counter

from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.query.analysis import run
from tests.conftest import ingest_files
from tests.support import made_traces
from tests.support.made_traces import operator

ATEN = torch.ops.aten
QKV = ([2, 8, 128, 64], [2, 8, 96, 64], [2, 8, 96, 32])
OUT = [2, 8, 128, 32]


def attention(name: str, causal: bool, *before: Any) -> tuple[str, list[Any], list[str]]:
    """Sizes and values of an attention operator, with the values at the places that its schema has them at."""
    places = {argument.name: place for place, argument in enumerate(getattr(ATEN, name).default._schema.arguments)}
    sizes: list[Any] = [[] for _ in places]
    values = [""] * len(places)
    for key, size in zip(("query", "key", "value"), QKV, strict=True):
        sizes[places[key]] = [size[0], size[2], size[1], size[3]] if name.startswith(FLAT) else list(size)
    for key in ("grad_out", "grad_out_", "out"):
        if key in places:
            sizes[places[key]] = OUT
    if "custom_mask_type" in places:
        values[places["custom_mask_type"]] = "1" if causal else "0"
    else:
        values[places["is_causal"]] = str(causal)
    return name, sizes, values


FLAT = ("_flash", "_efficient")
FORWARD = flop_counter.sdpa_flop_count(*QKV)  # type: ignore[no-untyped-call]
BACKWARD = flop_counter.sdpa_backward_flop_count(OUT, *QKV)  # type: ignore[no-untyped-call]
KINDS = ("_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
         "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention_for_cpu",
         "scaled_dot_product_attention", "_flash_attention_forward", "_efficient_attention_forward")  # fmt: skip
OF_BACKWARD = ("_scaled_dot_product_flash_attention_backward", "_scaled_dot_product_efficient_attention_backward",
             "_scaled_dot_product_cudnn_attention_backward", "_scaled_dot_product_flash_attention_for_cpu_backward",
             "_flash_attention_backward", "_efficient_attention_backward")  # fmt: skip


def test_attention_of_every_kind(tmp_path: Path) -> None:
    """PyTorch's formula; half of it for causal attention, which PyTorch ignores."""
    cases = [attention(name, causal) for name in (*KINDS, *OF_BACKWARD) for causal in (False, True)]
    events = [
        operator(
            f"aten::{name}", 10 * place, 10 * place + 5, Input_Dims=sizes, Concrete_Inputs=values,
            Input_type=["c10::Half" if size else "" for size in sizes],
        )
        for place, (name, sizes, values) in enumerate(cases)
    ]  # fmt: skip
    library, report = made_traces.taken_in(tmp_path, events)
    rows = run(library, report, "operators").set_index("operator")["flops"]
    for name in KINDS:
        assert (name, rows[f"aten::{name}"]) == (name, 1.5 * FORWARD)
    for name in OF_BACKWARD:
        assert (name, rows[f"aten::{name}"]) == (name, 1.5 * BACKWARD)


CONVOLUTION = torch.nn.functional.conv2d


def work() -> None:
    """Products, convolutions and attention of many shapes, most of them forward and backward."""
    grad: dict[str, Any] = {"requires_grad": True}
    a, b, c = torch.rand(6, 7, **grad), torch.rand(7, 5, **grad), torch.rand(4, 6, 7, **grad)
    for out in (
        a @ b, torch.addmm(torch.rand(5), a, b), torch.bmm(c, torch.rand(4, 7, 3)), c @ b, a @ torch.rand(7),
        torch.baddbmm(torch.rand(4, 6, 3), c, torch.rand(4, 7, 3)), torch.nn.functional.linear(c, torch.rand(9, 7)),
        torch.einsum("bij,kj->bik", c, torch.rand(2, 7)), torch.rand(2, 4, 6, 7) @ torch.rand(4, 7, 3),
    ):  # fmt: skip
        if out.requires_grad:
            torch.autograd.backward(out.sum())
    image = torch.rand(2, 4, 12, 11, **grad)
    convolve = torch.nn.functional
    for out in (
        CONVOLUTION(image, torch.rand(8, 4, 3, 3, **grad), stride=2, padding=1),
        CONVOLUTION(image.detach(), torch.rand(6, 4, 3, 2, **grad), dilation=(2, 3), padding=(0, 2)),
        convolve.conv1d(torch.rand(2, 4, 20, **grad), torch.rand(6, 4, 5), stride=3),
        convolve.conv3d(torch.rand(1, 2, 6, 7, 8, **grad), torch.rand(3, 2, 2, 3, 2, **grad)),
        convolve.conv_transpose2d(image, torch.rand(4, 6, 3, 3, **grad), stride=2, output_padding=1),
    ):
        torch.autograd.backward(out.sum())


@pytest.mark.slow("runs and traces operators of PyTorch")
def test_flop_counter_mode_counts_the_same(tmp_path: Path) -> None:
    """All FLOPs of a live run on the CPU, forward and backward: none twice, none missing."""
    counter = flop_counter.FlopCounterMode(display=False)
    torch.manual_seed(1)
    with counter:
        work()
    with torch.profiler.profile(record_shapes=True) as profiler:
        work()
    path = tmp_path / "work.pt.trace.json"
    profiler.export_chrome_trace(str(path))
    ingest_files(tmp_path / "data", [path])
    library = Library(tmp_path / "data" / "library")
    rows = run(library, library.list()[0].id, "operators").set_index("operator")["flops"].dropna()
    wanted = {str(op).rpartition(".")[2]: flops for op, flops in counter.get_flop_counts()["Global"].items()}
    for name in ("mm", "addmm", "bmm", "baddbmm", "convolution_backward"):
        assert (name, rows[f"aten::{name}"]) == (name, wanted[name])
    forward = {name: flops for name, flops in rows.items() if "conv" in str(name) and "backward" not in str(name)}
    assert sum(forward.values()) == wanted["convolution"]
    assert rows.drop("aten::mv", errors="ignore").sum() == counter.get_total_flops()


def test_groups_count_once(tmp_path: Path) -> None:
    """FlopCounterMode counts the weight gradient of a grouped convolution once per group."""
    values = ["", "", "", "[1]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "4", "[False, True, False]"]
    sizes = [[2, 8, 10, 10], [2, 4, 10, 10], [8, 1, 3, 3], *[[]] * 8]
    library, report = made_traces.taken_in(tmp_path, [
        operator("aten::convolution_backward", 0, 5, Input_Dims=sizes, Concrete_Inputs=values, Input_type=["float"] * 3)
    ])  # fmt: skip
    assert run(library, report, "operators")["flops"].item() == 2 * 2 * 10 * 10 * 8 * 1 * 3 * 3


@pytest.mark.parametrize(
    ("name", "sizes", "types", "wanted"),
    [
        ("add", [[4, 6], [6]], ["float", "float"], 4 * (24 + 6 + 24)),
        ("mul", [[4, 6], []], ["c10::BFloat16", "double"], 2 * (24 + 24) + 8),
        ("add_", [[4, 6], [4, 6]], ["float", "c10::Half"], 4 * 24 + 2 * 24 + 4 * 24),
        ("copy_", [[4, 6], [4, 6]], ["float", "c10::Half"], 6 * 24), ("fill_", [[4, 6]], ["bool"], 24),
        ("sum", [[4, 6]], ["long int"], 8 * 24), ("_softmax", [[4, 6]], ["float"], 8 * 24),
    ],
)  # fmt: skip
def test_least_bytes(made: Any, name: str, sizes: Any, types: list[str], wanted: int) -> None:
    assert made[name] == wanted


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Bytes by operator, of a trace with each of these."""
    marks = [mark for mark in test_least_bytes.pytestmark if mark.name == "parametrize"]
    events = [
        operator(f"aten::{name}", 10 * place, 10 * place + 5, Input_Dims=sizes, Input_type=types)
        for place, (name, sizes, types, _) in enumerate(marks[0].args[1])
    ]
    library, report = made_traces.taken_in(tmp_path_factory.mktemp("bytes"), events)
    rows = analysis.run(library, report, "operators")
    return {
        str(name).removeprefix("aten::"): value
        for name, value in zip(rows["operator"], rows["least_bytes"], strict=True)
    }

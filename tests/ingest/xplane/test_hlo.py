"""FLOPs and sizes of HLO operations: small made-up modules, and a stranger's against published figures."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ingest.xplane.hlo import RESULT_LAST, Module
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import CORPUS, Ingest
from tests.support.bounded_conversion import converted
from tests.support.dropped_files import needs_corpus
from tests.support.xspace import BFLOAT, ModuleWriter, PlaneWriter, field, metadata

DOT = field(1, 1)
"""The second axis of the first factor is summed over."""
GEMM = json.dumps({"gemm_backend_config": {"dot_dimension_numbers": {"lhs_contracting_dimensions": ["1"]}}})


def network() -> ModuleWriter:
    """y = x · w as a call of cuBLAS, as a fusion with a dot, and a convolution; and a fusion that reads a slice."""
    module = ModuleWriter()
    a, b = (module.add(1, name, "parameter", sizes, kind=BFLOAT) for name, sizes in (("a", (8, 16)), ("b", (16, 4))))
    module.add(1, "dot.1", "dot", (8, 4), (a, b), BFLOAT, dot_dimension_numbers=DOT)
    part = module.add(2, "c", "parameter", (100,))
    module.add(2, "slice.1", "slice", (10,), (part,))
    x, w, image, filters = (
        module.add(3, name, "parameter", sizes, kind=BFLOAT)
        for name, sizes in (("x", (8, 16)), ("w", (16, 4)), ("image", (2, 3, 10)), ("filters", (5, 3, 4)))
    )
    module.add(3, "gemm_fusion", "fusion", (8, 4), (x, w), BFLOAT, called_computation_ids=1)
    module.add(
        3, "gemm", "custom-call", (8, 4), (x, w), BFLOAT, custom_call_target="__cublas$gemm", backend_config=GEMM
    )
    module.add(3, "part", "fusion", (10,), (x,), called_computation_ids=2)
    module.add(
        3, "conv", "custom-call", (2, 5, 7), (image, filters), BFLOAT, custom_call_target="__cudnn$convForward",
        convolution_dimension_numbers=field(4, 0),
    )  # fmt: skip
    module.add(3, "other", "custom-call", (8, 4), (x,), custom_call_target="my_kernel")
    return module


def test_work_by_hand() -> None:
    module = Module(network().data())
    matmul = {
        "Input Dims": "[[8, 16], [16, 4], [8, 4]]", "Input type": json.dumps(["c10::BFloat16"] * 3),
        "Concrete Inputs": json.dumps([RESULT_LAST]), "flops": 2 * 8 * 4 * 16,
    }  # fmt: skip
    assert module.describe("gemm_fusion") == module.describe("gemm") == matmul
    assert module.describe("conv")["flops"] == 2 * (2 * 5 * 7) * (3 * 4)
    assert [module.describe(name) for name in ("part", "other", "x", "none")] == [{}] * 4
    assert [module.repeats(name) for name in ("gemm_fusion", "gemm", "conv", "none")] == [False, False, True, True]


def hostile() -> list[bytes]:
    """A fusion that calls itself, sizes and axes out of range, odd configurations, bytes that are no module."""
    itself, sizes = ModuleWriter(), ModuleWriter()
    itself.add(1, "gemm", "fusion", (8,), called_computation_ids=1)
    x = sizes.add(1, "x", "parameter", (1 << 62, -1))
    sizes.add(1, "gemm", "dot", (1 << 62,), (x, x, 99), dot_dimension_numbers=field(1, 1 << 40))
    odd = []
    for config in (b"\xff", b"[]", b"[" * 100_000, b'{"gemm_backend_config": 7}', b"{}"):
        module = ModuleWriter()
        y = module.add(1, "y", "parameter", (8, 8))
        module.add(1, "gemm", "custom-call", (8, 8), (y, y), custom_call_target="__cublas$gemm", backend_config=config)
        odd.append(module.data())
    return [itself.data(), sizes.data(), *odd, b"\xff" * 100, network().data()[:50]]


@pytest.mark.parametrize("data", hostile())
def test_hostile_modules_tell_nothing(data: bytes) -> None:
    assert Module(data).describe("gemm") == {}


def profile(calls: int) -> bytes:
    """A matrix product of 300 ns that runs several times in a row."""
    gpu, host = PlaneWriter("/device:GPU:0", core_count=132, memory_bandwidth=1_000_000_000), PlaneWriter("/host:CPU")
    told: dict[str, int | str] = {"hlo_op": "gemm", "hlo_module": "jit_step", "program_id": 7}
    gpu.line(7, "Stream #7", [
        ("gemm_kernel", 1_000_000 * n, 300_000, {"correlation_id": n}) for n in range(1, calls + 1)
    ])  # fmt: skip
    host.line(1, "main", [
        ("cuLaunchKernel", 1_000_000 * n - 500_000, 100_000, {"correlation_id": n, **told}) for n in range(1, calls + 1)
    ])  # fmt: skip
    return metadata({7: network().data()}) + gpu.data() + host.data()


def test_each_execution_is_an_operator(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """The rate is that of three products, and the bytes are those of factors and result."""
    (inbox / "run.xplane.pb").write_bytes(profile(3))
    converted(ingest, inbox, empty_library, "run.xplane.pb")
    report = empty_library.find("run.xplane.pb").id
    (row,) = analysis.run(empty_library, report, "operator_roofline").to_dict("records")
    assert (row["operator"], row["calls"], row["work_ns"], row["precision"]) == ("gemm", 3, 900, "bf16")
    assert row["flops_per_s"] == pytest.approx(2 * 8 * 4 * 16 / 300e-9)
    assert row["intensity"] == pytest.approx(2 * 8 * 4 * 16 / (2 * (8 * 16 + 16 * 4 + 8 * 4)))
    assert row["peak_bytes_per_s"] == 1_000_000_000


@needs_corpus
def test_a_strangers_convolution(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """TraceLens publishes the bytes of these operands in its tests; FLOPs are 2 · output · filter."""
    shutil.copy(CORPUS / "jax_conv_mi300.xplane.pb", inbox)
    query = converted(ingest, inbox, empty_library, "jax_conv_mi300.xplane.pb")
    rows = query("""
        SELECT DISTINCT text, dims.value, flops
        FROM operator JOIN range USING (range_id) JOIN range_name USING (name_id)
        JOIN string AS dims ON dims.string_id = dims_id
    """)
    told: dict[str, tuple[Any, ...]] = {name: (json.loads(dims), flops) for name, dims, flops in rows}
    for name, published in (
        ("loop_transpose_fusion", 655_360), ("input_transpose_fusion.1", 6_389_760),
        ("input_transpose_fusion", 572_026_880),
    ):  # fmt: skip
        size = 2
        for axis in told[name][0][0]:
            size *= axis
        assert size == published
    assert told["cudnn-conv.1"][1] == 2 * (5120 * 34 * 31 * 53) * (16 * 1 * 2 * 2)

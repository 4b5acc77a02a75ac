"""Rules about kernels: on samples against the raw export, and on small captures by hand."""

import re
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from profiledb.findings import sentences
from profiledb.library.library import Library
from tests.support import memory_reports as made
from tests.support.judged_rules import judged, pct, rows, spans, union, window
from tests.support.page_reports import H100, Publish, insert, kernel, name

GRAPH = "launches_graph.nsys-rep"
FIXED = "dataloader_fixed.nsys-rep"
MORE = pytest.mark.slow("judges more captures by hand")
TF32_OF_H200 = 494.7 / (132 * 128 * 2 * 1.98e-3)
"""Peak of TF32 over that of FP32: data sheet, and 132 SMs of 128 FMAs at 1.98 GHz."""

Ran = tuple[int, int, str, str]
"""Begin, end, full name and class of a kernel."""


def named(sample: str) -> list[tuple[Any, ...]]:
    """Begin, end, full name, stream, blocks of the kernels of a sample, in their order."""
    return rows(
        sample,
        """SELECT k.start, k."end", s.value, streamId, gridX * gridY * gridZ FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
        JOIN StringIds AS s ON s.id = demangledName ORDER BY k.start, k.rowid""",
    )


def classes(library: Library, sample: str) -> dict[str, str]:
    """The class of each kernel by its full name: rules build on these, and other tests check them."""
    with library.cursor(library.find(sample).id) as cursor:
        return dict(cursor.execute("SELECT demangled, class FROM kernel_name").fetchall())


@pytest.fixture
def small(publish: Publish) -> Callable[..., str]:
    """Publishes a capture of kernels on one stream of an H200."""

    def small_(*ran: Ran, gpu: dict[str, Any] | None = None, blocks: int = 132) -> str:
        names = list(dict.fromkeys((title, kind) for _, _, title, kind in ran))

        def fill(db: duckdb.DuckDBPyConnection) -> None:
            insert(db, "gpu", [H100 | {"name": "NVIDIA H200", "clock_hz": 1_980_000_000} | (gpu or {})])
            insert(db, "report", [{"kind": "nsys", "start_ns": 0, "stop_ns": 10**6, "duration_ns": 10**6}])
            insert(db, "kernel_name", [name(i, title, kind, title) for i, (title, kind) in enumerate(names)])
            work = [
                kernel(i, names.index((title, kind)), a, b, grid_x=blocks) for i, (a, b, title, kind) in enumerate(ran)
            ]
            insert(db, "kernel", work)
            insert(db, "busy", [{"device_id": 0, "start_ns": a, "end_ns": b} for a, b, _, _ in ran])

        return str(publish(fill))

    return small_


def test_hot_kernel(nsys_samples: Library) -> None:
    found = judged(nsys_samples, "energy.nsys-rep", "hot_kernel")
    total: dict[str, int] = {}
    for start, end, title, *_ in named("energy"):
        total[title] = total.get(title, 0) + end - start
    hottest = max(total, key=lambda title: total[title])
    assert (found.verdict, found.severity, found.facts["kernel"]) == ("fires", "note", hottest)
    assert found.value == pytest.approx(100 * total[hottest] / sum(total.values()))
    assert judged(nsys_samples, "attention.nsys-rep", "hot_kernel").verdict == "clear"
    assert judged(nsys_samples, GRAPH, "hot_kernel").command.startswith("warpdeck profile -- ")


def test_a_kernel_that_is_too_short_is_not_hot(library: Library, small: Callable[..., str]) -> None:
    assert judged(library, small((0, 1999, "short", "other")), "hot_kernel").verdict == "clear"
    assert judged(library, small((0, 2000, "long", "other")), "hot_kernel").verdict == "fires"


RULE = "tensor_cores_unused"


def test_tensor_cores_unused(nsys_samples: Library, library: Library, small: Callable[..., str]) -> None:
    sample = "idle_fixed.nsys-rep"
    found = judged(nsys_samples, sample, "tensor_cores_unused")
    slow = union((a, b) for a, b, title, *_ in named(sample) if "ffma" in title or "simt" in title)
    assert (found.verdict, found.severity, found.cause) == ("fires", "low", "TF32")
    assert found.value == pytest.approx(pct(slow, window(sample)))
    assert found.facts["faster"] == pytest.approx(TF32_OF_H200, rel=1e-3)
    assert found.saving_ns == pytest.approx(slow * (1 - 1 / TF32_OF_H200), rel=1e-3)
    assert judged(nsys_samples, "transformer_steps.nsys-rep", "tensor_cores_unused").verdict == "clear"
    unknown = judged(library, small((0, 90, "my_matmul", "matmul"), (90, 100, "b", "other")), "tensor_cores_unused")
    assert unknown.verdict == "cannot_judge"
    assert "names" in unknown.why
    plain = small((0, 90, "volta_sgemm_128x64_nn", "matmul"), gpu={"compute_capability": "6.1", "name": "P40"})
    assert "no tensor cores" in judged(library, plain, "tensor_cores_unused").why
    double = judged(library, small((0, 64, "volta_dgemm_128x64_nn", "matmul"), (64, 100, "b", "other")), RULE)
    assert (double.verdict, "FP64" in double.why) == ("cannot_judge", True), "64 % of the time is no 0.0 %"
    beside = judged(library, small((0, 64, "dgemm", "matmul"), (64, 100, "ampere_sgemm_128x64_nn", "matmul")), RULE)
    assert (beside.verdict, beside.value) == ("fires", 36)


def test_convolutions_on_cuda_cores(library: Library, small: Callable[..., str]) -> None:
    """Convolutions ignore the precision setting of matrix products; PyTorch allows TF32 for them anyway."""
    title = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nchw_tilesize32x32x8_ffma_cudnn"
    report = small((0, 60, title, "convolution"), (60, 100, "void at::native::add", "elementwise"))
    found = judged(library, report, RULE)
    assert (found.verdict, found.value, found.cause) == ("fires", 60, "convolutions")
    assert sentences.says(found).startswith("Convolutions on CUDA cores in FP32 take 60 ns ")
    first = sentences.fill_advice(found)[0]
    assert "channels_last" in first
    assert "set_float32_matmul_precision" not in first


def test_low_precision_unused(nsys_samples: Library, library: Library, small: Callable[..., str]) -> None:
    found = judged(nsys_samples, FIXED, "low_precision_unused")
    wide = union((a, b) for a, b, title, *_ in named(FIXED) if "tf32" in title)
    assert (found.verdict, found.severity, found.value) == ("fires", "low", 0.0)
    assert found.facts["wide_ns"] == wide
    assert sentences.says(found).endswith(", none in 16 bits or fewer.")
    assert found.saving_ns == wide // 2
    assert judged(nsys_samples, "transformer_steps.nsys-rep", "low_precision_unused").value == 100
    unknown = small((0, 90, "wgmma_kernel", "matmul"), (90, 100, "b", "other"))
    assert judged(library, unknown, "low_precision_unused").verdict == "cannot_judge"
    attention = "fmha_cutlassB_f32_aligned_64x64_k64_sm80(PyTorchMemEffAttention::Params)"
    thrice = small((0, 60, attention, "attention"), (60, 100, "cutlass_80_tensorop_s1688gemm", "matmul"))
    assert judged(library, thrice, "low_precision_unused").saving_ns == 60 * 5 // 6 + 40 // 2, "three products for one"


def test_data_movement(nsys_samples: Library) -> None:
    sample = "transformer_inference.nsys-rep"
    found = judged(nsys_samples, sample, "data_movement")
    kinds = classes(nsys_samples, sample)
    ran = [(a, b, kinds[title] in {"copy", "embedding", "sort"}) for a, b, title, *_ in named(sample)]
    moved = sum(b - a for a, b, moves in ran if moves)
    assert found.verdict == "fires"
    assert found.value == pytest.approx(100 * moved / sum(b - a for a, b, _ in ran))
    assert found.saving_ns == union((a, b) for a, b, moves in ran if moves)
    assert judged(nsys_samples, FIXED, "data_movement").verdict == "clear"
    assert judged(nsys_samples, GRAPH, "data_movement").verdict == "cannot_judge"


@pytest.mark.parametrize(
    ("kernel", "kind", "cause", "advice"),
    [
        pytest.param("CatArrayBatchedCopy", "copy", "concatenation", "preallocated buffer", marks=MORE),
        ("indexFuncLargeIndex<float, ReduceAdd>", "embedding", "atomics", "without atomics"),
    ],
)
def test_kernels_that_join_tensors_or_add_rows(
    library: Library, small: Callable[..., str], kernel: str, kind: str, cause: str, advice: str
) -> None:
    """By hand: two thirds of the kernel time concatenate tensors, or add up rows."""
    found = judged(library, small((0, 20_000, kernel, kind), (20_000, 30_000, "b", "other")), "data_movement")
    assert (found.verdict, found.cause, found.saving_ns) == ("fires", cause, 20_000)
    assert advice in found.rule.advised(found.cause)[0]
    other = small((0, 20_000, "copy_kernel", "copy"), (20_000, 30_000, "b", "other"))
    assert judged(library, other, "data_movement").cause is None


def test_layout_conversions(nsys_samples: Library, library: Library, small: Callable[..., str]) -> None:
    ran = [(a, b, "nchwToNhwc" in name or "nhwcToNchw" in name) for a, b, name, *_ in named(FIXED)]
    converted = union((a, b) for a, b, converts in ran if converts)
    found = judged(nsys_samples, FIXED, "layout_conversions")
    assert (found.verdict, found.saving_ns) == ("fires", converted)
    assert "`Conv1d` has no such format" in found.rule.advised(None, ["PyTorch"])[0]
    assert found.facts["launches"] == sum(converts for *_, converts in ran)
    to_nhwc, back = (f"void cudnn::ops::{name}Kernel<float>(int)" for name in ("nchwToNhwc", "nhwcToNchw"))
    by_hand = small((0, 90, "convolution", "matmul"), (90, 96, to_nhwc, "copy"), (94, 100, back, "copy"))
    found = judged(library, by_hand, "layout_conversions")
    assert (found.verdict, found.value, found.saving_ns) == ("fires", 10, 10)
    assert judged(library, small((0, 100, "permute", "copy")), "layout_conversions").value == 0


def test_small_grids(nsys_samples: Library, library: Library, small: Callable[..., str]) -> None:
    """No available report loses 5 % of its time in small grids: by hand, 33 of 132 SMs for half of the time."""
    found = judged(library, small((0, 10_000, "a", "other"), (19_000, 20_000, "b", "other"), blocks=33), "small_grids")
    assert (found.verdict, found.value, found.saving_ns, found.facts["launches"]) == ("fires", 37.5, 7500, 1)
    assert sentences.says(found).startswith("`a` has fewer blocks than the GPU has SMs (132) in 1 launch, which costs")
    both = judged(library, small((0, 10_000, "a", "other"), (10_000, 20_000, "b", "other"), blocks=33), "small_grids")
    assert sentences.says(both).startswith("2 launches have fewer blocks than the GPU has SMs (132), which costs")
    beside = small((0, 10_000, "a", "other"), (9_000, 20_000, "b", "other"), blocks=33)
    assert judged(library, beside, "small_grids").value == 0  # beside each other they may fill the GPU
    assert not found.rule.is_choice
    closed = "void cudnn::cnn::wgrad2d_grouped_direct_kernel<(bool)0>(T1)"
    of_library = small((0, 10_000, closed, "convolution"), (19_000, 20_000, "b", "other"), blocks=33)
    own = judged(library, of_library, "small_grids")
    assert (own.value, own.rule.is_choice) == (37.5, True), "nobody can give a kernel of cuDNN more blocks"
    assert "100.0 % of it in kernels of cuBLAS and cuDNN" in sentences.strip_sentence(own)
    assert (found.cause, own.cause) == (None, "product")
    assert "split-K" in own.rule.advised(own.cause)[0]
    assert "`torch.compile` replace it" in found.rule.advised(found.cause, ["PyTorch", "eager"])[0]
    spins = small((0, 10_000, "spin_kernel", "other"), (19_000, 20_000, "b", "other"), blocks=33)
    assert judged(library, spins, "small_grids").value == 0, "torch.cuda._sleep passes time, and nothing else"
    assert judged(library, spins, "hot_kernel").facts["kernel"] == "b"
    clear = judged(nsys_samples, FIXED, "small_grids")
    ran = named(FIXED)
    before = after = 0
    lost = 0.0
    for i, (start, end, _, _, blocks) in enumerate(ran):
        after = ran[i + 1][0] if i + 1 < len(ran) else end
        if blocks < 132 and end - start >= 5000 and start >= before and end <= after:
            lost += (end - start) * (1 - blocks / 132)
        before = max(before, end)
    assert clear.verdict == "clear"
    assert clear.value == pytest.approx(pct(lost, window(FIXED)), rel=1e-6)
    unknown = small((0, 10_000, "a", "other"), gpu={"sm_count": None})
    assert judged(library, unknown, "small_grids").verdict == "cannot_judge"


def launched_in_ranges(sample: str) -> list[tuple[Any, ...]]:
    """Begin, end, full name and stream of the kernels of a sample, and the innermost range around each launch."""
    return rows(
        sample,
        """SELECT k.start, k."end", s.value, streamId, (
            SELECT n.rowid FROM NVTX_EVENTS AS n WHERE n.eventType = 59 AND n.globalTid = r.globalTid
                AND n.start <= r.start AND n."end" >= r."end" ORDER BY n.start DESC LIMIT 1
        ) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN StringIds AS s ON s.id = demangledName
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r USING (correlationId) ORDER BY k.start, k.rowid""",
    )


def test_elementwise_chains(nsys_samples: Library) -> None:
    sample = "attention.nsys-rep"
    found = judged(nsys_samples, sample, "elementwise_chains")
    kinds = classes(nsys_samples, sample)
    chains: list[list[tuple[int, int, bool]]] = []
    for_stream: dict[int, tuple[int, bool, int | None]] = {}
    for start, end, title, stream, within in launched_in_ranges(sample):
        computes = kinds[title] == "elementwise"
        fuses = computes or (kinds[title] == "copy" and "elementwise" in title)
        fuses |= kinds[title] == "reduction" and re.search(r"\breduce_kernel\b", title) is not None
        light = fuses and end - start >= 2000
        reached, was_light, was_within = for_stream.get(stream, (0, False, None))
        if light and was_light and within == was_within and start - reached < 5000:
            chains[-1].append((start, end, computes))
        elif light:
            chains.append([(start, end, computes)])
        for_stream[stream] = end, light, within
    several = [one for one in chains if len(one) > 1 and any(computes for *_, computes in one)]
    saved = sum(one[-1][1] - one[0][0] - max(b - a for a, b, _ in one) for one in several)
    assert len({stream for *_, stream, _ in named(sample)}) == 1
    assert found.verdict == "fires"
    assert (found.saving_ns, found.facts["chains"]) == (saved, len(several))
    assert found.value == pytest.approx(pct(saved, window(sample)))
    assert judged(nsys_samples, "idle_fixed.nsys-rep", "elementwise_chains").verdict == "clear"
    assert judged(nsys_samples, "launches_graph_nodes.nsys-rep", "elementwise_chains").verdict == "clear"
    assert judged(nsys_samples, GRAPH, "elementwise_chains").verdict == "cannot_judge"


def test_unfused_attention(nsys_samples: Library) -> None:
    sample = "transformer_inference.nsys-rep"
    found = judged(nsys_samples, sample, "unfused_attention")
    kinds = classes(nsys_samples, sample)
    between: list[tuple[str, int]] | None = None
    total = 0
    for start, end, title, *_ in named(sample):
        if kinds[title] == "matmul":
            inner = {kind for kind, _ in between or []}
            if "softmax" in inner and inner <= {"softmax", "elementwise", "copy", "reduction", "random"}:
                total += sum(ns for _, ns in between or [])
            between = []
        elif between is not None:
            between.append((kinds[title], end - start))
    in_parts = rows(
        sample,
        """SELECT s.value, k."end" - k.start FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
        JOIN StringIds AS s ON s.id = k.demangledName JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r USING (correlationId)
        JOIN NVTX_EVENTS AS n ON n.globalTid = r.globalTid AND n.start <= r.start AND n."end" >= r."end"
        LEFT JOIN StringIds AS t ON t.id = n.textId
        WHERE coalesce(n.text, t.value) IN ('computing_attention_scores', 'computing_softmax', 'final_matmul')""",
    )
    told = sum(ns for title, ns in in_parts if kinds[title] != "matmul")
    assert told > total > 0  # its ranges hold casts before the first product, too
    assert found.verdict == "fires"
    assert found.saving_ns == told
    assert found.value == pytest.approx(pct(told, window(sample)))
    assert judged(nsys_samples, FIXED, "unfused_attention").verdict == "clear"
    assert judged(nsys_samples, GRAPH, "unfused_attention").verdict == "cannot_judge"


@pytest.mark.parametrize("tokens", [512, *(pytest.param(one, marks=MORE) for one in (1024, 2048, 4096))])
def test_fused_attention_is_clear_of_it(nsys_samples: Library, tokens: int) -> None:
    def of(variant: str) -> Any:
        return judged(nsys_samples, "attention.nsys-rep", "unfused_attention", range=f"tokens_{tokens}/{variant}")

    assert of("fused").verdict == "clear"
    assert of("naive").verdict == of("softmax_by_hand").verdict == "fires"


def test_a_softmax_of_a_loss_is_no_attention(library: Library, small: Callable[..., str]) -> None:
    def of(softmax: str) -> str:
        ran = ((0, 50, "gemm", "matmul"), (50, 150, softmax, "softmax"), (150, 200, "gemm", "matmul"))
        return judged(library, small(*ran), "unfused_attention").verdict

    assert of("softmax_warp_forward<float, float, float, (int)9, (bool)0, (bool)0>(T2 *)") == "fires"
    assert of("softmax_warp_forward<float, float, float, (int)9, (bool)1, (bool)0>(T2 *)") == "clear"
    assert of("cunn_SoftMaxForward<4, float, float, float, LogSoftMaxForwardEpilogue>(float *)") == "clear"


@pytest.mark.parametrize(("products", "verdict"), [(4, "fires"), (3, "clear")])
def test_fusions_of_xla_may_be_normalizations(
    library: Library, small: Callable[..., str], products: int, verdict: str
) -> None:
    """By hand: one of three products that something follows has such a fusion behind it, or one of two."""
    ran = [(100 * n, 100 * n + 50, "gemm", "matmul") for n in range(products)]
    between = (50, 90, "triton_softmax_6", "softmax")
    assert judged(library, small(*ran, between), "unfused_attention").verdict == verdict


def test_a_softmax_over_few_numbers_is_no_attention(library: Library, small: Callable[..., str]) -> None:
    """By hand: a softmax of 10 ns, and between the same products a cast that takes 60 or 61."""

    def of(cast: int) -> str:
        ran = ((0, 50, "gemm", "matmul"), (50, 60, "softmax_warp_forward", "softmax"),
            (60, 60 + cast, "cast", "copy"), (200, 250, "gemm", "matmul"))  # fmt: skip
        return judged(library, small(*ran), "unfused_attention").verdict

    assert (of(60), of(61)) == ("fires", "clear")


@MORE
def test_joins_and_casts_of_double_precision_are_part_of_it(library: Library, small: Callable[..., str]) -> None:
    """By hand: 20 ns in FP64, a concatenation of 40 of 8-byte numbers, a cast of 10, and a product of 60 in BF16."""
    native = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<{}>>(int)"
    join = "void at::native::CatArrayBatchedCopy_vectorized<at::native::OpaqueType<(unsigned int)8>, unsigned int>(T1)"
    cast = "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda, at::native::memory::LoadWithCast<1>>"
    product = "nvjet_sm90_tst_128x192_64x5_1x2_h_bz_coopB_bias_TNN"

    def found(of: str, *, product: str = product) -> Any:
        ran = ((0, 20, native.format(of), "elementwise"), (20, 60, join, "copy"), (60, 70, cast, "copy"))
        after = ((70, 130, product, "matmul"), (130, 140, cast, "copy"))  # follows no kernel in FP64
        return judged(library, small(*ran, *after), "double_precision")

    one = found("double")
    assert (one.value, one.saving_ns, one.cause) == (pytest.approx(50), 20 / 2 + 40 / 2 + 10, "moved")
    assert (one.rule.is_choice, one.is_cause) == (False, True), "products are in BF16"
    assert one.prediction is None
    assert found("double", product="cutlass_80_tensorop_d884gemm").rule.is_choice, "FP64 is meant"
    assert found("float").value == 0, "of eight bytes, but no FP64"


def test_memory_bound(nsys_samples: Library, library: Library, publish: Publish) -> None:
    """No available report is: by hand, 80 % of DRAM bandwidth while a kernel ran, and none after it."""

    def measured(issue: float) -> str:
        def fill(db: duckdb.DuckDBPyConnection) -> None:
            made.fill(db, busy=((0, 100),), kernel=[kernel(1, 1, 0, 100)])
            titles = (
                "DRAM Read Bandwidth [Throughput %]",
                "DRAM Write Bandwidth [Throughput %]",
                "SM Issue",
                "Tensor Active",
            )
            for i, title in enumerate(titles):
                insert(db, "gpu_metric_name", [{"gpu_id": 0, "metric_id": i, "name": title}])
                db.execute(f'ALTER TABLE gpu_metric ADD COLUMN "{title}" DOUBLE')
            for moment, values in ((20, (40, 20, issue, 0)), (60, (60, 40, issue, 0)), (500, (0, 0, 0, 0))):
                insert(db, "gpu_metric", [{"gpu_id": 0, "time_ns": moment} | dict(zip(titles, values, strict=True))])

        return str(publish(fill))

    found = judged(library, measured(10), "memory_bound")
    assert (found.verdict, found.severity, found.value, found.facts["samples"]) == ("fires", "note", 80.0, 2)
    assert judged(library, measured(50), "memory_bound").value == 0
    assert judged(nsys_samples, "transformer_inference.nsys-rep", "memory_bound").verdict == "clear"
    assert "--with metrics -- " in judged(nsys_samples, FIXED, "memory_bound").command


def test_all_kernels_of_a_sample_are_looked_at(nsys_samples: Library) -> None:
    """Without communication, the views of the rules cover all kernels.

    Both findings about them give the time of the pages, in which overlapping kernels count separately.
    """
    sample = "streams_overlapped.nsys-rep"
    found, ran = judged(nsys_samples, sample, "tensor_cores_unused"), spans(sample, "KERNEL")
    assert found.value == pytest.approx(pct(union(ran), window(sample)))
    hot = judged(nsys_samples, sample, "hot_kernel")
    assert found.facts["cuda_ns"] == hot.facts["total_ns"] == sum(end - start for start, end in ran) > union(ran)


ODD = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(T1::Params)"


def test_misaligned_products(library: Library, small: Callable[..., str]) -> None:
    """By hand: 80 of 100 ns; on Hopper three quarters of it are saved."""
    found = judged(library, small((0, 80, ODD, "matmul"), (80, 100, "b", "other")), "misaligned_products")
    assert (found.verdict, found.value, found.saving_ns, found.facts["launches"]) == ("fires", 80.0, 60, 1)
    fine = ODD.replace("align1", "align8")
    assert judged(library, small((0, 80, fine, "matmul")), "misaligned_products").value == 0


@pytest.mark.slow("judges every sample")
def test_aligned_products(nsys_samples: Library, library: Library, small: Callable[..., str]) -> None:
    """Of misaligned ones, half is saved on Ampere."""
    ampere = small((0, 80, ODD, "matmul"), gpu={"compute_capability": "8.0", "name": "A100"})
    assert judged(library, ampere, "misaligned_products").saving_ns == 40
    for fine in (
        "cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4",
        "cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1", "cutlass_80_simt_sgemm_256x128_8x4_nn_align1",
    ):  # fmt: skip
        assert judged(library, small((0, 80, fine, "matmul")), "misaligned_products").value == 0, fine
    for one in nsys_samples.list():
        if "kernel" in one.rows:
            assert judged(nsys_samples, one.id, "misaligned_products").verdict == "clear", one.name


OPERATION = "void vectorized_elementwise_kernel<4, AddFunctor<double>>(int)"


def test_double_precision(nsys_samples: Library, library: Library, small: Callable[..., str]) -> None:
    """By hand on an H200: a product of 80 ns on tensor cores, TF32 at 494.7 TFLOP/s, and an operation of 10 ns."""
    product = "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1>(T1::Params)"
    report = small((0, 80, product, "matmul"), (80, 90, OPERATION, "elementwise"), (90, 100, "b", "other"))
    found = judged(library, report, "double_precision")
    fp64 = 132 * 64 * 2 * 1.98e9 * 2 / 1e12  # SMs, FMAs a cycle, two operations each, clock, twice on tensor cores
    assert (found.verdict, found.severity, found.value) == ("fires", "low", 90.0)
    assert found.saving_ns == pytest.approx(80 * (1 - fp64 / 494.7) + 5, abs=1)
    assert found.facts["product_pct"] == pytest.approx(100 * 80 / 90)
    assert "sgemm" in found.advice[0]
    assert not found.is_cause
    single = small((0, 80, "void gemm<float>(float*)", "other"))
    assert judged(library, single, "double_precision").value == 0
    for of, ns in (("complex64_float32_complex64", 0), ("complex128_float64_complex128", 80), ("float32_float64", 80)):
        named_by_types = small((0, 80, f"cupy_multiply__{of}", "elementwise"))
        assert judged(library, named_by_types, "double_precision").facts["double_ns"] == ns
    double_ns = union((a, b) for a, b, title, *_ in named("kernels") if "f64f64" in title)
    assert judged(nsys_samples, "kernels.nsys-rep", "double_precision").facts["double_ns"] == double_ns


@MORE
def test_where_double_precision_is_a_choice(library: Library, small: Callable[..., str]) -> None:
    native = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<{}>>(int)"
    for kinds, trains, is_cause in (
        (("double",), False, False), (("double", "float"), True, True), (("float", "double"), True, True),
        (("float", "float", "float", "double"), True, False),
    ):  # fmt: skip
        optimizer = [(60, 61, "multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>(T1)", "optimizer")] * trains
        ran = [(0, 40, native.format(kinds[0]), "elementwise")]
        ran += [(40 + i, 60 + i, native.format(one), "elementwise") for i, one in enumerate(kinds[1:])]
        network = judged(library, small(*ran, *optimizer), "double_precision")
        assert (network.rule.is_choice, network.is_cause) == (not trains, is_cause), kinds
    plain = judged(library, small((0, 80, OPERATION, "elementwise")), "double_precision")
    assert "sqrtf" in plain.advice[0]


@pytest.mark.slow("judges every sample")
def test_names_of_double_precision(nsys_samples: Library, library: Library, small: Callable[..., str]) -> None:
    for fine in ("doubled_kernel", "ampere_sgemm_128x64_nn"):
        assert judged(library, small((0, 80, fine, "other")), "double_precision").value == 0, fine
    adam = "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<{}, 4>, {}>(T1, T2)"
    given = "const float *, double, double, bool, const float *"  # learning rate, betas
    normal = "normal_and_transform<{}, normal_kernel<CUDAGeneratorImpl *>(const TensorBase &, double, double, T1)>"
    for full, element, slow in (
        (adam, "float", False), (adam, "c10::BFloat16", False), (adam, "double", True),
        (normal, "c10::BFloat16", False), (normal, "double", True),
    ):  # fmt: skip
        found = judged(library, small((0, 80, full.format(element, given), "optimizer")), "double_precision")
        assert ((found.value or 0) > 0) == slow, (full, element)
    sums = "void sum(const float *, double *)"
    assert (judged(library, small((0, 80, sums, "other")), "double_precision").value or 0) > 0
    fires = {
        one.name for one in nsys_samples.list() if judged(nsys_samples, one.id, "double_precision").verdict == "fires"
    }
    assert fires == {"kernels.nsys-rep", "queue.nsys-rep"}, "both have tasks in FP64"

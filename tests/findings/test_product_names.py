"""Units, precisions and shapes that rules read from the names of matrix products."""

import pytest

from profiledb.library.library import Library
from profiledb.query import views

SAMPLE = "launches_graph.nsys-rep"
"""Any report: names are asked by macros."""


@pytest.mark.parametrize(
    ("title", "unit", "bits"),
    [
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", "tensor", 16),
        ("nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT", "tensor", 8),
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn", "tensor", 16),
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "tensor", 16),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_tensor16x8x8_kernel", "tensor", 32),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)", "tensor", 32),
        ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::Params)", "tensor", 16),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>(T1::Params)", "tensor", 32),
        ("sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_tensor16x8x16_execute", "tensor", 64),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4", "cuda", 32),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(T1::Params)", "cuda", None),
        ("ampere_sgemm_128x64_nn", "cuda", None),
        ("my_matmul(float*, float*, int)", None, None),
    ],
)
def test_names_of_products(nsys_samples: Library, title: str, unit: str, bits: int) -> None:
    with nsys_samples.cursor(nsys_samples.find(SAMPLE).id, None, views.list_needed(["tensor"])) as cursor:
        found = cursor.execute("SELECT product_unit($1), product_bits($1), product_passes($1)", [title]).fetchone()
    assert found == (unit, bits, 3 if "cutlassF_f32" in title else 1)


@pytest.mark.parametrize(
    ("title", "is_narrow"),
    [
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", True),
        ("nvjet_sm90_tst_8x64_64x16_4x1_v_bz_bias_TNN", True),
        ("nvjet_sm90_tst_64x8_64x16_1x1_h_bz_NNT", True),
        ("nvjet_sm90_tst_64x8_64x16_2x4_h_bz_bias_TNT", False),  # of a BERT of width 384, for a text of 128 tokens
        ("nvjet_sm90_tst_64x8_64x16_1x4_h_bz_bias_TNT", False),
        ("nvjet_sm90_tst_128x64_64x8_2x1_v_bz_TNT", False),
        ("void gemv2T_kernel_val<int, int, __nv_bfloat16>", True),
    ],
)
def test_products_with_few_vectors(nsys_samples: Library, title: str, is_narrow: bool) -> None:
    """They have one column of narrow tiles."""
    with nsys_samples.cursor(nsys_samples.find(SAMPLE).id, None, views.list_needed(["tensor"])) as cursor:
        assert cursor.execute("SELECT is_vector_product(?)", [title]).fetchall() == [(is_narrow,)]

"""Names and classes are added to a report after loading."""

from pathlib import Path

import pytest

from ingest.derive import classes as enrich
from profiledb.report import store
from tests.support.page_reports import empty

NAMES = {
    "f(int)": "f",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(T3)": "reduce_kernel",
    "void (anonymous namespace)::ns::f<float>(int)": "f",
    "void <unnamed>::softmax_warp_forward<float>(int)": "softmax_warp_forward",
    "void at::native::{anonymous}::g(int)": "g",
    "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT": "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT",
    "<unknown>": "<unknown>",
    "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
    "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)": "fused_add_rms_norm_kernel",
    "void std::enable_if_t<true, void> k<int>(std::enable_if<true, int>::type (*)(int))": "k",
    "void own::enable_if_checked<int>(int)": "enable_if_checked",
}


def test_names_of_ncu_get_a_short_form_and_a_class(tmp_path: Path) -> None:
    with store.create(tmp_path / "report.duckdb", ready=empty()) as db:
        for number, name in enumerate(NAMES):
            db.execute("INSERT INTO ncu_launch (launch_id, kernel) VALUES (?, ?)", [number, name])
        enrich.classify_kernels(db)
        rows = db.execute("SELECT demangled, short, class, name_id FROM kernel_name ORDER BY name_id").fetchall()
    assert {name: short for name, short, _, _ in rows} == NAMES
    assert [number for *_, number in rows] == list(range(1, len(NAMES) + 1))
    classes = {name: kernel_class for name, _, kernel_class, _ in rows}
    assert classes["void <unnamed>::softmax_warp_forward<float>(int)"] == "softmax"
    assert classes["nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT"] == "matmul"
    assert classes["f(int)"] == "other"


def test_a_kernel_is_known_by_the_company_it_keeps(tmp_path: Path) -> None:
    """cuDNN computes a convolution as transforms and complex matmuls; alone, such a kernel is a matmul."""
    for names, wanted in (
        (["volta_cgemm_32x64_tn"], ["matmul"]),
        (["volta_cgemm_32x64_tn", "void fft2d_r2c_32x32<float>(float2 *)"], ["convolution", "convolution"]),
    ):
        with store.create(tmp_path / f"{len(names)}.duckdb", ready=empty()) as db:
            for number, name in enumerate(names):
                db.execute("INSERT INTO ncu_launch (launch_id, kernel) VALUES (?, ?)", [number, name])
            enrich.classify_kernels(db)
            rows = db.execute("SELECT class FROM kernel_name ORDER BY name_id").fetchall()
        assert [kernel_class for (kernel_class,) in rows] == wanted


def test_a_users_classes_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "classes.toml"
    own.write_text('[[class]]\nname = "ours"\ntitle = "Ours"\npatterns = ["nvjet"]\n')
    monkeypatch.setenv("WARPDECK_CLASSES", str(own))
    with store.create(tmp_path / "report.duckdb", ready=empty()) as db:
        db.execute("INSERT INTO ncu_launch (launch_id, kernel) VALUES (0, 'nvjet_sm90_x')")
        enrich.classify_kernels(db)
        assert db.execute("SELECT class FROM kernel_name").fetchall() == [("ours",)]

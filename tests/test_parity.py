"""Our numbers against those of nsys: cell by cell, as text, columns and order included."""

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from profiledb import __main__ as cli
from profiledb.library import Library
from tests import oracle
from tests.conftest import CORPUS, SAMPLES

READABLE = (
    "cpu_only_t4.nsys-rep",
    "gpu_metrics_a100.nsys-rep",
    "mpi_h100.nsys-rep",
    "openacc_gp100.qdrep",
    "openacc_v100.nsys-rep",
    "openmp_offload_t4.nsys-rep",
    "pinned_memory_4090.nsys-rep",
    "streams_4090.nsys-rep",
    "wsl2_no_kernels.nsys-rep",
)
ORACLES = sorted(folder.name for folder in (SAMPLES / "oracle").glob("*") if not folder.name.endswith("_ncu"))


def ours(library: Library, report: str, capsys: pytest.CaptureFixture[str], *params: str) -> list[list[str]]:
    capsys.readouterr()
    status = cli.main(["run", params[0], report, *params[1:], "--library", str(library.folder)])
    out, err = capsys.readouterr()
    assert status == 0 or "not in this report" in err, err
    return oracle.rows(out)


@pytest.fixture(scope="session")
def sqlite_export(nsys: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Exports a report once for all the analyses that are compared on it."""
    folder = tmp_path_factory.mktemp("exports")

    def export(report: str) -> Path:
        target = folder / f"{report}.sqlite"
        if not target.exists():
            argv = [str(nsys), "export", "-q", "true", "-t", "sqlite", "-o", str(target), str(CORPUS / report)]
            subprocess.run(argv, check=True, capture_output=True)
        return target

    return export


@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
@pytest.mark.parametrize("report", READABLE)
def test_equals_the_installed_nsys(
    every_report: Library,
    nsys: Path,
    sqlite_export: Callable[[str], Path],
    report: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    export = sqlite_export(report)
    for name in oracle.STATS:
        expected = oracle.stats(nsys, export, name)
        assert oracle.differences(expected, ours(every_report, report, capsys, name)) == [], name


@pytest.mark.parametrize("sample", ORACLES)
def test_equals_what_nsys_printed_about_the_samples(
    every_report: Library, sample: str, capsys: pytest.CaptureFixture[str]
) -> None:
    compared = 0
    for name in oracle.STATS:
        expected = _printed(SAMPLES / "oracle" / sample / f"{name}.csv")
        found = ours(every_report, f"{sample}.nsys-rep", capsys, name)
        assert oracle.differences(expected, found) == [], name
        compared += bool(expected)
    assert compared >= 4


@pytest.mark.parametrize("sample", ORACLES)
@pytest.mark.parametrize(("by", "variant"), [("short", "base"), ("mangled", "mangled")])
def test_kernel_summary_by_other_names(
    every_report: Library, sample: str, by: str, variant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = _printed(SAMPLES / "oracle" / sample / f"cuda_gpu_kern_sum_{variant}.csv")
    found = ours(every_report, f"{sample}.nsys-rep", capsys, "cuda_gpu_kern_sum", "--param", f"by={by}")
    assert expected
    assert oracle.differences(expected, found) == []


def _printed(path: Path) -> list[list[str]]:
    if path.exists():
        return oracle.rows(path.read_text(encoding="utf-8"))
    packed = path.with_name(path.name + ".gz")
    return oracle.rows(gzip.decompress(packed.read_bytes()).decode()) if packed.exists() else []

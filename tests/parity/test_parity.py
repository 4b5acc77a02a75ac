"""Warpdeck's numbers against those of nsys: cell by cell, as text, with columns and order.

The installed nsys prints on the corpus, on edited exports and on generated ones; for the samples, the output of a newer
one is stored beside them.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from profiledb.library.library import Library
from tests.conftest import CORPUS, SAMPLES, Once
from tests.support import edited_exports, nsys_oracle, random_exports
from tests.support.every_report import slow_but
from tests.support.nsys_oracle import ON_CORPUS, ON_GENERATED, ON_SAMPLES, READABLE, Case, Table

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")


Asked = Callable[[Path, Sequence[Case]], Path]

SILENT_ON_CORPUS = {
    *("nvtx_startend_sum", "mpi_event_trace", "um_total_sum", "openmp_sum", "cuda_memcpy_async", "cuda_memset_sync"),
}
"""No report of the corpus has rows for them: edited or generated exports, or samples, do."""
SILENT_ON_SAMPLES = {
    *("nvtx_startend_sum", "gpu_gaps", "cuda_memcpy_sync", "cuda_memset_sync"),
    *("mpi_event_trace", "openacc_sum", "openmp_sum", "um_total_sum"),
}
SILENT_ON_INFERENCE = SILENT_ON_SAMPLES | {"osrt_sum", "gpu_gaps:gap=1"}


@pytest.fixture
def asked(nsys: Path, once: Once) -> Asked:
    """Ask nsys about an export, once for all comparisons on it; return the folder of its output."""

    def ask(export: Path, cases: Sequence[Case]) -> Path:
        return once(f"asked_{export.stem}", lambda folder: nsys_oracle.ask(nsys, export, cases, folder))

    return ask


@needs_corpus
@pytest.mark.parametrize("case", ON_CORPUS, ids=str)
@pytest.mark.parametrize("report", slow_but(["openacc_v100.nsys-rep"], READABLE, "what nsys prints of every report"))
def test_corpus(
    every_report: Library, asked: Asked, sqlite_export: Callable[[str], Path], report: str, case: Case
) -> None:
    expected = nsys_oracle.asked(asked(sqlite_export(report), ON_CORPUS), case)
    assert nsys_oracle.differences(expected, nsys_oracle.ours(every_report, report, case)) == []


@needs_corpus
@pytest.mark.slow("asks nsys of all reports")
def test_corpus_has_rows_for_the_rest(asked: Asked, sqlite_export: Callable[[str], Path]) -> None:
    folders = [asked(sqlite_export(report), ON_CORPUS) for report in READABLE]
    silent = {case.asked for case in ON_CORPUS if not any(nsys_oracle.asked(folder, case) for folder in folders)}
    assert silent == SILENT_ON_CORPUS


@needs_corpus
@pytest.mark.parametrize(
    ("name", "case"),
    [
        pytest.param(name, case, id=f"{name}-{case}")
        for name, edit in edited_exports.EDITS.items()
        for case in edit.cases
    ],
)
def test_edited_exports(edited: tuple[Path, Library], asked: Asked, name: str, case: Case) -> None:
    folder, library = edited
    edit = edited_exports.EDITS[name]
    expected = nsys_oracle.asked(asked(folder / f"{name}.sqlite", edit.cases), case)
    assert bool(expected) == (case.asked not in edit.silent)
    assert nsys_oracle.differences(expected, nsys_oracle.ours(library, f"{name}.sqlite", case)) == []


@pytest.mark.slow("takes six exports in and asks nsys of each")
@pytest.mark.parametrize("case", ON_GENERATED, ids=str)
def test_generated_exports(generated_exports: tuple[Path, Library], asked: Asked, case: Case) -> None:
    folder, library = generated_exports
    compared = 0
    for seed in random_exports.SEEDS:
        name = f"{seed}.sqlite"
        expected = nsys_oracle.asked(asked(folder / name, ON_GENERATED), case)
        assert nsys_oracle.differences(expected, nsys_oracle.ours(library, name, case)) == [], seed
        compared += len(expected)
    assert compared > 20


@pytest.mark.parametrize("case", ON_SAMPLES, ids=str)
@pytest.mark.parametrize("sample", ["transformer_training", "transformer_inference"])
def test_samples(nsys_samples: Library, sample: str, case: Case) -> None:
    expected: Table = nsys_oracle.on_paper(SAMPLES / "oracle" / sample, case)
    silent = SILENT_ON_INFERENCE if sample == "transformer_inference" else SILENT_ON_SAMPLES
    assert bool(expected) == (case.asked not in silent)
    assert nsys_oracle.differences(expected, nsys_oracle.ours(nsys_samples, f"{sample}.nsys-rep", case)) == []


OPENMP = "openmp_regions"
"""The sample that used no GPU."""
WITH_AN_ORACLE = sorted(
    folder.name
    for folder in (SAMPLES / "oracle").glob("*")
    if not folder.name.endswith("_ncu")
    and not folder.name.startswith(("transformer_training", "transformer_inference"))
)


@pytest.mark.parametrize("sample", slow_but(["host_python", "launches_graph"], WITH_AN_ORACLE, "every sample"))
def test_every_sample_is_as_nsys_printed_it(nsys_samples: Library, ddp: Library, sample: str) -> None:
    library, name = (ddp, f"{sample}.sqlite") if sample.startswith("ddp_") else (nsys_samples, f"{sample}.nsys-rep")
    printed = {case: nsys_oracle.on_paper(SAMPLES / "oracle" / sample, case) for case in ON_SAMPLES}
    assert sum(map(bool, printed.values())) >= (5 if sample == OPENMP else 7), "nsys was not silent"
    different = {
        str(c): nsys_oracle.differences(rows, nsys_oracle.ours(library, name, c)) for c, rows in printed.items()
    }
    told = {case for case, found in different.items() if found}
    assert told == ({"nvtx_kern_sum", "nvtx_kern_sum:base"} if sample == "host_python" else set()), different


def test_openmp_events_as_the_installed_nsys_prints_them(nsys_samples: Library, nsys: Path, tmp_path: Path) -> None:
    """It is older than the nsys that captured them; both print the same."""
    (case,) = nsys_oracle.THREAD_STATS
    shutil.copy(SAMPLES / f"{OPENMP}.sqlite", tmp_path)  # nsys adds indexes to what it is asked about
    nsys_oracle.ask(nsys, tmp_path / f"{OPENMP}.sqlite", [case], tmp_path)
    expected = nsys_oracle.asked(tmp_path, case)
    assert len(expected) == 13
    assert nsys_oracle.differences(expected, nsys_oracle.ours(nsys_samples, f"{OPENMP}.nsys-rep", case)) == []


def test_a_kernel_of_two_calls_counts_once(nsys_samples: Library) -> None:
    """With back traces, an export has two calls with one correlation id; nsys adds such a kernel twice and says one."""
    (case,) = (case for case in ON_SAMPLES if str(case) == "nvtx_kern_sum")
    times = {"Total Time (ns)", "StdDev (ns)"}

    def rows(table: Table) -> dict[tuple[str, ...], int]:
        keys = [n for n, name in enumerate(table[0]) if name not in times]
        total = table[0].index("Total Time (ns)")
        return {tuple(row[n] for n in keys): int(row[total]) for row in table[1:]}

    printed = rows(nsys_oracle.on_paper(SAMPLES / "oracle" / "host_python", case))
    ours = rows(nsys_oracle.ours(nsys_samples, "host_python.nsys-rep", case))
    assert printed.keys() == ours.keys()
    assert {printed[key] / ours[key] for key in ours} == {1, 2}

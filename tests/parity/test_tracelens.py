"""AMD's TraceLens publishes figures with its traces of five networks on an H100 and an MI300X.

``TRACELENS`` names a checkout of https://github.com/AMD-AGI/TraceLens.
"""

import csv
import os
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from tests.conftest import Once, ingest_files
from tests.support.comparison import command

TRACES = Path(os.environ.get("TRACELENS") or "/nowhere") / "tests" / "traces"
NETWORKS = {
    "gaunernst_bert-small-uncased__1016001": 26, "Falconsai_nsfw_image_detection__1016002": 73,
    "Qwen_Qwen1.5-0.5B-Chat__1016005": 0, "facebook_timesformer-base-finetuned-k400__1016002": 133,
    "google_owlv2-large-patch14-ensemble__1016001": 0,
}  # fmt: skip
"""Launches of matmul on either GPU where TraceLens' operators have the same; 0 where some kernels have no operator, or
those of an operator are of several classes."""
PARTLY = "Qwen_Qwen1.5-0.5B-Chat__1016005"
"""Of this one a third of the kernels was launched before the trace began; TraceLens' timeline leaves them out."""
ROUNDING_NS = 10
"""TraceLens adds microseconds in floating point."""
pytestmark = [
    pytest.mark.skipif(not TRACES.is_dir(), reason="needs a checkout of TraceLens, named by TRACELENS"),
    pytest.mark.slow("ten traces of strangers"),
]
CASES = pytest.mark.parametrize(("gpu", "network"), [(gpu, name) for gpu in ("h100", "mi300") for name in NETWORKS])


@pytest.fixture(scope="module", name="libraries")
def make_libraries(once: Once) -> dict[str, Library]:
    """A library of the traces of each GPU, whose files have the same names."""

    def library(gpu: str) -> Library:
        files = [TRACES / gpu / f"{name}.json.gz" for name in NETWORKS]
        return Library(once(f"tracelens-{gpu}", lambda folder: ingest_files(folder, files)) / "library")

    return {gpu: library(gpu) for gpu in ("h100", "mi300")}


def read_table(gpu: str, network: str, table: str) -> list[dict[str, str]]:
    with (TRACES / gpu / f"{network}_perf_report_csvs" / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def ask(library: Library, network: str, name: str) -> list[dict[Any, Any]]:
    rows = analysis.run(library, library.find(f"{network}.json.gz").id, name)
    return rows.astype(object).to_dict("records")


@CASES
def test_kernels_are_equal(libraries: dict[str, Library], gpu: str, network: str) -> None:
    kernels = ask(libraries[gpu], network, "kernels")
    told = read_table(gpu, network, "kernel_summary")
    assert sum(row["calls"] for row in kernels) == sum(int(row["Kernel duration (µs)_count"]) for row in told)
    their_ns = sum(float(row["Kernel duration (µs)_sum"]) for row in told) * 1000
    assert sum(row["total_ns"] for row in kernels) == pytest.approx(their_ns, abs=0.5)
    matmul = sum(row["calls"] for row in kernels if row["class"] == "matmul")
    assert matmul == (NETWORKS[network] or matmul)


@CASES
def test_busy_time_is_equal(libraries: dict[str, Library], gpu: str, network: str) -> None:
    if network == PARTLY:
        pytest.skip("its timeline leaves out kernels that were launched before the trace began")
    (busy,) = ask(libraries[gpu], network, "gpu_busy")
    told = {row["type"]: float(row["time ms"]) * 1e6 for row in read_table(gpu, network, "gpu_timeline")}
    assert busy["busy_ns"] == pytest.approx(told["busy_time"], abs=ROUNDING_NS)
    assert busy["active_ns"] == pytest.approx(told["total_time"], abs=ROUNDING_NS)


@pytest.mark.parametrize("network", NETWORKS)
def test_the_two_gpus_compare(libraries: dict[str, Library], tmp_path: Path, network: str) -> None:
    """The same network has the same classes on both, launches with known calls, and a comparison with a limit."""
    shares = {}
    for gpu, library in libraries.items():
        rows = ask(library, network, "kernels")
        whole = sum(row["total_ns"] for row in rows)
        classes = {row["class"] for row in rows}
        shares[gpu] = {one: sum(row["total_ns"] for row in rows if row["class"] == one) / whole for one in classes}
        assert shares[gpu].get("other", 0) < 0.01
        launched = ask(library, network, "launch_times")[0]["launches"]
        assert launched >= (0.6 if network == PARTLY else 0.9) * sum(row["calls"] for row in rows)
    common = {one for one, share in shares["h100"].items() if share > 0.02}
    assert common <= shares["mi300"].keys()
    both = tmp_path / "both"
    for gpu in libraries:
        (both / gpu).mkdir(parents=True)
        (both / gpu / f"{gpu}.json.gz").write_bytes((TRACES / gpu / f"{network}.json.gz").read_bytes())
    ingest_files(both, [both / gpu / f"{gpu}.json.gz" for gpu in libraries])
    done = command(Library(both / "library"), "h100.json.gz", "mi300.json.gz")
    assert "Different GPUs: NVIDIA H100 80GB HBM3 and AMD Instinct MI300X" in done.stderr
    assert "% of B. Compare classes, phases and steps" in done.stderr

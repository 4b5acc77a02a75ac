"""Rows of ncu's details page that are requested by name: a user's own metrics, and rows of a few sections."""

from collections import Counter
from pathlib import Path

import pytest

from ingest.ncu import container, wheel
from ingest.ncu.tables import Capture
from tests.support.ncu_agree import values
from tests.support.ncu_fixtures import CORPUS, ROOT, needs_corpus

SAMPLES = ROOT / "sample_reports"
pytestmark = pytest.mark.skipif(
    not wheel.is_available(), reason="the ncu-report wheel does not exist for this platform"
)


def read(name: str, work: Path, folder: Path = CORPUS) -> Capture:
    path = folder / name
    return wheel.read_quick(path, container.read_frame(path), work)


@needs_corpus
def test_metrics_that_the_command_line_asked_for_are_a_section(tmp_path: Path) -> None:
    sections = Counter(detail.section for detail in read("own_metrics.ncu-rep", tmp_path).details)
    assert sections == {"Command line profiler metrics": 1620}


@needs_corpus
def test_sampling_of_an_old_gpu(tmp_path: Path) -> None:
    """A GPU of compute capability 7.5 has no compression in L2, and ncu shows none."""
    capture = read("naive_gemm_1660s.ncu-rep", tmp_path)
    found = {detail.metric: detail.value for detail in capture.details if detail.launch_id == 0}
    assert found["profiler__pmsampler_interval_cycles"] == 320_000
    assert not [one.label for one in capture.details if one.label.startswith("L2 Compression")]


@needs_corpus
def test_links_between_gpus_and_derived_metrics(tmp_path: Path) -> None:
    found = values(read("rms_norm_triton_2025.ncu-rep", tmp_path))
    assert {(0, "nvlink__source_ports"), (0, "nvlink__destination_ports")} <= found.keys()


def test_rows_whose_metric_depends_on_the_gpu(tmp_path: Path) -> None:
    """As ncu 2024.1 prints them for an H200."""
    capture = read("transformer_inference.ncu-rep", tmp_path, SAMPLES)
    found = {one.label: (one.metric, one.value) for one in capture.details if one.launch_id == 0}
    assert found["Maximum Sampling Interval"] == ("profiler__pmsampler_interval_time", 1500)
    assert found["L2 Compression Input Sectors"] == ("lrc__ilc_input_sectors.sum", 1_573_436)
    assert found["L2 Compression Success Rate"] == ("lrc__average_ilc_input_sector_success_rate.pct", 0)
    assert found["L2 Compression Ratio"] == ("lrc__average_ilc_output_sector_compression_achieved_rate.pct", 0)

"""What of the details page of ncu is asked for by name: metrics of one's own, and rows that few sections have."""

from collections import Counter
from pathlib import Path

import pytest

from ingest.ncu import container, wheel
from ingest.ncu.tables import Capture
from tests.support.ncu_agree import values
from tests.support.ncu_fixtures import CORPUS, needs_corpus

pytestmark = [
    needs_corpus,
    pytest.mark.skipif(not wheel.available(), reason="the ncu-report wheel does not exist for this platform"),
]


def read(name: str, work: Path) -> Capture:
    path = CORPUS / name
    return wheel.read_quick(path, container.read(path), work)


def test_metrics_that_the_command_line_asked_for_are_a_section(tmp_path: Path) -> None:
    sections = Counter(detail.section for detail in read("own_metrics.ncu-rep", tmp_path).details)
    assert sections == {"Command line profiler metrics": 1620}


def test_sampling_and_compression(tmp_path: Path) -> None:
    capture = read("naive_gemm_1660s.ncu-rep", tmp_path)
    found = {detail.metric: detail.value for detail in capture.details if detail.launch_id == 0}
    assert found["profiler__pmsampler_interval_cycles"] == 320_000
    assert found["lts__average_gcomp_input_sector_success_rate.pct"] == 1
    assert {label for label in (one.label for one in capture.details) if label.startswith("L2 Compression")}


def test_links_between_gpus_and_derived_metrics(tmp_path: Path) -> None:
    found = values(read("rms_norm_triton_2025.ncu-rep", tmp_path))
    assert {(0, "nvlink__source_ports"), (0, "nvlink__destination_ports")} <= found.keys()

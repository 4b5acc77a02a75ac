"""The two-rank sample of the PyTorch profiler against a second computation and HolisticTraceAnalysis.

HTA (scripts/hta_numbers.py) counts in whole microseconds: it rounds starts up and ends down, so each of these short
kernels loses one. Ours are exact.
"""

import json
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.studies.scaling import family, nccl
from profiledb.studies.scaling import runs as scaling
from profiledb.studies.scaling.runs import Run, RunAnalysis
from tests.conftest import ROOT
from tests.second import torch_ranks
from tests.support.torch_samples import FOLDER, RANKS, needs_torch_samples

pytestmark = needs_torch_samples
HTA = json.loads((ROOT / "tests/data/torch/hta.json").read_text())


@pytest.fixture(scope="module")
def traces() -> list[list[dict[str, Any]]]:
    return [torch_ranks.read(FOLDER / name) for name in RANKS]


@pytest.fixture(scope="module")
def run(torch_samples: Library) -> Run:
    def answers(report_id: str) -> RunAnalysis:
        return lambda name, **params: analysis.run(torch_samples, report_id, name, params)

    named = [family.read_named(torch_samples, torch_samples.find(name)) for name in RANKS]
    assert [(one.run, one.rank, one.size) for one in named] == [("torch_ddp_2 (trace)", n, 2) for n in (0, 1)]
    ((found,), left) = scaling.gather_runs(family.join_overlapping(named), answers)
    assert (left, found.whole, found.told_by) == ([], True, "ranges")
    return found


def of_whole(library: Library, name: str) -> dict[str, Any]:
    (row,) = analysis.run(library, library.find(name).id, "rank_split", {"steps": "nothing"}).to_dict("records")
    return {str(key): value for key, value in row.items()}


def test_compute_communication_and_overlap(torch_samples: Library, traces: list[list[dict[str, Any]]]) -> None:
    for name, trace in zip(RANKS, traces, strict=True):
        ours = of_whole(torch_samples, name)
        expected = torch_ranks.split(trace)
        assert {key: ours[key] for key in expected} == expected


def test_waits_transfers_and_bandwidth(run: Run, traces: list[list[dict[str, Any]]]) -> None:
    waited, transfer, bus = torch_ranks.waits([torch_ranks.collectives(trace) for trace in traces])
    assert list(nccl.wait_rows(run)["wait_ns"]) == waited
    (row,) = nccl.build_operations(run).to_dict("records")
    assert (row["operation"], row["matched"], row["transfer_ns"]) == ("AllReduce", 12, transfer)
    assert row["busbw_gb_per_s"] == pytest.approx(bus)
    sizes = nccl.build_sizes(run)
    assert sizes["matched"].sum() == 12
    assert (sizes["size_bytes"] * sizes["matched"]).sum() == row["bytes"]
    apart = nccl.estimate_uncertainty(run)
    assert apart is not None
    assert 0 < apart < 200_000, "ends of one operation on two GPUs of one machine"


@pytest.mark.parametrize("rank", [0, 1])
def test_against_hta(torch_samples: Library, traces: list[list[dict[str, Any]]], rank: int) -> None:
    """Rounded as HTA rounds, the second computation equals HTA's; so rounding explains the whole difference."""
    overlap = next(row for row in HTA["comm_comp_overlap"] if row["rank"] == rank)["comp_comm_overlap_pctg"]
    compute = next(row for row in HTA["temporal_breakdown"] if row["rank"] == rank)["compute_time(us)"]
    rounded = torch_ranks.as_hta(traces[rank])
    assert rounded["compute_us"] == compute
    assert rounded["overlap_pct"] == pytest.approx(overlap, abs=0.006)
    ours = of_whole(torch_samples, RANKS[rank])
    assert ours["compute_ns"] / 1000 == pytest.approx(compute, rel=0.03)
    share = 100 * ours["hidden_ns"] / (ours["hidden_ns"] + ours["exposed_ns"])
    assert share == pytest.approx(overlap, abs=3)

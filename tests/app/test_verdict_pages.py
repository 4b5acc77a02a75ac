"""One kernel has one verdict: the roofline, the launch and the kernel say it in the same sentence."""

import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app.ui import verdicts
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.app.conftest import SAMPLES, Dashboard

needs_samples = pytest.mark.skipif(not list(SAMPLES.glob("*.ncu-rep")), reason="no sample reports here")
COMPUTE, SYSTEMS = "transformer_training.ncu-rep", "transformer_training.nsys-rep"
METRICS = """
SELECT launch_id, name, value FROM ncu_metric JOIN ncu_metric_name USING (metric_id) JOIN ncu_launch USING (launch_id)
WHERE kernel LIKE '%masked_fill%' AND name IN (
    'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed', 'sm__throughput.avg.pct_of_peak_sustained_elapsed',
    'gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed',
    'smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio',
    'smsp__average_warp_latency_per_inst_issued.ratio')
ORDER BY launch_id, name
"""


def texts(at: AppTest) -> str:
    kinds = (at.caption, at.markdown, at.info, at.warning)
    shown = "\n".join(str(element.value) for kind in kinds for element in kind)
    return re.sub(r"[\\\u2060]", "", shown)


def by_hand(library: Library) -> tuple[int, str]:
    """The first launch of masked_fill that ncu measured, and its sentence from ncu's own metrics."""
    found = analysis.query(library, library.find(COMPUTE).id, METRICS)
    launch = int(found["launch_id"].iloc[0])
    memory, dram, compute, latency, stall = found[found["launch_id"] == launch]["value"]
    assert 60 <= compute < 80, "compute bound, by the thresholds of ncu's rule"
    assert compute - memory >= 10
    return launch, (
        f"Compute bound: compute runs at {compute:.1f} % of peak, memory at {memory:.1f} %;"
        f" no floating-point work, so the roofline shows only its traffic, {dram:.1f} % of DRAM bandwidth,"
        " and other instructions keep the SMs busy;"
        f" warps wait {100 * stall / latency:.1f} % of their time for long scoreboard (memory),"
        " partly hidden by other warps."
    )


@needs_samples
def test_masked_fill_has_one_verdict_on_all_pages(dashboard: Dashboard, library: Library) -> None:
    compute, systems = library.find(COMPUTE).id, library.find(SYSTEMS).id
    launch, told = by_hand(library)
    table = dashboard("roofline", report=compute).dataframe[0].value.set_index("launch_id")
    assert (table.loc[launch, "reading"], table.loc[launch, "verdict"]) == (told, "compute bound")
    assert told in texts(dashboard("kernel_profiles", report=compute, launch=str(launch)))
    library.link(systems, compute)
    rows = analysis.run(library, systems, "time_weighted_roofline")
    (row,) = rows[(rows["launch_id"] == launch) & (rows["match"] == "exact")].to_dict("records")
    over_time = dashboard("roofline_by_time", report=systems)
    assert told in list(over_time.dataframe[0].value["reading"])
    assert told in texts(dashboard("kernel", report=systems, kernel=str(row["kernel"])))
    lone = set(rows["kernel"]) - set(rows[rows["launch_id"].notna()]["kernel"])
    unmeasured = texts(dashboard("kernel", report=systems, kernel=str(min(lone))))
    assert "The linked Compute report did not measure this kernel." in unmeasured


def limits(**changed: Any) -> dict[str, Any]:
    known = {
        "verdict": "memory bound", "compute_pct": 30.0, "memory_pct": 70.0, "roof": "compute", "pct_of_roof": 40.0,
        "flops_per_s": 1e12, "stall": "wait", "stall_pct": 50.0,
    }  # fmt: skip
    return known | changed


def test_the_sentence_says_why_roof_and_verdict_differ() -> None:
    assert "caches are the busy memory, not DRAM" in verdicts.sentence(limits())
    busy = limits(verdict="compute bound", roof="memory")
    assert "other instructions keep the SMs busy" in verdicts.sentence(busy)
    assert "no floating-point work" in verdicts.sentence(busy | {"flops_per_s": 0})
    assert verdicts.sentence(limits(roof="memory")).count(";") == 2
    assert verdicts.sentence(limits(verdict=None)) == ""
    assert verdicts.sentence(limits(pct_of_roof=None, stall=None, stall_pct=None)) == (
        "Memory bound: compute runs at 30.0 % of peak, memory at 70.0 %."
    )

"""A launch and a kernel have one verdict on every page, in every table, file and answer for programs."""

import re
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.ui import verdicts
from profiledb.library.library import Library
from profiledb.query import analysis
from tests.app.conftest import Dashboard, needs_samples
from tests.support.every_report import slow_but

COMPUTE, SYSTEMS = "transformer_training.ncu-rep", "transformer_training.nsys-rep"
PAIRS = {COMPUTE: SYSTEMS, "attention.ncu-rep": "attention.nsys-rep", "kernels.ncu-rep": "kernels.nsys-rep",
         "transformer_inference.ncu-rep": "transformer_inference.nsys-rep"}  # fmt: skip
WORDS = {"memory bound", "compute bound", "latency bound", "not measured"}
METRICS = """
SELECT launch_id, name, value FROM ncu_metric JOIN ncu_metric_name USING (metric_id) JOIN ncu_launch USING (launch_id)
WHERE kernel LIKE '%masked_fill%' AND name IN (
    'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed', 'sm__throughput.avg.pct_of_peak_sustained_elapsed',
    'gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed',
    'smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio',
    'smsp__average_warp_latency_per_inst_issued.ratio')
ORDER BY launch_id, name
"""
LIGHT = """
SELECT launch_id, max(value) FILTER (name = 'sm__throughput.avg.pct_of_peak_sustained_elapsed') AS compute,
    max(value) FILTER (name = 'gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed') AS memory,
    max(value) FILTER (name = 'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed') AS dram
FROM ncu_metric JOIN ncu_metric_name USING (metric_id)
WHERE name LIKE '%_throughput.avg.pct%' OR name LIKE 'sm__throughput.avg.pct%'
GROUP BY launch_id
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
        f"Compute bound: compute {compute:.1f} %, memory {memory:.1f} % of peak;"
        f" no floating-point work, and {dram:.1f} % of DRAM bandwidth: other instructions keep the SMs busy;"
        f" warps wait {100 * stall / latency:.1f} % of their time for long scoreboard (memory),"
        " partly hidden by other warps."
    )


def by_metrics(library: Library, report: str) -> dict[int, str]:
    """The verdict on each launch from ncu's own metrics, by the thresholds of sections/SpeedOfLight.py."""
    told = {}
    for row in analysis.query(library, library.find(report).id, LIGHT).to_dict("records"):
        compute, memory, dram = row["compute"], row["memory"], row["dram"]
        if pd.isna(compute) or pd.isna(memory):
            told[int(row["launch_id"])] = "not measured"
        elif compute < 60 and memory < 60:
            told[int(row["launch_id"])] = "latency bound"
        else:
            by_dram = memory - compute < 10  # ncu: balanced
            is_compute = compute >= (min(memory, dram) if by_dram else memory)
            told[int(row["launch_id"])] = "compute bound" if is_compute else "memory bound"
    return told


@pytest.mark.slow("draws six pages")
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
    kernels = dashboard("kernels", report=systems).dataframe[0].value.set_index("name")
    mine = analysis.run(library, systems, "kernel_verdicts", {"kernel": row["kernel"]}).iloc[0]
    assert (kernels.loc[row["name"], "verdict"], mine["verdict"]) == ("compute bound", "compute bound")
    lone = set(rows["kernel"]) - set(rows[rows["launch_id"].notna()]["kernel"])
    unmeasured = dashboard("kernel", report=systems, kernel=str(min(lone)))
    assert "Not measured: no linked Compute report has it." in texts(unmeasured).replace("**", "")
    assert any(code.value.startswith("ncu --set full --launch-count 1 --kernel-name") for code in unmeasured.code)


@needs_samples
@pytest.mark.parametrize("report", slow_but([COMPUTE, "kernels.ncu-rep"], PAIRS, "another pair of reports"))
def test_no_two_answers_disagree_about_a_launch(library: Library, report: str) -> None:
    """Every analysis with a verdict or a bound gives the one that follows from ncu's metrics."""
    expected = by_metrics(library, report)
    assert set(expected.values()) <= WORDS
    compute, systems = library.find(report).id, library.find(PAIRS[report]).id
    answers = {
        name: analysis.run(library, compute, name) for name in ("ncu_speed_of_light", "ncu_limits", "ncu_roofline")
    }
    answers["joined"] = analysis.run(library, systems, "time_weighted_roofline", {"ncu": compute})
    answers["joined"] = answers["joined"][answers["joined"]["match"] == "exact"]
    for name, rows in answers.items():
        assert len(rows)
        for row in rows.to_dict("records"):
            verdict = expected[int(row["launch_id"])]
            assert row["verdict"] == verdict, (name, row["launch_id"])
            if "bound" in row and verdict != "not measured":
                assert f"{row['bound']} bound" == verdict, (name, row["launch_id"])
            assert row.get("roof") not in ("memory", "compute"), "a second word for what limits the launch"
    kernels = analysis.run(library, systems, "kernel_verdicts", {"ncu": compute})
    for row in kernels.to_dict("records"):
        shapes = answers["joined"][answers["joined"]["kernel"] == row["kernel"]]
        assert row["verdict"] in {*shapes["verdict"]} or (row["verdict"], len(shapes)) == ("not measured", 0)
        assert (row["verdict"] == "not measured") == isinstance(row["command"], str)
        if row["verdict"] != "not measured":
            assert row["verdict"] == expected[int(row["launch_id"])]


def limits(**changed: Any) -> dict[str, Any]:
    known = {
        "verdict": "memory bound", "reason": "compute 30.0 %, memory 70.0 % of peak", "roof": "fp32",
        "pct_of_roof": 40.0, "flops_per_s": 1e12, "stall": "wait", "stall_pct": 50.0,
    }  # fmt: skip
    return known | changed


def test_the_sentence_says_why_roof_and_verdict_differ() -> None:
    assert "40.0 % of FP32 peak, because caches are the busy memory, not DRAM" in verdicts.describe_verdict(limits())
    busy = limits(verdict="compute bound", roof="dram")
    assert "40.0 % of DRAM bandwidth, because other instructions keep the SMs busy" in verdicts.describe_verdict(busy)
    assert "no floating-point work" in verdicts.describe_verdict(busy | {"flops_per_s": 0})
    assert verdicts.describe_verdict(limits(roof="dram")).count(";") == 2
    assert verdicts.describe_verdict(limits(verdict="not measured")) == ""
    assert verdicts.describe_verdict(limits(pct_of_roof=None, stall=None, stall_pct=None)) == (
        "Memory bound: compute 30.0 %, memory 70.0 % of peak."
    )

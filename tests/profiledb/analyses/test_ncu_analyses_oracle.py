"""Analyses of the sample Compute reports against ncu's printed details page and the text of its rules."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from tests.conftest import SAMPLES
from tests.support import nsys_oracle
from tests.support.page_reports import run

NAMES = sorted(path.name.removesuffix("_ncu") for path in (SAMPLES / "oracle").glob("*_ncu"))
UNITS = ("", "%", "block", "warp", "register/thread")
LIGHT = {
    "compute_pct": ("GPU Speed Of Light Throughput", "Compute (SM) Throughput"),
    "memory_pct": ("GPU Speed Of Light Throughput", "Memory Throughput"),
    "dram_pct": ("GPU Speed Of Light Throughput", "DRAM Throughput"),
    "l1_pct": ("GPU Speed Of Light Throughput", "L1/TEX Cache Throughput"),
    "l2_pct": ("GPU Speed Of Light Throughput", "L2 Cache Throughput"),
    "l1_hit_pct": ("Memory Workload Analysis", "L1/TEX Hit Rate"),
    "l2_hit_pct": ("Memory Workload Analysis", "L2 Hit Rate"),
    "occupancy_pct": ("Occupancy", "Achieved Occupancy"),
    "theoretical_occupancy_pct": ("Occupancy", "Theoretical Occupancy"),
    "registers": ("Launch Statistics", "Registers Per Thread"),
}
LIMITS = {
    "registers": "Block Limit Registers",
    "shared_mem": "Block Limit Shared Mem",
    "warps": "Block Limit Warps",
    "blocks": "Block Limit SM",
    "barriers": "Block Limit Barriers",
}

Printed = dict[int, dict[tuple[str, str], float]]
Said = dict[int, list[str]]


@pytest.fixture(scope="module")
def samples(sample_data: Path) -> Library:
    """A library of the samples, with the Compute reports."""
    return Library(sample_data / "library")


def rows_of(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(
        io.StringIO(nsys_oracle.printed(SAMPLES / "oracle" / f"{name}_ncu", "details"), newline="")
    )


@pytest.fixture(scope="module", params=NAMES)
def case(request: pytest.FixtureRequest, samples: Library) -> tuple[Library, str, Printed, Said]:
    """The library, the id of a report, ncu's output for each launch, and the messages of its rules."""
    printed: Printed = defaultdict(dict)
    said: Said = defaultdict(list)
    for row in rows_of(request.param):
        launch = int(row["ID"])
        if row["Metric Name"] and row["Metric Unit"] in UNITS and row["Metric Value"]:
            value = re.fullmatch(r"-?[\d,]+(\.\d+)?", row["Metric Value"])
            if value:
                number = float(row["Metric Value"].replace(",", ""))
                printed[launch][row["Section Name"], row["Metric Name"]] = number
        if row["Rule Description"]:
            said[launch].append(row["Rule Description"])
    assert printed
    return samples, samples.find(f"{request.param}.ncu-rep").id, printed, said


def by_launch(case: tuple[Library, str, Printed, Said], analysis: str) -> dict[int, dict[str, Any]]:
    return {row["launch_id"]: row for row in run(case[0], case[1], analysis)}


def test_speed_of_light_and_hit_rates(case: tuple[Library, str, Printed, Said]) -> None:
    found = by_launch(case, "ncu_speed_of_light")
    assert set(found) == set(case[2])
    for launch, page in case[2].items():
        for column, place in LIGHT.items():
            assert found[launch][column] == pytest.approx(page[place], abs=0.0051), (launch, column)


def test_the_limiter_is_the_smallest_block_limit(case: tuple[Library, str, Printed, Said]) -> None:
    found = by_launch(case, "ncu_occupancy")
    for launch, page in case[2].items():
        limits = {what: page["Occupancy", label] for what, label in LIMITS.items() if ("Occupancy", label) in page}
        least = min(limits.values())
        assert found[launch]["limiter"].split(", ") == [what for what, value in limits.items() if value == least]
        assert found[launch]["limit_blocks"] == least
        assert found[launch]["theoretical_warps"] == pytest.approx(page["Occupancy", "Theoretical Active Warps per SM"])


def test_the_curve_goes_through_the_launch(case: tuple[Library, str, Printed, Said]) -> None:
    found = by_launch(case, "ncu_occupancy")
    current = [row for row in run(case[0], case[1], "ncu_occupancy_curve") if row["is_current"]]
    assert len(current) == 3 * len(found)
    for row in current:
        assert row["occupancy_pct"] == pytest.approx(found[row["launch_id"]]["theoretical_pct"], abs=0.01), row


def test_stalls_as_the_rule_tells_them(case: tuple[Library, str, Printed, Said]) -> None:
    """The rule names the largest stall: its cycles, its share, and the latency."""
    pattern = re.compile(
        r"spends ([\d.]+) cycles being stalled.*about ([\d.]+)% of the total average of ([\d.]+) cycles"
    )
    told = [(launch, match) for launch, texts in case[3].items() for text in texts if (match := pattern.search(text))]
    assert told
    for launch, match in told:
        cycles, share, latency = map(float, match.groups())
        rows = run(case[0], case[1], "ncu_stalls", launch=launch)
        assert any(
            row["cycles_per_issue"] == pytest.approx(cycles, abs=0.051)
            and row["share_pct"] == pytest.approx(share, abs=0.051)
            for row in rows
        ), match[0]
        assert rows[0]["latency_cycles"] == pytest.approx(latency, abs=0.051)
        assert 90 < sum(row["share_pct"] or 0 for row in rows) < 110


def test_the_tail_as_the_rule_tells_it(case: tuple[Library, str, Printed, Said]) -> None:
    pattern = re.compile(r"results in (\d+) full waves and a partial wave.*up to ([\d.]+)% of the total")
    found = by_launch(case, "ncu_launch_shape")
    for launch, texts in case[3].items():
        for match in filter(None, map(pattern.search, texts)):
            assert found[launch]["full_waves"] == int(match[1])
            assert found[launch]["tail_pct"] == pytest.approx(float(match[2]), abs=0.051)


def test_bank_conflicts_as_the_rule_tells_them(case: tuple[Library, str, Printed, Said]) -> None:
    pattern = re.compile(r"shared (loads|stores) might.*average a ([\d.]+) ?- ?way.*represent ([\d.]+)% of the overall")
    for launch, texts in case[3].items():
        for match in filter(None, map(pattern.search, texts)):
            rows = run(case[0], case[1], "ncu_memory", launch=launch)
            values = {row["figure"]: row["value"] for row in rows if row["part"] == f"Shared {match[1]}"}
            assert values["Wavefronts for a request (n-way)"] == pytest.approx(float(match[2]), abs=0.051)
            assert values["Bank conflicts of the wavefronts"] == pytest.approx(float(match[3]), abs=0.0051)


def test_rules_are_word_for_word(case: tuple[Library, str, Printed, Said]) -> None:
    for launch, texts in case[3].items():
        assert [row["message"] for row in run(case[0], case[1], "ncu_rules", launch=launch)] == texts

"""The roofline of launches from the raw page of ncu, by the formulas of its sections and docs/roofline.md."""

import csv
import gzip
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

Launch = dict[str, str]
Rate = tuple[float, float | None]
"""Work or traffic per second, and the most of it."""

LETTERS = {"fp64": "d", "fp32": "f", "fp16": "h"}
DOUBTFUL_PCT = 5
"""Below this share of their peak FP16 FMAs alone are no work."""


@cache
def raw_page(path: Path) -> list[Launch]:
    """The launches of a raw page: metrics by name, as texts in base units."""
    lines = csv.reader(io.StringIO(gzip.decompress(path.read_bytes()).decode()))
    heads, _, *rows = lines
    return [dict(zip(heads, row, strict=True)) for row in rows]


def number(launch: Launch, name: str) -> float | None:
    text = launch.get(name, "")
    return float(text.replace(",", "")) if text else None


def rows(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """A row a launch, precision and level of the memory."""
    found = {}
    for launch in raw_page(path):
        work, traffic = _work(launch), _traffic(launch)
        shares = {precision: _share(launch, precision, rate) for precision, rate in work.items()}
        main = max(shares, key=shares.__getitem__)
        for precision, (flops, flops_peak) in work.items():
            for level, (moved, moved_peak) in traffic.items():
                found[int(launch["ID"]), precision, level] = {
                    "flops_per_s": flops,
                    "peak_flops_per_s": flops_peak,
                    "bytes_per_s": moved,
                    "peak_bytes_per_s": moved_peak,
                    "is_main": precision == main if shares[main] else None,
                } | _roof(flops, flops_peak, moved, moved_peak, (level, precision))
    return found


def _roof(
    flops: float, flops_peak: float | None, moved: float, moved_peak: float | None, roofs: tuple[str, str]
) -> dict[str, Any]:
    if not flops_peak or not moved_peak or not moved:
        return {"intensity": flops / moved if moved else None}
    intensity = flops / moved
    ridge = flops_peak / moved_peak
    # without work the share of the roof is that of the traffic alone
    share = flops / min(flops_peak, intensity * moved_peak) if flops else moved / moved_peak
    return {
        "intensity": intensity,
        "ridge": ridge,
        "pct_of_roof": 100 * share,
        "roof": roofs[intensity > ridge],
    }


def _share(launch: Launch, precision: str, rate: Rate) -> float:
    share = rate[0] / rate[1] if rate[1] else 0.0
    alone = precision == "fp16" and not any(_per_cycle(launch, f"h{kind}") for kind in ("add", "mul"))
    return 0.0 if alone and 100 * share < DOUBTFUL_PCT else share


def _per_cycle(launch: Launch, operation: str) -> float | None:
    return number(launch, f"smsp__sass_thread_inst_executed_op_{operation}_pred_on.sum.per_cycle_elapsed")


def _work(launch: Launch) -> dict[str, Rate]:
    found: dict[str, Rate] = {}
    clock = number(launch, "smsp__cycles_elapsed.avg.per_second") or 0.0
    for precision, letter in LETTERS.items():
        counts = [_per_cycle(launch, letter + kind) for kind in ("add", "mul", "fma")]
        if None in counts:
            continue
        wide = 2 if precision == "fp16" else 1  # an FP16 instruction works on two numbers
        flops = wide * sum(times * (count or 0.0) for times, count in zip((1, 1, 2), counts, strict=True))
        most = number(launch, f"sm__sass_thread_inst_executed_op_{letter}fma_pred_on.sum.peak_sustained") or 0.0
        found[precision] = flops * clock, 2 * wide * most * (number(launch, "sm__cycles_elapsed.avg.per_second") or 0.0)
    tensor = _tensor(launch)
    return found | ({"tensor": tensor} if tensor else {})


def _tensor(launch: Launch) -> Rate | None:
    """Of names of one type the widest; the peak of several types is that of their mixture."""
    names: dict[str, str] = {}
    for metric in launch:
        told = re.fullmatch(r"sm__ops_path_tensor_(src_([a-z]+\d+)(?:_dst_[a-z]+\d+)?)\.sum\.per_second", metric)
        if told and launch[metric] and len(told[1]) < len(names.get(told[2], "x" * 99)):
            names[told[2]] = told[1]
    clock = number(launch, "sm__cycles_elapsed.avg.per_second") or 0.0
    work, peaks = {}, {}
    for kind, name in names.items():
        work[kind] = number(launch, f"sm__ops_path_tensor_{name}.sum.per_second") or 0.0
        most = number(launch, f"sm__ops_path_tensor_{name}.sum.peak_sustained") or 0.0
        peaks[kind] = most * clock / (1 if kind == "fp64" else 2)  # dense
    if not work:
        return None
    total = sum(work.values())
    if not total:
        halves = [peaks[kind] for kind in ("bf16", "fp16") if kind in peaks]
        return 0.0, max(halves or peaks.values())
    return total, total / sum(work[kind] / peaks[kind] for kind in work)


def _traffic(launch: Launch) -> dict[str, Rate]:
    """By level; missing counts of the section of its roofline are derived from the other sections."""
    seconds = (number(launch, "gpu__time_duration.sum") or 0.0) / 1e9
    found = {"dram": _rate(launch, "dram__bytes", "dram")}
    if "derived__lts__lts2xbar_bytes.sum.per_second" in launch:
        found["l2"] = _rate(launch, "derived__lts__lts2xbar_bytes", "lts")
        found["l1"] = _rate(launch, "derived__l1tex__lsu_writeback_bytes_mem_lgds", "l1tex")
        return found
    sectors = 32 * (number(launch, "lts__t_sectors.sum") or 0.0) / seconds
    share = number(launch, "lts__t_sectors.sum.pct_of_peak_sustained_elapsed") or 0.0
    found["l2"] = sectors, sectors / share * 100 if share >= 1 else None
    clock = number(launch, "sm__cycles_elapsed.avg.per_second") or 0.0
    processors = number(launch, "device__attribute_multiprocessor_count") or 0.0
    back = 128 * (number(launch, "l1tex__lsu_writeback_active_mem_lgds.sum") or 0.0) / seconds
    found["l1"] = back, 128 * processors * clock
    return found


def _rate(launch: Launch, name: str, unit: str) -> Rate:
    clock = number(launch, f"{unit}__cycles_elapsed.avg.per_second") or 0.0
    return number(launch, f"{name}.sum.per_second") or 0.0, (
        number(launch, f"{name}.sum.peak_sustained") or 0.0
    ) * clock

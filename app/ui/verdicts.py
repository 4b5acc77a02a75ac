"""The verdict on a launch: its color, and the sentence that every page uses for it."""

from collections.abc import Mapping
from typing import Any

from app.ui import format as fmt
from app.ui import theme
from app.ui.charts import Theme
from profiledb import words

COLORS: dict[Theme, dict[str, str]] = {
    "light": {
        "memory bound": "#0072B2",
        "compute bound": "#E69F00",
        "latency bound": "#B5569B",
        words.NOT_MEASURED: "#8A929E",
    },
    "dark": {
        "memory bound": "#008DDD",
        "compute bound": "#EBA200",
        "latency bound": "#C873B2",
        words.NOT_MEASURED: "#8B95A3",
    },
}
LEVELS = {"dram": "DRAM", "l2": "L2", "l1": "L1"}
ROOFS = {"tensor": "tensor core"}
_ADVICE = {
    "memory bound": (
        "Move fewer bytes, reuse them from caches, shared memory or registers, or fuse kernels: the memory system"
        " is the busier side."
    ),
    "compute bound": (
        "Use fewer or cheaper instructions, such as lower precision or tensor cores: the SM pipes are the busier side."
    ),
    "latency bound": (
        "See what warps wait for, and the occupancy: neither side is busy, so warps wait for each other or for results."
        " Where the grid has less than one wave, put more parallel work into a launch."
    ),
}
"""What to do by verdict, and why."""
_NO_FLOPS = "Use fewer instructions per element: wider loads and stores, cheaper index arithmetic, fused neighbors."
_WAITS = {"wait": "a fixed latency (wait)", "not_selected": "their turn (not selected)"}
"""Stalls whose names make no sense after "wait for"."""
MEMORY_STALLS = ("long_scoreboard", "lg_throttle", "drain", "membar", "tex_throttle")
"""Reasons of ``ncu_stalls`` that are waits for global memory or its queue."""


def get_color(verdict: str) -> str:
    """Return the color of a verdict in this visitor's theme."""
    return COLORS[theme.get_theme()][verdict]


def choose_advice(verdict: str, flops_per_s: object = None) -> str:
    """Return what to do about a measured verdict; ``flops_per_s`` is 0 for a kernel without floating-point work."""
    return _NO_FLOPS if verdict == "compute bound" and flops_per_s == 0 else _ADVICE[verdict]


def get_roof_title(roof: str) -> str:
    """Return the roof above a launch (column ``roof``) in words: ``DRAM bandwidth``, ``FP32 peak``."""
    return f"{LEVELS[roof]} bandwidth" if roof in LEVELS else f"{ROOFS.get(roof, roof.upper())} peak"


def describe_verdict(row: Mapping[Any, Any]) -> str:
    """Describe the verdict of an ``ncu_limits`` row together with its roofline and stall data (plain text).

    Return "" for a launch that was not measured. Where the three seem to disagree, the sentence explains why they do
    not.
    """
    if row["verdict"] == words.NOT_MEASURED:
        return ""
    parts = [f"{row['verdict'].capitalize()}: {row['reason']}", _describe_roof(row), _describe_stall(row)]
    return "; ".join(part for part in parts if part) + "."


def _describe_roof(row: Mapping[Any, Any]) -> str:
    """Describe the roofline position relative to the verdict."""
    verdict, share = row["verdict"], fmt.number(row["pct_of_roof"])
    if share is None:
        return ""
    if row["flops_per_s"] == 0:
        clause = f"no floating-point work, and {fmt.percent(share)} of DRAM bandwidth"
        return clause + (": other instructions keep the SMs busy" if verdict == "compute bound" else "")
    clause = f"it reaches {fmt.percent(share)} of {get_roof_title(row['roof'])}"
    if verdict == "compute bound" and row["roof"] in LEVELS:
        return f"{clause}, because other instructions keep the SMs busy"
    if verdict == "memory bound" and row["roof"] not in LEVELS:
        return f"{clause}, because caches are the busy memory, not DRAM"
    return clause


def _describe_stall(row: Mapping[Any, Any]) -> str:
    """Describe the main stall reason relative to the verdict."""
    share = fmt.number(row["stall_pct"])
    if share is None or not isinstance(row["stall"], str):
        return ""
    clause = (
        f"warps wait {fmt.percent(share)} of their time for {_WAITS.get(row['stall'], row['stall'].replace('_', ' '))}"
    )
    if row["stall"] in MEMORY_STALLS and row["verdict"] == "compute bound":
        return f"{clause} (memory), partly hidden by other warps"
    return clause

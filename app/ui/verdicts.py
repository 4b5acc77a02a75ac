"""The verdict on a launch: its color, and the sentence that every page uses for it."""

from collections.abc import Mapping
from typing import Any

from app.ui import format as fmt
from app.ui import theme
from app.ui.charts import Theme

UNKNOWN = "no verdict"
COLORS: dict[Theme, dict[str, str]] = {
    "light": {
        "memory bound": "#0072B2", "compute bound": "#E69F00", "high throughput": "#46A394", "balanced": "#7DAFE1",
        "latency bound": "#B5569B", "small grid": "#E84B5F", UNKNOWN: "#8A929E",
    },
    "dark": {
        "memory bound": "#008DDD", "compute bound": "#EBA200", "high throughput": "#76C4B7", "balanced": "#96BCE2",
        "latency bound": "#C873B2", "small grid": "#EA6979", UNKNOWN: "#8B95A3",
    },
}  # fmt: skip
_WAITS = {"wait": "a fixed latency (wait)", "not_selected": "their turn (not selected)"}
"""Stalls whose names make no sense after "wait for"."""
MEMORY_STALLS = ("long_scoreboard", "lg_throttle", "drain", "membar", "tex_throttle")
"""Reasons of ``ncu_stalls`` that are waits for global memory or its queue."""


def title(verdict: object) -> str:
    """Return the text of an analysis verdict, or ``UNKNOWN``."""
    return verdict if isinstance(verdict, str) else UNKNOWN


def color(verdict: object) -> str:
    """Return the color of a verdict in this visitor's theme."""
    known = COLORS[theme.theme()]
    return known.get(title(verdict), known[UNKNOWN])


def sentence(row: Mapping[Any, Any]) -> str:
    """Describe the verdict of an ``ncu_limits`` row together with its roofline and stall data (plain text).

    Return "" without a verdict. Where the three seem to disagree, the sentence explains why they do not.
    """
    if not isinstance(row["verdict"], str):
        return ""
    light = f"compute runs at {fmt.percent(row['compute_pct'])} of peak, memory at {fmt.percent(row['memory_pct'])}"
    if row["verdict"] == "small grid":
        light += f", in {row['waves_per_sm']:.2f} waves"
    parts = [f"{row['verdict'].capitalize()}: {light}", _roof(row), _stall(row)]
    return "; ".join(part for part in parts if part) + "."


def _roof(row: Mapping[Any, Any]) -> str:
    """Describe the roofline position relative to the verdict."""
    verdict, share = row["verdict"], fmt.number(row["pct_of_roof"])
    if share is None:
        return ""
    if row["flops_per_s"] == 0:
        said = f"no floating-point work, so the roofline shows only its traffic, {fmt.percent(share)} of DRAM bandwidth"
        return said + (", and other instructions keep the SMs busy" if verdict == "compute bound" else "")
    said = f"it reaches {fmt.percent(share)} of the {row['roof']} roof"
    if (verdict, row["roof"]) == ("compute bound", "memory"):
        return f"{said}, because other instructions keep the SMs busy"
    if (verdict, row["roof"]) == ("memory bound", "compute"):
        return f"{said}, because caches are the busy memory, not DRAM"
    return said


def _stall(row: Mapping[Any, Any]) -> str:
    """Describe the main stall reason relative to the verdict."""
    share = fmt.number(row["stall_pct"])
    if share is None or not isinstance(row["stall"], str):
        return ""
    said = (
        f"warps wait {fmt.percent(share)} of their time for {_WAITS.get(row['stall'], row['stall'].replace('_', ' '))}"
    )
    if row["stall"] in MEMORY_STALLS and row["verdict"] == "compute bound":
        return f"{said} (memory), partly hidden by other warps"
    return said

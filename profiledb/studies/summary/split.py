"""The matmul share of one report in words, from the rows of ``matmul_split``: Markdown, escaped."""

from collections.abc import Mapping

import pandas as pd

from profiledb import words
from profiledb.rules.phases import ALL, NONE


def describe_matmul(rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Describe the matmul share of a report by phase, and the phase without matmul that dilutes it.

    Args:
        rows: ``matmul_split``, by phase.
        titles: titles of the phases.
    """
    whole = rows.loc[ALL]
    if not whole["matmul_ns"]:
        return "No kernel here is a matmul."
    parts = rows[(rows["phase"] != ALL) & (rows["total_ns"] > 0)]
    shares = (words.percent(whole[name]) for name in ("matmul_pct", "rest_pct"))
    said = ["Matmul takes **{}** of kernel time, the rest **{}**.".format(*shares)]
    if set(parts["phase"]) == {NONE}:
        return said[0]
    told = [f"{phase_title(titles, row['phase'])} {words.percent(row['matmul_pct'])}" for _, row in parts.iterrows()]
    said.append(f"Matmul share: {', '.join(told)}.")
    diluting = (parts["phase"] != NONE) & (parts["matmul_pct"] < 1) & (parts["share_pct"] >= 1)
    for _, row in parts[diluting].iterrows():
        left = whole["total_ns"] - row["total_ns"]
        if left > 0:
            pct = 100 * (whole["matmul_ns"] - row["matmul_ns"]) / left
            said.append(
                f"Excluding {phase_title(titles, row['phase'])} ({words.percent(row['share_pct'])} of the time):"
                f" {words.percent(pct)}."
            )
    return " ".join(said)


def describe_share(pct: float) -> str:
    """Describe a share."""
    return "none" if not pct else words.percent(pct)


def phase_title(titles: Mapping[str, str], phase: str) -> str:
    """Return the title of a phase, escaped."""
    return words.plain("no phase" if phase == NONE else titles.get(phase, phase))


def join_names(parts: list[str]) -> str:
    """Join names: "one, two and three"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

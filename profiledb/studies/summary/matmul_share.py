"""The matmul share of one report in words, from the rows of ``matmul_split``: Markdown, escaped."""

from collections.abc import Mapping

import pandas as pd

from profiledb import words
from profiledb.rules.phases import ALL, NONE

LEAST_PCT = 1.0
"""Share of kernel time from which a phase counts."""
DILUTED = 0.1
"""Part of the whole matmul share below which a phase counts as one without matmul."""


def describe_matmul(rows: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Describe the matmul share of a report by phase, and the phase without matmul that dilutes it.

    Args:
        rows: ``matmul_split``, by phase.
        titles: titles of the phases.
    """
    whole = rows.loc[ALL]
    if not whole["matmul_ns"]:
        return "No kernel here is a matmul."
    phases = rows[(rows["phase"] != ALL) & (rows["total_ns"] > 0)]
    shares = (words.percent(whole[name]) for name in ("matmul_pct", "rest_pct"))
    sentences = ["Matmul takes **{}** of kernel time, the rest **{}**.".format(*shares)]
    if set(phases["phase"]) == {NONE} or (phases["share_pct"] >= LEAST_PCT).sum() == 1:
        return sentences[0]  # of one phase, the shares are those of everything
    shares_by_phase = [
        f"{get_phase_title(titles, row['phase'])} {words.percent(row['matmul_pct'])}" for _, row in phases.iterrows()
    ]
    sentences.append(f"Matmul share: {', '.join(shares_by_phase)}.")
    little = (phases["matmul_pct"] < 1) & (phases["matmul_pct"] < DILUTED * whole["matmul_pct"])
    diluting = (phases["phase"] != NONE) & little & (phases["share_pct"] >= 1)
    for _, row in phases[diluting].iterrows():
        left = whole["total_ns"] - row["total_ns"]
        if left > 0:
            pct = 100 * (whole["matmul_ns"] - row["matmul_ns"]) / left
            sentences.append(
                f"Excluding {get_phase_title(titles, row['phase'])} ({words.percent(row['share_pct'])} of kernel time):"
                f" {words.percent(pct)}."
            )
    return " ".join(sentences)


def describe_share(pct: float) -> str:
    return "none" if not pct else words.percent(pct)


def get_phase_title(titles: Mapping[str, str], phase: str) -> str:
    """Return the title of a phase, escaped."""
    return words.plain("no phase" if phase == NONE else titles.get(phase, phase))


def join_names(names: list[str]) -> str:
    """Join names: "one, two and three"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

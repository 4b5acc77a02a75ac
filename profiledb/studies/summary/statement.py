"""A statement of a summary, and how it is asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from profiledb.query import header

Ask = Callable[..., pd.DataFrame]
"""Runs an analysis by name on the selection; raises NotCapturedError."""
NAMED = 3
"""Number of kernels without a class, or of holders of memory, that are named."""


@dataclass(frozen=True)
class Statement:
    """A sentence (Markdown, names as code), its weight in ns, and where to read on.

    ``page`` is an address of the dashboard, ``query`` its parameters besides report and selection. ``rank``: negative
    ones and 0 come first whatever the weights, then 1. ``group`` is the group of rules whose findings say the same.
    ``code`` is the sentence on the code that runs meanwhile, which is left out if a finding names it. ``within`` is
    True if the text ends with the small part of the capture that shares of the time refer to.
    """

    text: str
    worth_ns: float
    label: str
    page: str
    query: Mapping[str, str] = field(default_factory=dict)
    rank: int = 2
    group: str = ""
    code: str = ""
    within: bool = False


def get_page(analysis: str) -> str:
    """Return the address of the page that shows an analysis."""
    return header.get(analysis).page

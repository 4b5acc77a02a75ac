"""Words and colours of the page "Memory and API": categories of calls, reasons for idle time, kinds of waits."""

import pandas as pd

from app.ui import charts, draw, tables, theme
from app.ui import format as fmt
from profiledb.rules.classes import OTHER

SHORT = 10
"""Rows of a table before it scrolls by itself: this page has many."""

CATEGORIES = {
    "launch": "Launch",
    "synchronisation": "Synchronisation",
    "blocking copy": "Blocking copy",
    "queued copy": "Queued copy or set",
    "allocation": "Allocation",
    "module loading": "Module loading",
    "other": "Other",
}
"""What people read for each category of ``api_categories``."""

REASONS = {
    "host code": "Host code",
    "launch call": "Launch call",
    "synchronisation": "Synchronisation",
    "copy call": "Copy or set call",
    "allocation": "Allocation",
    "module loading": "Module loading",
    "other CUDA call": "Other CUDA call",
    "OS runtime call": "OS runtime call",
    "launched, not begun": "Launched, not begun",
    "between operations": "Between operations",
    "until the end": "No operation follows",
    "unknown": "Unknown",
}
"""What people read for each reason of ``idle_reasons``."""

ADVICE = {
    "host code": "The host was outside CUDA while the GPU waited, for example in Python or in the data loader:"
    " CUDA graphs or a compiled model need less of it for a launch, larger batches need fewer launches.",
    "launch call": "The GPU waited for launch calls: fewer and larger kernels, or a CUDA graph, need fewer of them.",
    "synchronisation": "The host waited for the GPU with nothing queued behind: look for what asks for a result,"
    " such as .item() or .cpu(), and let it ask later.",
    "copy call": "The GPU waited for the host to hand over data: pinned memory and a stream of its own let a copy run"
    " beside kernels.",
    "allocation": "The GPU waited for allocations: allocate once before the loop, or from a pool.",
    "module loading": "Kernels are loaded when they are first launched: leave the first steps out of the capture, or"
    " load them before with CUDA_MODULE_LOADING=EAGER.",
    "other CUDA call": "The host was in CUDA calls that launch nothing; the table names the one that took most.",
    "OS runtime call": "The thread that launches was in the operating system: it waited for another thread, a file or a"
    " lock.",
    "launched, not begun": "The launch had been handed over, so the host was not late: launches take a few µs to reach"
    " the GPU, and wait for events of other streams.",
    "between operations": "Pauses between operations that follow each other closely: fewer and larger kernels, or a"
    " CUDA graph, have fewer of them.",
    "until the end": "No operation follows before the capture, or the stretch that is selected, ends.",
    "unknown": "The report has no calls of the operations that end these gaps.",
}
"""What can be done, by reason."""

_BORROWED = ("matmul", "attention", "convolution", "normalization", "reduction", "elementwise", "softmax", "copy")
_FIXED = {
    "launch": 0, "launch call": 0, "synchronisation": 1, "blocking copy": 2, "copy call": 2, "queued copy": 3,
    "launched, not begun": 3, "allocation": 4, "host code": 5, "OS runtime call": 6, "module loading": 7,
}  # fmt: skip
"""Which of the colours each has; what is not here is grey."""


def color(name: str) -> str:
    """The colour of a category or reason in this visitor's theme; grey for what says little."""
    return palette()[_FIXED[name]] if name in _FIXED else theme.class_colors()[OTHER]


def palette() -> list[str]:
    """Colours that stay apart with each kind of colour blindness: those of kernel classes, which no chart here has."""
    known = theme.class_colors()
    return [known[name] for name in _BORROWED if name in known] or list(known.values())


def share_bar(rows: pd.DataFrame, column: str, amount: str, titles: dict[str, str], *, key: str) -> None:
    """Shares of categories or reasons as one bar; ``amount`` is the column of the time of each."""
    parts = [
        charts.Part(
            titles.get(row[column], row[column]), float(row["share_pct"]), fmt.duration(row[amount]), color(row[column])
        )
        for _, row in rows.iterrows()
    ]
    draw.chart(charts.share_bar(parts, theme.theme()), key)


def height(rows: int) -> int | None:
    """The height of a table that scrolls after a few rows; None where all fit."""
    return (SHORT + 1) * tables.ROW_PX + 2 if rows > SHORT else None

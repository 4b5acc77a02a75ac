"""Sections of the summary of a PyTorch memory snapshot, which contains the memory of tensors only."""

from typing import Any

from profiledb import words
from profiledb.library.catalog import Manifest
from profiledb.query.analysis import rows_or_none
from profiledb.studies.summary import nsys, top_findings
from profiledb.studies.summary.answers import Answers, Section, Shown, format_table, name_cell
from profiledb.studies.summary.snapshot import shorten_line

TOP = 10
WORK = ("kernel", "graph_launch", "memop", "api_call")
"""Tables that are empty in a report that is only a snapshot."""


def _format_place(value: Any) -> str:
    """Format a source line or a stack as code, without the folders of files."""
    return name_cell(shorten_line(value), 200) if isinstance(value, str) else words.MISSING


def _tell_moment(value: Any, otherwise: str) -> str:
    return otherwise if words.number(value) is None else words.duration(value)


_DEVICES: Shown = {
    "Device": ("device", words.plain), "Peak": "peak_bytes", "At": "peak_ns", "At the start": "before_bytes",
    "At the end": "end_bytes", "Allocations": "allocations", "Reserved": "reserved_bytes",
    "Failed allocations": "out_of_memory",
}  # fmt: skip
_PEAK: Shown = {
    "Device": ("device", words.plain), "Allocated by": ("name", _format_place), "Held": "bytes", "Share": "share_pct",
    "Tensors": "tensors", "Largest": "largest_bytes",
}  # fmt: skip
_GROWN: Shown = {
    "Device": ("device", words.plain), "Allocated by": ("name", _format_place), "Not released": "net_bytes",
    "Allocated": "bytes", "Allocations": "allocations",
}  # fmt: skip
_HELD: Shown = {
    "Device": ("device", words.plain), "Reserved": "bytes", "Used": "used_bytes", "Rounding": "rounding_bytes",
    "Free": "free_bytes", "Largest free block": "largest_free_bytes", "Scattered": "scattered_pct",
    "In empty segments": "empty_bytes",
}  # fmt: skip
_LARGEST: Shown = {
    "Device": ("device", words.plain), "Size": "bytes",
    "Allocated": ("start_ns", lambda value: _tell_moment(value, "before the capture")),
    "Released": ("end_ns", lambda value: _tell_moment(value, "not in the capture")), "Stack": ("stack", _format_place),
}  # fmt: skip
PARTS = {"before": "allocated before the capture", "none": "no stack", "rest": "others"}


def is_snapshot_only(report: Manifest) -> bool:
    """Return True if a report is a memory snapshot and nothing else."""
    return bool(report.rows.get("tensor_segment")) and not any(map(report.rows.get, WORK))


def write_devices(answers: Answers) -> str:
    """Tensor memory by device."""
    return "## Memory of tensors\n\n" + format_table("tensor_memory", answers.rows("tensor_memory"), _DEVICES)


def write_peak(answers: Answers) -> str:
    """Holders of memory at the peak, by source line."""
    rows = answers.rows("tensor_peak", limit=TOP)
    if rows.empty:
        return ""
    rows = rows.assign(name=rows["name"].where(rows["part"] == "named", rows["part"].map(PARTS)))
    return "## What holds memory at the peak\n\n" + format_table("tensor_peak", rows, _PEAK)


def write_growth(answers: Answers) -> str:
    """Memory allocated and not released during the capture, by source line."""
    rows = answers.rows("tensor_allocations")
    rows = rows[rows["net_bytes"] > 0]
    if rows.empty:
        return ""
    rows = rows.sort_values(["device", "net_bytes"], ascending=[True, False], kind="stable").groupby("device").head(TOP)
    return "## What grew\n\n" + format_table("tensor_allocations", rows, _GROWN)


def write_largest(answers: Answers) -> str:
    """The largest allocations with their stacks."""
    rows = answers.rows("tensor_lifetimes", limit=TOP)
    if rows.empty:
        return ""
    return "## Largest allocations\n\nThe stack begins with the innermost function.\n\n" + format_table(
        "tensor_lifetimes", rows, _LARGEST
    )


def write_segments(answers: Answers) -> str:
    """The allocator's memory at the time of the snapshot."""
    rows = rows_or_none(answers.rows, "tensor_fragmentation")
    return "## Fragmentation\n\n" + format_table("tensor_fragmentation", rows, _HELD) if len(rows) else ""


SECTIONS: tuple[Section, ...] = (
    nsys.write_overview,
    top_findings.write_section,
    write_devices,
    write_peak,
    write_growth,
    write_segments,
    write_largest,
)

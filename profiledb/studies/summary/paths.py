"""Sections of the summary of a profile that has sums by call path and no times, such as one of Triton's proton."""

from profiledb.library.catalog import Manifest
from profiledb.studies.summary import headline, nsys
from profiledb.studies.summary.answers import Answers, Section, Shown, format_table, get_class_title, name_cell
from profiledb.studies.summary.memory import WORK
from profiledb.studies.summary.statement import Ask

TOP = 10
NO_TIMES = "The file has sums of launches and no times, so no rule can judge it."
_KERNELS: Shown = {
    "Kernel": ("name", name_cell), "Class": ("class", get_class_title), "Launches": "calls", "Time": "total_ns",
    "Share": "share_pct", "Average": "avg_ns", "Call paths": "paths",
}  # fmt: skip
_PATHS: Shown = {
    "Call path": ("name", name_cell), "Launches": "calls", "Time": "total_ns", "Share": "share_pct",
    "FLOPs": "flops", "FLOP/s": "flops_per_s", "Bytes": "bytes", "Traffic": "bytes_per_s",
}  # fmt: skip


def has_sums_only(report: Manifest) -> bool:
    """Return True if a report has sums by call path and no work with times."""
    return bool(report.rows.get("path_sum")) and not any(map(report.rows.get, WORK))


def explain(ask: Ask) -> str:
    """Describe the content of the profile, and why no rule judges it; Markdown."""
    return " ".join([*(one.text for one in headline.state_paths(ask)), NO_TIMES])


def write_kernels(answers: Answers) -> str:
    """The kernels with the most time."""
    rows = answers.rows("path_kernels", limit=TOP)
    return "## Kernels\n\n" + format_table("path_kernels", rows, _KERNELS) if len(rows) else ""


def write_scopes(answers: Answers) -> str:
    """The paths with the most time, without the kernels themselves."""
    rows = answers.rows("path_tree")
    rows = rows[rows["is_kernel"] == "no"].sort_values("total_ns", ascending=False, kind="stable").head(TOP)
    if rows.empty:
        return ""
    return "## Call paths\n\nEach with all paths below it.\n\n" + format_table("path_tree", rows, _PATHS)


SECTIONS: tuple[Section, ...] = (nsys.write_overview, write_kernels, write_scopes)

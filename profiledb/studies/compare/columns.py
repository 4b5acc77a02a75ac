"""The columns of a comparison. Each side has its own columns ``a_`` and ``b_``."""

from collections.abc import Sequence

from profiledb.query.header import Column


def list_names(columns: Sequence[Column]) -> list[str]:
    """Return their names in order."""
    return [column.name for column in columns]


def _make_both(name: str, unit: str, form: str, about: str, title: str = "") -> tuple[Column, Column]:
    first, second = (
        Column(f"{side.lower()}_{name}", unit, form, f"{about}, in {side}", f"{title} {side}" if title else "")
        for side in "AB"
    )
    return first, second


_STATUS = Column("status", "text", "", "same: in both; new: only in B; gone: only in A", "In")
KERNELS = (
    _STATUS,
    Column("name", "text", "", "readable name: without templates and arguments", "Kernel"),
    Column("class", "class", "", "kernel class"),
    Column("change_ns", "ns", "", "sum of durations, B minus A; new and gone kernels count in full"),
    Column("change_pct", "%", ".2f", "the same as a share of A's sum"),
    *_make_both("total_ns", "ns", "", "sum of durations (per step if steps are compared)", "Total"),
    *_make_both("calls", "number", "", "launches (per step if steps are compared)", "Launches"),
    *_make_both("avg_ns", "ns", ".1f", "mean duration", "Mean"),
    Column("avg_change_pct", "%", ".2f", "mean duration, B relative to A", "Mean"),
    Column("low_pct", "%", ".2f", "lower end of its 95 % interval, by a bootstrap over sampled launches"),
    Column("high_pct", "%", ".2f", "upper end of that interval"),
    Column(
        "verdict", "text", "", "slower or faster if the interval excludes 0; else not significant, or too few launches"
    ),
    Column("more_calls_ns", "ns", ".1f", "part of change_ns due to the number of launches, at A's mean duration"),
    Column("longer_ns", "ns", ".1f", "part of change_ns due to the mean duration, at B's number of launches"),
    *_make_both("share_pct", "%", ".2f", "share of the kernel time", "Share"),
    Column("share_change_points", "points", ".2f", "share, B minus A, percentage points", "Share"),
    *_make_both("median_ns", "ns", ".1f", "median of the sampled durations"),
    *_make_both("p95_ns", "ns", ".1f", "95th percentile of the sampled durations"),
    *_make_both("threads", "count", ".1f", "mean threads per launch: another number is other work"),
    *_make_both("kernel", "text", "", "number of the kernel in its report; the longest of several"),
    *_make_both("kernels", "count", "", "kernels of the report that the row stands for"),
    Column("demangled", "text", "", "full name with template arguments"),
)
PHASES = (
    _STATUS,
    Column("pattern", "text", "", "names of the ranges, with a star for the last number of a name", "Range"),
    *_make_both("instances", "number", "", "ranges (per step if steps are compared)", "Instances"),
    *_make_both("kernel_ns", "ns", "", "sum of the durations of their kernels", "Kernels"),
    Column("change_kernel_ns", "ns", "", "B minus A"),
    Column("change_kernel_pct", "%", ".2f", "B relative to A", "Kernels"),
    *_make_both("busy_ns", "ns", "", "sum of the times in which their operations ran", "Busy"),
    Column("change_busy_ns", "ns", "", "B minus A"),
    Column("change_busy_pct", "%", ".2f", "B relative to A"),
    *_make_both("cpu_ns", "ns", "", "sum of their durations on the CPU", "CPU"),
    Column("change_cpu_ns", "ns", "", "B minus A"),
    Column("change_cpu_pct", "%", ".2f", "B relative to A", "CPU"),
)
COPIES = (
    _STATUS,
    Column("direction", "text", "", "memcpy direction, or memset"),
    Column("kind", "text", "", "memcpy or memset"),
    *_make_both("total_ns", "ns", "", "sum of durations (per step if steps are compared)", "Total"),
    Column("change_total_ns", "ns", "", "B minus A"),
    Column("change_total_pct", "%", ".2f", "B relative to A", "Total"),
    *_make_both("count", "number", "", "operations", "Operations"),
    *_make_both("bytes", "bytes", "", "sum of sizes", "Size"),
    *_make_both("bytes_per_s", "bytes/s", ".0f", "sum of sizes over sum of durations", "Bandwidth"),
)
SUMMARY = (
    Column("measure", "text", "", "what is compared; per step: inside the steps that count, or the outermost ranges"),
    Column("unit", "text", "", "unit of the values"),
    Column("a", "", "", "value of A"),
    Column("b", "", "", "value of B"),
    Column("change", "", "", "value, B minus A; percentages in points"),
    Column("change_pct", "%", ".2f", "the same of A's"),
)
TABLES = {"kernels": KERNELS, "phases": PHASES, "copies": COPIES, "summary": SUMMARY}

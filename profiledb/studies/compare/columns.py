"""The columns of a comparison. Of ``a_`` and ``b_`` each side has its own."""

from collections.abc import Sequence

from profiledb.query.header import Column


def names(columns: Sequence[Column]) -> list[str]:
    """Their names, in their order."""
    return [column.name for column in columns]


def _both(name: str, unit: str, form: str, about: str, title: str = "") -> tuple[Column, Column]:
    first, second = (
        Column(f"{side.lower()}_{name}", unit, form, f"{about}, of {side}", f"{title} {side}" if title else "")
        for side in "AB"
    )
    return first, second


_STATUS = Column(
    "status", "text", "", "same where both have it, new where only B has it, gone where only A has it", "In"
)
KERNELS = (
    _STATUS,
    Column("name", "text", "", "readable name: without templates and arguments", "Kernel"),
    Column("class", "class", "", "kernel class"),
    Column("change_ns", "ns", "", "sum of durations of B less that of A; what is new or gone counts in full"),
    Column("change_pct", "%", ".2f", "the same of A's sum"),
    *_both("total_ns", "ns", "", "sum of durations, a step where steps are compared", "Total"),
    *_both("calls", "number", "", "executions, a step where steps are compared", "Calls"),
    *_both("avg_ns", "ns", ".1f", "mean duration", "Mean"),
    Column("avg_change_pct", "%", ".2f", "mean duration of B against that of A", "Mean"),
    Column("low_pct", "%", ".2f", "lower end of the 95 % interval of that, by a bootstrap over sampled executions"),
    Column("high_pct", "%", ".2f", "upper end of that interval"),
    Column("verdict", "text", "", "slower or faster where the interval leaves 0 out, not significant, too few calls"),
    Column("more_calls_ns", "ns", ".1f", "part of change_ns that is due to the number of calls, at A's mean duration"),
    Column("longer_ns", "ns", ".1f", "part of change_ns that is due to the mean duration, at B's number of calls"),
    *_both("share_pct", "%", ".2f", "share of the kernel time", "Share"),
    Column("share_change_points", "points", ".2f", "share of B less that of A, percentage points", "Share"),
    *_both("median_ns", "ns", ".1f", "median of the sampled durations"),
    *_both("p95_ns", "ns", ".1f", "95th percentile of the sampled durations"),
    *_both("threads", "count", ".1f", "threads of a launch, the mean: another number is other work"),
    *_both("kernel", "text", "", "number of the kernel in its report, of several the longest"),
    *_both("kernels", "count", "", "kernels of the report that the row stands for"),
    Column("demangled", "text", "", "full name with template arguments"),
)
PHASES = (
    _STATUS,
    Column("pattern", "text", "", "names of the ranges, with a star for the last number of a name", "Range"),
    *_both("instances", "number", "", "ranges, a step where steps are compared", "Instances"),
    *_both("kernel_ns", "ns", "", "sum of the durations of their kernels", "Kernels"),
    Column("change_kernel_ns", "ns", "", "that of B less that of A"),
    Column("change_kernel_pct", "%", ".2f", "B against A", "Kernels"),
    *_both("busy_ns", "ns", "", "sum of the times in which their operations ran", "Busy"),
    Column("change_busy_ns", "ns", "", "that of B less that of A"),
    Column("change_busy_pct", "%", ".2f", "B against A"),
    *_both("cpu_ns", "ns", "", "sum of their durations on the host", "Host"),
    Column("change_cpu_ns", "ns", "", "that of B less that of A"),
    Column("change_cpu_pct", "%", ".2f", "B against A", "Host"),
)
COPIES = (
    _STATUS,
    Column("direction", "text", "", "direction of the copy, or memset"),
    Column("kind", "text", "", "memcpy or memset"),
    *_both("total_ns", "ns", "", "sum of durations, a step where steps are compared", "Total"),
    Column("change_total_ns", "ns", "", "that of B less that of A"),
    Column("change_total_pct", "%", ".2f", "B against A", "Total"),
    *_both("count", "number", "", "operations", "Operations"),
    *_both("bytes", "bytes", "", "sum of sizes", "Size"),
    *_both("bytes_per_s", "bytes/s", ".0f", "sum of sizes over sum of durations", "Bandwidth"),
)
SUMMARY = (
    Column("measure", "text", "", "what is compared; per step: inside the steps that count, or the outermost ranges"),
    Column("unit", "text", "", "unit of the values"),
    Column("a", "", "", "value of A"),
    Column("b", "", "", "value of B"),
    Column("change", "", "", "value of B less that of A; of percentages in points"),
    Column("change_pct", "%", ".2f", "the same of A's"),
)
TABLES = {"kernels": KERNELS, "phases": PHASES, "copies": COPIES, "summary": SUMMARY}

"""Sections of the summary of a Nsight Systems report."""

from typing import Any

import pandas as pd

from profiledb import words
from profiledb.findings.advice import translate
from profiledb.query.analysis import rows_or_none
from profiledb.rules import phases
from profiledb.rules.classes import OTHER
from profiledb.rules.phases import ALL
from profiledb.studies.summary import headline, matmul_share, top_findings
from profiledb.studies.summary.answers import Answers, Section, Shown, format_table, list_contradictions
from profiledb.studies.summary.idle import find_code, find_place, is_whole

TOP = 5


def _format_mean(count: Any) -> str:
    value = words.number(count)
    return words.count(count) if value is None or value == round(value) else words.significant(value)


def _count_per_step(answers: Answers, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of kernels with launches and time per step of the steady part, which has whole steps.

    The selected time cuts ranges on the CPU, which runs ahead, so that those in it are not the steps of its kernels.
    """
    if answers.part is None or _are_steps_of_cpu(answers):
        return rows
    steps = answers.part.steps
    return rows.assign(pass_calls=rows["calls"] / steps, pass_ns=rows["total_ns"] / steps)


def _are_steps_of_cpu(answers: Answers) -> bool:
    """Return True if ranges mark steps and the report does not show which kernels belong to them.

    These steps end on the CPU while their kernels still run, so the time of all steps cuts some kernels off.
    """
    rows = rows_or_none(answers.rows, "iteration_summary")
    return not rows.empty and not bool(rows["has_gpu"].any())


_GPU: Shown = {
    "GPU": "gpu_id", "Busy": "busy_active_pct", "Idle": "idle_pct", "Busy time": "busy_ns",
    "First to last operation": "active_ns", "Sum of kernels": "kernel_ns", "Sum of memcpy and memset": "copy_ns",
}  # fmt: skip
_PHASES: Shown = {
    "Share": "share_pct", "Kernel time": "total_ns", "Matmul": "matmul_pct", "Rest": "rest_pct",
    "Time per step": "pass_ns", "Launches": "calls",
}  # fmt: skip
_CLASSES: Shown = {
    "Class": "class", "Share": "share_pct", "Kernel time": "total_ns", "Launches": "calls",
}  # fmt: skip
_KERNELS: Shown = {
    "Rank": "rank", "Without matmul": "rest_rank", "Kernel": "name", "Class": "class", "Share": "share_pct",
    "Total": "total_ns", "Launches": "calls", "Launches per step": ("pass_calls", _format_mean),
    "Verdict": ("verdict", words.plain),
}  # fmt: skip
_CALLS: Shown = {
    "Function": "function", "For": ("category", words.plain), "Share": "share_pct", "Total": "total_ns",
    "Calls": "calls", "Max": "max_ns",
}  # fmt: skip
_OSRT: Shown = {
    "Function": "function", "Share": "share_pct", "Total": "total_ns", "Calls": "calls",
    "Threads": "threads", "Max": "max_ns",
}  # fmt: skip
_STEPS: Shown = {
    "Time": ("side", str), "Steps": "count", "Warm-up": "warmup", "First": "first_ns", "Median": "median_ns",
    "Min": "min_ns", "Max": "max_ns", "Variation": "cv_pct",
}  # fmt: skip
_IDLE: Shown = {
    "Reason": ("reason", words.plain), "Idle": "idle_ns", "Share of idle time": "share_pct",
    "Share of the time": "window_pct", "Function": "function", "Range": "range",
}  # fmt: skip
_COPIES: Shown = {
    "Direction": "direction", "Total": "total_ns", "Operations": "count", "Size": "bytes", "Bandwidth": "bytes_per_s",
    "Traffic, read + write": "traffic_bytes_per_s", "Traffic of peak": "peak_pct",
}  # fmt: skip
_ATTENTION: Shown = {
    "Attention": "variant", "Tokens": "tokens", "Part": ("part", words.plain), "Calls": "calls",
    "Kernel time": "kernel_ns", "Share": "share_pct", "Share of GPU peak": "pct_of_peak",
    "Share of memory peak": "pct_of_bandwidth",
}  # fmt: skip
_TIMINGS: Shown = {
    "Label": "label", "Pairs": "pairs", "Timer, mean": "timer_mean_ns", "CPU, mean": "cpu_mean_ns",
    "GPU, mean": "gpu_mean_ns", "Timer − CPU": "over_cpu_ns", "Timer − GPU": "over_gpu_ns",
}  # fmt: skip


def write_overview(answers: Answers) -> str:
    """The most important statements, as on the dashboard."""
    statements = headline.find_statements(answers.rows)
    if not statements:
        return f"## In short\n\n- {headline.state_nothing(answers.rows)}"
    lines = headline.format_lines(top_findings.select_statements(statements, answers.findings))
    return "\n".join(["## In short", "", *lines])


def write_gpu_times(answers: Answers) -> str:
    """Busy time of each GPU in the selection."""
    rows = answers.rows("gpu_busy")
    used = rows[rows["operations"] > 0]
    if used.empty:
        return "## GPU time\n\nNothing ran on a GPU in this selection."
    return "## GPU time\n\n" + format_table("gpu_busy", used, _GPU) + _explain_earlier_work(used)


def _explain_earlier_work(used: pd.DataFrame) -> str:
    """Explain why busy and idle time do not add up, if work may run that the capture does not contain."""
    rest = float((used["active_ns"] * (1 - used["busy_active_pct"] / 100) - used["idle_ns"]).sum())
    if rest <= 0.001 * float(used["active_ns"].sum()):
        return ""
    return (
        f"\n\nFor {words.duration(rest)} at the start of the capture, work may run that was launched before it and that"
        " is not in the report: that time is neither busy nor idle."
    )


def write_matmul_share(answers: Answers) -> str:
    """Matmul against the rest, by phase and by class."""
    rows, classes = _count_per_step(answers, answers.rows("matmul_split")), answers.rows("class_split")
    rows = rows.set_index("phase", drop=False)
    if rows.empty:
        return ""
    lines = ["## Kernel classes"]
    if headline.is_neural_network(classes):
        titles = get_phase_titles()
        phase: Shown = {"Phase": ("phase", lambda value: words.plain(titles.get(value, value)))}
        lines = ["## Matmul against the rest", matmul_share.describe_matmul(rows, titles)]
        if len(rows) > 2:  # a single phase is everything
            lines.append(format_table("matmul_split", rows, {**phase, **_PHASES}))
    lines.append(format_table("class_split", classes, _CLASSES))
    if (classes["class"] == OTHER).any():
        lines.append(f"In Other: {headline.name_without_class(answers.rows('kernels'))}.")
    return "\n\n".join(lines)


def get_phase_titles() -> dict[str, str]:
    """Return the titles of the phases in order; ``all`` first."""
    return {ALL: "Everything"} | {phase.name: phase.title for phase in phases.read_current().phases}


def write_top_kernels(answers: Answers) -> str:
    """The kernels with the most time in each phase, and those of them that are not matmul."""
    rows = _count_per_step(answers, answers.rows("top_kernels", limit=TOP))
    if rows.empty:
        return ""
    verdicts = answers.rows("kernel_verdicts").set_index("kernel")["verdict"]
    rows = rows.assign(verdict=rows["kernel"].map(verdicts))
    present = dict.fromkeys(rows["phase"])
    lines = ["## Top kernels"]
    titles = get_phase_titles()
    matmul = headline.is_neural_network(answers.rows("class_split"))
    without = f", and top {TOP} without matmul" if matmul else ""
    lacks = {"Without matmul"} if not matmul else set()
    lacks |= {"Launches per step"} if rows["pass_calls"].isna().all() else set()
    lacks |= {"Verdict"} if (rows["verdict"] == words.NOT_MEASURED).all() else set()
    shown = {head: one for head, one in _KERNELS.items() if head not in lacks}
    for phase in present if len(present) > 2 else [ALL]:  # a single phase is everything
        part = rows[rows["phase"] == phase]
        part = part if matmul else part[part["rank"] <= TOP]
        lines.append(f"{words.plain(titles.get(phase, phase))}: top {TOP}{without}:")
        lines.append(format_table("top_kernels", part, shown))
    return "\n\n".join(lines)


def write_steps(answers: Answers) -> str:
    """Count, median and spread of the steps from ranges; without ranges, of steps detected from kernels."""
    host = rows_or_none(answers.rows, "iteration_summary")
    if host.empty:
        return _describe_detected(answers)
    sides = {"host": host}
    if bool(host["has_gpu"].any()):
        sides = {"GPU": answers.rows("iteration_summary", by="gpu")} | sides
    rows = pd.concat(rows.head(1).assign(side=side) for side, rows in sides.items())
    cut = int(host["unclosed"].iloc[0])
    left_out = f", without {words.count(cut)} that {'was' if cut == 1 else 'were'} cut off" if cut else ""
    return f"## Steps\n\nRanges {words.code(words.shortened(host['steps'].iloc[0], 80))}{left_out}:\n\n" + (
        format_table("iteration_summary", rows, _STEPS)
    )


def _describe_detected(answers: Answers) -> str:
    rows = rows_or_none(answers.rows, "detected_iterations")
    if rows.empty:
        looked = "## Steps\n\nNo ranges show steps, and no period explains the kernels."
        return looked if answers.report.rows.get("kernel") else ""
    one = rows.iloc[0]
    marker = words.code(words.shortened(one["marker"], 80))
    every = int(one["every"])
    which = f"The kernel {marker} repeats" if every == 1 else f"Every {every} launches of {marker} repeat"
    kernels, times = words.percent(one["kernels_cv_pct"]), words.percent(one["cv_pct"])
    spread = f"time varies by {times}" if one["cv_pct"] <= 100 else "time varies by more than its mean"
    return (
        f"## Steps\n\nNo ranges show steps. {which} {words.count(one['iterations'])} times after about the same number"
        f" of kernels (varies by {kernels}; {spread}): these may be iterations, see the analysis"
        " `detected_iterations`."
    )


def write_idle_time(answers: Answers) -> str:
    """Host activity while GPUs were idle."""
    rows = answers.rows("idle_reasons")
    if rows.empty:
        return ""
    ranges = rows_or_none(answers.rows, "idle_ranges")
    where = None if ranges.empty else find_place(ranges)
    remark, traits = "", headline.find_traits(answers.rows)
    if where is not None and not is_whole(where):
        path, share = words.code(words.shortened(where["range"], 80)), words.percent(where["share_pct"])
        remark = f"The CPU was in {path} during {share} of idle time.\n\n"
    if rows["reason"].iloc[0] == "host code" and (sampled := find_code(rows_or_none(answers.rows, "idle_code"))):
        remark += f"{sampled}\n\n"
    rows = rows.assign(reason=[translate(reason, traits) for reason in rows["reason"]])
    return f"## Why the GPU was idle\n\n{remark}" + format_table("idle_reasons", rows, _IDLE)


def write_copies(answers: Answers) -> str:
    """Copies and memsets by direction, with their rate."""
    rows = rows_or_none(answers.rows, "copies")  # a program may copy nothing; the list of missing data says so
    if rows.empty:
        return ""
    return "## Memcpy and memset\n\n" + format_table("copies", rows, _COPIES) + list_contradictions(rows, "direction")


def write_calls(answers: Answers) -> str:
    """The CUDA calls with the most CPU time."""
    rows = rows_or_none(answers.rows, "api_calls")
    if rows.empty:
        return ""
    return f"## {headline.name_api(rows['function'])}API\n\n" + format_table("api_calls", rows.head(TOP), _CALLS)


def write_os_calls(answers: Answers) -> str:
    """The operating system calls with the most time, summed over threads."""
    rows = rows_or_none(answers.rows, "osrt_calls")
    if rows.empty:
        return ""
    note = "Sums over threads: one that waits for work all the time counts in full."
    return f"## OS runtime\n\n{note}\n\n" + format_table("osrt_calls", rows.head(TOP), _OSRT)


def write_attention(answers: Answers) -> str:
    """The parts of attention, from ranges or fused kernels."""
    rows = merge_steps(rows_or_none(answers.rows, "attention_parts"))
    if rows.empty:
        return ""
    return (
        "## Attention\n\n"
        + format_table("attention_parts", rows, _ATTENTION)
        + _list_peaks(rows)
        + list_contradictions(rows, "part")
    )


def merge_steps(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per part for ranges that differ only in the last number, if no sizes of attention are known."""
    if rows.empty or rows[["tokens", "flops"]].notna().any(axis=None):
        return rows
    titles = rows["variant"].str.replace(r"\d+(\D*)$", r"*\1", regex=True)
    alike = titles.groupby([titles, rows["part"]], sort=False).transform("size") > 1
    merged = rows.assign(variant=titles.where(alike, rows["variant"]))
    sums = merged.groupby(["variant", "part"], sort=False, dropna=False)[["calls", "kernel_ns"]].sum().reset_index()
    first = merged.drop_duplicates(["variant", "part"]).reset_index(drop=True)
    shares = 100 * sums["kernel_ns"] / sums.groupby("variant", dropna=False)["kernel_ns"].transform("sum")
    return first.assign(calls=sums["calls"], kernel_ns=sums["kernel_ns"], share_pct=shares)


def _list_peaks(rows: pd.DataFrame) -> str:
    """Return the peaks of the parts of attention with their sources."""
    known = rows.dropna(subset=["peak_flops_per_s"]).drop_duplicates("peak_precision")
    sources = [
        f"{words.flops(row['peak_flops_per_s'], digits=False)} in {words.code(row['peak_precision'])}"
        f" ({words.plain(row['peak_from'])})"
        for _, row in known.iterrows()
    ]
    return f"\n\nPeak: {', '.join(sources)}." if sources else ""


def write_timings(answers: Answers) -> str:
    """The program's own timings beside the ranges of the same name."""
    rows = answers.rows("timing_compare")
    return "## Timer against ranges\n\n" + format_table("timing_compare", rows, _TIMINGS)


def write_mfu(answers: Answers) -> str:
    """Model FLOPs utilization, if the FLOPs of a step, its time and the peak are known."""
    row = answers.rows("mfu").iloc[0]
    if isinstance(row["contradiction"], str):
        return f"## Model FLOPs utilization\n\n{words.plain(row['contradiction'])}"
    if words.number(row["mfu_pct"]) is None:
        return ""
    return (
        f"## Model FLOPs utilization\n\nMFU is **{words.percent(row['mfu_pct'])}**:"
        f" {words.work(row['flops_per_step'])} per step in {words.duration(row['step_ns'])}, which is"
        f" {words.flops(row['flops_per_s'])} of {words.flops(row['peak_flops_per_s'], digits=False)}"
        f" ({words.code(row['precision'])}, {words.code(row['peak_from'])})."
    )


SECTIONS: tuple[Section, ...] = (
    write_overview, top_findings.write_section, write_gpu_times, write_matmul_share, write_top_kernels, write_steps,
    write_idle_time, write_copies, write_calls, write_os_calls, write_attention, write_timings, write_mfu,
)  # fmt: skip

"""Sections of the summary of a report of Nsight Systems."""

from typing import Any

import pandas as pd

from profiledb import words
from profiledb.query import header
from profiledb.query.analysis import rows_or_none
from profiledb.rules import phases
from profiledb.rules.classes import OTHER
from profiledb.rules.phases import ALL
from profiledb.studies import headline
from profiledb.studies import split as split_words
from profiledb.studies.idle import code, place, whole_step
from profiledb.studies.summary import top_findings
from profiledb.studies.summary.answers import Answers, Section, Shown, contradictions, table

TOP = 5


def _mean(count: Any) -> str:
    value = words.number(count)
    return words.MISSING if value is None else f"{value:,.4g}"


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
    "Total": "total_ns", "Launches": "calls", "Launches per step": ("pass_calls", _mean),
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


def short(answers: Answers) -> str:
    """What matters most, as the dashboard's page says it."""
    told = headline.statements(answers.rows)
    if not told:
        return (
            "## In short\n\n- No work of a GPU and no CUDA calls are in this report: the program used the CPU alone, or"
            " they were not traced."
        )
    lines = headline.lines(told)
    if told[0].page == header.get("idle_reasons").page:
        lines[0] += top_findings.idle_remark(top_findings.judged(answers))
    return "\n".join(["## In short", "", *lines])


def gpu(answers: Answers) -> str:
    """How busy each GPU was that the selection used."""
    rows = answers.rows("gpu_busy")
    used = rows[rows["operations"] > 0]
    if used.empty:
        return "## GPU time\n\nNothing ran on a GPU in this selection."
    return "## GPU time\n\n" + table("gpu_busy", used, _GPU) + _earlier(used)


def _earlier(used: pd.DataFrame) -> str:
    """Say why busy and idle time do not add up, where work may run that the capture does not hold."""
    rest = float((used["active_ns"] * (1 - used["busy_active_pct"] / 100) - used["idle_ns"]).sum())
    if rest <= 0.001 * float(used["active_ns"].sum()):
        return ""
    return (
        f"\n\nFor {words.duration(rest)} at the start of the capture, work may run that was launched before it and that"
        " is not in the report: that time is neither busy nor idle."
    )


def split(answers: Answers) -> str:
    """Matmul against the rest, by phase and by class."""
    rows, classes = answers.rows("matmul_split").set_index("phase", drop=False), answers.rows("class_split")
    if rows.empty:
        return ""
    parts = ["## Kernel classes"]
    if headline.of_a_model(classes):
        titles = phase_titles()
        phase: Shown = {"Phase": ("phase", lambda value: words.plain(titles.get(value, value)))}
        parts = ["## Matmul against the rest", split_words.alone(rows, titles)]
        if len(rows) > 2:  # a single phase is everything
            parts.append(table("matmul_split", rows, {**phase, **_PHASES}))
    parts.append(table("class_split", classes, _CLASSES))
    if (classes["class"] == OTHER).any():
        parts.append(f"In Other: {headline.without_class(answers.rows('kernels'))}.")
    return "\n\n".join(parts)


def phase_titles() -> dict[str, str]:
    """What people read for each phase, in order; ``all`` first."""
    return {ALL: "Everything"} | {phase.name: phase.title for phase in phases.current().phases}


def top(answers: Answers) -> str:
    """The kernels that take the most time in each phase, and those of them that are no matmul."""
    rows = answers.rows("top_kernels", limit=TOP)
    if rows.empty:
        return ""
    present = dict.fromkeys(rows["phase"])
    parts = ["## Top kernels"]
    titles = phase_titles()
    matmul = headline.of_a_model(answers.rows("class_split"))
    without = f", and top {TOP} without matmul" if matmul else ""
    lacks = {"Without matmul"} if not matmul else set()
    lacks |= {"Launches per step"} if rows["pass_calls"].isna().all() else set()
    shown = {head: one for head, one in _KERNELS.items() if head not in lacks}
    for phase in present if len(present) > 2 else [ALL]:  # a single phase is everything
        part = rows[rows["phase"] == phase]
        part = part if matmul else part[part["rank"] <= TOP]
        parts.append(f"{words.plain(titles.get(phase, phase))}: top {TOP}{without}:")
        parts.append(table("top_kernels", part, shown))
    return "\n\n".join(parts)


def steps(answers: Answers) -> str:
    """Count, median and spread of the steps that the ranges tell; without ranges those that the kernels tell."""
    host = rows_or_none(answers.rows, "iteration_summary")
    if host.empty:
        return _detected(answers)
    sides = {"host": host}
    if bool(host["has_gpu"].any()):
        sides = {"GPU": answers.rows("iteration_summary", by="gpu")} | sides
    rows = pd.concat(rows.head(1).assign(side=side) for side, rows in sides.items())
    return f"## Steps\n\nRanges {words.code(words.shortened(host['steps'].iloc[0], 80))}:\n\n" + table(
        "iteration_summary", rows, _STEPS
    )


def _detected(answers: Answers) -> str:
    rows = rows_or_none(answers.rows, "detected_iterations")
    if rows.empty:
        looked = "## Steps\n\nNo ranges show steps, and no period explains the kernels."
        return looked if answers.report.rows.get("kernel") else ""
    one = rows.iloc[0]
    marker = words.code(words.shortened(one["marker"], 80))
    every = int(one["every"])
    which = f"The kernel {marker} repeats" if every == 1 else f"Every {every} launches of {marker} repeat"
    kernels, times = words.percent(one["kernels_cv_pct"]), words.percent(one["cv_pct"])
    return (
        f"## Steps\n\nNo ranges show steps. {which} {words.count(one['iterations'])} times after about the same number"
        f" of kernels (varies by {kernels}, time by {times}): these may be iterations, see the analysis"
        " `detected_iterations`."
    )


def idle(answers: Answers) -> str:
    """What the host did while GPUs were idle."""
    rows = answers.rows("idle_reasons")
    if rows.empty:
        return ""
    ranges = rows_or_none(answers.rows, "idle_ranges")
    where = None if ranges.empty else place(ranges)
    told = ""
    if where is not None and not whole_step(str(where["range"])):
        path, share = words.code(words.shortened(where["range"], 80)), words.percent(where["share_pct"])
        told = f"The CPU was in {path} during {share} of idle time.\n\n"
    if rows["reason"].iloc[0] == "host code" and (sampled := code(rows_or_none(answers.rows, "idle_code"))):
        told += f"{sampled}\n\n"
    return f"## Why the GPU was idle\n\n{told}" + table("idle_reasons", rows, _IDLE)


def copies(answers: Answers) -> str:
    """Copies and memory sets by direction, with the rate that they reached."""
    rows = rows_or_none(answers.rows, "copies")  # a program may copy nothing; the end tells that there are none
    if rows.empty:
        return ""
    return "## Memcpy and memset\n\n" + table("copies", rows, _COPIES) + contradictions(rows, "direction")


def calls(answers: Answers) -> str:
    """The CUDA calls that took the most time on the CPU."""
    rows = rows_or_none(answers.rows, "api_calls")
    return "## CUDA API\n\n" + table("api_calls", rows.head(TOP), _CALLS) if len(rows) else ""


def osrt(answers: Answers) -> str:
    """The calls into the operating system that took the most time, summed over threads."""
    rows = rows_or_none(answers.rows, "osrt_calls")
    if rows.empty:
        return ""
    told = "Sums over threads: one that waits for work all the time counts in full."
    return f"## OS runtime\n\n{told}\n\n" + table("osrt_calls", rows.head(TOP), _OSRT)


def attention(answers: Answers) -> str:
    """The parts of attention, where ranges or fused kernels tell them."""
    rows = rows_or_none(answers.rows, "attention_parts")
    if rows.empty:
        return ""
    return "## Attention\n\n" + table("attention_parts", rows, _ATTENTION) + _peaks(rows) + contradictions(rows, "part")


def _peaks(rows: pd.DataFrame) -> str:
    """The peaks that the parts of attention are held against, with where each is from."""
    known = rows.dropna(subset=["peak_flops_per_s"]).drop_duplicates("peak_precision")
    told = [
        f"{words.flops(row['peak_flops_per_s'], digits=False)} in {words.code(row['peak_precision'])}"
        f" ({words.plain(row['peak_from'])})"
        for _, row in known.iterrows()
    ]
    return f"\n\nPeak: {', '.join(told)}." if told else ""


def timings(answers: Answers) -> str:
    """What a timer of the program measured, beside the ranges of the same name."""
    rows = answers.rows("timing_compare")
    return "## Timer against ranges\n\n" + table("timing_compare", rows, _TIMINGS)


def mfu(answers: Answers) -> str:
    """Model FLOPs utilization, where the FLOPs of a step, its time and the peak are known."""
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
    short, top_findings.section, gpu, split, top, steps, idle, copies, calls, osrt, attention, timings, mfu,
)  # fmt: skip

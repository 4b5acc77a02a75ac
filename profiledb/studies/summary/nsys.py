"""Sections of the summary of a report of Nsight Systems."""

from typing import Any

import pandas as pd

from profiledb import words
from profiledb.rules import phases
from profiledb.rules.phases import ALL
from profiledb.studies import split as split_words
from profiledb.studies.summary.answers import Answers, Section, class_title, name, table

TOP = 5


def gpu(answers: Answers) -> str:
    """How busy each GPU was that the selection used."""
    rows = answers.rows("gpu_busy")
    used = rows[rows["operations"] > 0]
    if used.empty:
        return "## GPU time\n\nNothing ran on a GPU in this selection."
    return "## GPU time\n\n" + table(
        [
            {
                "GPU": words.count(row["gpu_id"]),
                "Busy": words.percent(row["busy_pct"]),
                "Busy time": words.duration(row["busy_ns"]),
                "Of": words.duration(row["capture_ns"]),
                "Busy of its active span": words.percent(row["busy_active_pct"]),
                "Kernel time": words.duration(row["kernel_ns"]),
                "Copies and sets": words.duration(row["copy_ns"]),
            }
            for _, row in used.iterrows()
        ]
    )


def split(answers: Answers) -> str:
    """Matmul against the rest, by phase and by class."""
    rows = answers.rows("matmul_split").set_index("phase", drop=False)
    if rows.empty:
        return ""
    titles = phase_titles()
    by_phase = [
        {
            "Phase": words.plain(titles.get(row["phase"], row["phase"])),
            "Share": words.percent(row["share_pct"]),
            "Kernel time": words.duration(row["total_ns"]),
            "Matmul": words.percent(row["matmul_pct"]),
            "Rest": words.percent(row["rest_pct"]),
            "A pass": words.duration(row["pass_ns"]),
            "Launches": words.count(row["calls"]),
        }
        for _, row in rows.iterrows()
    ]
    by_class = [
        {
            "Class": class_title(row["class"]),
            "Share": words.percent(row["share_pct"]),
            "Kernel time": words.duration(row["total_ns"]),
            "Launches": words.count(row["calls"]),
        }
        for _, row in answers.rows("class_split").iterrows()
    ]
    parts = ["## Matmul against the rest", split_words.alone(rows, titles)]
    parts += [table(by_phase)] if len(by_phase) > 2 else []  # a single phase is everything
    return "\n\n".join([*parts, table(by_class)])


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
    for phase in present if len(present) > 2 else [ALL]:  # a single phase is everything
        part = rows[rows["phase"] == phase]
        parts.append(f"{words.plain(titles.get(phase, phase))}, the top {TOP} and the top {TOP} without matmul:")
        parts.append(table([_kernel(row) for _, row in part.iterrows()]))
    return "\n\n".join(parts)


def _kernel(row: "pd.Series[Any]") -> dict[str, str]:
    each = words.number(row["pass_calls"])
    return {
        "Rank": words.count(row["rank"]),
        "Without matmul": words.count(row["rest_rank"]),
        "Kernel": name(row["name"]),
        "Class": class_title(row["class"]),
        "Share": words.percent(row["share_pct"]),
        "Total": words.duration(row["total_ns"]),
        "Calls": words.count(row["calls"]),
        "Calls a step": words.MISSING if each is None else f"{each:,.4g}",
    }


def steps(answers: Answers) -> str:
    """Count, median and spread of the steps that the ranges tell; without ranges those that the kernels tell."""
    host = answers.rows_or_none("iteration_summary")
    if host.empty:
        return _detected(answers)
    rows = {"host": host.iloc[0]}
    if bool(host["has_gpu"].any()):
        rows = {"GPU": answers.rows("iteration_summary", by="gpu").iloc[0]} | rows
    return f"## Steps\n\nRanges {words.code(host['steps'].iloc[0])}:\n\n" + table(
        [
            {
                "Time": side,
                "Steps": words.count(row["count"]),
                "Warm-up": words.count(row["warmup"]),
                "First": words.duration(row["first_ns"]),
                "Median": words.duration(row["median_ns"]),
                "Min": words.duration(row["min_ns"]),
                "Max": words.duration(row["max_ns"]),
                "Variation": words.percent(row["cv_pct"]),
            }
            for side, row in rows.items()
        ]
    )


def _detected(answers: Answers) -> str:
    rows = answers.rows_or_none("detected_iterations")
    if rows.empty:
        return ""
    one = rows.iloc[0]
    kernels, times = words.percent(one["kernels_cv_pct"]), words.percent(one["cv_pct"])
    return (
        f"## Steps\n\nNo range tells steps. The kernel {words.code(one['marker'])} comes back"
        f" {words.count(one['iterations'])} times after about the same number of kernels (it varies by"
        f" {kernels}, the time by {times}): these may be the iterations, see the analysis `detected_iterations`."
    )


def idle(answers: Answers) -> str:
    """What the host did while GPUs were idle."""
    rows = answers.rows("idle_reasons")
    if rows.empty:
        return ""
    return "## Why the GPU was idle\n\n" + table(
        [
            {
                "Reason": words.plain(row["reason"]),
                "Idle": words.duration(row["idle_ns"]),
                "Share of the idle time": words.percent(row["share_pct"]),
                "Share of the time": words.percent(row["window_pct"]),
                "Function": name(row["function"]),
                "NVTX range": name(row["range"]),
            }
            for _, row in rows.iterrows()
        ]
    )


def copies(answers: Answers) -> str:
    """Copies and memory sets by direction, with the rate that they reached."""
    rows = answers.rows_or_none("copies")  # a program may copy nothing; the end tells that there are none
    if rows.empty:
        return ""
    return (
        "## Copies\n\n"
        + table(
            [
                {
                    "Direction": name(row["direction"]),
                    "Total": words.duration(row["total_ns"]),
                    "Operations": words.count(row["count"]),
                    "Size": words.bytes_(row["bytes"]),
                    "Copied": words.rate(row["bytes_per_s"]),
                    "Traffic, read + write": words.rate(row["traffic_bytes_per_s"]),
                    "Traffic of peak": words.percent(row["peak_pct"]),
                }
                for _, row in rows.iterrows()
            ]
        )
        + _contradictions(rows, "direction")
    )


def _contradictions(rows: pd.DataFrame, name: str) -> str:
    """A line for each share of a peak that cannot be, and so is not in the table."""
    wrong = rows.dropna(subset=["contradiction"])
    lines = [f"- {words.code(row[name])}: {words.plain(row['contradiction'])}" for _, row in wrong.iterrows()]
    return "\n\n" + "\n".join(lines) if lines else ""


def attention(answers: Answers) -> str:
    """The parts of attention, where ranges or fused kernels tell them."""
    rows = answers.rows_or_none("attention_parts")
    if rows.empty:
        return ""
    return (
        "## Attention\n\n"
        + table(
            [
                {
                    "Attention": name(row["variant"]),
                    "Tokens": words.count(row["tokens"]),
                    "Part": words.plain(row["part"]),
                    "Calls": words.count(row["calls"]),
                    "Kernel time": words.duration(row["kernel_ns"]),
                    "Share": words.percent(row["share_pct"]),
                    "Of the GPU's peak": words.percent(row["pct_of_peak"]),
                    "Of the memory's peak": words.percent(row["pct_of_bandwidth"]),
                }
                for _, row in rows.iterrows()
            ]
        )
        + _peaks(rows)
        + _contradictions(rows, "part")
    )


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
    return "## Timer against ranges\n\n" + table(
        [
            {
                "Label": name(row["label"]),
                "Pairs": words.count(row["pairs"]),
                "Timer, mean": words.duration(row["timer_mean_ns"]),
                "Host, mean": words.duration(row["cpu_mean_ns"]),
                "GPU, mean": words.duration(row["gpu_mean_ns"]),
                "Timer − host": words.duration(row["over_cpu_ns"]),
                "Timer − GPU": words.duration(row["over_gpu_ns"]),
            }
            for _, row in rows.iterrows()
        ]
    )


def mfu(answers: Answers) -> str:
    """Model FLOPs utilization, where the FLOPs of a step, its time and the peak are known."""
    row = answers.rows("mfu").iloc[0]
    if isinstance(row["contradiction"], str):
        return f"## Model FLOPs utilization\n\n{words.plain(row['contradiction'])}"
    if words.number(row["mfu_pct"]) is None:
        return ""
    return (
        f"## Model FLOPs utilization\n\nMFU is **{words.percent(row['mfu_pct'])}**:"
        f" {words.number(row['flops_per_step']):,.4g} FLOP a step in {words.duration(row['step_ns'])}, which is"
        f" {words.flops(row['flops_per_s'])} of {words.flops(row['peak_flops_per_s'], digits=False)}"
        f" ({words.code(row['precision'])}, {words.code(row['peak_from'])})."
    )


SECTIONS: tuple[Section, ...] = (gpu, split, top, steps, idle, copies, attention, timings, mfu)

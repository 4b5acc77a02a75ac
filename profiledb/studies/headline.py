"""The most important statements about a Systems report, each with the page that shows more of it.

A statement weighs what it could be worth, in nanoseconds: idle time, time of the largest kernel, time that copies block
the CPU, time that one step takes more than the median. Pages and the summary in Markdown say the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from profiledb import words
from profiledb.errors import NotCapturedError
from profiledb.query.analysis import rows_or_none
from profiledb.rules.classes import OTHER
from profiledb.studies.idle import code, place
from profiledb.studies.summary.answers import class_title

Ask = Callable[..., pd.DataFrame]
"""Runs an analysis by its name, on what is selected; raises NotCapturedError."""

MATMUL = "matmul"
HOST_CODE = "host code"
IDLE_PCT = 10.0
"""Share of the time from which on an idle GPU is the first thing to say."""
SLOW = 1.2
"""A step this many times as long as the median is worth a word."""
LEAST = 0.01
"""A statement that is worth less than this part of another is not made."""
ENOUGH = 3
"""Steps from which on the slowest says something."""
MOST = 3
NAMED = 3
"""Kernels without a class that are named."""


@dataclass(frozen=True)
class Statement:
    """A sentence (Markdown, names as code), what it is worth in ns, and where to read on.

    ``page`` is an address of the dashboard, ``query`` what its address says beside report and selection.
    """

    text: str
    worth_ns: float
    label: str
    page: str
    query: Mapping[str, str] = field(default_factory=dict)


def statements(ask: Ask) -> list[Statement]:
    """The three that matter most; an idle GPU first, then by what they are worth. Fewer where there is less to say."""
    told = [statement for topic in (idle, classes, kernel, copies, steps) if (statement := _or_none(topic, ask))]
    least = LEAST * max((statement.worth_ns for statement in told), default=0.0)
    told = [statement for statement in told if statement.worth_ns >= least]
    first = told[:1] if told and told[0].page == "idle" else []
    rest = sorted((one for one in told if one not in first), key=lambda one: -one.worth_ns)
    return [*first, *rest][:MOST]


def _or_none(topic: Callable[[Ask], Statement | None], ask: Ask) -> Statement | None:
    try:
        return topic(ask)
    except NotCapturedError:
        return None


def idle(ask: Ask) -> Statement | None:
    """How much of the time the GPU is idle, and where the CPU is meanwhile (idle_reasons, idle_ranges, idle_code)."""
    reasons = ask("idle_reasons")
    share = words.number(reasons["window_pct"].sum()) if len(reasons) else None
    if share is None or share < IDLE_PCT:
        return None
    worth = float(reasons["idle_ns"].sum())
    text = f"**The GPU is idle {words.percent(share)} of the time** ({words.duration(worth)})."
    ranges = rows_or_none(ask, "idle_ranges")
    where = place(ranges) if len(ranges) else None
    if where is not None:
        text += f" For {words.percent(where['share_pct'])} of that the CPU is in {words.code(where['range'])}."
    else:
        top = reasons.iloc[0]
        reason = "non-CUDA code on the CPU" if top["reason"] == HOST_CODE else words.plain(top["reason"])
        text += f" Main reason: {reason} ({words.percent(top['share_pct'])})."
    if reasons["reason"].iloc[0] == HOST_CODE and (told := code(rows_or_none(ask, "idle_code"))):
        text += f" {told}"
    return Statement(text, worth, "Why the GPU is idle", "idle")


def classes(ask: Ask) -> Statement | None:
    """The class of kernels that takes most of the time, and how much is matmul (class_split)."""
    rows = ask("class_split")
    if len(rows) < 2:
        return None
    top = rows.iloc[0]
    if top["class"] == OTHER:
        return _without_class(ask, top)
    text = f"**{class_title(top['class'])} takes {words.percent(top['share_pct'])} of kernel time**"
    matmul = rows[rows["class"] == MATMUL]
    if top["class"] == MATMUL:
        second = rows.iloc[1]
        text += f", then {class_title(second['class'])} with {words.percent(second['share_pct'])}."
    elif len(matmul):
        text += f", matmul {words.percent(matmul['share_pct'].iloc[0])}."
    else:
        text += ". No kernel is a matmul."
    return Statement(text, float(top["total_ns"]), "Matmul and other work by phase", "phases")


def _without_class(ask: Ask, top: "pd.Series[Any]") -> Statement:
    """What stands behind Other where that takes most: its largest kernels by name (kernels)."""
    names = without_class(ask("kernels"))
    text = f"**{words.percent(top['share_pct'])} of kernel time is in kernels without a class.** Largest: {names}."
    return Statement(text, float(top["total_ns"]), "Kernels without a class", "kernels", {"class": OTHER})


def without_class(kernels: pd.DataFrame) -> str:
    """The largest of the kernels that have no class, by name, each with its share of the kernel time; Markdown."""
    rows = kernels[kernels["class"] == OTHER]
    told = [
        f"{words.code(words.shortened(name, 40))} ({words.percent(share)})"
        for name, share in zip(rows["name"].head(NAMED), rows["share_pct"].head(NAMED), strict=True)
    ]
    return ", ".join(told) + (f" and {words.count(len(rows) - NAMED)} more" if len(rows) > NAMED else "")


def kernel(ask: Ask) -> Statement | None:
    """The kernel that takes most of the time (kernels)."""
    rows = ask("kernels", limit=1)
    if rows.empty:
        return None
    top = rows.iloc[0]
    calls = f"{words.count(top['calls'])} launch{'es'[: 2 * (int(top['calls']) != 1)]}"
    name = words.code(words.shortened(top["name"], 60))
    share, total = words.percent(top["share_pct"]), words.duration(top["total_ns"])
    text = f"**{name} takes {share} of kernel time**: {total} in {calls}."
    return Statement(text, float(top["total_ns"]), "Dominant kernel", "kernel", {"kernel": str(top["kernel"])})


def copies(ask: Ask) -> Statement | None:
    """The time that copies block the CPU, by the kind that blocks it longest (copy_kinds)."""
    rows = ask("copy_kinds")
    held = rows[rows["held"].notna()] if len(rows) else rows
    if held.empty or not (worth := float(held["call_ns"].sum())):
        return None
    top = held.groupby("held")["call_ns"].sum().idxmax()
    of = held[held["held"] == top]
    count = int(of["count"].sum())
    verbs = ("uses", "is") if count == 1 else ("use", "are")
    why = {"pageable": f"{verbs[0]} pageable memory", "synchronous": f"{verbs[1]} synchronous"}.get(
        str(top), words.plain(top)
    )
    text = (
        f"**Copies block the CPU for {words.duration(worth)}.** {words.count(count)} of them {why}"
        f" ({words.duration(of['call_ns'].sum())})."
    )
    return Statement(text, worth, "Copies that block", "memory")


@dataclass(frozen=True)
class Slowest:
    """The slowest step: how a selection names it, its time and the median of all, ns."""

    selected: str
    longest_ns: float
    median_ns: float


def slowest(rows: pd.DataFrame) -> Slowest | None:
    """The slowest of the steps that count among rows of ``iterations`` of one loop; None where fewer than three do.

    A selection numbers the instances of a path, the rows the steps of the loop, whose paths may be several.
    """
    if rows.empty:
        return None
    alone = rows["path"].nunique() == 1  # then some rows may be left out, and the number is right
    rows = rows.assign(nth=rows["number"] if alone else rows.groupby("path").cumcount() + 1)
    rows = rows[rows["closed"].astype(bool) & ~rows["is_warmup"].astype(bool)]
    if len(rows) < ENOUGH:
        return None
    times = (rows["gpu_ns"] if rows["gpu_ns"].notna().all() else rows["cpu_ns"]).astype(float)
    step = rows.iloc[int(times.to_numpy().argmax())]
    path = str(step["path"])
    selected = path if rows["path"].is_unique else f"{path}#{int(step['nth'])}"
    return Slowest(selected, float(times.max()), float(times.median()))


def steps(ask: Ask) -> Statement | None:
    """The slowest step, where it is much slower than the median (iterations)."""
    step = slowest(ask("iterations", rank=1))
    if step is None or not step.median_ns or step.longest_ns < SLOW * step.median_ns:
        return None
    text = (
        f"**The slowest step takes {words.duration(step.longest_ns)}**, {step.longest_ns / step.median_ns:.3g} times"
        f" the median: {words.code(words.shortened(step.selected, 60))}."
    )
    worth = step.longest_ns - step.median_ns
    return Statement(text, worth, "Kernels of that step", "kernels", {"range": step.selected})


def lines(told: list[Statement]) -> list[str]:
    """The statements as lines of a list in Markdown."""
    return [f"- {statement.text}" for statement in told]

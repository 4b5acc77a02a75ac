"""The most important statements about a Systems report, each with the page that shows more of it.

A statement weighs what it could be worth, in nanoseconds: idle time, time of the largest kernel, time of copies, time
that one step takes more than the median. Of a memory snapshot they say what holds memory,
what grew and how scattered the rest is. Pages and the summary in Markdown say the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd

from profiledb import words
from profiledb.errors import NotCapturedError
from profiledb.query import header
from profiledb.query.analysis import rows_or_none
from profiledb.rules.classes import OTHER
from profiledb.studies.idle import code, place, whole_step
from profiledb.studies.summary.answers import class_title

Ask = Callable[..., pd.DataFrame]
"""Runs an analysis by its name, on what is selected; raises NotCapturedError."""

TIMELINE = "timeline"
"""The page that shows every event; it asks no analysis."""
MATMUL = "matmul"
HOST_CODE = "host code"
AUTOTUNING = "autotuning"
AUTOTUNING_PCT = 5.0
"""Share of kernel time from which on the choosing of algorithms is told."""
OF_A_MODEL = frozenset((MATMUL, "attention", "convolution", "softmax", "normalization", "optimizer", "embedding"))
"""Classes of kernels of which a neural network has some: where none is, nobody asks how much is matmul."""
UNUSED_PCT = 10.0
"""Share of the capture below which the GPU is told as hardly used, where it works for less than half of it at all."""
IDLE_PCT = 10.0
"""Share of the time from which on an idle GPU is the first thing to say."""
ALL_PCT = 99.0
"""Share of kernel time from which on a class of kernels is all there is."""
SLOW = 1.2
"""A step this many times as long as the median is worth a word."""
LEAST = 0.01
"""A statement that is worth less than this part of another is not made."""
ENOUGH = 3
"""Steps from which on one is the slowest."""
MANY = 5
"""Steps from which on the slowest is worth a word."""
MOST = 3
NAMED = 3
"""Kernels without a class that are named."""
WORK = ("launch", "blocking copy", "queued copy")
"""Categories of CUDA calls that give the GPU something to do (api_calls)."""
FRAMES = " < "
"""Between the functions of a stack."""


@dataclass(frozen=True)
class Statement:
    """A sentence (Markdown, names as code), what it is worth in ns, and where to read on.

    ``page`` is an address of the dashboard, ``query`` what its address says beside report and selection. ``rank``: 0
    comes first whatever else is larger, then 1. ``groups`` are the groups of rules whose findings say the same.
    """

    text: str
    worth_ns: float
    label: str
    page: str
    query: Mapping[str, str] = field(default_factory=dict)
    rank: int = 2
    groups: tuple[str, ...] = ()


def statements(ask: Ask) -> list[Statement]:
    """The three that matter most; an idle GPU first, then by what they are worth. Fewer where there is less to say."""
    if told := snapshot(ask):
        return told
    topics = (idle, unused, autotuning, transfers, classes, kernel, steps, calls)
    told = [statement for topic in topics if (statement := _or_none(topic, ask))]
    if told and told[0].page == _page("idle_reasons"):
        told = [one for one in told if one.page != TIMELINE]  # what the gaps say, the ends of the capture need not
    least = LEAST * max((statement.worth_ns for statement in told), default=0.0)
    told = [statement for statement in told if statement.worth_ns >= least]
    return sorted(told, key=lambda one: (one.rank, -one.worth_ns))[:MOST]


def _or_none(topic: Callable[[Ask], Statement | None], ask: Ask) -> Statement | None:
    try:
        return topic(ask)
    except NotCapturedError:
        return None


def _page(analysis: str) -> str:
    """Return the address of the page that shows an analysis."""
    return header.get(analysis).page


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
    if where is not None and not whole_step(str(where["range"])):
        path = words.code(words.shortened(where["range"], 80))
        text += f" For {words.percent(where['share_pct'])} of that the CPU is in {path}."
    else:
        top = reasons.iloc[0]
        reason = "non-CUDA code on the CPU" if top["reason"] == HOST_CODE else words.plain(top["reason"])
        text += f" Main reason: {reason} ({words.percent(top['share_pct'])})."
    if reasons["reason"].iloc[0] == HOST_CODE and (told := code(rows_or_none(ask, "idle_code"))):
        text += f" {told}"
    return Statement(text, worth, "Why the GPU is idle", _page("idle_reasons"), rank=0, groups=("idle", "host"))


def unused(ask: Ask) -> Statement | None:
    """That the GPU works in a small part of the capture only, and nothing before and after it (gpu_busy)."""
    rows = ask("gpu_busy")
    used = rows[rows["operations"] > 0]
    busy, active, whole = (float(used[name].sum()) for name in ("busy_ns", "active_ns", "capture_ns"))
    if not whole or active > whole / 2 or 100 * busy / whole >= UNUSED_PCT:
        return None
    text = (
        f"**The GPU works for {words.duration(busy)} of {words.duration(whole)}**"
        f" ({words.percent(100 * busy / whole)})."
        f" From its first operation to the end of its last it is {words.duration(active)}."
    )
    return Statement(text, whole - busy, "What runs when", TIMELINE, rank=0)


def autotuning(ask: Ask) -> Statement | None:
    """How much of the kernel time goes into choosing algorithms, which ends after the first steps (class_split)."""
    rows = ask("class_split")
    rows = rows[rows["class"] == AUTOTUNING]
    if rows.empty or rows["share_pct"].iloc[0] < AUTOTUNING_PCT:
        return None
    text = (
        f"**Autotuning takes {words.percent(rows['share_pct'].iloc[0])} of kernel time**, and the algorithms that it"
        " tries take more. It happens once for each new shape: select a range or a time after it to leave it out."
    )
    worth = float(rows["total_ns"].iloc[0])
    return Statement(text, worth, "Kernels of autotuning", _page("kernels"), {"class": AUTOTUNING}, rank=1)


def transfers(ask: Ask) -> Statement | None:
    """That copies take more of the GPU's time than kernels, and which way most goes (gpu_busy, copies)."""
    busy = ask("gpu_busy")
    busy_ns, copies_ns, kernels_ns = (float(busy[name].sum()) for name in ("busy_ns", "copying_ns", "kernel_ns"))
    if copies_ns <= kernels_ns or copies_ns < busy_ns / 2:  # a CUDA graph as a whole is neither
        return None
    top = ask("copies").iloc[0]
    text = (
        f"**Copies take {words.duration(copies_ns)}, kernels {words.duration(kernels_ns)}.** Most of it:"
        f" {words.code(top['direction'])}, {words.bytes_(top['bytes'])} in {words.duration(top['total_ns'])}."
    )
    return Statement(text, copies_ns, "All copies", _page("copies"), groups=("copies",))


def classes(ask: Ask) -> Statement | None:
    """The class of kernels that takes most of the time, and how much is matmul (class_split)."""
    rows = ask("class_split")
    if len(rows) < 2:
        return None
    top = rows.iloc[0]
    if top["class"] == OTHER:
        return _without_class(ask, top)
    if top["share_pct"] >= ALL_PCT:
        return None
    text = f"**{class_title(top['class'])} takes {words.percent(top['share_pct'])} of kernel time**"
    matmul = rows[rows["class"] == MATMUL]
    if top["class"] == MATMUL or not of_a_model(rows):
        second = rows.iloc[1]
        text += f", then {class_title(second['class'])} with {words.percent(second['share_pct'])}."
    elif len(matmul):
        text += f", matmul {words.percent(matmul['share_pct'].iloc[0])}."
    else:
        text += ". No kernel is a matmul."
    label = "Matmul and other work by phase" if of_a_model(rows) else "Kernel time by class and phase"
    return Statement(text, float(top["total_ns"]), label, _page("phase_split"))


def of_a_model(rows: pd.DataFrame) -> bool:
    """Whether the classes in rows of ``class_split`` are those of a neural network."""
    return not OF_A_MODEL.isdisjoint(rows["class"])


def _without_class(ask: Ask, top: "pd.Series[Any]") -> Statement | None:
    """What stands behind Other where that takes most: its largest kernels by name (kernels)."""
    kernels = ask("kernels")
    if (kernels["class"] == OTHER).sum() == 1:
        return None  # it is the largest kernel of all, too
    names = without_class(kernels)
    text = f"**{words.percent(top['share_pct'])} of kernel time is in kernels without a class.** Largest: {names}."
    return Statement(text, float(top["total_ns"]), "Kernels without a class", _page("kernels"), {"class": OTHER})


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
    query = {"kernel": str(top["kernel"])}
    return Statement(text, float(top["total_ns"]), "Dominant kernel", _page("kernel_instances"), query)


def calls(ask: Ask) -> Statement | None:
    """Whether CUDA calls asked for work, where the report has nothing of the GPU's side (api_calls)."""
    if len(rows_or_none(ask, "gpu_busy")) or (rows := ask("api_calls")).empty:
        return None
    top, worth = rows.iloc[0], float(rows["total_ns"].sum())
    if rows["category"].isin(WORK).any():
        name, share = words.code(words.shortened(top["function"], 80)), words.percent(top["share_pct"])
        total, number = words.duration(top["total_ns"]), words.counted(top["calls"], "call")
        text = (
            "**CUDA calls launch kernels or copy, but the report has nothing of what the GPU did.**"
            f" {name} takes {share} of the time in CUDA calls: {total} in {number}."
        )
    else:
        number = words.counted(rows["calls"].sum(), "CUDA call")
        text = (
            f"**The program gave the GPU no work**: {number} took {words.duration(worth)} in all, and none of them"
            " launches a kernel, copies or sets memory."
        )
    return Statement(text, worth, "All CUDA calls", _page("api_calls"))


def snapshot(ask: Ask) -> list[Statement]:
    """What a memory snapshot says of the device that holds most; nothing of a report that also has work of a GPU."""
    devices = rows_or_none(ask, "tensor_memory")
    if devices.empty or rows_or_none(ask, "tensor_fragmentation").empty or len(rows_or_none(ask, "gpu_busy")):
        return []
    most = devices.sort_values("peak_bytes", ascending=False, kind="stable").iloc[0]
    several = f" on {words.plain(most['device'])}" if len(devices) > 1 else ""
    told = [one(ask, most, several) for one in (_peak, _grown, _scattered)]
    return [Statement(text, 0.0, "Memory of tensors", _page("tensor_memory")) for text in told if text]


def line(name: Any) -> str:
    """A source line or a stack without the folders of its files."""
    return FRAMES.join(frame.rpartition("/")[2] for frame in str(name).split(FRAMES))


def _of(ask: Ask, name: str, device: "pd.Series[Any]") -> pd.DataFrame:
    rows = rows_or_none(ask, name)
    return rows[rows["device"] == device["device"]] if len(rows) else rows


def _peak(ask: Ask, device: "pd.Series[Any]", where: str) -> str:
    """What tensors hold at most, and who holds most of it (tensor_memory, tensor_peak)."""
    share = f", {words.percent(device['peak_pct'])} of its memory" if words.number(device["peak_pct"]) else ""
    text = f"**Tensors hold {words.bytes_(device['peak_bytes'])} at the peak{where}**{share}."
    if (parts := _of(ask, "tensor_peak", device)).empty:
        return text
    named = parts[parts["part"] == "named"]
    told = [
        f"{words.code(line(one['name']))} {words.percent(one['share_pct'])}" for _, one in named.head(NAMED).iterrows()
    ]
    before = parts.loc[parts["part"] == "before", "share_pct"]
    told += [f"allocated before the capture {words.percent(share)}" for share in before]
    return f"{text} By what allocated it: {', '.join(told)}." if told else text


def _grown(ask: Ask, device: "pd.Series[Any]", where: str) -> str:
    """What is held at the end that was not at the start, and who allocated it (tensor_memory, tensor_allocations)."""
    before, end = float(device["before_bytes"]), float(device["end_bytes"])
    held = f"from {words.bytes_(before)} at the start of the capture to {words.bytes_(end)} at its end"
    if end <= before:
        return f"**Tensors{where} hold no more at the end of the capture**: {held}."
    steps = _of(partial(ask, warmup="exclude"), "tensor_growth", device)
    grows = len(steps) and bool(steps["grows"].fillna(False).iloc[0])
    per_step = f", by {words.bytes_(steps['slope_bytes'].iloc[0])} per step" if grows else ""
    text = f"**Memory grows by {words.bytes_(end - before)}{where}**, {held}{per_step}."
    if (kept := _of(ask, "tensor_allocations", device)).empty:
        return text
    kept = kept[(kept["net_bytes"] > 0) & kept["name"].notna()].sort_values("net_bytes", ascending=False, kind="stable")
    told = [
        f"{words.code(line(one['name']))} {words.bytes_(one['net_bytes'])}" for _, one in kept.head(NAMED).iterrows()
    ]
    return f"{text} Not released: {', '.join(told)}." if told else text


def _scattered(ask: Ask, device: "pd.Series[Any]", where: str) -> str:
    """How much of what the allocator holds no tensor uses, and how large a piece of it is (tensor_fragmentation)."""
    rows = _of(ask, "tensor_fragmentation", device)
    if rows.empty:
        return ""
    one = rows.iloc[0]
    text = (
        f"**The allocator holds {words.bytes_(one['bytes'])}{where}, of which {words.bytes_(one['free_bytes'])} is"
        " free**, when the snapshot was taken."
    )
    if not one["free_bytes"]:
        return text
    return (
        f"{text} The largest free block has {words.bytes_(one['largest_free_bytes'])}; a larger allocation takes more"
        f" of the device. {words.percent(one['scattered_pct'])} of the free memory lies in smaller blocks."
    )


@dataclass(frozen=True)
class Slowest:
    """The slowest step: how a selection names it, its time and the median of all, ns, and how many they are."""

    selected: str
    longest_ns: float
    median_ns: float
    steps: int


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
    return Slowest(selected, float(times.max()), float(times.median()), len(times))


def steps(ask: Ask) -> Statement | None:
    """The slowest step, where it is much slower than the median (iterations)."""
    rows = ask("iterations", rank=1)
    step = slowest(rows)
    if step is None or step.steps < MANY or not step.median_ns or _sizes(rows["name"]):
        return None
    if step.longest_ns < SLOW * step.median_ns:
        return None
    text = (
        f"**The slowest step takes {words.duration(step.longest_ns)}**, {step.longest_ns / step.median_ns:.3g} times"
        f" the median: {words.code(words.shortened(step.selected, 60))}."
    )
    worth = step.longest_ns - step.median_ns
    query = {"range": step.selected}
    return Statement(text, worth, "Kernels of that step", _page("kernels"), query, groups=("steps",))


def _sizes(names: "pd.Series[str]") -> bool:
    """Whether the numbers in the names of steps are sizes (tokens_512, tokens_1024): one has to take longest."""
    if names.str.contains("step|iter|epoch", case=False).any():
        return False
    numbers = pd.to_numeric(names.str.extract(r"(\d{1,9})\D*$")[0])
    return bool(numbers.notna().all() and numbers.max() - numbers.min() + 1 > numbers.nunique())


def lines(told: list[Statement]) -> list[str]:
    """The statements as lines of a list in Markdown."""
    return [f"- {statement.text}" for statement in told]

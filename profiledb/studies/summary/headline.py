"""The most important statements about a report, each with the page that shows more.

The weight of a statement is its possible gain in ns: idle time, time of the largest kernel, time of copies, time of the
slowest step above the median. The pages and the summary in Markdown use the same statements.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from profiledb import words
from profiledb.errors import NotCapturedError
from profiledb.findings.advice import translate
from profiledb.query.analysis import rows_or_none
from profiledb.query.captures import Capture
from profiledb.rules.classes import OTHER
from profiledb.studies.summary.answers import LONGEST_KERNEL, get_class_title
from profiledb.studies.summary.idle import find_code, find_place, is_whole
from profiledb.studies.summary.snapshot import state_snapshot
from profiledb.studies.summary.statement import NAMED, Ask, Statement, get_page

TIMELINE = "timeline"
"""The page that shows every event; it asks no analysis."""
MATMUL = "matmul"
HOST_CODE = "host code"
UNKNOWN = "unknown"
AUTOTUNING = "autotuning"
AUTOTUNING_PCT = 5.0
"""Share of kernel time from which autotuning is mentioned."""
OF_A_MODEL = frozenset((MATMUL, "attention", "convolution", "softmax", "normalization", "optimizer", "embedding"))
"""Kernel classes that every neural network has some of: without any, the share of matmul is not mentioned."""
UNUSED_PCT = 10.0
"""Busy share of the capture below which the GPU counts as hardly used, if it also works in less than half of it."""
HARDLY = 0.1
"""Part of the capture from the first to the last operation below which that comes first."""
WHOLE = 0.9
"""Part of the capture from the first to the last operation from which shares of both are about the same."""
IDLE_PCT = 10.0
"""Idle share from which an idle GPU comes first."""
ALL_PCT = 99.0
"""Share of kernel time from which a class of kernels is called the only one."""
SLOW = 1.2
"""Multiple of the median from which a step counts as slow."""
LEAST = 0.01
"""Part of another statement's weight below which a statement is dropped."""
ENOUGH = 3
"""Number of steps from which one can be the slowest."""
MANY = 5
"""Number of steps from which the slowest is mentioned."""
ONE_TELLS_NOTHING = "That tells nothing about a program: record several of its steps."
LITTLE_NS = 1e6
"""Busy time of all GPUs below which a report of GPUs that are always idle shows little but start-up."""
MOST = 3
MOST_PCT = 99.9
"""Share above which an idle share is not said more exactly: it would read as all of the time."""
_SPINS = re.compile(r"spin_kernel\b")
"""Kernels that only pass time, such as that of `torch.cuda._sleep`."""
WHOLE_PCT = 99.995
WORK = ("launch", "blocking copy", "queued copy")
"""Categories of CUDA calls that give the GPU work (api_calls)."""


def find_statements(ask: Ask) -> list[Statement]:
    """Return the three most important statements, an idle GPU first, then by weight; fewer if there is less to say."""
    if statements := state_snapshot(ask) or state_paths(ask):
        return statements
    topics = (
        state_idle, state_unused, state_autotuning, state_transfers, state_graphs, state_classes, state_kernel,
        state_steps, state_calls,
    )  # fmt: skip
    statements = [statement for topic in topics if (statement := _try_topic(topic, ask))]
    if statements and statements[0].page == get_page("idle_reasons"):
        # Idle time explains it better than the edges of the capture, unless most of the capture lies outside of it.
        statements = [one for one in statements if one.page != TIMELINE or one.rank != 0]
    compared = [one.worth_ns for one in statements if one.page != TIMELINE] or [0.0]  # not the edges of the capture
    least = LEAST * max(compared)
    statements = [statement for statement in statements if statement.worth_ns >= least]
    return sorted(statements, key=lambda one: (one.rank, -one.worth_ns))[:MOST]


def state_nothing(ask: Ask) -> str:
    """Return the text of a report without statements, in Markdown."""
    rows = rows_or_none(ask, "gpu_busy")
    busy_ns, active_ns = (float(rows[name].sum()) if len(rows) else 0.0 for name in ("busy_ns", "active_ns"))
    if busy_ns:
        share = words.percent(min(100.0, 100 * busy_ns / active_ns))
        return f"**The GPU is busy {share} of the time from its first operation to the end of its last.**"
    unless = "" if _was_traced(ask) else ", or they were not traced"
    return f"This report has no GPU activity and no CUDA calls: the program used only the CPU{unless}."


def _was_traced(ask: Ask) -> bool:
    """Return True if the capture asked for GPU work and recorded none (kernels)."""
    try:
        return bool(len(ask("kernels")))
    except NotCapturedError as error:
        return error.why == Capture.none


def _try_topic(topic: Callable[[Ask], Statement | None], ask: Ask) -> Statement | None:
    try:
        return topic(ask)
    except NotCapturedError:
        return None


def state_idle(ask: Ask) -> Statement | None:
    """State the idle share of the GPU, and where the CPU is meanwhile (idle_reasons, idle_ranges, idle_code)."""
    reasons = ask("idle_reasons")
    share = words.number(reasons["window_pct"].sum()) if len(reasons) else None
    if share is None or share < IDLE_PCT:
        return None
    worth = float(reasons["idle_ns"].sum())
    amount = f"{words.duration(worth)}{_describe_basis(ask, worth)}"
    idle = words.percent(share) if share < MOST_PCT else f"over {words.percent(MOST_PCT)}"
    text = f"**The GPU is idle {idle} of the time** ({amount}).{_describe_little(ask, share)}"
    ranges = rows_or_none(ask, "idle_ranges")
    where = find_place(ranges) if len(ranges) else None
    if where is not None and not is_whole(where):
        path = words.code(words.shortened(where["range"], 80))
        text += f" For {words.percent(where['share_pct'])} of that the CPU is in {path}."
    else:
        top = reasons.iloc[0]
        reason = "non-CUDA code on the CPU" if top["reason"] == HOST_CODE else words.plain(top["reason"])
        reason = translate(reason, find_traits(ask))
        known = f"Main reason: {reason} ({words.percent(top['share_pct'])})."
        text += " Nothing in the report tells why." if top["reason"] == UNKNOWN else f" {known}"
    code = find_code(rows_or_none(ask, "idle_code")) if reasons["reason"].iloc[0] == HOST_CODE else ""
    return Statement(text, worth, "Why the GPU is idle", get_page("idle_reasons"), rank=0, code=code)


def _describe_little(ask: Ask, share: float) -> str:
    """Say that a GPU that hardly works shows little but start-up, with a space before it; else return ""."""
    rows = rows_or_none(ask, "gpu_busy")
    if share < MOST_PCT or rows.empty:
        return ""
    names = ("busy_ns", "operations", "active_ns", "capture_ns")
    used = rows[rows["operations"] > 0]
    busy, operations, active, whole = (float(used[name].sum()) for name in names)
    if busy >= LITTLE_NS or operations <= 1 or active < HARDLY * whole:  # which state_unused tells
        return ""
    number = words.counted(operations, "operation")
    little = "so the report shows little but start-up: record more steps."
    return f" It works for {words.duration(busy)}, in {number}, {little}"


def _describe_basis(ask: Ask, idle_ns: float) -> str:
    """Name the time that idle time is a share of, unless it is all of it, a GPU's whole capture, or in a statement."""
    rows = rows_or_none(ask, "gpu_busy")
    used = rows[rows["operations"] > 0] if len(rows) else rows
    if used.empty:
        return ""
    active, whole = float(used["active_ns"].sum()), float(used["capture_ns"].sum())
    if len(used) > 1:
        return f" of {words.duration(active)}, summed over {len(used)} GPUs"
    if active > WHOLE * whole or words.duration(active) == words.duration(idle_ns):
        return ""
    if active < HARDLY * whole:
        return f" of these {words.duration(active)}"  # which state_unused gives
    return f" of the {words.duration(active)} from its first operation to the end of its last"


def state_unused(ask: Ask) -> Statement | None:
    """State that the GPU works in a small part of the capture only (gpu_busy); one operation is stated by others."""
    rows = ask("gpu_busy")
    used = rows[rows["operations"] > 0]
    busy, active, whole = (float(used[name].sum()) for name in ("busy_ns", "active_ns", "capture_ns"))
    if not whole or active > whole / 2 or 100 * busy / whole >= UNUSED_PCT or used["operations"].sum() == 1:
        return None
    idle = 100 - 100 * busy / whole
    share = words.percent(idle) if idle < MOST_PCT else f"over {words.percent(MOST_PCT)}"
    times = f"{words.duration(busy)} of {words.duration(whole)}"
    of = "selected time" if _is_cut(ask, float(used["capture_ns"].iloc[0])) else "capture"
    within, hardly = "", active < HARDLY * whole
    if len(used) > 1:
        text = f"**The GPUs do nothing for {share} of the {of}**: {len(used)} GPUs together work for {times}."
    else:
        within = f", all within {words.duration(active)}" if words.duration(active) != words.duration(busy) else ""
        text = f"**The GPU does nothing for {share} of the {of}**: it works for {times}{within}."
    return Statement(
        text, whole - busy, "What runs when", TIMELINE, rank=-1 if hardly else 0, within=hardly and bool(within)
    )


def _is_cut(ask: Ask, ns: float) -> bool:
    """Return True if a time is only a part of the capture (report_facts)."""
    rows = rows_or_none(ask, "report_facts")
    whole = words.number(rows["duration_ns"].iloc[0]) if len(rows) else None
    return whole is not None and ns < ALL_PCT / 100 * whole


def state_autotuning(ask: Ask) -> Statement | None:
    """State the share of kernel time spent on autotuning, which ends after the first steps (class_split)."""
    rows = ask("class_split")
    rows = rows[rows["class"] == AUTOTUNING]
    if rows.empty or rows["share_pct"].iloc[0] < AUTOTUNING_PCT:
        return None
    text = (
        f"**Autotuning takes {words.percent(rows['share_pct'].iloc[0])} of kernel time**, and the algorithms that it"
        " tries take more. It happens once for each new shape: select a range or a time after it to leave it out."
    )
    worth = float(rows["total_ns"].iloc[0])
    return Statement(text, worth, "Kernels of autotuning", get_page("kernels"), {"class": AUTOTUNING}, rank=1)


def state_transfers(ask: Ask) -> Statement | None:
    """State that copies take more GPU time than kernels, and their main direction (gpu_busy, copies)."""
    busy = ask("gpu_busy")
    busy_ns, copies_ns, kernels_ns = (float(busy[name].sum()) for name in ("busy_ns", "copying_ns", "kernel_ns"))
    if copies_ns <= kernels_ns or copies_ns < busy_ns / 2:
        return None
    rows = ask("copies")
    top = rows.iloc[0]
    if busy["operations"].sum() == 1:
        text = _state_single(busy, f"a copy {words.code(top['direction'])} of {words.bytes_(top['bytes'])}", copies_ns)
        return Statement(text, copies_ns, "All copies", get_page("copies"))
    text = f"**Copies take {words.duration(copies_ns)}, kernels {words.duration(kernels_ns)}.**"
    if not kernels_ns and busy_ns > copies_ns:
        text = f"**Copies take {words.duration(copies_ns)}, CUDA graphs {words.duration(busy_ns - copies_ns)}.**"
    elif not kernels_ns:
        text = f"**The GPU only copies, for {words.duration(copies_ns)}.**"
    if len(rows) == 1:
        text += f" All are {words.code(top['direction'])}: {words.bytes_(top['bytes'])}."
    else:
        text += f" Most of it: {words.code(top['direction'])}, {words.bytes_(top['bytes'])}"
        total = words.duration(top["total_ns"])
        text += "." if total == words.duration(copies_ns) else f" in {total}."
    return Statement(text, copies_ns, "All copies", get_page("copies"))


def state_graphs(ask: Ask) -> Statement | None:
    """State that CUDA graphs traced as a whole hide most kernels (gpu_busy)."""
    rows = ask("gpu_busy")
    busy_ns, copies_ns, kernels_ns = (float(rows[name].sum()) for name in ("busy_ns", "copying_ns", "kernel_ns"))
    graphs_ns = busy_ns - copies_ns - kernels_ns
    if 20 * kernels_ns > busy_ns or not busy_ns or busy_ns < 2 * copies_ns:  # else copies come first (state_transfers)
        return None
    text = (
        f"**CUDA graphs take {words.duration(graphs_ns)}, {words.percent(100 * graphs_ns / busy_ns)} of the busy"
        " time.** They were traced as a whole, so the report has none of their kernels."
    )
    return Statement(text, graphs_ns, "What runs when", TIMELINE)


def state_classes(ask: Ask) -> Statement | None:
    """State the kernel class with the most time, and the share of matmul (class_split)."""
    rows = ask("class_split")
    if len(rows) < 2:
        return None
    autotuning_pct = float(rows.loc[rows["class"] == AUTOTUNING, "share_pct"].sum())
    rows = rows[rows["class"] != AUTOTUNING] if autotuning_pct >= AUTOTUNING_PCT else rows
    top = rows.iloc[0]
    if top["class"] == OTHER:
        return _state_without_class(ask, top)
    if top["share_pct"] >= ALL_PCT:
        return None
    text = f"**{get_class_title(top['class'])} takes {words.percent(top['share_pct'])} of kernel time**."
    text = _state_two(top, rows) if len(rows) > 1 else text
    label = "Matmul and other work by phase" if is_neural_network(rows) else "Kernel time by class and phase"
    return Statement(text, float(top["total_ns"]), label, get_page("phase_split"))


def _state_two(top: "pd.Series[Any]", rows: pd.DataFrame) -> str:
    """State the two classes with the most time, and the share of matmul in a neural network."""
    second, matmul = rows.iloc[1], rows[rows["class"] == MATMUL]
    first, title = (get_class_title(one["class"]) for one in (top, second))
    share, other = (words.percent(one["share_pct"]) for one in (top, second))
    is_complete = MATMUL in (top["class"], second["class"]) or not is_neural_network(rows)
    if share == other:
        text = f"**{first} and {title} take {share} of kernel time each**"
    elif second["class"] == MATMUL and is_neural_network(rows):
        text = f"**{first} takes {share} of kernel time**, matmul {other}"
    else:
        text = f"**{first} takes {share} of kernel time**, then {title} with {other}"
    if not is_complete:
        text += f", matmul {words.percent(matmul['share_pct'].iloc[0])}" if len(matmul) else ". No kernel is a matmul"
    return f"{text}."


def is_neural_network(rows: pd.DataFrame) -> bool:
    """Return True if the classes in rows of ``class_split`` are those of a neural network."""
    return not OF_A_MODEL.isdisjoint(rows["class"])


def _state_without_class(ask: Ask, top: "pd.Series[Any]") -> Statement | None:
    """Name the largest kernels of the class Other if that has the most time (kernels)."""
    kernels = ask("kernels")
    if (kernels["class"] == OTHER).sum() == 1:
        return None  # it is also the largest kernel overall
    names = name_without_class(kernels)
    text = f"**{words.percent(top['share_pct'])} of kernel time is in kernels without a class.** Largest: {names}."
    return Statement(text, float(top["total_ns"]), "Kernels without a class", get_page("kernels"), {"class": OTHER})


def name_without_class(kernels: pd.DataFrame) -> str:
    """Name the largest kernels without a class, with their shares of kernel time; Markdown."""
    rows = kernels[kernels["class"] == OTHER]
    listing = [
        f"{words.code(words.shortened(name, LONGEST_KERNEL))} ({words.percent(share)})"
        for name, share in zip(rows["name"].head(NAMED), rows["share_pct"].head(NAMED), strict=True)
    ]
    return ", ".join(listing) + (f" and {words.count(len(rows) - NAMED)} more" if len(rows) > NAMED else "")


def state_kernel(ask: Ask) -> Statement | None:
    """State the kernel with the most time (kernels)."""
    rows = ask("kernels", limit=1)
    if rows.empty:
        return None
    top = rows.iloc[0]
    calls = f"{words.count(top['calls'])} launch{'es'[: 2 * (int(top['calls']) != 1)]}"
    name = words.code(words.shortened(top["name"], LONGEST_KERNEL))
    share, total = words.percent(top["share_pct"]), words.duration(top["total_ns"])
    share = "all" if top["share_pct"] >= WHOLE_PCT else f"{share} of"
    text = f"**{name} takes {share} kernel time**: {total} in {calls}."
    if len(busy := rows_or_none(ask, "gpu_busy")) and busy["operations"].sum() == 1:
        text = _state_single(busy, name, float(top["total_ns"]))
    elif _SPINS.match(str(top["name"])):
        text += " It only spins, which delays its stream: that is no work."
    query = {"kernel": str(top["kernel"])}
    return Statement(text, float(top["total_ns"]), "Dominant kernel", get_page("kernel_instances"), query)


def _state_single(busy: pd.DataFrame, operation: str, ns: float) -> str:
    """State the only operation of the capture, and how long that is."""
    lasted = float(busy.loc[busy["operations"] > 0, "capture_ns"].iloc[0])
    whole = f" in {words.duration(lasted)}" if words.duration(lasted) != words.duration(ns) else ""
    return f"**The GPU ran one operation{whole}**: {operation}, for {words.duration(ns)}. {ONE_TELLS_NOTHING}"


def state_calls(ask: Ask) -> Statement | None:
    """State whether CUDA calls requested work, for a report without GPU activity (api_calls)."""
    if len(rows_or_none(ask, "gpu_busy")) or (rows := ask("api_calls")).empty:
        return None
    top, worth = rows.iloc[0], float(rows["total_ns"].sum())
    captures, replays = (rows["function"].str.contains(part).any() for part in ("StreamBeginCapture", "GraphLaunch"))
    if captures and not replays:
        text = (
            "**The report shows no work of a GPU**: the launches in it become part of CUDA graphs, and no call in it"
            " launches a graph."
        )
    elif rows["category"].isin(WORK).any():
        name, share = words.code(words.shortened(top["function"], 80)), words.percent(top["share_pct"])
        total, number = words.duration(top["total_ns"]), words.counted(top["calls"], "call")
        text = (
            "**The program launched work, but the driver did not report it.**"
            f" {name} takes {share} of the time in {name_api(rows['function'])}calls: {total} in {number}."
        )
    else:
        number = words.counted(rows["calls"].sum(), f"{name_api(rows['function'])}call")
        text = (
            f"**The program gave the GPU no work**: {number} took {words.duration(worth)} in all, and none of them"
            " launches a kernel, copies or sets memory."
        )
    return Statement(text, worth, "All CUDA calls", get_page("api_calls"))


def name_api(functions: "pd.Series[str]") -> str:
    """Return the name of the API of these functions with a space behind it; "" if it is neither CUDA nor HIP."""
    of = {api: float(functions.str.startswith(prefix).mean()) for api, prefix in (("HIP ", "hip"), ("CUDA ", "cu"))}
    return next((api for api, share in of.items() if share > 1 / 2), "")


def find_traits(ask: Ask) -> frozenset[str]:
    """Return the traits of the program (program), for words that depend on its platform."""
    rows = rows_or_none(ask, "program")
    return frozenset(rows["trait"]) if len(rows) else frozenset()


def state_paths(ask: Ask) -> list[Statement]:
    """State the time of all kernels of a profile that has sums and no times, and the largest one (path_kernels)."""
    rows = rows_or_none(ask, "path_kernels")
    if rows.empty or words.number(rows["total_ns"].iloc[0]) is None:
        return []
    most, launches = rows.iloc[0], rows["calls"].sum()
    total = words.duration(rows["total_ns"].sum())
    number = f" in {words.counted(launches, 'launch')}" if launches else ""
    calls = f" in {words.count(most['calls'])}" if words.number(most["calls"]) and len(rows) > 1 else ""
    text = f"**Kernels take {total}{number}**, {words.percent(most['share_pct'])} of it in {words.code(most['name'])}"
    text += f" ({words.duration(most['total_ns'])}{calls})." if len(rows) > 1 else "."
    return [Statement(text, float(most["total_ns"]), "Kernels and call paths", get_page("path_kernels"))]


@dataclass(frozen=True)
class Slowest:
    """The slowest step: its name in a selection, its time and the median of all in ns, and their number.

    The times are those on the GPU, or on the CPU if not all steps have GPU work.
    """

    selected: str
    longest_ns: float
    median_ns: float
    steps: int
    on_gpu: bool = True


def find_slowest(rows: pd.DataFrame) -> Slowest | None:
    """Return the slowest counted step among rows of ``iterations`` of one loop; None for fewer than three steps.

    A selection numbers the instances of a path, but rows number the steps of the loop, which may have several paths.
    """
    if rows.empty:
        return None
    alone = rows["path"].nunique() == 1  # then rows may be left out, and the number is right
    rows = rows.assign(nth=rows["number"] if alone else rows.groupby("path").cumcount() + 1)
    rows = rows[rows["closed"].astype(bool) & ~rows["is_warmup"].astype(bool)]
    if len(rows) < ENOUGH:
        return None
    on_gpu = bool(rows["gpu_ns"].notna().all())
    times = rows["gpu_ns" if on_gpu else "cpu_ns"].astype(float)
    step = rows.iloc[int(times.to_numpy().argmax())]
    path = str(step["path"])
    selected = path if rows["path"].is_unique else f"{path}#{int(step['nth'])}"
    return Slowest(selected, float(times.max()), float(times.median()), len(times), on_gpu)


def state_steps(ask: Ask) -> Statement | None:
    """State the slowest step if it is much slower than the median (iterations)."""
    rows = ask("iterations", rank=1)
    step = find_slowest(rows)
    if step is None or step.steps < MANY or not step.median_ns or _are_sizes(rows["name"]):
        return None
    if step.longest_ns < SLOW * step.median_ns:
        return None
    takes = f"{words.duration(step.longest_ns)}{'' if step.on_gpu else ' on the CPU'}"
    text = (
        f"**The slowest step takes {takes}**, {step.longest_ns / step.median_ns:.3g} times"
        f" the median: {words.code(words.shortened(step.selected, 60))}."
    )
    worth = step.longest_ns - step.median_ns
    query = {"range": step.selected}
    return Statement(text, worth, "Kernels of that step", get_page("kernels"), query, group="steps")


def _are_sizes(names: "pd.Series[str]") -> bool:
    """Return True if the numbers in names of steps are sizes (tokens_512, tokens_1024): one then has to take
    longest.
    """
    if names.str.contains("step|iter|epoch", case=False).any():
        return False
    numbers = pd.to_numeric(names.str.extract(r"(\d{1,9})\D*$")[0])
    return bool(numbers.notna().all() and numbers.max() - numbers.min() + 1 > numbers.nunique())


def format_lines(statements: list[Statement]) -> list[str]:
    """Return the statements as lines of a Markdown list."""
    return [f"- {statement.text}" for statement in statements]

"""Sections of the summary of a Nsight Compute report."""

import re

import pandas as pd

from profiledb import words
from profiledb.query.analysis import rows_or_none
from profiledb.studies.summary import top_findings
from profiledb.studies.summary.answers import (
    LONGEST_KERNEL,
    Answers,
    Section,
    Shown,
    format_table,
    list_contradictions,
)

TOP = 10
ADVICE = "profile_advice"
"""The rule that gives ncu's own advice."""
UNNAMED = "(unnamed)"
"""Name of launches whose file names no kernel."""
_ADVICE_CHARS = 240
RANDOM = "random"
_PREPARES = re.compile(r"fill|memset|(^|[^a-z])init|arange", re.IGNORECASE)
"""Kernels that prepare data: with random number generators, they run before the actual work."""


_VERDICTS: Shown = {
    "Verdict": ("verdict", words.plain), "Share of the time": "share_pct", "Time": "duration_ns",
    "Launches": "launches",
}  # fmt: skip
_LAUNCHES: Shown = {
    "Launch": ("launch_id", words.code), "Kernel": "name", "Class": "class", "Duration": "duration_ns",
    "Compute": "compute_pct", "Memory": "memory_pct", "Occupancy": "occupancy_pct",
    "Possible": "theoretical_occupancy_pct", "Verdict": ("verdict", words.plain), "ncu's best advice": ("advice", str),
    "Roof efficiency": ("roof", words.percent),
}  # fmt: skip


def write_overview(answers: Answers) -> str:
    """Extent and limits of the measurement: the largest kernel, the verdict for most of the time, ncu's best advice."""
    rows = answers.rows("ncu_speed_of_light")
    statements = [
        one
        for one in (
            _state_preparation(rows),
            _state_largest(rows),
            _state_limit(answers, rows),
            _state_advice(answers),
        )
        if one
    ]
    return "\n".join(["## In short", "", *(f"- {one}" for one in statements)]) if statements else ""


def _state_preparation(rows: pd.DataFrame) -> str:
    """Return a hint if only kernels that prepare data were measured, and how to skip them."""
    if rows.empty or not all(
        kind == RANDOM or _PREPARES.search(str(name)) for kind, name in zip(rows["class"], rows["name"], strict=True)
    ):
        return ""
    return (
        "**Only kernels that initialize data were measured.** Skip them (`--launch-skip`), or name the kernel that you"
        " mean (`--kernel-name`)."
    )


def _state_largest(rows: pd.DataFrame) -> str:
    """Return the kernel with the most measured time, with verdict and occupancy of its longest launch."""
    times = rows.groupby("name")["duration_ns"].sum().astype(float).sort_values(ascending=False, kind="stable")
    if times.empty or not times.iloc[0]:
        return ""
    launches = rows[rows["name"] == times.index[0]].sort_values("duration_ns", ascending=False, kind="stable")
    top, name = launches.iloc[0], words.code(words.shortened(times.index[0], LONGEST_KERNEL))
    count, took = words.counted(len(launches), "launch"), words.duration(times.iloc[0])
    text = (
        f"**{name} takes {words.percent(100 * times.iloc[0] / times.sum())} of the measured time**: {took} in {count}"
    )
    if len(times) == 1:
        text = f"**{name} is the only kernel measured**: {took} in {count}"
    if times.index[0] == UNNAMED:
        longest = f"launch {int(top['launch_id'])} with {words.duration(top['duration_ns'])}"
        text = f"**{count} without a name took {took}**, the longest of them {longest}"
    if top["verdict"] != words.NOT_MEASURED:
        text += f", {words.plain(top['verdict'])}"
    if words.number(top["occupancy_pct"]) is not None:
        text += f", occupancy {words.percent(top['occupancy_pct'])}"
        if words.number(top["theoretical_occupancy_pct"]) is not None:
            text += f" of {words.percent(top['theoretical_occupancy_pct'])} possible"
    return f"{text}."


def _state_limit(answers: Answers, measured: pd.DataFrame) -> str:
    """Return the limit of most of the measured time, unless that of the largest kernel holds for every launch."""
    rows = answers.rows("ncu_verdicts")
    if measured["name"].nunique() == 1 and len(rows) == 1 and rows["verdict"].iloc[0] != words.NOT_MEASURED:
        return ""
    known = rows[(rows["verdict"] != words.NOT_MEASURED) & rows["share_pct"].notna()]
    if known.empty:
        return (
            "**Nothing tells what limits the launches**: speed of light was not collected (`ncu --set basic` collects"
            " it)."
        )
    top = known.sort_values("duration_ns", ascending=False, kind="stable").iloc[0]
    share, launches = words.percent(top["share_pct"]), words.counted(top["launches"], "launch")
    return f"**Verdict for {share} of the measured time: {words.plain(top['verdict'])}** ({launches})."


def _state_advice(answers: Answers) -> str:
    """Return the best advice of ncu that no rule of ours gives, if it saves enough (``ADVICE``), in ncu's words."""
    fires = (one for one in answers.findings if one.rule.name == ADVICE and one.verdict == "fires")
    pieces = next((one.evidence for one in fires), ())
    if not pieces:
        return ""
    best = pieces[0]
    rules = answers.rows("ncu_rules").sort_values("reach_pct", ascending=False, kind="stable")
    messages = rules.loc[(rules["launch_id"] == best["launch"]) & (rules["rule"] == best["note"]), "message"]
    name = words.code(words.shortened(best["name"], LONGEST_KERNEL))
    return (
        f"**ncu's best further advice saves up to {words.percent(best['value'])} of {name}** (launch {best['launch']},"
        f" rule {words.code(best['note'])}): {words.plain(_cut_advice(str(messages.iloc[0])))}"
    )


def _cut_advice(message: str) -> str:
    """Return the first sentences of a rule's message, without addresses."""
    sentences = re.split(
        r"(?<=[.!?])\s+(?=[A-Z])", re.sub(r"@(url|source|sass|section)[^@]*@|\s*\(https?://[^)\s]*\)", "", message)
    )
    advice = sentences[0]
    for sentence in sentences[1:]:
        if len(advice) + len(sentence) >= _ADVICE_CHARS:
            break
        advice = f"{advice} {sentence}"
    return words.shortened(advice, _ADVICE_CHARS)


def _find_best_rules(answers: Answers, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rule with the largest estimated saving of each launch, in ns, largest first."""
    rules = rows_or_none(answers.rows, "ncu_rules")
    if rules.empty:
        return rules.assign(saving_ns=[])
    rules = rules[rules["reach_pct"].notna()]
    times = rows.drop_duplicates("launch_id").set_index("launch_id")["duration_ns"].astype(float)
    saving = rules["reach_pct"].astype(float) / 100 * rules["launch_id"].map(times)
    rules = rules.assign(saving_ns=saving).dropna(subset=["saving_ns"])
    return rules.sort_values("saving_ns", ascending=False, kind="stable").drop_duplicates("launch_id")


def write_other_findings(answers: Answers) -> str:
    """The costliest findings, without ncu's own advice, with which the summary begins."""
    return top_findings.write_section(answers, [ADVICE])


def write_verdicts(answers: Answers) -> str:
    """Number of launches, and their limits by time."""
    rows = answers.rows("ncu_verdicts")
    launches = words.counted(rows["launches"].sum(), "launch")
    return f"## What limits the launches\n\n{launches}.\n\n" + format_table("ncu_verdicts", rows, _VERDICTS)


def write_top_kernels(answers: Answers) -> str:
    """The longest launches: speed of light, verdict, ncu's advice, and distance from the memory roof."""
    every = answers.rows("ncu_speed_of_light")
    rows = every.sort_values("duration_ns", ascending=False, kind="stable").head(TOP)
    best = _find_best_rules(answers, every)
    advice = {
        row["launch_id"]: f"{words.code(row['rule'], cell=True)} {words.percent(row['reach_pct'])}"
        for _, row in best.iterrows()
    }
    points = rows_or_none(answers.rows, "ncu_roofline", precision="main", level="dram")
    roofs = {} if points.empty else points.drop_duplicates("launch_id").set_index("launch_id")["pct_of_roof"].to_dict()
    advice_texts = [advice.get(launch, words.MISSING) for launch in rows["launch_id"]]
    shown = f"## Top launches\n\nThe longest {TOP}, with times as ncu measured them:\n\n" + format_table(
        "ncu_speed_of_light", rows.assign(roof=rows["launch_id"].map(roofs), advice=advice_texts), _LAUNCHES
    )
    if points.empty:
        return shown
    return shown + list_contradictions(
        points[points["launch_id"].isin(rows["launch_id"])], "launch_id", "above_roof", "Launch "
    )


def write_roofline(answers: Answers) -> str:
    """No content of its own: raises if work and traffic were not collected, so that no launch has a roof."""
    answers.rows("ncu_roofline")
    return ""


SECTIONS: tuple[Section, ...] = (
    write_overview,
    write_other_findings,
    write_verdicts,
    write_top_kernels,
    write_roofline,
)

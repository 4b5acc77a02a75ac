"""Busy and idle shares in a Markdown summary: each value, and where it appears."""

import re
from dataclasses import dataclass

from profiledb.findings import judge, rulebook
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.studies.summary import document

SHARE = re.compile(r"(?P<less><?)(?P<value>[\d,]+(?:\.\d+)?) %")
AMOUNT = re.compile(r"(?<![\w.,<])\d[\d,]*(?:\.\d+)? (?:%|ns|µs|ms|s|min|[kMGT]?B)(?![\w/])")
EXTREMES = ("0.0 %", "100.0 %", "0 ns")
"""Amounts that several things may have at once without being the same thing."""
MAY_EXCEED = ("Variation", "varies by", "Contradiction")
"""Words that mark percentages that are not shares of a whole."""


@dataclass(frozen=True)
class Shares:
    """The percentages in a summary: idle time of its GPUs by place, and busy time by GPU."""

    idle: dict[str, float]
    busy: list[float]
    idle_by_gpu: list[float]
    too_large: list[str]
    repeated: list[str]


def read_shares(library: Library, report: Manifest, text: str | None = None) -> Shares:
    """Return the shares in a report's summary, and in the finding on idle GPUs for the same part."""
    params = document.get_page_params(library, report, {})
    text = document.write_summary(library, report, params) if text is None else text
    idle = {}
    if headline := re.search(r"\*\*The GPU is idle ([\d.]+) % of the time\*\*", text):
        idle["headline"] = float(headline[1])
    if reasons := table(text, "Why the GPU was idle"):
        idle["reasons"] = sum(share(row[3]) for row in reasons)
    part = judge.find_steady_part(library, report, params)
    rules = [rulebook.load()["gpu_idle"]]
    for one in judge.judge(library, report, params, rules, part):
        if one.value is not None:
            idle["finding"] = one.value
    gpus = table(text, "GPU time")
    sections = [text.partition(f"## {title}\n")[2].partition("\n## ")[0] for title in ("In short", "Findings")]
    lines = [line for section in sections for line in section.splitlines() if repeated(line)]
    return Shares(idle, [share(row[1]) for row in gpus], [share(row[2]) for row in gpus], list(_too_large(text)), lines)


def repeated(text: str) -> list[str]:
    """Return the amounts with a unit that a text gives twice, except in names from the report."""
    amounts = [one for one in AMOUNT.findall(re.sub(r"`[^`]*`", "", text)) if one not in EXTREMES]
    return [one for one in dict.fromkeys(amounts) if amounts.count(one) > 1]


def table(text: str, title: str) -> list[list[str]]:
    """Return the cells of a section's table, without its header."""
    lines = text.partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
    return [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in lines if line.startswith("| ")][2:]


def share(cell: str) -> float:
    """Parse a share. A value below the smallest digit shown counts as half of that digit."""
    match = SHARE.fullmatch(cell)
    assert match, cell
    value = float(match["value"].replace(",", ""))
    return value / 2 if match["less"] else value


def _too_large(text: str) -> list[str]:
    exceeds = {line for line in text.splitlines() if any(word in line for word in MAY_EXCEED)}
    steps = text.partition("## Steps\n")[2].partition("\n## ")[0]  # its last column is the variation of times
    lines = [line for line in text.replace(steps, "").splitlines() if line not in exceeds]
    return [line for line in lines for one in SHARE.finditer(line) if float(one["value"].replace(",", "")) > 100]

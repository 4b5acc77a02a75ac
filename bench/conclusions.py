"""Check conclusions: run pairs of a program with and without a fault, and compare the first findings of each.

``python -m bench.conclusions FOLDER`` reads the captures of ``bench.fault_programs``, ``workloads.faults`` or
``workloads.rank_faults`` in a folder: NAME.bad.sqlite and NAME.good.sqlite (exports of nsys), each with the program's
last line in NAME.bad.json and NAME.good.json; NAME is PROGRAM.FAULT or FAULT. It prints a row per pair: the place of
the first finding that names the fault, its promised saving, the measured one (bad less good, as a share of bad), the
one without a profiler if unprofiled/NAME.bad.unprofiled.json and its pair exist, and the fault's rules that fire above
"low" in the mended half; with ``--nsys-ai PATH`` also the place of the first finding of nsys-ai that has a word for the
fault. ``--mended`` lists all findings above "low" in mended halves, for people to judge. ``--library`` keeps the
reports.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import nsys_ai
from bench.faults import FAULTS, Fault
from bench.ingestion import run_ingest
from profiledb.findings import judge, rulebook, sentences
from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from profiledb.studies.summary.document import get_page_params

HALVES = ("bad", "good")
LEAST_PCT = 10.0
"""Share of its time that a fault must cost: one that costs less on this machine judges no rule."""


@dataclass(frozen=True)
class Row:
    """Result of a pair: the place of its fault among the findings, from 1, and its rule; savings in percent.

    ``bare_pct`` is the saving measured without a profiler.
    """

    pair: str
    place: int | None
    rule: str
    saving_pct: float | None
    true_pct: float
    left: tuple[str, ...]
    bare_pct: float | None = None
    theirs: str = ""

    @property
    def counts(self) -> bool:
        """Return True if the fault costs enough to be found."""
        return self.true_pct >= LEAST_PCT

    def close(self, measured_pct: float | None) -> bool:
        """Return True if the saving is within a quarter of a measured one."""
        if self.saving_pct is None or measured_pct is None:
            return False
        return abs(self.saving_pct - measured_pct) <= 0.25 * measured_pct

    def __str__(self) -> str:
        saving, bare = ("" if one is None else f"{one:.0f} %" for one in (self.saving_pct, self.bare_pct))
        place = "not named" if self.place is None else str(self.place)
        left = ", ".join(self.left) or "none"
        measured = f"{self.true_pct:.0f} %"
        return f"| {self.pair} | {place} | {self.rule} | {saving} | {measured} | {bare} | {left} | {self.theirs} |"


def list_findings(library: Library, name: str) -> list[Finding]:
    """Return the findings of a capture that cost time and have no parent, then its remarks, in the order of pages."""
    report = library.find(name)
    params = get_page_params(library, report, {})
    part = judge.find_steady_part(library, report, params)
    findings = judge.judge(library, report, params, rulebook.load(None).values(), part)
    remarks = [one for one in findings if one.verdict == "fires" and not one.parent and not one.rule.costs]
    return [*judge.select_costly(findings), *remarks]


def find_fault(pair: str) -> Fault:
    """Return the fault of a pair, which is its name or the end of it."""
    return FAULTS[pair.rpartition(".")[2]]


def judge_pair(pair: str, bad: Iterable[Finding], good: Iterable[Finding], took_ns: tuple[int, int]) -> Row:
    """Return the verdict on both halves; ``took_ns`` is the duration of the steps of each."""
    fault, true_pct = find_fault(pair), 100 * (1 - took_ns[1] / took_ns[0])
    hits = [(place, one) for place, one in enumerate(bad, 1) if _names(one, fault)]
    left = tuple(one.rule.name for one in good if _names(one, fault) and one.severity in ("high", "medium"))
    if not hits:
        return Row(pair, None, "", None, true_pct, left)
    place, one = hits[0]
    return Row(pair, place, one.rule.name, one.saving_pct, true_pct, left)


def _names(finding: Finding, fault: Fault) -> bool:
    name = finding.rule.name
    if name not in fault.patterns:
        return name in fault.rules
    texts = (sentences.strip_sentence(finding), *sentences.fill_advice(finding))
    return any(re.search(fault.patterns[name], text) for text in texts)


def import_pairs(folder: Path, data: Path) -> Library:
    """Import the missing pairs of a folder into the library in ``data`` and return the library."""
    there = {one.name for one in Library(data / "library").list()}
    halves = (folder / f"{pair}.{half}.sqlite" for pair in list_pairs(folder) for half in HALVES)
    if missing := tuple(one for one in halves if one.name not in there):
        with TemporaryDirectory(prefix="warpdeck-inbox-") as inbox:
            run_ingest(missing, Path(inbox) / "inbox", data / "library")
    return Library(data / "library")


def list_pairs(folder: Path) -> list[str]:
    """Return the names of pairs with both halves in a folder, in the order of faults."""
    bad, good = (
        {one.name.removesuffix(f".{half}.sqlite") for one in folder.glob(f"*.{half}.sqlite")} for half in HALVES
    )
    faults = list(FAULTS)
    return sorted(bad & good, key=lambda pair: (faults.index(pair.rpartition(".")[2]), pair))


def judge_pairs(library: Library, folder: Path, rival: str = "") -> list[Row]:
    """Return a row for each pair in a folder, whose captures the library has.

    Args:
        rival: path of ``nsys-ai``, which judges each capture with a fault; empty for none.
    """
    rows = []
    for pair in list_pairs(folder):
        took = _read_durations(folder, pair, "json")
        if took is None:
            raise FileNotFoundError(f"{folder / pair}: no line of JSON beside both halves")
        bad, good = (list_findings(library, f"{pair}.{half}.sqlite") for half in HALVES)
        rows.append(judge_pair(pair, bad, good, took))
        if bare := _read_durations(folder / "unprofiled", pair, "unprofiled.json"):
            rows[-1] = replace(rows[-1], bare_pct=100 * (1 - bare[1] / bare[0]))
        if rival:
            place = nsys_ai.find_place(rival, folder / f"{pair}.bad.sqlite", find_fault(pair).words)
            rows[-1] = replace(rows[-1], theirs=str(place or "not named"))
    return rows


def list_mended_findings(library: Library, folder: Path) -> list[str]:
    """Return a line for each finding above "low" in mended halves; only people can tell which are false."""
    return [
        f"- {pair}, {one.rule.name} ({one.severity}): {sentences.strip_sentence(one)}"
        for pair in list_pairs(folder)
        for one in list_findings(library, f"{pair}.good.sqlite")
        if one.severity in ("high", "medium")
    ]


def _read_durations(folder: Path, pair: str, ending: str) -> tuple[int, int] | None:
    """Return the duration of the steps of both halves in ns; None if a line is missing."""
    files = [folder / f"{pair}.{half}.{ending}" for half in HALVES]
    if not all(one.exists() for one in files):
        return None
    bad, good = (int(json.loads(one.read_text())["ns"]) for one in files)
    return bad, good


def main() -> None:
    """Print the table and its totals."""
    parser = argparse.ArgumentParser(prog="python -m bench.conclusions", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nsys-ai", default="", metavar="PATH", help="the command nsys-ai, for a column beside ours")
    parser.add_argument("--library", type=Path, metavar="FOLDER", help="where reports and answers stay between runs")
    parser.add_argument("--mended", action="store_true", help='list what is above "low" in mended halves')
    given = parser.parse_args()
    with TemporaryDirectory(prefix="warpdeck-conclusions-") as data:
        library = import_pairs(given.folder, given.library or Path(data))
        if given.mended:
            print("\n".join(list_mended_findings(library, given.folder)))
            return
        rows = judge_pairs(library, given.folder, given.nsys_ai)
    print("| pair | place | rule | saving said | measured | unprofiled | in the mended half | place with nsys-ai |")
    print("|---|---:|---|---:|---:|---:|---|---:|")
    print("\n".join(map(str, rows)))
    fair = [one for one in rows if one.counts]
    first, three = (sum(one.place is not None and one.place <= most for one in fair) for most in (1, 3))
    close, bare = sum(one.close(one.true_pct) for one in fair), sum(one.close(one.bare_pct) for one in fair)
    print(
        f"{len(fair)} faults that cost {LEAST_PCT:.0f} % or more: {first} named first, {three} among the first three,"
    )
    print(f"{close} with a saving within 25 % of the measured one, {bare} of the one without a profiler.")


if __name__ == "__main__":
    main()

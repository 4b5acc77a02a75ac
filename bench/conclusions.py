"""Are conclusions right? Pairs of a program with a fault and without it, and what the first findings say of each.

``python -m bench.conclusions FOLDER`` takes the captures of ``workloads.faults`` or ``workloads.rank_faults`` in a
folder: NAME.bad.sqlite and NAME.good.sqlite (exports of nsys), and beside each NAME.bad.json and NAME.good.json with
the line that the program ended with. It prints a row a pair: the place of the first finding that names the fault, the
saving that this promises and the one that was measured (bad less good, as a share of bad), the one without a profiler
where unprofiled/NAME.bad.unprofiled.json and its like are there, and which rules of the fault fire above "low" in the
mended half; with ``--nsys-ai PATH`` also the place of the first finding of nsys-ai that has a word for the fault.
``--mended`` lists everything above "low" in mended halves, for people to judge. ``--library`` keeps the reports.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import nsys_ai
from bench.faults import FAULTS
from bench.ingestion import ingest
from profiledb.findings import judge, rulebook, sentences
from profiledb.findings.finding import Finding
from profiledb.library.library import Library
from profiledb.studies.summary.document import page_params

LEAST_PCT = 10.0
"""Share of its time that a fault has to cost: what costs less, or nothing on the machine at hand, judges no rule."""


@dataclass(frozen=True)
class Row:
    """What is said of a pair: the place of the fault among the findings, from 1, and its rule; savings in percent.

    ``bare_pct`` is the saving measured without a profiler.
    """

    fault: str
    place: int | None
    rule: str
    said_pct: float | None
    true_pct: float
    left: tuple[str, ...]
    bare_pct: float | None = None
    theirs: str = ""

    @property
    def counts(self) -> bool:
        """Whether the fault costs enough to be found."""
        return self.true_pct >= LEAST_PCT

    def close(self, measured_pct: float | None) -> bool:
        """Whether the saving is within a quarter of a measured one."""
        if self.said_pct is None or measured_pct is None:
            return False
        return abs(self.said_pct - measured_pct) <= 0.25 * measured_pct

    def __str__(self) -> str:
        said, bare = ("" if one is None else f"{one:.0f} %" for one in (self.said_pct, self.bare_pct))
        place = "not named" if self.place is None else str(self.place)
        left = ", ".join(self.left) or "none"
        measured = f"{self.true_pct:.0f} %"
        return f"| {self.fault} | {place} | {self.rule} | {said} | {measured} | {bare} | {left} | {self.theirs} |"


def judged(library: Library, name: str) -> list[Finding]:
    """The findings of a capture that cost time and stand under no other one, as pages order them."""
    report = library.find(name)
    params = page_params(library, report, {})
    part = judge.steady_part(library, report, params)
    return judge.costly(judge.judge(library, report, params, rulebook.load(None).values(), part))


def row(fault: str, bad: Iterable[Finding], good: Iterable[Finding], took_ns: tuple[int, int]) -> Row:
    """What the findings of both halves say; ``took_ns`` is how long the steps of each took."""
    names, true_pct = FAULTS[fault].rules, 100 * (1 - took_ns[1] / took_ns[0])
    hits = [(place, one) for place, one in enumerate(bad, 1) if one.rule.name in names]
    left = tuple(one.rule.name for one in good if one.rule.name in names and one.severity in ("high", "medium"))
    if not hits:
        return Row(fault, None, "", None, true_pct, left)
    place, one = hits[0]
    return Row(fault, place, one.rule.name, one.saving_pct, true_pct, left)


def take_in(folder: Path, data: Path) -> Library:
    """Take the pairs of a folder that it does not have yet into the library in ``data``; return the library."""
    there = {one.name for one in Library(data / "library").list()}
    halves = (folder / f"{fault}.{half}.sqlite" for fault in pairs(folder) for half in ("bad", "good"))
    if missing := tuple(one for one in halves if one.name not in there):
        with TemporaryDirectory(prefix="warpdeck-inbox-") as inbox:
            ingest(missing, Path(inbox) / "inbox", data / "library")
    return Library(data / "library")


def pairs(folder: Path) -> list[str]:
    """Return the faults of which a folder has both halves."""
    return [one for one in FAULTS if all((folder / f"{one}.{half}.sqlite").exists() for half in ("bad", "good"))]


def rows(library: Library, folder: Path, rival: str = "") -> list[Row]:
    """A row for each pair in a folder, whose captures the library has.

    Args:
        rival: path of ``nsys-ai``, which is asked about each capture with a fault; none where it is empty.
    """
    found = []
    for fault in pairs(folder):
        took = _took(folder, fault, "json")
        if took is None:
            raise FileNotFoundError(f"{folder / fault}: no line of JSON beside both halves")
        bad, good = (judged(library, f"{fault}.{half}.sqlite") for half in ("bad", "good"))
        found.append(row(fault, bad, good, took))
        if bare := _took(folder / "unprofiled", fault, "unprofiled.json"):
            found[-1] = replace(found[-1], bare_pct=100 * (1 - bare[1] / bare[0]))
        if rival:
            place = nsys_ai.place(rival, folder / f"{fault}.bad.sqlite", FAULTS[fault].words)
            found[-1] = replace(found[-1], theirs=str(place or "not named"))
    return found


def mended(library: Library, folder: Path) -> list[str]:
    """A line for each finding above "low" in mended halves: which of them are false only people can tell."""
    return [
        f"- {fault}, {one.rule.name} ({one.severity}): {sentences.plain(one)}"
        for fault in pairs(folder)
        for one in judged(library, f"{fault}.good.sqlite")
        if one.severity in ("high", "medium")
    ]


def _took(folder: Path, fault: str, ending: str) -> tuple[int, int] | None:
    """How long the steps of both halves took, ns; None where a line is missing."""
    files = [folder / f"{fault}.{half}.{ending}" for half in ("bad", "good")]
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
        library = take_in(given.folder, given.library or Path(data))
        if given.mended:
            print("\n".join(mended(library, given.folder)))
            return
        found = rows(library, given.folder, given.nsys_ai)
    print("| fault | place | rule | saving said | measured | unprofiled | in the mended half | place with nsys-ai |")
    print("|---|---:|---|---:|---:|---:|---|---:|")
    print("\n".join(map(str, found)))
    fair = [one for one in found if one.counts]
    first, three = (sum(one.place is not None and one.place <= most for one in fair) for most in (1, 3))
    close, bare = sum(one.close(one.true_pct) for one in fair), sum(one.close(one.bare_pct) for one in fair)
    print(
        f"{len(fair)} faults that cost {LEAST_PCT:.0f} % or more: {first} named first, {three} among the first three,"
    )
    print(f"{close} with a saving within 25 % of the measured one, {bare} of the one without a profiler.")


if __name__ == "__main__":
    main()

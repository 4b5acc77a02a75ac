"""Runs of many ranks, varied from one real rank: how long listing them, concluding and drawing the page take.

``python -m bench.runs REPORT`` imports a report of one rank (the sample ddp_overlap_4_rank0.sqlite without an
argument), writes the summaries of 64 and of 1,024 ranks made of it, and prints a table: processor time to list the
runs, to work out a run, and to draw its page in Chromium on a server that has just started. One rank is late from a
step on; the table says which rank was found, since when, and why. An even run has none.

``--intake 32 128`` imports that many ranks instead, copies of the report that differ in a byte, and prints how long the
worker took and how much memory it and its conversions had at most: it must not grow with the ranks.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from bench.ingestion import Side, run_ingest
from bench.pages import measure_pages
from bench.trends import time_cpu_s
from profiledb import words
from profiledb.library.library import Library
from profiledb.studies import run_lookup
from profiledb.studies.runs import rank_summary
from profiledb.studies.runs.rank_summary import RankSummary
from profiledb.studies.runs.run_answer import RunAnswer
from profiledb.studies.runs.run_list import Run
from profiledb.studies.trends import summary_refresh
from profiledb.studies.trends.summary_store import Summaries

SAMPLE = Path(__file__).resolve().parent.parent / "sample_reports" / "ddp" / "ddp_overlap_4_rank0.sqlite"
JITTER_NS = 40_000
"""Standard deviation of the arrivals of an even rank, ns."""
OFFSET_NS, DRIFT_PPM = 3_600_000_000_000, 20.0
"""Largest offset (an hour) and drift of the clock of a node."""
RANKS_PER_NODE = 8


@dataclass(frozen=True)
class Late:
    """A planted straggler: from ``since`` on, this part of its steps (compute, copy, idle) is longer.

    ``every`` is the distance of its late steps, ``ranks`` the number of ranks from ``rank`` on that are late.
    """

    rank: int
    since: int
    part: str
    ns: int
    every: int = 1
    ranks: int = 1


CASES = ((64, Late(37, 40, "compute", 2_000_000)), (1_024, Late(713, 40, "idle", 3_000_000)), (1_024, None))
"""Ranks of a run and its straggler; the last one is even."""


def vary(
    real: RankSummary, size: int, steps: int, late: Late | Sequence[Late] | None = None, seed: int = 0
) -> Iterator[RankSummary]:
    """Yield the ranks of a run made of one real rank.

    Each step repeats the real rank's steps in turn. Ranks arrive at the first collective of a step with some jitter,
    and wait there for the last one; all steps end together. Each node has a clock of its own.
    """
    random = np.random.default_rng(seed)
    tables = {name: rank_summary.decode(content).to_pandas() for name, content in real.tables.items()}
    arrivals = np.abs(random.normal(0, JITTER_NS, (size, steps)))
    planted = np.zeros_like(arrivals)
    lates = [late] if isinstance(late, Late) else late or []
    for one in lates:
        planted[one.rank : one.rank + one.ranks, one.since :: one.every] = one.ns
    waits = (arrivals + planted).max(axis=0) - arrivals - planted
    base = tables["step_rows"]
    own = base.iloc[np.arange(steps) % len(base)].reset_index(drop=True)
    length = own["duration_ns"].to_numpy() + (arrivals + planted).max(axis=0)
    begin = np.concatenate([[0], length.cumsum()[:-1]])
    offsets = random.uniform(0, OFFSET_NS, -(-size // RANKS_PER_NODE))
    drifts = 1 + random.uniform(-DRIFT_PPM, DRIFT_PPM, len(offsets)) / 1e6
    for rank in range(size):
        node = rank // RANKS_PER_NODE

        def convert_clock(values: Any, node: int = node) -> Any:
            return offsets[node] + values * drifts[node]

        rows = own.assign(step=range(steps), start_ns=convert_clock(begin), duration_ns=length, period_ns=length)
        rows["idle_ns"] += arrivals[rank]
        rows["exposed_ns"] += waits[rank]
        own_late = next((one for one in lates if one.rank <= rank < one.rank + one.ranks), None)
        if own_late is not None:
            rows[f"{own_late.part}_ns"] += planted[rank]
        if own_late is not None and own_late.part == "idle":
            rows["cpu_ns"] += planted[rank]
            rows["pause_ns"] += planted[rank]
        delays = np.stack([arrivals[rank] + planted[rank], waits[rank]])
        operations = _repeat_operations(tables["operation_rows"], base, begin, delays)
        operations["start_ns"] = convert_clock(operations["start_ns"].to_numpy())
        content = {**tables, "step_rows": rows, "operation_rows": operations}
        if own_late is not None and own_late.part == "idle":
            content["idle_rows"] = _add_idle(tables["idle_rows"], planted[rank].sum())
        if own_late is not None and own_late.part == "compute":
            content["kernel_rows"] = _slow_down(tables["kernel_rows"], planted[rank].sum() / steps * len(base))
        yield replace(
            real, report_id=f"{rank:016x}", rank=rank, size=size, run=f"synthetic_{size}", run_id=f"{size} {seed}",
            host=f"node{node:03}", steps=steps, step_ns=float(length.mean()),
            tables={name: rank_summary.encode(frame, name) for name, frame in content.items()},
        )  # fmt: skip


def _repeat_operations(real: pd.DataFrame, base: pd.DataFrame, begin: np.ndarray, delays: np.ndarray) -> pd.DataFrame:
    """Return the collectives of all steps: the first of a step starts late by ``delays[0]`` and waits ``delays[1]``."""
    frames = []
    for number, (start, late, wait) in enumerate(zip(begin, *delays, strict=True)):
        origin = base.iloc[number % len(base)]
        rows = real[real["step"] == origin["step"]].sort_values("start_ns")
        shift = np.full(len(rows), late + wait)
        shift[:1] = late
        longer = np.zeros(len(rows))
        longer[:1] = wait
        starts = rows["start_ns"].to_numpy() - origin["start_ns"] + start + shift
        frames.append(rows.assign(step=number, start_ns=starts, duration_ns=rows["duration_ns"] + longer))
    every: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return every


def _add_idle(real: pd.DataFrame, ns: float) -> pd.DataFrame:
    """Return idle time with more of it in host code of a range that loads data."""
    more = pd.DataFrame([{"reason": "host code", "idle_ns": ns, "function": None, "range": "load_batch"}])
    return pd.concat([more, real[real["reason"] != "host code"]], ignore_index=True)


def _slow_down(real: pd.DataFrame, ns: float) -> pd.DataFrame:
    """Return kernels that take longer by this time together, each by the same factor."""
    own = real["class"] != "communication"
    factor = 1 + ns / real.loc[own, "total_ns"].sum()
    return real.assign(total_ns=real["total_ns"].where(~own, real["total_ns"] * factor))


def fill_library(library: Library, real: RankSummary, ranks: Iterator[RankSummary]) -> None:
    """List the ranks in a library that has the real one; rank 0 is the real report."""
    store = Summaries(library.folder)
    report, facts = library.find(real.report_id), store.facts()[real.report_id]
    for one in ranks:
        report_id = real.report_id if one.rank == 0 else one.report_id
        name = f"{one.run}_rank{one.rank}.sqlite"
        library.catalog.add_report(replace(report, id=report_id, name=name))
        stamp = summary_refresh.make_stamp(library, report_id)
        store.put(replace(facts, report_id=report_id, name=name), stamp, [], [replace(one, report_id=report_id)])


def measure_intake(report: Path, size: int) -> Side:
    """Import copies of a report as the ranks of a run."""
    with TemporaryDirectory() as name:
        root = Path(name)
        ranks = [root / f"intake_rank{rank}.sqlite" for rank in range(size)]
        for rank, path in enumerate(ranks):
            shutil.copyfile(report, path)
            with closing(sqlite3.connect(path)) as db:
                db.execute(f"PRAGMA user_version = {rank + 1}")  # else they are one report
        return run_ingest(tuple(ranks), root / "inbox", root / "library")


def measure_run(library: Library) -> Iterator[str]:
    """Yield the cells of a row: ranks, seconds to list and to conclude, and the conclusion."""
    listed: list[Run] = []
    listing_s = time_cpu_s(lambda: listed.extend(run_lookup.list_runs(library)))
    (run,) = listed
    answers: list[RunAnswer] = []
    answer_s = time_cpu_s(lambda: answers.append(run_lookup.answer(library, run)))
    straggler = answers[0].straggler
    worst = max(clock.uncertainty_ns for clock in answers[0].clocks)
    yield from (f"{run.size:,}", f"{listing_s:.2f} s", f"{answer_s:.2f} s")
    yield (
        "none"
        if straggler is None
        else f"rank {straggler.rank} from step {straggler.since}: {straggler.cause} {straggler.place}".strip()
    )
    yield words.duration(worst)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, nargs="?", default=SAMPLE)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--no-page", action="store_true", help="draw no page")
    parser.add_argument(
        "--intake", type=int, nargs="+", metavar="RANKS", help="import runs of these sizes, and measure time and memory"
    )
    arguments = parser.parse_args()
    if arguments.intake:
        print("| ranks | import | per rank | most memory |\n|---:|---:|---:|---:|")
        for size in arguments.intake:
            side = measure_intake(arguments.report, size)
            each = words.duration(1e9 * side.seconds / size)
            print(f"| {size:,} | {side.seconds:.0f} s | {each} | {words.bytes_(side.peak_bytes)} |", flush=True)
        return
    print("| ranks | listed | worked out | late | clocks within | page, new server | page, reload |")
    print("|---:|---:|---:|---|---:|---:|---:|")
    for size, late in CASES:
        with TemporaryDirectory() as name:
            root = Path(name)
            run_ingest((arguments.report,), root / "inbox", root / "library")
            library = Library(root / "library")
            summary_refresh.refresh(library)
            (real,) = (replace(one, tables=tables) for one, tables in _read_tables(library))
            fill_library(library, real, vary(real, size, arguments.steps, late))
            cells = [*measure_run(library)]
            if not arguments.no_page:
                env = {
                    "WARPDECK_LIBRARY": str(library.folder),
                    "WARPDECK_INBOX": str(root / "inbox"),
                    "WARPDECK_WORKER": "off",
                    "WARPDECK_SAMPLES": "off",
                }
                page = measure_pages(env, [f"/run?report={real.report_id}"], 3)[0]
                cells += [f"{page.cold_s:.2f} s", f"{page.reload_s:.2f} s"]
            print(f"| {' | '.join(cells)} |", flush=True)


def _read_tables(library: Library) -> Iterator[tuple[RankSummary, Mapping[str, bytes]]]:
    store = Summaries(library.folder)
    for one in store.ranks():
        yield one, store.rank_tables([one.report_id])[one.report_id, one.lane]


if __name__ == "__main__":
    main()

"""All rules of findings on one report: worked out, and read from the answers that the worker keeps."""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from bench.ingestion import report_ids
from profiledb.findings import judge, rulebook
from profiledb.library.library import Library


@dataclass(frozen=True)
class FindingsTime:
    """Medians of all rules on the whole report: seconds of wall time and of processor live, of wall time stored."""

    kernels: int
    rules: int
    live_s: float
    live_cpu_s: float
    stored_s: float


def measure_findings(library: Path, kernels: int, repeat: int) -> FindingsTime:
    """Judge the one report of `library` again and again, in a process that has it open.

    Live is without any kept answer, stored with those that the run before has kept: what the Findings page, the Summary
    and `warpdeck findings` do with a report that the worker has prepared.
    """
    (report_id,) = report_ids(library)
    opened, rules = Library(library), list(rulebook.load().values())
    report = opened.find(report_id)
    judge.judge(opened, report, {}, rules[:1])
    live, cpu, stored = [], [], []
    for _ in range(repeat):
        shutil.rmtree(opened.derived.answers, ignore_errors=True)
        began, spent = time.perf_counter(), time.process_time()
        judge.judge(opened, report, {}, rules)
        live.append(time.perf_counter() - began)
        cpu.append(time.process_time() - spent)
        began = time.perf_counter()
        judge.judge(opened, report, {}, rules)
        stored.append(time.perf_counter() - began)
    return FindingsTime(kernels, len(rules), *map(statistics.median, (live, cpu, stored)))

"""Measure all rules of findings on one report: computed, and read from the answers that the worker stores."""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from bench.ingestion import list_report_ids
from profiledb.findings import judge, rulebook
from profiledb.library.library import Library


@dataclass(frozen=True)
class FindingsTime:
    """Medians of all rules on the whole report: seconds of wall and processor time live, and of wall time stored."""

    kernels: int
    rules: int
    live_s: float
    live_cpu_s: float
    stored_s: float


def measure_findings(library: Path, kernels: int, repeat: int) -> FindingsTime:
    """Judge the one report of `library` repeatedly, in a process that has it open.

    Live uses no stored answer, stored uses those of the previous run: the Findings page, the Summary and `warpdeck
    findings` do so with a report that the worker has prepared.
    """
    (report_id,) = list_report_ids(library)
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

"""The second pass: measure the kernels of a report with Nsight Compute, and link both reports."""

import argparse
import contextlib
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest import tools
from profiledb import terminal, words
from profiledb.config import Settings
from profiledb.errors import ConfigError, ConversionError, WarpdeckError
from profiledb.report.sidecar import get_stem
from warpdeck.profile_command.plan import Chosen, require_programs
from warpdeck.profile_command.session import Session
from warpdeck.profiling import ncu, nvml
from warpdeck.profiling.recording import Plan

if TYPE_CHECKING:
    from profiledb.library.catalog import Manifest
    from profiledb.library.library import Library

LAUNCH_S = (1.3, 2.4)
"""Seconds that a launch takes to be measured, 38 passes each, on an H100: 12 launches of a CUDA program in 18 s, and 71
of a GPT-2 training in 175 s, whose memory ncu restores before each pass."""
MOST_LAUNCHES = 48
MOST_SKIPPED = 20
_LOOK_S = 0.5
_COLLECTIVE = re.compile(r"nccl|nvshmem", re.IGNORECASE)
"""Kernels that wait for other ranks, and so hang when they are repeated."""


def choose(arguments: argparse.Namespace, program: list[str]) -> Chosen:
    """Return how to measure a program; kernels are chosen later.

    Raises:
        WarpdeckError: there is no ncu or no GPU, or the program has several ranks.
    """
    launched = require_programs(program)
    if launched.launcher:
        raise ConfigError(
            "ncu repeats kernels, and ranks would wait for each other forever.", hint="Measure one process."
        )
    tool = tools.find_ncu()
    if tool is None:
        absent = ConversionError("There is no ncu here.", hint="Install Nsight Compute, or name ncu in WARPDECK_NCU.")
        raise tools.explain_absence("ncu", absent)
    if not nvml.has_gpu():
        raise ConfigError(f"{tool.label} needs a GPU, and there is none here.")
    plan = Plan("ncu", "", str(tool.path), steps=arguments.steps, verbose=arguments.verbose)
    return Chosen(plan, launched, program, "", None, [tool.label])


def measure(report: "Manifest", chosen: Chosen, settings: Settings, output: Path, seconds: float | None) -> int:
    """Measure the kernels that make most of a report's time, and link the reports; return the program's exit status.

    Args:
        report: report of Nsight Systems of the same program.
        chosen: result of ``choose``.
        settings: library and inbox.
        output: folder for the files.
        seconds: time of the first pass; None if it is not known.

    Raises:
        WarpdeckError: there is nothing to measure, or it cannot be measured.
    """
    from profiledb.library.locations import open_library
    from profiledb.query import analysis

    library = open_library(settings)
    rows = analysis.run(library, report.id, "kernels_to_measure", {})
    kernels = [row for row in rows.to_dict("records") if not _COLLECTIVE.search(str(row["short"]))]
    if not kernels:
        raise ConversionError(f"{report.name} has no kernels to measure.")
    kernels, each = limit_launches(kernels)
    options, sentence = _plan_launches(kernels, each, chosen, seconds)
    terminal.say(sentence, sys.stderr)
    plan = replace(chosen.plan, options=options)
    with Session(replace(chosen, plan=plan, name=f"{get_stem(report.name)}_kernels"), output) as recording:
        with _show_progress(recording.chosen.plan.messages("report")):
            status = recording.run()
        reports = recording.keep()
    if reports:
        with contextlib.redirect_stdout(sys.stderr):
            _link_report(report, reports, settings, library)
    return status


def limit_launches(kernels: list[dict[Any, Any]]) -> tuple[list[dict[Any, Any]], int]:
    """Return the kernels to measure, and how many launches of each of their shapes, at most ``MOST_LAUNCHES`` in all.

    A kernel of many shapes gives up launches of a shape first, then the kernels that take the least time are left out;
    the first kernel is measured however many shapes it has.
    """
    shapes = [int(row["shapes"]) for row in kernels]
    while len(shapes) > 1 and sum(shapes) > MOST_LAUNCHES:
        shapes.pop()
    return kernels[: len(shapes)], max(1, min(ncu.LAUNCHES, MOST_LAUNCHES // sum(shapes)))


def _plan_launches(
    kernels: list[dict[Any, Any]], each: int, chosen: Chosen, seconds: float | None
) -> tuple[dict[str, str], str]:
    """Return ncu's options, and a sentence about the measured launches and the approximate time."""
    names = [(str(row["short"]), row["mangled"] if isinstance(row["mangled"], str) else None) for row in kernels]
    rarest = min(int(row["rarest_calls"]) for row in kernels)
    skipped = 0 if chosen.plan.steps else max(0, min(MOST_SKIPPED, rarest - each))
    counts = {"--launch-skip": str(skipped), "--launch-count": str(each)}
    launches = sum(min(int(row["calls"]), each * int(row["shapes"])) for row in kernels)
    share = words.percent(sum(float(row["share_pct"]) for row in kernels))
    low, high = (words.duration(int(((seconds or 0.0) + one * launches) * 1e9)) for one in LAUNCH_S)
    beside = "" if seconds else " beside the program itself"
    sentence = (
        f"Measuring {words.counted(len(kernels), 'kernel')} ({share} of the kernel time) with {chosen.sentences[0]}:"
        f" at most {words.counted(launches, 'launch')}, {low} to {high}{beside}."
    )
    return ncu.DEFAULTS | ncu.match_kernels(names) | counts, sentence


@contextlib.contextmanager
def _show_progress(messages: Path) -> Iterator[None]:
    """Say from time to time how many launches ncu has measured, as its output tells."""
    end = threading.Event()

    def show() -> None:
        last_shown = 0
        while not end.wait(_LOOK_S):
            with contextlib.suppress(OSError):
                measured = len(ncu.MEASURED.findall(messages.read_bytes()))
                if measured >= last_shown + 10 or (measured and not last_shown):
                    terminal.say(f"ncu: {words.counted(measured, 'launch')} measured", sys.stderr)
                    last_shown = measured

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def _link_report(report: "Manifest", reports: list[Path], settings: Settings, library: "Library") -> None:
    """Import the report of ncu, link it, and print its findings."""
    from profiledb.query import analysis
    from warpdeck import server_process
    from warpdeck.profile_command import answer

    taken = answer.take_in(reports, settings, library, server_process.find_server(settings))
    if not taken:
        return
    try:
        covered = analysis.run(library, report.id, "ncu_coverage", {"ncu": taken[0].id})["covered_pct"].iloc[0]
        library.link(report.id, taken[0].id)
        terminal.say(f"{reports[0]} is linked to {report.name}, and covers {words.percent(covered)} of its GPU time.")
        answer.print_findings(library, taken[0])
    except WarpdeckError as error:
        terminal.say(terminal.describe_error(error))

"""Runs of a library, as its visitor sees them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from profiledb.errors import NotCapturedError, ReportNotFoundError
from profiledb.library.library import Library
from profiledb.studies import run_figures
from profiledb.studies.runs import run_answer, run_list, run_tables, sentences
from profiledb.studies.runs.rank_summary import RankSummary
from profiledb.studies.runs.run_answer import RunAnswer
from profiledb.studies.runs.run_findings import RunFinding
from profiledb.studies.runs.run_list import Run
from profiledb.studies.trends.team_summary_store import open_summaries

_RULES = 4
"""Raise when the findings or figures of the same run change."""
_MOST = 5
"""Runs of a name that are named by a report."""


def list_runs(library: Library) -> list[Run]:
    """Return the runs of the reports that the visitor sees."""
    return _group_visible(library, open_summaries(library).ranks())


@dataclass(frozen=True)
class RunLine:
    """A run in a list, with its stored results: None until they are worked out.

    Args:
        run: the run.
        key: key under which the rest is stored.
        worst: severity and title of its first finding, empty texts for none.
        figures: those of ``run_figures.measure_run``.
        straggler: rank that holds up the others, the lowest of a machine's; None if there is none.
    """

    run: Run
    key: str
    worst: tuple[str, str] | None = None
    figures: Mapping[str, float] | None = None
    straggler: int | None = None


def list_lines(library: Library, *, work_out: bool = False) -> list[RunLine]:
    """Return the runs with their stored results; ``work_out`` works out and stores the missing ones."""
    store, runs = open_summaries(library), list_runs(library)
    stamps = store.stamps([report_id for run in runs for report_id in run.reports]) if runs else {}
    lines = complete_lines(library, [RunLine(run, _hash(run, stamps)) for run in runs])
    if not work_out:
        return lines
    made = {one.key: _work_out(library, one.run) for one in lines if one.worst is None}
    store.remember(made)
    return [_parse_line(one, made.get(one.key)) for one in lines]


def complete_lines(library: Library, lines: Sequence[RunLine]) -> list[RunLine]:
    """Return lines with the results that were stored since the lines were read."""
    stored = open_summaries(library).detected([one.key for one in lines if one.worst is None])
    return [_parse_line(one, stored.get(one.key)) for one in lines]


def _hash(run: Run, stamps: Mapping[str, tuple[int, str]]) -> str:
    """Return the key under which a run's worst finding is stored: it changes with the ranks and with the rules."""
    content = [
        _RULES,
        run.size,
        [(one, stamps.get(one)) for one in run.reports],
        [one.report_id for one in run.doubled],
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _work_out(library: Library, run: Run) -> str:
    known = answer(library, run)
    first = next(iter(known.findings), None)
    worst = [first.severity, first.title] if first else ["", ""]
    late = known.straggler.rank if known.straggler else None
    return json.dumps({"worst": worst, "figures": dict(run_figures.measure_run(known)), "straggler": late})


def _parse_line(line: RunLine, text: str | None) -> RunLine:
    if text is None:
        return line
    stored = json.loads(text)
    worst = (str(stored["worst"][0]), str(stored["worst"][1]))
    return replace(line, worst=worst, figures=stored["figures"], straggler=stored["straggler"])


def find_run(library: Library, report_id: str) -> Run | None:
    """Return the run of a report, from the ranks that may be of the same one; None if it belongs to none."""
    store = open_summaries(library)
    own = store.ranks("report_id", report_id)
    if not own:
        return None
    summaries = [*store.ranks("run_id", own[0].run_id)]
    for name in run_list.list_kinds(own[0].run):
        summaries += store.ranks("run", name)
    ranks = {(one.report_id, one.lane): one for one in summaries}.values()
    return run_list.find_run(_group_visible(library, ranks), report_id)


def _group_visible(library: Library, ranks: Iterable[RankSummary]) -> list[Run]:
    every = list(ranks)
    seen = set(library.catalog.listing.filter_ids({one.report_id for one in every}))
    return run_list.list_runs(one for one in every if one.report_id in seen)


def require_named(library: Library, asked: str) -> Run:
    """Return the run of a name, or of a report (``Library.find``).

    Raises:
        NotCapturedError: the report belongs to no run.
        ReportNotFoundError: neither a run nor a report has this name, or several runs do.
    """
    named = [one for one in list_runs(library) if one.name == asked]
    if len(named) > 1:
        reports = ", ".join(one.reports[0] for one in named[:_MOST])
        raise ReportNotFoundError(f"{len(named)} runs are called {asked!r}.", hint=f"Name one by a report: {reports}.")
    return named[0] if named else require_run(library, library.find(asked).id)


def require_run(library: Library, report_id: str) -> Run:
    """Return the run of a report. Raises NotCapturedError if it belongs to none."""
    return require_found(find_run(library, report_id))


def require_found(run: Run | None) -> Run:
    """Return a run. Raises NotCapturedError if there is none."""
    if run is None:
        raise NotCapturedError(
            "This report is not of a run on several GPUs.",
            why="A run is known by the launcher's environment (torchrun, SLURM, MPI), by names such as"
            " NAME_rank0, NAME_rank1, or by the ranks that traces state. The summary of a new report takes a moment.",
        )
    return run


def answer(library: Library, run: Run) -> RunAnswer:
    """Compute the answer about a run from the summaries of its ranks."""
    return run_answer.answer(run_tables.join_tables(run, open_summaries(library).rank_tables(run.reports)))


def describe(library: Library, run: Run) -> dict[str, Any]:
    """Return a run as plain data, with its straggler, the clocks of its ranks, and sentences.

    Times are in ns; ``findings`` has an entry for each conclusion, with a rule name and a sentence.
    """
    known = answer(library, run)
    return describe_briefly(run) | {
        "missing": run.missing,
        "doubled": [one.report_id for one in run.doubled],
        "restarts": run.restarts,
        "reports": {one.rank: one.report_id for one in run.ranks},
        "findings": [_describe_finding(one, known) for one in known.findings],
        "sentences": [
            known.headline,
            *(one.sentence for one in known.findings if one.sentence != known.headline),
            *filter(None, [sentences.state_clocks(known.clocks)]),
        ],
        "clocks": [asdict(clock) for clock in known.clocks],
    }


def _describe_finding(one: RunFinding, known: RunAnswer) -> dict[str, Any]:
    entry = {
        "rule": one.rule, "title": one.title, "severity": one.severity, "sentence": one.sentence,
        "saving_ns": one.saving_ns, "share": one.share,
    }  # fmt: skip
    is_late = one.rule in ("straggler", "slow_node") and known.straggler is not None
    return entry | (asdict(known.straggler) if is_late and known.straggler else {})


def describe_briefly(run: Run) -> dict[str, Any]:
    """Return a run as an entry of a list: no table is read."""
    begin = run.begin_ns
    return {
        "name": run.name,
        "told_by": run.told_by,
        "ranks": run.size,
        "present": len(run.ranks),
        "nodes": len(run.hosts) or None,
        "gpus": run.gpus,
        "started_at": None if begin is None else datetime.fromtimestamp(begin / 1e9, UTC).isoformat(timespec="seconds"),
        "step_ns": run.step_ns,
    }

"""The gate for a run: is it worse than earlier runs of its series, or than another run?

A series of runs has their name without its last number or date, the number of ranks and the GPU in common.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from profiledb.errors import AnalysisError
from profiledb.library.library import Library
from profiledb.studies import run_lookup
from profiledb.studies.run_figures import RUN_MEASURES
from profiledb.studies.run_lookup import RunLine
from profiledb.studies.runs.run_list import Run
from profiledb.studies.scaling import nccl
from profiledb.studies.trends import gate, series, summary_refresh
from profiledb.studies.trends.gate import Judged


@dataclass(frozen=True)
class RunCheck:
    """Result of a check: the run, the name of the run or series it was held against, its last run, and each measure."""

    run: Run
    against: str
    is_series: bool
    before: Run
    judged: tuple[Judged, ...]

    @property
    def fails(self) -> bool:
        """True if a measure closes the gate."""
        return any(one.fails for one in self.judged)


def check_run(
    library: Library, asked: str, against: str, measures: Sequence[str], *, anywhere: bool = False
) -> RunCheck:
    """Check a run against others.

    Args:
        library: the library; missing summaries are made.
        asked: the run, or a report of it.
        against: ``gate.OWN`` for the earlier runs of its series, a run, or a report of it.
        measures: names in ``RUN_MEASURES`` that close the gate if they are worse.
        anywhere: also compare runs of other sizes and on other GPUs.

    Raises:
        AnalysisError: nothing can be compared.
        NotCapturedError: a report belongs to no run.
        ReportNotFoundError: nothing has one of the names.
    """
    summary_refresh.refresh(library)
    run = run_lookup.require_named(library, asked)
    lines = run_lookup.list_lines(library, work_out=True)
    own = _find_line(lines, run)
    is_series = against == gate.OWN
    if is_series:
        base, base_name = list_before(lines, run)[-gate.MOST :], describe_series(run)
        if not base:
            raise AnalysisError(f"No run of {base_name} began before this one.")
    else:
        other = run_lookup.require_named(library, against)
        base, base_name = [_find_line(lines, other)], other.name
        if other.reports == run.reports:
            raise AnalysisError(f"{base_name} is the run itself.")
    if not anywhere and (differs := _describe_differences(base[-1].run, run)):
        raise AnalysisError(f"The runs differ: {differs}.", hint="--anywhere compares all the same.")
    return RunCheck(run, base_name, is_series, base[-1].run, _judge(own, base, measures))


@dataclass(frozen=True)
class RunSeries:
    """The runs of a job that have been worked out, in order of time, and each measure of the last one that compares."""

    name: str
    lines: tuple[RunLine, ...]
    judged: tuple[Judged, ...]

    @property
    def leading(self) -> Judged | None:
        """The first measure that became worse, else that became better, else the step time; None of a first run."""
        order = ("worse", "better", "same")
        return min(self.judged, key=lambda one: order.index(one.verdict), default=None)

    def list_values(self, measure: str) -> list[float]:
        """Return a measure of each run that has it."""
        return [one.figures[measure] for one in self.lines if one.figures and measure in one.figures]


def list_series(lines: Iterable[RunLine]) -> list[RunSeries]:
    """Return all series of runs: those whose last run is worse first, then by name."""
    groups: dict[str, list[RunLine]] = {}
    for line in sorted(lines, key=lambda one: one.run.begin_ns or 0):
        if line.figures and line.run.begin_ns is not None:
            groups.setdefault(describe_series(line.run), []).append(line)
    all_series = []
    for name, (*before, last) in groups.items():
        judged = _judge(last, before[-gate.MOST :], ()) if before else ()
        all_series.append(RunSeries(name, (*before, last), judged))
    return sorted(all_series, key=lambda one: (one.leading is None or one.leading.verdict != "worse", one.name))


def list_before(lines: Sequence[RunLine], run: Run) -> list[RunLine]:
    """Return the runs of a run's series that began before it, in order of time."""
    begin = run.begin_ns
    alike = [one for one in lines if describe_series(one.run) == describe_series(run) and one.run.begin_ns is not None]
    earlier = [one for one in alike if begin is not None and (one.run.begin_ns or 0) < begin]
    return sorted(earlier, key=lambda one: one.run.begin_ns or 0)


def describe_series(run: Run) -> str:
    """Return the name of a run's series: ``train · 8 ranks · NVIDIA H100``."""
    gpus = ", ".join(run.gpus)
    return " · ".join(filter(None, [series.shorten_stem(run.name), f"{run.size} ranks", gpus]))


def _find_line(lines: Sequence[RunLine], run: Run) -> RunLine:
    return next(one for one in lines if one.run.reports == run.reports)


def _describe_differences(before: Run, after: Run) -> str:
    facts = (("ranks", str(before.size), str(after.size)), ("GPU", ", ".join(before.gpus), ", ".join(after.gpus)))
    return "; ".join(
        f"{what} {old or 'unknown'} before, {new or 'unknown'} now" for what, old, new in facts if old != new
    )


def _judge(own: RunLine, base: Sequence[RunLine], measures: Sequence[str]) -> tuple[Judged, ...]:
    """Judge each measure; a time may also grow by ``nccl.CLEAR`` of the step, for parts are small and scatter."""
    new = own.figures or {}
    step_ns = new.get("wall_ns", 0.0)
    judged = []
    for name, measure in RUN_MEASURES.items():
        old = [one.figures[name] for one in base if one.figures and name in one.figures]
        if name not in new or not old:
            if name in measures:
                raise AnalysisError(f"{measure.title} is missing in one of the runs, so it cannot be checked.")
            continue
        one = gate.judge_measure(measure, old, new[name], {}, set(measures))
        least = nccl.CLEAR * step_ns if measure.unit == "ns" and name != "wall_ns" else 0.0
        judged.append(replace(one, limit=max(one.limit, least)))
    return tuple(judged)

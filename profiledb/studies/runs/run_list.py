"""Group ranks into runs: by the launcher's name of the run, else by the names of reports and the times of captures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from profiledb.studies.runs.rank_summary import RankSummary
from profiledb.studies.scaling.family import TRACE, Named, join_overlapping
from profiledb.studies.scaling.runs import compute_mean

FEWEST = 2
"""Ranks that make a run; a report of a single one belongs to none."""


@dataclass(frozen=True)
class Run:
    """The ranks of one job.

    Args:
        name: name of its reports without the rank.
        told_by: how its ranks were found: ``launcher`` (environment), ``report`` (several GPUs in one), ``name`` or
            ``time`` (traces of different ranks whose captures overlap).
        size: number of ranks, whether their reports are present or not.
        ranks: the present ranks, in order; their numbers are unique.
        doubled: further reports of a rank that is present; nothing counts them.
    """

    name: str
    told_by: str
    size: int
    ranks: tuple[RankSummary, ...]
    doubled: tuple[RankSummary, ...] = ()

    @property
    def missing(self) -> list[int]:
        """Ranks without a report."""
        return sorted(set(range(self.size)) - {one.rank for one in self.ranks if one.rank is not None})

    @property
    def reports(self) -> list[str]:
        """Ids of its reports, each once, in the order of ranks."""
        return list(dict.fromkeys(one.report_id for one in self.ranks))

    @property
    def hosts(self) -> list[str]:
        """Names of its machines; empty if no report tells one."""
        return sorted({one.host for one in self.ranks if one.host})

    @property
    def gpus(self) -> list[str]:
        """Names of its GPU models; empty if no report tells one."""
        return sorted({one.gpu for one in self.ranks if one.gpu})

    @property
    def restarts(self) -> int:
        """Restarts of the launcher before the last of its reports was captured."""
        return max((one.restarts or 0 for one in self.ranks), default=0)

    @property
    def begin_ns(self) -> int | None:
        """Start of the earliest capture, ns since 1970; None if no report tells it."""
        return min((one.begin_ns for one in self.ranks if one.begin_ns is not None), default=None)

    @property
    def step_ns(self) -> float:
        """Mean length of a step over all ranks, ns."""
        return compute_mean([one.step_ns for one in self.ranks])


def list_runs(ranks: Iterable[RankSummary]) -> list[Run]:
    """Return the runs, by name and time, from the ranks of all reports of a library."""
    by_report: dict[str, list[RankSummary]] = {}
    for one in ranks:
        by_report.setdefault(one.report_id, []).append(one)
    groups: dict[tuple[str, str], list[RankSummary]] = {}
    unplaced = []
    for members in by_report.values():
        first = members[0]
        if first.run_id:
            groups.setdefault(("launcher", first.run_id), []).extend(members)
        elif len(members) >= FEWEST and (first.size or 0) <= len(members):
            groups[("report", first.report_id)] = members
        else:
            unplaced.append(first)
    by_time = {one.id: one for one in join_overlapping([_make_named(one) for one in unplaced])}
    for one in unplaced:
        groups.setdefault(("name", by_time[one.report_id].run), []).append(one)
    _join_kinds(groups)
    runs = [run for (told_by, _), members in groups.items() for run in _split_jobs(told_by, members)]
    return sorted((run for run in runs if max(run.size, len(run.ranks)) >= FEWEST), key=_make_sort_key)


def list_kinds(run: str) -> tuple[str, str]:
    """Return the names that the ranks of a run may have: of reports of nsys and of traces."""
    name = run.removesuffix(TRACE)
    return name, name + TRACE


def _join_kinds(groups: dict[tuple[str, str], list[RankSummary]]) -> None:
    """Join traces and reports of nsys of one name, captured at the same time, in one group if no rank has both.

    Only reports of nsys tell the launcher's name of the run.
    """
    for key in [key for key in groups if key[1].endswith(TRACE)]:
        traces = groups[key]
        matches = [
            others
            for others in groups.values()
            if others[0].run + TRACE == key[1]
            and {one.rank for one in others}.isdisjoint(one.rank for one in traces)
            and _overlap(others, traces)
        ]
        if len(matches) == 1:
            matches[0].extend(groups.pop(key))


def find_run(runs: Iterable[Run], report_id: str) -> Run | None:
    """Return the run of a report; None if it belongs to none."""
    return next((run for run in runs if any(one.report_id == report_id for one in (*run.ranks, *run.doubled))), None)


def _make_named(one: RankSummary) -> Named:
    during = None if one.begin_ns is None or one.end_ns is None else (one.begin_ns, one.end_ns)
    named_alone = one.run.removesuffix(TRACE)  # a name that tells the rank leaves it out
    return Named(one.report_id, named_alone, one.rank, one.size, one.run, one.run, during=during)


def _split_jobs(told_by: str, members: Sequence[RankSummary]) -> list[Run]:
    """Return a run, or several if reports of one name are of several jobs: then a rank occurs twice."""
    if len({one.rank for one in members}) == len(members):
        return [_make_run(told_by, members)]
    last = max(one.restarts or 0 for one in members)  # a launcher that restarts a job keeps its name
    first, *others = _split_by_time([one for one in members if (one.restarts or 0) == last])
    before = [one for one in members if (one.restarts or 0) < last]
    return [_make_run(told_by, first, before), *(_make_run(told_by, job) for job in others)]


def _split_by_time(members: Sequence[RankSummary]) -> list[list[RankSummary]]:
    """Return the reports of each job, told apart on each machine by its own clock: those of machines may differ.

    A remainder of a single rank is a doubled report rather than a job.
    """
    by_host: dict[str, list[RankSummary]] = {}
    for one in members:
        by_host.setdefault(one.host, []).append(one)
    jobs: list[list[RankSummary]] = []
    for captures in sorted(map(_split_host, by_host.values()), key=len, reverse=True):
        for place, capture in enumerate(captures):
            _find_job(jobs, place, capture).extend(capture)
    whole = [job for job in jobs if len({one.rank for one in job}) >= FEWEST] or jobs[:1]
    whole[0].extend(one for job in jobs if job not in whole for one in job)
    return whole


def _split_host(members: Sequence[RankSummary]) -> list[list[RankSummary]]:
    """Return the captures of a machine: a rank that comes again after all others have ended begins another one."""
    captures: list[list[RankSummary]] = []
    until = -1
    for one in sorted(members, key=lambda one: (one.begin_ns is None, one.begin_ns or 0, one.rank or 0)):
        is_later = one.begin_ns is not None and one.begin_ns >= until
        if not captures or (is_later and any(one.rank == other.rank for other in captures[-1])):
            captures.append([])
        captures[-1].append(one)
        until = max(until, until if one.end_ns is None else one.end_ns)
    return captures


def _find_job(jobs: list[list[RankSummary]], place: int, capture: Sequence[RankSummary]) -> list[RankSummary]:
    """Return the job of a machine's capture: at the same time, else as many captures after the first; or a new one."""
    ranks = {one.rank for one in capture}
    lacking = [job for job in jobs if ranks.isdisjoint(one.rank for one in job)]
    candidates = [job for job in lacking if _overlap(job, capture)]
    candidates += [job for job in jobs[place : place + 1] if job in lacking] + lacking
    if not candidates:
        jobs.append([])
        return jobs[-1]
    return candidates[0]


def _overlap(job: Sequence[RankSummary], capture: Sequence[RankSummary]) -> bool:
    return any(
        None not in (one.begin_ns, one.end_ns, other.begin_ns, other.end_ns)
        and (one.begin_ns or 0) < (other.end_ns or 0)
        and (other.begin_ns or 0) < (one.end_ns or 0)
        for one in job
        for other in capture
    )


def _make_run(told_by: str, members: Sequence[RankSummary], before: Sequence[RankSummary] = ()) -> Run:
    """Return the run of these ranks; those from before a restart are left out."""
    present: dict[int | None, RankSummary] = {}
    doubled = list(before)
    for one in sorted(members, key=lambda one: (one.rank or 0, one.begin_ns or 0, one.report_id)):
        if one.rank in present:
            doubled.append(one)
        else:
            present[one.rank] = one
    ranks = tuple(present.values())
    size = max(max((one.size or 0 for one in ranks), default=0), 1 + max(one.rank or 0 for one in ranks))
    by_name = all(one.is_named for one in ranks)
    name = min((one.run for one in ranks), key=len)  # without the kind if only some have one
    return Run(name, "time" if told_by == "name" and not by_name else told_by, size, ranks, tuple(doubled))


def _make_sort_key(run: Run) -> tuple[str, int]:
    return run.name, run.begin_ns or 0

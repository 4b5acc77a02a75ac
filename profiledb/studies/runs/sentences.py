"""Sentences about a run, as Markdown."""

from collections.abc import Sequence

from profiledb import words
from profiledb.studies.runs.clocks import Clock
from profiledb.studies.runs.run_list import Run
from profiledb.studies.runs.straggler import Straggler

_MOST = 8
"""Ranks named one by one."""


def state_straggler(found: Straggler | None, run: Run, *, is_matched: bool) -> str:
    """Say for which rank the others wait, since when, and why."""
    if found is None:
        if not is_matched:
            return "No collective could be matched over the ranks, so waits for a rank cannot be told."
        return f"The {len(run.ranks)} ranks arrive at their collectives together: no rank holds the others up."
    since = "" if found.since is None else f" from step {found.since} on"
    host = f" (on {words.plain(found.host)})" if found.host and len(run.hosts) > 1 else ""
    cost = f"{words.duration(found.late_ns)} per step ({words.percent(100 * found.share)} of it)"
    return f"Rank {found.rank}{host} holds up the others by {cost}{since}. {_state_cause(found)}"


def _state_cause(found: Straggler) -> str:
    longer = f"{words.duration(found.cause_ns)} longer per step than that of the median rank"
    if found.cause == "compute" and found.slower is not None:
        kernel = f", most in {words.code(found.kernel)}" if found.kernel else ""
        return (
            f"Its compute takes {longer}, with as many launches{kernel}: its kernels take {found.slower:.2f}x as long."
            " Look at its clocks, power and temperature."
        )
    if found.cause == "work":
        kernel = f", most in {words.code(found.kernel)}" if found.kernel else ""
        return f"Its compute takes {longer}{kernel}: it has more work. Balance batches over the ranks."
    if found.cause == "idle":
        place = f" in {words.code(found.place)}" if found.place else ""
        what = f" The CPU meanwhile: {words.plain(found.idle)}{place}." if found.idle else ""
        return f"The idle time of its GPU is {longer}.{what}"
    if found.cause == "copy":
        return f"The time of its copies is {longer}."
    return "No part of its own steps is longer by that much; compare its timeline with that of another rank."


def state_gaps(run: Run) -> list[str]:
    """Say which ranks are missing, doubled or from an earlier start of the run."""
    sentences = []
    if run.missing:
        sentences.append(
            f"{len(run.missing)} of {run.size} ranks have no report: {_list(run.missing)}. Waits count the present"
            " ranks alone."
        )
    if run.doubled:
        ranks = sorted({one.rank for one in run.doubled if one.rank is not None})
        why = "from before the restart" if run.restarts else "a further one of the rank"
        sentences.append(f"{words.counted(len(run.doubled), 'report')} left out, {why}: rank {_list(ranks)}.")
    if run.restarts:
        sentences.append(f"The launcher had restarted the run {words.counted(run.restarts, 'time')} before.")
    return sentences


def state_clocks(clocks: Sequence[Clock]) -> str:
    """Say how well the clocks of the ranks could be aligned; empty if not at all."""
    if not clocks:
        return ""
    worst = max(clocks, key=lambda clock: clock.uncertainty_ns)
    drifts = [abs(clock.drift_ppm) for clock in clocks if clock.drift_ppm is not None]
    drift = f", drift at most {max(drifts):.2f} ppm" if drifts else ""
    return (
        "Clocks are aligned by the ends of collectives, which all ranks reach together: times across ranks are"
        f" uncertain by up to {words.duration(worst.uncertainty_ns)} (rank {worst.rank}){drift}."
    )


def _list(ranks: Sequence[int]) -> str:
    more = len(ranks) - _MOST
    return ", ".join(map(str, ranks[:_MOST])) + (f" and {more} more" if more > 0 else "")

"""Sentences about a run, as Markdown."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from profiledb import words
from profiledb.studies.runs.clocks import Clock
from profiledb.studies.runs.run_list import Run
from profiledb.studies.runs.straggler import LEAST, Straggler

_MOST = 8
"""Ranks named one by one."""


def state_even(run: Run, waited_share: float) -> str:
    """Say that no rank is late; ``waited_share`` is the part of a step for which GPUs wait all the same."""
    if waited_share >= LEAST:
        return (
            f"No rank holds the others up. GPUs wait for each other in {words.percent(100 * waited_share)} of the step,"
            " but their CPUs need that time to launch its work: CUDA graphs or `torch.compile` shorten it."
        )
    return f"The {len(run.ranks)} ranks arrive at their collectives together: no rank holds the others up."


def state_unmatched(operations: Collection[str]) -> str:
    """Say why waits for a rank cannot be told, by the communication in the steps."""
    if not operations:
        return "The ranks ran no collective of NCCL in their steps, so nothing tells whether they wait for each other."
    if set(operations) == {"SendRecv"}:
        return (
            "The ranks are stages of a pipeline, which send and receive and never wait for all others. No stage waits"
            " long in its transfers."
        )
    return "The collectives of the ranks differ, so nothing tells whether a rank holds the others up."


def state_straggler(straggler: Straggler, run: Run) -> str:
    """Say for which rank the others wait, since when, and why."""
    since = "" if straggler.since is None else f" from step {straggler.since} on"
    host = f" (on {words.plain(straggler.host)})" if straggler.host and len(run.hosts) > 1 else ""
    who = f"Rank {straggler.rank}{host} holds"
    if straggler.ranks > 1:
        who = f"The {straggler.ranks} ranks of {words.plain(straggler.host)} hold"
    cost = f"{words.duration(straggler.late_ns)} per step ({words.percent(100 * straggler.share)} of it)"
    return f"{who} up the others by {cost}{since}. {_state_cause(straggler)}"


def _state_cause(straggler: Straggler) -> str:
    longer = f"{words.duration(straggler.cause_ns)} longer per step than that of the median rank"
    if straggler.cause == "compute" and straggler.slower is not None:
        kernel = f", most in {words.code(straggler.kernel)}" if straggler.kernel else ""
        equal = "as many launches of as many threads"
        clock = ""
        if straggler.clock_mhz and straggler.usual_mhz:
            clock = f" at {straggler.clock_mhz:,.0f} MHz against {straggler.usual_mhz:,.0f} MHz"
        advice = "" if clock else " Look at its clocks, power and temperature."
        return (
            f"Its compute takes {longer}, with {equal}{kernel}: its kernels take {straggler.slower:.2f}x as long"
            f"{clock}.{advice}"
        )
    if straggler.cause == "work":
        kernel = f", most in {words.code(straggler.kernel)}" if straggler.kernel else ""
        return f"Its compute takes {longer}{kernel}: it has more work. Balance batches over the ranks."
    if straggler.cause == "idle":
        place = f" in {words.code(straggler.place)}" if straggler.place else ""
        what = f" The CPU meanwhile: {words.plain(straggler.idle)}{place}." if straggler.idle else ""
        if straggler.cpu == "slow":
            return (
                f"Its CPU takes {longer} for the same launches{place}: look for other programs on its cores, their"
                " clocks, and cores far from its GPU (`taskset`, `numactl`)."
            )
        return f"{'Its CPU takes' if straggler.cpu else 'The idle time of its GPU is'} {longer}.{what}"
    if straggler.cause == "copy":
        return f"The time of its copies is {longer}."
    return "No part of its own steps is longer by that much; compare its timeline with that of another rank."


def count_ranks(run: Run) -> str:
    """Return how many ranks a run has, and the first of those without a report: ``6 of 8, not 3, 5``."""
    if not run.missing:
        return f"{run.size:,}"
    few = 3
    more = f" + {len(run.missing) - few:,}" if len(run.missing) > few else ""
    return f"{len(run.ranks):,} of {run.size:,}, not {', '.join(map(str, run.missing[:few]))}{more}"


def state_gaps(run: Run) -> Iterator[tuple[str, str]]:
    """Say which ranks are missing, doubled or from an earlier start of the run, each with the rule of its finding."""
    if run.missing:
        count = f"{len(run.missing)} of {run.size} ranks have no report"
        yield "ranks_missing", f"{count}: {_list(run.missing)}. Waits count the present ranks alone."
    if run.doubled:
        ranks = sorted({one.rank for one in run.doubled if one.rank is not None})
        is_before = all((one.restarts or 0) < run.restarts for one in run.doubled)
        why = "from before the restart" if is_before else "a further one of the rank"
        count = words.counted(len(run.doubled), "report")
        yield "ranks_doubled", f"{count} left out, {why}: rank {_list(ranks)}."
    if run.restarts:
        count = words.counted(run.restarts, "time")
        yield "restarted", f"The launcher restarted the run {count} before these reports were captured."


def state_unread(ranks: Sequence[int]) -> str:
    """Say which ranks have a report whose summary cannot be read."""
    have = "Rank {} has" if len(ranks) == 1 else "Ranks {} have"
    return (
        f"{have.format(_list(ranks))} a report without figures: its summary is damaged or being made anew. Nothing here"
        " counts its steps."
    )


def state_silent(ranks: Sequence[int]) -> str:
    """Say which ranks have no collectives, unlike the others."""
    have = "Rank {} has" if len(ranks) == 1 else "Ranks {} have"
    return (
        f"{have.format(_list(ranks))} no collectives in the steps, unlike the others: nothing tells whether they wait."
    )


def state_sources(told_by: Mapping[int, str]) -> str:
    """Say which ranks have steps from another source than most; empty if none."""
    (source, _), *others = Counter(told_by.values()).most_common()
    if not others:
        return ""
    apart = sorted(rank for rank, own_source in told_by.items() if own_source != source)
    return (
        f"The steps of rank {_list(apart)} are found by {_SOURCES[told_by[apart[0]]]}, those of the other ranks by"
        f" {_SOURCES[source]}: they do not compare."
    )


def state_shift(shift: Mapping[int, int]) -> str:
    """Say which ranks are in another step at the same collective, by how many steps."""
    ranks = sorted(shift)
    first = f"rank {ranks[0]} is {words.counted(abs(shift[ranks[0]]), 'step')}"
    way = "ahead" if shift[ranks[0]] > 0 else "behind"
    others = f", and {len(ranks) - 1} more are apart" if len(ranks) > 1 else ""
    return (
        f"Ranks number their steps differently: at the same collective {first} {way}{others}. Their captures began at"
        " different steps."
    )


def state_end(last: Mapping[int, int], usual: int) -> str:
    """Say which ranks end before the others; empty if none."""
    if not last:
        return ""
    shown = ", ".join(f"rank {rank} ends with step {last[rank]}" for rank in sorted(last)[:_MOST])
    more = f", and {len(last) - _MOST} more end early" if len(last) > _MOST else ""
    return f"{shown[0].upper()}{shown[1:]}{more}, the others with step {usual}: the rank or its capture ended early."


_SOURCES = {"ranges": "NVTX ranges", "kernels": "repeating kernels", "nothing": "the whole capture"}


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

"""Findings of a run: ranks that cost others time, and reports that are missing, doubled or cut short."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from profiledb import words
from profiledb.findings.finding import HIGH_PCT, MEDIUM_PCT
from profiledb.studies.runs import communicators, sentences, straggler
from profiledb.studies.runs.run_tables import Matrix, RunTables
from profiledb.studies.runs.straggler import Straggler
from profiledb.studies.scaling import nccl

TITLES = {
    "straggler": "A rank holds up the others",
    "slow_node": "A machine holds up the others",
    "moving_imbalance": "Ranks wait for each other in turn",
    "exposed_communication": "Communication is exposed",
    "pipeline_bubbles": "Stages wait for each other",
    "slow_network": "The network is slower than the links within machines",
    "expert_imbalance": "Experts get uneven work",
    "ranks_missing": "Ranks have no report",
    "ranks_doubled": "Ranks have several reports",
    "restarted": "The run was restarted",
    "out_of_step": "Ranks have different steps",
    "no_collectives": "Ranks have no collectives",
    "no_figures": "Ranks have no figures",
}
"""Titles of the findings, by rule."""
ABOUT_RANKS = ("straggler", "slow_node", "moving_imbalance", "pipeline_bubbles")
"""Rules that say who waits for whom; without one, no rank holds the others up."""
WARNINGS = ("ranks_missing", "restarted", "out_of_step", "no_collectives", "no_figures")
"""Rules whose figures are incomplete rather than slow."""
IMBALANCE = straggler.LEAST
"""Share of the step from which waits for changing ranks count, as in the rule ``rank_imbalance``."""
EXPOSED = 0.1
"""Share of the step from which exposed communication counts."""
UNEVEN = 1.2
"""Most data of a rank over the mean, from which all-to-all exchanges are uneven."""
SLOWER = 2.0
"""How many times faster links within machines are than those across them, at least, if the network costs time."""
_TRANSFERS = 8
"""Fewest transfers of a rank that are judged, as there."""


@dataclass(frozen=True)
class RunFinding:
    """A cause that holds a run up, or a fault of its reports.

    Args:
        rule: one of ``TITLES``.
        sentence: Markdown.
        saving_ns: most time that it costs per step, mean over the ranks; None if it costs none.
        share: the same as a part of the step.
    """

    rule: str
    sentence: str
    saving_ns: float | None = None
    share: float = 0.0

    @property
    def severity(self) -> str:
        """One of ``finding.SEVERITIES``."""
        if self.saving_ns is None:
            return "warning" if self.rule in WARNINGS else "note"
        return "high" if 100 * self.share >= HIGH_PCT else "medium" if 100 * self.share >= MEDIUM_PCT else "low"

    @property
    def title(self) -> str:
        """The rule in words."""
        return TITLES[self.rule]


def find(tables: RunTables, late_ranks: Straggler | None) -> list[RunFinding]:
    """Return the findings of a run: those that cost time first, the costliest first."""
    every = [*_find_waits(tables, late_ranks), *_find_incomplete(tables)]
    return sorted(every, key=lambda one: (one.saving_ns is None, -(one.saving_ns or 0)))


def _find_waits(tables: RunTables, late_ranks: Straggler | None) -> Iterator[RunFinding]:
    step_ns = float(tables.steps["duration_ns"].mean()) if len(tables.steps) else 0.0
    if not step_ns:
        return
    exposed = tables.matrix("exposed_ns")
    waited = compute_mean(tables.waits)
    cost = min(compute_mean(tables.held), find_spare(tables))
    if late_ranks is not None:
        rule = "straggler" if late_ranks.ranks == 1 else "slow_node"
        yield RunFinding(rule, sentences.state_straggler(late_ranks, tables.run), late_ranks.late_ns, late_ranks.share)
    elif cost >= IMBALANCE * step_ns:
        yield RunFinding("moving_imbalance", _state_imbalance(tables, cost, step_ns), cost, cost / step_ns)
    yield from _find_uneven_experts(tables)
    bubbles = list(_find_bubbles(tables, exposed, step_ns))
    yield from bubbles
    matched = ~np.isnan(tables.waits)  # of other steps nothing tells how much of them is waiting
    shown = compute_mean(exposed[matched] if matched.any() else exposed)
    transfer = max(0.0, shown - waited - sum(one.saving_ns or 0.0 for one in bubbles))
    network = list(_find_network(tables, transfer, step_ns))
    yield from network
    transfer -= sum(one.saving_ns or 0.0 for one in network)
    if transfer >= EXPOSED * step_ns:
        yield RunFinding("exposed_communication", _state_exposed(tables, shown, waited, step_ns), transfer,
                         transfer / step_ns)  # fmt: skip


def find_spare(tables: RunTables) -> float:
    """Return the time per step that the slowest CPU does not need for it, ns, which waits can cost at most."""
    spare = tables.spare[~np.isnan(tables.spare).all(axis=1)]
    return max(0.0, float(spare.mean(axis=1).min())) if len(spare) else np.inf


def compute_mean(values: Matrix) -> float:
    """Return the mean of the known values; 0 if there is none."""
    return 0.0 if np.isnan(values).all() else float(np.nanmean(values))


def _find_bubbles(tables: RunTables, exposed: Matrix, step_ns: float) -> Iterator[RunFinding]:
    """Yield waits of stages for each other: the time of transfers beyond the shortest of their size on their rank."""
    sent = tables.sends
    if sent["rank"].nunique() < 2 or sent.groupby("rank").size().min() < _TRANSFERS:
        return
    waits = np.fmin(tables.spread(sent, "wait_ns"), exposed)
    waited = float(np.nanmean(waits))
    if waited < IMBALANCE * step_ns:
        return
    compute = straggler.average(tables.matrix("compute_ns"))
    most, least = int(compute.argmax()), int(compute.argmin())
    yield RunFinding(
        "pipeline_bubbles",
        f"Stages wait {words.duration(waited)} per step ({words.percent(100 * waited / step_ns)} of it) in transfers"
        f" for other stages. Rank {tables.numbers[most]} computes most, {words.duration(compute[most])} per step, rank"
        f" {tables.numbers[least]} least, {words.duration(compute[least])}. More micro-batches have less of it, and so"
        " do stages with equal work.",
        waited,
        waited / step_ns,
    )


def _find_network(tables: RunTables, exposed_ns: float, step_ns: float) -> Iterator[RunFinding]:
    """Yield the exposed time of collectives across machines beyond the speed of those within one."""
    links = communicators.measure_links(tables.matches, tables.hosts)
    if links is None:
        return
    within, across = links
    per_step = across.ns / sum(tables.step_count.values())
    cost = min(per_step * (1 - across.rate / within.rate), exposed_ns)
    if within.rate < SLOWER * across.rate or cost < IMBALANCE * step_ns:
        return
    yield RunFinding(
        "slow_network",
        f"Collectives across machines move {across.rate:,.1f} GB/s per GPU over the network"
        f" ({words.counted(across.operations, 'operation')}), those within a machine {within.rate:,.1f} GB/s"
        f" ({within.rate / across.rate:.1f}x). The former take {words.duration(per_step)} per step"
        f" ({words.percent(100 * per_step / step_ns)} of it). Keep the groups that exchange most within machines, and"
        " let the rest overlap with compute.",
        cost,
        cost / step_ns,
    )


def _find_uneven_experts(tables: RunTables) -> Iterator[RunFinding]:
    """Yield how uneven the sizes of all-to-all exchanges are over the ranks."""
    exchanged = tables.matches[tables.matches["operation"].eq("AlltoAll") & tables.matches["bytes"].notna()]
    if exchanged.empty:
        return
    sizes = exchanged.groupby("key")["bytes"].agg(["max", "mean"]).sum()
    if sizes["max"] < UNEVEN * sizes["mean"]:
        return
    by_rank = exchanged.groupby("rank")["bytes"].sum()
    yield RunFinding(
        "expert_imbalance",
        f"In {words.counted(exchanged['key'].nunique(), 'all-to-all exchange')} the rank with the most data has"
        f" {sizes['max'] / sizes['mean']:.2f}x the mean; over all of them rank {by_rank.idxmax()} has most,"
        f" {words.bytes_(by_rank.max())} against {words.bytes_(by_rank.median())} of the median rank. Experts that get"
        " more tokens hold the others up: a capacity limit or a stronger load-balancing loss evens them out.",
    )


def _state_imbalance(tables: RunTables, waited: float, step_ns: float) -> str:
    late = straggler.measure_lateness(tables.held)
    late = late[:, ~np.isnan(late).all(axis=0)]
    last = np.bincount(np.nanargmax(late, axis=0), minlength=len(late))
    row = int(last.argmax())
    return (
        f"Ranks wait {words.duration(waited)} per step ({words.percent(100 * waited / step_ns)} of it) for each other,"
        f" and no rank is the late one throughout: rank {tables.numbers[row]} is the last most often, in {last[row]} of"
        f" {words.counted(late.shape[1], 'step')}. Give all ranks the same work in each step: batches of equal size,"
        " grouped by length."
    )


def _state_exposed(tables: RunTables, shown: float, waited: float, step_ns: float) -> str:
    sums = tables.matches.drop_duplicates("key").groupby("operation")["shortest_ns"].sum()
    most = f" Most of the transfers are {words.code(sums.idxmax())}." if len(sums) else ""
    split = f", {words.duration(waited)} of it waits for other ranks" if waited >= nccl.CLEAR * step_ns else ""
    return (
        f"Communication runs without compute for {words.duration(shown)} per step"
        f" ({words.percent(100 * shown / step_ns)} of it){split}.{most}"
    )


def _find_incomplete(tables: RunTables) -> Iterator[RunFinding]:
    run = tables.run
    for rule, sentence in sentences.state_gaps(run):
        yield RunFinding(rule, sentence)
    measured, having = set(tables.steps["rank"]), set(tables.operations["rank"])
    if measured and (unread := [rank for rank in tables.numbers if rank not in measured]):
        yield RunFinding("no_figures", sentences.state_unread(unread))
    silent = [rank for rank in tables.numbers if rank in measured and rank not in having]
    if having and silent:
        yield RunFinding("no_collectives", sentences.state_silent(silent))
    sources = {one.rank or 0: one.told_by for one in run.ranks}
    if uneven := sentences.state_sources(sources) or _state_steps(tables):
        yield RunFinding("out_of_step", uneven)


def _state_steps(tables: RunTables) -> str:
    """Say which ranks number their steps otherwise than the others, or end before them; empty if none does."""
    numbered = tables.matches[tables.matches["sequence"].notna() & tables.matches["step"].notna()]
    if len(numbered):
        apart = numbered["step"] - numbered.groupby("key")["step"].transform("median")
        shift = apart.groupby(numbered["rank"]).median()
        shift = shift[shift != 0]
        if len(shift):
            return sentences.state_shift(dict(zip(shift.index.tolist(), map(int, shift), strict=True)))
    last = tables.steps.groupby("rank")["step"].max()
    usual = int(last.mode().max()) if len(last) else 0
    early = last[last < usual]
    return sentences.state_end(dict(zip(early.index.tolist(), map(int, early), strict=True)), usual)

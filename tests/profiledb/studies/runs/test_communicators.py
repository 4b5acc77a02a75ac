"""The ranks in the collectives of a run, the parallelism that follows from them, and slow networks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.runs import vary
from profiledb.studies.runs import rank_summary
from profiledb.studies.runs.rank_summary import RankSummary
from profiledb.studies.runs.run_answer import RunAnswer
from tests.support.made_ranks import MS, real, stage, work_out


def regroup(
    ranks: Sequence[RankSummary], groups: Mapping[str, Sequence[Sequence[int]]], *, named: bool, apart: int = 5 * MS
) -> list[Any]:
    """The ranks with these collectives, each by groups of ranks that drift apart by up to ``apart`` ns."""
    made, late = [], np.random.default_rng(3).uniform(0, apart, (len(ranks), 400))
    for one in ranks:
        rows = rank_summary.decode(one.tables["operation_rows"]).to_pandas()
        parts = []
        for operation, every in groups.items():
            members = next(members for members in every if one.rank in members)
            name = f"group {'-'.join(map(str, members))}" if named else None
            delay = late[min(members), : len(rows)]
            moved = rows.assign(operation=operation, communicator=name, start_ns=rows["start_ns"] + delay)
            parts.append(moved)
        packed = rank_summary.encode(pd.concat(parts).sort_values("start_ns"), "operation_rows")
        made.append(replace(one, tables={**one.tables, "operation_rows": packed}))
    return made


PAIRS, STRIDES = [(0, 1), (2, 3)], [(0, 2), (1, 3)]
MORE_RUNS = pytest.mark.slow("more runs of four ranks")


@pytest.mark.parametrize("named", [pytest.param(True, marks=MORE_RUNS), False])
def test_kinds_of_parallelism_are_told_by_who_takes_part(named: bool) -> None:
    """Tensor-parallel pairs, sharded over the other axis of the mesh; without names, the ends of operations agree."""
    groups = {"AllReduce": PAIRS, "AllGather": STRIDES, "ReduceScatter": STRIDES}
    rows = work_out(regroup(list(vary(real(), 4, 40)), groups, named=named))[1].communicators
    told = {(row["operation"], row["members"], row["kind"], row["ranks"]) for row in rows.to_dict("records")}
    assert told == {
        ("AllReduce", "0, 1", "tensor", 2), ("AllReduce", "2, 3", "tensor", 2),
        ("AllGather", "0, 2", "data", 2), ("AllGather", "1, 3", "data", 2),
        ("ReduceScatter", "0, 2", "data", 2), ("ReduceScatter", "1, 3", "data", 2),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "kinds"),
    [
        ({"AllReduce": [(0, 1, 2, 3)]}, {None}),  # data or tensor parallel: the same ranks take part
        pytest.param({"AlltoAll": [(0, 1, 2, 3)]}, {"expert"}, marks=MORE_RUNS),
        pytest.param({"AllReduce": PAIRS}, {None}, marks=MORE_RUNS),  # a single axis
        ({"AllReduce": PAIRS, "ReduceScatter": STRIDES, "Broadcast": [(0, 1, 2, 3)]}, {"tensor", "data", None}),
        ({"ReduceScatter": PAIRS, "AllReduce": STRIDES}, {"data"}),  # each shard is reduced over its replicas
    ],
)
def test_a_kind_that_is_not_clear_is_not_told(groups: Any, kinds: set[Any]) -> None:
    rows = work_out(regroup(list(vary(real(), 4, 40)), groups, named=True))[1].communicators
    assert {None if pd.isna(kind) else kind for kind in rows["kind"]} == kinds


def test_stages_are_a_pipeline_and_exchanges_by_many_messages_are_experts() -> None:
    (row,) = work_out(stage(2, wait_ns=700_000))[1].communicators.to_dict("records")
    assert (row["operation"], row["kind"], row["ranks"], row["wait_ns"]) == ("SendRecv", "pipeline", 2, 28 * MS)
    many = []
    for one in stage(2, wait_ns=0):
        rows = rank_summary.decode(one.tables["operation_rows"]).to_pandas().assign(calls=8)
        many.append(replace(one, tables={**one.tables, "operation_rows": rank_summary.encode(rows, "operation_rows")}))
    (row,) = work_out(many)[1].communicators.to_dict("records")
    assert row["kind"] == "expert"
    assert pd.isna(row["wait_ns"])


def test_a_rank_whose_partner_has_no_report_waits_for_nobody_known() -> None:
    """Three of four ranks reduce in pairs: rank 0 is alone, and ranks 2 and 3 wait for each other."""
    ranks = regroup(list(vary(real(), 4, 40)), {"AllReduce": PAIRS}, named=False)
    known = work_out([one for one in ranks if one.rank != 1])[1]
    (row,) = known.communicators.to_dict("records")
    assert (row["members"], row["ranks"]) == ("2, 3", 2)
    assert known.ranks.set_index("rank")["wait_ns"].notna().to_dict() == {0: False, 2: True, 3: True}


@pytest.mark.parametrize("apart", [5 * MS, 400_000])
def test_ranks_whose_ends_have_nothing_in_common_are_not_matched(apart: int) -> None:
    """Each of four ranks drifts on its own, by up to five transfers of 1 ms or by less than one: nothing is clear."""
    alone = {"AllReduce": [(0,), (1,), (2,), (3,)]}
    _, known = work_out(regroup(list(vary(real(), 4, 40)), alone, named=False, apart=apart))
    assert known.is_matched == (apart < MS)
    if known.is_matched:
        (row,) = known.communicators.to_dict("records")
        assert pd.isna([row["communicator"], row["members"], row["kind"]]).all()
    else:
        assert known.straggler is None
        assert known.headline.startswith("The collectives of the ranks differ")


def spread(hosts: Sequence[str], slower: float, bytes_: float = 4e6) -> RunAnswer:
    """Four ranks on these machines: reduced by pairs, and over the others ``slower`` times as long."""
    ranks = []
    for one in regroup(list(vary(real(), 4, 40)), {"AllReduce": PAIRS, "ReduceScatter": STRIDES}, named=True):
        rows = rank_summary.decode(one.tables["operation_rows"]).to_pandas().assign(bytes=bytes_)
        rows.loc[rows["operation"] == "ReduceScatter", "bytes"] /= 2  # of a rank: as much in all
        rows.loc[rows["operation"] == "AllReduce", "duration_ns"] = 2 * MS / slower
        packed = rank_summary.encode(rows, "operation_rows")
        ranks.append(replace(one, host=hosts[one.rank or 0], tables={**one.tables, "operation_rows": packed}))
    return work_out(ranks)[1]


def test_a_network_slower_than_the_links_within_machines_is_named() -> None:
    """Each AllReduce moves 4 MB in 0.2 ms within a machine, each ReduceScatter half as much per link in 1 ms."""
    known = spread(["a", "a", "b", "b"], slower=10)
    (finding,) = [one for one in known.findings if one.rule == "slow_network"]
    rates = known.communicators.groupby("operation")["busbw_gb_per_s"].mean()
    assert rates.to_dict() == pytest.approx({"AllReduce": 20, "ReduceScatter": 2}, rel=0.03)  # ends scatter
    within, across = rates["AllReduce"], rates["ReduceScatter"]
    assert f"move {across:.1f} GB/s per GPU over the network (160 operations)" in finding.sentence
    assert f"those within a machine {within:.1f} GB/s ({within / across:.1f}x)" in finding.sentence
    assert finding.saving_ns == pytest.approx(1.8 * MS, rel=0.03)
    assert "exposed_communication" not in {one.rule for one in known.findings}, "not the same time twice"


@pytest.mark.parametrize(
    ("hosts", "slower", "bytes_"),
    [
        pytest.param(["a"] * 4, 10, 4e6, marks=MORE_RUNS),  # one machine
        (["a", "a", "", ""], 10, 4e6),  # nobody knows where ranks 2 and 3 ran
        pytest.param(["a", "a", "b", "b"], 1, 4e6, marks=MORE_RUNS),  # as fast
        (["a", "a", "b", "b"], 10, 4e4),  # small: latency rather than the link
    ],
)
def test_where_nothing_tells_that_the_network_is_slower_none_is_named(
    hosts: list[str], slower: float, bytes_: float
) -> None:
    assert "slow_network" not in {one.rule for one in spread(hosts, slower, bytes_).findings}

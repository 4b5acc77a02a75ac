"""Communicators of a run: the ranks that take part, the kind of parallelism, and how fast links carry their data.

Few captures name the communicator of a collective. It ends on all its ranks within microseconds, while those of other
communicators drift apart, so ranks whose ends keep their distance from one collective to the next take part in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from profiledb.studies.scaling import nccl

TOGETHER_NS = 20_000
"""Most by which the distance between the ends on two ranks changes from one collective to the next, ns. On a mesh of
two by two GPUs 92 % of the changes are below it where two ranks take part, 31 % at most where they do not."""
TOGETHER = 0.8
APART = 0.5
"""Share of collectives that do so from which two ranks take part in one, and below which they do not; between them
nothing is told."""
FEWEST = 8
"""Fewest collectives that tell anything."""
_MOST = 256
"""Collectives of a kind that are looked at."""
MESSAGES = 4
"""Most messages in a kernel that sends and receives between stages, as in the rule ``pipeline_bubbles``."""
SHARDED = 1.75
"""All-gathers per reduce-scatter from which parameters are sharded: they are gathered for both passes."""
LARGE = 1_000_000
"""Bytes from which the link limits a collective rather than its latency."""
_NAMED = 4

Members = tuple[int, ...]
Ends = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def name_members(operations: pd.DataFrame) -> pd.DataFrame:
    """Return collectives of a run, where the ranks that end together stand for the name of an unnamed communicator."""
    unnamed = operations["communicator"].isna() & operations["operation"].isin(nccl.PAIRED) & operations["step"].notna()
    if not unnamed.any():
        return operations
    names = operations["communicator"].astype(object)
    for _, rows in operations[unnamed].groupby("operation"):
        for members in find_members(rows):
            names[rows.index[rows["rank"].isin(members)]] = f"ranks {list_members(members)}"
    return operations.assign(communicator=names)


def find_members(rows: pd.DataFrame) -> list[Members]:
    """Return the ranks of each communicator, all of one size, from collectives of one kind; none if it is unclear."""
    nth = rows.groupby(["rank", "step"]).cumcount()
    ends = rows["start_ns"] + rows["duration_ns"]
    table = pd.DataFrame({"rank": rows["rank"], "step": rows["step"], "nth": nth, "end": ends})
    wide = table.pivot_table(index=["step", "nth"], columns="rank", values="end").dropna().head(_MOST)
    if len(wide) <= FEWEST:
        return []
    by_rank: Ends = wide.to_numpy(dtype=float).T
    left, found = np.arange(len(by_rank)), []
    while len(left):
        apart = np.abs(np.diff(by_rank[left] - by_rank[left[0]]))
        shares = (apart <= TOGETHER_NS).mean(axis=1)
        is_member = shares >= TOGETHER
        if (shares[~is_member] > APART).any():
            return []
        found.append(tuple(wide.columns[left[is_member]].tolist()))
        left = left[~is_member]
    sizes = {len(members) for members in found}
    return found if len(sizes) == 1 and min(sizes) > 1 else []


def list_members(members: Sequence[int]) -> str:
    """Return ranks in short: ``0-7``, ``0, 2``, or ``0, 4, 8, 12 ... 60`` of many."""
    first, last = members[0], members[-1]
    if len(members) > 2 and last - first == len(members) - 1:
        return f"{first}-{last}"
    if len(members) <= _NAMED + 1:
        return ", ".join(map(str, members))
    return f"{', '.join(map(str, members[:_NAMED]))} ... {last}"


@dataclass(frozen=True)
class Communicator:
    """A communicator with the number of its operations by kind, one for all its ranks."""

    name: str | None
    members: Members
    counts: Mapping[str, int]

    @property
    def is_inner(self) -> bool:
        """True if its ranks follow one another."""
        return self.members[-1] - self.members[0] == len(self.members) - 1


def list_communicators(matches: pd.DataFrame) -> list[Communicator]:
    """Return the communicators of matched collectives."""
    return [
        Communicator(
            None if pd.isna(name) else str(name),
            tuple(sorted(rows["rank"].unique().tolist())),
            rows.groupby("operation")["key"].nunique().to_dict(),
        )
        for name, rows in matches.groupby("communicator", dropna=False)
    ]


def tell_kind(one: Communicator, every: Sequence[Communicator]) -> str:
    """Return ``expert``, ``tensor``, ``data`` or "" if it is not clear, from the ranks that take part.

    Frameworks number the ranks of a mesh so that those of tensor parallelism, which exchange most, follow one another.
    """
    if one.name is None:
        return ""
    if "AlltoAll" in one.counts:
        return "expert"
    alike = [other for other in every if other.name is not None and "AlltoAll" not in other.counts]
    inner = [other for other in alike if other.is_inner]
    outer = [other for other in alike if not other.is_inner]
    if inner and outer and max(len(other.members) for other in inner) <= outer[0].members[1] - outer[0].members[0]:
        scattered = sum(other.counts.get("ReduceScatter", 0) for other in inner)
        reduced = sum(other.counts.get("AllReduce", 0) for other in outer)
        is_replicated = scattered > 0 and abs(reduced - scattered) <= 0.1 * scattered  # each shard is reduced once more
        return "tensor" if one.is_inner and not is_replicated else "data"
    gathered, scattered = one.counts.get("AllGather", 0), one.counts.get("ReduceScatter", 0)
    return "data" if scattered and gathered >= SHARDED * scattered else ""


def count_nodes(members: Sequence[int], hosts: Mapping[int, str]) -> int | None:
    """Return the number of machines of ranks; None if one is unknown."""
    machines = {hosts.get(rank, "") for rank in members}
    return None if "" in machines else len(machines)


@dataclass(frozen=True)
class Link:
    """Large collectives within machines, or across them.

    Args:
        operations: number of them.
        rate: bytes per ns that each link sees (the bus bandwidth of nccl-tests).
        ns: time of their transfers, summed over the ranks.
    """

    operations: int
    rate: float
    ns: float


def measure_links(matches: pd.DataFrame, hosts: Mapping[int, str]) -> tuple[Link, Link] | None:
    """Return the links within machines and across them; None unless enough large collectives tell both."""
    if "size_bytes" not in matches:
        return None
    parts: dict[bool, list[pd.DataFrame]] = {False: [], True: []}
    large = matches[matches["size_bytes"].ge(LARGE) & matches["communicator"].notna()]
    for _, rows in large.groupby("communicator"):
        nodes = count_nodes(rows["rank"].unique().tolist(), hosts)
        if nodes is not None:
            parts[nodes > 1].append(rows)
    within, across = (_measure_link(parts[is_across]) for is_across in (False, True))
    return (within, across) if within and across else None


def _measure_link(parts: Sequence[pd.DataFrame]) -> Link | None:
    rows = pd.concat(parts) if parts else pd.DataFrame({"key": []})
    once = rows.drop_duplicates("key")
    if len(once) < FEWEST:
        return None
    rate = nccl.compute_bandwidth(once)["busbw_gb_per_s"]  # GB/s are bytes per ns
    return Link(len(once), float(str(rate)), float(rows["shortest_ns"].sum())) if rate else None


def split_sends(operations: pd.DataFrame) -> Iterator[tuple[str | None, Members, pd.DataFrame]]:
    """Yield sends and receives by communicator, with the ranks that have them."""
    sent = operations[operations["operation"].eq("SendRecv") & operations["step"].notna()]
    for name, rows in sent.groupby("communicator", dropna=False):
        yield None if pd.isna(name) else str(name), tuple(sorted(rows["rank"].unique().tolist())), rows

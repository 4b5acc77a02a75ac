"""Communicators of a run: the kind of parallelism that each serves, and how fast links carry their data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from profiledb.studies.scaling import nccl

FEWEST = 8
"""Fewest collectives that tell the speed of a link."""
MESSAGES = 4
"""Most messages in a kernel that sends and receives between stages, as in the rule ``pipeline_bubbles``."""
SHARDED = 1.75
"""All-gathers per reduce-scatter from which parameters are sharded: they are gathered for both passes."""
LARGE = 1_000_000
"""Bytes from which the link limits a collective rather than its latency."""

Members = tuple[int, ...]


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


def read_name(value: object) -> str | None:
    """Return the name of a communicator; None for a missing value."""
    return value if isinstance(value, str) else None


def list_communicators(matches: pd.DataFrame) -> list[Communicator]:
    """Return the communicators of matched collectives."""
    return [
        Communicator(
            read_name(name),
            tuple(sorted(rows["rank"].unique().tolist())),
            {str(operation): int(count) for operation, count in rows.groupby("operation")["key"].nunique().items()},
        )
        for name, rows in matches.groupby("communicator", dropna=False)
    ]


def tell_kind(one: Communicator, every: Sequence[Communicator], size: int) -> str:
    """Return ``expert``, ``tensor``, ``data`` or "" if it is not clear, from the ranks that take part.

    Frameworks number the ranks of a mesh so that those of tensor parallelism, which exchange most, follow one another.

    Args:
        one: the communicator.
        every: all communicators of the run.
        size: number of ranks of the run; a communicator of all is no axis of a mesh.
    """
    if one.name is None:
        return ""
    if "AlltoAll" in one.counts:
        return "expert"
    axes = [other for other in every if other.name and len(other.members) < size and "AlltoAll" not in other.counts]
    inner = [other for other in axes if other.is_inner]
    outer = [other for other in axes if not other.is_inner]
    apart = min((other.members[1] - other.members[0] for other in outer), default=0)
    if one in axes and inner and max(len(other.members) for other in inner) <= apart:
        scattered = max(other.counts.get("ReduceScatter", 0) for other in inner)
        reduced = max(other.counts.get("AllReduce", 0) for other in outer)
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
        yield read_name(name), tuple(sorted(rows["rank"].unique().tolist())), rows

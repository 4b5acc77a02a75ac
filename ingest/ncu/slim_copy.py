"""Copy a report without its metrics, small enough for the ``ncu-report`` wheel, and return those metrics separately.

Nine tenths of a report are metric values and the definitions of sections, which every launch repeats. The wheel takes
31 ms for a launch of 2,200 metrics and needs 13 times its size in memory. So launches are written again without both,
except the first of each shape, which gives the wheel the units and the rows of the details page.
"""

import hashlib
import mmap
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ingest.ncu import container
from ingest.ncu.messages import (
    Integers,
    Values,
    decode_elements,
    decode_launch,
    decode_message,
    decode_metrics,
    decode_texts,
)
from ingest.ncu.names import is_instanced

_DEVICE = "device__attribute_compute_capability_"


@dataclass(frozen=True)
class Instances:
    """Instance values, in order: the position of their metric in ``Measured.names``, keys and values."""

    metric: Integers
    position: Integers
    keys: Values
    values: Values


@dataclass(frozen=True)
class Order:
    """Sorted names; ``places``: positions of their metrics in the message; positions in ``names`` that need a further
    look."""

    names: tuple[str, ...]
    places: Integers
    instanced: list[int]
    device: list[int]


@dataclass(frozen=True)
class Measured:
    """The metrics of a launch, sorted by name. Launches with the same ``shape`` have the same names, units and
    sections, whose number is ``sections``."""

    shape: bytes
    mangled: str
    names: tuple[str, ...]
    values: Values
    instances: Instances
    sections: int


class NoKernelsError(ValueError):
    """The report has results that are no kernels."""


class Slimmer:
    """Removes the metrics from the launches of one report."""

    def __init__(self) -> None:
        self.launches: deque[Measured] = deque()
        self._strings: list[str] = []
        self._shapes: set[bytes] = set()
        self._orders: dict[bytes, Order] = {}

    def block(self, head: bytes, payload: bytes) -> tuple[bytes, bytes]:
        """Return header and payload of a block without the metrics.

        Raises:
            NoKernelsError: the block holds results that are no kernels.
            ValueError: the block does not match NVIDIA's description.
        """
        header = decode_message("Header").FromString(head)
        if header.ranges or header.cmdlists or header.graphs:
            raise NoKernelsError("results that are no kernels")
        self._strings += decode_texts(header.strings)
        messages = list(_split_messages(payload))
        if len(messages) != header.sources + header.kernels:
            raise ValueError(
                f"{len(messages)} messages in a block of {header.sources} sources, {header.kernels} kernels"
            )
        if not header.kernels:
            return head, payload
        first = len(messages) - header.kernels
        slim = messages[:first] + [self._slim_launch(part, header.process) for part in messages[first:]]
        joined = b"".join(struct.pack("<I", len(part)) + part for part in slim)
        header.size = len(joined)
        return header.SerializeToString(), joined

    def _slim_launch(self, data: memoryview, process: bytes) -> bytes | memoryview:
        result = decode_launch(bytes(data))
        measured = self._measure_launch(result, process)
        self.launches.append(measured)
        if measured.shape not in self._shapes:
            self._shapes.add(measured.shape)
            return data
        result.ClearField("metrics")
        result.ClearField("sections")
        return bytes(result.SerializeToString())

    def _measure_launch(self, result: Any, process: bytes) -> Measured:
        blobs = list(result.metrics)
        numbers, decoded = decode_metrics(blobs)
        ids = numbers.tobytes()
        order = self._orders.get(ids)
        if order is None:
            order = self._orders[ids] = self._order_metrics(numbers.tolist())
        decoded = decoded.take(order.places)
        digest = hashlib.sha256(process + ids + decoded.tag.tobytes())
        for section in result.sections:
            digest.update(section)
        digest.update(decoded.number[order.device].tobytes())
        metric = decode_message("Metric")
        lists = [(place, metric.FromString(blobs[order.places[place]]).elements) for place in order.instanced]
        mangled = result.mangled.decode("utf-8", "replace")
        instances = _read_instances(lists)
        return Measured(digest.digest(), mangled, order.names, decoded, instances, len(result.sections))

    def _order_metrics(self, numbers: Sequence[int]) -> Order:
        """Sort metrics by name; among equal names the last counts, as for the wheel."""
        place = {self._strings[number]: at for at, number in enumerate(numbers)}
        names = tuple(sorted(place))
        return Order(
            names,
            np.array([place[name] for name in names], np.int64),
            [at for at, name in enumerate(names) if is_instanced(name)],
            [at for at, name in enumerate(names) if name.startswith(_DEVICE)],
        )


def write_slim_copy(report: Path, target: Path) -> deque[Measured]:
    """Write the small copy and return the metrics of each launch, in order.

    Raises:
        NoKernelsError: the report holds more than kernels.
        ValueError: it holds messages that do not match NVIDIA's description.
    """
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    slimmer = Slimmer()
    with report.open("rb") as file, target.open("wb") as output:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            blocks = list(container.list_blocks(data))
        try:
            _copy_blocks(file, output, blocks, slimmer)
        except (DecodeError, IndexError, struct.error) as error:
            raise ValueError(str(error)) from error
    return slimmer.launches


def _copy_blocks(file: BinaryIO, output: BinaryIO, blocks: Sequence[tuple[bytes, int, int]], slimmer: Slimmer) -> None:
    if blocks:
        output.write(file.read(blocks[0][1] - len(blocks[0][0]) - 4))
    for head, begin, end in blocks:
        file.seek(begin)
        slim_head, payload = slimmer.block(head, file.read(end - begin))
        output.write(struct.pack("<I", len(slim_head)) + slim_head + payload)


def _split_messages(data: bytes) -> Iterator[memoryview]:
    position, payload = 0, memoryview(data)
    while position < len(payload):
        (size,) = struct.unpack_from("<I", payload, position)
        if position + 4 + size > len(payload):
            raise ValueError("a message reaches past its block")
        yield payload[position + 4 : position + 4 + size]
        position += 4 + size


def _read_instances(lists: Sequence[tuple[int, Sequence[bytes]]]) -> Instances:
    lengths = [len(entries) for _, entries in lists]
    keys, values = decode_elements([entry for _, entries in lists for entry in entries])
    metric = np.repeat(np.array([place for place, _ in lists], np.int64), lengths)
    position = np.concatenate([np.zeros(0, np.int64), *map(np.arange, lengths)])
    return Instances(metric, position, keys, values)

"""The calls and operations of a report as arrays, ordered by start time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_CALLS = """
SELECT call_id, start_ns, end_ns, global_tid, coalesce(name_id, -1) AS name_id
FROM api_call WHERE end_ns >= start_ns AND end_ns >= $begin AND start_ns <= $end ORDER BY start_ns, end_ns DESC, call_id
"""
_CALL_NAMES = "SELECT string_id, value FROM string WHERE string_id IN (SELECT DISTINCT name_id FROM api_call)"
_OPERATIONS = """
WITH operation AS (
    SELECT start_ns, end_ns, call_id, global_pid, device_id, context_id, stream_id, 0 AS kind,
        coalesce(name_id, -1)::BIGINT AS name_id, 0::BIGINT AS bytes, false AS to_host, false AS from_host,
        false AS pageable, (grid_x::BIGINT * grid_y * grid_z) AS blocks, kernel_id AS id
    FROM kernel
    UNION ALL
    SELECT start_ns, end_ns, call_id, global_pid, device_id, context_id, stream_id,
        CASE kind WHEN 'memcpy' THEN 1 ELSE 2 END, -1, coalesce(bytes, 0), coalesce(copy_kind = 2, false),
        coalesce(copy_kind = 1, false),
        kind = 'memcpy' AND coalesce(copy_kind IN (1, 2) AND (src_kind = 0 OR dst_kind = 0), false), 0,
        memop_id
    FROM memop
    UNION ALL
    SELECT start_ns, end_ns, call_id, global_pid, device_id, context_id, stream_id, 3, -1, 0, false, false, false, 0,
        launch_id
    FROM graph_launch
)
SELECT operation.* REPLACE (
    coalesce(operation.call_id, -1) AS call_id, coalesce(global_pid, -1) AS global_pid,
    coalesce(device_id, -1)::BIGINT AS device_id, coalesce(context_id, -1) AS context_id,
    coalesce(stream_id, -1) AS stream_id, coalesce(blocks, 0) AS blocks
)
FROM operation LEFT JOIN api_call AS call ON call.call_id = operation.call_id
WHERE operation.end_ns >= operation.start_ns AND operation.end_ns >= $begin
    AND coalesce(call.start_ns, operation.start_ns) <= $end
ORDER BY operation.start_ns, operation.end_ns
"""
_LEAD = """
SELECT min(call.start_ns) FROM (
    SELECT call_id, start_ns, end_ns FROM kernel UNION ALL SELECT call_id, start_ns, end_ns FROM memop
    UNION ALL SELECT call_id, start_ns, end_ns FROM graph_launch
) AS operation JOIN api_call AS call USING (call_id)
WHERE operation.end_ns >= $begin AND operation.start_ns <= $end
"""
"""The host runs ahead, so operations of a part may have been launched before it."""
_KERNEL_NAMES = """
SELECT name.name_id, coalesce(name.short, name.demangled, ''), coalesce(name.class, ''),
    CASE WHEN double_kernel.name_id IS NOT NULL THEN CASE WHEN is_product THEN 'fp64' ELSE 'double' END
        WHEN product_name.unit = 'cuda' THEN 'fp32'
        WHEN product_name.unit = 'tensor' THEN
            CASE bits WHEN 8 THEN 'fp8' WHEN 16 THEN 'fp16' WHEN 32 THEN 'tf32' ELSE '' END
        ELSE '' END AS precision,
    coalesce(name.class = 'matmul' AND is_vector_product(name.demangled), false) AS of_vectors,
    coalesce(is_condition(name.demangled), false) AS is_condition,
    coalesce(product_passes(name.demangled), 1) AS passes
FROM kernel_name AS name LEFT JOIN product_name USING (name_id) LEFT JOIN double_kernel USING (name_id)
"""
_PEAKS = """
SELECT precision, min(  -- tensor cores of these compute FP64 at twice the rate
    peak_flops_per_s * CASE WHEN precision = 'fp64' AND compute_capability IN ('8.0', '9.0') THEN 2 ELSE 1 END)
FROM gpu_peaks JOIN gpu USING (gpu_id) GROUP BY precision HAVING count(*) = count(peak_flops_per_s)
"""

_GPU = """
SELECT coalesce(min(sm_count), 0), coalesce(min(TRY_CAST(compute_capability AS DOUBLE)), 0),
    coalesce(min(peak_bytes_per_s), 0)
FROM gpu LEFT JOIN gpu_bandwidth USING (gpu_id)
"""
LINK_RATES = {9.0: 54.4, 8.0: 27.2, 7.0: 13.6}
"""Bytes per ns of copies from pinned memory, by the compute capability from which on GPUs have this link: 0.85 of the
64, 32 and 16 GB/s of 16 lanes of PCIe 5, 4 and 3. H200s reach 55 GB/s."""

VIEWS = ("peak", "tensor")
"""Files of the views that a recording is read with."""
KERNEL, COPY, MEMSET, GRAPH = range(4)
"""Kinds of operations."""


@dataclass(frozen=True)
class Calls:
    """CUDA calls that are not nested in another call of their thread, by start; times in ns of the capture.

    ``thread`` is an index into ``Recording.threads``, ``name`` one into ``names``, ``id`` that of the report's table.
    """

    start: Integers
    end: Integers
    thread: Integers
    name: Integers
    id: Integers
    names: list[str]

    def __len__(self) -> int:
        return len(self.start)


class KernelName(NamedTuple):
    """The name of kernels, and the facts that it tells about them.

    Attributes:
        name: the short name.
        class_: the class of kernels.
        precision: that of a matrix product (fp32 on CUDA cores, tf32, fp16, fp8, fp64), "double" of another kernel in
            FP64, or "" if the name does not tell.
        of_vectors: whether it is a matrix product with a vector or a few.
        is_condition: whether the result is of truth values.
        passes: how many products its tensor cores compute for each of its own: three in TF32 may replace one in FP32.
    """

    name: str = ""
    class_: str = ""
    precision: str = ""
    of_vectors: bool = False
    is_condition: bool = False
    passes: int = 1


@dataclass(frozen=True)
class Operations:
    """Kernels, copies, memory sets and whole CUDA graphs, by start; times in ns of the capture.

    ``call`` is the index in ``Calls`` of the call that launched the operation, or -1 if the capture lacks it. ``name``
    is an index into ``kernels``, or -1 if the operation is not a kernel. ``blocks`` is the size of the grid, or 0 if
    unknown. ``id`` is that of the report's table of the kind.
    """

    start: Integers
    end: Integers
    call: Integers
    stream: Integers
    device: Integers
    kind: Integers
    name: Integers
    bytes: Integers
    to_host: Flags
    from_host: Flags
    pageable: Flags
    blocks: Integers
    id: Integers
    kernels: list[KernelName]

    def __len__(self) -> int:
        return len(self.start)

    def in_precision(self, precision: str) -> Flags:
        """Return which operations are matrix products of a precision, or "double"."""
        return self._find_kernels(kernel.precision == precision for kernel in self.kernels)

    def in_class(self, name: str) -> Flags:
        """Return which operations are kernels of a class."""
        return self._find_kernels(kernel.class_ == name for kernel in self.kernels)

    def with_vectors(self) -> Flags:
        """Return which operations are matrix products with a vector or a few."""
        return self._find_kernels(kernel.of_vectors for kernel in self.kernels)

    def in_passes(self, passes: int) -> Flags:
        """Flag the kernels whose tensor cores compute this many products for each of their own."""
        return self._find_kernels(kernel.passes == passes for kernel in self.kernels)

    def of_conditions(self) -> Flags:
        """Return which operations are kernels whose result is of truth values."""
        return self._find_kernels(kernel.is_condition for kernel in self.kernels)

    def _find_kernels(self, chosen: Iterable[bool]) -> Flags:
        """Return which operations are kernels of the chosen names."""
        codes = [code for code, one in enumerate(chosen) if one]
        kernels: Flags = (self.kind == KERNEL) & np.isin(self.name, codes)
        return kernels


@dataclass(frozen=True)
class Recording:
    """The CUDA activity in a capture, on the host and on the GPUs.

    ``threads`` are global thread ids. ``multiprocessors`` is the number of a GPU, ``link_rate`` the bytes per ns that
    copies from pinned memory reach on its PCIe link, ``bandwidth`` the bytes per s of its memory; 0 if unknown.
    ``peaks`` are its FLOP/s by precision, as far as they are known.
    """

    calls: Calls
    operations: Operations
    threads: list[int]
    multiprocessors: int = 0
    link_rate: float = 0.0
    peaks: Mapping[str, float] = field(default_factory=dict)
    bandwidth: float = 0.0

    def calls_of(self, thread: int) -> Flags:
        """Return which calls a thread made, given by its global id."""
        number = self.threads.index(thread) if thread in self.threads else -1
        return np.equal(self.calls.thread, number)


def read(db: duckdb.DuckDBPyConnection, begin_ns: int, end_ns: int) -> Recording:
    """Read the calls and operations of a part of the report of a connection that has ``VIEWS``; bounds in ns."""
    bounds = {"begin": begin_ns, "end": end_ns}
    (lead,) = db.execute(_LEAD, bounds).fetchone() or (None,)
    bounds["begin"] = min(begin_ns, lead or begin_ns)
    table = db.execute(_CALLS, bounds).fetchnumpy()
    start, end = _convert_integers(table["start_ns"]), _convert_integers(table["end_ns"])
    threads, thread = np.unique(_convert_integers(table["global_tid"]), return_inverse=True)
    outer = find_outermost(start, end, thread.reshape(-1))
    top = np.flatnonzero(outer == np.arange(len(start)))
    place = np.full(len(start), -1, np.int64)
    place[top] = np.arange(len(top))
    names = dict(db.execute(_CALL_NAMES).fetchall())
    ids, name = np.unique(_convert_integers(table["name_id"])[top], return_inverse=True)
    listed = [str(names.get(int(one), "")) for one in ids]
    call_ids = _convert_integers(table["call_id"])
    calls = Calls(start[top], end[top], thread.reshape(-1)[top], name.reshape(-1), call_ids[top], listed)
    multiprocessors, capability, bandwidth = db.execute(_GPU).fetchone() or (0, 0.0, 0)
    link_rate = next((rate for least, rate in LINK_RATES.items() if capability >= least), 0.0)
    operations = drop_late_calls(calls, _read_operations(db, bounds, call_ids, place[outer]))
    peaks = dict(db.execute(_PEAKS).fetchall())
    return Recording(calls, operations, threads.tolist(), int(multiprocessors), link_rate, peaks, float(bandwidth))


def drop_late_calls(calls: Calls, operations: Operations) -> Operations:
    """Return the operations without calls that begin after them: the clocks of host and GPU disagree about these."""
    known = operations.call >= 0
    late = known.copy()
    late[known] = calls.start[operations.call[known]] > operations.start[known]
    return replace(operations, call=np.where(late, -1, operations.call))


def _read_operations(
    db: duckdb.DuckDBPyConnection, bounds: Mapping[str, int], call_ids: Integers, places: Integers
) -> Operations:
    table = {name: np.ma.getdata(values) for name, values in db.execute(_OPERATIONS, bounds).fetchnumpy().items()}
    known = {int(name_id): KernelName(*fields) for name_id, *fields in db.execute(_KERNEL_NAMES).fetchall()}
    ids, name = np.unique(_convert_integers(table["name_id"]), return_inverse=True)
    name = np.where(_convert_integers(table["kind"]) == KERNEL, name.reshape(-1), -1)
    keys = np.stack([_convert_integers(table[key]) for key in ("global_pid", "device_id", "context_id", "stream_id")])
    _, stream = np.unique(keys, axis=1, return_inverse=True)
    to_host, from_host, pageable = (np.asarray(table[flag], np.bool_) for flag in ("to_host", "from_host", "pageable"))
    return Operations(
        _convert_integers(table["start_ns"]), _convert_integers(table["end_ns"]),
        _look_up(_convert_integers(table["call_id"]), call_ids, places), stream.reshape(-1), keys[1],
        _convert_integers(table["kind"]), name, _convert_integers(table["bytes"]),
        to_host, from_host, pageable, _convert_integers(table["blocks"]),
        _convert_integers(table["id"]), [known.get(int(one), KernelName()) for one in ids],
    )  # fmt: skip


def _look_up(wanted: Integers, ids: Integers, places: Integers) -> Integers:
    """Return the place of each id, or -1 for unknown ids."""
    if not len(ids):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids[order], wanted), len(ids) - 1)
    return np.where(ids[order][at] == wanted, places[order][at], -1)


def find_outermost(start: Integers, end: Integers, thread: Integers) -> Integers:
    """Return, for each call, the index of the outermost call of its thread that contains it, or its own index.

    Calls must be sorted by start time, the longest first.
    """
    outermost = np.arange(len(start))
    for one in range(int(thread.max(initial=-1)) + 1):
        mine = np.flatnonzero(thread == one)
        until = np.maximum.accumulate(end[mine])
        begins_new = np.ones(len(mine), np.bool_)
        begins_new[1:] = start[mine][1:] >= until[:-1]
        outermost[mine] = mine[np.maximum.accumulate(np.where(begins_new, np.arange(len(mine)), 0))]
    return outermost


def _convert_integers(values: Any) -> Integers:
    return np.asarray(np.ma.getdata(values)).astype(np.int64)

"""Turn laid-out steps into rows: the tables of one profiled process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.fixed_tables import VM
from bench.kernels import COMPUTE_STREAM, KERNELS
from bench.step import DTOH, HTOD, KERNEL, MEMCPY, MEMSET, Step
from bench.timeline import Batch
from bench.writers import Writer

PUSH_POP, START_END, MARK, DOMAIN = 59, 60, 34, 75
WARMUP_STEPS = 5
_OSRT_EVERY = 60  # calls
_OSRT_NAMES = ("ioctl", "poll", "pthread_cond_wait", "sem_timedwait", "futex", "mmap")
# Range names that the program registered: nsys puts these into StringIds, the others into the text column.
_REGISTERED = frozenset({"attention", "mlp", "norm_1", "norm_2", "next_batch"})


class Strings:
    """The StringIds table: ids by text, in order of first use."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {"[Unknown]": 0}

    def get_id(self, text: str) -> int:
        """Return the id of `text`; a new text gets the next one."""
        return self._ids.setdefault(text, len(self._ids))

    def write(self, writer: Writer) -> None:
        """Write the table."""
        writer.write("StringIds", {"id": list(self._ids.values()), "value": list(self._ids)})


@dataclass
class ProcessTables:
    """Writes the rows of one process; `kernels_left` limits further kernels."""

    writer: Writer
    strings: Strings
    step: Step
    pid: int
    device: int
    kernels_left: int
    numbered_steps: bool = False
    forward: list[NDArray[np.int64]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Prepare the data that every step shares."""
        self.global_pid = VM + (self.pid << 24)
        # The autograd thread is the second one that launches.
        self.tids = np.array([self.global_pid + self.pid, self.global_pid + self.pid + 7])
        self._tid = self.tids[[call.thread for call in self.step.calls]]
        self._api = np.array([self.strings.get_id(call.api) for call in self.step.calls])
        self._class = np.array([call.event_class for call in self.step.calls])
        self._kind = np.array([operation.kind for operation in self.step.operations])
        self._op_call = np.array([operation.call for operation in self.step.operations])
        self._osrt = [self.strings.get_id(name) for name in _OSRT_NAMES]
        self._forward = next(index for index, item in enumerate(self.step.ranges) if item.name == "forward")

    def write(self, batch: Batch) -> None:
        """Write all rows of `batch`."""
        keep = self._keep(batch.steps)
        correlation = 1 + (batch.first_step + np.arange(batch.steps))[:, None] * len(self.step.calls)
        correlation = correlation + np.arange(len(self.step.calls))
        self._write_calls(batch, correlation, keep)
        for kind, write in ((KERNEL, self._write_kernels), (MEMCPY, self._write_copies), (MEMSET, self._write_sets)):
            chosen = keep & (self._kind == kind)
            if chosen.any():
                which = np.nonzero(chosen)[1]
                common = {
                    "start": batch.op_start[chosen],
                    "end": batch.op_end[chosen],
                    "deviceId": self.device,
                    "contextId": 1,
                    "correlationId": correlation[:, self._op_call][chosen],
                    "globalPid": self.global_pid,
                }
                write(common, which)
        self._write_waits(batch, correlation)
        self._write_ranges(batch)
        self._write_osrt(batch)
        self.forward.append(np.stack([batch.range_start[:, self._forward], batch.range_end[:, self._forward]], axis=1))

    def _keep(self, steps: int) -> NDArray[np.bool_]:
        """Return which operations exist: all except kernels past the last requested one."""
        kernel = np.tile(self._kind == KERNEL, (steps, 1))
        number = np.cumsum(kernel.ravel()).reshape(kernel.shape)
        keep = ~kernel | (number <= self.kernels_left)
        self.kernels_left -= int((keep & kernel).sum())
        return keep

    def _write_calls(self, batch: Batch, correlation: NDArray[np.int64], keep: NDArray[np.bool_]) -> None:
        exists = np.ones(batch.call_start.shape, dtype=bool)
        exists[:, self._op_call] = keep
        row = np.nonzero(exists)[1]
        self.writer.write(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            {
                "start": batch.call_start[exists],
                "end": batch.call_end[exists],
                "eventClass": self._class[row],
                "globalTid": self._tid[row],
                "correlationId": correlation[exists],
                "nameId": self._api[row],
                "returnValue": 0,
            },
        )

    def _spread_values(self, values: list[int], which: NDArray[np.intp]) -> NDArray[np.int64]:
        return np.array(values, dtype=np.int64)[which]

    def _write_kernels(self, common: dict[str, Any], which: NDArray[np.intp]) -> None:
        kernels = [KERNELS.get(operation.key) for operation in self.step.operations]
        spread = {
            "streamId": [kernel.stream if kernel else 0 for kernel in kernels],
            "demangledName": [self.strings.get_id(kernel.name) if kernel else 0 for kernel in kernels],
            "shortName": [self.strings.get_id(kernel.short_name) if kernel else 0 for kernel in kernels],
            "mangledName": [self.strings.get_id(kernel.mangled_name) if kernel else 0 for kernel in kernels],
            "registersPerThread": [kernel.registers if kernel else 0 for kernel in kernels],
            "gridX": [kernel.grid_x if kernel else 0 for kernel in kernels],
            "gridY": [kernel.grid_y if kernel else 0 for kernel in kernels],
            "blockX": [kernel.threads if kernel else 0 for kernel in kernels],
            "dynamicSharedMemory": [kernel.shared_bytes if kernel else 0 for kernel in kernels],
        }
        once = {
            "launchType": 1, "cacheConfig": 1, "gridZ": 1, "blockY": 1, "blockZ": 1, "staticSharedMemory": 0,
            "localMemoryPerThread": 0, "localMemoryTotal": 127_401_984, "sharedMemoryExecuted": 102_400,
            "sharedMemoryLimitConfig": 0,
        }  # fmt: skip
        columns = {name: self._spread_values(values, which) for name, values in spread.items()}
        self.writer.write(
            "CUPTI_ACTIVITY_KIND_KERNEL", common | once | columns | {"gridId": common["correlationId"] + 1}
        )

    def _write_copies(self, common: dict[str, Any], which: NDArray[np.intp]) -> None:
        kinds = [operation.copy_kind for operation in self.step.operations]
        size = {HTOD: 524_288, DTOH: 4}
        # The second of the two input copies comes from pageable memory, which nsys analyze has a rule about.
        pageable = 0
        source = [
            pageable if kind == HTOD and index % 2 else 1 if kind == HTOD else 2 for index, kind in enumerate(kinds)
        ]
        columns = {
            "bytes": [size.get(kind, 6_291_456) for kind in kinds],
            "copyKind": kinds,
            "srcKind": source,
            "dstKind": [pageable if kind == DTOH else 2 for kind in kinds],
        }
        spread = {name: self._spread_values(values, which) for name, values in columns.items()}
        self.writer.write("CUPTI_ACTIVITY_KIND_MEMCPY", common | {"streamId": COMPUTE_STREAM} | spread)

    def _write_sets(self, common: dict[str, Any], which: NDArray[np.intp]) -> None:
        fixed = {"streamId": COMPUTE_STREAM, "value": 0, "memKind": 2}
        self.writer.write("CUPTI_ACTIVITY_KIND_MEMSET", common | fixed | {"bytes": 65_536 * (1 + which % 3)})

    def _write_waits(self, batch: Batch, correlation: NDArray[np.int64]) -> None:
        self.writer.write(
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
            {
                "start": batch.call_start[:, -1] + 200,
                "end": batch.call_end[:, -1] - 100,
                "deviceId": self.device,
                "contextId": 1,
                "streamId": COMPUTE_STREAM,
                "correlationId": correlation[:, -1],
                "globalPid": self.global_pid,
                "syncType": 3,
                "eventId": 0,
            },
        )

    def _write_ranges(self, batch: Batch) -> None:
        names = [item.name for item in self.step.ranges]
        ids = np.array([self.strings.get_id(name) if name in _REGISTERED else -1 for name in names])
        texts = np.tile(
            np.array([None if name in _REGISTERED else name for name in names], dtype=object), (batch.steps, 1)
        )
        numbers = batch.first_step + np.arange(batch.steps)
        texts[:, 0] = [
            "warmup" if number < WARMUP_STEPS else f"step_{number}" if self.numbered_steps else "step"
            for number in numbers
        ]
        text_ids = np.tile(ids, batch.steps)
        fixed = {"globalTid": int(self.tids[0])}
        self.writer.write(
            "NVTX_EVENTS",
            {
                "start": batch.range_start.ravel(),
                "end": batch.range_end.ravel(),
                "eventType": PUSH_POP,
                "text": texts.ravel(),
                "textId": pa.array(text_ids, mask=text_ids < 0),
                "domainId": np.tile(np.array([int(name == "next_batch") for name in names]), batch.steps),
            }
            | fixed,
        )
        loss = 11 * np.exp(-numbers / 4000)
        mark = {
            "start": batch.call_end[:, -1] + 400,
            "eventType": MARK,
            "text": "loss",
            "domainId": 0,
            "doubleValue": loss,
        }
        self.writer.write("NVTX_EVENTS", mark | fixed)

    def _write_osrt(self, batch: Batch) -> None:
        chosen = slice(3, None, _OSRT_EVERY)
        start = batch.call_start[:, chosen]
        number = np.arange(start.size)
        self.writer.write(
            "OSRT_API",
            {
                "start": start.ravel() + 60,
                "end": batch.call_end[:, chosen].ravel() - 60,
                "eventClass": 27,
                "globalTid": np.tile(self._tid[chosen], batch.steps),
                "nameId": np.array(self._osrt)[number * 7 // 3 % len(self._osrt)],
                "returnValue": 0,
                "nestingLevel": 0,
                "callchainId": 0,
            },
        )

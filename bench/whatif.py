"""How right are predictions? Pairs of a program with a fault and without it: the predicted saving beside the measured.

``python -m bench.whatif FOLDER`` takes the captures that ``bench.conclusions`` takes. It prints a row a pair with a
change that mends its fault: the saving that ``warpdeck whatif`` predicts with its interval, the measured one (bad less
good, as a share of bad) under the profiler and, from NAME.unprofiled.json in the folder ``unprofiled``, without it. It
ends with how many predictions are within a fifth of the measured saving, and how many intervals hold it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.ingestion import ingest
from profiledb.errors import WarpdeckError
from profiledb.library.library import Library
from profiledb.replay import prediction

CHANGES: Mapping[str, str] = {
    "many_synchronizations": "without_waits",
    "loss_read_each_step": "without_waits",
    "pageable_batches": "pinned_copies",
    "same_data_each_step": "data_on_gpu",
    "allocation_in_each_step": "without_allocations",
    "memory_that_grows": "without_allocations",
    "gradients_zeroed": "host_code=zero_grad",
    "decoding_without_graph": "cuda_graph",
    "unfused_elementwise": "fused_elementwise",
    "input_made_between_steps": "host_code=augment",
    "checkpoint_in_the_loop": "host_code=save",
    "optimizer_on_cpu": "host_code=optimizer",
    "optimizer_per_parameter": "host_code=optimizer",
    "few_cores": "host_code=prepare",
    "late_rank": "host_code=augment",
    "reduced_at_the_end": "faster_kernels=communication:1000000",
    "small_buckets": "host_code=NCCL:ncclAllReduce",
}
"""The change that mends each fault, as far as there is one."""
CLOSE = 0.2


@dataclass(frozen=True)
class Row:
    """Savings of a pair in percent; ``refused`` says why nothing was predicted."""

    fault: str
    change: str
    predicted: float | None
    low: float | None
    high: float | None
    measured: float
    unprofiled: float | None
    error: float | None
    refused: str = ""

    @property
    def truths(self) -> list[float]:
        """The measured savings: with the profiler, and without it."""
        return [one for one in (self.measured, self.unprofiled) if one is not None]

    @property
    def close(self) -> bool:
        """Whether the prediction is within a fifth of a measured saving."""
        return self.predicted is not None and any(abs(self.predicted - one) <= CLOSE * abs(one) for one in self.truths)

    @property
    def inside(self) -> bool:
        """Whether the interval holds a measured saving."""
        if self.low is None or self.high is None:
            return False
        return any(self.low <= one <= self.high for one in self.truths)

    def __str__(self) -> str:
        if self.predicted is None:
            cells = [self.fault, self.change, self.refused, "", _percent(self.measured), _percent(self.unprofiled), ""]
        else:
            between = f"{_percent(self.low)} to {_percent(self.high)}"
            cells = [
                self.fault, self.change, _percent(self.predicted), between, _percent(self.measured),
                _percent(self.unprofiled), f"{self.error:.1f} %",
            ]  # fmt: skip
        return f"| {' | '.join(cells)} |"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} %"


def row(library: Library, folder: Path, fault: str) -> Row:
    """Return the prediction for a pair beside what was measured."""
    change = CHANGES[fault]
    took = [_ns(folder / f"{fault}.{half}.json") for half in ("bad", "good")]
    alone = [_ns(folder / "unprofiled" / f"{fault}.{half}.unprofiled.json") for half in ("bad", "good")]
    measured, unprofiled = _saving(took), _saving(alone)
    assert measured is not None, f"{fault} has no times"
    report = library.find(f"{fault}.bad.sqlite")
    try:
        found = prediction.predict(library, report.id, prediction.parse([change]))
    except WarpdeckError as error:
        return Row(fault, change, None, None, None, measured, unprofiled, None, error.message)
    if found.together is None:
        return Row(fault, change, None, None, None, measured, unprofiled, None, "it changes nothing")
    one, length = found.together, found.baseline_ns
    saved, low, high = (100 * (1 - ns / length) for ns in (one.predicted_ns, one.high_ns, one.low_ns))
    return Row(fault, change, saved, low, high, measured, unprofiled, found.error_pct)


def _ns(path: Path) -> int | None:
    return int(json.loads(path.read_text())["ns"]) if path.exists() else None


def _saving(took: list[int | None]) -> float | None:
    bad, good = took
    return None if bad is None or good is None else 100 * (1 - good / bad)


def main() -> None:
    """Print the table and its totals."""
    parser = argparse.ArgumentParser(prog="python -m bench.whatif", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="+")
    given = parser.parse_args()
    found = []
    for folder in given.folder:
        with TemporaryDirectory(prefix="warpdeck-whatif-") as data:
            names = [name for name in CHANGES if (folder / f"{name}.bad.sqlite").exists()]
            ingest(tuple(folder / f"{name}.bad.sqlite" for name in names), Path(data) / "inbox", Path(data) / "library")
            library = Library(Path(data) / "library")
            found += [row(library, folder, name) for name in names]
    print("| Fault | Change | Predicted | Between | Measured | Without the profiler | Unexplained |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    print(*found, sep="\n")
    told = [one for one in found if one.predicted is not None]
    close, inside = sum(one.close for one in told), sum(one.inside for one in told)
    print(
        f"\nOf {len(found)} pairs {len(told)} predicted: {close} within a fifth of a measured saving, {inside} with a"
    )
    print("measured saving inside the interval.")


if __name__ == "__main__":
    main()

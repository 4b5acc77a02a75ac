"""Snapshots that were cut, flipped, spliced and packed badly, 1,000 in all, by the real worker: none crashes or hangs.

A run takes those of one seed, ``make test-all`` every one.
"""

import gzip
import random
from pathlib import Path

import pytest

from profiledb.report.library import Library
from tests.conftest import Ingest
from tests.ingest.snapshot.test_snapshots import forms
from tests.ingest.torch.test_trace_fuzz import spoiled
from tests.support.bounded import CPU_S

SEEDS, FILES = 100, 10
KNOWN = (
    "not a known report format", "holds no memory", "the instruction", "more than 64 deep", "is empty", "a text of",
    "a number of", "holds more than", "does not start like",
)  # fmt: skip
"""What a refused snapshot is told."""


@pytest.mark.sweep(parts=SEEDS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_spoiled_snapshots(ingest: Ingest, inbox: Path, empty_library: Library, seed: int) -> None:
    """Each becomes a report, or is refused with a reason, within its bounds of time and memory."""
    chance = random.Random(seed)
    every = [raw for raw in forms().values() if not raw.startswith(b"\x1f\x8b")]
    for n in range(FILES):
        (inbox / f"{n}.pickle").write_bytes(spoiled(every, chance))
    (inbox / "whole.pickle.gz").write_bytes(gzip.compress(every[0]))
    done = ingest(inbox, empty_library.folder)
    jobs = empty_library.catalog.jobs()
    assert len(jobs) == FILES + 1
    assert {job.state for job in jobs} <= {"ready", "failed", "duplicate"}
    failed = {job.message for job in jobs if job.state == "failed"}
    assert [message for message in failed if not any(one in message for one in KNOWN)] == []
    assert any(job.state == "ready" for job in jobs)
    assert done.cpu_s < FILES * CPU_S / 4

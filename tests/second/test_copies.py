"""Copies and memory sets, and how busy each GPU was, against the second computation."""

import pytest

from profiledb.errors import NotCapturedError
from tests.second import copies
from tests.second.agree import agree, keyed
from tests.second.conftest import EVERY, Sample

pytestmark = EVERY


def test_copies(sample: Sample) -> None:
    if not sample.capture.copies:
        with pytest.raises(NotCapturedError):
            sample.ask("copies")
        return
    agree(keyed(sample.ask("copies"), "direction"), copies.by_direction(sample.capture))
    key = ("direction", "source", "destination", "function", "held")
    agree(keyed(sample.ask("copy_kinds"), *key), copies.by_kind(sample.capture))


def test_busy_gpus(sample: Sample) -> None:
    worked = [row for row in sample.ask("gpu_busy") if row["operations"]]
    agree(keyed(worked, "gpu_id"), copies.gpus(sample.capture))

"""Work of GPUs in each step, and the operations of NCCL, against the second computation."""

import pytest

from profiledb.errors import NotCapturedError
from tests.second import ranks
from tests.second.agree import agree, keyed
from tests.second.conftest import EVERY, Sample

pytestmark = EVERY


def test_time_of_steps(sample: Sample) -> None:
    if not sample.capture.kernels:
        with pytest.raises(NotCapturedError):
            sample.ask("rank_split")
        return
    agree(keyed(sample.ask("rank_split"), "gpu_id", "pid", "step"), ranks.split(sample.capture))


def test_time_of_the_cpu(sample: Sample) -> None:
    if not sample.capture.kernels:
        with pytest.raises(NotCapturedError):
            sample.ask("rank_cpu")
        return
    agree(keyed(sample.ask("rank_cpu"), "gpu_id", "pid", "step"), ranks.cpu(sample.capture))


def test_operations_of_nccl(sample: Sample) -> None:
    if any(ranks.is_nccl(one) for one in sample.capture.kernels):
        agree(keyed(sample.ask("nccl_ops"), "start_ns"), ranks.operations(sample.capture, sample.facts))

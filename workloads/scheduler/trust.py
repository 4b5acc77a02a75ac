"""Tell where the model may decide: on which machine it was learned, and how well it chose for left-out sizes."""

from __future__ import annotations

from warpdeck.profiling import nvml

from ..learning import costs
from ..learning.table import name_machine
from ..learning.validation import LARGEST, MACHINES, SIZES
from ..system import read_cpu_name


def match_machine(model: costs.TimeModel) -> tuple[str, bool]:
    """Return the model's machine that matches this one, and whether it is the same: the GPU counts first, then the
    CPU."""
    gpus = nvml.describe_gpus()
    name = name_machine(gpus[0]["name"] if gpus else None, read_cpu_name())
    if name in model.machines:
        return name, True
    return name, False


def judge_model(model: costs.TimeModel, key: tuple[str, str], is_known: bool) -> tuple[bool, bool]:
    """Return whether the model may decide a task, among the measured sizes and beyond them.

    It may if its choices cost no more than the threshold's when these sizes were left out; on a machine that was never
    measured, also when each machine was left out.
    """
    elsewhere = is_known or _is_no_worse(model, key, MACHINES)
    return elsewhere and _is_no_worse(model, key, SIZES), elsewhere and _is_no_worse(model, key, LARGEST)


def _is_no_worse(model: costs.TimeModel, key: tuple[str, str], left_out: str) -> bool:
    regrets = model.trust.get((*key, left_out))
    return regrets is not None and regrets[0] <= regrets[1]

"""The table of workloads. A workload is a module, imported only when it is run: `list` needs no torch."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, cast

from workloads.errors import WorkloadError


class Workload(Protocol):
    """What a workload module offers."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the workload's own options."""

    def run(self, options: argparse.Namespace) -> Iterable[str]:
        """Do the work; the lines say what was run and how long it took."""


@dataclass(frozen=True)
class Entry:
    """One row of `python -m workloads list`."""

    module: str
    summary: str


WORKLOADS: dict[str, Entry] = {
    "attention": Entry(
        "workloads.attention",
        "attention three ways, naive, with the softmax by hand, and fused, over several lengths",
    ),
    "kernels": Entry(
        "workloads.kernels",
        "kernels of known behaviour: at the memory roof, at the compute peak, uncoalesced, divergent, ...",
    ),
    "transformer": Entry(
        "workloads.transformer",
        "decoder-only language model with naive attention: inference, or training with AdamW",
    ),
}

OPTIONAL_PACKAGES = frozenset({"torch"})


def load(name: str) -> Workload:
    """Import the workload `name`; a missing optional package becomes one sentence."""
    try:
        return cast("Workload", importlib.import_module(WORKLOADS[name].module))
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL_PACKAGES:
            raise
        raise WorkloadError(
            f"The workload {name} needs {error.name}, which is not installed: pip install '.[workloads]'"
        ) from error

"""`python -m workloads.torch_trace [--OPTION ...] SCRIPT|-m MODULE ...`: a Python program under the PyTorch profiler.

An option is one of tools.TORCH_OPTIONS; each switches on what torch.profiler.profile calls the same. Leaves
NAME.pt.trace.json.gz beside the path in WORKLOADS_RECORD. A workload is traced in its capture window, with its ranges;
any other program from beginning to end.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from workloads import record
from workloads.ranges import send_to
from workloads.record import TRACE_SUFFIX


class TorchSink:
    """Passes every range on to the PyTorch profiler, which shows it as a user annotation."""

    def __init__(self) -> None:
        self._open: list[ExitStack] = []

    def push(self, name: str, color: int) -> None:  # noqa: ARG002 - PyTorch's annotations have no color
        """Open an annotation."""
        stack = ExitStack()
        stack.enter_context(torch.profiler.record_function(name))
        self._open.append(stack)

    def pop(self) -> None:
        """End the innermost annotation."""
        self._open.pop().close()

    def mark(self, name: str, color: int) -> None:
        """Leave an annotation of no length."""
        self.push(name, color)
        self.pop()


@contextmanager
def traced(path: Path, extras: dict[str, Any]) -> Iterator[None]:
    """Trace the body and write it to `path`, a Chrome trace that is compressed where the name ends in .gz.

    Shapes are recorded unless `extras`, further arguments of torch.profiler.profile, say otherwise.
    """
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    profiler = torch.profiler.profile(activities=activities, **({"record_shapes": True} | extras))
    try:
        with profiler:
            yield
    finally:  # a program may end by raising SystemExit
        path.parent.mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(str(path))


def run_program(words: Sequence[str]) -> None:
    """Run `SCRIPT arguments` or `-m MODULE arguments` as Python does."""
    if words[0] == "-m":
        sys.argv = list(words[1:])
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(words)
        sys.path.insert(0, str(Path(words[0]).parent))
        runpy.run_path(words[0], run_name="__main__")


def main(words: Sequence[str]) -> int:
    """Trace the program in `words`, which stands behind the options of the profiler."""
    options = list(takewhile(lambda word: word.startswith("--"), words))
    extras, program = {option[2:]: True for option in options}, list(words[len(options) :])
    prefix = record.prefix_from_environment() or Path("trace")
    path = prefix.with_name(prefix.name + TRACE_SUFFIX)
    if program[:2] == ["-m", "workloads"]:
        from workloads.__main__ import main as run

        record.around_window.append(lambda: traced(path, extras))
        with send_to(TorchSink()):
            return run(program[2:])
    with traced(path, extras):
        run_program(program)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run a Python program under the PyTorch profiler: `python -m workloads.torch_trace [--OPTION ...] SCRIPT|-m MODULE
...`.

An option is one of tools.TORCH_OPTIONS, named as in torch.profiler.profile. Writes NAME.pt.trace.json.gz beside the
path in WORKLOADS_RECORD. A workload is traced in its capture window, with its ranges; any other program from start to
end.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from . import record
from .ranges import send_to
from .record import TRACE_SUFFIX
from .torch_recorder import TorchSink, record_trace


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
    """Trace the program in `words`, which follows the options of the profiler."""
    options = list(takewhile(lambda word: word.startswith("--"), words))
    extras, program = {option[2:]: True for option in options}, list(words[len(options) :])
    prefix = record.read_prefix() or Path("trace")
    path = prefix.with_name(prefix.name + TRACE_SUFFIX)
    if program[:2] == ["-m", __package__]:
        from .__main__ import main as run

        record.around_window.append(lambda: record_trace(path, extras))
        with send_to(TorchSink()):
            return run(program[2:])
    with record_trace(path, extras):
        run_program(program)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

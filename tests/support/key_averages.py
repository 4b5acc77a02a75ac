"""`python -m tests.support.key_averages STEM [--OPTION ...] WORKLOAD ...`: a trace and the profiler's own averages.

Runs a workload under the PyTorch profiler in its capture window, as `python -m workloads profile --tool torch` does.
Writes STEM.pt.trace.json.gz and STEM.key_averages.json, which holds torch.profiler's own key_averages of the same
events, by operator and by operator with input shapes. Options are those of workloads.tools.TORCH_OPTIONS. Under
torchrun, each rank writes its own files, such as STEM_rank0.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch

from workloads import record
from workloads.__main__ import main as run
from workloads.ranges import send_to
from workloads.record import TRACE_SUFFIX
from workloads.tools import TORCH_OPTIONS
from workloads.torch_recorder import TorchSink

TIMES = ("cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total")
FACTS = ("key", "count", "flops", "is_async", "is_user_annotation")


@contextmanager
def traced(stem: Path, extras: dict[str, Any]) -> Iterator[None]:
    """Trace the block with shapes; ``extras`` are further arguments of torch.profiler.profile."""
    profiler = torch.profiler.profile(record_shapes=True, **extras)  # of the CPU, and of the GPU if there is one
    with profiler:
        yield
    stem.parent.mkdir(parents=True, exist_ok=True)
    profiler.export_chrome_trace(str(stem) + TRACE_SUFFIX)
    contents = {
        "torch": torch.__version__,
        "by_operator": [row(average) for average in profiler.key_averages()],
        "by_shape": [row(average) for average in profiler.key_averages(group_by_input_shape=True)],
    }
    Path(f"{stem}.key_averages.json").write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")


def row(average: Any) -> dict[str, Any]:
    """Convert an average, rounding its times to whole ns: PyTorch adds up microseconds in floating point."""
    times = {name.replace("time_total", "ns"): round(getattr(average, name) * 1000) for name in TIMES}
    facts = {name: getattr(average, name) for name in FACTS}
    return facts | times | {"device": str(average.device_type), "shapes": average.input_shapes}


def main(words: Sequence[str]) -> int:
    """Run the command line and return the exit status."""
    rank = os.environ.get("RANK")
    stem = Path(words[0] if rank is None else f"{words[0]}_rank{rank}")
    options = list(takewhile(lambda word: word in TORCH_OPTIONS, words[1:]))
    extras = {option[2:]: True for option in options}
    record.around_window.append(lambda: traced(stem, extras))
    with send_to(TorchSink()):
        return run(["run", *words[1 + len(options) :]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

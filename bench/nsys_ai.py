"""Compare with nsys-ai on the captures of ``bench.conclusions``, for the column beside ours.

nsys-ai (0.3.0, PyPI) lists findings in its own order; none of them belongs to one fault, so a fault counts as named by
the first finding whose label or note has a word for it. General advice ("check for explicit synchronize calls") does
not count, because it follows every idle GPU.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

TIMEOUT_S = 300
WORDS: Mapping[str, str] = {
    "many_synchronizations": r"synchroni[sz]|sync[- ](bound|stall|cost)",
    "odd_vocabulary": r"misalign|unaligned|alignment|tensor[- ]core",
    "optimizer_per_parameter": r"optimizer|foreach|fused adam",
    "optimizer_on_cpu": r"optimizer|D2H|device-to-host",
    "same_data_each_step": r"H2D|host-to-device|transfer",
    "double_precision": r"fp64|double",
    "checkpointing_without_need": r"recomput|checkpoint",
    "memory_that_grows": r"memory (growth|leak)|grows",
    "allocation_in_each_step": r"cudaMalloc|cudaFree|allocat",
    "loss_read_each_step": r"synchroni[sz]|\.item|D2H",
    "checkpoint_in_the_loop": r"save|torch\.save|checkpoint",
    "unfused_elementwise": r"fus(e|ion)|elementwise",
    "decoding_without_graph": r"launch[- ](bound|overhead)|small kernel|cuda graph",
    "collection_of_garbage": r"garbage|\bgc\b",
    "pageable_batches": r"pageable|pin",
    "input_made_between_steps": r"data ?loader|data loading|augment",
    "shapes_that_recompile": r"compil|module load|cuLibraryLoad",
    "single_precision": r"tensor[- ]core|tf32|fp32",
    "attention_by_hand": r"attention|fus(e|ion)|softmax",
    "gradients_zeroed": r"zero_grad|memset|fill",
    "partial_waves": r"wave|tail|grid",
    "low_occupancy": r"occupancy",
    "few_cores": r"few cores|affinity|oversubscri|cpu contention",
    "decoding_one_by_one": r"batch|gemv",
    "small_buckets": r"bucket|small (nccl|collective)",
    "unused_parameters_searched": r"unused",
    "uneven_batches": r"straggl|imbalance|uneven",
    "one_microbatch": r"pipeline|bubble",
    "late_rank": r"straggl|imbalance|late",
    "reduced_at_the_end": r"overlap",
    "activations_through_host": r"pageable|D2H|device-to-host",
}
"""Words that name each fault, generously."""


def find_place(program: str, export: Path, fault: str) -> int | None:
    """Return the place, from 1, of nsys-ai's first finding that names the fault; None without one.

    Args:
        program: path of the command ``nsys-ai``.
        export: a SQLite export of nsys. nsys-ai writes its caches beside it, so it gets a copy.

    Raises:
        subprocess.SubprocessError: nsys-ai failed or took too long.
    """
    with TemporaryDirectory(prefix="nsys-ai-") as folder:
        copy = shutil.copy(export, folder)
        done = subprocess.run(
            [program, "diagnose", copy, "--format", "json"],
            cwd=folder, check=True, capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
    texts = (f"{one.get('label', '')} {one.get('note', '')}" for one in json.loads(done.stdout)["findings"])
    return next((at for at, text in enumerate(texts, 1) if re.search(WORDS[fault], text, re.IGNORECASE)), None)

"""Compile kernels.cu with cupy and launch its kernels on PyTorch's memory."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

from torch import Tensor

from .errors import WorkloadError

SOURCE = Path(__file__).with_name("kernels.cu")


@cache
def compile_source() -> Any:
    """Return the compiled module, a cupy.RawModule."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise WorkloadError(
            "The CUDA kernels need cupy, which is not installed: pip install cupy-cuda13x (or leave them out: --only)"
        ) from error
    return cupy.RawModule(code=SOURCE.read_text(encoding="utf-8"))


def launch(name: str, blocks: int, threads: int, arguments: tuple[Tensor | int, ...], shared_bytes: int = 0) -> None:
    """Start the kernel `name` on the default stream, which PyTorch uses too.

    cupy passes an int as 8 bytes: a `long long`, or the address of a tensor. `shared_bytes` is dynamic shared memory;
    more than 48 KiB must be requested.
    """
    kernel = compile_source().get_function(name)
    if shared_bytes:
        kernel.max_dynamic_shared_size_bytes = shared_bytes
    passed = tuple(value.data_ptr() if isinstance(value, Tensor) else value for value in arguments)
    kernel((blocks,), (threads,), passed, shared_mem=shared_bytes)

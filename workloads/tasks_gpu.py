"""The tasks of the workload `tasks` on the GPU: by PyTorch, by own Triton kernels, or by CuPy."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from .errors import WorkloadError
from .record import open_window
from .task_kinds import Array, Kind

GPU_BACKENDS = ("torch", "triton", "cupy")


class GpuBackend(Protocol):
    """Moves arrays to a device and back, and computes there. Only `wait` and `to_host` wait for the device."""

    def allocate(self, like: Array) -> Any:
        """Return an array of this shape and type on the device."""

    def to_device(self, host: Array, device: Any) -> None:
        """Copy an array to the device."""

    def compute(self, kind: Kind, inputs: Sequence[Any], out: Any) -> Any:
        """Launch a task and return the array of its future result: `out`, or a new one."""

    def to_host(self, device: Any) -> Array:
        """Copy a result to the host."""

    def wait(self) -> None:
        """Wait for the device."""

    def capture_window(self) -> AbstractContextManager[object]:
        """Wrap the work that a profiler records."""


class TorchBackend:
    """PyTorch, which also runs on the CPU for tests."""

    def __init__(self, device: str = "cuda") -> None:
        import torch

        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        torch.set_float32_matmul_precision("highest")  # float32 stays float32, not TF32
        torch.backends.cudnn.allow_tf32 = False  # convolutions, too
        self.torch = torch
        self.device = torch.device(device)

    def allocate(self, like: Array) -> Any:
        """Return a tensor of this shape and type on the device."""
        return self.torch.empty(like.shape, dtype=getattr(self.torch, like.dtype.name), device=self.device)

    def to_device(self, host: Array, device: Any) -> None:
        """Copy an array to the device."""
        device.copy_(self.torch.from_numpy(host))

    def compute(self, kind: Kind, inputs: Sequence[Any], out: Any) -> Any:
        """Launch a task."""
        return kind.torch(self.torch, inputs, out)

    def to_host(self, device: Any) -> Array:
        """Copy a result to the host."""
        host: Array = device.cpu().numpy()
        return host

    def wait(self) -> None:
        """Wait for the device."""
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def capture_window(self) -> AbstractContextManager[object]:
        """Wrap the work that a profiler records."""
        from .torch_device import capture_window

        return capture_window(self.device)


class TritonBackend(TorchBackend):
    """Our own Triton kernels on PyTorch's memory."""

    def compute(self, kind: Kind, inputs: Sequence[Any], out: Any) -> Any:
        """Launch a task."""
        from . import tasks_triton

        if kind.name == "reduction":
            return tasks_triton.sum_tensor(*inputs)
        a, b = inputs
        return tasks_triton.add(a, b, out) if kind.name == "vector_add" else tasks_triton.multiply(a, b, out)


class CupyBackend:
    """CuPy, without PyTorch."""

    def __init__(self) -> None:
        self.cupy = importlib.import_module("cupy")

    def allocate(self, like: Array) -> Any:
        """Return an array of this shape and type on the device."""
        return self.cupy.empty(like.shape, dtype=like.dtype)

    def to_device(self, host: Array, device: Any) -> None:
        """Copy an array to the device."""
        device.set(host)

    def compute(self, kind: Kind, inputs: Sequence[Any], out: Any) -> Any:
        """Launch a task."""
        kind.arrays(self.cupy, inputs, out)
        return out

    def to_host(self, device: Any) -> Array:
        """Copy a result to the host."""
        host: Array = device.get()
        return host

    def wait(self) -> None:
        """Wait for the device."""
        self.cupy.cuda.runtime.deviceSynchronize()

    @contextmanager
    def capture_window(self) -> Iterator[None]:
        """Wrap the work that a profiler records."""
        runtime = self.cupy.cuda.runtime
        self.wait()
        runtime.profilerStart()
        try:
            with open_window():
                yield
                self.wait()
        finally:
            runtime.profilerStop()


def choose_gpu(name: str, device: str | None) -> GpuBackend | None:
    """Return the backend `name`; None for the CPU alone, or if there is no GPU."""
    if device == "cpu":
        return None
    try:
        if sees_gpu(name):
            backends: dict[str, Callable[[], GpuBackend]] = {
                "torch": TorchBackend,
                "triton": TritonBackend,
                "cupy": CupyBackend,
            }
            return backends[name]()
    except ImportError as error:
        if device == "cuda":
            raise WorkloadError(f"--gpu {name} needs {error.name}, which is not installed.") from error
        return None
    if device == "cuda":
        raise WorkloadError(f"{name} sees no CUDA device here: run with --device cpu.")
    return None


def sees_gpu(name: str) -> bool:
    """Return True if the library of the backend `name` sees a GPU."""
    library = importlib.import_module(name)
    if name == "cupy":
        return bool(library.cuda.is_available())
    return bool(importlib.import_module("torch").cuda.is_available())

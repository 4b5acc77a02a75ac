"""Decide by memory alone: a task that does not fit is not tried."""

from __future__ import annotations

from collections.abc import Sequence

from .readings import Reading

ROOM = 4.0
"""Memory that a task needs, as a multiple of its input and output bytes: sorting takes that much."""
LONGEST_WAIT_S = 5.0


def fits(needs: float | None, free: float | None) -> bool:
    """Return True if a task fits; a task of unknown needs does, and so does any task with unknown memory."""
    return needs is None or free is None or needs <= free


def decide_by_memory(
    needs: float | None, latest: Sequence[Reading], host_free: float | None, *, gain_s: float, waited_s: float,
    interval_s: float,
) -> tuple[str, str, float] | None:  # fmt: skip
    """Return device, reason and waiting time; None if memory does not decide.

    Args:
        needs: bytes that the task needs on a device.
        latest: readings of the GPUs.
        host_free: free bytes of the host.
        gain_s: seconds that the GPU is faster.
        waited_s: seconds that the task has waited already.
        interval_s: seconds between readings; a shorter wait is useless.
    """
    on_host = fits(needs, host_free)
    if not latest:
        return (
            None
            if on_host
            else ("none", f"needs {_format_gb(needs)}, and the host has {_format_gb(host_free)} free", 0.0)
        )
    if any(fits(needs, one.free_bytes) for one in latest):
        return None if on_host else ("gpu", f"needs {_format_gb(needs)}, more than the host has free", 0.0)
    most = max(one.free_bytes or 0.0 for one in latest)
    left = min(gain_s if on_host else LONGEST_WAIT_S, LONGEST_WAIT_S) - waited_s
    if left > interval_s and any(fits(needs, one.total_bytes) for one in latest):
        return "wait", f"needs {_format_gb(needs)}, and the GPU has {_format_gb(most)} free now", left
    reason = f"needs {_format_gb(needs)}, and the GPU has {_format_gb(most)} free"
    return ("cpu", reason, 0.0) if on_host else ("none", f"{reason}, the host less", 0.0)


def _format_gb(size: float | None) -> str:
    return "an unknown amount" if size is None else f"{size / 1e9:,.1f} GB"

"""The utilization maps of nsys: the share of each bin of time in which a rank's GPU ran kernels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class UtilizationMap:
    """The analysis that a map reads, and the source of each of its columns.

    A source is the kernels that count, a value of the parameter ``of`` of ``kernel_use``, or a column of
    ``metric_use``, the mean of sampled metrics.
    """

    analysis: str
    columns: Mapping[str, str]


KERNEL_USE, METRIC_USE = "kernel_use", "metric_use"
METRICS = {"SM Active": "sm_active", "SM Issue": "sm_issue", "Tensor Active": "tensor_active"}
MAPS = {
    "cuda_gpu_time_util_map": UtilizationMap(KERNEL_USE, {"Kernel": "kernels"}),
    "gpu_metric_util_map": UtilizationMap(METRIC_USE, METRICS),
    "nccl_gpu_time_util_map": UtilizationMap(KERNEL_USE, {"All": "kernels", "NCCL": "nccl", "Compute": "compute"}),
}
"""Maps by the name of their recipe."""
BINS, MOST_BINS = 30, 1000
MEANINGS = {
    "Duration": "start of the bin, since the first session of the run began",
    "Kernel": "share of the bin with a kernel",
    "All": "share of the bin with a kernel",
    "NCCL": "share of the bin with an NCCL kernel",
    "Compute": "share of the bin with another kernel",
    **dict.fromkeys(METRICS, "mean of the samples in the bin"),
    "GPU": "number of the GPU",
    "PID": "process id",
    "Device ID": "number of the GPU",
}


@dataclass(frozen=True)
class Session:
    """When a rank's session began, ns since the first one of the run, and its length, ns."""

    shift_ns: int
    duration_ns: int


def measure_bin(sessions: Sequence[Session], bins: int) -> int:
    """Return the length of a bin, ns, if all sessions are cut into so many."""
    return max(1, math.ceil(max(one.shift_ns + one.duration_ns for one in sessions) / bins))


def list_metrics(means: pd.DataFrame, bin_ns: int) -> pd.DataFrame:
    """Return a row per GPU and bin of a rank that has samples, from the rows of ``metric_use``, %."""
    names = {source: column for column, source in METRICS.items()} | {"gpu_id": "GPU"}
    frame = means.rename(columns=names)[list(names.values())].round(1)
    frame.insert(0, "Duration", means["bin"] * bin_ns)
    return frame


def list_bins(used: Mapping[str, pd.DataFrame], session: Session, bin_ns: int, bins: int) -> pd.DataFrame:
    """Return a row per process, GPU and bin of a rank, with the share of each column, %.

    A bin outside the session has no value. The bins in which the session begins and ends count as far as they are
    within it, as in the recipe.

    Args:
        used: by column the rows of ``kernel_use``; a process and GPU without rows in the first has none.
        session: the rank's session.
        bin_ns: length of a bin.
        bins: number of bins.
    """
    within = _measure_within(session, bin_ns, bins)
    groups = next(iter(used.values()))[["pid", "device_id"]].drop_duplicates()
    frames = []
    for pid, device in groups.itertuples(index=False):
        frame = pd.DataFrame({"Duration": np.arange(bins, dtype=np.int64) * bin_ns})
        for column, rows in used.items():
            own = rows[(rows["pid"] == pid) & (rows["device_id"] == device) & (rows["bin"] < bins)]
            spent = np.zeros(bins)
            spent[own["bin"].astype(int)] = own["used_ns"].astype(float)
            frame[column] = np.round(100 * spent / within, 1)
        frames.append(frame.assign(PID=pid, **{"Device ID": device}))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _measure_within(session: Session, bin_ns: int, bins: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return the time of each bin within the session, ns; NaN for a bin outside."""
    low = np.arange(bins, dtype=np.float64) * bin_ns
    end = session.shift_ns + session.duration_ns
    within: np.ndarray[tuple[int], np.dtype[np.float64]] = np.minimum(low + bin_ns, end) - np.maximum(
        low, session.shift_ns
    )
    return np.where(within > 0, within, np.nan)

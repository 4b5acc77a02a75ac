"""The statements about a memory snapshot: the holders of memory, its growth and its fragmentation."""

from functools import partial
from typing import Any

import pandas as pd

from profiledb import words
from profiledb.query.analysis import rows_or_none
from profiledb.studies.summary.statement import NAMED, Ask, Statement, get_page

FRAMES = " < "
"""Separator of functions in a stack."""


def state_snapshot(ask: Ask) -> list[Statement]:
    """State facts about the device with the most memory in a snapshot; none if the report also has GPU work."""
    devices = rows_or_none(ask, "tensor_memory")
    if devices.empty or rows_or_none(ask, "tensor_fragmentation").empty or len(rows_or_none(ask, "gpu_busy")):
        return []
    most = devices.sort_values("peak_bytes", ascending=False, kind="stable").iloc[0]
    several = f" on {words.plain(most['device'])}" if len(devices) > 1 else ""
    statements = [one(ask, most, several) for one in (_state_peak, _state_growth, _state_fragmentation)]
    return [Statement(text, 0.0, "Memory of tensors", get_page("tensor_memory")) for text in statements if text]


def shorten_line(name: Any) -> str:
    """Shorten a source line or a stack by the folders of its files."""
    return FRAMES.join(frame.rpartition("/")[2] for frame in str(name).split(FRAMES))


def _read_device_rows(ask: Ask, name: str, device: "pd.Series[Any]") -> pd.DataFrame:
    rows = rows_or_none(ask, name)
    return rows[rows["device"] == device["device"]] if len(rows) else rows


def _state_peak(ask: Ask, device: "pd.Series[Any]", where: str) -> str:
    """State the peak of the tensors' memory, and its largest holder (tensor_memory, tensor_peak)."""
    share = f", {words.percent(device['peak_pct'])} of its memory" if words.number(device["peak_pct"]) else ""
    text = f"**Tensors hold {words.bytes_(device['peak_bytes'])} at the peak{where}**{share}."
    if (holders := _read_device_rows(ask, "tensor_peak", device)).empty:
        return text
    named = holders[holders["part"] == "named"]
    sentences = [
        f"{words.code(shorten_line(one['name']))} {words.percent(one['share_pct'])}"
        for _, one in named.head(NAMED).iterrows()
    ]
    before = holders.loc[holders["part"] == "before", "share_pct"]
    sentences += [f"allocated before the capture {words.percent(share)}" for share in before]
    return f"{text} By what allocated it: {', '.join(sentences)}." if sentences else text


def _state_growth(ask: Ask, device: "pd.Series[Any]", where: str) -> str:
    """State the memory held at the end but not at the start, and its allocator (tensor_memory, tensor_allocations)."""
    before, end = float(device["before_bytes"]), float(device["end_bytes"])
    held = f"from {words.bytes_(before)} at the start of the capture to {words.bytes_(end)} at its end"
    if end <= before:
        return f"**Tensors{where} hold no more at the end of the capture**: {held}."
    steps = _read_device_rows(partial(ask, warmup="exclude"), "tensor_growth", device)
    grows = len(steps) and bool(steps["grows"].fillna(False).iloc[0])
    per_step = f", by {words.bytes_(steps['slope_bytes'].iloc[0])} per step" if grows else ""
    text = f"**Memory grows by {words.bytes_(end - before)}{where}**, {held}{per_step}."
    if (allocations := _read_device_rows(ask, "tensor_allocations", device)).empty:
        return text
    allocations = allocations[(allocations["net_bytes"] > 0) & allocations["name"].notna()].sort_values(
        "net_bytes", ascending=False, kind="stable"
    )
    sentences = [
        f"{words.code(shorten_line(one['name']))} {words.bytes_(one['net_bytes'])}"
        for _, one in allocations.head(NAMED).iterrows()
    ]
    return f"{text} Not released: {', '.join(sentences)}." if sentences else text


def _state_fragmentation(ask: Ask, device: "pd.Series[Any]", where: str) -> str:
    """State how much of the reserved memory no tensor uses, and its largest free piece (tensor_fragmentation)."""
    rows = _read_device_rows(ask, "tensor_fragmentation", device)
    if rows.empty:
        return ""
    one = rows.iloc[0]
    text = (
        f"**The allocator holds {words.bytes_(one['bytes'])}{where}, of which {words.bytes_(one['free_bytes'])} is"
        " free**, when the snapshot was taken."
    )
    if not one["free_bytes"]:
        return text
    return (
        f"{text} The largest free block has {words.bytes_(one['largest_free_bytes'])}; a larger allocation takes more"
        f" of the device. {words.percent(one['scattered_pct'])} of the free memory lies in smaller blocks."
    )

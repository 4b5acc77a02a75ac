"""An open timeline in memory: its lanes, names and zooms."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from profiledb.timeline.classes import Class, choose_legend


@dataclass(frozen=True)
class LaneInfo:
    """The facts about a lane that tiles need."""

    id: int
    kind: str
    rows: int
    events: int
    group: int | None
    direct: bool
    leveled: bool
    sum_z: int | None = None


@dataclass
class Lanes:
    """The lanes of a report, with its time in ns: its start on the report's clock, start and end of its content."""

    origin_ns: int
    begin_ns: int
    end_ns: int
    lanes: Sequence[LaneInfo]
    listed: Sequence[dict[str, Any]]

    @cached_property
    def with_events(self) -> Sequence[LaneInfo]:
        """Return the lanes with events; folders and lines have none, so that an area cannot cover them."""
        return [lane for lane in self.lanes if lane.kind != "line" and lane.group is not None]

    def covered(self, low: int, high: int) -> bool:
        """Return True if all events lie from ``low`` to ``high`` (excluded)."""
        return low <= self.begin_ns and self.end_ns < high


@dataclass
class Opened(Lanes):
    """A timeline that is ready, valid while its files stay the same. May be shared by threads."""

    report_id: str
    version: str
    left_out: int
    classes: Sequence[Class]
    zooms: Sequence[int]
    point_zooms: Sequence[int]
    codes: NDArray[np.int64]
    code_classes: NDArray[np.uint16]
    captured_classes: NDArray[np.uint16]
    """The same with ranges in the colors of the capture."""
    steps: Sequence[tuple[int, int, str, bool]] = ()

    @cached_property
    def groups(self) -> dict[int, list[LaneInfo]]:
        """Return the lanes that are requested together, by number."""
        groups: dict[int, list[LaneInfo]] = {}
        for lane in self.lanes:
            if lane.group is not None:
                groups.setdefault(lane.group, []).append(lane)
        return groups

    def list_legend(self) -> list[int]:
        """Return the indices of the classes to explain."""
        is_range = self.codes % 4 == 2
        is_operation = (self.codes % 4 == 0) | (self.codes % 4 == 3)
        ranges, operations = (
            {self.classes[at].name for at in np.unique(self.code_classes[some]).tolist()}
            for some in (is_range, is_operation)
        )
        return choose_legend(self.classes, operations, ranges)

    def colors(self, names: NDArray[np.uint32], *, captured: bool = False) -> NDArray[np.uint16]:
        """Return the index in ``classes`` of each name; ``captured``: of ranges that of the capture's color."""
        classes = self.captured_classes if captured else self.code_classes
        if not len(self.codes):
            return np.zeros(len(names), dtype=np.uint16)
        at = np.minimum(np.searchsorted(self.codes, names), len(self.codes) - 1)
        return np.where(self.codes[at] == names, classes[at], 0).astype(np.uint16)


def read_lanes(cursor: duckdb.DuckDBPyConnection) -> tuple[list[LaneInfo], list[dict[str, Any]]]:
    """Return the lanes in the file of a timeline, and their rows."""
    rows = cursor.execute("FROM lane ORDER BY id")
    columns = [column[0] for column in rows.description or []]
    listed = [dict(zip(columns, row, strict=True)) for row in rows.fetchall()]
    lanes = [
        LaneInfo(
            lane["id"], lane["kind"], lane["rows"], lane["events"], lane["grp"], lane["direct"], lane["leveled"],
            lane["sum_z"],
        )
        for lane in listed
    ]  # fmt: skip
    return lanes, listed

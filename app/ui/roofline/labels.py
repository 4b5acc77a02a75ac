"""Label placement: beside points and roofs, but never on top of a point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.ui.charts import FONT_PX

Side = Literal["left", "right"]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""

SIZE_PX = FONT_PX - 1
_LETTER_PX = 6.2
_LINE_PX = 15.0
_GAP_PX = 4.0


@dataclass(frozen=True)
class Spot:
    """A label position relative to an anchor: the side, and the offset in pixels (right and up)."""

    side: Side
    right_px: float
    up_px: float

    def box(self, text: str, x: float, y: float) -> Box:
        """Return the box that the text covers, vertically centered ``up_px`` above the anchor at (x, y)."""
        wide = _LETTER_PX * len(text)
        left = x + self.right_px - (0 if self.side == "right" else wide)
        return left, y + self.up_px - _LINE_PX / 2, left + wide, y + self.up_px + _LINE_PX / 2


@dataclass
class Room:
    """The areas of a chart that are already taken.

    ``width`` and ``height`` are the plot size in pixels at its narrowest. On a wider plot points move apart while text
    keeps its size, so a label that is clear of points here is clear there, too. ``x`` and ``y`` are the axis ranges.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    width: float
    height: float
    taken: list[Box] = field(default_factory=list)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Convert axis coordinates to pixels from the left and from the bottom."""
        return (
            (x - self.x[0]) / (self.x[1] - self.x[0]) * self.width,
            (y - self.y[0]) / (self.y[1] - self.y[0]) * self.height,
        )

    def take_point(self, x: float, y: float, diameter: float) -> None:
        """Mark the area of a point as taken."""
        left, bottom = self.place(x, y)
        self.taken.append((left - diameter / 2, bottom - diameter / 2, left + diameter / 2, bottom + diameter / 2))

    def find(self, text: str, wanted: Sequence[tuple[float, float, Spot]]) -> tuple[float, float, Spot] | None:
        """Return the first candidate whose label fits and overlaps nothing, and mark its area as taken."""
        for x, y, spot in wanted:
            box = spot.box(text, *self.place(x, y))
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= self.width and box[3] <= self.height
            if inside and not any(_do_boxes_meet(box, other) for other in self.taken):
                self.taken.append(box)
                return x, y, spot
        return None


def list_positions(diameter: float) -> Iterator[Spot]:
    """Yield the label positions around a point: right and left of it, then one line higher and one lower."""
    off = diameter / 2 + _GAP_PX
    for up in (0.0, _LINE_PX, -_LINE_PX):
        yield Spot("right", off, up)
        yield Spot("left", -off, up)


def _do_boxes_meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

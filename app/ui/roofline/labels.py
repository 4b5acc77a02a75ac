"""Where a chart has room for words: beside points and roofs, and never on a point."""

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
    """Words beside a place: on which side of it they begin or end, and how far off (pixels, up and right)."""

    side: Side
    right_px: float
    up_px: float

    def box(self, text: str, x: float, y: float) -> Box:
        """What the words cover, whose middle is as high as the place and ``up_px``."""
        wide = _LETTER_PX * len(text)
        left = x + self.right_px - (0 if self.side == "right" else wide)
        return left, y + self.up_px - _LINE_PX / 2, left + wide, y + self.up_px + _LINE_PX / 2


@dataclass
class Room:
    """What of a chart is taken already.

    ``width`` and ``height`` are pixels of its plot where it is narrowest: on a wider one places move apart and words
    do not grow, so what leaves a point free here leaves it free there. ``x`` and ``y`` are the ranges of the axes.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    width: float
    height: float
    taken: list[Box] = field(default_factory=list)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Pixels from the left and from the bottom."""
        return (
            (x - self.x[0]) / (self.x[1] - self.x[0]) * self.width,
            (y - self.y[0]) / (self.y[1] - self.y[0]) * self.height,
        )

    def take_point(self, x: float, y: float, diameter: float) -> None:
        """A point is there."""
        left, bottom = self.place(x, y)
        self.taken.append((left - diameter / 2, bottom - diameter / 2, left + diameter / 2, bottom + diameter / 2))

    def find(self, text: str, wanted: Sequence[tuple[float, float, Spot]]) -> tuple[float, float, Spot] | None:
        """The first of some places with their spots that leaves all that is there free; it is then taken, too."""
        for x, y, spot in wanted:
            box = spot.box(text, *self.place(x, y))
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= self.width and box[3] <= self.height
            if inside and not any(_meet(box, other) for other in self.taken):
                self.taken.append(box)
                return x, y, spot
        return None


def around(diameter: float) -> Iterator[Spot]:
    """Where the name of a point may stand: right or left of it, or beside it a line higher or lower."""
    off = diameter / 2 + _GAP_PX
    for up in (0.0, _LINE_PX, -_LINE_PX):
        yield Spot("right", off, up)
        yield Spot("left", -off, up)


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

"""A sink for the ranges of workloads that records them."""


class Recorder:
    """Records the path of every range, in order of opening, and the color of each name."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.paths: list[tuple[str, ...]] = []
        self.colors: dict[str, int] = {}

    def push(self, name: str, color: int) -> None:
        self.open.append(name)
        self.paths.append(tuple(self.open))
        self.colors[name] = color

    def pop(self) -> None:
        self.open.pop()

    def mark(self, name: str, color: int) -> None:
        self.paths.append((*self.open, name))
        self.colors[name] = color

"""The content of a selection of a random export, found by comparing everything with everything."""

import random
import re

import duckdb

from profiledb.selection.model import Selection
from tests.support.attribution_oracle import BEGIN, Capture, Export, Operation, Range


class Chooser:
    """Draw random selections of an export, and compute their content.

    Args:
        export: the export.
        db: its report, which provides only the paths and the order of ranges with the same start.
    """

    def __init__(self, export: Export, db: duckdb.DuckDBPyConnection) -> None:
        self.captures = export.captures
        rows = db.execute("SELECT range_id, path, pre FROM range JOIN range_path USING (path_id)").fetchall()
        self.paths = {number: path for number, path, _ in rows}
        self.order = {number: pre for number, _, pre in rows}
        parents = db.execute("SELECT range_id, parent_id FROM range").fetchall()
        self.parent: dict[int, int | None] = dict(parents)
        self.known = {*self.paths.values(), *(r.name for c in self.captures for r in c.ranges)}
        self.lineages: dict[int, tuple[str, ...]] = {}
        self.ranges = [r for c in self.captures for r in c.ranges if r.id in self.paths]

    def draw(self, rnd: random.Random) -> Selection:
        """Return a random selection."""
        texts = tuple(self._text(rnd) for _ in range(rnd.choice([0, 1, 1, 2, 3])))
        return Selection(
            ranges=texts,
            skip_first=rnd.choice([0, 0, 0, 1, 2]) if texts else 0,
            warmup=rnd.choice(["include", "exclude"]),
            mode=rnd.choice(["thread", "process"]),
            device=rnd.choice([None, None, None, 0, 1]),
            stream=rnd.choice([None, None, None, 7, 13]),
            from_ns=rnd.choice([None, None, 0, 4, 20, 24]),
            to_ns=rnd.choice([None, None, 6, 22, 30]),
        )

    def _text(self, rnd: random.Random) -> str:
        one = rnd.choice(self.ranges)
        instances = rnd.choice(["", "", "", "", "#1", "#2", "#1-2", "#2-9"])
        return f"{rnd.choice([self.paths[one.id], one.name])}{instances}"

    def content(self, selection: Selection) -> tuple[list[Operation], set[int]] | None:
        """Return the operations and range ids in a selection, or None if it must be rejected."""
        chosen: set[int] = set()
        named: set[str] = set()
        for text in selection.ranges:
            instances = self._instances(text, selection.skip_first)
            if not instances:
                return None
            chosen |= {r.id for r in instances}
            if self._plain(text) in self.paths.values():
                named |= {self.paths[r.id] for r in instances}
        skipped = self._warmups(chosen, named) if selection.warmup == "exclude" else set()
        operations = [
            o for c in self.captures for o in c.operations if self._is_selected(c, o, selection, chosen, skipped)
        ]
        inside = self._inside(chosen) if selection.ranges else set(self.paths)
        inside = (self._inside(chosen) if selection.ranges else set(self.paths)) - self._inside(skipped)
        return operations, {r.id for r in self.ranges if r.id in inside and self._in_time(r.start, selection)}

    def _inside(self, outer: set[int]) -> set[int]:
        """Return these ranges and all ranges that they enclose."""
        return outer | {
            r.id
            for c in self.captures
            for o in c.ranges
            if o.id in outer
            for r in c.ranges
            if r.end_tid is None and r.end >= r.start and o.encloses(r)
        }

    def _in_time(self, start: int, s: Selection) -> bool:
        return (s.from_ns is None or start >= BEGIN + s.from_ns) and (s.to_ns is None or start < BEGIN + s.to_ns)

    def _plain(self, text: str) -> str:
        """Return the text without its instances."""
        return text if text in self.known else text.rpartition("#")[0]

    def _instances(self, text: str, skip: int) -> list[Range]:
        plain = self._plain(text)
        found = [r for r in self.ranges if self.paths[r.id] == plain] or [r for r in self.ranges if r.name == plain]
        first, last = 1, len(self.ranges)
        if text != plain:
            numbers = text.rpartition("#")[2].partition("-")
            first, last = int(numbers[0]), int(numbers[2] or numbers[0])
        instances = []
        for one in found:
            same = [r for r in found if r.tid == one.tid and self._lineage(r) == self._lineage(one)]
            same.sort(key=lambda r: (r.start, self.order[r.id]))
            if max(first, 1 + skip) <= same.index(one) + 1 <= last:
                instances.append(one)
        return instances

    def _lineage(self, one: Range) -> tuple[str, ...]:
        """Return the names of the enclosing ranges and its own; some different lineages have the same path text."""
        if not self.lineages:
            names = {r.id: r.name for r in self.ranges}
            for number, name in names.items():
                found, at = [name], self.parent[number]
                while at is not None:
                    found.append(names[at])
                    at = self.parent[at]
                self.lineages[number] = tuple(found)
        return self.lineages[one.id]

    def _warmups(self, chosen: set[int], named: set[str]) -> set[int]:
        """Return the warm-ups that are neither chosen nor part of a chosen path."""
        found = {r.id for r in self.ranges if re.search("warm[ _-]?up", r.name, re.IGNORECASE)} - chosen
        through = {path for path in map(self.paths.get, found) for other in named if other.startswith(f"{path}/")}
        return {number for number in found if self.paths[number] not in through}

    def _is_selected(self, c: Capture, o: Operation, s: Selection, chosen: set[int], skipped: set[int]) -> bool:
        call = c.call_of(o)
        inside = c.around(call, s.mode) if call else set()
        left_out = c.around(call, "process") if call else set()
        return (
            (not s.ranges or bool(inside & chosen))
            and not left_out & skipped
            and s.device in (None, o.device)
            and s.stream in (None, o.stream)
            and self._in_time(o.start, s)
        )

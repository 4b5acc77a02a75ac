"""Traces of Perfetto, written and read without its messages: fields on the wire, by their public numbers."""

from collections import defaultdict
from collections.abc import Mapping

from tests.support.xspace import field, read, varint

BEGIN, END, INSTANT = 1, 2, 3
FRESH, NEEDS = 1, 2
"""Flags of a packet: the sequence starts anew; it refers to earlier packets."""
BOOTTIME = 6
FLOWS = 47
"""Field of an event's arrows, of eight bytes each."""
NAMES, CATEGORIES, NOTES = (2, 10), (1, 3), (3, 1)
"""Tables of texts: the field in the packet's new texts, and the one that refers to them."""


def packet(*parts: bytes, sequence: int = 1) -> bytes:
    return field(1, b"".join(parts) + field(10, sequence))


def track(uuid: int, name: str = "", parent: int = 0, pid: int = 0, tid: int = 0) -> bytes:
    """Return a track: of a thread with ``tid``, of a process with ``pid`` alone, else of neither."""
    descriptor = field(1, uuid) + field(2, name) + (field(5, parent) if parent else b"")
    descriptor += field(4, field(1, pid) + field(2, tid)) if tid else field(3, field(1, pid)) if pid else b""
    return packet(field(60, descriptor))


def clock(number: int, time: int, *, incremental: bool = False, unit: int = 0) -> bytes:
    return field(1, field(1, number) + field(2, time) + field(3, int(incremental)) + (field(4, unit) if unit else b""))


class SliceWriter:
    """Slices of a sequence, whose texts are written once and then referred to by number."""

    def __init__(self, sequence: int = 1) -> None:
        self.sequence = sequence
        self._texts: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
        self._fresh = True

    def slice(
        self, uuid: int, name: str, start: int, end: int, category: str = "", flows: tuple[int, ...] = (),
        notes: Mapping[str, int | str] | None = None,
    ) -> bytes:  # fmt: skip
        return self.begin(uuid, name, start, category, flows, notes) + self.end(uuid, end)

    def begin(
        self, uuid: int, name: str, time: int, category: str = "", flows: tuple[int, ...] = (),
        notes: Mapping[str, int | str] | None = None, kind: int = BEGIN,
    ) -> bytes:  # fmt: skip
        new = b""
        event = field(9, kind) + field(11, uuid)
        for table, text in ((NAMES, name), (CATEGORIES, category)):
            number, more = self._number(table, text)
            new += more
            event += field(table[1], number)
        for key, value in (notes or {}).items():
            number, more = self._number(NOTES, key)
            new += more
            note = field(3, value) if isinstance(value, int) else field(6, value)
            event += field(4, field(NOTES[1], number) + note)
        event += b"".join(varint(FLOWS << 3 | 1) + flow.to_bytes(8, "little") for flow in flows)
        return self._packet(time, event, new)

    def end(self, uuid: int, time: int) -> bytes:
        return self._packet(time, field(9, END) + field(11, uuid))

    def _number(self, table: tuple[int, int], text: str) -> tuple[int, bytes]:
        """Return the number of a text, and its entry if it is new."""
        known = self._texts[table]
        if text in known:
            return known[text], b""
        known[text] = len(known) + 1
        return known[text], field(table[0], field(1, known[text]) + field(2, text))

    def _packet(self, time: int, event: bytes, new: bytes = b"") -> bytes:
        flags, self._fresh = FRESH if self._fresh else NEEDS, False
        parts = [field(8, time), field(11, event), field(13, flags)] + ([field(12, new)] if new else [])
        return packet(*parts, sequence=self.sequence)


def totals(data: bytes) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return number and time (ns) of slices by the name of their track, their last category and their name.

    Of a trace with one sequence whose texts are all referred to by number.
    """
    texts: dict[int, dict[int, str]] = defaultdict(dict)
    tracks: dict[int, str] = {}
    opened: dict[int, list[tuple[str, str, int]]] = defaultdict(list)
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for one in map(read, read(data)[1]):
        for table in (NAMES, CATEGORIES):
            for entry in map(read, [more for new in map(read, one.get(12, [])) for more in new.get(table[0], [])]):
                texts[table[0]][entry[1][0]] = entry[2][0].decode()
        for fields in map(read, one.get(60, [])):
            tracks[fields[1][0]] = fields.get(2, [b""])[0].decode()
        for event in map(read, one.get(11, [])):
            (uuid,) = event[11]
            if event[9] == [BEGIN]:
                category, name = texts[CATEGORIES[0]][event[3][-1]], texts[NAMES[0]][event[10][0]]
                opened[uuid].append((category, name, one[8][0]))
            elif event[9] == [END]:
                category, name, start = opened[uuid].pop()
                count, time = sums.get((tracks[uuid], category, name), (0, 0))
                sums[tracks[uuid], category, name] = (count + 1, time + one[8][0] - start)
    return sums

"""The state of a sequence to which its packets refer: texts by number, defaults, and clocks."""

from collections.abc import Callable
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket

LONGEST = 8192
"""Most characters of a text that is kept: a number may refer to it millions of times."""
BOOTTIME = 6
_OWN_CLOCKS = range(64, 128)
"""Numbers of clocks that belong to one sequence."""
_TEXTS: dict[str, Callable[[Any], Any]] = {
    "event_names": lambda one: one.name[:LONGEST],
    "event_categories": lambda one: one.name[:LONGEST],
    "debug_annotation_names": lambda one: one.name[:LONGEST],
    "debug_annotation_string_values": lambda one: one.str[:LONGEST].decode("utf-8", "replace"),
    "graphics_contexts": lambda one: one.pid,
    "gpu_specifications": lambda one: one.name[:LONGEST],
    "kernel_symbols": lambda one: one.str[:LONGEST].decode("utf-8", "replace"),
}
"""How each kind of numbered entry is kept."""


class Clocks:
    """Clocks of the whole trace, on the clock of its events.

    ``unknown`` counts times of clocks that no snapshot relates to it.
    """

    def __init__(self) -> None:
        self.main = BOOTTIME
        self.unknown = 0
        self._ahead: dict[int, int] = {}

    def take_snapshot(self, snapshot: Any) -> None:
        """Relate the clocks of a snapshot; the first relation of a clock stays."""
        self.main = snapshot.primary_trace_clock or self.main
        timestamps = {clock.clock_id: clock.timestamp for clock in snapshot.clocks}
        if (now := timestamps.get(self.main)) is not None:
            for clock, time in timestamps.items():
                if clock not in _OWN_CLOCKS:
                    self._ahead.setdefault(clock, now - time)

    def convert(self, clock: int, time: int) -> int:
        """Return a time on the clock of events."""
        if clock in (0, self.main):
            return time
        if clock not in self._ahead:
            self.unknown += 1
            return time
        return time + self._ahead[clock]


class Sequence:
    """The state of a sequence of packets; ``unknown`` counts references to texts that it does not have."""

    def __init__(self, clocks: Clocks) -> None:
        self.unknown = 0
        self.thread: tuple[int, int] | None = None
        self._clocks = clocks
        self._own: dict[int, _OwnClock] = {}
        self._begin()

    def _begin(self) -> None:
        self._texts: dict[str, dict[int, Any]] = {kind: {} for kind in _TEXTS}
        self._clock = 0
        self.track = 0

    def take(self, packet: Any) -> None:
        """Take over the texts, defaults and clocks that a packet defines for later ones."""
        if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED or packet.incremental_state_cleared:
            self._begin()
        if packet.HasField("trace_packet_defaults"):
            self._clock = packet.trace_packet_defaults.timestamp_clock_id
            self.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        if packet.HasField("interned_data"):
            for kind, keep in _TEXTS.items():
                for one in getattr(packet.interned_data, kind):
                    self._texts[kind][one.iid] = keep(one)
        if packet.HasField("clock_snapshot"):
            self._take_clocks(packet.clock_snapshot)
        if packet.HasField("thread_descriptor"):
            self.thread = (packet.thread_descriptor.pid, packet.thread_descriptor.tid)

    def _take_clocks(self, snapshot: Any) -> None:
        timestamps = {clock.clock_id: clock.timestamp for clock in snapshot.clocks}
        main = next((clock for clock in (self._clocks.main, BOOTTIME) if clock in timestamps), None)
        for clock in snapshot.clocks:
            if clock.clock_id in _OWN_CLOCKS and main is not None:
                unit = clock.unit_multiplier_ns or 1
                now = self._clocks.convert(main, timestamps[main])
                self._own[clock.clock_id] = _OwnClock(clock.timestamp, now, unit, clock.is_incremental)

    def text(self, kind: str, number: int) -> Any:
        """Return the text or value of a number; None if there is none, as for 0."""
        value = self._texts[kind].get(number)
        self.unknown += bool(number) and value is None
        return value

    def time(self, packet: Any) -> int:
        """Return the time of a packet on the clock of events, ns. To be called once for each packet with a time."""
        clock = packet.timestamp_clock_id or self._clock
        if clock in self._own:
            return self._own[clock].read(packet.timestamp)
        return self._clocks.convert(clock, packet.timestamp)


class _OwnClock:
    """A clock of a sequence: in units of its own, and in steps from one packet to the next if it is incremental."""

    def __init__(self, at: int, now: int, unit: int, is_incremental: bool) -> None:
        self._at, self._origin, self._now = at, at, now
        self._unit = unit
        self._is_incremental = is_incremental

    def read(self, timestamp: int) -> int:
        self._at = self._at + timestamp if self._is_incremental else timestamp
        return self._now + (self._at - self._origin) * self._unit

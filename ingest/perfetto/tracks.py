"""The tracks of a trace: the thread that each belongs to, or the GPU and its stream, by their descriptors and names."""

import re
from dataclasses import dataclass
from typing import Any

from ingest.perfetto.sequences import LONGEST

_DEEPEST = 64
"""Most tracks above a track; parents may be a circle."""
_GPU = re.compile(r"\b(?:GPU|AGENT|Agent|Device|Card)\W{0,3}(\d{1,4})\b")
_STREAM = re.compile(r"\b(?:STREAM|Stream|stream|QUEUE|Queue|queue)\b\W{0,6}(\d{1,18})?")
_THREAD = re.compile(r"^THREAD \d+ \((\d{1,18})\)$")
"""Name of the track of a thread in traces of rocprofv3."""


@dataclass(frozen=True)
class Place:
    """Where the slices of a track belong: process and thread; ``stream`` and ``gpu`` where the names tell them."""

    pid: int
    tid: object
    gpu: int | None = None
    stream: int | None = None
    is_stream: bool = False


@dataclass
class _Track:
    name: str
    parent: int
    pid: int | None
    tid: int | None


class Tracks:
    """Tracks by their numbers, and names of processes and threads."""

    def __init__(self) -> None:
        self.processes: dict[int, str] = {}
        self.threads: dict[tuple[int, int], str] = {}
        self.counters: set[int] = set()
        self._tracks: dict[int, _Track] = {}
        self._places: dict[int, Place] = {}

    def take(self, packet: Any) -> None:
        """Take over the descriptors of a packet."""
        if packet.HasField("track_descriptor"):
            self._take_track(packet.track_descriptor)
        if packet.HasField("thread_descriptor"):
            self._name_thread(packet.thread_descriptor)
        for process in packet.process_tree.processes:
            if process.cmdline:
                self.processes.setdefault(process.pid, " ".join(process.cmdline)[:LONGEST])
        for thread in packet.process_tree.threads:
            if thread.name:
                self.threads.setdefault((thread.tgid, thread.tid), thread.name[:LONGEST])

    def _take_track(self, track: Any) -> None:
        pid = tid = None
        if track.HasField("process"):
            pid = track.process.pid
            if name := track.process.process_name or " ".join(track.process.cmdline):
                self.processes[pid] = name[:LONGEST]
        if track.HasField("thread"):
            pid, tid = track.thread.pid, track.thread.tid
            self._name_thread(track.thread)
        if track.HasField("counter"):
            self.counters.add(track.uuid)
        name = (track.name or track.static_name or track.atrace_name)[:LONGEST]
        self._tracks[track.uuid] = _Track(name, track.parent_uuid, pid, tid)

    def _name_thread(self, thread: Any) -> None:
        if thread.thread_name:
            self.threads[thread.pid, thread.tid] = thread.thread_name[:LONGEST]

    def place(self, uuid: int) -> Place:
        """Return where the slices of a track belong."""
        if uuid not in self._places:
            self._places[uuid] = self._find_place(uuid)
        return self._places[uuid]

    def _find_place(self, uuid: int) -> Place:
        line: list[_Track] = []
        while len(line) < _DEEPEST and (track := self._tracks.get(uuid)):
            line.append(track)
            uuid = track.parent
        for track in line:
            if track.tid is not None:
                return Place(track.pid or 0, track.tid)
        pid = next((track.pid for track in line if track.pid is not None), 0)
        names = [track.name for track in line if track.name]
        stream = next((match for name in names if (match := _STREAM.search(name))), None)
        gpu = next((int(match[1]) for name in names if (match := _GPU.search(name))), None)
        thread = next((int(match[1]) for name in names[:1] if (match := _THREAD.match(name))), None)
        number = int(stream[1]) if stream and stream[1] else None
        return Place(pid, (names[0] if names else "") if thread is None else thread, gpu, number, stream is not None)

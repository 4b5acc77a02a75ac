"""Read the JSON form of a snapshot element by element."""

import itertools
from collections.abc import Iterator
from typing import Any

from ingest.json_stream import JsonStream
from ingest.snapshot.snapshot_rows import SnapshotParts

_LISTS = ("segments", "external_annotations")
_TRACES = "device_traces"
_SETTINGS = "allocator_settings"


class Walk:
    """Passes the elements of a snapshot to ``Parts``.

    After ``read``, ``damage`` tells why reading ended too early; it is empty if all was read. ``result`` holds the keys
    of the snapshot and the settings of the allocator.
    """

    def __init__(self, parts: SnapshotParts, blocks: Iterator[bytes]) -> None:
        self.result: dict[str, Any] = {}
        self._parts = parts
        self._stream = JsonStream(blocks)
        self._devices = itertools.count()

    @property
    def damage(self) -> str:
        return self._stream.damage

    def read(self) -> None:
        """Read to the end, or as far as the text is valid."""
        self._stream.read(self._document)

    def _document(self) -> None:
        if self._stream.peek() == "[":
            self._stream.each(lambda: self._take(0))
        else:
            self._stream.each_key(self._key)

    def _key(self, key: str) -> None:
        self.result.setdefault(key, None)
        if key in _LISTS and self._stream.peek() == "[":
            self._stream.each(lambda: self._take(0))
        elif key == _TRACES and self._stream.peek() == "[":
            self._devices = itertools.count()
            self._stream.each(self._device)
        elif key == _SETTINGS:
            self.result[key] = self._stream.value()
        else:
            self._stream.value()

    def _device(self) -> None:
        number = next(self._devices)
        self._stream.each(lambda: self._take(number))

    def _take(self, device: int) -> None:
        one = self._stream.value()
        if not isinstance(one, dict) or self._parts.made(one, lambda: device) is one:
            self._parts.damaged += 1

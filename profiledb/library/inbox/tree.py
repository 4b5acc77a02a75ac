"""The objects of an inbox as folders and files, as far as their names are possible for files."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from profiledb.library.bucket.bucket import Object
from profiledb.library.inbox.file_stamp import State
from profiledb.report.file_names import NAME_BYTES

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass
class Tree:
    """Objects by name; those of a folder by the folder's name.

    Empty objects (reservations, markers of folders) and names that no file can have are left out. An object may share
    its
    name with a folder: it is in ``files``, the folder in ``folders``.
    """

    files: dict[str, State] = field(default_factory=dict)
    folders: dict[str, dict[tuple[str, bool], None]] = field(default_factory=dict)
    strange: int = 0
    last: str = ""

    @classmethod
    def of(cls, objects: Iterable[Object]) -> "Tree":
        """Build the tree of a listing."""
        tree = cls()
        for one in objects:
            tree.add(one)
        return tree

    def add(self, one: Object) -> bool:
        """Add an object; return False if it is left out. The object with the last name is noted in ``last``."""
        self.last = max(self.last, one.key)
        if not one.size:
            return False
        if not _can_be_a_file(one.key):
            self.strange += 1
            return False
        self._add_key(one.key, hash_object_state(one))
        return True

    def put(self, key: str, one: Object | None) -> None:
        """Replace the state of a file; None removes it."""
        if one is None or not one.size:
            self.files.pop(key, None)
        else:
            self.files[key] = hash_object_state(one)

    def look(self, key: str) -> State | None:
        """Return the state of a file, or of all files of a folder together."""
        if key in self.files:
            return self.files[key]
        names = [f"{key}/{name}" for name, is_folder in sorted(self.folders.get(key, {})) if not is_folder]
        inside = [self.files[name] for name in names if name in self.files]
        if not inside:
            return None
        tags = hashlib.sha256("".join(one.tag for one in inside).encode()).hexdigest()[:16]
        return State(sum(one.bytes for one in inside), max(one.time_ns for one in inside), f"#{tags}")

    def _add_key(self, key: str, state: State) -> None:
        self.files[key] = state
        is_folder = False
        while key:
            above, _, name = key.rpartition("/")
            names = self.folders.setdefault(above, {})
            if (name, is_folder) in names:
                return
            names[name, is_folder] = None
            key, is_folder = above, True


def hash_object_state(one: Object) -> State:
    """Return the state of an object; its ETag, text of the server, is hashed."""
    return State(one.size, one.time_ns, f"#{hashlib.sha256(one.etag.encode()).hexdigest()[:16]}")


def _can_be_a_file(key: str) -> bool:
    parts = key.split("/")
    return not _CONTROL.search(key) and all(
        part not in ("", ".", "..") and len(part.encode()) <= NAME_BYTES for part in parts
    )

"""An inbox in a bucket. Readers fetch a file first; an upload appears complete."""

import filecmp
import logging
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path

from profiledb.errors import ConversionError, StorageError
from profiledb.library.bucket.bucket import Bucket, GoneError, Object
from profiledb.library.inbox import Kind, file_stamp
from profiledb.library.inbox.file_stamp import State
from profiledb.library.inbox.tree import Tree, hash_object_state
from profiledb.report import sidecar
from profiledb.report.file_names import make_safe_name, require_accepted, shorten_name

PAUSE_S = 1.0
MOST_FILES = 1_000
"""Files in a folder of Parquet files."""
_NUMBERED = 20
"""Files of one name that get a number; further ones get random text, because each number costs a request."""
_log = logging.getLogger("warpdeck")


class BucketInbox:
    """The objects below one prefix of a bucket; the path of an object is ``s3:/BUCKET/PREFIX/NAME``.

    Args:
        url: ``s3://BUCKET/PREFIX``.
        near: a folder of this machine for uploads on their way.
        alone: a lock among all machines, because not every store honors conditional puts.
    """

    pause_s = PAUSE_S
    folder: Path | None = None

    def __init__(self, url: str, near: Path, alone: Callable[[], AbstractContextManager[None]]) -> None:
        self.text = url
        self.root = Path(url)
        self.near = near
        self._bucket = Bucket(url)
        self._alone = alone
        self._tree = Tree()

    def prepare(self) -> None:
        """Create the folder for uploads; the bucket exists."""
        self.near.mkdir(parents=True, exist_ok=True)

    def renew(self) -> None:
        """List all objects."""
        tree = Tree.of(self._bucket.list())
        if tree.strange and tree.strange != self._tree.strange:
            _log.warning("%s has objects with names that no file can have: %d. They are left.", self.text, tree.strange)
        self._tree = tree

    def read_news(self, pending: Iterable[Path]) -> list[Path]:
        """List the objects after the last name, and ask for each pending one; see ``Inbox``.

        Names that begin with a time, or with a growing number, are therefore found at once.
        """
        for path in pending:
            if self._contains_path(path) and (key := self._make_key(path)) in self._tree.files:
                self._tree.put(key, self._bucket.head(key))
        new = [one for one in self._bucket.list(after=self._tree.last) if self._tree.add(one)]
        return [self.root / one.key for one in new]

    def kind_of(self, path: Path) -> Kind | None:
        """Return the kind of an object, or of a folder of objects, as of the last listing."""
        key = self._make_key(path)
        return "file" if key in self._tree.files else "folder" if key in self._tree.folders else None

    def entries(self, path: Path) -> list[tuple[str, Kind]]:
        """Return the names in a folder as of the last listing."""
        names = sorted(self._tree.folders.get(self._make_key(path), {}))
        return [(name, "folder" if is_folder else "file") for name, is_folder in names]

    def look(self, path: Path) -> State | None:
        """Return the state of an object or folder as of the last listing; of a sample, the present state."""
        return self._tree.look(self._make_key(path)) if self._contains_path(path) else file_stamp.read_state(path)

    def is_gone(self, path: Path) -> bool:
        """Return True if an object no longer exists."""
        return self.look(path) is None if self._contains_path(path) else file_stamp.is_gone(path)

    def bring(self, path: Path, beside: Sequence[Path], to: Path, most: int) -> Path:
        """Fetch a file, or a folder of Parquet files; see ``Inbox``."""
        if not self._contains_path(path):
            return path
        to.mkdir(parents=True)
        target = to / path.name
        for one in (path, *beside):
            with suppress(GoneError):
                most -= self._fetch_object(self._make_key(one), to / one.name, most)
        if not target.exists():
            self._fetch_folder(self._make_key(path), target, most)
        return target

    def place(self, content: Path, name: str, below: str = "") -> Path:
        """Put a finished file under a free name, or over a file that may be replaced; see ``Inbox``."""
        try:
            require_accepted(name)
            key = self._reserve_name(f"{below}/" if below else "", make_safe_name(name), content)
            self._bucket.put(key, content)
        finally:
            content.unlink(missing_ok=True)
        return self.root / key

    def lay(self, below: str, files: Sequence[tuple[str, Path]]) -> Path:
        """Put files one by one; see ``Inbox``."""
        for name, source in files:
            if source.is_dir():
                for path in source.glob("*.parquet"):
                    self._bucket.put(f"{below}/{name}/{path.name}", path)
            else:
                self._bucket.put(f"{below}/{name}", source)
        return self.root / below

    def holds(self, source: Path) -> Path | None:  # noqa: ARG002 (see Inbox)
        """Return None: no file of this machine lies in a bucket."""
        return None

    def spelled(self, text: str) -> "BucketInbox | None":
        """Return this inbox if the text is its URL; a bucket has one spelling."""
        return self if text == self.text else None

    def is_upload(self, path: Path) -> bool:
        """Return True if a path is that of an object."""
        return self._contains_path(path) and self._make_key(path) in self._tree.files

    def remove(self, path: Path) -> bool:
        """Remove an object that is unchanged since the last listing."""
        key = self._make_key(path)
        before, now = self._tree.files.get(key), self._bucket.head(key)
        if before is None or now is None or (now.size, hash_object_state(now).tag) != (before.bytes, before.tag):
            return False
        self._bucket.delete([key])
        return True

    def _contains_path(self, path: Path) -> bool:
        return path.is_relative_to(self.root)

    def _make_key(self, path: Path) -> str:
        return "" if path == self.root else path.relative_to(self.root).as_posix()

    def _fetch_object(self, key: str, target: Path, most: int) -> int:
        """Fetch an object and return its size in bytes."""
        try:
            self._bucket.fetch(key, target, most)
        except GoneError:
            target.unlink()
            raise
        return target.stat().st_size

    def _fetch_folder(self, key: str, target: Path, most: int) -> None:
        """Fetch the Parquet files directly below a name, if any."""
        inside: Iterator[Object] = (
            one
            for one in self._bucket.list(key)
            if one.key.endswith(".parquet") and one.key.rpartition("/")[0] == key and one.size
        )
        objects = list(islice(inside, MOST_FILES + 1))
        if len(objects) > MOST_FILES:
            raise ConversionError(f"{target.name} has more than {MOST_FILES:,} Parquet files.")
        if objects:
            target.mkdir()
        for one in objects:
            with suppress(GoneError):
                most -= self._fetch_object(one.key, target / one.key.rpartition("/")[2], most)

    def _reserve_name(self, folder: str, name: str, content: Path) -> str:
        """Return the first free name, reserved by an empty object, or that of an object that may be replaced."""
        number = 1
        while True:
            extra = str(number) if number <= _NUMBERED else secrets.token_hex(6)
            key = folder + (name if number == 1 else shorten_name(name, f"-{extra}"))
            there = self._bucket.head(key)
            if there is None:
                with self._alone():
                    if self._bucket.head(key) is None:
                        self._bucket.put(key, b"")
                        return key
            elif key.lower().endswith(sidecar.DROPPED) or self._is_same(there, content):
                return key
            number += 1

    def _is_same(self, there: Object, content: Path) -> bool:
        if there.size != content.stat().st_size:
            return False
        folder = Path(tempfile.mkdtemp(dir=self.near, prefix=".compared-"))
        try:
            self._bucket.fetch(there.key, folder / "there", there.size)
            return filecmp.cmp(folder / "there", content, shallow=False)
        except StorageError:  # gone or changed meanwhile, so another file
            return False
        finally:
            shutil.rmtree(folder, ignore_errors=True)

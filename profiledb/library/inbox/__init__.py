"""The inbox that people drop files into: a folder or a prefix of a bucket behind one interface."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Protocol

from profiledb.library.inbox.file_stamp import State

Kind = Literal["file", "folder", "link", "pipe", "socket", "device"]


class Inbox(Protocol):
    """An inbox. May be shared by threads. In a bucket each function may raise StorageError.

    Each file has a path that begins with ``root``, its key in the catalog. To read a file, open the path that ``bring``
    returns: in a bucket the first path is no file of this machine.
    """

    text: str
    """Name of the inbox for people."""
    root: Path
    near: Path
    """A folder on whose disk a file has to lie before ``place``."""
    folder: Path | None
    """The folder; None for a bucket, which sends no events."""
    pause_s: float
    """Shortest time between two looks at the whole inbox."""

    def prepare(self) -> None:
        """Create the inbox. Raises ConfigError if that fails."""

    def renew(self) -> None:
        """Read the whole inbox if looks are expensive: ``entries`` and ``look`` then answer from the result."""

    def read_news(self, pending: Iterable[Path]) -> list[Path]:
        """Return new files that no event tells, as far as that costs little; ``renew`` finds the others.

        ``look`` is then up to date for the pending files.
        """

    def kind_of(self, path: Path) -> Kind | None:
        """Return the kind of an entry; None if there is none."""

    def entries(self, path: Path) -> list[tuple[str, Kind]]:
        """Return the names in a folder, sorted, each with its kind; nothing if the folder is missing.

        Raises:
            PermissionError: the folder may not be read.
        """

    def look(self, path: Path) -> State | None:
        """Return the state of a file, or of all files of a folder together; None for anything else."""

    def is_gone(self, path: Path) -> bool:
        """Return True if a file was removed; False if its folder is gone, too, perhaps a disk that is not mounted."""

    def bring(self, path: Path, beside: Sequence[Path], to: Path, most: int) -> Path:
        """Return a path on this machine where a file can be read, with the files beside it; nothing lies there if it is
        gone.

        Args:
            path: the file or folder.
            beside: files that are read together with it.
            to: a folder for copies, created if needed; unused if the files can be read in place.
            most: size limit of all together, in bytes.

        Raises:
            ConversionError: they exceed the limit.
            OSError: the disk refuses them.
        """

    def place(self, content: Path, name: str, below: str = "") -> Path:
        """Move a finished file from ``near`` to a name in the inbox; return its path. On failure the file is removed.

        ``below`` is a folder of the inbox, created if needed.

        A file with that name is replaced if its content is the same (its new date makes the worker look again), or if
        it lies beside a report, whose name it needs; otherwise a number is added to the name.
        """

    def lay(self, below: str, files: Sequence[tuple[str, Path]]) -> Path:
        """Copy files and folders of Parquet files into a folder of the inbox, each under a name; return that folder.

        The worker takes none before it is complete and those named before it are present.
        """

    def holds(self, source: Path) -> Path | None:
        """Return the inbox path of a file of this machine that lies in the inbox already."""

    def spelled(self, text: str) -> "Inbox | None":
        """Return this inbox under another process's spelling of its name; None if that is another inbox."""

    def is_upload(self, path: Path) -> bool:
        """Return True if a path is a plain file of the inbox itself: neither a link nor reached through one."""

    def remove(self, path: Path) -> bool:
        """Remove a file unless it has changed since ``renew``; return True if it was removed."""

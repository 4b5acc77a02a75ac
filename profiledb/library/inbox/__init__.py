"""Where reports are dropped: a folder, or a place in a bucket, behind the same few functions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from profiledb.library.inbox.file_stamp import State

Kind = Literal["file", "folder", "link", "pipe", "socket", "device"]


class Inbox(Protocol):
    """An inbox; may be shared by threads. Of one in a bucket each function may raise StorageError.

    Each of its files has a path that begins with ``root``, by which the catalog knows it. Whoever reads a file opens
    what ``bring`` answers, because in a bucket that path is no file of this machine.
    """

    text: str
    """The inbox as people name it."""
    root: Path
    near: Path
    """A folder on whose disk a file lies before ``place`` takes it."""
    folder: Path | None
    """The folder that the inbox is; None for a bucket, which sends no events."""
    pause_s: float
    """Shortest time between two looks at all of it."""

    def prepare(self) -> None:
        """Makes it. Raises ConfigError where that cannot be."""

    def renew(self) -> None:
        """Looks at all of it where looks are dear: ``entries`` and ``look`` answer from that."""

    def entries(self, path: Path) -> list[tuple[str, Kind]]:
        """Names in a folder, sorted, each with what it is; nothing of a folder that is not there.

        Raises:
            PermissionError: the folder may not be read.
        """

    def look(self, path: Path) -> State | None:
        """The state of a file, or of the files of a folder together; None for what is neither, or is gone."""

    def is_gone(self, path: Path) -> bool:
        """Whether a file was removed; not where its folder is gone, too, which may be a disk that is not mounted."""

    def bring(self, path: Path, beside: Sequence[Path], to: Path, most: int) -> Path:
        """Where a file can be read here, with those beside it that are there; no file, where it is gone.

        Args:
            path: the file or folder.
            beside: files that are read together with it.
            to: a folder to put them in, which is made; not used where they can be read as they are.
            most: bytes that they may have together.

        Raises:
            ConversionError: they have more.
            OSError: the disk does not take them.
        """

    def place(self, content: Path, name: str, below: str = "") -> Path:
        """Gives a finished file, which lies in ``near`` and is moved, a name in the inbox; it is gone where that fails.

        ``below`` is a folder of the inbox, which is made where there is none.

        A file of that name is replaced where its content is the same (its new date makes the worker look at it again),
        or where it lies beside a report, whose name it needs; otherwise a number is added to the name.
        """

    def lay(self, below: str, files: Sequence[tuple[str, Path]]) -> Path:
        """Copies files and folders of Parquet files into a folder of the inbox, each under a name, and answers where.

        Nobody takes one before it is whole, nor before those that are named before it are there.
        """

    def holds(self, source: Path) -> Path | None:
        """The path of a file of this machine that lies in the inbox already."""

    def spelled(self, text: str) -> "Inbox | None":
        """The same inbox as another process names it; None where that is another one."""

    def is_upload(self, path: Path) -> bool:
        """Whether a path is a plain file of the inbox itself: no link, and nothing that a link leads to elsewhere."""

    def remove(self, path: Path) -> bool:
        """Removes a file, unless it has changed since ``renew``; whether it did."""

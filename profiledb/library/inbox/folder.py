"""An inbox in a folder."""

import filecmp
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from profiledb.errors import ConfigError
from profiledb.library.inbox import Kind, file_stamp
from profiledb.report import sidecar
from profiledb.report.file_names import SPACE_SIGN, make_safe_name, require_accepted, shorten_name

PAUSE_S = 0.1
_HALF = ".open-"
_ABANDONED_S = 86_400.0
_KINDS: dict[int, Kind] = {
    stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link",
}  # fmt: skip


class FolderInbox:
    """A folder with all folders below it; links are not followed."""

    pause_s = PAUSE_S

    def __init__(self, folder: Path) -> None:
        self.text = str(folder)
        self.root = self.near = folder
        self.folder: Path | None = folder
        self.look = file_stamp.read_state
        self.is_gone = file_stamp.is_gone

    def prepare(self) -> None:
        if self.root.is_file():
            raise ConfigError(f"{self.root} is a file; the inbox must be a folder.")
        self.root.mkdir(parents=True, exist_ok=True)

    def renew(self) -> None:
        """Do nothing: every look reads the folder itself."""

    def read_news(self, pending: Iterable[Path]) -> list[Path]:  # noqa: ARG002 (see Inbox)
        """Return nothing: events tell what is new."""
        return []

    def kind_of(self, path: Path) -> Kind | None:
        """Return the kind of an entry; see ``Inbox``."""
        try:
            mode = path.lstat().st_mode
        except (OSError, ValueError):
            return None
        return _KINDS.get(stat.S_IFMT(mode), "device")

    def entries(self, path: Path) -> list[tuple[str, Kind]]:
        """Return the names in a folder; see ``Inbox``."""
        try:
            with os.scandir(path) as listing:
                return sorted((one.name, _find_kind(one)) for one in listing)
        except (FileNotFoundError, NotADirectoryError):  # removed meanwhile
            return []

    def bring(self, path: Path, beside: Sequence[Path], to: Path, most: int) -> Path:  # noqa: ARG002 (see Inbox)
        """Return the file itself."""
        return path

    def place(self, content: Path, name: str, below: str = "") -> Path:
        """Rename a finished file; see ``Inbox``."""
        try:
            require_accepted(name)
            content.chmod(0o644)
            folder = self.root / below
            _make_folder(folder)
            target = _reserve_path(folder, make_safe_name(name), content)
            content.replace(target)
        except BaseException:
            content.unlink(missing_ok=True)
            raise
        return target

    def lay(self, below: str, files: Sequence[tuple[str, Path]]) -> Path:
        """Copy files under a hidden name first; see ``Inbox``."""
        folder = self.root / below
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._remove_old_copies()
        half = Path(tempfile.mkdtemp(prefix=_HALF, dir=self.root))
        try:
            for name, source in files:
                _copy_one(source, half / name)
            half.chmod(0o755)
            _publish_folder(half, folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)
        return folder

    def holds(self, source: Path) -> Path | None:
        """Return the worker's path of a file that lies here already."""
        try:
            below = source.resolve().relative_to(self.root.resolve())
        except ValueError:
            return None
        return None if any(part.startswith(".") for part in below.parts) else self.root / below

    def spelled(self, text: str) -> "FolderInbox | None":
        """Return this inbox if the text names the same folder."""
        self.root.mkdir(parents=True, exist_ok=True)
        try:
            return FolderInbox(Path(text)) if Path(text).samefile(self.root) else None
        except (OSError, ValueError):
            return None

    def is_upload(self, path: Path) -> bool:
        """Return True if a path is a plain file of the folder itself; see ``Inbox``."""
        try:
            inside = path.parent.resolve().is_relative_to(self.root.resolve())
            return inside and stat.S_ISREG(path.lstat().st_mode)
        except OSError:
            return False

    def remove(self, path: Path) -> bool:
        """Remove a file, and its folder if that is then empty."""
        path.unlink()
        if path.parent != self.root:
            with suppress(OSError):  # the folder has other files
                path.parent.rmdir()
        return True

    def _remove_old_copies(self) -> None:
        """Remove copies that a killed command left half a day ago or earlier."""
        for path in self.root.glob(f"{_HALF}*"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_S and os.access(path, os.W_OK):
                    shutil.rmtree(path, ignore_errors=True)


def _make_folder(folder: Path) -> None:
    """Create a folder; a file in its place is renamed to a free name, as the folder of a space would be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        if not stat.S_ISREG(folder.lstat().st_mode):
            raise
        aside = _reserve_path(folder.parent, folder.name.lstrip(SPACE_SIGN) or "report", folder)
        folder.replace(aside)
        folder.mkdir(exist_ok=True)


def _reserve_path(folder: Path, name: str, content: Path) -> Path:
    """Return the first free path for a name, reserved by an empty file, or that of a file that may be replaced."""
    number = 1
    while True:
        target = folder / (name if number == 1 else shorten_name(name, f"-{number}"))
        try:
            target.open("xb").close()
        except FileExistsError:
            is_sidecar = target.name.lower().endswith(sidecar.DROPPED)
            if target.is_file() and (is_sidecar or filecmp.cmp(target, content, shallow=False)):
                return target
            number += 1
        else:
            return target


def _find_kind(entry: "os.DirEntry[str]") -> Kind:
    """Return the kind of an entry, which most file systems store with its name."""
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_file(follow_symlinks=False):
            return "file"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return _KINDS.get(stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode), "device")
    except OSError:  # unknown
        return "link"


def _copy_one(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir()
        for path in source.glob("*.parquet"):
            shutil.copyfile(path, target / path.name)
        return
    shutil.copyfile(source, target)
    target.chmod(0o644)


def _publish_folder(half: Path, folder: Path) -> None:
    """Rename a finished folder; if the name exists, move the files into it one by one."""
    try:
        half.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        for path in half.iterdir():
            if not path.is_dir():  # a folder with the same content is the same
                path.replace(folder / path.name)

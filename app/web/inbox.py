"""Files of the inbox: each gets a safe name, and is there at once and whole."""

import filecmp
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from profiledb.report import sidecar
from profiledb.report.names import safe_name, shortened


def save(source: BinaryIO, name: str, inbox: Path) -> Path:
    """Writes a file into the inbox and returns where: under a hidden name first, so that nobody takes half of it.

    A file of that name is replaced where its content is the same (its new date makes the worker look at it again),
    or where it lies beside a report, whose name it needs; otherwise a number is added to the name.
    """
    inbox.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=inbox, prefix=".upload-", delete=False) as temporary:
        try:
            shutil.copyfileobj(source, temporary, 1 << 20)
        except BaseException:
            Path(temporary.name).unlink(missing_ok=True)
            raise
    return place(Path(temporary.name), name, inbox)


def place(content: Path, name: str, inbox: Path) -> Path:
    """Gives a finished file of the inbox's file system its name in the inbox; it is gone where that fails."""
    try:
        inbox.mkdir(parents=True, exist_ok=True)
        content.chmod(0o644)
        target = _reserve(inbox, safe_name(name), content)
        content.replace(target)
    except BaseException:
        content.unlink(missing_ok=True)
        raise
    return target


def _reserve(inbox: Path, name: str, content: Path) -> Path:
    """The first free path for a name, made as an empty file; or that of a file which may be replaced."""
    number = 1
    while True:
        target = inbox / (name if number == 1 else shortened(name, f"-{number}"))
        try:
            target.open("xb").close()
        except FileExistsError:
            beside = target.name.lower().endswith(sidecar.DROPPED)
            if target.is_file() and (beside or filecmp.cmp(target, content, shallow=False)):
                return target
            number += 1
        else:
            return target

"""Files dropped into the page: made safe by name, written to the inbox in one step."""

import filecmp
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import streamlit as st

from app import format as fmt
from app import session
from profiledb import sidecar
from profiledb.errors import ConversionError

NAME_BYTES = 255
FALLBACK = "report"


def uploader(label: str) -> None:
    """The place to drop files on; what arrives goes to the inbox, where the worker finds it."""
    turn = st.session_state.setdefault("upload-turn", 0)
    settings = session.settings()
    files = st.file_uploader(
        label,
        accept_multiple_files=True,
        key=f"upload-{turn}",
        max_upload_size=settings.max_upload_mb,
    )
    if not files:
        return
    for file in files:
        try:
            path = save(file, file.name, settings.inbox)
        except OSError as error:
            raise ConversionError(
                f"{file.name} could not be written to the inbox.",
                hint=f"Look at the free space and the permissions of {settings.inbox}.",
                detail=str(error),
            ) from error
        st.toast(f"{fmt.plain(path.name)} is in the inbox.", icon=":material/check:")
    st.session_state["upload-turn"] = turn + 1  # an empty uploader takes the place of this one
    st.rerun()


def save(source: BinaryIO, name: str, inbox: Path) -> Path:
    """Writes a file into the inbox and returns where: under a hidden name first, so that nobody takes half of it.

    A file of that name is replaced where its content is the same (its new date makes the worker look at it again),
    or where it lies beside a report, whose name it needs; otherwise a number is added to the name.
    """
    inbox.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=inbox, prefix=".upload-", delete=False) as temporary:
        path = Path(temporary.name)
        try:
            shutil.copyfileobj(source, temporary, 1 << 20)
            temporary.flush()
            path.chmod(0o644)
            target = _reserve(inbox, safe_name(name), path)
            path.replace(target)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return target


def safe_name(name: str) -> str:
    """A file name without folders, control characters or a leading dash or dot, of at most 255 bytes."""
    last = PurePosixPath(fmt.visible(name).replace("\\", "/")).name
    cleaned = last.strip().lstrip(".- ").rstrip(". ") or FALLBACK
    return _shortened(cleaned)


def _shortened(name: str, extra: str = "") -> str:
    """The name with ``extra`` before its suffix, the stem cut so that it all fits."""
    path = PurePosixPath(name)
    suffix = path.suffix if len(path.suffix.encode()) <= 20 else ""
    stem = name.removesuffix(suffix).encode()[: NAME_BYTES - len((extra + suffix).encode())]
    return stem.decode(errors="ignore") + extra + suffix


def _reserve(inbox: Path, name: str, content: Path) -> Path:
    """The first free path for a name, made as an empty file; or that of a file which may be replaced."""
    number = 1
    while True:
        target = inbox / (name if number == 1 else _shortened(name, f"-{number}"))
        try:
            target.open("xb").close()
        except FileExistsError:
            beside = target.name.lower().endswith(sidecar.DROPPED)
            if target.is_file() and (beside or filecmp.cmp(target, content, shallow=False)):
                return target
            number += 1
        else:
            return target

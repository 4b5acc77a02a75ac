"""Write uploaded files into the inbox, under a hidden name first, so that the worker never sees half a file."""

import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from profiledb.library.audit import Audit
from profiledb.library.inbox import Inbox


def save_file(source: BinaryIO, name: str, inbox: Inbox, below: str = "") -> Path:
    """Copy a stream into the inbox and return its path there; see ``Inbox.place`` for the arguments and errors."""
    inbox.near.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=inbox.near, prefix=".upload-", delete=False) as temporary:
        try:
            shutil.copyfileobj(source, temporary, 1 << 20)
        except BaseException:
            Path(temporary.name).unlink(missing_ok=True)
            raise
    return inbox.place(Path(temporary.name), name, below)


def record_upload(audit: Audit, path: Path, inbox: Inbox) -> None:
    """Record in the audit who uploaded a file that is in the inbox; in the log while the catalog is unreachable."""
    audit.write_or_log("uploaded", about=str(path.relative_to(inbox.root)))

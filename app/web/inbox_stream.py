"""Files for the inbox that come as a stream: under a hidden name first, so that nobody takes half of one."""

import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from profiledb.library.audit import Audit
from profiledb.library.inbox import Inbox


def save(source: BinaryIO, name: str, inbox: Inbox, below: str = "") -> Path:
    """Writes a file into the inbox and returns its path there; see ``Inbox.place``."""
    inbox.near.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=inbox.near, prefix=".upload-", delete=False) as temporary:
        try:
            shutil.copyfileobj(source, temporary, 1 << 20)
        except BaseException:
            Path(temporary.name).unlink(missing_ok=True)
            raise
    return inbox.place(Path(temporary.name), name, below)


def note(audit: Audit, path: Path, inbox: Inbox) -> None:
    """Writes who uploaded a file that is in the inbox already; while the catalog is away, into the log."""
    audit.write_or_log("uploaded", about=str(path.relative_to(inbox.root)))

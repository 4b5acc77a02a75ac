"""Files that were sent and that no page has taken yet: in a hidden folder of the inbox, never in memory.

They are removed when the session that sent them ends, when an upload breaks off, when the server ends, and, after one
that was killed, when the next one starts: each server holds a lock on its folder.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import BinaryIO

from profiledb import config
from profiledb.library.visitor import LOCAL, Visitor

FOLDER_PREFIX = ".uploads-"
RECEIPT_PREFIX = b"warpdeck-upload:"
"""What Streamlit keeps in memory in place of a file begins with it; the rest is a secret that names the file here."""

MAX_UPLOADS = 64
"""So many uploads may be under way at a time."""
MAX_UPLOADS_PER_PERSON = 32
"""Of these, the ones of one person, who also has at most half of the room for all, or that for one file."""

MIN_COUNTED_BYTES = 65536
"""What a file counts at least, so that empty ones are bounded, too."""


class UploadRefusedError(Exception):
    """An upload is not taken: ``status`` and words for the answer."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


@dataclass(eq=False)
class Upload:
    """A file on its way or whole; ``counted`` is what it takes of the room for all: what has arrived of it."""

    session: str
    owner: Visitor
    file_id: str
    path: Path
    file: BinaryIO
    receipt: bytes = field(default_factory=lambda: RECEIPT_PREFIX + secrets.token_hex(16).encode())
    size: int = 0
    counted: int = MIN_COUNTED_BYTES
    whole: bool = False
    gone: bool = False


class UploadStore:
    """The uploads of a server, by session. Threads may share it.

    Args:
        inbox: where the hidden folder goes, so that a file reaches its place by a rename.
        file_bytes: the largest file.
        total_bytes: all files together.
    """

    def __init__(self, inbox: Path, file_bytes: int, total_bytes: int) -> None:
        self.inbox = inbox
        self.file_bytes = file_bytes
        self.total_bytes = max(file_bytes, total_bytes)
        self._lock = threading.Lock()
        self._sessions: dict[str, list[Upload]] = {}
        self._folder: Path | None = None
        self._held: int | None = None

    def open(self, session: str) -> None:
        """Takes uploads from a session from now on: it shows a place to drop files on, to somebody who may."""
        with self._lock:
            self._sessions.setdefault(session, [])

    def close(self, session: str) -> None:
        """Forgets a session with all of its files; what is still being sent is refused from now on."""
        with self._lock:
            for upload in self._sessions.pop(session, []):
                self._remove(upload)

    def begin(self, session: str, file_id: str, expected: int, owner: Visitor = LOCAL) -> Upload:
        """Takes a file on, if there is room for all of it. What is announced holds no room: only what arrives does.

        Args:
            session: that sends it.
            file_id: what Streamlit calls it.
            expected: its bytes as far as the sender tells, else 0.
            owner: who sends it.

        Raises:
            RefusedError: the session takes none, the file is too large, or there is too much under way.
            OSError: the inbox cannot be written to.
        """
        with self._lock:
            if session not in self._sessions:
                raise UploadRefusedError(403, "This session takes no files.")
            if expected > self.file_bytes:
                raise UploadRefusedError(413, "The file is too large.")
            known = [upload for uploads in self._sessions.values() for upload in uploads]
            if sum(not upload.whole for upload in known) >= MAX_UPLOADS or not self._fits(
                max(expected, MIN_COUNTED_BYTES)
            ):
                raise UploadRefusedError(503, "Too many files are on their way. Try again in a moment.")
            if owner != LOCAL:
                theirs = [upload for upload in known if upload.owner == owner]
                if sum(not upload.whole for upload in theirs) >= MAX_UPLOADS_PER_PERSON or not self._fits_owner(
                    owner, expected
                ):
                    raise UploadRefusedError(429, "Too many of your files are on their way. Try again in a moment.")
            number, path = tempfile.mkstemp(dir=self._own_folder())
            file = os.fdopen(number, "wb", buffering=0)
            upload = Upload(session, owner, file_id, Path(path), file)
            self._sessions[session].append(upload)
            return upload

    def write(self, upload: Upload, data: bytes) -> None:
        """Adds bytes to a file.

        Raises:
            RefusedError: the file or all together are too large, or its session has ended.
            OSError: the disk does not take them.
        """
        with self._lock:
            if upload.gone:
                raise UploadRefusedError(400, "The session of this upload has ended.")
            upload.size += len(data)
            more = max(0, upload.size - upload.counted)
            if upload.size > self.file_bytes:
                raise UploadRefusedError(413, "The file is too large.")
            if not self._fits(more):
                raise UploadRefusedError(503, "Too many files are on their way. Try again in a moment.")
            if upload.owner != LOCAL and not self._fits_owner(upload.owner, more):
                raise UploadRefusedError(429, "Too many of your files are on their way. Try again in a moment.")
            upload.counted += more
        view = memoryview(data)
        while view:
            view = view[upload.file.write(view) or 0 :]

    def keep(self, upload: Upload) -> None:
        """Says that a file is whole: a page may take it. Another one under its id is replaced."""
        with self._lock:
            upload.whole = True
            for other in list(self._sessions.get(upload.session, [])):
                if other is not upload and other.file_id == upload.file_id:
                    self._forget(other)

    def discard(self, upload: Upload) -> None:
        """Removes a file that did not become whole."""
        with self._lock:
            self._forget(upload)

    def drop(self, session: str, file_id: str) -> None:
        """Removes a file that its sender took back."""
        with self._lock:
            for upload in [sent for sent in self._sessions.get(session, []) if sent.file_id == file_id]:
                self._forget(upload)

    def take(self, session: str, receipt: bytes) -> Path | None:
        """Hands a whole file over; None where there is none of that receipt. It belongs to the caller from now on."""
        with self._lock:
            for upload in self._sessions.get(session, []):
                if upload.whole and not upload.gone and secrets.compare_digest(upload.receipt, receipt):
                    self._sessions[session].remove(upload)
                    return upload.path
        return None

    def start(self) -> None:
        """Removes what servers left behind that are no more."""
        for folder in self.inbox.glob(f"{FOLDER_PREFIX}*"):
            with contextlib.suppress(OSError):  # another server's, or on a file system without locks
                held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(held)

    def end(self) -> None:
        """Removes everything: the server ends."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
            for upload in [upload for uploads in sessions.values() for upload in uploads]:
                self._remove(upload)
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)
            if self._held is not None:
                os.close(self._held)
            self._folder = self._held = None

    def _own_folder(self) -> Path:
        """The hidden folder, made when the first file comes, and again where somebody removed it."""
        if self._folder is None or not self._folder.is_dir():
            if self._held is not None:
                os.close(self._held)
                self._held = None
            self.inbox.mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(dir=self.inbox, prefix=FOLDER_PREFIX))
            self._held = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            with contextlib.suppress(OSError):  # without locks nobody takes the folder of another for abandoned
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self._folder

    def _fits(self, more: int) -> bool:
        used = sum(upload.counted for uploads in self._sessions.values() for upload in uploads)
        return used + more <= self.total_bytes

    def _fits_owner(self, owner: Visitor, more: int) -> bool:
        files = (upload for uploads in self._sessions.values() for upload in uploads)
        used = sum(upload.counted for upload in files if upload.owner == owner)
        return used + more <= max(self.file_bytes, self.total_bytes // 2)

    def _forget(self, upload: Upload) -> None:
        if upload in (uploads := self._sessions.get(upload.session, [])):
            uploads.remove(upload)
        self._remove(upload)

    @staticmethod
    def _remove(upload: Upload) -> None:
        """The file goes at once, even while it is being written; whoever writes it closes it."""
        upload.gone = True
        upload.path.unlink(missing_ok=True)


@cache
def get_upload_store() -> UploadStore:
    """The one of this server."""
    settings = config.load()
    return UploadStore(settings.inbox, settings.max_upload_mb << 20, settings.uploads_mb << 20)

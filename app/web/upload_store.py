"""Hold uploaded files that no page has taken yet, in a hidden folder of the inbox.

Files are removed when their session ends, when their upload breaks off and when the server ends. A server that was
killed leaves its folder, which the next start removes: each server locks its own.
"""

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import BinaryIO

from profiledb import config
from profiledb.library.visitor import LOCAL, Visitor

FOLDER_PREFIX = ".uploads-"
RECEIPT_PREFIX = b"warpdeck-upload:"
"""A receipt is this prefix and a secret; Streamlit keeps it in memory in place of the file."""

MAX_UPLOADS = 64
"""Uploads under way at a time."""
MAX_UPLOADS_PER_PERSON = 32
"""One person also has at most half of the room for all files, or the room for one file if that is more."""

MIN_COUNTED_BYTES = 65536
"""A smaller file counts as if it had this size, which bounds the number of files."""

PAUSED_S = 3600.0
"""Seconds that the server keeps an upload that broke off, for its sender to resume. New uploads may take its room."""


class UploadRefusedError(Exception):
    """The server does not take an upload.

    Args:
        status: HTTP status of the response.
        message: sentence for the sender.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(eq=False)
class Upload:
    """A file that is being uploaded or complete."""

    session: str
    owner: Visitor
    file_id: str
    path: Path
    file: BinaryIO
    receipt: bytes = field(default_factory=lambda: RECEIPT_PREFIX + secrets.token_hex(16).encode())
    size: int = 0
    """Bytes that have arrived."""
    counted: int = MIN_COUNTED_BYTES
    """Bytes that count for the limits."""
    sha256: str = ""
    """SHA-256 that the sender announces, by which an upload can be resumed; empty if it cannot."""
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    """SHA-256 of the bytes that have arrived, if the sender announces one."""
    paused_at: float | None = None
    """When the upload broke off, in seconds of the monotonic clock; None while it is under way or complete."""
    complete: bool = False
    removed: bool = False


class UploadStore:
    """The uploads of a server, by session. Thread-safe.

    Args:
        inbox: the hidden folder is made here, so that a file reaches its place by a rename.
        file_bytes: limit for one file.
        total_bytes: limit for all files together.
    """

    def __init__(self, inbox: Path, file_bytes: int, total_bytes: int) -> None:
        self.inbox = inbox
        self.file_bytes = file_bytes
        self.total_bytes = max(file_bytes, total_bytes)
        self._lock = threading.Lock()
        self._sessions: dict[str, list[Upload]] = {}
        self._folder: Path | None = None
        self._folder_lock: int | None = None

    def open_session(self, session: str) -> None:
        """Accept uploads of a session: its page offers the uploader to somebody who may use it."""
        with self._lock:
            self._sessions.setdefault(session, [])

    def close_session(self, session: str) -> None:
        """Remove the files of a session and refuse further ones."""
        with self._lock:
            for upload in self._sessions.pop(session, []):
                self._remove(upload)

    def begin_upload(
        self, session: str, file_id: str, expected: int, owner: Visitor = LOCAL, sha256: str = ""
    ) -> Upload:
        """Accept a file if all of it fits. Only bytes that arrive take room, not those that are announced.

        Args:
            session: the session that sends the file.
            file_id: Streamlit's id of the file.
            expected: announced size in bytes; 0 if unknown.
            owner: the person who sends the file.
            sha256: SHA-256 of the file, which makes the upload one that can be resumed.

        Raises:
            UploadRefusedError: the session may not upload, the file is too large, or too many files are under way.
            OSError: the inbox cannot be written to.
        """
        with self._lock:
            if session not in self._sessions:
                raise UploadRefusedError(403, "This session takes no files.")
            if expected > self.file_bytes:
                raise UploadRefusedError(413, "The file is too large.")
            for upload in self._list_paused(sha256, owner):
                self._discard(upload)  # the file begins anew
            self._make_room(expected, owner)
            if refusal := self._find_refusal(expected, owner):
                raise refusal
            number, path = tempfile.mkstemp(dir=self._open_folder())
            file = os.fdopen(number, "wb", buffering=0)
            upload = Upload(session, owner, file_id, Path(path), file, sha256=sha256)
            self._sessions[session].append(upload)
            return upload

    def write(self, upload: Upload, data: bytes) -> None:
        """Append bytes to a file.

        Raises:
            UploadRefusedError: the file or all files together are too large, or its session has ended.
            OSError: the disk refuses the bytes.
        """
        with self._lock:
            if upload.removed:
                raise UploadRefusedError(400, "The session of this upload has ended.")
            upload.size += len(data)
            more = max(0, upload.size - upload.counted)
            if upload.size > self.file_bytes:
                raise UploadRefusedError(413, "The file is too large.")
            if not self._fits_total(more):
                raise UploadRefusedError(503, "Too many files are on their way. Try again in a moment.")
            if upload.owner != LOCAL and not self._fits_owner(upload.owner, more):
                raise UploadRefusedError(429, "Too many of your files are on their way. Try again in a moment.")
            upload.counted += more
        view = memoryview(data)
        while view:
            view = view[upload.file.write(view) or 0 :]
        if upload.sha256:
            upload.digest.update(data)

    def pause(self, upload: Upload) -> None:
        """Keep the received bytes of a broken upload, for its sender to resume."""
        with self._lock:
            upload.paused_at = time.monotonic()

    def find_paused(self, sha256: str, owner: Visitor) -> int:
        """Return how many bytes of a file wait for the rest, which only the same person can send; 0 if none do."""
        with self._lock:
            return next((upload.size for upload in self._list_paused(sha256, owner)), 0)

    def resume(self, sha256: str, owner: Visitor, size: int) -> Upload | None:
        """Return a paused upload of which ``size`` bytes have arrived; None if there is none."""
        with self._lock:
            for upload in self._list_paused(sha256, owner):
                if upload.size == size:
                    upload.paused_at = None
                    return upload
        return None

    def complete(self, upload: Upload) -> None:
        """Let a page take the file. It replaces an earlier one with the same id."""
        with self._lock:
            upload.complete = True
            for other in list(self._sessions.get(upload.session, [])):
                if other is not upload and other.file_id == upload.file_id:
                    self._discard(other)

    def discard(self, upload: Upload) -> None:
        """Remove an upload that broke off or was refused."""
        with self._lock:
            self._discard(upload)

    def delete(self, session: str, file_id: str) -> None:
        """Remove the files that their sender took back."""
        with self._lock:
            for upload in list(self._sessions.get(session, [])):
                if upload.file_id == file_id:
                    self._discard(upload)

    def take(self, session: str, receipt: bytes) -> Path | None:
        """Hand the file of a receipt over to the caller, who owns it from now on; None if there is no such file."""
        with self._lock:
            for upload in self._sessions.get(session, []):
                if upload.complete and not upload.removed and secrets.compare_digest(upload.receipt, receipt):
                    self._sessions[session].remove(upload)
                    return upload.path
        return None

    def remove_abandoned(self) -> None:
        """Remove the folders of servers that no longer run."""
        for folder in self.inbox.glob(f"{FOLDER_PREFIX}*"):
            with contextlib.suppress(OSError):  # its server runs, or the file system has no locks
                folder_lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(folder_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(folder_lock)

    def close(self) -> None:
        """Remove all files; the server ends."""
        with self._lock:
            for upload in self._list_uploads():
                self._remove(upload)
            self._sessions = {}
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)
            if self._folder_lock is not None:
                os.close(self._folder_lock)
            self._folder = self._folder_lock = None

    def _open_folder(self) -> Path:
        """Return the hidden folder; create and lock it for the first file, and again if somebody removed it."""
        if self._folder is None or not self._folder.is_dir():
            if self._folder_lock is not None:
                os.close(self._folder_lock)
                self._folder_lock = None
            self.inbox.mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(dir=self.inbox, prefix=FOLDER_PREFIX))
            self._folder_lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            with contextlib.suppress(OSError):  # a file system without locks: no server removes another's folder
                fcntl.flock(self._folder_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self._folder

    def _list_uploads(self) -> list[Upload]:
        return [upload for uploads in self._sessions.values() for upload in uploads]

    def _list_paused(self, sha256: str, owner: Visitor) -> list[Upload]:
        """Return the paused uploads of a file of a person, after those that waited too long are gone."""
        self._drop_late()
        return [
            upload
            for upload in self._list_uploads()
            if upload.paused_at is not None and (upload.sha256, upload.owner) == (sha256, owner)
        ]

    def _drop_late(self) -> None:
        for upload in self._list_uploads():
            if upload.paused_at is not None and time.monotonic() - upload.paused_at > PAUSED_S:
                self._discard(upload)

    def _make_room(self, expected: int, owner: Visitor) -> None:
        """Remove paused uploads, oldest first, until a new one fits."""
        paused = [(one.paused_at, one) for one in self._list_uploads() if one.paused_at is not None]
        for _, upload in sorted(paused, key=lambda pair: pair[0]):
            refusal = self._find_refusal(expected, owner)
            if refusal is None:
                return
            if refusal.status == 503 or upload.owner == owner:
                self._discard(upload)

    def _find_refusal(self, expected: int, owner: Visitor) -> UploadRefusedError | None:
        """Return why a new upload does not fit beside the others; None if it does."""
        under_way = [upload for upload in self._list_uploads() if not upload.complete]
        if len(under_way) >= MAX_UPLOADS or not self._fits_total(max(expected, MIN_COUNTED_BYTES)):
            return UploadRefusedError(503, "Too many files are on their way. Try again in a moment.")
        own = [upload for upload in under_way if upload.owner == owner]
        if owner != LOCAL and (len(own) >= MAX_UPLOADS_PER_PERSON or not self._fits_owner(owner, expected)):
            return UploadRefusedError(429, "Too many of your files are on their way. Try again in a moment.")
        return None

    def _fits_total(self, more: int) -> bool:
        used = sum(upload.counted for upload in self._list_uploads())
        return used + more <= self.total_bytes

    def _fits_owner(self, owner: Visitor, more: int) -> bool:
        used = sum(upload.counted for upload in self._list_uploads() if upload.owner == owner)
        return used + more <= max(self.file_bytes, self.total_bytes // 2)

    def _discard(self, upload: Upload) -> None:
        if upload in (uploads := self._sessions.get(upload.session, [])):
            uploads.remove(upload)
        self._remove(upload)

    @staticmethod
    def _remove(upload: Upload) -> None:
        """Unlink the file at once, also while it is being written; its writer closes it, and a paused one has none."""
        upload.removed = True
        if upload.paused_at is not None:
            upload.file.close()
        upload.path.unlink(missing_ok=True)


@cache
def get_upload_store() -> UploadStore:
    """Return the store of this server."""
    settings = config.load()
    return UploadStore(settings.inbox, settings.max_upload_mb << 20, settings.uploads_mb << 20)

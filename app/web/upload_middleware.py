"""Write uploads to disk while they come in, up to a limit.

Streamlit's uploader keeps every file in memory and has no public way around that: ``st.App`` creates its own manager of
uploaded files, whose records hold bytes. So the files never reach Streamlit. Its route, its checks of the XSRF token
and the session, and its widget stay; in between, the body of each upload goes to the ``UploadStore``, and Streamlit
gets a short file of the same name that holds a receipt. The page exchanges the receipt for the file
(``views/library/upload.py``).
"""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Awaitable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web import url_paths, visitors
from app.web.multipart import BodyError, FilePart
from app.web.upload_store import Upload, UploadRefusedError, get_upload_store

PREFIX = "/_stcore/upload_file"
WRITE_BYTES = 1 << 20
"""Bytes that are written at a time."""

FORM_BYTES = 1 << 20
"""Limit of the bytes around the file in a form."""

WINDOW_S = 60.0
MIN_BYTES_PER_S = 4096
"""Average over ``WINDOW_S`` below which an upload is given up."""

T = TypeVar("T")
_ADDRESS = re.compile(rf"{PREFIX}/([^/]+)/([^/]+)")
_log = logging.getLogger("warpdeck")


class UploadPace:
    """Give up uploads that trickle, so that each holds its place for a minute at most."""

    def __init__(self) -> None:
        self._deadline = time.monotonic() + WINDOW_S
        self._bytes = 0

    async def wait(self, chunk: Awaitable[T]) -> T:
        """Return the next chunk.

        Raises:
            TimeoutError: too few bytes arrived within the last minute.
        """
        async with asyncio.timeout(self._deadline - time.monotonic()):
            return await chunk

    def count_bytes(self, size: int) -> None:
        """Count bytes that arrived; enough of them start another minute."""
        self._bytes += size
        if self._bytes >= MIN_BYTES_PER_S * WINDOW_S:
            self._deadline, self._bytes = time.monotonic() + WINDOW_S, 0


class UploadMiddleware:
    """Handle uploads of Streamlit's widget."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._writers = CapacityLimiter(4)  # threads of its own, so that a slow disk does not block pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        address = _ADDRESS.fullmatch(url_paths.strip_base(scope)) if scope["type"] == "http" else None
        if address and scope["method"] == "PUT":
            await self._put_file(scope, receive, send, *address.groups())
        elif address and scope["method"] == "DELETE":
            await self._delete_file(scope, receive, send, *address.groups())
        else:
            await self.app(scope, receive, send)

    async def _put_file(self, scope: Scope, receive: Receive, send: Send, session: str, file_id: str) -> None:
        headers = Headers(scope=scope)
        try:
            expected = max(0, int(headers.get("content-length", "0")) - FORM_BYTES)
            upload = get_upload_store().begin_upload(session, file_id, expected, visitors.get_visitor(scope))
        except ValueError:
            await PlainTextResponse("Invalid Content-Length", status_code=400)(scope, receive, send)
            return
        except UploadRefusedError as error:
            await PlainTextResponse(error.message, status_code=error.status)(scope, receive, send)
            return
        except OSError:
            _log.exception("An upload cannot be written to the inbox")
            await PlainTextResponse("The inbox cannot be written to.", status_code=507)(scope, receive, send)
            return
        body = _Body(upload, headers.get("content-type", ""), receive, self._writers)

        async def send_settled(message: Message) -> None:
            if message["type"] == "http.response.start":
                accepted = message["status"] == 204 and body.complete
                (get_upload_store().complete if accepted else get_upload_store().discard)(upload)
            await send(message)

        try:
            await self.app(body.build_scope(scope), body.receive, send_settled)
        finally:
            upload.file.close()
            if not upload.complete:
                get_upload_store().discard(upload)

    async def _delete_file(self, scope: Scope, receive: Receive, send: Send, session: str, file_id: str) -> None:
        async def send_deleted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 204:
                get_upload_store().delete(session, file_id)
            await send(message)

        await self.app(scope, receive, send_deleted)


class _Body:
    """The body of an upload. Streamlit reads it after its checks, and gets the receipt in place of the file."""

    def __init__(self, upload: Upload, content_type: str, receive: Receive, writers: CapacityLimiter) -> None:
        self.complete = False
        self._upload = upload
        self._content_type = content_type
        self._receive = receive
        self._writers = writers
        self._boundary = secrets.token_hex(16)

    def build_scope(self, scope: Scope) -> Scope:
        """Return the request with the headers of the short body."""
        changed = dict(scope) | {"headers": list(scope["headers"])}
        headers = MutableHeaders(scope=changed)
        del headers["content-length"]
        del headers["transfer-encoding"]
        headers["content-type"] = f"multipart/form-data; boundary={self._boundary}"
        return changed

    async def receive(self) -> Message:
        """Return the whole short body first, then whatever else the client sends."""
        if self.complete:
            return await self._receive()
        try:
            part = FilePart(self._content_type, self._write_data)
            await self._read_file(part)
        except UploadRefusedError as error:
            raise HTTPException(error.status, error.message) from error
        except BodyError as error:
            raise HTTPException(400, str(error)) from error
        except TimeoutError as error:
            raise HTTPException(408, "The upload has stopped.") from error
        except OSError as error:
            _log.exception("An upload could not be written")
            raise HTTPException(507, "The disk of the server does not take the file.") from error
        self.complete = True
        return {"type": "http.request", "body": part.build_body(self._upload.receipt, self._boundary)}

    def _write_data(self, data: bytes) -> None:
        get_upload_store().write(self._upload, data)

    async def _read_file(self, part: FilePart) -> None:
        total, pending, more_body, pace = 0, bytearray(), True, UploadPace()
        while more_body:
            message = await pace.wait(self._receive())
            chunk = message.get("body", b"")
            pace.count_bytes(len(chunk))
            if message["type"] == "http.disconnect":
                raise BodyError("The upload broke off.")
            more_body = message.get("more_body", False)
            pending += chunk
            total += len(chunk)
            if total > get_upload_store().file_bytes + FORM_BYTES:
                raise UploadRefusedError(413, "The file is too large.")
            if pending and (len(pending) >= WRITE_BYTES or not more_body):
                await to_thread.run_sync(part.feed, bytes(pending), limiter=self._writers)
                pending.clear()
        if not part.complete:
            raise BodyError("The upload broke off.")

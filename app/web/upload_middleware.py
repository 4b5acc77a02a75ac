"""Uploads go to disk while they come in, and no further than the limit.

Streamlit's uploader keeps every file in memory, and offers no public way to change that: ``st.App`` makes its own
manager of uploaded files, and that manager's records hold bytes. So the files never reach it. Its address, its check of
the XSRF token and of the session, and its widget all stay; in between, the body of each upload goes into a file of
``web.store``, and Streamlit gets a short one with the same name, whose content is a receipt. The page hands the receipt
in for the file (``views/library/upload.py``).
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
"""What a form may hold around its file."""

WINDOW_S = 60.0
MIN_BYTES_PER_S = 4096
"""Bytes a second, on average over ``WINDOW_S``; an upload that brings less has broken off."""

T = TypeVar("T")
_ADDRESS = re.compile(rf"{PREFIX}/([^/]+)/([^/]+)")
_log = logging.getLogger("warpdeck")


class UploadPace:
    """How fast an upload comes in, so that one that trickles holds its place for a minute and no longer."""

    def __init__(self) -> None:
        self._until = time.monotonic() + WINDOW_S
        self._bytes = 0

    async def wait(self, piece: Awaitable[T]) -> T:
        """The next piece; raises TimeoutError where too little has come within the last minute."""
        async with asyncio.timeout(self._until - time.monotonic()):
            return await piece

    def arrived(self, size: int) -> None:
        """Counts bytes; enough of them begin another minute."""
        self._bytes += size
        if self._bytes >= MIN_BYTES_PER_S * WINDOW_S:
            self._until, self._bytes = time.monotonic() + WINDOW_S, 0


class UploadMiddleware:
    """Takes the bodies of uploads; everything else passes."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._writers = CapacityLimiter(4)  # of their own, so that a slow disk keeps no page waiting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets Streamlit answer, with a receipt in place of the file."""
        address = _ADDRESS.fullmatch(url_paths.strip_base(scope)) if scope["type"] == "http" else None
        if address and scope["method"] == "PUT":
            await self._put(scope, receive, send, *address.groups())
        elif address and scope["method"] == "DELETE":
            await self._delete(scope, receive, send, *address.groups())
        else:
            await self.app(scope, receive, send)

    async def _put(self, scope: Scope, receive: Receive, send: Send, session: str, file_id: str) -> None:
        headers = Headers(scope=scope)
        try:
            expected = max(0, int(headers.get("content-length", "0")) - FORM_BYTES)
            upload = get_upload_store().begin(session, file_id, expected, visitors.get_visitor(scope))
        except ValueError:
            await PlainTextResponse("Invalid Content-Length", status_code=400)(scope, receive, send)
            return
        except UploadRefusedError as error:
            await PlainTextResponse(error.words, status_code=error.status)(scope, receive, send)
            return
        except OSError:
            _log.exception("An upload cannot be written to the inbox")
            await PlainTextResponse("The inbox cannot be written to.", status_code=507)(scope, receive, send)
            return
        body = _Body(upload, headers.get("content-type", ""), receive, self._writers)

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                whole = message["status"] == 204 and body.done
                (get_upload_store().keep if whole else get_upload_store().discard)(upload)
            await send(message)

        try:
            await self.app(body.scope(scope), body.receive, watched)
        finally:
            upload.file.close()
            if not upload.whole:
                get_upload_store().discard(upload)

    async def _delete(self, scope: Scope, receive: Receive, send: Send, session: str, file_id: str) -> None:
        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 204:
                get_upload_store().drop(session, file_id)
            await send(message)

        await self.app(scope, receive, watched)


class _Body:
    """The body of an upload: read when Streamlit asks for it, after its checks, and shown to it as a receipt."""

    def __init__(self, upload: Upload, content_type: str, receive: Receive, writers: CapacityLimiter) -> None:
        self.done = False
        self._upload = upload
        self._content_type = content_type
        self._receive = receive
        self._writers = writers
        self._boundary = secrets.token_hex(16)

    def scope(self, scope: Scope) -> Scope:
        """The request as Streamlit sees it."""
        changed = dict(scope) | {"headers": list(scope["headers"])}
        headers = MutableHeaders(scope=changed)
        del headers["content-length"]
        del headers["transfer-encoding"]
        headers["content-type"] = f"multipart/form-data; boundary={self._boundary}"
        return changed

    async def receive(self) -> Message:
        """The whole short body at first, then whatever the sender does."""
        if self.done:
            return await self._receive()
        try:
            part = FilePart(self._content_type, self._write)
            await self._read(part)
        except UploadRefusedError as error:
            raise HTTPException(error.status, error.words) from error
        except BodyError as error:
            raise HTTPException(400, str(error)) from error
        except TimeoutError as error:
            raise HTTPException(408, "The upload has stopped.") from error
        except OSError as error:
            _log.exception("An upload could not be written")
            raise HTTPException(507, "The disk of the server does not take the file.") from error
        self.done = True
        return {"type": "http.request", "body": part.with_content(self._upload.receipt, self._boundary)}

    def _write(self, data: bytes) -> None:
        get_upload_store().write(self._upload, data)

    async def _read(self, part: FilePart) -> None:
        total, waiting, more, pace = 0, bytearray(), True, UploadPace()
        while more:
            message = await pace.wait(self._receive())
            pace.arrived(len(message.get("body", b"")))
            if message["type"] == "http.disconnect":
                raise BodyError("The upload broke off.")
            more = message.get("more_body", False)
            waiting += message.get("body", b"")
            total += len(message.get("body", b""))
            if total > get_upload_store().file_bytes + FORM_BYTES:
                raise UploadRefusedError(413, "The file is too large.")
            if waiting and (len(waiting) >= WRITE_BYTES or not more):
                await to_thread.run_sync(part.feed, bytes(waiting), limiter=self._writers)
                waiting.clear()
        if not part.whole:
            raise BodyError("The upload broke off.")

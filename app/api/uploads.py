"""Uploads by programs: the body of a request goes to disk while it arrives, and into the inbox once it is complete.

The ``UploadStore`` holds these files, too, so that its limits cover them. A foreign page cannot upload: browsers send
its origin with a POST (``TrustedHostMiddleware``), and no HTML form has this content type.
"""

import logging
import secrets

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from app.web import visitors
from app.web.inbox_upload import record_upload
from app.web.problem_json import get_status, make_problem_response
from app.web.upload_middleware import UploadPace
from app.web.upload_store import Upload, UploadRefusedError, get_upload_store
from profiledb import config
from profiledb.errors import CatalogError, ConversionError, StorageError
from profiledb.library.locations import open_inbox
from profiledb.library.space_registry import SpaceRegistry
from profiledb.library.spaces import EVERYBODY, folder
from profiledb.report.file_names import require_accepted

CONTENT_TYPE = "application/octet-stream"
_SESSION = "programs"
RETRY_AFTER_S = 10
"""Seconds after which a program should send a file again that found no room."""
_log = logging.getLogger("warpdeck")
_writers = CapacityLimiter(4)


async def receive_upload(request: Request) -> Response:
    """Put the body into the inbox under the name, and in the folder of the space, that the query gives."""
    try:
        return await _receive_upload(request)
    except (CatalogError, StorageError) as error:
        return make_problem_response(get_status(error), f"{error.message} {error.hint}")


async def _receive_upload(request: Request) -> Response:
    name, space = request.query_params.get("name", ""), request.query_params.get("space", EVERYBODY)
    if refusal := _refuse_upload(name, request.headers):
        return refusal
    if space and space not in await to_thread.run_sync(_get_spaces(request).visible_names, limiter=_writers):
        return make_problem_response(403, "There is no such space, or it is not yours.")
    store, file_id = get_upload_store(), secrets.token_hex(8)
    store.open_session(_SESSION)
    try:
        expected = int(request.headers["content-length"])
        upload = store.begin_upload(_SESSION, file_id, expected, visitors.get_visitor(request.scope))
    except UploadRefusedError as error:
        return _answer_refusal(error)
    except OSError:
        _log.exception("An upload cannot be written to the inbox")
        return make_problem_response(507, "The inbox cannot be written to.")
    try:
        return await _receive_body(request, upload, name, space)
    finally:
        upload.file.close()
        store.discard(upload)


def _refuse_upload(name: str, headers: Headers) -> Response | None:
    """Return the refusal of a request by its name and headers; None if its body may be read."""
    length = headers.get("content-length", "")
    if not name or len(name) > 1_000:
        return make_problem_response(400, "The address must give a name.")
    try:
        require_accepted(name)
    except ConversionError as error:
        return make_problem_response(400, error.message, error.hint)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != CONTENT_TYPE:
        return make_problem_response(415, f"The content must be {CONTENT_TYPE}.")
    if not length.isascii() or not length.isdigit() or len(length) > 18:
        return make_problem_response(411, "The Content-Length header is required.")
    return None


def _answer_refusal(error: UploadRefusedError) -> Response:
    response = make_problem_response(error.status, error.message)
    if error.status in (429, 503):
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


async def _receive_body(request: Request, upload: Upload, name: str, space: str) -> Response:
    try:
        await _write_body(request, upload)
        if upload.size and upload.size == int(request.headers["content-length"]):
            return await _place_file(request, upload, name, space)
    except UploadRefusedError as error:
        return _answer_refusal(error)
    except (ClientDisconnect, TimeoutError):
        pass
    except OSError:
        _log.exception("An upload could not be written")
        return make_problem_response(507, "The disk of the server does not take the file.")
    return make_problem_response(400, "The upload is empty or broke off.")


async def _place_file(request: Request, upload: Upload, name: str, space: str) -> Response:
    """Move a complete file into the inbox, where the worker finds it."""
    get_upload_store().complete(upload)
    file = get_upload_store().take(_SESSION, upload.receipt)
    if file is None:
        return make_problem_response(400, "The upload broke off.")
    inbox, audit = open_inbox(config.load()), visitors.get_library(request.scope).catalog.audit
    path = await to_thread.run_sync(inbox.place, file, name, folder(space), limiter=_writers)
    await to_thread.run_sync(record_upload, audit, path, inbox, limiter=_writers)
    return JSONResponse({"name": path.name, "bytes": upload.size}, status_code=202)


def _get_spaces(request: Request) -> SpaceRegistry:
    return visitors.get_library(request.scope).catalog.spaces


async def _write_body(request: Request, upload: Upload) -> None:
    """Write the body to disk as it arrives.

    Raises:
        TimeoutError: it arrives too slowly (``UploadPace``).
    """
    stream, pace = request.stream(), UploadPace()
    while True:
        chunk = await pace.wait(anext(stream, None))
        if chunk is None:
            return
        pace.count_bytes(len(chunk))
        if chunk:
            await to_thread.run_sync(get_upload_store().write, upload, chunk, limiter=_writers)

"""Uploads by programs: the body of a request goes to disk while it arrives, and into the inbox once it is complete.

The ``UploadStore`` holds these files, too, so that its limits cover them. A foreign page cannot upload: browsers send
its origin with a POST (``TrustedHostMiddleware``), and no HTML form has this content type.
"""

import logging
import re
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
from profiledb.library.spaces import EVERYBODY, get_folder
from profiledb.report.file_names import require_accepted

CONTENT_TYPE = "application/octet-stream"
_SHA256 = re.compile("[0-9a-f]{64}")
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
    sha256, offset = request.query_params.get("sha256", ""), request.query_params.get("offset", "0")
    if refusal := _refuse_upload(name, request.headers) or _refuse_part(sha256, offset):
        return refusal
    if space and space not in await to_thread.run_sync(_get_spaces(request).visible_names, limiter=_writers):
        return make_problem_response(403, "There is no such space, or it is not yours.")
    store, file_id, owner = get_upload_store(), secrets.token_hex(8), visitors.get_visitor(request.scope)
    store.open_session(_SESSION)
    try:
        if int(offset):
            upload = store.resume(sha256, owner, int(offset))
        else:
            upload = store.begin_upload(_SESSION, file_id, int(request.headers["content-length"]), owner, sha256)
    except UploadRefusedError as error:
        return _answer_refusal(error)
    except OSError:
        _log.exception("An upload cannot be written to the inbox")
        return make_problem_response(507, "The inbox cannot be written to.")
    if upload is None:
        return make_problem_response(409, "The server does not have the bytes before this offset.")
    try:
        return await _receive_body(request, upload, name, space)
    finally:
        if upload.paused_at is None:
            upload.file.close()
            store.discard(upload)


async def find_part(request: Request) -> Response:
    """Say how many bytes of a file of this SHA-256 arrived before its upload broke off."""
    sha256 = request.path_params["sha256"]
    size = get_upload_store().find_paused(sha256, visitors.get_visitor(request.scope))
    if not size:
        return make_problem_response(404, "No part of such a file waits for the rest.")
    return JSONResponse({"sha256": sha256, "bytes": size})


def _refuse_part(sha256: str, offset: str) -> Response | None:
    """Return the refusal of a request by the part of the file that it sends; None if its body may be read."""
    if sha256 and not _SHA256.fullmatch(sha256):
        return make_problem_response(400, "sha256 must be 64 digits from 0 to f.")
    if not offset.isascii() or not offset.isdigit() or len(offset) > 18 or (int(offset) and not sha256):
        return make_problem_response(400, "offset must be a number of bytes, and needs sha256.")
    return None


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
    expected = upload.size + int(request.headers["content-length"])
    try:
        await _write_body(request, upload)
        if upload.sha256 and upload.digest.hexdigest() != upload.sha256:
            return make_problem_response(422, "The content that arrived is not that of the SHA-256.")
        if upload.size and upload.size == expected:
            return await _place_file(request, upload, name, space)
    except UploadRefusedError as error:
        return _answer_refusal(error)
    except (ClientDisconnect, TimeoutError):
        if upload.sha256 and upload.size:
            get_upload_store().pause(upload)
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
    path = await to_thread.run_sync(inbox.place, file, name, get_folder(space), limiter=_writers)
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

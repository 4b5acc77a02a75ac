"""Uploads by programs: the body of a request goes to the disk while it comes in, and into the inbox when it is whole.

The files lie in the folder of all uploads (web.store) and count for the same limits. A page of elsewhere cannot send
one: browsers say where a POST comes from (web.hosts), and no form sends this type of content.
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
from profiledb.library.spaces import EVERYBODY, Spaces, folder
from profiledb.report.file_names import require_taken

CONTENT_TYPE = "application/octet-stream"
_SESSION = "programs"
RETRY_AFTER_S = 10
"""Seconds after which it makes sense to send a file again that had no room."""
_log = logging.getLogger("warpdeck")
_writers = CapacityLimiter(4)


async def receive_upload(request: Request) -> Response:
    """Puts the body into the inbox under the name that the address gives, in the folder of the space that it names."""
    try:
        return await _receive(request)
    except (CatalogError, StorageError) as error:
        return make_problem_response(get_status(error), f"{error.message} {error.hint}")


async def _receive(request: Request) -> Response:
    name, space = request.query_params.get("name", ""), request.query_params.get("space", EVERYBODY)
    if refused := _refuse(name, request.headers):
        return refused
    if space and space not in await to_thread.run_sync(_get_spaces(request).seen, limiter=_writers):
        return make_problem_response(403, "There is no such space, or it is not yours.")
    get_upload_store().open(_SESSION)
    try:
        expected = int(request.headers["content-length"])
        kept = get_upload_store().begin(_SESSION, secrets.token_hex(8), expected, visitors.get_visitor(request.scope))
    except UploadRefusedError as error:
        return _answer_refusal(error)
    except OSError:
        _log.exception("An upload cannot be written to the inbox")
        return make_problem_response(507, "The inbox cannot be written to.")
    try:
        return await _receive_body(request, kept, name, space)
    finally:
        kept.file.close()
        get_upload_store().discard(kept)


def _refuse(name: str, headers: Headers) -> Response | None:
    """What is said of a request whose body is not looked at."""
    length = headers.get("content-length", "")
    if not name or len(name) > 1_000:
        return make_problem_response(400, "The address must give a name.")
    try:
        require_taken(name)
    except ConversionError as error:
        return make_problem_response(400, error.message, error.hint)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != CONTENT_TYPE:
        return make_problem_response(415, f"The content must be {CONTENT_TYPE}.")
    if not length.isascii() or not length.isdigit() or len(length) > 18:
        return make_problem_response(411, "The length of the content must be told.")
    return None


def _answer_refusal(error: UploadRefusedError) -> Response:
    told = make_problem_response(error.status, error.words)
    if error.status in (429, 503):
        told.headers["Retry-After"] = str(RETRY_AFTER_S)
    return told


async def _receive_body(request: Request, kept: Upload, name: str, space: str) -> Response:
    try:
        await _write_body(request, kept)
        if kept.size and kept.size == int(request.headers["content-length"]):
            return await _place_file(request, kept, name, space)
    except UploadRefusedError as error:
        return _answer_refusal(error)
    except (ClientDisconnect, TimeoutError):
        pass
    except OSError:
        _log.exception("An upload could not be written")
        return make_problem_response(507, "The disk of the server does not take the file.")
    return make_problem_response(400, "The upload is empty or broke off.")


async def _place_file(request: Request, kept: Upload, name: str, space: str) -> Response:
    """Moves a whole file into the inbox, where the worker finds it."""
    get_upload_store().keep(kept)
    whole = get_upload_store().take(_SESSION, kept.receipt)
    if whole is None:
        return make_problem_response(400, "The upload broke off.")
    to = open_inbox(config.load())
    path = await to_thread.run_sync(to.place, whole, name, folder(space), limiter=_writers)
    await to_thread.run_sync(
        record_upload, visitors.get_library(request.scope).catalog.audit, path, to, limiter=_writers
    )
    return JSONResponse({"name": path.name, "bytes": kept.size}, status_code=202)


def _get_spaces(request: Request) -> Spaces:
    return visitors.get_library(request.scope).catalog.spaces


async def _write_body(request: Request, kept: Upload) -> None:
    """Writes the body as it comes; raises TimeoutError where too little of it comes."""
    stream, pace = request.stream(), UploadPace()
    while True:
        piece = await pace.wait(anext(stream, None))
        if piece is None:
            return
        pace.arrived(len(piece))
        if piece:
            await to_thread.run_sync(get_upload_store().write, kept, piece, limiter=_writers)

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
from app.web.inbox_stream import note
from app.web.problem_json import problem, status
from app.web.upload_middleware import Pace
from app.web.upload_store import RefusedError, Upload, store
from profiledb import config
from profiledb.errors import CatalogError, ConversionError, StorageError
from profiledb.library.locations import open_inbox
from profiledb.library.space_registry import SpaceRegistry
from profiledb.library.spaces import EVERYBODY, folder
from profiledb.report.file_names import require_accepted

CONTENT = "application/octet-stream"
_SESSION = "programs"
AGAIN_S = 10
"""Seconds after which it makes sense to send a file again that had no room."""
_log = logging.getLogger("warpdeck")
_writers = CapacityLimiter(4)


async def upload(request: Request) -> Response:
    """Puts the body into the inbox under the name that the address gives, in the folder of the space that it names."""
    try:
        return await _upload(request)
    except (CatalogError, StorageError) as error:
        return problem(status(error), f"{error.message} {error.hint}")


async def _upload(request: Request) -> Response:
    name, space = request.query_params.get("name", ""), request.query_params.get("space", EVERYBODY)
    if refused := _refusal(name, request.headers):
        return refused
    if space and space not in await to_thread.run_sync(_spaces(request).visible_names, limiter=_writers):
        return problem(403, "There is no such space, or it is not yours.")
    store().open(_SESSION)
    try:
        expected = int(request.headers["content-length"])
        kept = store().begin(_SESSION, secrets.token_hex(8), expected, visitors.of(request.scope))
    except RefusedError as error:
        return _refused(error)
    except OSError:
        _log.exception("An upload cannot be written to the inbox")
        return problem(507, "The inbox cannot be written to.")
    try:
        return await _received(request, kept, name, space)
    finally:
        kept.file.close()
        store().discard(kept)


def _refusal(name: str, headers: Headers) -> Response | None:
    """What is said of a request whose body is not looked at."""
    length = headers.get("content-length", "")
    if not name or len(name) > 1_000:
        return problem(400, "The address must give a name.")
    try:
        require_accepted(name)
    except ConversionError as error:
        return problem(400, error.message, error.hint)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != CONTENT:
        return problem(415, f"The content must be {CONTENT}.")
    if not length.isascii() or not length.isdigit() or len(length) > 18:
        return problem(411, "The length of the content must be told.")
    return None


def _refused(error: RefusedError) -> Response:
    told = problem(error.status, error.words)
    if error.status in (429, 503):
        told.headers["Retry-After"] = str(AGAIN_S)
    return told


async def _received(request: Request, kept: Upload, name: str, space: str) -> Response:
    try:
        await _read(request, kept)
        if kept.size and kept.size == int(request.headers["content-length"]):
            return await _placed(request, kept, name, space)
    except RefusedError as error:
        return _refused(error)
    except (ClientDisconnect, TimeoutError):
        pass
    except OSError:
        _log.exception("An upload could not be written")
        return problem(507, "The disk of the server does not take the file.")
    return problem(400, "The upload is empty or broke off.")


async def _placed(request: Request, kept: Upload, name: str, space: str) -> Response:
    """Moves a whole file into the inbox, where the worker finds it."""
    store().keep(kept)
    whole = store().take(_SESSION, kept.receipt)
    if whole is None:
        return problem(400, "The upload broke off.")
    to = open_inbox(config.load())
    path = await to_thread.run_sync(to.place, whole, name, folder(space), limiter=_writers)
    await to_thread.run_sync(note, visitors.library(request.scope).catalog.audit, path, to, limiter=_writers)
    return JSONResponse({"name": path.name, "bytes": kept.size}, status_code=202)


def _spaces(request: Request) -> SpaceRegistry:
    return visitors.library(request.scope).catalog.spaces


async def _read(request: Request, kept: Upload) -> None:
    """Writes the body as it comes; raises TimeoutError where too little of it comes."""
    stream, pace = request.stream(), Pace()
    while True:
        piece = await pace.wait(anext(stream, None))
        if piece is None:
            return
        pace.arrived(len(piece))
        if piece:
            await to_thread.run_sync(store().write, kept, piece, limiter=_writers)

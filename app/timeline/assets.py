"""The scripts and styles of the timeline, served under a folder named by their content, so that browsers keep them."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.web import url_paths

PREFIX = "/_warpdeck/timeline/static"
FOLDER = Path(__file__).with_name("static")
_TYPES = {".js": "text/javascript", ".css": "text/css"}
_KEEP = {"Cache-Control": "private, max-age=31536000, immutable"}


@cache
def files() -> Mapping[str, bytes]:
    """What the folder held when the server started, by name: modules of one version fit each other."""
    return {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in _TYPES}


@cache
def digest() -> str:
    """What changes when any of the files does."""
    sums = b"".join(hashlib.sha256(name.encode() + b"\0" + data).digest() for name, data in files().items())
    return hashlib.sha256(sums).hexdigest()[:16]


def path() -> str:
    """The folder's address below that of the dashboard, with a slash at its end."""
    return f"{PREFIX}/{digest()}/"


def route() -> Route:
    """The address at which the files are."""
    return Route(url_paths.at(f"{PREFIX}/{{digest}}/{{name}}"), answer)


async def answer(request: Request) -> Response:
    """One file; nothing under another version's name."""
    name = request.path_params["name"]
    data = files().get(name) if request.path_params["digest"] == digest() else None
    if data is None:
        return PlainTextResponse("Not found", status_code=404)
    return Response(data, media_type=_TYPES[Path(name).suffix], headers=_KEEP)

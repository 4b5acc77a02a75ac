"""Serve the timeline's scripts and styles below a path with their digest, so that browsers cache them for good."""

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
_CACHE_FOREVER = {"Cache-Control": "private, max-age=31536000, immutable"}


@cache
def load_files() -> Mapping[str, bytes]:
    """Return the files by name as of the server's start; a later change on disk would mix modules of two versions."""
    return {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in _TYPES}


@cache
def compute_digest() -> str:
    """Return a digest of all files."""
    sums = b"".join(hashlib.sha256(name.encode() + b"\0" + data).digest() for name, data in load_files().items())
    return hashlib.sha256(sums).hexdigest()[:16]


def get_folder_path() -> str:
    """Return the folder's path below the address of the dashboard, with a trailing slash."""
    return f"{PREFIX}/{compute_digest()}/"


def make_route() -> Route:
    """Return the route of the files."""
    return Route(url_paths.add_base(f"{PREFIX}/{{digest}}/{{name}}"), serve_file)


async def serve_file(request: Request) -> Response:
    """Serve a file; 404 for the digest of another version."""
    name = request.path_params["name"]
    data = load_files().get(name) if request.path_params["digest"] == compute_digest() else None
    if data is None:
        return PlainTextResponse("Not found", status_code=404)
    return Response(data, media_type=_TYPES[Path(name).suffix], headers=_CACHE_FOREVER)

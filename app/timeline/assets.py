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
_CACHE_FOREVER = {"Cache-Control": "private, max-age=31536000, immutable"}


@cache
def load_files() -> Mapping[str, bytes]:
    """What the folder held when the server started, by name: modules of one version fit each other."""
    return {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in _TYPES}


@cache
def compute_digest() -> str:
    """What changes when any of the files does."""
    sums = b"".join(hashlib.sha256(name.encode() + b"\0" + data).digest() for name, data in load_files().items())
    return hashlib.sha256(sums).hexdigest()[:16]


def get_folder_path() -> str:
    """The folder's address below that of the dashboard, with a slash at its end."""
    return f"{PREFIX}/{compute_digest()}/"


def make_route() -> Route:
    """The address at which the files are."""
    return Route(url_paths.add_base(f"{PREFIX}/{{digest}}/{{name}}"), serve_file)


async def serve_file(request: Request) -> Response:
    """One file; nothing under another version's name."""
    name = request.path_params["name"]
    data = load_files().get(name) if request.path_params["digest"] == compute_digest() else None
    if data is None:
        return PlainTextResponse("Not found", status_code=404)
    return Response(data, media_type=_TYPES[Path(name).suffix], headers=_CACHE_FOREVER)

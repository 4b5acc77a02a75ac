"""Open links in the browser, or tell how to reach them from another machine."""

import os
import socket
import webbrowser
from urllib.parse import urlencode

from app import page_list
from profiledb import terminal
from profiledb.library.catalog import Manifest
from profiledb.library.server_file import Serving


def make_link(serving: Serving, manifest: Manifest | None = None) -> str:
    """Return the URL of a report's first page on a server of this machine, or without a report that of the Library."""
    home = f"http://localhost:{serving.port}{serving.base}/"
    return f"{home}{page_list.get_first_view(manifest).url}?{urlencode({'report': manifest.id})}" if manifest else home


def can_open() -> bool:
    """Return True if there is a visible browser: BROWSER names one, or a display exists."""
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def open_link(address: str, serving: Serving) -> None:
    """Open a link, or print how to open it by hand."""
    if can_open() and webbrowser.open(address):
        return
    if os.environ.get("SSH_CONNECTION"):
        terminal.say(
            f"To open the link on your own machine, forward the port from there: ssh -N -L"
            f" {serving.port}:localhost:{serving.port} {socket.gethostname()}"
        )
    else:
        terminal.say("No browser was found: open the link in one.")

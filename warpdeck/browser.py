"""Opens links in the browser, or says how to get there from another machine."""

import os
import socket
import webbrowser
from urllib.parse import urlencode

from app import page_list
from profiledb import terminal
from profiledb.library.catalog import Manifest
from profiledb.library.server_file import Serving


def link(serving: Serving, manifest: Manifest | None = None) -> str:
    """The address of a report on a server of this machine, on its first page; without one that of the Library."""
    home = f"http://localhost:{serving.port}{serving.base}/"
    return f"{home}{page_list.get_first_view(manifest).url}?{urlencode({'report': manifest.id})}" if manifest else home


def can_open() -> bool:
    """Whether there is a browser that somebody sees: one that BROWSER names, or a display."""
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def show(address: str, serving: Serving) -> None:
    """Opens a link; where that cannot be, says what to do."""
    if can_open() and webbrowser.open(address):
        return
    if os.environ.get("SSH_CONNECTION"):
        terminal.say(
            f"To open the link on your own machine, forward the port from there: ssh -N -L"
            f" {serving.port}:localhost:{serving.port} {socket.gethostname()}"
        )
    else:
        terminal.say("No browser was found: open the link in one.")

"""Wrap every private module of Streamlit that the app needs, so that an upgrade has one file to check.

Streamlit keeps only ``import streamlit`` and ``streamlit.typing`` stable, hence the pin to one minor version in
``pyproject.toml``. ``tests/app/test_streamlit_private.py`` fails where another file imports anything else of it.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from streamlit import config
from streamlit import logger as streamlit_logger
from streamlit.auth_util import get_cookie_with_chunks, get_origin_from_redirect_uri
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitSecretNotFoundError
from streamlit.navigation.page import StreamlitPage
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web import cli
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

__all__ = ["DeltaGenerator", "StreamlitPage", "StreamlitSecretNotFoundError", "is_host_allowed"]
# The types of containers and pages; the error of ``st.secrets`` without a secrets file; the check of a Host header
# against server.allowedHosts, which Streamlit does for its WebSocket alone.

_PACKAGE = "warpdeck"


def run_script(script: Path, options: Sequence[str]) -> None:
    """Serve a script as ``streamlit run`` does; there is no public way to start the server from Python.

    Raises:
        click.Abort: the process got Ctrl-C.
    """
    cli.main(["run", str(script), *options], standalone_mode=False)


def set_option(name: str, value: Any) -> None:
    """Set an option of the running server; ``st.set_option`` refuses those of the section ``server``."""
    config.set_option(name, value)


def set_log_handler(make_handler: Callable[[], logging.Handler]) -> None:
    """Give every logger of Streamlit, also those to come, a handler of ours; each makes its own otherwise."""

    def set_handler(logger: logging.Logger) -> None:
        logger.handlers = [make_handler()]

    streamlit_logger.setup_formatter = set_handler
    streamlit_logger.update_formatter()


def get_session_id() -> str:
    """Return the id of the session whose page script is running; uploads are addressed by it.

    Raises:
        RuntimeError: no page script is running.
    """
    context = get_script_run_ctx()
    if context is None:
        raise RuntimeError("No page script is running.")
    return context.session_id


def is_callback_running() -> bool:
    """Return True while a callback of a widget runs, before the page script has drawn anything."""
    context = get_script_run_ctx()
    return context is not None and not context.has_script_started


def forget_fragments() -> None:
    """Forget the fragments of this session, so that a timer of the page that was left cannot run one any more."""
    if context := get_script_run_ctx():
        context.fragment_storage.clear()


def register_component(name: str, root: Path, folder: str) -> str:
    """Tell Streamlit where the files of a component are, and return the name to mount it by.

    Streamlit looks for this in the ``pyproject.toml`` of installed packages alone. A component from a string, which it
    takes publicly, runs from a ``blob:`` address that our content security policy refuses.

    Args:
        name: the component.
        root: a folder of ours.
        folder: the folder of the component's files below ``root``.
    """
    manager, full_name = get_bidi_component_manager(), f"{_PACKAGE}.{name}"
    if manager.get_component_asset_root(full_name) is None:
        component = ComponentConfig(name=name, asset_dir=folder)
        manager.register_from_manifest(ComponentManifest(name=_PACKAGE, version="1", components=[component]), root)
    return full_name


def get_login_origin() -> str:
    """Return where people log in to, such as ``https://profiles.example.com``; empty unless the secrets say so."""
    return get_origin_from_redirect_uri() or ""


def read_login_cookie(cookies: Mapping[str, str]) -> bytes | None:
    """Return the content of Streamlit's login cookie, or None if it is missing or its signature is wrong.

    ``st.user`` has it on a page only; downloads, uploads and our own routes have the cookies of the request.
    """
    secret = get_cookie_secret()

    def read_cookie(name: str) -> bytes | None:
        value = cookies.get(name)
        return decode_signed_value(secret, name, value.encode("latin-1", "replace")) if value else None

    return get_cookie_with_chunks(read_cookie, USER_COOKIE_NAME)


def parse_message_kind(message: bytes) -> str:
    """Return the kind of a browser's WebSocket message, such as ``rerun_script``; empty if it has none.

    Raises:
        ValueError: the bytes are no message.
    """
    parsed = BackMsg()
    try:
        parsed.ParseFromString(message)
    except DecodeError as error:
        raise ValueError("The bytes are no message of a browser.") from error
    return parsed.WhichOneof("type") or ""

"""What is settled when the server starts: limits, the login, and a warning where anybody may come in."""

import importlib.util
import ipaddress
import logging
import secrets as randoms
from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit import config as streamlit_config

from app.web import login_cookie
from profiledb import config
from profiledb.access.operations.tokens import open_tokens
from profiledb.config import Settings
from profiledb.errors import ConfigError, WarpdeckError
from profiledb.library import team_database
from profiledb.monitoring import logs

LEAST_SECRET = 32
"""Characters of a cookie secret that nobody guesses."""

_NEEDED = ("redirect_uri", "cookie_secret")
_OF_PROVIDER = ("client_id", "client_secret", "server_metadata_url")
_log = logging.getLogger("warpdeck")


def prepare() -> None:
    """Checks the settings, sets what Streamlit has to know of them, and warns.

    Raises:
        ConfigError: a setting or the section ``[auth]`` is wrong, or settings of a login stand there without a login.
        RefusedError: PostgreSQL refuses the user of this server.
    """
    settings = config.load()
    log(settings.log)
    if settings.database:
        team_database.require_access(settings.database)
    streamlit_config.set_option("server.maxUploadSize", settings.max_upload_mb)
    address = str(st.get_option("server.address") or "")
    if login_cookie.login():
        check_login(login_cookie.section() or {}, settings)
        _date_tokens(settings)
    elif wanted := config.variables_with_prefix("WARPDECK_LOGIN_"):
        raise ConfigError(
            f"{' and '.join(wanted)} would limit who may do what, but nobody has to log in: Streamlit's secrets have"
            " no section [auth]."
        )
    elif not loopback(address):
        _log.warning(
            "Warpdeck listens on %s WITHOUT A LOGIN: whoever reaches this port can read, upload and delete every"
            " report. Listen on localhost (in a container: publish the port on 127.0.0.1), or set up a login"
            " (docs/team.md, Behind a proxy, with login).",
            address or "all addresses",
        )
    if not st.get_option("server.allowedHosts") or "*" in st.get_option("server.allowedHosts"):
        _log.warning("server.allowedHosts allows every host name: pages of other sites can reach this server.")


def _date_tokens(settings: Settings) -> None:
    """Tokens of an earlier version get their end; without the database that waits for the next start."""
    try:
        open_tokens(settings).date()
    except WarpdeckError as error:
        _log.error("Tokens of an earlier version have no end yet: %s", error.message)


def log(form: str) -> None:
    """Has this server log in a form of ``logs.FORMS``, with what Streamlit and its server log.

    Their loggers write by themselves, each with a handler that Streamlit makes, also for those to come.
    """
    logs.configure(form)
    if form != logs.JSON:
        return
    from streamlit import logger as streamlit_logger

    def in_our_form(logger: logging.Logger) -> None:
        logger.handlers = [logs.handler()]

    streamlit_logger.setup_formatter = in_our_form
    streamlit_logger.update_formatter()


def check_login(auth: Mapping[str, Any], settings: Settings) -> None:
    """Looks whether a login can work.

    Raises:
        ConfigError: a package or a key is missing, the cookie secret is short, or nobody could have a role.
    """
    if not importlib.util.find_spec("authlib") or not importlib.util.find_spec("httpx"):
        raise ConfigError("Streamlit's secrets have a section [auth], but Authlib is missing: pip install '.[auth]'.")
    named = login_cookie.providers(auth)
    missing = [f"auth.{key}" for key in _NEEDED if not auth.get(key)]
    for name in named or [""]:
        section = auth[name] if name else auth
        missing += [f"auth.{name}.{key}".replace("..", ".") for key in _OF_PROVIDER if not section.get(key)]
    if missing:
        raise ConfigError(f"Streamlit's secrets lack {', '.join(missing)}.")
    if len(str(auth["cookie_secret"])) < LEAST_SECRET:
        raise ConfigError(
            f"auth.cookie_secret has fewer than {LEAST_SECRET} characters; take for example {randoms.token_hex(32)}."
        )
    if not settings.login_editors | settings.login_viewers:
        raise ConfigError("WARPDECK_LOGIN_EDITORS and WARPDECK_LOGIN_VIEWERS name nobody.")


def loopback(address: str) -> bool:
    """Whether only this machine reaches an address; an empty one is all of them."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False

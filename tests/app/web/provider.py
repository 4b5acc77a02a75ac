"""A real OpenID Connect provider on this machine, dashboards that trust it, and people who log in."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from bench.pages import Server, find_free_port, run_server
from tests.app.web.client import BackMsg, session
from tests.conftest import wait_until

PEOPLE: Mapping[str, Mapping[str, object]] = {
    "ada": {"name": "Ada", "email": "ada@example.com", "realm": {"roles": ["gpu-chief"]}},
    "edith": {"name": "Edith", "realm": {"roles": ["offline", "gpu-editor"]}},
    "victor": {"name": "Victor", "realm": {"roles": "gpu-viewer"}},
    "sam": {"name": "Sam", "realm": {"roles": ["other", "*"]}},
    "nora": {"name": "Nora"},
}
ROLES = {
    "WARPDECK_LOGIN_CLAIM": "realm.roles",
    "WARPDECK_LOGIN_ADMINS": "gpu-chief",
    "WARPDECK_LOGIN_EDITORS": "gpu-admin, gpu-editor",
    "WARPDECK_LOGIN_VIEWERS": "gpu-viewer",
}


@contextmanager
def provider(port: int = 0) -> Iterator[str]:
    """Runs the provider as a process of its own, on a port that is free or the one that is named; gives its address."""
    port = port or find_free_port()
    with listening([sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)], port) as address:
        for name, claims in PEOPLE.items():
            httpx.put(f"{address}/users/{name}", json=dict(claims)).raise_for_status()
        yield address


@contextmanager
def listening(command: list[str], port: int) -> Iterator[str]:
    """Run the command of a provider and wait until it answers on this port; yield its address."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{address}/.well-known/openid-configuration").is_success
        except httpx.TransportError:
            return False

    try:
        wait_until(answers)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def process_of(issuer: str) -> psutil.Process:
    """The process of a provider, by its address."""
    port = issuer.rpartition(":")[2]
    children = psutil.Process().children()
    return next(one for one in children if "oidc_provider_mock" in (words := one.cmdline()) and port in words)


def write_secrets(path: Path, issuer: str, port: int, scheme: str = "http") -> str:
    """Writes Streamlit's secrets for that provider; answers the cookie secret."""
    secret = secrets.token_hex(32)
    path.write_text(
        f'[auth]\nredirect_uri = "{scheme}://127.0.0.1:{port}/oauth2callback"\ncookie_secret = "{secret}"\n'
        f'client_id = "warpdeck"\nclient_secret = "anything"\n'
        f'server_metadata_url = "{issuer}/.well-known/openid-configuration"\n'
    )
    path.chmod(0o600)
    return secret


@contextmanager
def guarded(
    issuer: str, data: Path, secrets_file: Path, scheme: str = "http", **more: str
) -> Iterator[tuple[Server, str]]:
    """Runs a dashboard with a login, to which people come by this scheme; gives it and its cookie secret."""
    port = find_free_port()
    secret = write_secrets(secrets_file, issuer, port, scheme)
    settings = {
        "WARPDECK_DATA": str(data),
        "WARPDECK_SAMPLES": "off",
        "WARPDECK_WORKER": "off",
        "STREAMLIT_SECRETS_FILES": str(secrets_file),
    }
    with run_server(settings | ROLES | more, {"address": "127.0.0.1"}, port=port) as running:
        yield running, secret


def way_in(address: str) -> str:
    """Presses "Log in" on the page; answers the way of the dashboard that leads to the provider."""
    with session(address) as page:
        page.run()
        button = next(
            message.delta.new_element.button.id
            for message in page.said
            if message.delta.new_element.WhichOneof("type") == "button"
        )

        def press(message: BackMsg) -> None:
            state = message.rerun_script.widget_states.widgets.add()
            state.id, state.trigger_value = button, True

        heard = page.run(states=press)
        return next(m.auth_redirect.url for m in heard if m.WhichOneof("type") == "auth_redirect")


def log_in(address: str, name: str) -> dict[str, str]:
    """Presses "Log in" on the page and follows the provider's way back; answers the cookies of the browser."""
    with httpx.Client(follow_redirects=True, timeout=60) as browser:
        form = browser.get(f"{address}{way_in(address)}")
        form.raise_for_status()
        back = browser.post(form.url, data={"sub": name})
        back.raise_for_status()
        assert str(back.url).startswith(address)
        return {cookie.name: cookie.value or "" for cookie in browser.cookies.jar}

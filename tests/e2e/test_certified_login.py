"""Logging in at a certified OpenID provider, on two servers behind a proxy: forms, roles, answers that are wrong."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.pages import Server, find_free_port, run_server
from tests.app.web.client import ask, session
from tests.app.web.provider import ROLES, write_secrets
from tests.support.certified_provider import SECRETS, provider, sign_in
from tests.support.nginx_proxy import COOKIE, behind, ways

pytestmark = pytest.mark.browser
LOGIN = "_streamlit_user"


@pytest.fixture(scope="module")
def certified(
    tmp_path_factory: pytest.TempPathFactory, nginx: Path
) -> Iterator[tuple[str, tuple[Server, Server], Path]]:
    """The address of a proxy, the two servers behind it with the same secrets, and the proxy's folder."""
    folder, port = tmp_path_factory.mktemp("certified"), find_free_port()
    secrets, address = folder / "secrets.toml", f"http://127.0.0.1:{port}"
    settings = ROLES | {
        "WARPDECK_DATA": str(folder / "data"),
        "WARPDECK_SAMPLES": "off",
        "WARPDECK_WORKER": "off",
        "STREAMLIT_SECRETS_FILES": str(secrets),
    }
    with provider(address) as issuer:
        write_secrets(secrets, issuer, port)
        with secrets.open("a") as file:
            file.write(SECRETS)
        with (
            run_server(settings, {}) as one,
            run_server(settings, {}) as other,
            behind(nginx, (one, other), folder, port),
        ):
            yield address, (one, other), folder


@pytest.mark.parametrize("name", ["another's", "elsewhere", "expired", "replayed"])
def test_what_the_provider_signs_for_others_is_no_login(
    certified: tuple[str, tuple[Server, Server], Path], name: str
) -> None:
    assert LOGIN not in sign_in(certified[0], name)


def test_claims_say_who_may_do_what(certified: tuple[str, tuple[Server, Server], Path]) -> None:
    address = certified[0]
    for name, changes, administers in (("ada", 202, True), ("edith", 202, False), ("victor", 403, False)):
        cookies = sign_in(address, name)
        with session(address, cookies) as page:
            page.run("admin")
            assert ("Tokens for programs" in page.text()) is administers, name
            octets = "application/octet-stream"
            sent = ask(
                address, f"/api/v1/uploads?name={name}.txt", "POST", b"x", Cookie=page.cookie, Content_Type=octets
            )
            assert sent.status == changes, sent.body
    with session(address, sign_in(address, "nora")) as page:
        page.run()
        assert "have no role here" in page.text()


@pytest.mark.slow("starts and ends servers")
def test_a_login_outlives_its_server(page: Page, certified: tuple[str, tuple[Server, Server], Path]) -> None:
    address, servers, folder = certified
    page.goto(address)
    page.get_by_role("button", name="Log in").click()
    page.get_by_placeholder("Enter any login").fill("edith")
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Edith, editor")).to_be_visible()
    key = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == COOKIE)
    (way,) = ways(folder, key)
    os.kill(next(one.pid for one in servers if one.address.endswith(way)), signal.SIGKILL)
    page.goto(address)
    expect(page.get_by_text("Edith, editor")).to_be_visible()
    assert len(ways(folder, key)) > 1
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Yes, sign me out").click()
    expect(page.get_by_text("Log in to see the reports.")).to_be_visible()

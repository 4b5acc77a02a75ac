"""Logging out ends the login on the server: a copied cookie opens nothing afterward."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.pages import Server, find_free_port, run_server
from profiledb.library.database import Shared
from profiledb.library.library import Library
from tests.app.web.client import BackMsg, ConnectionClosed, Session, ask, session
from tests.app.web.provider import ROLES, guarded, log_in, write_secrets
from tests.app.web.test_access_log import report_file
from tests.app.web.test_login import buttons, press
from tests.conftest import ingest_files, wait_until
from tests.support.dropped_files import made

pytestmark = pytest.mark.integration
NAME = "small.sqlite"
LOG_IN = "Log in to see the reports."


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logout")
    ingest_files(folder, [made(folder / NAME)])
    return folder


@pytest.fixture(scope="module")
def dashboard(issuer: str, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with guarded(issuer, data, tmp_path_factory.mktemp("secrets") / "secrets.toml") as (running, _):
        yield running


def header(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


def is_open(address: str, cookies: dict[str, str]) -> bool:
    """Whether these cookies still open anything: by HTTP and by WebSocket, which must agree."""
    status = ask(address, "/api/v1/reports", Cookie=header(cookies)).status
    with session(address, cookies) as page:
        page.run()
        assert (NAME in page.text()) is (LOG_IN not in page.text())
        assert (status == 200) is (NAME in page.text())
    assert status in (200, 401)
    return status == 200


def said(data: Path, action: str) -> list[str]:
    return [one.who for one in Library(data / "library").catalog.audit.entries(action=action)]


def leave_by_page(address: str, page: Session) -> str:
    """Presses "Log out"; the address that the browser is then sent to."""
    (button,) = buttons(page, "Log out")
    press(page, button)
    heard = [message.auth_redirect.url for message in page.said if message.WhichOneof("type") == "auth_redirect"]
    return heard[-1]


def test_a_copied_cookie_opens_nothing_after_logging_out(dashboard: Server, data: Path) -> None:
    address = dashboard.address
    mine, victor = log_in(address, "edith"), log_in(address, "victor")
    copied = dict(mine)
    assert is_open(address, copied)
    with session(address, mine) as left, session(address, mine) as other, session(address, mine) as page:
        left.run()
        other.run("summary")
        assert ask(address, other.made_file(report_file(other, ".html")), Cookie=other.cookie).status == 200
        page.run()
        path = "/media/" + left.text().split("/media/")[1].split('"')[0]
        assert ask(address, path, Cookie=left.cookie).status == 200
        to = leave_by_page(address, page)
        assert LOG_IN in page.text()
        # What was open before is logged out with the next message, and loads nothing more.
        before = len(left.said)
        left.run("kernels")
        assert LOG_IN in "".join(map(str, left.said[before:]))
        assert NAME not in "".join(map(str, left.said[before:]))
        assert ask(address, path, Cookie=left.cookie).status == 401
        assert left.put(b"x").status == 401
        with pytest.raises(ConnectionClosed):
            other.made_file(report_file(other, ".html"))
    assert not is_open(address, copied)
    assert is_open(address, victor), "nobody else is logged out"
    gone = ask(address, to, Cookie=header(copied))
    assert gone.status == 303
    assert "end_session" in gone.headers["location"] or "logout" in gone.headers["location"]
    again = log_in(address, "edith")
    assert is_open(address, again)
    assert not is_open(address, copied), "a later login does not bring it back"
    assert said(data, "logged out")[0].startswith('"Edith"')
    assert any(who.startswith('"Edith"') for who in said(data, "logged in"))


def test_only_our_own_pages_log_somebody_out(dashboard: Server) -> None:
    address = dashboard.address
    cookies = log_in(address, "edith")
    for method in ("GET", "HEAD"):  # a picture or a link of another page
        refused = ask(address, "/auth/logout", method, Cookie=header(cookies))
        assert (refused.status, refused.headers["allow"]) == (405, "POST")
        assert "set-cookie" not in refused.headers
    foreign = ask(address, "/auth/logout", "POST", b"", Cookie=header(cookies), Origin="http://evil.example")
    assert foreign.status == 403
    assert ask(address, "/auth/logout", "POST", b"", Cookie=header(cookies)).status == 403
    assert "set-cookie" not in ask(address, "/auth/logout").headers, "who has no login keeps what they have"
    assert is_open(address, cookies)
    ended = ask(address, "/auth/logout", "POST", b"", Cookie=header(cookies), Origin=address)
    assert ended.status == 303
    assert not is_open(address, cookies)


def test_an_admin_logs_a_person_out(dashboard: Server, data: Path) -> None:
    address = dashboard.address
    victor, ada = log_in(address, "victor"), log_in(address, "ada")
    with session(address, ada) as admin:
        admin.run("admin")
        elements = [message.delta.new_element for message in admin.said if message.HasField("delta")]
        (button,) = {one.button.id for one in elements if one.button.form_id == "admin-login-end"}
        ((choice, people),) = {
            (one.selectbox.id, tuple(one.selectbox.options))
            for one in elements
            if one.selectbox.form_id == "admin-login-end"
        }
        assert '"Victor", victor' in people

        def fill_in(message: BackMsg) -> None:
            chosen, pressed = (message.rerun_script.widget_states.widgets.add() for _ in range(2))
            chosen.id, chosen.string_value = choice, '"Victor", victor'
            pressed.id, pressed.trigger_value = button, True

        admin.run("admin", fill_in)
    assert not is_open(address, victor)
    assert is_open(address, ada)
    (entry,) = Library(data / "library").catalog.audit.entries(action="ended logins")
    assert entry.who.startswith('"Ada"')
    assert entry.about == 'of "Victor", victor'


def test_every_server_of_a_team_hears_of_it(issuer: str, team: Shared, tmp_path: Path) -> None:
    secrets, port = tmp_path / "secrets.toml", find_free_port()
    write_secrets(secrets, issuer, port)
    data = {name: str(tmp_path / name) for name in ("one", "other")}
    settings = ROLES | {
        "WARPDECK_DATABASE": team.url, "WARPDECK_SAMPLES": "off", "WARPDECK_WORKER": "off",
        "STREAMLIT_SECRETS_FILES": str(secrets),
    }  # fmt: skip

    def status(running: Server, cookies: dict[str, str]) -> int:
        return ask(running.address, "/api/v1/reports", Cookie=header(cookies)).status

    with (
        run_server(settings | {"WARPDECK_DATA": data["one"]}, {}, port=port) as one,
        run_server(settings | {"WARPDECK_DATA": data["other"]}, {}) as other,
    ):
        cookies = log_in(one.address, "edith")
        assert [status(each, cookies) for each in (one, other)] == [200, 200]
        assert ask(one.address, "/auth/logout", "POST", b"", Cookie=header(cookies), Origin=one.address).status == 303
        assert status(one, cookies) == 401, "at once where it was said"
        wait_until(lambda: status(other, cookies) == 401)


def test_a_lost_catalog_opens_nothing(dashboard: Server, data: Path) -> None:
    """Here it loses the logins alone; every other test logs its people in by itself."""
    cookies = log_in(dashboard.address, "edith")
    assert ask(dashboard.address, "/api/v1/reports", Cookie=header(cookies)).status == 200
    with Library(data / "library").catalog.transaction() as db:
        db.execute("DELETE FROM login")
    assert ask(dashboard.address, "/api/v1/reports", Cookie=header(cookies)).status == 401


def test_cookies_are_for_https_alone_where_people_come_by_it(issuer: str, dashboard: Server, tmp_path: Path) -> None:
    def given(address: str, scheme: str = "http") -> str:
        return ask(address, "/_stcore/health", X_Forwarded_Proto=scheme).headers["set-cookie"].lower()

    assert "secure" not in given(dashboard.address), "a browser would not send it back by http"
    # A proxy on this machine is believed by itself.
    assert given(dashboard.address, "https").endswith("; secure")
    with guarded(issuer, tmp_path / "data", tmp_path / "secrets.toml", "https") as (running, _):
        assert given(running.address).endswith("; secure")

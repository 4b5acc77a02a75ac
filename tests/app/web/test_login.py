"""With a login, strangers see nothing and viewers change nothing, by any protocol."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from app.page_list import VIEWS
from bench.pages import Server
from profiledb.access.operations.tokens import Tokens
from profiledb.library.library import Library
from profiledb.library.visitor import Visitor
from tests.app.web.client import BackMsg, Session, ask, form, session
from tests.app.web.provider import guarded, log_in
from tests.conftest import ROOT, SAMPLES, ingest_files

pytestmark = pytest.mark.integration
NAME = "transformer_inference.sqlite"
COOKIE, GENERATION = "_streamlit_user", "warpdeck_login"
Signed = Callable[..., str]
ROADS = (
    "/component/x/y.js",
    "/_stcore/bidi-components/x/y.js",
    "/media/x.csv",
    "/anything",
    "/app/static/x",
    "/api/tiles",
    "/api/v1/reports",
    "/api/v1/uploads",
    "/mcp",
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with one report, and a file that could not be read."""
    folder = tmp_path_factory.mktemp("login")
    broken = folder / "broken.nsys-rep"
    broken.write_bytes(b"NVIDIA Tegra Profiler Report " + bytes(500))
    ingest_files(folder, [SAMPLES / NAME, broken])
    return folder


@pytest.fixture(scope="module")
def dashboard(issuer: str, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    with guarded(issuer, data, tmp_path_factory.mktemp("secrets") / "secrets.toml") as running:
        yield running


@pytest.fixture(scope="module")
def address(dashboard: tuple[Server, str]) -> str:
    return dashboard[0].address


@pytest.fixture(scope="module")
def cookies(address: str) -> dict[str, dict[str, str]]:
    """The cookies of everybody who has logged in at the provider."""
    return {name: log_in(address, name) for name in ("ada", "edith", "victor", "sam", "nora")}


def buttons(page: Session, label: str) -> list[str]:
    """The ids of the buttons that say this."""
    said = [m.delta.new_element.button for m in page.said if m.delta.new_element.WhichOneof("type") == "button"]
    return [one.id for one in said if one.label == label]


def press(page: Session, button: str, view: str = "") -> str:
    """Press a button, visible or not, and return the server's messages."""

    def states(message: BackMsg) -> None:
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.trigger_value = button, True

    return "\n".join(map(str, page.run(view, states)))


def told(page: Session, data: Path) -> list[str]:
    """The words about the library that the server's messages contain."""
    report = Library(data / "library").list()[0]
    words = [report.name, report.id, report.name.partition(".")[0], "broken.nsys-rep", str(data), "Kernels", "Idle"]
    words += [report.gpu] if report.gpu else []
    return [word for word in words if word in page.text()]


def download(page: Session) -> str:
    """The address of a download that a page offers."""
    page.run("kernels")
    return "/media/" + page.text().split("/media/")[1].split('"')[0]


@pytest.mark.parametrize("view", ["", *(one.url for one in VIEWS)])
def test_nobody_sees_nothing_of_any_report(address: str, data: Path, view: str) -> None:
    report = Library(data / "library").list()[0]
    with session(address) as page:
        page.run(view)
        page.run(view, report=report.id)
        assert "Log in to see the reports." in page.text()
        assert told(page, data) == []


@pytest.mark.parametrize("name", ["sam", "nora"])
def test_who_has_no_role_sees_a_sentence(
    address: str, data: Path, cookies: dict[str, dict[str, str]], name: str
) -> None:
    with session(address, cookies[name]) as page:
        page.run("kernels")
        assert "have no role here" in page.text()
        assert told(page, data) == []
        assert page.put(b"x").status == 403
        assert ask(address, "/media/x.csv", Cookie=page.cookie).status == 403


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ROADS)
def test_nobody_gets_an_answer_by_http(address: str, path: str, method: str) -> None:
    assert ask(address, path, method).status == 401


def test_a_token_opens_the_doors_for_programs_by_its_role(address: str, data: Path) -> None:
    tokens = Tokens(data / "library")
    shown = {role: f"Bearer {tokens.new(role, role)}" for role in ("viewer", "editor")}
    octets, upload = "application/octet-stream", "/api/v1/uploads?name=../x.txt"
    for role, allowed in (("viewer", 403), ("editor", 202)):
        assert ask(address, "/api/v1/reports", Authorization=shown[role]).status == 200
        assert ask(address, "/media/x.csv", Authorization=shown[role]).status == 401, "and nothing else"
        sent = ask(address, upload, "POST", b"no report", Authorization=shown[role], Content_Type=octets)
        assert sent.status == allowed, sent.body
    assert (data / "inbox" / "x.txt").read_bytes() == b"no report"
    (entry,) = Library(data / "library").catalog.audit.entries(action="uploaded")
    assert (entry.who, entry.way, entry.about) == ("editor", "token", "x.txt")
    assert ask(address, upload, "POST", b"x", Authorization=shown["editor"], Content_Type="text/plain").status == 415
    assert ask(address, upload, "POST", b"", Authorization=shown["editor"], Content_Type=octets).status == 400
    foreign = ask(address, upload, "POST", b"x", Authorization=shown["editor"], Origin="http://elsewhere.example")
    assert foreign.status == 403
    for wrong in (
        "Bearer x",
        shown["viewer"][:-1] + "x",
        "Basic " + shown["viewer"],
        "Bearer wd_" + "0" * 12 + "_" + "0" * 64,
    ):
        assert ask(address, "/api/v1/reports", Authorization=wrong).status == 401
    assert shown["viewer"].split("_")[2] not in (data / "library" / "tokens.json").read_text(encoding="utf-8")
    tokens.remove("viewer")
    assert ask(address, "/api/v1/reports", Authorization=shown["viewer"]).status == 401


def test_the_mcp_server_answers_its_client_with_a_token(address: str, data: Path) -> None:
    pytest.importorskip("mcp")
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    token = Tokens(data / "library").new("assistant", "viewer")

    async def talk() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
        ):
            answer = await client.call_tool("run_analysis", {"report": NAME, "analysis": "gpu_busy"})
            assert answer.structured_content["rows"][0]["busy_pct"] > 0

    asyncio.run(talk())
    assert ask(address, "/mcp", "POST", b"{}", Content_Type="application/json").status == 401


def test_the_shell_of_the_pages_is_for_everybody(address: str) -> None:
    for path in ("/", "/kernels", "/_stcore/health", "/favicon.png"):
        assert ask(address, path).status == 200


def test_downloads_are_for_those_who_may_look(
    address: str, data: Path, cookies: dict[str, dict[str, str]], dashboard: tuple[Server, str]
) -> None:
    with session(address, cookies["victor"]) as page:
        page.run()
        path = download(page)
        assert ask(address, path, Cookie=page.cookie).status == 200
        assert ask(address, path).status == 401
        assert ask(address, path, Cookie="_streamlit_user=forged").status == 401


def test_nobody_uploads_into_the_session_of_another(
    address: str, data: Path, cookies: dict[str, dict[str, str]]
) -> None:
    with session(address, cookies["edith"]) as page, session(address) as nobody:
        page.run()
        nobody.run()
        path = f"/_stcore/upload_file/{page.id}/x"
        mine = nobody.upload_headers()
        assert ask(address, path, "PUT", form(b"x"), **mine).status == 401
        assert ask(address, path, "DELETE", None, **mine).status == 401
        assert nobody.put(b"x").status == 401
        his = "; ".join(f"{name}={cookies['victor'][name]}" for name in (COOKIE, GENERATION))
        victor = mine | {"Cookie": f"{mine['Cookie']}; {his}"}
        assert ask(address, path, "PUT", form(b"x"), **victor).status == 403
        assert page.put(b"x").status == 204


def test_nobody_takes_over_the_session_of_another(address: str, data: Path, cookies: dict[str, dict[str, str]]) -> None:
    with session(address, cookies["edith"]) as page:
        page.run()
        with session(address, existing=page.id) as nobody:
            nobody.run("kernels")
            assert nobody.id != page.id
            assert told(nobody, data) == []
        assert page.put(b"x").status == 204


def test_a_viewer_sees_but_cannot_change(address: str, data: Path, cookies: dict[str, dict[str, str]]) -> None:
    catalog = Library(data / "library").catalog
    before = {job.path: job.state for job in catalog.jobs()}
    assert "failed" in before.values()
    with session(address, cookies["edith"]) as editor, session(address, cookies["victor"]) as page:
        editor.run()
        dismiss, again = buttons(editor, "Dismiss"), buttons(editor, "Try again")
        assert dismiss
        assert again
        assert "file_uploader" in editor.text()
        page.run()
        assert NAME in page.text()
        assert "Victor, viewer" in page.text()
        assert "file_uploader" not in page.text()
        for label in ("Dismiss", "Try again", "Labels", "Delete", "Name the columns"):
            assert buttons(page, label) == []
        for button in dismiss + again:
            press(page, button)
        assert page.put(b"x").status == 403
        assert {job.path: job.state for job in catalog.jobs()} == before
        assert "Idle" in told(page, data)


def test_an_editor_changes(address: str, data: Path, cookies: dict[str, dict[str, str]]) -> None:
    catalog = Library(data / "library").catalog
    with session(address, cookies["edith"]) as page:
        page.run()
        assert "Edith, editor" in page.text()
        press(page, buttons(page, "Dismiss")[0])
    states = {job.state for job in catalog.jobs()}
    assert ("failed" in states, "dismissed" in states, "deleted" in states) == (False, True, False)


def test_an_admin_sees_who_changed_what(address: str, data: Path, cookies: dict[str, dict[str, str]]) -> None:
    catalog = Library(data / "library").catalog
    catalog.asked_by(Visitor("Mallory, m@example.com", "login")).set_labels(catalog.reports()[0].id, ["slow"])
    with session(address, cookies["ada"]) as admin:
        admin.run("admin")
        assert "Ada, admin" in admin.text()
        assert any(b"Mallory" in message.SerializeToString() for message in admin.said)
        make = buttons(admin, "Make")
        assert "admin" in {message.delta.new_element.page_link.page for message in admin.said}
    assert make
    before = Tokens(data / "library").all()
    for name in ("edith", "victor"):
        with session(address, cookies[name]) as page:
            page.run()
            assert "admin" not in {message.delta.new_element.page_link.page for message in page.said}
            page.run("admin")
            assert "Only an admin sees this page." in page.text()
            assert not any(b"Mallory" in message.SerializeToString() for message in page.said)
            press(page, make[0], "admin")
    assert Tokens(data / "library").all() == before


@pytest.fixture
def signed(issuer: str, dashboard: tuple[Server, str], cookies: dict[str, dict[str, str]]) -> Signed:
    """Makes a cookie as the server does, with a login of Victor that goes on, and anything else in it."""
    running, secret = dashboard

    def made(secret: str = secret, **claims: object) -> str:
        victor = {"provider": "default", "iss": issuer, "sub": "victor"}
        payload = {"origin": running.address, "is_logged_in": True, "iat": time.time()} | victor | claims
        cookie = create_signed_value(secret, COOKIE, json.dumps(payload)).decode()
        return f"{cookie}; {GENERATION}={cookies['victor'][GENERATION]}"

    return made


def test_cookies_are_checked(dashboard: tuple[Server, str], signed: Signed) -> None:
    running, secret = dashboard
    role = {"realm": {"roles": ["gpu-viewer"]}}
    wrong = {
        "another secret": signed("0" * 64, **role),
        "another origin": signed(origin="http://evil.example", **role),
        "too old": signed(iat=time.time() - 13 * 3600, **role),
        "no time": signed(iat=None, **role),
        "not logged in": signed(is_logged_in=False, **role),
        "another person": signed(sub="edith", **role),
        "the same number at another provider": signed(iss="http://evil.example", **role),
        "no person": signed(sub=None, **role),
        "no generation": signed(**role).partition(";")[0],
        "another generation": signed(**role).partition(";")[0] + f"; {GENERATION}={'0' * 32}",
        "no text": signed(**role).partition(";")[0] + f"; {GENERATION}=é",
        "no JSON": create_signed_value(secret, COOKIE, "x").decode(),
        "a list": create_signed_value(secret, COOKIE, "[1]").decode(),
        "another name": create_signed_value(secret, "_streamlit_session", json.dumps({"is_logged_in": True})).decode(),
        "cut": signed(**role).replace(";", "x;"),
        "not ASCII": "é",
    }
    for why, cookie in wrong.items():
        assert ask(running.address, "/media/x", Cookie=f"{COOKIE}={cookie}").status == 401, why
    right = signed(**role)
    assert ask(running.address, "/media/x", Cookie=f"{COOKIE}={right}").status == 404


def test_an_old_login_ends(address: str, signed: Signed, data: Path) -> None:
    role = {"realm": {"roles": ["gpu-editor"]}}
    for age, ended in ((11 * 3600, False), (13 * 3600, True)):
        with session(address, {COOKIE: signed(iat=time.time() - age, **role)}) as page:
            page.run()
            assert ("Log in to see the reports." in page.text()) is ended
            assert (told(page, data) == []) is ended


def test_secrets_that_break_later_open_nothing(issuer: str, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "secrets.toml"
    with guarded(issuer, data, file) as (running, _):
        file.write_text("[auth\n")
        assert ask(running.address, "/media/x").status == 401
        with session(running.address) as page:
            page.run("kernels")
            assert told(page, data) == []
        file.unlink()
        assert ask(running.address, "/media/x").status == 401


AUTH = """[auth]
redirect_uri = "http://127.0.0.1:1/oauth2callback"
cookie_secret = "0123456789012345678901234567890123456789"
client_id = "x"
client_secret = "x"
server_metadata_url = "http://127.0.0.1:1/"
"""


STARTER = """
import json, os, runpy, signal, sys, tempfile
import streamlit.web.cli
from app import memory, monitoring, warm_up, web, worker_process
from app.api import mcp_server, routes
from app.timeline import assets
from app.timeline import routes
from app.web import security_headers_middleware, sharing_route, startup

for line in sys.stdin:
    log = tempfile.TemporaryFile()
    child = os.fork()
    if not child:
        signal.alarm(100)
        os.environ.update(json.loads(line))
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        sys.argv = ["streamlit", "run", "app/main.py", "--server.headless", "true", "--server.port", "0"]
        try:
            runpy.run_module("streamlit", run_name="__main__")
        except SystemExit as end:
            print(end.code, file=sys.stderr, flush=True)
            os._exit(1 if end.code else 0)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    log.seek(0)
    print(json.dumps([status, log.read().decode()]), flush=True)
"""
"""Runs the command of a server for each line of variables, in a fork that has imported everything: 0.1 s, not 1.4.
A fork ends at once, since the threads of its parent are not there to be joined."""


@pytest.fixture(scope="module")
def starter() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-W", "ignore", "-c", STARTER]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


@pytest.mark.parametrize(
    ("secrets", "settings", "words"),
    [
        ("[auth\n", {}, "secrets.toml cannot be read"),
        ("auth = 1\n", {}, "must be a section"),
        (AUTH.replace("cookie_secret", "other"), {}, "lack auth.cookie_secret"),
        (AUTH.replace("client_id", "other"), {}, "lack auth.client_id"),
        (AUTH.replace("01234567890123456789012345678901", ""), {}, "fewer than 32 characters"),
        (AUTH, {"WARPDECK_LOGIN_EDITORS": ",", "WARPDECK_LOGIN_VIEWERS": ","}, "name nobody"),
        (AUTH, {"WARPDECK_LOGIN_HOURS": "soon"}, "WARPDECK_LOGIN_HOURS must be a number"),
        (AUTH, {"WARPDECK_LOGIN_HOURS": "nan"}, "WARPDECK_LOGIN_HOURS must be a number"),
        ("x = 1\n", {"WARPDECK_LOGIN_EDITORS": "me"}, "WARPDECK_LOGIN_EDITORS would limit who may do what"),
        ("x = 1\n", {"WARPDECK_MAX_UPLOAD_MB": "0"}, "WARPDECK_MAX_UPLOAD_MB must be a number from 1 up"),
    ],
)
def test_what_cannot_be_meant_does_not_start(
    starter: "subprocess.Popen[str]", tmp_path: Path, secrets: str, settings: dict[str, str], words: str
) -> None:
    file = tmp_path / "secrets.toml"
    file.write_text(secrets)
    environment = {"WARPDECK_DATA": str(tmp_path), "STREAMLIT_SECRETS_FILES": str(file)} | settings
    assert starter.stdin
    assert starter.stdout
    starter.stdin.write(json.dumps(environment) + "\n")
    starter.stdin.flush()
    status, said = json.loads(starter.stdout.readline())
    assert status > 0, "neither served nor killed"
    assert "Warpdeck does not start" in said
    assert words in said

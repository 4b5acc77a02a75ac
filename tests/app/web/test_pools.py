"""No one can use up shared resources: slots for questions, room for uploads, names in the inbox, pages of a proxy."""

import asyncio
import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from app.web import upload_middleware
from app.web.fair_pool import FairPool
from bench.pages import Server
from profiledb.access.operations.tokens import Tokens
from profiledb.errors import BusyError
from profiledb.library.inbox.folder import FolderInbox
from profiledb.library.library import Library
from profiledb.library.visitor import LOCAL, Visitor
from tests.app.web.client import Answer, ask
from tests.app.web.provider import guarded
from tests.conftest import ingest_files, wait_until
from tests.support.dropped_files import made
from tests.support.nginx_proxy import behind

NAME = "small.sqlite"
ANNE, BERT = Visitor("anne", "token"), Visitor("bert", "token")
LIMITS = {"WARPDECK_MAX_UPLOAD_MB": "5", "WARPDECK_UPLOADS_MB": "12", "WARPDECK_SQL_TIMEOUT_S": "8"}
SLOW = "SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pools")
    ingest_files(folder, [made(folder / NAME)])
    return folder


@pytest.fixture(scope="module")
def server(issuer: str, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    secrets = tmp_path_factory.mktemp("secrets") / "secrets.toml"
    with guarded(issuer, data, secrets, **LIMITS) as (running, _):
        yield running


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    return server.address


@pytest.fixture(scope="module")
def tokens(data: Path) -> tuple[str, str]:
    made = Tokens(data / "library")
    return f"Bearer {made.new('anne', 'editor')}", f"Bearer {made.new('bert', 'editor')}"


def question(address: str, token: str, data: Path, sql: str) -> Answer:
    (report,) = Library(data / "library").list()
    return ask(address, f"/api/v1/reports/{report.id}/sql?sql={quote(sql)}", Authorization=token)


def end_questions(server: Server) -> None:
    """Sends questions that run the signal of their own alarm: their time ends now."""
    for child in psutil.Process(server.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "profiledb.console.question_child" in child.cmdline():
                child.send_signal(signal.SIGALRM)


@pytest.mark.integration
def test_questions_of_one_person_leave_places_to_others(server: Server, data: Path, tokens: tuple[str, str]) -> None:
    address, (anne, bert) = server.address, tokens
    audit = Library(data / "library").catalog.audit
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(question, address, anne, data, SLOW) for _ in range(6)]
        wait_until(lambda: sum(one.done() for one in asked) == 3 and bool(audit.entries(action="asked SQL")))
        began = time.monotonic()
        assert ask(address, "/api/v1/reports", Authorization=bert).status == 200
        answer = question(address, bert, data, "SELECT 1 AS one")
        took = time.monotonic() - began
        assert sum(one.done() for one in asked) == 3, "the slow ones still run"

        def ended() -> bool:
            end_questions(server)
            return all(one.done() for one in asked)

        wait_until(ended)
        answers = [one.result() for one in asked]
    assert answer.status == 200, answer.body
    assert took < float(LIMITS["WARPDECK_SQL_TIMEOUT_S"])
    assert sorted(one.status for one in answers) == [400] * 3 + [429] * 3
    busy = next(one for one in answers if one.status == 429)
    assert int(busy.headers["retry-after"]) >= 1
    assert json.loads(busy.body)["title"] == "3 of your requests are being answered."


def begun(address: str, token: str, name: str, announced: int, sent: bytes) -> http.client.HTTPConnection:
    """An upload of which some has come."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.putrequest("POST", f"/api/v1/uploads?name={quote(name)}")
    for key, value in {
        "Authorization": token, "Content-Type": "application/octet-stream", "Content-Length": str(announced),
    }.items():  # fmt: skip
        connection.putheader(key, value)
    connection.endheaders(sent)
    return connection


def uploaded(address: str, token: str, name: str, content: bytes) -> Answer:
    kind = {"Content_Type": "application/octet-stream"}
    return ask(address, f"/api/v1/uploads?name={quote(name)}", "POST", content, Authorization=token, **kind)


@pytest.mark.integration
def test_an_upload_that_announces_much_holds_no_room(address: str, data: Path, tokens: tuple[str, str]) -> None:
    anne, bert = tokens
    waiting = data / "inbox"
    with ExitStack() as open_:
        for number in range(8):
            one = begun(address, anne, f"a{number}.csv", 5 << 20, b"x")
            open_.callback(one.close)
        wait_until(lambda: len([path for path in waiting.glob(".uploads-*/*") if path.stat().st_size]) == 8)
        answer = uploaded(address, bert, "b.csv", bytes(4 << 20))
        assert answer.status == 202, answer.body
    wait_until(lambda: not [*waiting.glob(".uploads-*/*")])


@pytest.mark.integration
def test_one_person_has_half_of_the_room(address: str, data: Path, tokens: tuple[str, str]) -> None:
    anne, bert = tokens
    with ExitStack() as open_:
        for number in range(2):
            one = begun(address, anne, f"a{number}.csv", 4 << 20, bytes(4 << 20)[:-1])
            open_.callback(one.close)
            if not number:
                wait_until(lambda: any(path.stat().st_size for path in (data / "inbox").glob(".uploads-*/*")))
        answer = uploaded(address, anne, "third.csv", bytes(4 << 20))
        assert answer.status == 429, answer.body
        assert int(answer.headers["retry-after"]) >= 1
        assert uploaded(address, bert, "b.csv", bytes(4 << 20)).status == 202


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("@kernels", "@kernels begins with @, as only folders of spaces do."),
        ("x.tmp", "x.tmp has the name of a file that is still written."),
        ("a/b/x.nsys-rep.PART", "x.nsys-rep.PART has the name of a file that is still written."),
        ("run.energy.csv", "run.energy.csv is a table that Warpdeck does not read."),
    ],
)
def test_names_that_the_inbox_would_not_take(
    address: str, data: Path, tokens: tuple[str, str], name: str, said: str
) -> None:
    before = sorted((data / "inbox").iterdir())
    answer = uploaded(address, tokens[0], name, b"x")
    assert (answer.status, json.loads(answer.body)["title"]) == (400, said)
    assert json.loads(answer.body)["detail"]
    assert sorted((data / "inbox").iterdir()) == before


def test_a_file_in_the_place_of_a_space_goes_aside(inbox: Path) -> None:
    (inbox / "@kernels").write_text("1")
    (inbox / "kernels").write_text("2")
    content = made(inbox / ".upload-1")
    path = FolderInbox(inbox).place(content, "a.sqlite", "@kernels")
    assert path == inbox / "@kernels" / "a.sqlite"
    assert path.is_file()
    assert {one.name: one.read_text() for one in inbox.glob("k*")} == {"kernels": "2", "kernels-2": "1"}


def test_one_person_leaves_a_thread_to_others() -> None:
    """From the event loop's view, without a server: who runs, who waits, who is refused."""
    go = threading.Event()

    async def look() -> None:
        pool = FairPool(at_once=2, each=1, waiting=1, again_s=7)
        anne = [asyncio.create_task(pool.run(ANNE, go.wait)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError) as refused:
            await pool.run(ANNE, go.wait)
        assert refused.value.again_s == 7
        assert await pool.run(BERT, lambda: "bert") == "bert"
        go.set()
        assert await asyncio.gather(*anne) == [True, True]
        assert await pool.run(ANNE, lambda: "again") == "again"
        assert not pool._queues
        assert await asyncio.gather(*(pool.run(LOCAL, lambda: 1) for _ in range(9))) == [1] * 9

    asyncio.run(look())


def test_an_upload_that_trickles_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_middleware, "WINDOW_S", 0.2)

    async def trickle(size: int) -> int:
        pace, pieces = upload_middleware.UploadPace(), 0
        while pieces < 20:
            await pace.wait(asyncio.sleep(0.05))
            pace.count_bytes(size)
            pieces += 1
        return pieces

    assert asyncio.run(trickle(4096)) == 20
    with pytest.raises(TimeoutError):
        asyncio.run(trickle(1))


def page(address: str, source: str, **headers: str) -> ClientConnection:
    """The WebSocket of a page, from one of this machine's addresses."""
    return connect(
        address.replace("http", "ws") + "/_stcore/stream", subprotocols=[Subprotocol("streamlit")], compression=None,
        source_address=(source, 0), additional_headers=headers,
    )  # fmt: skip


@pytest.mark.integration
def test_one_address_leaves_pages_to_others(server: Server, nginx: Path, tmp_path: Path) -> None:
    with behind(nginx, [server], tmp_path) as address, ExitStack() as open_:
        half = open_.enter_context(socket.create_connection(("127.0.0.1", urlsplit(address).port), timeout=30))
        half.sendall(b"GET / HTTP/1.1\r\nHost: ")
        for _ in range(64):
            open_.enter_context(page(address, "127.0.0.1"))
        with pytest.raises(InvalidStatus) as refused:
            page(address, "127.0.0.1")
        assert refused.value.response.status_code == 429
        for number in range(64):
            open_.enter_context(page(address, "127.0.0.1", Cookie=f"_streamlit_user={number}"))
        with pytest.raises(InvalidStatus):
            page(address, "127.0.0.1", Cookie="_streamlit_user=another")
        began = time.monotonic()
        with page(address, "127.0.0.2"):
            assert time.monotonic() - began < 5
        assert not half.recv(1), "nginx ends a request whose headers do not come"

"""Uploads that break off and are resumed: the store's limits, and the API's refusals."""

import hashlib
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from app.web import upload_store
from app.web.upload_store import Upload, UploadRefusedError, UploadStore
from bench.pages import run_server
from profiledb.library.visitor import Visitor
from tests.app.web.uploading import LIMITS, SETTINGS, held, measure_held
from tests.conftest import wait_until

MB = 1 << 20
CONTENT = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()
ANNA, BEN = Visitor("anna", "token"), Visitor("ben", "token")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[UploadStore]:
    """A store for files of 4 MB, 8 MB in all."""
    made = UploadStore(tmp_path / "inbox", 4 * MB, 8 * MB)
    made.open_session("programs")
    yield made
    made.close()


def pause(store: UploadStore, content: bytes, owner: Visitor = ANNA, sha256: str = SHA256) -> Upload:
    upload = store.begin_upload("programs", sha256, len(content), owner, sha256)
    store.write(upload, content)
    store.pause(upload)
    return upload


def test_the_sender_alone_resumes_where_it_broke_off(store: UploadStore) -> None:
    first = pause(store, CONTENT[:1000])
    assert store.find_paused(SHA256, ANNA) == 1000
    assert store.find_paused(SHA256, BEN) == 0
    assert store.resume(SHA256, BEN, 1000) is None
    assert store.resume(SHA256, ANNA, 999) is None
    assert store.resume(SHA256, ANNA, 1000) is first
    assert store.resume(SHA256, ANNA, 1000) is None, "somebody sends the rest already"
    store.write(first, CONTENT[1000:])
    assert first.path.read_bytes() == CONTENT
    assert first.digest.hexdigest() == SHA256
    first.file.close()


def test_a_paused_upload_goes_when_it_begins_anew_or_waits_too_long(
    store: UploadStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = pause(store, CONTENT[:10])
    store.begin_upload("programs", "again", 10, ANNA, SHA256).file.close()
    assert not first.path.exists()
    assert first.file.closed
    second = pause(store, CONTENT[:20], BEN)
    monkeypatch.setattr(upload_store, "PAUSED_S", 0.0)
    assert store.find_paused(SHA256, BEN) == 0
    assert not second.path.exists()


def test_paused_uploads_give_their_room_to_new_ones_oldest_first(store: UploadStore) -> None:
    first = pause(store, bytes(3 * MB), ANNA, "a" * 64)
    second = pause(store, bytes(3 * MB), BEN, "b" * 64)
    store.begin_upload("programs", "new", 4 * MB, ANNA).file.close()
    assert (first.path.exists(), second.path.exists()) == (False, True)
    with pytest.raises(UploadRefusedError):
        store.write(first, b"x")


def test_many_paused_uploads_are_bounded(store: UploadStore) -> None:
    for number in range(upload_store.MAX_UPLOADS + 3):
        pause(store, b"x", ANNA, f"{number:064x}")
    assert len(list(store.inbox.glob("*/*"))) <= upload_store.MAX_UPLOADS_PER_PERSON
    store.close()
    assert not list(store.inbox.glob("*"))


def test_a_question_about_a_paused_upload_removes_none(store: UploadStore) -> None:
    """Not even if the person has as many uploads as allowed."""
    uploads = [pause(store, b"x", ANNA, f"{number:064x}") for number in range(upload_store.MAX_UPLOADS_PER_PERSON)]
    assert [store.find_paused(one.sha256, ANNA) for one in uploads] == [1] * len(uploads)
    assert store.resume(uploads[0].sha256, ANNA, 1) is uploads[0]
    uploads[0].file.close()


@pytest.fixture(scope="module", name="data")
def make_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("resumed")


@pytest.fixture(scope="module", name="address")
def make_address(data: Path) -> Iterator[str]:
    with run_server(SETTINGS | LIMITS | {"WARPDECK_DATA": str(data)}, {"address": "127.0.0.1"}) as one:
        yield one.address


def ask(address: str, method: str, path: str, body: bytes | None = None, **query: str) -> tuple[int, str]:
    headers = {"Content-Type": "application/octet-stream"} if body is not None else {}
    with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)) as connection:
        connection.request(method, f"/api/v1{path}?{urlencode(query)}", body, headers)
        response = connection.getresponse()
        content = json.loads(response.read())
        return response.status, str(content.get("bytes", content.get("title")))


def break_off(address: str, data: Path, sent: bytes, **query: str) -> None:
    """Announce the whole content, send a part, and hang up."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname or "", parts.port or 80)) as connection:
        head = f"POST /api/v1/uploads?{urlencode(query)} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        head += f"Content-Type: application/octet-stream\r\nContent-Length: {len(CONTENT)}\r\n\r\n"
        connection.sendall(head.encode() + sent)
        wait_until(lambda: measure_held(data) == [len(sent)])


@pytest.mark.integration
def test_a_file_arrives_in_parts(address: str, data: Path) -> None:
    assert ask(address, "GET", f"/uploads/{SHA256}")[0] == 404
    break_off(address, data, CONTENT[:5000], name="x.bin", sha256=SHA256)
    wait_until(lambda: ask(address, "GET", f"/uploads/{SHA256}") == (200, "5000"))
    rest = {"name": "x.bin", "sha256": SHA256}
    assert ask(address, "POST", "/uploads", CONTENT[4000:], offset="4000", **rest)[0] == 409
    assert ask(address, "POST", "/uploads", CONTENT[5000:], offset="5000", **rest) == (202, str(len(CONTENT)))
    assert (data / "inbox" / "x.bin").read_bytes() == CONTENT
    assert ask(address, "GET", f"/uploads/{SHA256}")[0] == 404
    assert held(data) == []


@pytest.mark.integration
def test_a_file_that_changed_between_its_parts_is_refused(address: str, data: Path) -> None:
    break_off(address, data, CONTENT[:5000], name="y.bin", sha256=SHA256)
    wait_until(lambda: ask(address, "GET", f"/uploads/{SHA256}") == (200, "5000"))
    changed = b"x" + CONTENT[5001:]
    status, said = ask(address, "POST", "/uploads", changed, name="y.bin", sha256=SHA256, offset="5000")
    assert (status, said) == (422, "The content that arrived is not that of the SHA-256.")
    assert not (data / "inbox" / "y.bin").exists()
    assert held(data) == []


@pytest.mark.integration
@pytest.mark.parametrize(
    "query",
    [
        {"sha256": "../../etc/passwd"}, {"sha256": SHA256.upper()}, {"offset": "5"}, {"sha256": SHA256, "offset": "-1"},
        {"sha256": SHA256, "offset": "9" * 19}, {"sha256": SHA256, "offset": "\u0665"},
    ],
)  # fmt: skip
def test_a_part_that_is_none_is_refused(address: str, data: Path, query: dict[str, str]) -> None:
    assert ask(address, "POST", "/uploads", b"x", name="z.bin", **query)[0] == 400
    assert held(data) == []

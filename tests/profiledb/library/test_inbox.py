"""An inbox in a bucket of a real S3 server, and names that no file can have."""

import hashlib
import io
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from minio.credentials.credentials import Credentials
from minio.signer import sign_v4_s3
from starlette.applications import Starlette
from starlette.testclient import TestClient

from app.api import routes, uploads
from app.web import upload_store
from app.web.inbox_upload import save_file
from profiledb import config
from profiledb.access.operations import openapi
from profiledb.errors import ConfigError, ConversionError, StorageError
from profiledb.library.bucket.bucket import Bucket, Object
from profiledb.library.inbox import Inbox
from profiledb.library.inbox.folder import FolderInbox
from profiledb.library.inbox.tree import Tree
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox
from tests.support.s3 import BOTH, BUCKET, S3, SECRET
from warpdeck import inbox_copy

NAMES = ("x.csv", "x-2.csv", "x.csv", "x-3.csv", "x-2.csv")


@pytest.fixture
def url(s3: S3) -> str:
    return s3.url()


@pytest.fixture
def bucket(url: str) -> Bucket:
    return Bucket(url)


@pytest.fixture
def inbox(url: str, tmp_path: Path) -> Inbox:
    return opened(url, tmp_path)


def opened(url: str, folder: Path, database: str = "") -> Inbox:
    """The inbox as a machine has it whose data is in a folder."""
    inbox = open_inbox(config.load(inbox=url, data=folder, database=database))
    inbox.prepare()
    return inbox


def listed(*keys: str, size: int = 1) -> Tree:
    return Tree.of(Object(key, size, "tag", 1) for key in keys)


@BOTH
def test_uploads_never_overwrite_other_content(inbox: Inbox, bucket: Bucket) -> None:
    names = [save_file(io.BytesIO(text), "x.csv", inbox).name for text in (b"1", b"2", b"1", b"3", b"2")]
    assert tuple(names) == NAMES
    assert {one.key: bucket.read(one.key, 9) for one in bucket.list()} == {
        "x.csv": b"1", "x-2.csv": b"2", "x-3.csv": b"3"
    }  # fmt: skip
    assert not list(inbox.near.glob(".upload*")), "nothing is left on the way"


@BOTH
def test_an_upload_into_a_folder(inbox: Inbox, bucket: Bucket, tmp_path: Path) -> None:
    for one in (inbox, FolderInbox(tmp_path / "folder")):
        paths = [save_file(io.BytesIO(text), "x.csv", one, "@team/runs") for text in (b"1", b"2")]
        assert paths == [one.root / "@team" / "runs" / name for name in ("x.csv", "x-2.csv")]
    assert sorted(one.key for one in bucket.list()) == ["@team/runs/x-2.csv", "@team/runs/x.csv"]


def test_what_lies_beside_a_report_keeps_its_name(inbox: Inbox, bucket: Bucket) -> None:
    names = {save_file(io.BytesIO(text), "x.meta.json", inbox).name for text in (b"1", b"2")}
    assert names == {"x.meta.json"}
    assert bucket.read("x.meta.json", 9) == b"2"


@pytest.mark.parametrize("shared", [False, True], ids=["one machine", "a database"])
@BOTH
def test_two_servers_that_choose_a_name_at_once(
    shared: bool, url: str, bucket: Bucket, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The S3 server ignores conditional puts: only the lock keeps one upload from taking another's name."""
    database = request.getfixturevalue("team").url if shared else ""
    folders = [tmp_path / "one", tmp_path / ("two" if shared else "one")]
    both = [opened(url, folder, database) for folder in folders]
    texts = [f"{number}".encode() for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: save_file(io.BytesIO(texts[at]), "same.csv", both[at % 2]), range(8)))
    assert sorted(bucket.read(one.key, 9) for one in bucket.list()) == texts


def test_a_name_that_is_held_is_no_file_yet(inbox: Inbox, bucket: Bucket) -> None:
    bucket.put("half.csv", b"")
    inbox.renew()
    assert inbox.entries(inbox.root) == []
    assert inbox.look(inbox.root / "half.csv") is None


@BOTH
def test_a_file_is_brought_with_what_is_read_beside_it(inbox: Inbox, bucket: Bucket, tmp_path: Path) -> None:
    for key in ("run/a.nsys-rep", "run/a.sqlite", "run/b.csv"):
        bucket.put(key, key.encode())
    inbox.renew()
    path = inbox.root / "run" / "a.nsys-rep"
    beside = [path.with_suffix(".sqlite"), path.with_suffix(".none")]
    here = inbox.bring(path, beside, tmp_path / "work", 1000)
    assert sorted(one.name for one in here.parent.iterdir()) == ["a.nsys-rep", "a.sqlite"]
    assert here.read_bytes() == b"run/a.nsys-rep"
    state = inbox.look(path)
    assert state
    assert abs(here.stat().st_mtime_ns - state.time_ns) <= 1e9, "a listing rounds to ms, an answer cuts to seconds"
    assert not inbox.bring(inbox.root / "gone", [], tmp_path / "none", 1000).exists()
    sample = tmp_path / "work" / "a.sqlite"
    assert inbox.bring(sample, [], tmp_path / "unused", 1000) == sample


@BOTH
def test_a_folder_of_parquet_is_brought_whole(inbox: Inbox, bucket: Bucket, tmp_path: Path) -> None:
    for key in ("e/A.parquet", "e/B.parquet", "e/note.txt", "e/deep/C.parquet", "eA.parquet"):
        bucket.put(key, b"12")
    inbox.renew()
    here = inbox.bring(inbox.root / "e", [], tmp_path / "work", 1000)
    assert sorted(one.name for one in here.iterdir()) == ["A.parquet", "B.parquet"]
    state = inbox.look(inbox.root / "e")
    assert state
    assert state.bytes == 6, "with the note, as of a folder"


@pytest.mark.parametrize("key", ["a.csv", "folder/a.parquet"])
def test_what_is_too_large_is_not_fetched(key: str, inbox: Inbox, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put(key, b"x" * 4096)
    with pytest.raises(ConversionError, match="is larger than"):
        inbox.bring(inbox.root / key.partition("/")[0], [], tmp_path / "work", 4095)


@BOTH
def test_only_what_is_as_it_was_is_removed(inbox: Inbox, bucket: Bucket) -> None:
    bucket.put("a", b"1")
    bucket.put("b", b"1")
    inbox.renew()
    bucket.put("b", b"2")
    assert [inbox.remove(inbox.root / name) for name in ("a", "b", "c")] == [True, False, False]
    assert [one.key for one in bucket.list()] == ["b"]


def test_an_object_may_have_the_name_of_a_folder() -> None:
    tree = listed("a", "a/b", "a/b/c")
    assert sorted(tree.folders[""]) == [("a", False), ("a", True)]
    assert all(tree.look(key) for key in ("a", "a/b", "a/b/c"))


@pytest.mark.parametrize("key", ["../x", "a/../x", "a//x", "/x", "./x", "x" * 256, "a/" + "é" * 200, "."])
def test_a_name_that_no_file_can_have_is_left(key: str) -> None:
    tree = listed("fine", key)
    assert (list(tree.files), tree.strange) == (["fine"], 1)


def test_the_state_of_a_folder_changes_with_any_of_its_files() -> None:
    states = {
        Tree.of(Object(f"e/{at}", size, tag, 5) for at, (size, tag) in enumerate(files)).look("e")
        for files in (((1, "a"), (1, "b")), ((1, "a"), (1, "c")), ((1, "a"),), ((1, "b"), (1, "a")))
    }
    assert len(states) == 4
    assert listed("e/x").look("none") is None


def test_a_file_that_is_opened_comes_after_what_lies_beside_it(
    inbox: Inbox, bucket: Bucket, tmp_path: Path, empty_library: Library
) -> None:
    for name in ("a.nsys-rep", "a.sqlite", "a.meta.json"):
        (tmp_path / name).write_text(name)
    (tmp_path / "export").mkdir()
    for name in ("StringIds.parquet", "TARGET_INFO_GPU.parquet"):
        (tmp_path / "export" / name).write_text(name)
    for name in ("a.nsys-rep", "export"):
        taken = inbox_copy.copy_source(tmp_path / name, empty_library, inbox)
        assert taken.job == inbox.root / "opened" / taken.report_id / name
    times = {one.key.partition("/")[2][17:]: one.time_ns for one in bucket.list()}
    assert times.keys() == {
        "a.meta.json", "a.nsys-rep", "a.sqlite", "export/StringIds.parquet", "export/TARGET_INFO_GPU.parquet"
    }  # fmt: skip
    assert times["a.nsys-rep"] >= max(times["a.meta.json"], times["a.sqlite"])
    assert inbox.spelled(inbox.text)
    assert inbox.spelled(f"{inbox.text}/x") is None


def test_an_upload_by_a_program(url: str, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPDECK_INBOX", url)
    monkeypatch.setenv("WARPDECK_DATA", str(tmp_path))
    upload_store.get_upload_store.cache_clear()
    with TestClient(Starlette(routes=routes.build_routes()), base_url="http://localhost") as client:
        answer = client.post(
            f"{openapi.PREFIX}/uploads?name=../a%0Ab.csv", content=b"1", headers={"Content-Type": uploads.CONTENT_TYPE}
        )
    upload_store.get_upload_store.cache_clear()
    assert (answer.status_code, answer.json()["name"]) == (202, "a b.csv")
    assert [(one.key, one.size) for one in bucket.list()] == [("a b.csv", 1)]


@BOTH
def test_a_bucket_that_does_not_answer(inbox: Inbox, s3: S3, tmp_path: Path) -> None:
    content = inbox.near / "upload"
    content.write_bytes(b"x")
    s3.stop()
    with pytest.raises(StorageError, match="does not answer"):
        inbox.renew()
    with pytest.raises(StorageError, match="does not answer"):
        inbox.place(content, "x.csv")
    assert not content.exists(), "the sender gets the error"
    s3.start()
    inbox.renew()


@BOTH
def test_a_strange_name_keeps_no_other_out(
    bucket: Bucket, inbox: Inbox, s3: S3, caplog: pytest.LogCaptureFixture
) -> None:
    """obstore refuses the whole listing if it has such a name, which somebody may put into the bucket any time."""
    bucket.put("a.csv", b"1")
    bucket.put("z/y.csv", b"2")
    inbox.renew()
    before = inbox.look(inbox.root / "a.csv")
    names = ["line\nbreak.csv"] if s3.KEY == "tests" else ["m//b.csv", "../up.csv", "m/./c.csv", "bell\x07.csv", "/"]
    for name in names:
        put(s3, f"{bucket.url.rpartition('/')[2]}/{name}")
    inbox.renew()
    assert inbox.entries(inbox.root) == [("a.csv", "file"), ("z", "folder")]
    assert inbox.entries(inbox.root / "z") == [("y.csv", "file")]
    assert inbox.look(inbox.root / "a.csv") == before, "the same by either client, so that nothing is taken again"
    assert f"names that no file can have: {len(names)}." in caplog.text
    assert sorted(one.key for one in bucket.list()) == sorted(["a.csv", "z/y.csv", *names])


def put(s3: S3, key: str) -> None:
    """Puts an object of any name, also one that no client takes."""
    url = urlsplit(f"{s3.environment['AWS_ENDPOINT_URL']}/{BUCKET}/{quote(key)}")
    digest, at = hashlib.sha256(b"x").hexdigest(), datetime.now(UTC)
    headers = {"Host": url.netloc, "x-amz-content-sha256": digest, "x-amz-date": at.strftime("%Y%m%dT%H%M%SZ")}
    signed = sign_v4_s3(
        method="PUT", url=url, region="us-east-1", headers=dict[str, str | list[str] | tuple[str]](headers),
        credentials=Credentials(s3.KEY, SECRET), content_sha256=digest, date=at,
    )  # fmt: skip
    with closing(HTTPConnection(url.netloc)) as line:
        line.request("PUT", url.path, b"x", {name: str(one) for name, one in signed.items()})
        assert line.getresponse().status == 200


def test_without_the_other_client_a_strange_name_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "minio", None)
    with answering("a.csv", "b//c") as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
        with pytest.raises(StorageError, match=r"cannot be read: p/b//c") as told:
            opened("s3://bucket/p", tmp_path).renew()
    assert "//" in told.value.hint


@pytest.mark.parametrize(
    ("inbox", "library"),
    [("s3://bucket/in/../x", ""), ("http://x", ""), ("s3://bucket/all", "s3://bucket/all/library")],
)
def test_settings_that_make_no_sense(inbox: str, library: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="WARPDECK_INBOX"):
        config.load(inbox=inbox, library=library or tmp_path)


@contextmanager
def answering(*keys: str) -> Iterator[int]:
    """A server that lists objects of these names: no real one would take them."""
    listing = "".join(
        f"<Contents><Key>p/{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>3</Size></Contents>"
        for key in keys
    )
    body = f'<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>{listing}</ListBucketResult>'

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()

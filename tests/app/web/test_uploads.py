"""Uploads to a real server go to disk instead of memory, end at the limit, and leave nothing behind."""

import contextlib
import hashlib
import os
import resource
import signal
from pathlib import Path

import pytest

from app.web.upload_store import FOLDER_PREFIX
from bench.pages import Server, run_server
from tests.app.web.client import BOUNDARY, Answer, Session, ask, frame, session
from tests.app.web.uploading import (
    MB,
    PIECE,
    SETTINGS,
    Sending,
    hand_over,
    held,
    make_data,
    make_own,
    make_page,
    make_small,
    measure_held,
)
from tests.conftest import wait_until

pytestmark = pytest.mark.integration

__all__ = ["make_data", "make_own", "make_page", "make_small"]  # fixtures


def peak_kb(pid: int) -> int:
    """The most memory that a process had since the last ``forget_peak``."""
    line = next(one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1])


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def test_a_large_upload_goes_to_disk_and_not_to_memory(own: Path) -> None:
    size, digest = 150 * MB, hashlib.sha256()
    with (
        run_server(SETTINGS | {"WARPDECK_DATA": str(own)}, {"address": "127.0.0.1"}) as running,
        session(running.address) as page,
    ):
        page.run()
        assert page.put(b"warm").status == 204
        forget_peak(running.pid)
        before = peak_kb(running.pid)
        with Sending(page, size, told=True) as sending:
            for at in range(0, size, len(PIECE)):
                piece = PIECE[: size - at]
                digest.update(piece)
                sending.send(piece)
            assert sending.finish() == 204
        grown = peak_kb(running.pid) - before
        whole = max(held(own), key=lambda path: path.stat().st_size)
        assert whole.stat().st_size == size
        assert hashlib.sha256(whole.read_bytes()).digest() == digest.digest()
        assert grown < 40 * 1024, f"{grown} kB more for {size >> 10} kB"


def test_a_page_takes_what_was_uploaded(page: Session, data: Path) -> None:
    content = b"=".join([PIECE[:1000]] * 3)
    name = "Über größe.csv"
    assert page.put(content, name, file_id="one").status == 204
    hand_over(page, "one", name, len(content))
    wait_until((data / "inbox" / name).exists)
    assert (data / "inbox" / name).read_bytes() == content
    assert (data / "inbox" / name).stat().st_mode & 0o777 == 0o644
    assert held(data) == []


def test_a_receipt_is_good_once_and_for_its_session_alone(page: Session, small: Server, data: Path) -> None:
    assert page.put(b"content", "one.csv", file_id="one").status == 204
    with session(small.address) as other:
        other.run()
        forged = held(data)[0].name.encode()
        assert other.put(b"warpdeck-upload:" + forged.ljust(32, b"0"), "two.csv", file_id="two").status == 204
        hand_over(other, "one", "one.csv", 7)
        hand_over(other, "two", "two.csv", 7)
        wait_until((data / "inbox" / "two.csv").exists)
    assert (data / "inbox" / "two.csv").read_bytes().startswith(b"warpdeck-upload:"), "content is never a receipt"
    assert not (data / "inbox" / "one.csv").exists()


def test_a_file_of_the_limit_passes(page: Session, data: Path) -> None:
    assert page.put(bytes(5 * MB)).status == 204
    assert measure_held(data) == [5 * MB]


def test_the_uploader_shows_the_limit(page: Session) -> None:
    assert "max_upload_size_mb: 5" in page.text()


def test_a_file_above_the_limit_is_refused_before_it_is_sent(page: Session, data: Path) -> None:
    with Sending(page, 500 * MB, told=True) as sending:
        assert sending.status() == 413
    assert held(data) == []


@pytest.mark.parametrize("told", [True, False])
def test_a_file_a_byte_above_the_limit_is_refused_and_not_stored(page: Session, data: Path, told: bool) -> None:
    with Sending(page, 5 * MB + 1, told=told) as sending:
        sending.send(bytes(5 * MB + 1))
        assert sending.finish() == 413
    assert held(data) == []


def test_a_file_without_a_length_is_stored_no_further_than_the_limit(page: Session, data: Path) -> None:
    most = 0
    with Sending(page, 0, told=False) as sending:
        for _ in range(100):
            sending.send(PIECE)
            most = max([most, *measure_held(data)])
        assert sending.status() == 413
    assert 0 < most <= 5 * MB
    assert held(data) == []


@pytest.mark.parametrize("told", [True, False])
def test_an_upload_that_breaks_off_leaves_nothing(page: Session, data: Path, told: bool) -> None:
    with Sending(page, 4 * MB, told=told) as sending:
        sending.send(bytes(3 * MB))
        wait_until(lambda: sum(measure_held(data)) >= 2 * MB)
    wait_until(lambda: held(data) == [])


def test_the_end_of_a_session_removes_its_files(small: Server, data: Path) -> None:
    with contextlib.ExitStack() as open_:
        with session(small.address) as page:
            page.run()
            assert page.put(bytes(MB)).status == 204
            sending = open_.enter_context(Sending(page, 4 * MB, told=True))
            sending.send(bytes(2 * MB))
            wait_until(lambda: len(held(data)) == 2)
        wait_until(lambda: held(data) == [])
        sending.send(bytes(2 * MB))
        assert sending.finish() == 400
    assert held(data) == []


def test_a_file_taken_back_is_removed(page: Session, small: Server, data: Path) -> None:
    assert page.put(bytes(MB), file_id="mine").status == 204
    path = f"/_stcore/upload_file/{page.id}/mine"
    assert ask(small.address, path, "DELETE").status == 403, "without the token"
    assert len(held(data)) == 1
    assert ask(small.address, path, "DELETE", None, **page.upload_headers()).status == 204
    assert held(data) == []


def test_all_uploads_together_are_bounded(page: Session, small: Server, data: Path) -> None:
    with session(small.address) as other:
        other.run()
        assert other.put(bytes(5 * MB)).status == 204
        assert page.put(bytes(5 * MB)).status == 204
        assert page.put(bytes(4 * MB)).status == 503
        with Sending(page, 0, told=False) as slow:
            slow.send(bytes(3 * MB))
            assert slow.status() == 503
        assert sum(measure_held(data)) <= 12 * MB
    wait_until(lambda: len(held(data)) == 1)
    assert page.put(bytes(4 * MB)).status == 204


def test_many_empty_files_are_bounded(page: Session) -> None:
    statuses = [page.put(b"").status for _ in range(12 * 16 + 1)]
    assert statuses == [204] * 12 * 16 + [503]


def test_uploads_under_way_are_bounded(page: Session, data: Path) -> None:
    with contextlib.ExitStack() as open_:
        under_way = [open_.enter_context(Sending(page, 10, told=True)) for _ in range(64)]
        wait_until(lambda: len(held(data)) == 64)
        assert page.put(b"x").status == 503
        under_way[0].send(bytes(10))
        assert under_way[0].finish() == 204
        assert page.put(b"x").status == 204
    wait_until(lambda: len(held(data)) == 2)


def test_only_a_session_that_shows_an_uploader_takes_files(small: Server, data: Path) -> None:
    with session(small.address) as page:
        page.run("kernels")
        assert page.id
        assert page.put(b"x").status == 403
        page.id = "00000000-0000-0000-0000-000000000000"
        assert page.put(b"x").status == 403
    assert held(data) == []


def test_an_upload_needs_the_token_before_a_byte_is_read(page: Session, data: Path) -> None:
    assert page.put(b"x", X_Xsrftoken="").status == 403
    assert page.put(b"x", Cookie="").status == 403
    assert held(data) == []


def asked(page: Session, body: bytes, content_type: str = f"multipart/form-data; boundary={BOUNDARY}") -> Answer:
    headers = page.upload_headers() | {"Content_Type": content_type}
    return ask(page.address, f"/_stcore/upload_file/{page.id}/odd", "PUT", body, **headers)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not a form",
        frame()[0] + b"no end",
        frame()[0]
        + b"one"
        + frame()[1].removesuffix(b"--\r\n")
        + b"\r\n"
        + frame()[0].split(b"\r\n", 1)[1]
        + frame()[1],
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--{BOUNDARY}--\r\n'.encode(),
        f"--{BOUNDARY}\r\n\r\nno header\r\n--{BOUNDARY}--\r\n".encode(),
        f"--{BOUNDARY}\r\n".encode() + b"X: y\r\n" * 10_000 + b"\r\n",
    ],
)
def test_what_is_no_form_with_one_file_is_refused(page: Session, data: Path, body: bytes) -> None:
    assert asked(page, body).status == 400
    assert held(data) == []


@pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data", "multipart/form-data; boundary=other"])
def test_another_type_of_content_is_refused(page: Session, data: Path, kind: str) -> None:
    assert asked(page, b"".join(frame()), kind).status == 400
    assert held(data) == []


def test_a_disk_that_takes_no_more_is_said(page: Session, small: Server, data: Path) -> None:
    before = resource.prlimit(small.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(small.pid, resource.RLIMIT_FSIZE, (2 * MB, before[1]))
    try:
        assert page.put(bytes(4 * MB)).status == 507
        assert held(data) == []
        assert page.put(bytes(MB)).status == 204
    finally:
        resource.prlimit(small.pid, resource.RLIMIT_FSIZE, before)


def test_what_a_killed_server_left_goes_with_the_next_start(page: Session, data: Path) -> None:
    """The server of the page runs all the time; two others of its library come and go."""
    settings = SETTINGS | {"WARPDECK_DATA": str(data)}
    assert page.put(bytes(MB)).status == 204
    (kept,) = held(data)
    with run_server(settings, {"address": "127.0.0.1"}) as first, session(first.address) as lost:
        assert held(data) == [kept], "a server that runs keeps its files"
        lost.run()
        assert lost.put(bytes(MB)).status == 204
        os.kill(first.pid, signal.SIGKILL)
    assert len(held(data)) == 2
    with run_server(settings, {"address": "127.0.0.1"}) as again, session(again.address) as other:
        assert held(data) == [kept]
        other.run()
        assert other.put(bytes(MB)).status == 204
    left = list((data / "inbox").glob(f"{FOLDER_PREFIX}*"))
    assert left == [kept.parent], "and a server that ends leaves nothing"

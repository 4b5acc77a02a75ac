"""A library's server file is read whole or rejected, with any bytes in it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiledb.library import server_file
from profiledb.library.server_file import Serving

GOOD = {"port": 8501, "base": "", "inbox": "/data/inbox", "key": "ab" * 32}


def read(folder: Path, content: bytes) -> Serving | None:
    (folder / server_file.NAME).write_bytes(content)
    return server_file.read_announcement(folder)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    one = server_file.describe_server(8501, "/team/warpdeck/", str(tmp_path / "inbox"))
    assert one.base == "/team/warpdeck"
    server_file.announce(tmp_path / "library", one)
    assert server_file.read_announcement(tmp_path / "library") == one
    assert [path.name for path in (tmp_path / "library").iterdir()] == [server_file.NAME]


def test_two_servers_have_two_keys(tmp_path: Path) -> None:
    one, two = (server_file.describe_server(8501, "", str(tmp_path)) for _ in range(2))
    assert one.answer("0" * 32) != two.answer("0" * 32)
    assert one.answer("0" * 32) != one.answer("1" * 32)


def test_only_the_last_one_is_taken_back(tmp_path: Path) -> None:
    one, two = (server_file.describe_server(port, "", str(tmp_path)) for port in (8501, 8502))
    server_file.announce(tmp_path, one)
    server_file.announce(tmp_path, two)
    server_file.withdraw(tmp_path, one)
    assert server_file.read_announcement(tmp_path) == two
    server_file.withdraw(tmp_path, two)
    assert server_file.read_announcement(tmp_path) is None


@pytest.mark.parametrize(
    "change",
    [
        {"port": 0},
        {"port": 65536},
        {"port": -1},
        {"port": "8501"},
        {"port": 8501.0},
        {"port": True},
        {"port": 10**400},
        {"port": None},
        {"base": "/../x?y"},
        {"base": "@evil.example"},
        {"base": "/x\r\nHost: evil"},
        {"base": "//evil.example"},
        {"base": "x"},
        {"base": "/x\n"},
        {"base": 5},
        {"key": ""},
        {"key": "ab" * 31},
        {"key": "ä" * 64},
        {"key": ["ab" * 32]},
        {"inbox": 5},
        {"inbox": None},
    ],
    ids=repr,
)
def test_a_field_that_is_not_ours_makes_it_none(change: dict[str, object], tmp_path: Path) -> None:
    assert read(tmp_path, json.dumps(GOOD).encode())
    assert read(tmp_path, json.dumps(GOOD | change).encode()) is None


@given(st.binary(max_size=300))
def test_garbage_is_none(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    assert read(tmp_path_factory.getbasetemp(), content) is None


def test_large_and_deep_files_are_none(tmp_path: Path) -> None:
    assert read(tmp_path, json.dumps(GOOD | {"more": "x" * server_file.LONGEST}).encode()) is None
    assert read(tmp_path, b"[" * 60_000) is None
    (tmp_path / server_file.NAME).unlink()
    (tmp_path / server_file.NAME).mkdir()
    assert server_file.read_announcement(tmp_path) is None


def test_a_folder_that_takes_no_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "library").touch()
    server_file.announce(tmp_path / "library", server_file.describe_server(8501, "", str(tmp_path)))

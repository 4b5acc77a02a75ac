"""``warpdeck space`` and ``warpdeck share`` on the command line."""

import pytest

from profiledb.access.cli.main import main
from profiledb.library.library import Library
from tests.profiledb.library.test_library import publish

REPORT = "aaaa000000000001"


def run(library: Library, *argv: str) -> int:
    return main([argv[0], "--library", str(library.folder), *argv[1:]])


def test_spaces(empty_library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(empty_library, "space", "list") == 0
    assert capsys.readouterr().out == ""
    assert run(empty_library, "space", "set", "kernels", "kernel-team", "token:nightly build") == 0
    assert run(empty_library, "space", "set", "infra") == 0
    assert empty_library.catalog.spaces.groups_by_space() == {
        "infra": (),
        "kernels": ("kernel-team", "token:nightly build"),
    }
    assert run(empty_library, "space", "list") == 0
    assert capsys.readouterr().out == (
        "@infra  0 reports  admins alone\n@kernels  0 reports  kernel-team, token:nightly build\n"
    )
    assert run(empty_library, "space", "remove", "infra") == 0
    assert "infra" not in empty_library.catalog.spaces.groups_by_space()
    assert [entry.way for entry in empty_library.catalog.audit.entries("infra")] == ["local", "local"]


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("space", "set"), "A space needs a name."),
        (("space", "set", "a/b"), "A space takes a name"),
        (("space", "remove", "nothing"), "There is no space 'nothing'."),
        (("share", "new"), "Name a report or a link."),
        (("share", "end", "nothing"), "There is no such link."),
        (("share", "new", "nothing"), "nothing"),
        (("share", "new", REPORT), "Links are not allowed."),
    ],
)
def test_what_cannot_be_done_is_told(
    argv: tuple[str, ...], told: str, empty_library: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(empty_library, REPORT)
    assert run(empty_library, *argv) == 1
    assert told in capsys.readouterr().err


def test_links(empty_library: Library, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPDECK_LOGIN_LINK_DAYS", "5")
    publish(empty_library, REPORT)
    assert run(empty_library, "share", "new", REPORT) == 1, "that is for seven days"
    assert "1 to 5 days" in capsys.readouterr().err
    assert run(empty_library, "share", "new", REPORT, "--days", "3") == 0
    address = capsys.readouterr().out.strip()
    shares = empty_library.catalog.sharing_links
    shown = shares.find(address.removeprefix("/shared/"))
    assert shown is not None
    assert shown.report_id == REPORT
    assert run(empty_library, "share", "list") == 0
    listed = capsys.readouterr().out
    assert listed.startswith(f"{shown.id}  until ")
    assert address.removeprefix("/shared/") not in listed
    assert run(empty_library, "share", "end", shown.id) == 0
    assert shares.all() == []

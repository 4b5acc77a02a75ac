"""The audit records access by people and programs, and counts refusals."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from app.web.refusal_throttle import FREE_REFUSALS
from profiledb.access.operations.tokens import Tokens
from profiledb.library.audit import Entry
from profiledb.library.library import Library
from profiledb.library.visitor import Visitor
from tests.app.web.client import Answer, Session, ask, session
from tests.app.web.provider import guarded, log_in, way_in
from tests.conftest import ingest_files
from tests.support.dropped_files import made

pytestmark = pytest.mark.integration
NAME = "small.sqlite"
NOBODYS = "Bearer wd_" + "0" * 12 + "_" + "0" * 64
HERE, ELSEWHERE = "203.0.113.7", "203.0.113.8"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("access")
    ingest_files(folder, [made(folder / NAME)])
    return folder


@pytest.fixture(scope="module")
def address(issuer: str, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    secrets = tmp_path_factory.mktemp("secrets") / "secrets.toml"
    with guarded(issuer, data, secrets, WARPDECK_LOGIN_LINK_DAYS="7") as (running, _):
        yield running.address


def said(data: Path, action: str) -> list[Entry]:
    """The entries of an action, the oldest first."""
    return Library(data / "library").catalog.audit.entries(action=action)[::-1]


def shown(address: str, token: str, at: str) -> Answer:
    """The answer to a program that sends a token from an address, which a proxy on this machine reports."""
    return ask(address, "/api/v1/reports", Authorization=token, X_Forwarded_For=at)


def report_file(page: Session, ending: str) -> str:
    """The file of the download button of a summary."""
    buttons = [m.delta.new_element.download_button for m in page.said if m.HasField("delta")]
    return next(one.deferred_file_id for one in buttons if one.id.endswith(f"summary{ending}"))


def test_a_token_that_has_ended_is_told_so(address: str, data: Path) -> None:
    tokens = Tokens(data / "library")
    token = f"Bearer {tokens.new('nightly', 'viewer', 1)}"
    assert shown(address, token, HERE).status == 200
    catalog = Library(data / "library").catalog
    (number,) = [one.id for one in tokens.all()]
    assert catalog.token_uses.all()[number][:10] == f"{datetime.now(UTC):%Y-%m-%d}"
    past = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    tokens._file.write_text(json.dumps([vars(one) | {"ends_at": past} for one in tokens.all()]))
    refused = shown(address, token, HERE)
    assert refused.status == 401
    assert json.loads(refused.body)["title"] == f"This token ended {past}. Ask an admin for another one."
    assert b"ended" not in shown(address, token[:-1] + "x", HERE).body, "only who holds it hears that"
    entry = said(data, "refused token")[0]
    assert (entry.who, entry.way, entry.about) == ("nightly", "token", f"ended, from {HERE}")


def test_refused_tokens_wait_and_nothing_else_does(address: str, data: Path) -> None:
    good = f"Bearer {Tokens(data / 'library').new('good', 'viewer')}"
    before = len(said(data, "refused token"))
    at = "198.51.100.1"
    answers = [shown(address, NOBODYS, at) for _ in range(FREE_REFUSALS + 8)]
    assert [one.status for one in answers] == [401] * (FREE_REFUSALS + 1) + [429] * 7
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert shown(address, NOBODYS, ELSEWHERE).status == 401
    assert shown(address, good, at).status == 200
    counted = [one.about for one in said(data, "refused token")[before:]]
    assert counted == [f"from {at}", f"from {at}, 10 so far", f"from {ELSEWHERE}"]


def test_logins_and_what_is_refused(address: str, data: Path) -> None:
    for name in ("edith", "nora"):
        log_in(address, name)
    edith, nora = said(data, "logged in")
    assert (edith.who, edith.about) == ('"Edith", edith', "from 127.0.0.1")
    assert nora.about == "from 127.0.0.1, without a role"
    made_up = f"/oauth2callback?state={'0' * 30}&code=guessed"
    answers = [ask(address, made_up, X_Forwarded_For=HERE) for _ in range(2 * FREE_REFUSALS)]
    assert [one.status for one in answers] == [302] * (FREE_REFUSALS + 1) + [429] * (FREE_REFUSALS - 1)
    assert [one.about for one in said(data, "refused login")] == [f"from {HERE}", f"from {HERE}, 10 so far"]
    assert ask(address, way_in(address), X_Forwarded_For=HERE).status == 302, "who begins anew does not wait"


def test_downloads_questions_and_links(address: str, data: Path) -> None:
    catalog = Library(data / "library").catalog
    report = catalog.reports()[0]
    with session(address, log_in(address, "victor")) as page:
        page.run("summary")
        for button in (report_file(page, ".html"), report_file(page, ".summary.md")):
            path = page.made_file(button)
            assert ask(address, path, Cookie=page.cookie).status == 200
    victor = said(data, "downloaded")
    assert [one.about for one in victor] == [f"{Path(NAME).stem}{ending}" for ending in (".html", ".summary.md")]
    assert all(one.who.startswith('"Victor"') for one in victor)
    token = f"Bearer {Tokens(data / 'library').new('reader', 'viewer')}"
    rows = f"/api/v1/reports/{report.id}/analyses/kernels?format=csv"
    assert ask(address, rows, Authorization=token).status == 200
    taken = said(data, "downloaded")[-1]
    assert (taken.who, taken.report_name, taken.about) == ("reader", NAME, "kernels.csv")
    sql = "SELECT 'postgresql://me:hidden@db/x' AS a, count(*) FROM kernel"
    asked = f"/api/v1/reports/{report.id}/sql?sql={quote(sql)}"
    assert ask(address, asked, Authorization=token).status == 200
    entry = said(data, "asked SQL")[-1]
    assert (entry.who, entry.way, entry.report_name) == ("reader", "token", NAME)
    assert entry.about == sql.replace("hidden", "[removed]")
    link = catalog.asked_by(Visitor("Edith", "login")).sharing_links.create(report.id, 1, 7)
    assert ask(address, f"/shared/{link}", X_Forwarded_For=HERE).status == 303
    opened = said(data, "opened link")[-1]
    assert (opened.who, opened.way, opened.about) == (f"link {link.split('_')[1]}", "link", f"from {HERE}")
    assert link.split("_")[2] not in "".join(map(str, catalog.audit.entries()))
    guesses = [ask(address, f"/shared/{link[:-1]}x", X_Forwarded_For="203.0.113.99") for _ in range(FREE_REFUSALS + 2)]
    assert [one.status for one in guesses] == [404] * (FREE_REFUSALS + 1) + [429]
    assert said(data, "refused link")[0].about == "from 203.0.113.99"

"""A sharing link shows people without a login the pages of one report and nothing else, by any protocol."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.page_list import ADMIN_URL, VIEWS
from app.timeline.routes import PREFIX
from app.web.sharing_route import COOKIE
from bench.pages import find_free_port
from profiledb.access.operations import openapi
from profiledb.access.operations.registry import list_operations
from profiledb.library.library import Library
from tests.app.web.client import ask, session
from tests.app.web.provider import guarded, log_in
from tests.conftest import run_ingest
from tests.profiledb.monitoring.test_prometheus import values
from tests.support.dropped_files import made

pytestmark = pytest.mark.integration
SHARED, OTHER = "shown_report", "hush_report"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("shared")
    (folder / "inbox" / "@kernels").mkdir(parents=True)
    made(folder / "inbox" / "@kernels" / f"{SHARED}.sqlite")
    made(folder / "inbox" / f"{OTHER}.sqlite", 7_000)
    run_ingest(folder / "inbox", folder / "library")
    return Library(folder / "library")


@pytest.fixture(scope="module")
def metrics() -> int:
    return find_free_port()


@pytest.fixture(scope="module")
def address(issuer: str, library: Library, metrics: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    secrets = tmp_path_factory.mktemp("secrets") / "secrets.toml"
    more = {"WARPDECK_LOGIN_LINK_DAYS": "30", "WARPDECK_METRICS": str(metrics)}
    with guarded(issuer, library.folder.parent, secrets, **more) as (running, _):
        yield running.address


def link(library: Library) -> tuple[str, str]:
    """The secret of a new link, and the id of its report."""
    shown = library.find(f"{SHARED}.sqlite").id
    return library.catalog.sharing_links.create(shown, 3, 30), shown


def opened(address: str, secret: str) -> dict[str, str]:
    """The cookies that a browser has after it opened a link."""
    answer = ask(address, f"/shared/{secret}")
    assert answer.status == 303, answer.body
    cookie, *about = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(about)
    name, _, value = cookie.partition("=")
    assert (name, value) == (COOKIE, secret)
    return {name: value}


def test_it_opens_the_pages_of_its_report_and_no_other(address: str, library: Library) -> None:
    secret, shown = link(library)
    cookies, other = opened(address, secret), library.find(f"{OTHER}.sqlite").id
    with session(address, cookies) as page:
        page.run("summary", report=shown)
        assert SHARED in page.text()
        assert "This link shows one report" in page.text()
        page.run("kernels", report=shown)
        assert "vector_add" in page.text() or "Kernels" in page.text()
    for name in ("", ADMIN_URL, "sql", "compare", "trends", "scaling"):
        with session(address, cookies) as page:
            page.run(name)
            assert "The link that you have shows one report" in page.text(), name
            assert not any(word in page.text() for word in ("hush_", other)), name
    with session(address, cookies) as page:
        for view in VIEWS:
            page.run(view.url, report=other)
        assert "hush_" not in page.text()
        assert page.put(b"x").status == 403


def test_it_opens_no_road_but_those_of_its_pages(address: str, library: Library) -> None:
    secret, shown = link(library)
    cookie, other = f"{COOKIE}={secret}", library.find(f"{OTHER}.sqlite").id
    assert ask(address, f"{PREFIX}/{shown}/lanes", Cookie=cookie).status in (200, 202)
    assert ask(address, f"{PREFIX}/{other}/lanes", Cookie=cookie).status == 404
    assert ask(address, f"{PREFIX}/{shown}/lanes").status == 401
    for operation in list_operations().values():
        path = operation.path.format(report=shown, analysis="kernel_summary", recipe="nccl_sum")
        assert ask(address, f"{openapi.PREFIX}{path}", Cookie=cookie).status == 403, path
    for path, method in (("/mcp", "POST"), ("/api/v1/uploads?name=x", "POST"), ("/anything", "GET")):
        assert ask(address, path, method, b"x", Cookie=cookie).status == 403, path


def test_one_that_ended_opens_nothing(address: str, library: Library) -> None:
    secret, shown = link(library)
    cookies = opened(address, secret)
    with session(address, cookies) as page:
        page.run("summary", report=shown)
        assert SHARED in page.text()
        library.catalog.sharing_links.end(secret.split("_")[1])
        heard = "\n".join(map(str, page.run("summary", report=shown)))
        assert "Log in to see the reports." in heard
        assert SHARED not in heard
    assert ask(address, f"/shared/{secret}").status == 404
    assert ask(address, f"/shared/{secret[:-1]}").status == 404
    assert ask(address, f"{PREFIX}/{shown}/lanes", Cookie=f"{COOKIE}={secret}").status == 401


def test_who_is_logged_in_sees_by_it_what_they_see_anyway(address: str, library: Library) -> None:
    cookies = "; ".join(f"{name}={value}" for name, value in log_in(address, "victor").items())
    secret, _ = link(library)
    refused = ask(address, f"/shared/{secret}", Cookie=cookies)
    assert (refused.status, COOKIE in refused.headers.get("set-cookie", "")) == (403, False)
    assert b"private window" in refused.body
    theirs = library.catalog.sharing_links.create(library.find(f"{OTHER}.sqlite").id, 3, 30)
    sent = ask(address, f"/shared/{theirs}", Cookie=cookies)
    assert (sent.status, "set-cookie" in sent.headers) == (303, False)


def test_figures_count_the_reports_of_all(address: str, metrics: int) -> None:
    assert values(ask(f"http://127.0.0.1:{metrics}", "/metrics").body.decode())["warpdeck_reports", ""] == 2


def test_where_links_are_not_allowed_none_opens_anything(issuer: str, library: Library, tmp_path: Path) -> None:
    secret, shown = link(library)
    with guarded(issuer, library.folder.parent, tmp_path / "secrets.toml") as (running, _):
        assert ask(running.address, f"/shared/{secret}").status == 404
        assert ask(running.address, f"{PREFIX}/{shown}/lanes", Cookie=f"{COOKIE}={secret}").status == 401

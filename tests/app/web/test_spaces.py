"""Spaces on every interface: a visitor outside a space finds neither the name nor the id of any of its reports."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.page_list import ADMIN_URL, VIEWS
from app.timeline.routes import PREFIX
from app.timeline.timeline_answers import ANSWERS
from profiledb.access.operations import openapi
from profiledb.access.operations.registry import list_operations
from profiledb.access.operations.tokens import Tokens
from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.library.marks import Mark
from profiledb.studies.trends import summary_refresh
from tests.app.web.client import Answer, ask, session
from tests.app.web.provider import guarded, log_in
from tests.conftest import run_ingest
from tests.support.dropped_files import made

pytestmark = pytest.mark.integration
SECRET, OPEN, LABEL = "hush_secret", "everybodys", "hush_label"
FAILED = "hush_broken.nsys-rep"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a report of a space, one of everybody, and a file of the space that could not be read."""
    folder = tmp_path_factory.mktemp("spaces")
    inbox = folder / "inbox"
    (inbox / "@kernels").mkdir(parents=True)
    made(inbox / f"{OPEN}.sqlite")
    made(inbox / "@kernels" / f"{SECRET}.sqlite", 7_000)
    (inbox / "@kernels" / FAILED).write_bytes(b"NVIDIA Tegra Profiler Report " + bytes(500))
    run_ingest(inbox, folder / "library")
    library = Library(folder / "library")
    library.catalog.set_labels(hidden(library).id, [LABEL])
    library.catalog.marks.change(hidden(library).id, [Mark(5, "hush_mark")])
    library.catalog.spaces.put("kernels", ["gpu-editor", "token:inside"])
    summary_refresh.refresh(library)
    return folder


def hidden(library: Library) -> Manifest:
    return library.find(f"{SECRET}.sqlite")


@pytest.fixture(scope="module")
def secret(data: Path) -> str:
    """The id of the report of the space."""
    return hidden(Library(data / "library")).id


@pytest.fixture(scope="module")
def address(issuer: str, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    secrets = tmp_path_factory.mktemp("secrets") / "secrets.toml"
    with guarded(issuer, data, secrets) as (running, _):
        yield running.address


@pytest.fixture(scope="module")
def people(address: str) -> dict[str, dict[str, str]]:
    return {name: log_in(address, name) for name in ("ada", "edith", "victor")}


@pytest.fixture(scope="module")
def programs(data: Path) -> dict[str, str]:
    tokens = Tokens(data / "library")
    return {name: f"Bearer {tokens.new(name, 'editor')}" for name in ("inside", "outside")}


def test_pages_tell_nothing_of_it(address: str, people: dict[str, dict[str, str]], secret: str) -> None:
    """Every page: by its own address, by one that names the report, alone and beside another report."""
    with session(address, people["victor"]) as page:
        for view in ("", ADMIN_URL, *(view.url for view in VIEWS)):
            page.run(view)
        assert OPEN in page.text()
        assert [word for word in ("hush_", secret) if word in page.text()] == []
        for one in VIEWS:
            page.run(one.url, report=secret if one.across else f"{OPEN}.sqlite", other=secret, ncu=secret)
        page.run("summary", report=secret)
        assert "hush_" not in page.text(), "though its address names the report"
    for name in ("edith", "ada"):
        with session(address, people[name]) as page:
            page.run()
            assert all(word in page.text() for word in (SECRET, FAILED, LABEL, OPEN)), name


def values(operation: Any, report: str) -> dict[str, str]:
    """The required parameters of an operation, with values."""
    given = {"report": report, "a": f"{OPEN}.sqlite", "b": report, "analysis": "kernel_summary", "recipe": "nccl_sum"}
    given["sql"] = "SELECT * FROM library_summary"
    return {param.name: given[param.name] for param in operation.params if param.required}


def of_api(address: str, name: str, report: str, **headers: Any) -> Answer:
    operation = list_operations()[name]
    told = values(operation, report)
    query = "&".join(f"{key}={value.replace(' ', '%20').replace('*', '%2A')}" for key, value in told.items())
    return ask(address, f"{openapi.PREFIX}{operation.path.format(**told)}?{query}", **headers)


def test_programs_are_told_nothing_of_it(
    address: str, people: dict[str, dict[str, str]], programs: dict[str, str], secret: str
) -> None:
    cookie = "; ".join(f"{key}={value}" for key, value in people["victor"].items())
    strangers: list[dict[str, Any]] = [{"Authorization": programs["outside"]}, {"Cookie": cookie}]
    for who in strangers:
        for name in list_operations():
            answers = {report: of_api(address, name, report, **who) for report in (secret, f"{OPEN}.sqlite")}
            for answer in answers.values():
                said = answer.body.decode().replace(f"No report is called '{secret}'", "")
                assert "hush_" not in said, name
                assert secret not in said, name
            asks_for_it = any(param.name in ("report", "b") for param in list_operations()[name].params)
            assert (answers[secret].status == 404) == asks_for_it, name
    for name in ("list_reports", "get_report", "list_jobs", "ask_sql"):
        answer = of_api(address, name, secret, Authorization=programs["inside"])
        assert answer.status == 200, answer.body
        assert SECRET in answer.body.decode(), name


def test_the_assistant_is_told_nothing_of_it(address: str, programs: dict[str, str], secret: str) -> None:
    pytest.importorskip("mcp")

    def call(tool: str, who: str) -> str:
        told = {"name": tool, "arguments": values(list_operations()[tool], secret)}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": told}
        types = {"Content_Type": "application/json", "Accept": "application/json, text/event-stream"}
        answer = ask(
            address, "/mcp", "POST", json.dumps(body).encode(), Authorization=programs[who],
            Mcp_Protocol_Version="2025-06-18", **types,
        )  # fmt: skip
        assert answer.status == 200, answer.body
        return answer.body.decode()

    assert SECRET in call("list_reports", "inside")
    assert SECRET in call("get_report", "inside")
    assert "hush_" not in call("list_reports", "outside")
    assert "No report is called" in call("get_report", "outside")
    assert SECRET in call("list_reports", "inside"), "each request is its sender's"


def test_a_timeline_is_told_to_those_who_see_it(address: str, people: dict[str, dict[str, str]], secret: str) -> None:
    outside, inside = ("; ".join(f"{k}={v}" for k, v in people[name].items()) for name in ("victor", "edith"))
    for name in ANSWERS:
        assert ask(address, f"{PREFIX}/{secret}/{name}", Cookie=outside).status == 404, name
    assert ask(address, f"{PREFIX}/{secret}/lanes", Cookie=inside).status in (200, 202)
    assert ask(address, f"{PREFIX}/{secret}/tile?g=0&z=0&i=0", Cookie=outside, If_None_Match="*").status == 404


def test_uploads_go_into_spaces_that_one_sees(address: str, data: Path, programs: dict[str, str]) -> None:
    def put(who: str, space: str) -> int:
        headers = {"Authorization": programs[who], "Content_Type": "application/octet-stream"}
        return ask(address, f"/api/v1/uploads?name=x.txt&space={space}", "POST", b"x", **headers).status

    assert put("outside", "kernels") == put("outside", "..") == put("inside", "nothing") == 403
    assert not (data / "inbox" / "@kernels" / "x.txt").exists()
    assert put("inside", "kernels") == 202
    assert (data / "inbox" / "@kernels" / "x.txt").read_bytes() == b"x"
    (entry,) = Library(data / "library").catalog.audit.entries(action="uploaded", most=1)
    assert (entry.who, entry.about) == ("inside", "@kernels/x.txt")


def test_the_same_content_elsewhere_is_a_file_of_its_own(data: Path, tmp_path: Path) -> None:
    """The files share one report, visible to everyone who sees either file; the worker decides that, not the test."""
    library, inbox = tmp_path / "library", tmp_path / "inbox"
    (inbox / "@a").mkdir(parents=True)
    (inbox / "@b").mkdir()
    for name in ("a", "b"):
        shutil.copy(data / "inbox" / f"{OPEN}.sqlite", inbox / f"@{name}" / f"{name}.sqlite")
    run_ingest(inbox, library)
    catalog = Library(library).catalog
    assert [set(spaces) for spaces in catalog.spaces.spaces_by_report().values()] == [{"a", "b"}]
    assert sorted(job.state for job in catalog.jobs()) == ["duplicate", "ready"]

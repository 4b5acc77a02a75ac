"""Headers of every answer of a real server, and the content of Streamlit's own addresses."""

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.web import compression_middleware
from bench.pages import Server, run_server
from tests.app.web.client import Answer, Session, ask, session
from tests.conftest import ROOT, ingest_files
from tests.support.dropped_files import made

pytestmark = pytest.mark.integration
NAME = "shown_report.sqlite"
ALWAYS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
ADDRESSES = {
    "/": 200,
    "/kernels": 200,
    "/index.html": 200,
    "/favicon.png": 200,
    "/kernels/": 301,
    "//evil.example": 400,
    "/media/nothing.csv": 404,
    "/component/nothing/x.js": 404,
    "/_stcore/bidi-components/nothing/x.js": 404,
    "/_stcore/health": 200,
    "/_stcore/host-config": 200,
    "/_stcore/metrics": 404,
    "/_stcore/agent/interact": 404,
    "/auth/login": 302,
    "/auth/logout": 302,
    "/oauth2callback": 302,
    "/_stcore/upload_file/a/b": 200,  # a GET: Streamlit's empty page
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dashboard with one report, whose operator turned on what Streamlit serves only then."""
    data = tmp_path_factory.mktemp("headers")
    ingest_files(data, [made(data / NAME)])
    settings = {
        "WARPDECK_DATA": str(data),
        "WARPDECK_SAMPLES": "off",
        "WARPDECK_WORKER": "off",
        "STREAMLIT_SERVER_ENABLE_AGENT_API": "true",
        "STREAMLIT_SERVER_SCRIPT_HEALTH_CHECK_ENABLED": "true",
    }
    with run_server(settings, {"address": "127.0.0.1"}) as one:
        yield one


@pytest.fixture
def page(running: Server) -> Iterator[Session]:
    with session(running.address) as one:
        yield one


def complete(answer: Answer) -> None:
    """Fails where an answer lacks one of the headers."""
    assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS
    rules = dict(rule.strip().split(" ", 1) for rule in answer.headers["content-security-policy"].split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["connect-src"] == "'self'"
    scripts = rules["script-src"].split()
    assert all(one in ("'self'", "'wasm-unsafe-eval'") or one.startswith("'sha256-") for one in scripts)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ADDRESSES)
def test_every_answer_carries_the_headers(running: Server, path: str, method: str) -> None:
    answer = ask(running.address, path, method)
    if method == "GET":
        assert answer.status == ADDRESSES[path]
    complete(answer)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NONSENSE"])
@pytest.mark.parametrize("path", ["/", "/media/x", "/_stcore/upload_file/a/b", "/_stcore/stream", "/_stcore/metrics"])
def test_refusals_carry_the_headers(running: Server, path: str, method: str) -> None:
    complete(ask(running.address, path, method))


def test_refusals_of_strangers_carry_the_headers(running: Server) -> None:
    complete(ask(running.address, "/", Host="evil.example"))
    complete(ask(running.address, "/", Origin="http://evil.example"))


def test_static_files_carry_the_headers(running: Server) -> None:
    page = ask(running.address, "/").body.decode()
    paths = {part.split('"')[0] for part in page.split('"./')[1:] if part.startswith("static/")}
    assert len(paths) > 10
    for path in sorted(paths)[:5]:
        answer = ask(running.address, f"/{path}")
        assert answer.status == 200
        complete(answer)


def test_downloads_carry_the_headers_and_stay_private(running: Server, page: Session) -> None:
    page.run()
    heard = str(page.run("summary"))
    path = "/media/" + heard.split("/media/")[1].split('"', maxsplit=1)[0]
    answer = ask(running.address, path)
    assert answer.status == 200
    assert answer.headers["cache-control"] == "private, no-cache"
    complete(answer)


CRASH = """
import sys
sys.argv = ["app/main.py"]
from streamlit import config
config._main_script_path = "app/main.py"
import app.main
from app.web import trusted_host_middleware
from starlette.testclient import TestClient
def broken(*_): raise RuntimeError("the secret words")
trusted_host_middleware.find_foreign_header = broken
answer = TestClient(app.main.app, raise_server_exceptions=False).get("/")
print(answer.status_code, dict(answer.headers), answer.text)
"""


def test_errors_that_nobody_foresaw_carry_the_headers(tmp_path: Path) -> None:
    environment = os.environ | {"WARPDECK_DATA": str(tmp_path), "WARPDECK_WORKER": "off"}
    command = [sys.executable, "-W", "ignore", "-c", CRASH]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120)
    answer = done.stdout.splitlines()[-1]
    assert answer.startswith("500 ")
    for part in (*ALWAYS, "content-security-policy", "frame-ancestors 'none'"):
        assert part in answer
    assert "secret" not in answer


def test_nothing_is_told_about_reports(running: Server, page: Session) -> None:
    page.run()
    page.run("kernels")
    report = NAME.partition(".")[0]
    assert report in page.text()
    told = {path: ask(running.address, path).body for path in ADDRESSES}
    assert told["/_stcore/health"] == b"ok"
    assert b'"allowedOrigins":[]' in told["/_stcore/host-config"]
    for path in ("/_stcore/metrics", "/_stcore/metrics?families=cache_memory_bytes", "/_stcore/agent/openapi.json"):
        assert ask(running.address, path).body == b"Not found"
    for path, body in told.items():
        assert report.encode() not in body, path
        assert b"cache_memory" not in body, path


def test_options_of_streamlit_open_nothing(running: Server) -> None:
    for path in ("/_stcore/agent/interact", "/_stcore/agent/mcp", "/_stcore/script-health-check"):
        for method in ("GET", "POST"):
            assert ask(running.address, path, method, b"{}", Content_Type="application/json").status == 404


def test_scripts_come_compressed_and_stay_in_the_browser(running: Server) -> None:
    shell = ask(running.address, "/").body.decode()
    paths = [f"/{path}" for path in re.findall(r'(?:src|href)="\./(static/[^"]+\.(?:js|css))"', shell)]
    large = [path for path in paths if len(ask(running.address, path).body) >= compression_middleware.MIN_BYTES]
    assert len(large) > 1
    for path in large:
        plain = ask(running.address, path)
        first, again = (ask(running.address, path, Accept_Encoding="br, gzip;q=0.8") for _ in range(2))
        assert "content-encoding" not in plain.headers
        complete(first)
        assert first.headers["content-encoding"] == "gzip"
        assert "immutable" in first.headers["cache-control"]
        assert "accept-encoding" in first.headers["vary"].lower()
        assert first.headers["content-type"] == plain.headers["content-type"]
        assert int(first.headers["content-length"]) == len(first.body) < len(plain.body)
        assert gzip.decompress(first.body) == plain.body
        assert (again.body, again.headers["etag"]) == (first.body, first.headers["etag"])
        assert ask(running.address, path, Accept_Encoding="gzip", If_None_Match=first.headers["etag"]).status == 304
        refused = ask(running.address, path, Accept_Encoding="gzip;q=0")
        assert "content-encoding" not in refused.headers
        part = ask(running.address, path, Accept_Encoding="gzip", Range="bytes=0-9")
        assert (part.status, part.body) == (206, plain.body[:10])


def test_what_is_not_there_is_not_compressed(running: Server) -> None:
    for path in ("/static/js/nothing.js", "/static/../../etc/passwd.js", "/static/%2e%2e/%2e%2e/x.js"):
        there, asked = ask(running.address, path), ask(running.address, path, Accept_Encoding="gzip")
        assert there.status == asked.status
        assert there.body == (gzip.decompress(asked.body) if "content-encoding" in asked.headers else asked.body)

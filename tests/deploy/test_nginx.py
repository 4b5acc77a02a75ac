"""deploy/nginx.conf in a real nginx passes on addresses of sharing links like all others, and logs none."""

import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from app.web.sharing_route import PREFIX
from bench.pages import find_free_port
from tests.app.web.client import Answer, ask
from tests.conftest import wait_until
from tests.support.nginx_proxy import proxied, site_of

SECRET = "ws_0123456789ab_" + "5" * 64
PATHS = (f"{PREFIX}{SECRET}", f"//shared/{SECRET}", f"/%73hared/{SECRET}", f"{PREFIX}{SECRET}?from=mail")


class Told(BaseHTTPRequestHandler):
    """Returns the request that it received."""

    def do_GET(self) -> None:
        body = "\n".join(f"{name}: {value}" for name, value in self.headers.items()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def is_up(address: str) -> bool:
    try:
        return ask(address, "/").status == 200
    except OSError:
        return False


def like(answer: Answer) -> tuple[int, bytes, bool]:
    return answer.status, answer.body, "set-cookie" in answer.headers


def test_secrets_of_links_stand_in_no_log(nginx: Path, tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Told)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    port = find_free_port()
    address = f"http://127.0.0.1:{port}"
    try:
        with proxied(nginx, tmp_path, site_of([server.server_port], port)):
            wait_until(partial(is_up, address))
            usual = ask(address, "/usual")
            assert like(usual)[::2] == (200, True)
            assert all(like(ask(address, path)) == like(usual) for path in PATHS)
            assert b"X-Forwarded-Proto: http" in usual.body.splitlines()
            assert not usual.headers["set-cookie"].endswith("; Secure")
            told = ask(address, "/usual", X_Forwarded_Proto="https", X_Forwarded_For="192.0.2.1")
            assert b"X-Forwarded-Proto: https" in told.body.splitlines(), "TLS ends at another proxy in front"
            assert b"X-Forwarded-For: 127.0.0.1" in told.body.splitlines(), "whatever a browser says of its address"
            assert told.headers["set-cookie"].endswith("; Secure")
            server.shutdown()
            server.server_close()
            assert {ask(address, path).status for path in ("/away", *PATHS)} == {502}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    logs = {name: (tmp_path / name).read_text() for name in ("access.log", "error.log", "way.log")}
    assert "GET /usual " in logs["access.log"]
    assert "GET /away " in logs["access.log"]
    assert "GET /away " in logs["error.log"]
    assert not [name for name, text in logs.items() if SECRET in text or "hared" in text]

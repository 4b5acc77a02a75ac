"""A real nginx with a file for its conf.d, such as deploy/nginx.conf, and servers behind it."""

import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench.pages import Server, find_free_port
from tests.app.web.client import ask
from tests.conftest import ROOT, wait_until

COOKIE = "warpdeck_server"
"""The cookie that selects the server of a browser."""
_SERVERS = re.compile(r"(?:^ *server app\d+:8501 max_fails=1 fail_timeout=5s;\n)+", re.MULTILINE)


@contextmanager
def proxied(nginx: Path, folder: Path, site: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run nginx with this site file in its own folder.

    ``way.log`` in the folder records the server of each request; ``access.log`` and ``error.log`` are nginx's own.
    """
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}} http {{ {temporary}"
        f" log_format way '$warpdeck_key $upstream_addr'; access_log {folder}/way.log way;"
        f" access_log {folder}/access.log combined;\n{site}\n}}"
    )
    process = subprocess.Popen([str(nginx), "-p", str(folder), "-c", str(folder / "nginx.conf")])
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


def site_of(ports: Sequence[int], port: int) -> str:
    """Return the site file from deploy/, for local servers at these ports and nginx at another port."""
    site = (ROOT / "deploy" / "nginx.conf").read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    lines = [f"  server 127.0.0.1:{one} max_fails=1 fail_timeout=5s;\n" for one in ports]
    site, found = _SERVERS.subn("".join(lines), site)
    assert found == 1
    return site


@contextmanager
def behind(nginx: Path, servers: Sequence[Server], folder: Path, port: int = 0) -> Iterator[str]:
    """Run nginx in front of servers with the site file from deploy/, and yield its address."""
    port = port or find_free_port()
    with proxied(nginx, folder, site_of([urlsplit(one.address).port or 0 for one in servers], port)):
        address = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            try:
                return ask(address, "/health").status == 200
            except OSError:
                return False

        wait_until(answers)
        yield address


def ways(folder: Path, key: str) -> set[str]:
    """Return the servers (host and port) that received a browser's requests."""
    lines = (line.split(" ", 1) for line in (folder / "way.log").read_text().splitlines())
    return {way for one, way in lines if one == key}

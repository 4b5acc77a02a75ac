"""A real nginx in front of servers, with the file that deploy/ has."""

import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench.pages import free_port

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
WAY = "way.log"
"""The log that says which server the requests of each browser went to."""
_CONF = Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf"
_SERVER = "  server app{}:8501 max_fails=1 fail_timeout=5s;\n"
_STARTS_S = 20.0


@contextmanager
def nginx(folder: Path, servers: Sequence[str]) -> Iterator[str]:
    """Runs it in front of servers by their addresses; gives its own."""
    port = free_port()
    site = _CONF.read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    hosts = "".join(f"  server 127.0.0.1:{urlsplit(one).port} max_fails=1 fail_timeout=5s;\n" for one in servers)
    site = site.replace(_SERVER.format(1) + _SERVER.format(2), hosts)
    assert hosts in site
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}} http {{ {temporary}"
        f" log_format way '$warpdeck_key $upstream_addr'; access_log {folder}/{WAY} way;\n{site}\n}}"
    )
    process = subprocess.Popen([str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf")])
    try:
        _wait(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


def _wait(address: str) -> None:
    limit = time.monotonic() + _STARTS_S
    while True:
        try:
            urllib.request.urlopen(f"{address}/health", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < limit, "nginx does not answer"
            time.sleep(0.05)

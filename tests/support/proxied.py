"""Servers behind a real nginx, with the file that deploy/ has."""

import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench.pages import Server
from tests.app.web.client import ask
from tests.conftest import ROOT, wait_until

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
COOKIE = "warpdeck_server"
"""Its value chooses the server of a browser."""


@contextmanager
def behind(servers: Sequence[Server], folder: Path, port: int) -> Iterator[str]:
    """The address of nginx in front of two servers; its log says which one each browser's requests went to."""
    site = (ROOT / "deploy" / "nginx.conf").read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    for name, one in zip(("app1:8501", "app2:8501"), servers, strict=True):
        site = site.replace(name, f"127.0.0.1:{urlsplit(one.address).port}")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}} http {{ {temporary}"
        f" log_format way '$warpdeck_key $upstream_addr'; access_log {folder}/way.log way;\n{site}\n}}"
    )
    process = subprocess.Popen([str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf")])
    try:
        address = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            try:
                return ask(address, "/health").status == 200
            except OSError:
                return False

        wait_until(answers)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


def ways(folder: Path, key: str) -> set[str]:
    """The servers, host and port, that a browser's requests went to."""
    lines = (line.split(" ", 1) for line in (folder / "way.log").read_text().splitlines())
    return {way for one, way in lines if one == key}

"""A real nginx with a file for its conf.d, such as deploy/nginx.conf."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def proxied(nginx: Path, folder: Path, site: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Runs nginx with this file, in a folder of its own; ``way.log`` there says which server each browser went to."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}} http {{ {temporary}"
        f" log_format way '$warpdeck_key $upstream_addr'; access_log {folder}/way.log way;\n{site}\n}}"
    )
    process = subprocess.Popen([str(nginx), "-p", str(folder), "-c", str(folder / "nginx.conf")])
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)

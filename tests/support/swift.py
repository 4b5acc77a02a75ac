"""Another real S3 server for tests: OpenStack Swift with its S3 API, with all of its parts on this machine.

It stores a bucket in databases and objects on three servers, assembles large objects from segments, honors conditional
puts, and pages listings after a few names. scripts/install_swift.sh installs it.
"""

import getpass
import os
import subprocess
import urllib.error
import urllib.request
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

from bench.pages import find_free_port
from tests.support import needs
from tests.support.s3 import BUCKET, S3, SECRET

LISTED = 7
"""Names per page of a listing, so that listing a few objects takes several pages."""
_STORAGE = ("account", "container", "object")
_COMMON = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
log_level = ERROR
"""
_STORES = """
[pipeline:main]
pipeline = {part}-server
[app:{part}-server]
use = egg:swift#{part}
"""
_FILTERS = {"s3api": f"max_bucket_listing = {LISTED}", "tempauth": f"user_test_tester = {SECRET} .admin"}
_PIPELINE = ("catch_errors", "gatekeeper", "healthcheck", "listing_formats", "s3api", "tempauth", "bulk", "slo", "copy")
_PROXY = f"""
[pipeline:main]
pipeline = {" ".join(_PIPELINE)} proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
""" + "".join(f"[filter:{one}]\nuse = egg:swift#{one}\n{_FILTERS.get(one, '')}\n" for one in _PIPELINE)
_RINGS = """
import sys
from swift.common.ring import RingBuilder
folder, *parts = sys.argv[1:]
for name, port in (part.split("=") for part in parts):
    builder = RingBuilder(2, 1, 0)
    builder.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "device": "d1", "weight": 1.0})
    builder.rebalance()
    builder.get_ring().save(f"{folder}/{name}.ring.gz")
"""
"""Python code that creates the rings, with one device for each part, in place of nine runs of
``swift-ring-builder``."""


class Swift(S3):
    """A drop-in replacement for S3, except that its objects are not stored as files of the same name."""

    KEY = "test:tester"

    def __init__(self, folder: Path) -> None:
        needs.require("Swift")
        super().__init__(folder)
        found = needs.find_swift()
        assert found
        self._programs = found
        self._folder = folder
        (folder / "devices" / "d1").mkdir(parents=True)
        (folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = tests\n")
        ports = {part: find_free_port() for part in _STORAGE} | {"proxy": self.port}
        for part, port in ports.items():
            text = _COMMON.format(port=port, user=getpass.getuser(), folder=folder)
            text += _PROXY if part == "proxy" else _STORES.format(part=part)
            (folder / f"{part}.conf").write_text(text)
        arguments = [str(folder), *(f"{part}={ports[part]}" for part in _STORAGE)]
        subprocess.run([str(found / "python"), "-c", _RINGS, *arguments], check=True)

    def commands(self) -> list[list[str]]:
        return [
            [str(self._programs / f"swift-{part}-server"), str(self._folder / f"{part}.conf")]
            for part in (*_STORAGE, "proxy")
        ]

    def answers(self) -> bool:
        """Return True if the server is ready for use, creating the bucket if needed."""
        import obstore
        from obstore.store import S3Store

        with patch.dict(os.environ, self.environment):
            bucket = S3Store(BUCKET, client_options={"allow_http": True})
            address = obstore.sign(bucket, "PUT", "", timedelta(minutes=1))
        try:
            urllib.request.urlopen(urllib.request.Request(address, method="PUT"), timeout=20).close()
        except urllib.error.HTTPError as error:
            return error.code == 409  # the bucket exists
        except OSError:
            return False
        return True

    def files(self, url: str) -> list[Path]:
        """Not supported: objects are not stored as files."""
        raise NotImplementedError

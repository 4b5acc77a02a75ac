"""The services of a team from docker-compose.yml, run as local processes.

Commands, environments, secrets, start order and health checks come from that file, the Dockerfile and deploy/. This
module defines the differences: a container path is a folder of the test, and a service and its port are a local
address. The installed PostgreSQL replaces its image, and the rclone package the rclone image.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from bench.pages import find_free_port
from profiledb.library.database import Shared
from profiledb.library.team_database import open_database
from tests.conftest import ROOT
from tests.support import needs, s3
from tests.support.nginx_proxy import proxied
from tests.support.postgres import Server

PORTS = {"database": 5432, "storage": 9000, "worker": 9102, "app1": 8501, "app2": 8501, "proxy": 8080}
"""The container port of each service."""
QUICK = {"WARPDECK_SAMPLES": "off", "WARPDECK_SCAN_S": "0.3"}
"""Settings that differ from the file to save time."""
_STARTS_S = 200.0
_VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")
_PATHS = re.compile(r"(?<![\w/])/(data|run/secrets)(?![\w-])")


def services(profile: str) -> dict[str, dict[str, Any]]:
    """Return the services of a profile by name."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    read = yaml.safe_load(_VARIABLE.sub(lambda found: os.environ.get(found[1]) or found[2], text))
    return {name: one for name, one in read["services"].items() if profile in one["profiles"]}


def dockerfile() -> tuple[dict[str, str], list[str]]:
    """Return the environment of Warpdeck's own image, without PATH, and its command."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    given = shlex.split(re.findall(r"^ENV (.+)$", text, re.MULTILINE)[-1])
    environment = dict(one.split("=", 1) for one in given if not one.startswith("PATH="))
    return environment, json.loads(re.findall(r"^CMD (\[.+\])$", text, re.MULTILINE)[-1])


class Composed:
    """The services of the profile ``team``. Replicas of a service are named with a number.

    Args:
        folder: for all files of the services; its folder ``log`` holds their output.
        more: extra environment variables of Warpdeck's own services.
    """

    def __init__(self, folder: Path, more: dict[str, str]) -> None:
        self.folder = folder
        self._more = more
        self._services = {copy: one for name, one in services("team").items() for copy in _copies(name, one)}
        self._ports = {name: find_free_port() for name in self._services}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stack = ExitStack()
        self.database: Server
        (folder / "log").mkdir()
        subprocess.run([str(ROOT / "deploy" / "secrets.sh"), str(folder / "secrets")], check=True)

    @property
    def inbox(self) -> Path:
        """Return the folder that users drop reports into."""
        return self._local_path("app1", "/data/inbox")

    @property
    def shared(self) -> Shared:
        """Open and return the shared database."""
        return open_database(self.database.url("warpdeck"))

    @property
    def ours(self) -> list[str]:
        """Return the names of the workers and servers."""
        return [name for name, one in self._services.items() if one["image"].startswith("warpdeck:")]

    def alive(self, name: str) -> bool:
        """Return True if the process that was first started for the service is still running."""
        return self._running[name].poll() is None

    def objects(self, names: str) -> list[Path]:
        """Return the report objects in the bucket whose names match, as files."""
        return list((self.folder / "storage/data/warpdeck/library/reports").glob(f"*/{names}"))

    def copies(self, names: str) -> list[Path]:
        """Return their local copies."""
        return list(self._local_path("app1", "/data/cache").glob(f"*/reports/{names}"))

    def address(self, name: str) -> str:
        """Return the address of a service."""
        return f"http://127.0.0.1:{self._ports[name]}"

    def start(self) -> None:
        """Start all services, each once its dependencies are healthy, and wait until all are healthy."""
        for name in self._services:
            self._begin(name)
        for name in self._services:
            self._wait(name)

    def stop(self) -> None:
        """Stop all services and wait for them to exit."""
        for process in self._running.values():
            with suppress(psutil.NoSuchProcess):
                psutil.Process(process.pid).resume()
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._stack.close()

    def log(self, name: str) -> str:
        """Return the output of a service."""
        return (self.folder / "log" / name).read_text(encoding="utf-8", errors="replace")

    def is_well(self, name: str) -> bool:
        """Run the health check of a service once, and return True if it passes."""
        kind, *argv = self._services[name]["healthcheck"]["test"]
        assert kind == "CMD", argv
        found = shutil.which(argv[0], path=self._path())
        if found is None:  # a program that exists only in the image
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self._ports[name])) == 0
        argv = [self._local(name, part) for part in argv]
        return subprocess.run(argv, env=self._environment(name), capture_output=True, check=False).returncode == 0

    def pause(self, name: str) -> None:
        """Suspend a service, like a machine that hangs, until ``go_on``."""
        self.database.pause() if name == "database" else psutil.Process(self._running[name].pid).suspend()

    def go_on(self, name: str) -> None:
        """Resume a suspended service."""
        self.database.go_on() if name == "database" else psutil.Process(self._running[name].pid).resume()

    def kill(self, name: str) -> None:
        """Kill a service. ``again`` restarts it with its stored data."""
        if name == "database":
            self.database.stop()
        else:
            self._running[name].kill()
            self._running.pop(name).wait()

    def again(self, name: str) -> None:
        """Restart a killed service."""
        self.database.start() if name == "database" else self._run(name)

    def _begin(self, name: str) -> None:
        if name in self._running or (name == "database" and hasattr(self, "database")):
            return
        for before in self._services[name].get("depends_on", {}):
            for copy in [one for one in self._services if one.split("-")[0] == before]:
                self._begin(copy)
                self._wait(copy)
        image = self._services[name]["image"].partition(":")[0]
        {"postgres": self._run_database, "nginx": self._run_proxy}.get(image, self._run)(name)

    def _wait(self, name: str) -> None:
        limit = time.monotonic() + _STARTS_S
        while not self.is_well(name):
            assert time.monotonic() < limit, f"{name} is not well: {self.log(name)[-3000:]}"
            assert name not in self._running or self._running[name].poll() is None, self.log(name)[-3000:]
            time.sleep(0.1)

    def _run(self, name: str) -> None:
        one = self._services[name]
        for mount in one.get("volumes", ()):
            self._local_path(name, mount.split(":")[1]).mkdir(parents=True, exist_ok=True)
        for secret in set(one.get("secrets", ())) - {path.name for path in (self.folder / "secrets").iterdir()}:
            shutil.copy(ROOT / "deploy" / "no_login.toml", self.folder / "secrets" / secret)
        command = one.get("command") or dockerfile()[1]
        argv = [self._local(name, part) for part in (*one.get("entrypoint", ()), *command)]
        with (self.folder / "log" / name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                argv, cwd=ROOT, env=self._environment(name), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _run_database(self, name: str) -> None:
        given = self._environment(name)
        password = Path(given["POSTGRES_PASSWORD_FILE"]).read_text(encoding="utf-8")
        assert given["POSTGRES_USER"] == "warpdeck"
        self.database = Server(self._ports[name], password)
        self._stack.callback(self.database.remove)
        self.database.create(given["POSTGRES_DB"], template="")
        (self.folder / "log" / name).touch()

    def _run_proxy(self, name: str) -> None:
        ((source, _, mode),) = (mount.split(":") for mount in self._services[name]["volumes"])
        assert mode == "ro"
        site = self._local(name, (ROOT / source).read_text(encoding="utf-8"))
        site = site.replace("listen ", "listen 127.0.0.1:")
        (self.folder / "proxy").mkdir()
        nginx = needs.find_nginx()
        assert nginx
        (self.folder / "log" / name).touch()
        self._stack.enter_context(proxied(nginx, self.folder / "proxy", site))

    def _environment(self, name: str) -> dict[str, str]:
        one = self._services[name]
        ours = dockerfile()[0] | self._more if one["image"].startswith("warpdeck:") else {}
        given = ours | {key: str(value) for key, value in one.get("environment", {}).items()}
        local = {key: self._local(name, value) for key, value in given.items()}
        return local | {"PATH": self._path(), "HOME": str(self.folder)}

    def _path(self) -> str:
        programs = (sysconfig.get_path("scripts"), str(Path(s3.program()).parent), str(needs.find_postgres()))
        return os.pathsep.join((*programs, str(Path(sys.executable).parent), os.environ["PATH"]))

    def _local(self, name: str, text: str) -> str:
        """Translate a text from a service's container to this machine."""
        text = text.replace("$$", "$").replace("0.0.0.0", "127.0.0.1")
        for other, port in PORTS.items():
            copy = next(one for one in self._ports if one.split("-")[0] == other)
            text = text.replace(f"{other}:{port}", f"127.0.0.1:{self._ports[copy]}")
        text = re.sub(rf"\b{PORTS[name.partition('-')[0]]}\b", str(self._ports[name]), text)
        return _PATHS.sub(lambda found: str(self._local_path(name, found[0])), text)

    def _local_path(self, name: str, path: str) -> Path:
        """Return the local path for a container path.

        Warpdeck's own services share a volume, and all services share the secrets.
        """
        if path.startswith("/run/secrets"):
            return self.folder / path.removeprefix("/run/")
        own = "members" if self._services[name]["image"].startswith("warpdeck:") else name
        return self.folder / own / path.removeprefix("/")


def _copies(name: str, one: dict[str, Any]) -> list[str]:
    count = one.get("deploy", {}).get("replicas", 1)
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]


@contextmanager
def started(folder: Path, **more: str) -> Iterator[Composed]:
    """Start the services, and stop them when the block ends."""
    team = Composed(folder, QUICK | more)
    try:
        team.start()
        yield team
    finally:
        team.stop()


@pytest.fixture(scope="session")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    """Start the team's services once per test process; needs.py skips tests if PostgreSQL or nginx is missing."""
    with started(tmp_path_factory.mktemp("team")) as team:
        yield team

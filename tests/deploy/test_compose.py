"""docker-compose.yml: what it says is valid, and what its services run works, as processes of this machine."""

import json
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
import yaml
from compose_spec import PyCompose

from tests.app.web.client import ask, session
from tests.conftest import ROOT, wait_until
from tests.support.composed import PORTS, Composed, services
from tests.support.dropped import made

TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


def test_the_file_is_one_of_compose() -> None:
    read = yaml.safe_load(TEXT)
    spec = PyCompose.from_yaml(yaml.safe_dump(read))  # after YAML has put the parts together
    assert set(spec.service_names()) == {"app", "ingest"} | services("team").keys()
    assert services("folder").keys() == {"app", "ingest"}
    for one in read["services"].values():
        assert set(one.get("secrets", [])) <= read["secrets"].keys()
        assert {mount.split(":")[0] for mount in one.get("volumes", []) if mount[0] != "."} <= read["volumes"].keys()
        assert set(one.get("depends_on", [])) <= read["services"].keys()
        assert ":" in one["image"]
        assert not one["image"].endswith(":latest")
        assert all(port.startswith("127.0.0.1:") for port in one.get("ports", []))
    for other in services("team").values():
        assert set(other.get("depends_on", {})) <= services("team").keys(), "those of a folder stay out"
        assert other["healthcheck"]["test"]


def test_secrets_are_made_once_and_stay_out_of_git_and_of_the_image(tmp_path: Path) -> None:
    command = [str(ROOT / "deploy" / "secrets.sh"), str(tmp_path / "secrets")]
    subprocess.run(command, check=True)
    first = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    subprocess.run(command, check=True)
    assert {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()} == first
    assert first.keys() == yaml.safe_load(TEXT)["secrets"].keys()
    assert all(len(text) == 64 for text in first.values())
    assert len(set(first.values())) == len(first)
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    for name, secret in yaml.safe_load(TEXT)["secrets"].items():
        assert secret == {"file": f"./deploy/secrets/{name}"}
    assert "/deploy/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    assert "deploy/secrets" in (ROOT / ".dockerignore").read_text().splitlines()


def test_every_port_is_one_that_a_service_has() -> None:
    site = (ROOT / "deploy" / "nginx.conf").read_text()
    assert services("team").keys() == PORTS.keys()
    for name in ("app1", "app2"):
        assert f"server {name}:{PORTS[name]} " in site
    assert f"listen {PORTS['proxy']};" in site


@pytest.mark.slow
def test_a_report_that_is_dropped_is_on_both_servers(composed: Composed, tmp_path: Path) -> None:
    shutil.move(made(tmp_path / "a.sqlite"), composed.inbox / "a.sqlite")

    def listed(name: str) -> bool:
        told = json.loads(ask(composed.address(name), "/api/v1/reports").body)
        return [one["name"] for one in told["reports"]] == ["a.sqlite"]

    for name in ("app1", "app2", "proxy"):
        wait_until(partial(listed, name))
    with composed.shared.connect() as db:
        wait_until(lambda: db.execute("SELECT state FROM job").fetchone()[0] == "ready")
    for name in ("app1", "app2", "proxy"):
        with session(composed.address(name)) as page:
            wait_until(lambda page=page: bool(page.run()) and "a.sqlite" in page.text())  # type: ignore[misc]
    with composed.shared.connect() as db:
        assert db.execute("SELECT count(*) FROM worker").fetchone()[0] == 2
    assert len(composed.objects("*.duckdb")) == 1
    for name in ("app1", "app2", "worker-1", "worker-2"):
        assert composed.is_well(name)
        for secret in (composed.folder / "secrets").iterdir():
            assert secret.read_text() not in composed.log(name)

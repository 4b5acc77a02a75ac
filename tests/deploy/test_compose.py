"""docker-compose.yml is valid, and its services work as processes of this machine."""

import json
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
import yaml
from compose_spec import PyCompose

from bench.pages import find_free_port, run_server
from profiledb.config import SETTINGS
from tests.app.web.client import ask, session
from tests.app.web.provider import log_in, provider, write_secrets
from tests.conftest import ROOT, wait_until
from tests.support.compose_services import PORTS, Composed, services
from tests.support.dropped_files import made

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
    secrets = yaml.safe_load(TEXT)["secrets"]
    assert secrets.pop("streamlit.toml") == {"file": "${WARPDECK_LOGIN_FILE:-./deploy/no_login.toml}"}
    assert first.keys() == secrets.keys()
    assert all(len(text) == 64 for text in first.values())
    assert len(set(first.values())) == len(first)
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    for name, secret in secrets.items():
        assert secret == {"file": f"./deploy/secrets/{name}"}
    assert "/deploy/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    assert "deploy/secrets" in (ROOT / ".dockerignore").read_text().splitlines()


def test_every_server_has_the_settings_of_the_login() -> None:
    servers = {"app": services("folder")["app"]} | {name: services("team")[name] for name in ("app1", "app2")}
    wanted = {one.variable for one in SETTINGS if one.variable.startswith("WARPDECK_LOGIN_")}
    for name, one in servers.items():
        given = one["environment"]
        assert wanted == {key for key in given if key.startswith("WARPDECK_LOGIN_")}, name
        assert "streamlit.toml" in one["secrets"]
        assert given["STREAMLIT_SECRETS_FILES"] == "/run/secrets/streamlit.toml"
    workers = (services("folder")["ingest"], services("team")["worker"])
    assert not any("streamlit.toml" in one.get("secrets", ()) for one in workers), "who needs no secret has none"


@pytest.mark.slow("starts a server and an identity provider")
def test_the_settings_of_the_login_reach_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder's service, run as a process with the environment of .env and the compose file."""
    monkeypatch.setenv("WARPDECK_LOGIN_CLAIM", "realm.roles")
    monkeypatch.setenv("WARPDECK_LOGIN_VIEWERS", "gpu-viewer")
    given = {key: str(value) for key, value in services("folder")["app"]["environment"].items()}
    given |= {"WARPDECK_DATA": str(tmp_path), "WARPDECK_INBOX": "", "WARPDECK_LIBRARY": "", "WARPDECK_SAMPLES": "off"}
    port, file = find_free_port(), tmp_path / "streamlit.toml"
    given["STREAMLIT_SECRETS_FILES"] = str(file)
    with provider() as issuer:
        write_secrets(file, issuer, port)
        with run_server(given, {}, port=port) as running:
            assert ask(running.address, "/api/v1/reports").status == 401
            cookies = log_in(running.address, "victor")
            shown = "; ".join(f"{name}={value}" for name, value in cookies.items())
            assert ask(running.address, "/api/v1/reports", Cookie=shown).status == 200


def test_the_image_is_built_of_one_day(tmp_path: Path) -> None:
    text = (ROOT / "Dockerfile").read_text()
    (base,) = re.findall(r"^ARG BASE=(.+)$", text, re.MULTILINE)
    assert re.findall("^FROM (.+)$", text, re.MULTILINE) == ["${BASE}"]
    assert re.fullmatch(r"debian:trixie-\d{8}-slim@sha256:[0-9a-f]{64}", base)
    assert re.findall(r"^ARG EXTRAS=(.+)$", text, re.MULTILINE) == ["[auth,mcp]"]
    assert read_extras() == {"[auth,mcp,team]"}
    (pin,) = re.findall(r"^RUN (sed -i .+)$", text.replace("\\\n", " "), re.MULTILINE)
    sources = tmp_path / "debian.sources"
    pin = pin.replace("/etc/apt/sources.list.d/debian.sources", str(sources))
    archive, keyring = "http://archive.example/archive", "/usr/share/keyrings/debian-archive-keyring.gpg"
    stanza = "Types: deb\n# {archive}\nURIs: http://mirror.example/{name}\nSuites: {suites}\nComponents: main\n"
    stanza += f"Signed-By: {keyring}\n"
    parts = {"debian": "trixie trixie-updates", "debian-security": "trixie-security"}
    days = {name: f"{archive}/{name}/20260824T000000Z" for name in parts}
    as_in_the_image = "\n".join(stanza.format(archive=days[name], name=name, suites=parts[name]) for name in parts)
    sources.write_text(as_in_the_image)
    subprocess.run(["sh", "-c", pin], check=True)
    if apt := shutil.which("apt-get"):  # what apt itself would ask for
        lists = f"Dir::State::Lists={tmp_path}/"
        only = ("-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=/dev/null", "-o", lists)
        asked = subprocess.run([apt, *only, "--print-uris", "update"], check=True, capture_output=True, text=True)
        assert {line.partition("/dists/")[0].strip("'") for line in asked.stdout.splitlines()} == set(days.values())
    sources.write_text(as_in_the_image.replace("# ", "#"))
    assert subprocess.run(["sh", "-c", pin], check=False).returncode != 0, "a base without the archive ends the build"


def read_extras() -> set[str]:
    """The extras that a team's images install, in Compose and in the instructions for Kubernetes."""
    how = (ROOT / "deploy" / "kubernetes" / "kustomization.yaml").read_text()
    composed = {one["build"]["args"]["EXTRAS"] for one in services("team").values() if "build" in one}
    return composed | set(re.findall(r"EXTRAS='([^']+)'", how))


def test_every_port_is_one_that_a_service_has() -> None:
    site = (ROOT / "deploy" / "nginx.conf").read_text()
    assert services("team").keys() == PORTS.keys()
    for name in ("app1", "app2"):
        assert f"server {name}:{PORTS[name]} " in site
    assert f"listen {PORTS['proxy']};" in site


@pytest.mark.slow("a whole team of services")
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

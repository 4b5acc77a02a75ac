"""deploy/kubernetes is valid by the schemas of Kubernetes, and agrees with the image and docker-compose.yml."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app.web.sharing_route import PREFIX
from profiledb.config import SETTINGS
from tests.conftest import ROOT
from tests.support.compose_services import PORTS, services

FOLDER = ROOT / "deploy" / "kubernetes"
SECRETS = "/run/secrets/warpdeck/"
VERSIONS = ("1.29", "1.37")
"""Of Kubernetes: an old one that is still in use, and the newest whose schemas are installed."""


def read(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


PARTS = [one for path in sorted(FOLDER.glob("*.yaml")) if path.stem != "kustomization" for one in read(path)]


def of(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in PARTS if one["kind"] == kind}


def pod(name: str) -> dict[str, Any]:
    found: dict[str, Any] = of("Deployment")[name]["spec"]["template"]["spec"]
    return found


def container(name: str) -> dict[str, Any]:
    (found,) = pod(name)["containers"]
    return dict(found)


def environment(name: str) -> dict[str, str]:
    """The environment of a container, from the shared settings and its own."""
    given: dict[str, str] = of("ConfigMap")["warpdeck"]["data"]
    return given | {one["name"]: one["value"] for one in container(name)["env"]}


@pytest.mark.parametrize("part", PARTS, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
@pytest.mark.parametrize("version", VERSIONS)
def test_each_part_is_valid(part: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(part, version, strict=True)


def test_the_schemas_tell_what_is_wrong() -> None:
    wrong = yaml.safe_load((FOLDER / "workers.yaml").read_text())
    wrong["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="livenesProbe"):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_all_files_belong_to_it() -> None:
    (made,) = read(FOLDER / "kustomization.yaml")
    assert sorted(made["resources"]) == sorted(path.name for path in FOLDER.glob("*.yaml") if path.name[0] != "k")
    (image,) = made["images"]
    assert all(container(name)["image"] == image["name"] for name in of("Deployment"))
    assert f"{image['name']}:{image['newTag']}" == services("team")["worker"]["image"]


@pytest.mark.parametrize(("name", "service"), [("worker", "worker"), ("server", "app1")])
def test_the_settings_are_those_of_the_compose_file(name: str, service: str) -> None:
    ours, composed = environment(name), services("team")[service]["environment"]
    apart = {"WARPDECK_CACHE_MB", "WARPDECK_LOG", "HOME", "WARPDECK_METRICS"}
    assert ours.keys() - apart == composed.keys()
    assert {key for key in ours if key.startswith("WARPDECK_")} <= {setting.variable for setting in SETTINGS}
    for key in ("WARPDECK_INBOX", "AWS_ACCESS_KEY_ID", "WARPDECK_WORKER"):
        assert ours.get(key) == composed.get(key)
    assert container(name).get("command", []) == services("team")[service].get("command", [])


@pytest.mark.parametrize("name", ["worker", "server"])
def test_a_file_of_a_secret_is_one_that_is_mounted(name: str) -> None:
    given = environment(name)
    files = {value for key, value in given.items() if key.endswith(("_FILE", "_FILES"))}
    assert files
    assert all(file.startswith(SECRETS) for file in files)
    assert {file.removeprefix(SECRETS) for file in files} <= of("Secret")["warpdeck"]["stringData"].keys()
    mounts = {one["mountPath"]: one for one in container(name)["volumeMounts"]}
    assert mounts[SECRETS.rstrip("/")]["readOnly"]
    assert {one["name"] for one in mounts.values()} == {one["name"] for one in pod(name)["volumes"]}
    for key in ("WARPDECK_INBOX", "WARPDECK_CACHE", "HOME"):
        assert given[key] in mounts, "the rest of the disk is read only"


@pytest.mark.parametrize("name", ["worker", "server"])
def test_nothing_runs_with_rights_that_it_does_not_need(name: str) -> None:
    uid = int(re.findall(r"--uid (\d+)", (ROOT / "Dockerfile").read_text())[0])
    assert pod(name)["securityContext"]["runAsUser"] == uid
    assert pod(name)["securityContext"]["runAsNonRoot"] is True
    assert pod(name)["automountServiceAccountToken"] is False
    assert container(name)["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert container(name)["resources"].keys() == {"requests", "limits"}


def test_probes_ask_what_they_should() -> None:
    server, worker = container("server"), container("worker")
    assert [one["containerPort"] for one in worker["ports"]] == [PORTS["worker"]]
    assert server["ports"][0] == {"name": "http", "containerPort": PORTS["app1"]}
    assert environment("server")["WARPDECK_METRICS"] == f"0.0.0.0:{server['ports'][1]['containerPort']}"
    assert environment("worker")["WARPDECK_WORKER_METRICS"] == f"0.0.0.0:{worker['ports'][0]['containerPort']}"
    for probe, path in (
        ("startupProbe", "/health/live"),
        ("livenessProbe", "/health/live"),
        ("readinessProbe", "/health"),
    ):
        assert server[probe]["httpGet"]["path"] == path
        assert server[probe]["httpGet"]["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
    ready = server["readinessProbe"]
    assert ready["periodSeconds"] * ready["failureThreshold"] >= 300, "a loss of minutes takes no server away"
    assert worker["readinessProbe"]["httpGet"]["path"] == "/health"
    assert worker["livenessProbe"]["httpGet"]["path"] == "/metrics", "a database that is away ends no worker"


def test_requests_find_the_servers_and_stay_with_one() -> None:
    labels = of("Deployment")["server"]["spec"]["template"]["metadata"]["labels"]
    service, ingress = of("Service")["warpdeck"], of("Ingress")["warpdeck"]
    assert service["spec"]["selector"] == labels
    assert service["spec"]["sessionAffinity"] == "ClientIP"
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == environment("server")["STREAMLIT_SERVER_ALLOWED_HOSTS"]
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == service["metadata"]["name"]
    site = (ROOT / "deploy" / "nginx.conf").read_text()
    said = {key.rpartition("/")[2]: value for key, value in ingress["metadata"]["annotations"].items()}
    assert said["affinity"] == "cookie"
    assert f'"{said["session-cookie-name"]}=' in site
    assert f"client_max_body_size {said['proxy-body-size']};" in site


def test_sharing_links_stand_in_no_access_log() -> None:
    ingress, shared = of("Ingress")["warpdeck"], of("Ingress")["warpdeck-shared"]
    assert shared["metadata"]["annotations"] == {"nginx.ingress.kubernetes.io/enable-access-log": "false"}
    links = yaml.safe_dump(ingress["spec"]).replace("path: /", f"path: {PREFIX}")
    assert shared["spec"] == yaml.safe_load(links), "all else is the same"


def test_figures_are_for_prometheus_alone() -> None:
    for name, policy in of("NetworkPolicy").items():
        deployment = of("Deployment")[name.removesuffix("s")]
        assert policy["spec"]["podSelector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]
        allowed = {
            port["port"]: one["from"][0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
            for one in policy["spec"]["ingress"] for port in one["ports"]
        }  # fmt: skip
        assert allowed == {"servers": {"http": "ingress-nginx"}, "workers": {}}[name] | {"metrics": "monitoring"}

"""The project as a whole: packages, pins, layers, sizes, and the files that start it."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.page_list import ADMIN, FOLDER, LIBRARY, VIEWS
from profiledb import config
from tests.support.project_files import list_tracked_files, walk_statements

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("app", "ingest", "profiledb", "warpdeck", "workloads")
# ingest converts; app.worker_process starts the ingest worker, profiledb.console.question_process a question,
# warpdeck.server_process the server; warpdeck.profiling and workloads start profilers.
STARTS_PROCESSES = re.compile(
    r"^(ingest/.*|workloads/.*|app/worker_process\.py|profiledb/console/question_process\.py"
    r"|warpdeck/(server_process\.py|profiling/.*))$"
)
PROCESS_MODULES = {"subprocess", "multiprocessing", "pty"}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_SQL_COLUMNS = 120
MAX_SAMPLES_BYTES, MAX_CHECKOUT_BYTES = 40_000_000, 54_000_000
TEXT_SUFFIXES = {".cfg", ".css", ".js", ".json", ".md", ".py", ".sh", ".sql", ".toml", ".tsv", ".txt", ".yml", ".yaml"}


def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def sources(*packages: str) -> Iterator[Path]:
    for package in packages:
        yield from sorted((ROOT / package).rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """The top-level names of all modules that a file imports, inside functions too."""
    for node in walk_statements(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def own_files() -> list[Path]:
    """All text files of the project."""
    plain = {"Makefile", "Dockerfile", "LICENSE", "run"}
    return [path for path in list_tracked_files() if path.suffix in TEXT_SUFFIXES or path.name in plain]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def declared() -> list[Requirement]:
    table = project()["project"]
    texts = [*table["dependencies"], *(text for extra in table["optional-dependencies"].values() for text in extra)]
    requirements = [Requirement(text) for text in texts]
    return [requirement for requirement in requirements if requirement.name != table["name"]]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_imports_from_anywhere(package: str, tmp_path: Path) -> None:
    try:
        importlib.metadata.version("warpdeck")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("warpdeck is not installed in this environment: make setup")
    command = [sys.executable, "-c", f"import {package}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_packages_stand_as_declared() -> None:
    assert project()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == list(PACKAGES)
    for package in PACKAGES:
        assert importlib.util.find_spec(package) is not None, package


def test_every_declared_dependency_is_pinned_within_its_range() -> None:
    known = {canonicalize_name(name): version for name, version in pins().items()}
    for requirement in declared():
        name = canonicalize_name(requirement.name)
        assert name in known, f"{name} has no pin: make pins"
        assert requirement.specifier.contains(known[name]), f"{name} {known[name]} is outside {requirement.specifier}"


def test_pins_are_plain() -> None:
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+", line), line


def test_duckdb_and_its_extension_have_one_version() -> None:
    exact = {requirement.name: str(requirement.specifier) for requirement in declared()}
    assert exact["duckdb"] == exact["duckdb-extension-sqlite-scanner"] == f"=={pins()['duckdb']}"


def test_streamlit_is_imported_only_in_app() -> None:
    for path in sources("ingest", "profiledb", "warpdeck", "workloads"):
        assert "streamlit" not in set(imported(ast.parse(path.read_text(encoding="utf-8")))), path


def test_layers() -> None:
    allowed = {"app": {"profiledb"}, "ingest": {"profiledb"}, "profiledb": set[str](), "workloads": {"warpdeck"}}
    allowed["warpdeck"] = {"app", "ingest", "profiledb"}
    for package, others in allowed.items():
        for path in sources(package):
            used = set(imported(ast.parse(path.read_text(encoding="utf-8")))) & set(PACKAGES)
            assert used <= others | {package}, path


def test_processes_start_only_where_allowed() -> None:
    for path in sources(*PACKAGES):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        if not STARTS_PROCESSES.match(name):
            assert not set(imported(ast.parse(text))) & PROCESS_MODULES, name
            assert not re.search(r"\bos\.(system|popen|exec[lv]|spawn|fork|posix_spawn)", text), name
        assert "shell=True" not in text, name


def test_nothing_shows_untrusted_text_as_html() -> None:
    for path in sources("app"):
        assert "unsafe_allow_html" not in path.read_text(encoding="utf-8"), path


def test_a_page_has_one_name() -> None:
    """The title of a page gives its address; its folder and its test module have that name, too."""
    pages = {view.url for view in VIEWS} | {LIBRARY.parent.name, ADMIN.parent.name}
    assert {path.parent.name for path in FOLDER.glob("*/page.py")} == pages
    modules = {path.stem[len("test_") : -len("_page")] for path in (ROOT / "tests" / "app").glob("test_*_page.py")}
    folders = {path.name for path in (ROOT / "tests" / "e2e").iterdir()} & pages
    assert modules | folders == pages
    assert len({view.title for view in VIEWS}) == len(VIEWS)


def test_files_and_functions_are_small() -> None:
    for path in sources(*PACKAGES, "bench", "scripts", "tests"):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= MAX_FILE_LINES, f"{path} has over {MAX_FILE_LINES} lines"
        for node in walk_statements(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                assert lines <= MAX_FUNCTION_LINES, f"{path}: {node.name} has {lines} lines"


def test_every_slow_mark_has_a_reason() -> None:
    for path in sources("tests"):
        assert not re.search(r"\bmark\.slow\b(?!\([^)])", path.read_text(encoding="utf-8")), path


def test_comments_of_sql_are_narrow() -> None:
    # A line with a key in the header of an analysis or rule is one line, however long. sqruff holds the rest.
    keyed = re.compile(
        r"-- (title|needs|includes|selects|param|stored|joins|column|question|says|clear|advice|source): "
    )
    for path in (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.sql"))):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            assert len(line) <= MAX_SQL_COLUMNS or keyed.match(line), f"{path}:{number} has {len(line)} columns"


def test_the_checkout_is_small() -> None:
    sizes = {path: path.stat().st_size for path in list_tracked_files()}
    samples = sum(size for path, size in sizes.items() if path.is_relative_to(ROOT / "sample_reports"))
    assert samples < MAX_SAMPLES_BYTES, f"{samples:,} bytes of samples: see scripts/slim_samples.py"
    assert sum(sizes.values()) < MAX_CHECKOUT_BYTES, f"{sum(sizes.values()):,} bytes"


def test_make_targets() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, flags=re.MULTILINE))
    assert {"setup", "run", "test", "test-fast", "check", "bench", "clean"} <= targets
    assert "-c constraints.txt" in text


@pytest.mark.parametrize(
    "name",
    [
        ".ci/run",
        "deploy/secrets.sh",
        "scripts/install_nsight.sh",
        "scripts/install_browser.sh",
        "scripts/install_nginx.sh",
        "scripts/pin.sh",
    ],
)
def test_scripts_parse_and_stop_at_errors(name: str) -> None:
    path = ROOT / name
    assert path.stat().st_mode & 0o111, f"{name} is not executable"
    assert "set -euo pipefail" in path.read_text(encoding="utf-8")
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_services_share_one_image_and_one_volume() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    assert re.findall(r"^  (ingest|app):", text, flags=re.MULTILINE) == ["ingest", "app"]
    assert (ROOT / ".env").read_text(encoding="utf-8").splitlines()[-1] == "COMPOSE_PROFILES=folder"
    assert 'WARPDECK_WORKER: "off"' in text
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for variable in ("WARPDECK_INBOX", "WARPDECK_LIBRARY"):
        assert variable in text
        assert variable in dockerfile
    assert "USER warpdeck" in dockerfile
    assert set(re.findall(r"^ +- \"(\S+):8501:\d+\"", text, flags=re.MULTILINE)) == {"127.0.0.1"}
    assert '"--server.address", "0.0.0.0"' in dockerfile, "the container's inside: what publishes the port says to whom"
    assert "ARG EXTRAS=[auth,mcp]\n" in dockerfile
    assert 'make setup EXTRAS="$EXTRAS"' in dockerfile


def test_what_a_running_dashboard_keeps_is_in_no_commit_and_no_image() -> None:
    settings = config.load(data=ROOT, inbox="", library="", cache="")
    ignored, left_out = ((ROOT / name).read_text().splitlines() for name in (".gitignore", ".dockerignore"))
    for folder in (settings.inbox, settings.library, settings.cache):
        assert folder.parent == ROOT
        assert f"/{folder.name}/" in ignored
        assert folder.name in left_out


def test_license() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert project()["project"]["license"] == "Apache-2.0"


def test_no_file_names_a_package_index() -> None:
    # Written in halves, so that this file does not name one either.
    hosts = ["pypi" + ".org", "python" + "hosted.org", "pypi" + ".nvidia", "deb" + ".debian.org", "registry" + ".npmjs"]
    options = ["--index" + "-url", "--extra-index" + "-url", "--find" + "-links", "--trusted" + "-host"]
    for path in own_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        for word in hosts + options:
            assert word not in text, f"{path.relative_to(ROOT)} names {word}"

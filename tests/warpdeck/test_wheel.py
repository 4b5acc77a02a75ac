"""The built wheel in its own environment, away from the checkout: the command, the server, and its dependencies."""

import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.app.web.client import ask, session
from tests.conftest import ROOT, SAMPLES
from tests.support.project_files import list_tracked_files
from tests.test_packaging import PACKAGES, project
from tests.warpdeck.started import Desk

pytestmark = pytest.mark.integration
NAME = "transformer_inference.sqlite"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as ``pip install .`` does, with the hatchling that is installed."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def desk(wheel: Path, tmp_path: Path) -> Iterator[Desk]:
    """An environment that has the wheel, and the packages that it needs from here: nothing is downloaded."""
    home, own = tmp_path / "home", tmp_path / "venv"
    home.mkdir()
    venv.create(own)
    libraries = Path(sysconfig.get_path("purelib", vars={"base": str(own)}))
    here = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    (libraries / "libraries.pth").write_text("\n".join(sorted(here)))  # of these folders no .pth is read: no checkout
    for name in set(PACKAGES) - {"warpdeck"}:  # somebody's own packages of these names
        (libraries / name).mkdir()
        (libraries / name / "__init__.py").write_text(f"OWNER = 'the user of {name}'\n")
    pip("install", "--no-deps", "--no-index", str(wheel), python=own / "bin" / "python")
    before = {path for path in libraries.rglob("*") if "__pycache__" not in path.parts}
    yield Installed(home, [str(own / "bin" / "warpdeck")], cwd=home)
    after = {path for path in libraries.rglob("*") if "__pycache__" not in path.parts}
    assert after == before, "an installed Warpdeck writes nothing beside its own files"


class Installed(Desk):
    """As a user has it: no variable of ours, no path of the checkout."""

    @property
    def environment(self) -> dict[str, str]:
        ours = ("WARPDECK_", "PYTHON", "XDG_", "VIRTUAL_ENV")
        kept = {name: value for name, value in super().environment.items() if not name.startswith(ours)}
        return kept | {"HOME": str(self.folder)}

    @property
    def library(self) -> Path:
        return self.folder / ".local" / "share" / "warpdeck" / "library"


def pip(*argv: str, python: Path | None = None) -> None:
    chosen = ["--python", str(python)] if python else []
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *chosen, *argv],
        cwd=ROOT.anchor, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [path.relative_to(ROOT) for path in list_tracked_files()]
    places = project()["tool"]["hatch"]["build"]["targets"]["wheel"]["sources"]
    wanted = {
        (Path(places.get(path.parts[0], path.parts[0])) / Path(*path.parts[1:])).as_posix()
        for path in files
        if path.parts[0] in PACKAGES
    }
    assert len(wanted) > 400
    assert wanted <= names
    assert "warpdeck/packages/app/.streamlit/config.toml" in names
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"warpdeck"}


TRAINING = """
import logging, os, sys
from pathlib import Path
sys.path[:] = [sys.argv[1], *(path for path in sys.path if "site-packages" not in path)]
logging.basicConfig(format="%(message)s", stream=sys.stdout)
from warpdeck import capture
from warpdeck.in_program import Window
trace = Path(sys.argv[2]) / "train.pt.trace.json.gz"
trace.write_bytes(b"x")
Window("train")._send_capture(trace)
"""


def test_a_training_machine_sends_without_any_other_package(wheel: Path, tmp_path: Path) -> None:
    """The wheel's inner packages are not on the path of a program that imports ``warpdeck``."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    base = Path(sys.base_prefix) / "bin" / Path(sys.executable).name
    done = subprocess.run(
        [base, "-I", "-c", TRAINING, tmp_path / "site", tmp_path],
        env={"WARPDECK_SERVER": "ftp://nowhere"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    (line,) = done.stdout.splitlines()
    assert "'ftp://nowhere' is no address of a server." in line, done.stderr


@pytest.mark.slow("installs the wheel")
def test_packages_of_these_names_stay_their_owners(desk: Desk) -> None:
    """The command works beside them (below); in other people's programs, Warpdeck is one package."""
    names = sorted(set(PACKAGES) - {"warpdeck"})
    code = f"import sys; before = list(sys.path); import warpdeck, {', '.join(names)}; assert sys.path == before"
    own = Path(desk.command[0]).with_name("python")
    owners = "; ".join(f"print({name}.OWNER)" for name in names)
    argv: list[str | Path] = [own, "-c", f"{code}; {owners}"]
    done = subprocess.run(argv, cwd=desk.folder, env=desk.environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [f"the user of {name}" for name in names], done.stderr
    code = "from warpdeck.workloads.monitor import GPUMonitor; import workloads; print(workloads.OWNER)"
    for call in (["-c", code], ["-m", "warpdeck.workloads", "list"]):
        done = subprocess.run(
            [str(own), *call], cwd=desk.folder, env=desk.environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), (
            "the programs that users import and run have their place in it"
        )


@pytest.mark.slow("installs the wheel and starts its server")
def test_the_command_works_from_the_wheel(desk: Desk) -> None:
    version = desk.run("--version")
    assert (version.returncode, version.stderr) == (0, "")
    assert re.fullmatch(r"warpdeck \d+\.\d+\.\d+\n", version.stdout)
    empty = desk.run("list")
    assert (empty.returncode, empty.stdout, empty.stderr) == (0, "", "")

    inbox = desk.library.parent / "inbox"
    inbox.mkdir()
    shutil.copy(SAMPLES / "transformer_steps.sqlite", inbox)
    taken = desk.run("ingest", "--once", "--strict")
    assert (taken.returncode, taken.stderr) == (0, "")
    assert taken.stdout.startswith("ready     transformer_steps.sqlite  ")
    assert "transformer_steps.sqlite" in desk.run("list").stdout
    table = desk.run("run", "cuda_gpu_kern_sum", "transformer_steps.sqlite")
    assert (table.returncode, table.stderr) == (0, "")
    assert table.stdout.startswith("Time (%),Total Time (ns),Instances")
    summary = desk.run("summary", "transformer_steps.sqlite")
    assert summary.stdout.startswith("# ")

    sample = Path(shutil.copy(SAMPLES / NAME, desk.folder / NAME))
    with desk.running("open", sample) as process:
        (address,) = desk.opened()
        parts = urlsplit(address)
        home = f"http://127.0.0.1:{parts.port}"
        assert ask(home, parts.path).status == 200
        with session(home) as page:
            page.run(parts.path.strip("/"), report=parse_qs(parts.query)["report"][0])
            assert NAME in page.text()
            page.run()
            assert "transformer_steps.sqlite" in page.text()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.slow("installs the wheel and starts its server")
def test_without_a_checkout_there_are_no_samples_and_it_says_so(desk: Desk) -> None:
    with desk.running("serve", "--port", "0") as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert desk.said()[0].startswith("No sample reports: they are part of a checkout")
    assert desk.run("list").stdout == ""

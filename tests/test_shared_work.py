"""What saves the tests time: sweeps leave no case out for good, and what is kept is what was asked for."""

import gc
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from profiledb.library.catalog import Manifest
from profiledb.library.library import Library
from profiledb.query import analysis
from profiledb.report import store
from profiledb.report.schema import SCHEMA_VERSION
from tests.conftest import ROOT, Ingest, Ingested
from tests.support import changed as changes
from tests.support import connection_pool, conversion_cache, page_reports, sweep
from tests.support.dropped import made


@pytest.mark.parametrize("count", [1, 5, 8, 51])
@pytest.mark.parametrize("parts", [3, 8])
def test_every_case_has_its_turn(monkeypatch: pytest.MonkeyPatch, count: int, parts: int) -> None:
    seen: list[int] = []
    for day in range(738_000, 738_000 + max(count, parts)):
        monkeypatch.setenv(sweep.VARIABLE, str(day))
        now = sweep.part(range(count), 4, parts)
        assert 1 <= len(now) <= -(-count // parts)
        assert now == sweep.part(range(count), 4, parts), "the same for every process"
        seen += now
    assert set(seen) == set(range(count))


def test_a_whole_run_takes_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sweep.VARIABLE, "all")
    assert sweep.part("abc") == ["a", "b", "c"]
    assert sweep.part([]) == []


IN_TURN = """
import pytest

turn = pytest.mark.sweep(parts=2, of="module")

def test_always(): pass

@turn
def test_alone(): pass

@turn
@pytest.mark.parametrize("case", [1, 2, 3])
def test_cases(case): pass
"""


def collected(folder: Path, day: str, *argv: str, changed: str = "") -> set[str]:
    """The tests that a run of that day takes, where these files were changed."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.sweep", "--collect-only", "-q", *argv]
    settings = {sweep.VARIABLE: day, changes.VARIABLE: changed}
    environment = os.environ | settings | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return set(re.findall(r"::(\S+)", done.stdout))


def test_tests_of_a_module_have_their_turn_together(tmp_path: Path) -> None:
    (tmp_path / "test_made.py").write_text(IN_TURN)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = sweep: x\n")
    every = {"test_always", "test_alone", *(f"test_cases[{number}]" for number in (1, 2, 3))}
    assert collected(tmp_path, "all") == every
    first, second = (collected(tmp_path, day) for day in ("738000", "738001"))
    assert len(first) == len(second) == 3
    assert (first | second, first & second) == (every, {"test_always"})
    assert collected(tmp_path, "738000", "test_made.py") == every, "a module that is asked for by its name"


IN_TURN_BY_NAME = """
import pytest

@pytest.mark.sweep(parts=4)
@pytest.mark.parametrize("name", ["kernels", "ranges.sqlite", "copies", "marks"])
def test_answers(name): pass
"""


def test_what_was_changed_never_waits(tmp_path: Path) -> None:
    (tmp_path / "test_memory_page.py").write_text(IN_TURN_BY_NAME)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = sweep: x\n")

    def ran(*paths: str) -> set[str]:
        return collected(tmp_path, "738000", changed="\n".join(paths))

    every = {f"test_answers[{name}]" for name in ("kernels", "ranges.sqlite", "copies", "marks")}
    (turn,) = ran("app/views/memoryless/page.py", "docs/page.md")
    assert ran("profiledb/analyses/kernels/kernels.sql", "sample_reports/ranges.sqlite") == {
        turn,
        "test_answers[kernels]",
        "test_answers[ranges.sqlite]",
    }
    assert ran("app/views/memory/charts.py") == ran("ingest/memory.py") == ran("test_memory_page.py") == every


def test_git_says_what_was_changed(tmp_path: Path) -> None:
    def git(*argv: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", *who, *argv], cwd=tmp_path, check=True, capture_output=True)

    assert changes.ask(tmp_path) == "", "no checkout"
    git("init", "-b", "main")
    for name in ("old", "committed", "last"):
        (tmp_path / name).write_text("1")
        git("add", ".")
        git("commit", "-m", name)
    (tmp_path / "old").write_text("2")
    (tmp_path / "new").write_text("1")
    assert changes.ask(tmp_path).splitlines() == ["last", "new", "old"]
    for number in range(changes.MOST):
        (tmp_path / str(number)).touch()
    assert changes.ask(tmp_path) == "", "everything was changed"


def test_the_list_names_tests_that_there_are_each_once() -> None:
    for test, parts in sweep.turns().items():
        module, _, name = test.partition("::")
        assert re.search(rf"^def {name}\b", (ROOT / module).read_text(encoding="utf-8"), re.MULTILINE), test
        assert parts > 1, test
        assert parts % 7, test
    listed = tomllib.loads(sweep.LIST.read_text(encoding="utf-8"))
    assert len(sweep.turns()) == sum(len(names) for modules in listed.values() for names in modules.values())


def test_a_listed_test_has_its_turn(tmp_path: Path) -> None:
    module = next(iter(sweep.turns())).partition("::")[0]
    listed = {test.partition("::")[2]: parts for test, parts in sweep.turns().items() if test.startswith(f"{module}::")}
    (parts,) = set(listed.values())
    (tmp_path / module).parent.mkdir(parents=True)
    (tmp_path / module).write_text("".join(f"def {name}(): pass\n" for name in ("test_always", *sorted(listed))))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = sweep: x\n")
    days = [collected(tmp_path, str(738_000 + day)) for day in range(parts)]
    assert set().union(*days) == {"test_always", *listed}
    assert set.intersection(*days) == {"test_always"}
    assert collected(tmp_path, "738000", module) == collected(tmp_path, "all") == {"test_always", *listed}


def test_the_same_files_are_taken_in_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(conversion_cache.VARIABLE, str(tmp_path))
    filled: list[str] = []

    def fill(groups: dict[Path, list[Path]]) -> None:
        for folder, files in groups.items():
            (folder / "made").write_text(files[0].read_text())
            filled.append(files[0].read_text())

    def ask(*names: str) -> list[str]:
        with conversion_cache.folders([[tmp_path / name] for name in names], fill) as folders:
            return [(folder / "made").read_text() for folder in folders]

    for name, text in (("a.csv", "1"), ("b.csv", "2")):
        (tmp_path / name).write_text(text)
    assert ask("a.csv") == ["1"]
    assert ask("b.csv", "a.csv") == ["2", "1"], "in the order that they were asked for"
    assert filled == ["1", "2"]
    (tmp_path / "a.csv").write_text("3")
    assert ask("a.csv") == ["3"], "another content"
    monkeypatch.setenv("WARPDECK_NSYS", "off")
    assert ask("a.csv") == ["3"]
    assert filled == ["1", "2", "3", "3"], "another setting"


def test_a_folder_that_was_not_finished_is_filled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(conversion_cache.VARIABLE, str(tmp_path))
    (tmp_path / "a.csv").write_text("1")

    def stop(groups: dict[Path, list[Path]]) -> None:
        (next(iter(groups)) / "half").touch()
        raise InterruptedError

    with pytest.raises(InterruptedError), conversion_cache.folders([[tmp_path / "a.csv"]], stop):
        pass
    with conversion_cache.folders([[tmp_path / "a.csv"]], lambda _: None) as (folder,):
        assert list(folder.iterdir()) == []


def test_a_worker_that_waits_does_what_one_that_starts_does(tmp_path: Path, ingest: Ingest) -> None:
    told: list[tuple[int, list[str], str]] = []
    for number, environment in enumerate(({}, {}, {"LC_ALL": "C.UTF-8"})):  # with a variable a worker starts
        inbox, library = tmp_path / f"inbox{number}", Library(tmp_path / f"library{number}")
        inbox.mkdir()
        made(inbox / "good.sqlite")
        (inbox / "bad.nsys-rep").write_bytes(b"no report")
        done: Ingested = ingest(inbox, library.folder, "--strict", **environment)
        told.append((done.status, sorted(re.sub(r"[\d.]+ s$", "", line) for line in done.lines), done.errors))
        assert [report.name for report in library.list()] == ["good.sqlite"]
        assert 0.05 < done.cpu_s < 60
    assert told[0] == told[1] == told[2]
    assert told[0][0] == 1, "a file failed"


def test_a_library_takes_over_the_connection_of_one_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.collect()  # libraries of other tests
    monkeypatch.setattr(connection_pool, "_free", [])

    def one_kernel(number: int) -> Library:
        """A library of a report of one kernel, which has been asked."""
        library, path = Library(tmp_path / str(number)), tmp_path / f"{number}.duckdb"
        with store.create(path, ready=page_reports.empty()) as db:
            page_reports.insert(db, "kernel_name", [page_reports.name(1, "k")])
            page_reports.insert(db, "kernel", [page_reports.kernel(1, 1, 0, number)])
        library.publish(path, Manifest("a" * 16, SCHEMA_VERSION, "a.rep", "nsys", "a", 1))
        assert list(analysis.run(library, "a" * 16, "kernels")["total_ns"]) == [number]
        return library

    first = one_kernel(1)
    connection = first._attached._small._db
    del first
    gc.collect()
    assert [db for db, *_ in connection_pool._free] == [connection]
    second = one_kernel(2)
    assert second._attached._small._db is connection
    second._attached.reconnect()
    assert one_kernel(3)._attached._small._db is not connection, "it was given up"
    gc.collect()
    dirty = one_kernel(4)
    used = dirty._attached._small._db
    assert used is not None
    used.execute("CREATE TABLE memory.left_behind (a INTEGER)")
    del dirty
    gc.collect()
    assert used not in [db for db, *_ in connection_pool._free]

"""A copy made while a worker writes has the same list, labels and answers."""

import shutil
import signal
from pathlib import Path

import pytest

from profiledb.access.cli import main as cli
from profiledb.errors import ConfigError
from profiledb.library.library import Library
from profiledb.library.move.backup import backup
from profiledb.query import analysis
from tests.conftest import wait_until
from tests.profiledb.library.test_library import publish
from tests.support.dropped_files import made
from tests.support.processes import start_worker


@pytest.mark.slow("a worker takes 40 files in")
def test_a_copy_while_the_worker_writes(empty_library: Library, inbox: Path, tmp_path: Path) -> None:
    for number in range(40):
        made(inbox / f"{number:02}.sqlite", end=number + 2)
    worker = start_worker(inbox, empty_library, "--samples", "off")
    copies: list[tuple[Library, set[str], str]] = []
    try:
        wait_until(lambda: bool(empty_library.list()))
        while len(empty_library.list()) < 40 and len(copies) < 4:
            before = {one.id for one in empty_library.list()}
            labeled = min(before)
            empty_library.catalog.set_labels(labeled, [f"copy {len(copies)}"])
            backup(empty_library, tmp_path / f"copy{len(copies)}")
            copies.append((Library(tmp_path / f"copy{len(copies)}"), before, labeled))
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(timeout=30)
    assert copies
    for number, (copy, before, labeled) in enumerate(copies):
        copy.recover()  # as a worker does when it starts
        assert before <= {one.id for one in copy.list()}
        assert {copy.path(one.id) for one in copy.list()} == set(copy.reports.glob("*.duckdb"))
        assert copy.catalog.labels()[labeled] == [f"copy {number}"]
        for report_id in before:
            assert copy.find(report_id) == empty_library.find(report_id)
            one, other = (analysis.run(of, report_id, "cuda_gpu_kern_sum") for of in (empty_library, copy))
            assert not one.empty
            assert one.equals(other)


def test_a_second_copy_takes_what_is_new(
    empty_library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (publish(empty_library, f"aaaa00000000000{number}") for number in (1, 2))
    to = tmp_path / "copy"
    assert backup(empty_library, to)[0] == 4
    publish(empty_library, "aaaa000000000003")
    empty_library.delete(first.id)
    assert cli.main(["backup", "--library", str(empty_library.folder), str(to)]) == 0
    assert capsys.readouterr().out.startswith("2 files copied")
    assert {one.id for one in Library(to).list()} == {second.id, "aaaa000000000003"}
    assert not list((to / "reports").glob(f"{first.id}*"))
    moved = tmp_path / "moved"
    shutil.copytree(to, moved)
    assert Library(moved).list() == empty_library.list()


def test_it_writes_into_no_folder_of_others(empty_library: Library, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").touch()
    for folder in (tmp_path / "mine", empty_library.folder / "copy"):
        with pytest.raises(ConfigError, match="contains other files"):
            backup(empty_library, folder)

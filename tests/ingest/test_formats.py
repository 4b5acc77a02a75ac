"""A new format needs only its module, whose declarations apply wherever names of files are judged."""

from pathlib import Path

import pytest

from ingest import formats
from ingest.conversion import limits
from ingest.format_detection import detect
from ingest.worker import Worker
from profiledb import config
from profiledb.errors import ConversionError
from profiledb.library.library import Library
from profiledb.library.locations import open_inbox
from tests.support.made_up_format import Make


def test_its_module_alone_makes_its_files_known(make: Make, tmp_path: Path) -> None:
    samples = tmp_path / "samples"
    samples.mkdir()
    (samples / "run.madeup").write_text("something else")
    (samples / "notes.txt").write_text("something else")
    with pytest.raises(ConversionError, match=r"run\.madeup does not start like a made-up trace") as refused:
        detect(samples / "run.madeup")
    assert refused.value.hint == "Make it up again."
    with pytest.raises(ConversionError) as unknown:
        detect(samples / "notes.txt")
    assert "made-up trace (.madeup)" in unknown.value.hint
    settings = config.load(inbox=tmp_path / "inbox", library=tmp_path / "library", samples=samples)
    worker = Worker(Library(tmp_path / "library"), settings, open_inbox(settings), on_done=lambda _: None)
    assert [path.name for path in worker.samples()] == ["run.madeup"]
    assert not limits.is_small(Path("a.MadeUp"), 100_000)  # it unpacks to a thousand times its size
    assert limits.is_small(Path("a.other"), 100_000)
    assert formats.needs_arrays("a.madeup")
    assert not formats.needs_arrays("a.other")


def test_all_modules_of_the_folder_are_formats() -> None:
    for one in formats.list_formats():
        assert one.name
        assert one.kind
        assert all(ending == ending.lower() and factor >= 1 for ending, factor in one.endings.items())
        assert all(one.misnamed) or not one.endings
    costs = [one.cost for one in formats.list_formats()]
    assert costs == sorted(costs)

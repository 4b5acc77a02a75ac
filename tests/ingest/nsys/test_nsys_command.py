"""A report made by ``warpdeck profile`` shows the program's command, without the shell that starts it."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from profiledb.library.library import Library
from tests.conftest import SAMPLES, Ingest
from tests.support.bounded_conversion import converted
from warpdeck.profiling.child import wrap_program

STATUS = Path("/tmp/status")
WAYS: list[tuple[tuple[int, ...], Path | None]] = [
    (standard, status) for standard in ((3, 4), (18, 19), ()) for status in (None, STATUS)
]
QUICK = ((18, 19), STATUS)


@pytest.mark.parametrize(
    ("standard", "status"),
    [
        pytest.param(*way, marks=[] if way == QUICK else pytest.mark.slow("takes a report in for each way to start"))
        for way in WAYS
    ],
)
def test_the_command_is_that_of_the_program(
    tmp_path: Path, ingest: Ingest, standard: tuple[int, ...], status: Path | None
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    export = Path(shutil.copy(SAMPLES / "launches_tiny.sqlite", inbox / "made.sqlite"))
    program = ["python3", "train.py", "--note", "sh -c x"]
    command, *arguments = wrap_program(program, standard, status)
    with closing(sqlite3.connect(export)) as db:
        db.execute("DELETE FROM META_DATA_CAPTURE WHERE name GLOB 'PROCESS_0:ARGUMENT_*'")
        db.execute("UPDATE META_DATA_CAPTURE SET value = ? WHERE name = 'PROCESS_0:COMMAND'", [command])
        rows = [(f"PROCESS_0:ARGUMENT_{number}", word) for number, word in enumerate(arguments)]
        db.executemany("INSERT INTO META_DATA_CAPTURE (name, value) VALUES (?, ?)", rows)
        db.commit()
    query = converted(ingest, inbox, Library(tmp_path / "library"))
    assert query("SELECT command FROM report") == [(" ".join(program),)]

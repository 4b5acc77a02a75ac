"""No report contains a planted secret, however it entered the capture."""

from pathlib import Path

import pytest

from ingest.nsys import redact
from profiledb.library.library import Library
from profiledb.query import views
from tests.conftest import Ingest
from tests.support import exports
from tests.support.exports import kernel, kernels

SECRET = "hunter2-swordfish"  # what each of the cases below plants
ENVIRONMENT = f"API_TOKEN={SECRET}"
WAYS: dict[str, exports.Tables] = {
    "the program's environment": {
        "META_DATA_CAPTURE": (("name", "value"), [("PROCESS_0:ENVIRONMENT_VARIABLE", ENVIRONMENT)])
    },
    "the device's environment": {
        "TARGET_INFO_SYSTEM_ENV": (("name", "value"), [("DeviceEnvironment", f"HOME=/root\n{ENVIRONMENT}\n")])
    },
    "another process's environment": {
        "StringIds": (("id", "value"), [(1, "one"), (9, f"HOME=/root\0{ENVIRONMENT}\0PATH=/bin")])
    },
    "a single variable": {"StringIds": (("id", "value"), [(1, "one"), (9, f"{ENVIRONMENT}\0")])},
    "what the program printed": {
        "META_DATA_CAPTURE": (("name", "value"), [("PROCESS_0:ENVIRONMENT_VARIABLE", ENVIRONMENT)]),
        "StringIds": (("id", "value"), [(1, "one"), (9, f"starting\nthe token is {SECRET}\n")]),
        "ProcessStreams": (("globalPid", "contentId"), [(7, 9)]),
    },
    "a text of a table that we do not know": {
        "META_DATA_CAPTURE": (("name", "value"), [("PROCESS_0:ENVIRONMENT_VARIABLE", ENVIRONMENT)]),
        "FUTURE_EVENTS": (("id", "note"), [(1, f"env {ENVIRONMENT} python train.py")]),
    },
}


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_planted_secret_is_nowhere(ingest: Ingest, inbox: Path, empty_library: Library, way: str) -> None:
    exports.write(inbox / "made.sqlite", {**kernels(kernel(1, 2)), **WAYS[way]})
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    report = empty_library.find("made.sqlite")
    with empty_library.cursor(report.id, views=views.list_all()) as db:
        columns = db.execute(f"""
            SELECT schema_name || '."' || table_name || '"', column_name FROM duckdb_columns()
            WHERE database_name = 'r_{report.id}' AND data_type = 'VARCHAR'
        """).fetchall()
        texts = [t for table, column in columns for (t,) in db.execute(f'SELECT "{column}" FROM {table}').fetchall()]
    assert not [text for text in texts if text and SECRET in text]
    assert "one" in texts, "innocent texts stay"
    for path in empty_library.folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("text", "is_environment"),
    [
        ("HOME=/root\0PATH=/bin", True),
        ("TOKEN=x\0", True),
        ("BASH_FUNC_module()=() { eval; }\0_=/usr/bin/env", True),
        ("python\0train.py\0--lr=1", False),
        ("void f<int, (bool)1>(T1 *)\0", False),
        ("", False),
    ],
)
def test_environment_block_is_recognized(text: str, is_environment: bool) -> None:
    assert redact.is_block(text) is is_environment

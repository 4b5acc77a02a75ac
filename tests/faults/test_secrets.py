"""No byte of the library, the logs, answers or downloads has a planted secret."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import Any

import duckdb
import pytest

from ingest import scrub
from profiledb.library.library import Library
from profiledb.query import views
from tests.conftest import CORPUS, ROOT, SAMPLES, Ingest, Ingested
from tests.support import exports, made_traces, secret_spellings
from tests.support.dropped_files import needs_corpus
from tests.support.exports import MAIN, NVTX, Rows, Tables, kernel, kernels

SECRET = "hunter2-swordfish-9zQ"
TOKEN = "hf_ABCDEFGHIJKLMNOPQRST"
"""One that is known by its look alone."""
ASSIGNED = f"API_TOKEN={SECRET}"
CALLS = ("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "returnValue")


def capture(*rows: tuple[str, object]) -> dict[str, tuple[Sequence[str], Rows]]:
    return {"META_DATA_CAPTURE": (("name", "value"), rows)}


ENVIRONMENT = capture(("PROCESS_0:ENVIRONMENT_VARIABLE", ASSIGNED))
STRINGS = [(1, "one"), (2, "two"), (3, "three")]

PLACES: dict[str, Tables] = {
    "the program's environment": ENVIRONMENT,
    "an environment that is no text": capture(
        ("PROCESS_0:ENVIRONMENT_VARIABLE", b"A=\xff\xfe\nAPI_TOKEN=" + SECRET.encode())
    ),
    "a value of several lines": capture(("PROCESS_0:ENVIRONMENT_VARIABLE", f"API_KEY=begin\n{SECRET}\nend")),
    "the device's environment, by lines": {
        "TARGET_INFO_SYSTEM_ENV": (("name", "value"), [("DeviceEnvironment", f"HOME=/root\n{ASSIGNED}\n")])
    },
    "the device's environment, by semicolons": {
        "TARGET_INFO_SYSTEM_ENV": (("name", "value"), [("DeviceEnvironment", f"HOME=/root;{ASSIGNED};A=b")]),
        "StringIds": (("id", "value"), [*STRINGS, (9, f"starting, {ASSIGNED}, done")]),
        "NVTX_EVENTS": (NVTX, [(0, 9, 59, f"step {ASSIGNED}", 9, MAIN, 0)]),
    },
    "host, user and folder": capture(
        ("PROCESS_0:USER_NAME", SECRET), ("PROCESS_0:WORKING_DIR", f"/home/{SECRET}"), ("SOMETHING_NEW", SECRET)
    )
    | {"TARGET_INFO_SYSTEM_ENV": (("name", "value"), [("Hostname", SECRET), ("OsDescription", "Linux")])}
    | {"META_DATA_EXPORT": (("name", "value"), [("EXPORT_USER", SECRET), ("EXPORT_PARAM_INPUT_PATH_ABS", SECRET)])},
    "the command line": capture(
        ("PROCESS_0:COMMAND", "python"),
        ("PROCESS_0:ARGUMENT_0", "train.py"),
        ("PROCESS_0:ARGUMENT_1", "--hf-token"),
        ("PROCESS_0:ARGUMENT_2", SECRET),
        ("PROCESS_0:ARGUMENT_3", f"--api_key={SECRET}"),
        ("PROCESS_0:ARGUMENT_4", f"WANDB_API_KEY={SECRET}"),
        ("PROCESS_0:ARGUMENT_5", f"postgres://user:{SECRET}@host/db"),
        ("PROCESS_0:ARGUMENT_6", f"Bearer {SECRET}"),
        ("PROCESS_0:ARGUMENT_10", f"--secret={SECRET}"),
    ),
    "another process's environment": {
        "StringIds": (("id", "value"), [*STRINGS, (9, f"HOME=/root\0{ASSIGNED}\0PATH=/bin")])
    },
    "a block that is no text": {
        "StringIds": (("id", "value"), [*STRINGS, (9, b"HOME=/r\xff\0" + ASSIGNED.encode() + b"\0PATH=/bin")])
    },
    "a string that nothing names": {"StringIds": (("id", "value"), [*STRINGS, (9, f"stdout: {SECRET}")])},
    "what a program printed, and a name repeats": ENVIRONMENT
    | {
        "StringIds": (("id", "value"), [*STRINGS, (9, f"the token is {SECRET}")]),
        "ProcessStreams": (("globalPid", "contentId"), [(7, 9)]),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALLS, [(0, 1, MAIN, 1, 9, 0, 0)]),
        "NVTX_EVENTS": (NVTX, [(0, 9, 59, f"with {SECRET}", None, MAIN, 0)]),
        "DIAGNOSTIC_EVENT": (("timestamp", "severity", "text"), [(1, 1, f"said {SECRET}")]),
        "PROCESSES": (("globalPid", "pid", "name"), [(7, 7, f"/bin/{SECRET}")]),
    },
    "a token that no environment holds": {
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALLS, [(0, 1, MAIN, 1, 2, 0, 0)]),
        "StringIds": (("id", "value"), [(1, "one"), (2, f"with {TOKEN}"), (3, "c")]),
    },
    "a table and a column that nobody knows": {
        "FUTURE_EVENTS": (("id", "note"), [(1, f"env {SECRET}")]),
        "ANALYSIS_FILE": (("id", "filename", "content"), [(1, SECRET, SECRET.encode())]),
        "CUDNN_EVENTS": (("start", "note"), [(1, SECRET)]),
        "ENUM_UNKNOWN": (("id", "name", "comment"), [(1, "a", SECRET)]),
        "GENERIC_EVENTS": (("typeId", "data"), [(1, f'{{"a": "{SECRET}"}}')]),
    },
    "text in a column of numbers": {
        "CUDNN_EVENTS": (("start", "end"), [(1, 2), (3, SECRET)]),
        "TARGET_INFO_CUDA_STREAM": (("streamId", "flag"), [(1, 2), (1, SECRET.encode())]),
    },
}


def places_that_hold(folder: Path, secret: bytes = SECRET.encode()) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


COMMANDS = """
import json, sys
from profiledb.access.cli.main import main
for argv in json.load(sys.stdin):
    assert main(argv) == 0, argv
"""


def what_leaves(library: Library, tmp_path: Path) -> bytes:
    """All output of the command line, in one process: the list, and the summary and every analysis of each report."""
    out = tmp_path / "out"
    commands = [["list", "--format", "json"]]
    for report in library.list():
        commands += [["summary", report.id], ["export_stats", report.id, str(out / report.id)]]
    asked = json.dumps([[*command, "--library", str(library.folder)] for command in commands])
    argv = [sys.executable, "-c", COMMANDS]
    done = subprocess.run(argv, cwd=ROOT, input=asked.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr + b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())


def assert_nowhere(done: Ingested, library: Library, secret: str = SECRET) -> None:
    assert not places_that_hold(library.folder, secret.encode())
    assert secret not in "".join(done.lines) + done.errors


def test_of_sqlite_exports(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """All of them at once; a process of its own converts each."""
    for number, tables in enumerate(PLACES.values()):
        exports.write(inbox / f"{number}.sqlite", {**kernels(kernel(1, 2)), **tables})
    done = ingest(inbox, empty_library.folder)
    assert [line.split()[0] for line in done.lines] == ["ready"] * len(PLACES), done
    for secret in (SECRET, TOKEN):
        assert_nowhere(done, empty_library, secret)
    for number, place in enumerate(PLACES):
        report = empty_library.find(f"{number}.sqlite").id
        with empty_library.cursor(report, views=views.list_all()) as cursor:
            assert cursor.execute("SELECT count(*) FROM kernel").fetchone() == (1,), place
            texts = {text for (text,) in cursor.execute("SELECT value FROM string").fetchall()}
        assert not texts & {SECRET, TOKEN}, place


def test_of_parquet_exports(ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    """All of them at once, except the one that Parquet cannot hold."""
    places = [place for place in PLACES if "numbers" not in place]
    for number, place in enumerate(places):
        made = exports.write(tmp_path / f"{number}.sqlite", {**kernels(kernel(1, 2)), **PLACES[place]})
        (inbox / f"made_{number}").mkdir()
        as_parquet(made, inbox / f"made_{number}")
    done = ingest(inbox, empty_library.folder)
    assert [line.split()[0] for line in done.lines] == ["ready"] * len(places), done
    for secret in (SECRET, TOKEN):
        assert_nowhere(done, empty_library, secret)


def as_parquet(made: Path, folder: Path) -> None:
    """Writes the tables of an SQLite export as nsys writes them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with closing(sqlite3.connect(made)) as db:
        db.text_factory = bytes
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            cursor = db.execute(f'SELECT * FROM "{name.decode()}"')
            columns = [column[0] for column in cursor.description]
            cells = list(zip(*cursor.fetchall(), strict=True))
            arrays = {}
            for column, values in zip(columns, cells, strict=True):
                if any(isinstance(value, bytes) for value in values):
                    raw = pa.array(values, pa.binary())
                    # as nsys writes a text, whatever bytes are in it
                    arrays[column] = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
                else:
                    arrays[column] = pa.array(values)
            pq.write_table(pa.table(arrays), folder / f"{name.decode()}.parquet")


@needs_corpus
@pytest.mark.nsight
def test_a_byte_that_is_no_text_in_a_real_report(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    content = (CORPUS / "streams_4090.nsys-rep").read_bytes()
    at = content.index(b"PATH=")
    values = {part.split(b"\0")[0][:40] for part in content[at : at + 400].split(b"=")[1:2]}
    (inbox / "odd.nsys-rep").write_bytes(content[: at + 6] + b"\xff" + content[at + 7 :])
    done = ingest(inbox, empty_library.folder)
    assert done.lines[0].startswith("ready"), done
    for value in values:
        rest = value[8:24]
        assert len(rest) == 16
        assert not places_that_hold(empty_library.folder, rest)


@pytest.mark.integration
@pytest.mark.slow("asks every analysis of a report by commands")
def test_of_what_leaves_the_library(ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    place = "what a program printed, and a name repeats"
    exports.write(inbox / "made.sqlite", {**kernels(kernel(1, 2)), **PLACES[place]})
    assert ingest(inbox, empty_library.folder).lines[0].startswith("ready")
    assert SECRET.encode() not in what_leaves(empty_library, tmp_path)


def spellings() -> list[str]:
    """Commands with a secret in them, as they stand and as a script of another command."""
    plain = [spell(SECRET) for spell in (*secret_spellings.COMMANDS.values(), *secret_spellings.IN_ADDRESSES.values())]
    return [
        *plain,
        *(
            secret_spellings.WRAPPED[at % len(secret_spellings.WRAPPED)].format(quote(one))
            for at, one in enumerate(plain)
        ),
    ]


def write_commands(inbox: Path) -> None:
    """Files of every kind with these commands wherever one may stand; each is harmless otherwise."""
    commands = spellings()
    rows = [(f"PROCESS_{at}:COMMAND", "bash") for at in range(len(commands))]
    rows += [(f"PROCESS_{at}:ARGUMENT_0", "-c") for at in range(len(commands))]
    rows += [(f"PROCESS_{at}:ARGUMENT_1", command) for at, command in enumerate(commands)]
    tables: Tables = {
        **kernels(kernel(1, 2)),
        **capture(*rows, ("PROCESS_0:ARGUMENT_2", "--max-tokens"), ("PROCESS_0:ARGUMENT_3", "512")),
        "PROCESSES": (("globalPid", "pid", "name"), [(at, at, one) for at, one in enumerate(commands, 1)]),
        "DIAGNOSTIC_EVENT": (("timestamp", "severity", "text"), [(1, 1, f"Started {one}") for one in commands]),
        "NVTX_EVENTS": (NVTX, [(at, at + 1, 59, one, None, MAIN, 0) for at, one in enumerate(commands)]),
    }
    exports.write(inbox / "commands.sqlite", tables)
    facts = {"argv": ["bash", "-c", commands[0]], "commands": commands, "env": {"HF_TOKEN": SECRET}, "tokens": 512}
    (inbox / "commands.meta.json").write_text(json.dumps(facts))
    (inbox / "commands.timings.csv").write_text(f"label,step,seconds\n--token={SECRET},0,0.5\n")
    trace = made_traces.write(inbox, [made_traces.event("user_annotation", one, at, at + 1) for at, one in
                                      enumerate(commands)])  # fmt: skip
    content = json.loads(trace.read_text())
    named = [
        {"ph": "M", "name": kind, "pid": made_traces.PID, "tid": made_traces.MAIN, "args": {"name": one}}
        for kind, one in (("process_name", commands[0]), ("thread_name", commands[1]))
    ]
    collective: Any = {"Collective name": commands[0], "Process Group Name": commands[1], "dtype": commands[2]}
    content["traceEvents"] += [*named, made_traces.operator("nccl:all_reduce", 1, 2, **collective)]
    groups = [{"pg_name": one, "pg_desc": one, "backend_config": {"command": one}, "ranks": [0]} for one in commands]
    content["distributedInfo"] = {"rank": 0, "backend": commands[0], "nccl_version": commands[1], "pg_config": groups}
    content |= {"environment": {"HF_TOKEN": SECRET}, "trace_id": commands[0], "cupti_version": f"--token={SECRET}"}
    trace.write_text(json.dumps(content))
    frames = [{"name": one, "filename": one, "line": 1} for one in commands]
    events = [
        {"action": "alloc", "addr": 4096, "size": 8, "stream": 0, "time_us": 10**15 + at, "frames": [frame],
         "user_metadata": SECRET} for at, frame in enumerate(frames)
    ]  # fmt: skip
    annotations = [{"stage": "START", "name": one, "device": 0, "time_us": 10**15} for one in commands]
    allocator = {"PYTORCH_CUDA_ALLOC_CONF": f"expandable_segments:True,token={SECRET}", "command": commands[0]}
    snapshot = {
        "segments": [], "device_traces": [events], "external_annotations": annotations, "allocator_settings": allocator,
        "user_metadata": {"command": commands[0]},
    }  # fmt: skip
    (inbox / "snapshot.json").write_text(json.dumps(snapshot))
    details = (ROOT / "tests" / "data" / "ncu" / "details_2024.csv").read_text()
    (inbox / "details.csv").write_text(details.replace('"app"', f'"python x --token {SECRET}"'))
    report = (SAMPLES / "attention.ncu-rep").read_bytes()
    was = b"python3 -m workloads run attention --device cuda --tokens 2048 --only naive,fused"
    assert was in report
    now = f'bash -c "python3 t.py --tokens 2048 --hf-token {SECRET}"'.encode()
    (inbox / "command.ncu-rep").write_bytes(report.replace(was, now.ljust(len(was))))


def texts_of(library: Library, report: str) -> list[str]:
    """Every text of a report's database, however DuckDB has compressed it."""
    with library.cursor(report, views=views.list_all()) as db:
        columns = db.execute(f"""
            SELECT schema_name || '."' || table_name || '"', column_name FROM duckdb_columns()
            WHERE database_name = 'r_{report}' AND data_type = 'VARCHAR'
        """).fetchall()
        texts = 'SELECT DISTINCT "{}" FROM {}'
        rows = [row for table, column in columns for row in db.execute(texts.format(column, table)).fetchall()]
    return [text for (text,) in rows if text]


def test_of_commands_in_shell_strings(ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    """A secret in a command for a shell, at any depth, in every kind of file."""
    write_commands(inbox)
    done = ingest(inbox, empty_library.folder)
    assert {job.name: job.state for job in empty_library.catalog.jobs()} == dict.fromkeys(
        (path.name for path in inbox.iterdir()), "ready"
    ), done
    assert_nowhere(done, empty_library)
    for report in empty_library.list():
        assert not [text for text in texts_of(empty_library, report.id) if SECRET in text], report.name
    assert SECRET.encode() not in what_leaves(empty_library, tmp_path)
    texts = texts_of(empty_library, empty_library.find("commands.sqlite").id)
    assert "bash -c python t.py --token=[removed] --lr 3 --max-tokens 512" in " ".join(texts)
    measured = empty_library.find("command.ncu-rep").id
    with empty_library.cursor(measured, views=views.list_all()) as db:
        ((command,),) = db.execute("SELECT command FROM report").fetchall()
    assert "--tokens 2048 --hf-token [removed]" in command
    assert (
        "512"
        in (empty_library.folder / "reports")
        .joinpath(f"{empty_library.find('commands.sqlite').id}.meta.json")
        .read_text()
    )


FAILING: dict[str, Callable[[Path], object]] = {
    "an enumeration that cannot be read": lambda path: exports.write(
        path,
        {**kernels(kernel(1, 2)), **ENVIRONMENT, "ANALYSIS_DETAILS": (("duration", "startTime"), [(SECRET, SECRET)])},
    ),
    "nothing but an environment": lambda path: exports.write(path, {**ENVIRONMENT, "NVTX_EVENTS": (NVTX, [])}),
    "a schema that is none": lambda path: path.write_bytes(
        b"SQLite format 3\0" + bytes(84) + f"CREATE TABLE StringIds (a); {ASSIGNED}".encode() * 40
    ),
    "text of ncu": lambda path: path.write_text(f"==ERROR== cannot profile {ASSIGNED} --token {SECRET}\n"),
    "a table beside nothing": lambda path: path.write_text(f"{ASSIGNED}\n"),
}


def test_of_files_that_fail(ingest: Ingest, inbox: Path, empty_library: Library) -> None:
    """All of them at once; each file's job has its own message."""
    for number, write in enumerate(FAILING.values()):
        write(inbox / f"{number}.sqlite")
    done = ingest(inbox, empty_library.folder)
    assert {job.name for job in empty_library.catalog.jobs()} == {f"{number}.sqlite" for number in range(len(FAILING))}
    assert len(done.lines) == len(FAILING)
    assert_nowhere(done, empty_library)


def test_of_what_a_converter_says(ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    from tests.support.dropped_files import SAMPLE, stand_in

    tool = stand_in(tmp_path, f"echo 'bad environment: {ASSIGNED} --password {SECRET} token: {SECRET}' >&2; exit 1")
    shutil.copy(SAMPLE, inbox / "a.nsys-rep")
    done = ingest(inbox, empty_library.folder, WARPDECK_NSYS=str(tool))
    assert done.lines[0].startswith("failed")
    assert_nowhere(done, empty_library)
    (job,) = empty_library.catalog.jobs()
    assert "bad environment" in job.detail, "what is no secret stays readable"


def test_words_of_a_database_stop_where_it_quotes() -> None:
    with duckdb.connect() as db, pytest.raises(duckdb.Error) as caught:
        db.execute(f"SELECT '{SECRET}'::INTEGER")
    assert SECRET in str(caught.value)
    assert scrub.scrub_database_error(caught.value) == "ConversionException: Conversion Error: Could not convert string"


@pytest.mark.parametrize(
    "argument", ["--max-tokens=512", "--tokenizer=gpt2", "--author=me", "--lr=1", "--key-frames=3", "--keyboard", "x=1"]
)
def test_options_that_hold_no_secret_stay(argument: str) -> None:
    assert scrub.scrub_arguments([argument, "value"]) == [argument, "value"]


def test_scrubbing_takes_no_time_whatever_is_said() -> None:
    started = os.times().user
    for text in (
        "a" * 200_000,
        "a-" * 100_000,
        "token" * 40_000,
        "://" * 60_000,
        "token=" * 30_000,
        "A" * 9 + "=" * 99_999,
    ):
        assert len(scrub.scrub_output(text)) <= scrub.LONGEST
        scrub.scrub_arguments([text[:20_000]])
    assert os.times().user - started < 5

"""Hostile SQL questions: each ends in a sentence and leaves nothing behind."""

import compileall
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from profiledb import confinement
from profiledb.console import question_process
from profiledb.console.question_limits import Bounds
from profiledb.console.question_process import ask
from profiledb.errors import AnalysisError
from profiledb.library.catalog import FILE, Manifest
from profiledb.library.library import Library
from profiledb.studies import prefetch
from tests.conftest import ROOT
from tests.support import question_report

pytestmark = pytest.mark.integration  # each attack is a process

SECRET = "planted-in-a-file"
IN_ENVIRONMENT = "planted-in-the-environment"

READS = [
    "FROM read_csv('{secret}')",
    "FROM read_csv_auto('{secret}')",
    "FROM read_text('{secret}')",
    "FROM read_blob('{secret}')",
    "FROM read_json('{secret}')",
    "FROM read_ndjson('{secret}')",
    "FROM read_parquet('{secret}')",
    "FROM parquet_metadata('{secret}')",
    "FROM parquet_schema('{secret}')",
    "FROM sniff_csv('{secret}')",
    "FROM read_duckdb('{secret}')",
    "FROM '{secret}'",
    'FROM "{secret}"',
    "FROM glob('{folder}/*')",
    "FROM read_text('/proc/self/environ')",
    "FROM read_text('/proc/' || '1/environ')",
    "FROM sqlite_scan('{secret}', 'x')",
    "FROM postgres_scan('host=127.0.0.1', 'public', 'x')",
    "FROM iceberg_scan('{folder}')",
    "FROM read_csv('http://127.0.0.1:9/x.csv')",
    "FROM 's3://bucket/x.parquet'",
    "SELECT getenv('PLANTED')",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "WITH x AS (FROM read_text('{secret}')) FROM x",
    "SELECT 1 WHERE EXISTS (FROM read_text('{secret}'))",
    "DESCRIBE FROM read_text('{secret}')",
    "SUMMARIZE FROM read_text('{secret}')",
    "FROM query('FROM read_text(''{secret}'')')",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM duckdb_databases()'))",
    "FROM files",  # a name in the program of the process
]
TELLS = [
    "SELECT current_setting('allowed_paths')",
    "SELECT main.current_setting('temp_directory')",
    "FROM duckdb_settings()",
    "FROM duckdb_databases()",
    "FROM duckdb_databases",
    "FROM system.main.duckdb_databases",
    'FROM "DuckDB_Databases"',
    "SELECT path FROM pragma_database_list",
    "SELECT (SELECT max(path) FROM duckdb_databases())",
    "FROM pg_catalog.pg_database",
    "FROM pg_settings",
    "PRAGMA database_list",
    "SHOW DATABASES",
    "FROM duckdb_extensions()",
    "FROM duckdb_secrets()",
    "FROM duckdb_logs",
    "FROM duckdb_temporary_files()",
    "FROM histogram_values('duckdb_databases', path)",
]
WRITES = [
    "COPY (SELECT 1) TO '{out}/x.csv'",
    "COPY kernel FROM '{secret}'",
    "EXPORT DATABASE '{out}'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{out}/x.duckdb'",
    "ATTACH ':memory:' AS other",
    "DETACH report",
    "USE memory",
    "INSTALL httpfs",
    "INSTALL httpfs FROM 'http://127.0.0.1:9'",
    "LOAD httpfs",
    "LOAD '{secret}'",
    "SET enable_external_access = true",
    "SET memory_limit = '100GB'",
    "SET threads = 64",
    "RESET lock_configuration",
    "PRAGMA memory_limit = '100GB'",
    "PRAGMA enable_profiling",
    "CALL enable_logging(storage = 'file', storage_path = '{out}')",
    "FROM enable_logging(storage = 'file', storage_path = '{out}')",
    "SELECT 1 FROM ENABLE_LOGGING(storage = 'file', storage_path = '{out}')",
    "FROM disable_logging()",
    "SELECT write_log('x')",
    "FROM checkpoint()",
    "FROM force_checkpoint()",
    "CHECKPOINT",
    "VACUUM",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE VIEW x AS SELECT 1",
    "CREATE MACRO x() AS 1",
    "CREATE SECRET x (TYPE s3)",
    "INSERT INTO kernel DEFAULT VALUES",
    "UPDATE kernel SET start_ns = 0",
    "DELETE FROM kernel",
    "DROP TABLE kernel",
    "ALTER TABLE kernel ADD COLUMN x INT",
    "PREPARE x AS SELECT 1",
    "BEGIN",
    "EXPLAIN ANALYZE SELECT 1",
    "SELECT 1; COPY (SELECT 1) TO '{out}/x.csv'",
    "SELECT 1; SELECT 2",
    "PIVOT kernel ON device_id USING count(*)",
    "",
    "-- nothing",
    "SELECT '\0'",
]
ATTACKS = [*READS, *TELLS, *WRITES]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Library, Manifest]]:
    compileall.compile_dir(ROOT / "profiledb" / "console", quiet=1)  # no attack is what compiles it first
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANTED", IN_ENVIRONMENT)
        library, report = question_report.small(tmp_path_factory.mktemp("asked"))
        prefetch.store_views(library, report.id)  # as workers do: a process without them takes a second to create all
        yield library, report


@pytest.fixture
def words(tmp_path: Path) -> dict[str, str]:
    """The targets of attacks: a file with a secret, its folder, an empty folder."""
    (tmp_path / "out").mkdir()
    secret = tmp_path / "secret.csv"
    secret.write_text(f"a\n{SECRET}\n")
    return {"secret": str(secret), "folder": str(tmp_path), "out": str(tmp_path / "out")}


def written(attack: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        attack = attack.replace("{" + name + "}", value)
    return attack


def state(*folders: Path) -> dict[str, int]:
    """All files of some folders, with their times, but the catalog: the audit there has every question."""
    paths = (path for folder in folders for path in folder.rglob("*") if not path.name.startswith(FILE))
    return {str(path): path.stat().st_mtime_ns for path in paths}


FORKED = """
import io
import os
import sys
from profiledb.console import question_child
question_child.views.build_sql(question_child.views.list_files())
for question in sys.stdin:
    reads, writes = os.pipe()
    if not os.fork():
        sys.stdin = io.StringIO(question)
        os.dup2(writes, 1)
        question_child.main()
        sys.stdout.flush()
        os._exit(0)
    os.close(writes)
    with open(reads, "rb") as answer:
        written = answer.read()
    os.wait()
    sys.stdout.buffer.write(b"%d\\n%b" % (len(written), written))
    sys.stdout.flush()
"""
"""Answers each line of its input as the process of a question does, in a fork that need not import everything."""
OF_THE_PROCESS = [one for one in ATTACKS if "environ" in one or "PLANTED" in one]
"""Attacks on the environment, which a process of its own answers."""


@pytest.fixture(scope="module")
def forks(place: tuple[Library, Manifest]) -> Iterator[subprocess.Popen[bytes]]:
    environment = question_process._build_environment(place[0], "")
    command = [sys.executable, "-c", FORKED]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_ends_in_a_sentence(
    place: tuple[Library, Manifest],
    forks: subprocess.Popen[bytes],
    words: dict[str, str],
    attack: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask_fork(question: bytes, bounds: Bounds, environment: Mapping[str, str]) -> tuple[dict[str, Any], bytes]:
        assert forks.stdin
        assert forks.stdout
        forks.stdin.write(question + b"\n")
        forks.stdin.flush()
        line, _, rest = forks.stdout.read(int(forks.stdout.readline())).partition(b"\n")
        return json.loads(line), rest

    if attack not in (READS[0], TELLS[0], WRITES[0], *OF_THE_PROCESS):
        monkeypatch.setattr(question_process, "_run_process", ask_fork)
    library, report = place
    before = state(library.folder, Path(words["folder"]), ROOT / "profiledb" / "console")
    with pytest.raises(AnalysisError) as refused:
        ask(library, report.id, written(attack, words), question_report.limits())
    told = f"{refused.value.message} {refused.value.hint} {refused.value.detail}"
    assert len(told) > 20
    assert not any(one in told for one in (SECRET, IN_ENVIRONMENT, str(library.folder), str(Path.home() / ".duckdb")))
    assert state(library.folder, Path(words["folder"]), ROOT / "profiledb" / "console") == before
    assert not below()


def below() -> list[psutil.Process]:
    """Processes of questions that this one has started."""
    return [
        one for one in psutil.Process().children(recursive=True) if "profiledb.console.question_child" in _words(one)
    ]


def _words(process: psutil.Process) -> list[str]:
    """The command of a process; none of one that ended, as those that other tests leave behind may have."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


WITHOUT_RULES = """
import sys
from pathlib import Path
from profiledb import confinement
from profiledb.console import question_child
asked = {"memory_mb": 256, "threads": 2, "seconds": 60, "database": sys.argv[1], "sidecars": {}, "views": "none"}
macros = question_child.views.build_sql(question_child.views.list_files())
question_child._set_limits(asked)
db = question_child._open_memory_database(asked)
files = confinement.READ | confinement.list_write_rights()
confinement.confine(files, confinement.list_network_rights(), [Path(sys.argv[1])])
question_child.question_rules.check = lambda *_: None
question_child._answer_question(db, asked | {"sql": "SELECT 1", "rows": 1, "bytes": 1000}, macros)
for attack in sys.stdin.read().split("\\x1f"):
    try:
        rows = db.execute(attack).to_arrow_table().to_pylist()
    except Exception as error:
        rows = error
    print(str(rows)[:2000], flush=True)
"""


def test_the_process_alone_stops_what_reads_and_writes_files(
    place: tuple[Library, Manifest], words: dict[str, str]
) -> None:
    """A query that passes the rules still meets DuckDB's locks, and behind them the system's."""
    if confinement.read_version() < 1:
        pytest.skip("this kernel has no Landlock")
    library, report = place
    before = state(library.folder, Path(words["folder"]))
    logging = [one for one in WRITES if "logging" in one.lower()]  # DuckDB may end its process when these fail
    attacks = [written(one, words) for one in [*READS, *WRITES, *logging] if "\0" not in one]
    attacks.sort(key=lambda one: "logging" in one.lower())
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_RULES, str(library.path(report.id))],
        input="\x1f".join(attacks), capture_output=True, text=True, check=False, cwd=ROOT, env={}, timeout=120,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) >= len(READS), done.stderr
    assert SECRET not in done.stdout
    assert state(library.folder, Path(words["folder"])) == before


ENDLESS = {
    "a loop": "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    "a product": "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range % 7 = b.range % 11",
    "a long text": "SELECT max(length(repeat('a', 2000000000) || range)) FROM range(50)",
    "a large list": "SELECT list(range) FROM range(2000000000)",
    "a deep expression": "SELECT " + "abs(" * 3_000 + "1" + ")" * 3_000,
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_what_takes_too_much_is_stopped(place: tuple[Library, Manifest], kind: str) -> None:
    library, report = place
    begun = time.monotonic()
    with pytest.raises(AnalysisError) as stopped:
        ask(library, report.id, ENDLESS[kind], question_report.limits(seconds=1 if kind == "a loop" else 2))
    assert time.monotonic() - begun < 60
    assert stopped.value.message
    assert not below()


def test_an_answer_has_at_most_so_many_rows_and_bytes(place: tuple[Library, Manifest]) -> None:
    library, report = place
    rows = ask(library, report.id, "SELECT range FROM range(1000000000)", question_report.limits(rows=5_000))
    assert rows.cut
    assert rows.rows["range"].to_pylist() == list(range(5_000))
    large = ask(
        library, report.id, "SELECT repeat('x', 10000) AS x FROM range(100000)", question_report.limits(rows=100_000)
    )
    assert large.cut
    assert large.rows.nbytes <= question_report.limits().bytes

"""Names of tables, columns and files stay names: none runs as SQL or reaches a file."""

import ast
import functools
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from ingest.conversion.prepared_files import _fill_and_seal, _make_anonymous
from ingest.nsys import load, sqlite
from profiledb.library.library import Library
from profiledb.query import views
from profiledb.report import store
from tests.conftest import ROOT, SAMPLES, Ingest
from tests.support import exports
from tests.support.exports import MAIN, NVTX, Tables, kernel, kernels


def attacks(target: Path) -> list[str]:
    """Names that would write a file, or read one, where a statement has them without quoting them."""
    copy = f"COPY (SELECT 1) TO '{target}'"
    return [
        f'x" FROM src.StringIds; {copy}; SELECT "1',
        f"x' ; {copy}; SELECT '1",
        f'x"); {copy}; --',
        f"x'); {copy}; --",
        f"x) ; {copy} ; (",
        "x\", (SELECT content FROM read_text('/etc/hostname')) AS \"y",
        'a"b',
        "a'b",
        "; --",
        "row_id",
        "file_row_number",
        "",
        " ",
        "$1",
        "{}",
        "%s",
        "SELECT",
        "ä\N{RIGHT-TO-LEFT OVERRIDE}",
    ]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def write_hostile(path: Path, target: Path) -> None:
    """An export in which every kind of table has a column of each of those names, and there is a table of each."""
    metrics: Tables = {
        "GPU_METRICS": (("timestamp", "typeId", "metricId", "value"), [(1, 0, 1, 5), (1, 0, 2, 6)]),
        "TARGET_INFO_GPU_METRICS": (
            ("typeId", "metricId", "metricName"),
            [(0, number, name) for number, name in enumerate(attacks(target), 1)],
        ),
    }
    exports.write(path, {**kernels(kernel(1, 2)), **metrics, "NVTX_EVENTS": (NVTX, [(0, 9, 59, "r", None, MAIN, 0)])})
    with closing(sqlite3.connect(path)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in attacks(target):
            for table in (name, f"ENUM_{name}", f"CUDNN_{name}"):
                columns = ", ".join(quoted(column) for column in attacks(target))
                db.execute(f"CREATE TABLE {quoted(table)} ({columns}, id, name, label)")
                db.execute(f"INSERT INTO {quoted(table)} (id, name, label) VALUES (1, 'a', 'b')")
        for table in names:
            for column in attacks(target):
                db.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN {quoted(column)} TEXT DEFAULT 'x'")
        db.commit()


def test_no_name_of_an_export_runs_as_sql(ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path) -> None:
    target = tmp_path / "written"
    write_hostile(inbox / "hostile.sqlite", target)
    done = ingest(inbox, empty_library.folder)
    assert done.lines[0].startswith("ready"), done
    assert not target.exists()
    assert "written" not in {path.name for path in tmp_path.rglob("*")}
    hostname = Path("/etc/hostname").read_bytes().strip()
    report = empty_library.list()[0].id
    assert hostname not in empty_library.path(report).read_bytes() or hostname in b"localhost"
    with empty_library.cursor(report, views=views.list_all()) as db:
        assert db.execute("SELECT count(*) FROM kernel").fetchone() == (1,)


def write_parquet(folder: Path, name: str) -> None:
    """An export with a column of that name in its tables, and a file of that name."""
    with duckdb.connect() as db:
        folder.mkdir()
        db.execute(f"COPY (SELECT 1::BIGINT AS id, 'a' AS value) TO '{folder}/StringIds.parquet'")
        column = f", 1 AS {quoted(name)}" if name else ""
        db.execute(f"COPY (SELECT 0::BIGINT AS start, 5::BIGINT AS \"end\"{column}) TO '{folder}/NVTX_EVENTS.parquet'")
        db.execute(
            f'COPY (SELECT 1::BIGINT AS start, 2::BIGINT AS "end", 0 AS "deviceId", 1::BIGINT AS "demangledName"'
            f"{column}) TO '{folder}/CUPTI_ACTIVITY_KIND_KERNEL.parquet'"
        )
    if name.strip() and "/" not in name:
        shutil.copy(folder / "NVTX_EVENTS.parquet", folder / f"{name}.parquet")


def test_no_name_of_a_parquet_file_runs_as_sql(
    ingest: Ingest, inbox: Path, empty_library: Library, tmp_path: Path
) -> None:
    names = {f"export{number}": name for number, name in enumerate(attacks(Path("written.parquet")))}
    for folder, name in names.items():
        write_parquet(inbox / folder, name)
    before = set(tmp_path.rglob("written*"))
    done = ingest(inbox, empty_library.folder)
    states = {names[job.name]: job.state for job in empty_library.catalog.jobs()}
    # DuckDB itself has a column of that name: such a file cannot be read
    assert states == {name: "failed" if name == "file_row_number" else "ready" for name in names.values()}, done
    assert set(tmp_path.rglob("written*")) == before
    assert not (ROOT / "written.parquet").exists()


@pytest.mark.parametrize("checked", [False, True], ids=["checked by DuckDB", "checked before"])
def test_a_connection_that_loads_reaches_nothing_else(tmp_path: Path, checked: bool) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    source = SAMPLES / "transformer_inference.sqlite"
    access = sqlite.get_access(source)
    extension = shutil.copy(access.extensions[0], tmp_path / "work" / "other.duckdb_extension")
    copy = _make_anonymous(access.extensions[0])
    _fill_and_seal(copy, access.extensions[0])
    ready = store.Ready(extensions={access.extensions[0].name: copy} if checked else {})
    with store.create(tmp_path / "work" / "report.duckdb", access=access, ready=ready) as db:
        load.load_export(db, sqlite.open_export(db, source))
        with pytest.raises(duckdb.PermissionException, match="disabled through configuration"):
            db.execute(f"LOAD '{extension}'")  # though it lies where the connection may read and write
        for statement in (
            f"COPY (SELECT 1) TO '{tmp_path}/written.csv'",
            f"COPY (SELECT 1) TO '{tmp_path}/work/../written.csv'",
            f"FROM read_csv('{tmp_path}/secret.csv')",
            "FROM read_text('/etc/hostname')",
            "FROM glob('/etc/*')",
            f"ATTACH '{tmp_path}/other.duckdb'",
            f"EXPORT DATABASE '{tmp_path}/all'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET lock_configuration = false",
            "SET allowed_directories = ['/']",
            "SET temp_directory = '/tmp'",
            "SET memory_limit = '1TB'",
        ):
            with pytest.raises(duckdb.Error):
                db.execute(statement)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.csv", "work"]


_PLACEHOLDER_IN_QUOTES = re.compile(r"""(?:"\x00|'\x00)""")


def statements(path: Path) -> Iterator[tuple[int, str]]:
    """The f-strings of a module that are SQL, with every placeholder as a NUL."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values]
            text = "".join(parts)
            if re.search(r"\b(?:SELECT|FROM|INSERT|CREATE|ALTER|DROP|UPDATE|ATTACH|COPY|PRAGMA|SET)\b", text):
                yield node.lineno, text


@pytest.mark.parametrize("path", sorted((ROOT / "ingest").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_statement_puts_a_name_between_quotes_by_itself(path: Path) -> None:
    """Names and values from files go through ``identifier`` and ``quote``, which double the quotes in them."""
    own = {("ingest/derive/attribution.py", "starts_with(name, '\0')")}
    own |= {("ingest/conversion/job.py", "source_sha256 = '\0'")}
    own |= {(f"ingest/derive/{name}.py", "'\0'") for name in ("classes", "projection")}
    own |= {("ingest/ncu/tables.py", "'\0'")}
    allowed = [text for name, text in own if name == str(path.relative_to(ROOT))]
    for line, text in statements(path):
        rest = functools.reduce(lambda left, known: left.replace(known, ""), allowed, text)
        assert not _PLACEHOLDER_IN_QUOTES.search(rest), f"{path.name}:{line}: {rest!r}"

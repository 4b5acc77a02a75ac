"""Files of rules: required headers, and a user's own folder."""

import re
from pathlib import Path

import duckdb
import pytest

from profiledb.errors import AnalysisError, ConfigError
from profiledb.findings import advice as texts
from profiledb.findings import rule as rules
from profiledb.findings import rulebook
from profiledb.findings.rule import GROUPS, PLACE
from profiledb.query import analysis

ROOT = Path(__file__).parents[2]
HEADER = """\
-- title: Something
-- question: Is there something?
-- It is what it is.
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this share
-- column: range | name | | where
-- says: {value} in {range}.
-- says: {value}.
-- clear: {value}.
-- advice: Do this.
-- advice: [loading] Load less.
-- advice: [loading, PyTorch] Load with a DataLoader.
-- advice: [not PyTorch] Do it in C.
-- source: own
"""
QUERY = "SELECT 12.0 AS value, NULL AS range;\n"


def test_every_built_in_rule_says_all_that_people_read() -> None:
    found = rulebook.load()
    assert len(found) >= 15
    for rule in found.values():
        assert rule.analysis.prose, rule.name
        assert rule.question.endswith("?"), rule.name
        (threshold,) = (param.help for param in rule.analysis.params if param.name == "threshold")
        assert threshold.startswith(f"fires at or {rule.fires} th"), rule.name
        advice = map(texts.strip_conditions, rule.advice)
        for sentence in (*rule.says, *rule.clear, *advice):
            assert sentence.rstrip("`").endswith((".", ")", "}")), (rule.name, sentence)
        rulebook.require_queries(rule, Path(rule.name))
    groups = [rule.group for rule in found.values()]
    assert groups == sorted(groups, key=list(GROUPS).index)


def test_every_cause_with_advice_is_one_that_the_rule_answers() -> None:
    for rule in rulebook.load().values():
        if rule.causes:
            assert "cause" in rule.analysis.sql.partition("-- source:")[2], rule.name


def test_advice_goes_by_the_cause() -> None:
    rule = rules.parse("something", HEADER + QUERY, "idle")
    assert rule.causes == {"loading"}
    assert rule.advised(None) == ("Do this.",)
    assert rule.advised("loading") == ("Do this.", "Load less.", "Load with a DataLoader.")
    assert rule.advised("loading", ()) == ("Do this.", "Load less.", "Do it in C.")
    assert [place["column"] for place in PLACE.finditer(rule.says[0])] == ["value", "range"]


@pytest.mark.parametrize(
    ("line", "instead", "problem"),
    [
        ("-- question: Is there something?\n", "", "'question'"),
        ("-- unit: %\n", "-- unit: parsec\n", "parsec"),
        ("-- fires: above\n", "-- fires: sideways\n", "sideways"),
        ("-- param: threshold = 10 fires at or above this share\n", "-- param: limit = 1 of it\n", "'threshold'"),
        ("{value} in {range}.", "{value} in {nowhere}.", "nowhere"),
        ("{value} in {range}.", "{value} in {range|one place|many places}.", "no count"),
        ("-- source: own\n", "-- source: own\n-- weight: heavy\n", "heavy"),
    ],
)
def test_a_wrong_header_is_named(line: str, instead: str, problem: str) -> None:
    assert line in HEADER
    with pytest.raises(AnalysisError, match="something") as error:
        rules.parse("something", HEADER.replace(line, instead) + QUERY, "idle")
    assert problem in error.value.message


def own(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder


def test_a_folder_adds_and_overrides(tmp_path: Path) -> None:
    own(tmp_path, "idle/something.sql", HEADER + QUERY)
    own(tmp_path, "gpu_idle.sql", HEADER + QUERY)
    own(tmp_path, "thresholds.toml", "[something]\nthreshold = 3.5\n")
    found = rulebook.load(tmp_path)
    assert found["something"].own
    assert found["something"].analysis.params[0].default == "3.5"
    assert found["gpu_idle"].title == "Something"
    assert found["gpu_idle"].group == "idle"
    assert not rulebook.load()["gpu_idle"].own


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1.0 AS value; COPY (SELECT 1) TO '/tmp/warpdeck-rule';",
        "ATTACH '/tmp/warpdeck-rule' AS x;",
        "INSTALL httpfs;",
        "SELECT (",
        "",
    ],
)
def test_a_rule_is_queries_and_nothing_else(tmp_path: Path, sql: str) -> None:
    own(tmp_path, "something.sql", HEADER + sql)
    with pytest.raises(ConfigError, match=r"something\.sql"):
        rulebook.load(tmp_path)


def test_the_first_query_with_a_row_answers(tmp_path: Path) -> None:
    first = "SELECT 1.0 AS value, NULL AS range WHERE $threshold::DOUBLE = 0;\n\n"
    own(tmp_path, "something.sql", HEADER + first + QUERY)
    asked = rulebook.load(tmp_path)["something"].analysis
    with duckdb.connect() as db:
        for threshold, value in (("0", 1), ("1", 12)):
            (row,) = analysis.query_first(db, asked, {"threshold": threshold}).to_pylist()
            assert row["value"] == value


def test_a_remark_after_the_last_query_is_no_query(tmp_path: Path) -> None:
    query = QUERY.rstrip().removesuffix(";")
    own(tmp_path, "something.sql", f"{HEADER}{query};\n\n-- A remark.\n")
    asked = rulebook.load(tmp_path)["something"].analysis
    assert asked.queries == [HEADER + query]


def test_files_that_are_no_rules_are_named(tmp_path: Path) -> None:
    for name, text in {
        "Über.sql": HEADER + QUERY, "large.sql": HEADER + "-- x" * rulebook.MOST_BYTES, "bare.sql": "SELECT 1;",
        "elsewhere/place.sql": HEADER + QUERY,
    }.items():  # fmt: skip
        folder = own(tmp_path / name.partition(".")[0], name, text)
        with pytest.raises(ConfigError) as error:
            rulebook.load(folder)
        assert str(folder / name) in error.value.message
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "bytes.sql").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"bytes\.sql"):
        rulebook.load(tmp_path / "binary")
    with pytest.raises(ConfigError, match="no folder"):
        rulebook.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "toml",
    [
        "[gpu_idle]\nthreshold = 'much'\n", "[gpu_idle]\nlimit = 1\n", "[nothing]\nthreshold = 1\n", "gpu_idle = 1\n",
        "[gpu_idle",
    ],
)  # fmt: skip
def test_wrong_thresholds_are_named(tmp_path: Path, toml: str) -> None:
    own(tmp_path, "thresholds.toml", toml)
    with pytest.raises(ConfigError):
        rulebook.load(tmp_path)


def test_no_window_counts_each_of_its_frames_anew() -> None:
    """DuckDB takes quadratic time for ``count(*) FILTER (...) OVER``, and almost none for ``count_if``."""
    slow = re.compile(r"count\(\*\)\s+FILTER\s*\((?:[^()]|\([^()]*\))*\)\s*OVER", re.IGNORECASE)
    assert slow.search("count(*) FILTER (f(a) = 1) OVER (ORDER BY b)")
    files = [*ROOT.glob("profiledb/**/*.sql"), *ROOT.glob("ingest/**/*.sql")]
    assert len(files) > 100
    assert not [file.name for file in files if slow.search(file.read_text(encoding="utf-8"))]

"""The rules for a question: one statement that reads, and nothing that touches the database's own machinery.

DuckDB itself refuses files, extensions and settings (question_child.py); these rules refuse the rest. Some functions
act
inside a SELECT (``enable_logging`` writes files, ``query`` runs any text), and some reveal paths of files.
"""

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from profiledb.errors import AnalysisError
from profiledb.report.schema import quote

_TABLE_FUNCTIONS = frozenset(
    {
        "range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree", "duckdb_columns",
        "duckdb_tables", "duckdb_views", "duckdb_functions", "duckdb_types", "pragma_table_info", "summary",
    }
)  # fmt: skip
"""Table functions of DuckDB that answer from their arguments or from the schema; our macros are added."""
_FUNCTIONS = frozenset({"current_setting", "write_log", "json_execute_serialized_sql", "query", "query_table"})
"""Functions that are refused everywhere."""
_TABLES = frozenset({"duckdb_columns", "duckdb_tables", "duckdb_views", "duckdb_types", "duckdb_functions"})
_SYSTEM = ("duckdb_", "pragma_", "pg_", "sqlite_")
"""Prefixes of DuckDB's own tables, which are refused except for those above."""
_SHOWN = ('"tables"', "")
_KINDS = {"INSERT", "UPDATE", "DELETE", "COPY", "ATTACH", "DETACH", "SET", "PRAGMA", "CREATE", "DROP", "ALTER", "LOAD"}


def check_question(db: duckdb.DuckDBPyConnection, sql: str, macros: frozenset[str]) -> None:
    """Check that a question is allowed.

    Args:
        db: any connection that can parse.
        sql: the question.
        macros: table macros that may be called.

    Raises:
        AnalysisError: it is not one SELECT, or uses something forbidden.
        duckdb.Error: it cannot be parsed.
    """
    if not sql.strip():
        raise AnalysisError("There is no question.", hint="Write a SELECT.")
    if "\0" in sql or sql.encode(errors="replace").decode() != sql:  # half of a surrogate pair is not text
        raise AnalysisError("The question contains a character that SQL does not accept.")
    _require_one_select(sql)
    row = db.execute(f"SELECT json_serialize_sql({quote(sql)})").fetchone()
    parsed = json.loads(row[0]) if row else {"error": True}
    if parsed["error"]:
        raise AnalysisError("Only a SELECT can be asked here.", hint="DESCRIBE and SUMMARIZE work, too.")
    for node in _walk_objects(parsed["statements"]):
        _check_node(node, macros)


def _require_one_select(sql: str) -> None:
    statements = duckdb.extract_statements(sql)
    kinds = [statement.type.name for statement in statements]
    if kinds == ["SELECT"]:
        return
    if "CREATE" in kinds and sql.lower().lstrip().startswith("pivot"):
        raise AnalysisError("PIVOT must name its values.", hint="Write ON column IN (...).")
    refused = next((kind for kind in kinds if kind in _KINDS), "")
    message = f"{refused} is not allowed: this page only reads." if refused else "Ask one SELECT at a time."
    raise AnalysisError(message, hint="A question is one SELECT, WITH, FROM, DESCRIBE or SUMMARIZE.")


def _check_node(node: dict[str, Any], macros: frozenset[str]) -> None:
    """Raise AnalysisError for a forbidden part of a question."""
    kind = node.get("type")
    if kind == "TABLE_FUNCTION":
        name = str(node["function"].get("function_name", "")).lower()
        if name not in _TABLE_FUNCTIONS and name not in macros:
            raise AnalysisError(f"The function {name} is not allowed: it reads more than this report.")
    elif kind == "BASE_TABLE":
        name = str(node.get("table_name", "")).lower()
        if name.startswith(_SYSTEM) and name not in _TABLES:
            raise AnalysisError(f"The table {name} is not allowed: it is about the server, not about the report.")
    elif kind == "SHOW_REF" and not node.get("query") and node.get("table_name") not in _SHOWN:
        raise AnalysisError("This SHOW is not allowed.", hint="SHOW TABLES lists all tables.")
    if str(node.get("function_name", "")).lower() in _FUNCTIONS:
        raise AnalysisError(f"The function {node['function_name']} is not allowed.")


def _walk_objects(parsed: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a parsed question; iteratively, because a question may nest deeply."""
    waiting = [parsed]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)

"""Completes a loaded report: the class of every kernel."""

import duckdb

from profiledb import config
from profiledb.rules import classes

_ANONYMOUS = r"(<unnamed>|\(anonymous namespace\)|\{anonymous\})::"
_RETURNED = r"^(?:void )?(?:typename )?(?:std::)?enable_if(?:_t)?<.*?>(?:::type)? ((?:\w+::)*\w+[<(])"
"""The type in front of the name of a kernel that only some template arguments make: void, in many words."""
_FUNCTION = r"^(?:void )?(?:\w+::)*(\w+)"


def classify(db: duckdb.DuckDBPyConnection) -> None:
    """Gives each kernel name its class, after adding the names that Nsight Compute reports."""
    _add_names(db)
    assign(db)


def assign(db: duckdb.DuckDBPyConnection) -> None:
    """Gives each kernel name its class."""
    rule = classes.case_sql("demangled", classes.load(config.load().classes), "SELECT demangled FROM kernel_name")
    db.execute(f"UPDATE kernel_name SET class = {rule}")


def _add_names(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(f"""
        INSERT INTO kernel_name (name_id, demangled, short, mangled)
        SELECT (SELECT coalesce(max(name_id), 0) FROM kernel_name) + row_number() OVER (ORDER BY min(launch_id)),
            kernel, {short("kernel")}, any_value(mangled)
        FROM ncu_launch
        WHERE kernel IS NOT NULL GROUP BY kernel
    """)


def short(name: str) -> str:
    """SQL for a kernel's name without namespaces, templates and arguments, where only the full name is known."""
    bare = f"regexp_replace({name}, '{_ANONYMOUS}', '', 'g')"
    bare = f"regexp_replace({bare}, '{_RETURNED}', '\\1')"
    return f"coalesce(nullif(regexp_extract({bare}, '{_FUNCTION}', 1), ''), {name})"

"""Set the class of every kernel of a loaded report."""

import duckdb

from profiledb import config
from profiledb.rules import classes

_ANONYMOUS = r"(<unnamed>|\(anonymous namespace\)|\{anonymous\})::"
_RETURNED = r"^(?:void )?(?:typename )?(?:std::)?enable_if(?:_t)?<.*?>(?:::type)? ((?:\w+::)*\w+[<(])"
"""Return type in front of a kernel name that only some template arguments produce: void, spelled at length."""
_ENTRY = r"^(?:void )?ck_tile::kentry<(?:\d+, |ck_tile::gfx\w+, )*(?:\w+::)*(\w+)"
"""Every kernel of CK-Tile is this function; its first type, after that of the GPU, says which one."""
_FUNCTION = r"^(?:void )?(?:\w+::)*(\w+)"


def classify_kernels(db: duckdb.DuckDBPyConnection) -> None:
    """Add the kernel names that Nsight Compute reports, and set the class of each kernel name."""
    _add_names(db)
    assign_classes(db)


def assign_classes(db: duckdb.DuckDBPyConnection) -> None:
    """Set the class of each kernel name."""
    rule = classes.build_case("demangled", classes.load(config.load().classes), "SELECT demangled FROM kernel_name")
    db.execute(f"UPDATE kernel_name SET class = {rule}")


def _add_names(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(f"""
        INSERT INTO kernel_name (name_id, demangled, short, mangled)
        SELECT (SELECT coalesce(max(name_id), 0) FROM kernel_name) + row_number() OVER (ORDER BY min(launch_id)),
            kernel, {shorten_name("kernel")}, any_value(mangled)
        FROM ncu_launch
        WHERE kernel IS NOT NULL GROUP BY kernel
    """)


def shorten_name(name: str) -> str:
    """Return SQL for a kernel's name without namespaces, templates and arguments, if only the full name is known."""
    bare = f"regexp_replace({name}, '{_ANONYMOUS}', '', 'g')"
    bare = f"regexp_replace({bare}, '{_RETURNED}', '\\1')"
    entry = f"nullif(regexp_extract({bare}, '{_ENTRY}', 1), '')"
    return f"coalesce({entry}, nullif(regexp_extract({bare}, '{_FUNCTION}', 1), ''), {name})"

"""Spell out kernel names that a compiler mangled by the Itanium C++ ABI, as clang does for AMD and Intel GPUs."""

import duckdb

from ingest.derive.classes import shorten_name

_DESCRIPTOR = ".kd"
"""Ending of the symbol of a kernel's descriptor, which AMD's tools show in place of the kernel."""


def spell_out(db: duckdb.DuckDBPyConnection) -> None:
    """Replace mangled names in ``kernel_name`` by readable ones, and keep them in ``mangled``.

    A name that cannot be read, or would take more than 64 KiB, stays as it is.
    """
    rows = db.execute("""
        SELECT name_id, demangled FROM kernel_name WHERE starts_with(demangled, '_Z') AND mangled IS NULL
    """).fetchall()
    readable_names = [(name_id, text) for name_id, name in rows if (text := read_name(name)) != name]
    if not readable_names:
        return
    db.execute("CREATE OR REPLACE TEMP TABLE readable_kernel_name (name_id INTEGER, text VARCHAR)")
    db.execute(
        "INSERT INTO readable_kernel_name SELECT unnest($ids::INTEGER[]), unnest($texts::VARCHAR[])",
        {"ids": [name_id for name_id, _ in readable_names], "texts": [text for _, text in readable_names]},
    )
    db.execute(f"""
        UPDATE kernel_name SET mangled = demangled, demangled = cut(text, 4096), short = {shorten_name("text")}
        FROM readable_kernel_name WHERE readable_kernel_name.name_id = kernel_name.name_id;
        DROP TABLE readable_kernel_name
    """)


def read_name(name: str) -> str:
    """Return the readable form of a mangled name, else the name."""
    import demangle  # here: few reports need it

    return demangle.demangle(name.removesuffix(_DESCRIPTOR), language="itanium", style="gnu")

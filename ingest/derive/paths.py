"""Compute the path of each range: the names around it, outermost first.

Each round looks at twice as many names at once, so deeply nested ranges take a few more rounds instead of one per
level.
"""

import duckdb

DEEPEST = 256
"""Most names in front of the last one of a path; deeper ranges share the part before the mark."""
MARK = "…"
TEXT = 64_000_000
"""Most characters of all paths of a report; above it, each path is cut."""
SHORTEST = 256
"""Characters that are left of a cut path or name."""


def find_paths(db: duckdb.DuckDBPyConnection) -> int:
    """Fill ``range_path`` and the temporary table ``path_of`` (id, path_id, level) from ``parent`` and ``opened``.

    The path of a range deeper than ``DEEPEST`` is that of the range around it at that level, the mark, and its own
    name.

    Returns:
        Number of deeper ranges.
    """
    db.execute("""
        CREATE OR REPLACE TEMP TABLE member AS
        WITH word AS (
            SELECT name_id, dense_rank() OVER (ORDER BY name) AS word, strlen(name) + 1 AS chars FROM range_name
        )
        SELECT id, parent_id AS up, s, name_id, word, chars, NULL::INTEGER AS level
        FROM parent JOIN opened USING (id) JOIN word USING (name_id)
        WHERE e >= s
    """)
    _collect_chains(db)
    (deep,) = db.execute(f"SELECT count(*) FROM chain WHERE level > {DEEPEST}").fetchone() or (0,)
    db.execute("CREATE OR REPLACE TEMP TABLE level_of AS SELECT id, level FROM chain")
    if deep:
        _fold_deep_ranges(db)
        _collect_chains(db)
    _write_paths(db)
    return int(deep)


def _collect_chains(db: duckdb.DuckDBPyConnection) -> None:
    """Create ``chain``: for each range its level, the length of its path, and a number for the path."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE chain AS
        SELECT id, up, (up IS NOT NULL)::INTEGER AS level, chars, word AS path FROM member
    """)
    while db.execute("SELECT 1 FROM chain WHERE up IS NOT NULL LIMIT 1").fetchone():
        db.execute("""
            CREATE OR REPLACE TEMP TABLE chain AS
            SELECT one.id, two.up, one.level + coalesce(two.level, 0) AS level,
                one.chars + coalesce(two.chars, 0) AS chars, dense_rank() OVER (ORDER BY one.path, two.path) AS path
            FROM chain AS one LEFT JOIN chain AS two ON two.id = one.up
        """)


def _fold_deep_ranges(db: duckdb.DuckDBPyConnection) -> None:
    """Put ranges that are too deep directly below the range around them that is not."""
    db.execute(f"""
        CREATE OR REPLACE TEMP TABLE deep AS
        SELECT member.id, member.up FROM member JOIN level_of USING (id) WHERE level_of.level > {DEEPEST}
    """)
    while db.execute("SELECT 1 FROM deep AS one JOIN deep AS two ON two.id = one.up LIMIT 1").fetchone():
        db.execute("""
            CREATE OR REPLACE TEMP TABLE deep AS
            SELECT one.id, coalesce(two.up, one.up) AS up FROM deep AS one LEFT JOIN deep AS two ON two.id = one.up
        """)
    db.execute("UPDATE member SET up = deep.up FROM deep WHERE deep.id = member.id; DROP TABLE deep")


def _write_paths(db: duckdb.DuckDBPyConnection) -> None:
    """Number the paths level by level and write them."""
    db.execute("""
        CREATE OR REPLACE TEMP TABLE stack AS
        SELECT path, any_value(above) AS above, any_value(level) AS level, min(s) AS first,
            any_value(name_id) AS name_id, any_value(chars) AS chars
        FROM (
            SELECT chain.path, two.path AS above, chain.level, s, name_id, chain.chars
            FROM chain JOIN member USING (id) LEFT JOIN chain AS two ON two.id = member.up
        )
        GROUP BY path
    """)
    _cut_names(db)
    db.execute(_select_numbered(_choose_lengths(db, "chars")))
    db.execute("""
        INSERT INTO range_path
        SELECT one.path_id, up.path_id, one.level, one.name, one.text
        FROM numbered_path AS one LEFT JOIN numbered_path AS up ON up.path = one.above;
        CREATE OR REPLACE TEMP TABLE path_of AS
        SELECT id, path_id, level_of.level FROM chain JOIN level_of USING (id) JOIN numbered_path USING (path);
        DROP TABLE chain; DROP TABLE stack; DROP TABLE numbered_path; DROP TABLE level_of
    """)


def _select_numbered(longest: int | None) -> str:
    """Return SQL for ``numbered_path``: paths with their text, numbered by level, first start, parent path and name."""
    slash = f"CASE WHEN stack.level > {DEEPEST} THEN '/{MARK}/' ELSE '/' END"
    text = f"up.text || {slash} || replace(range_name.name, '/', '\\/')"
    if longest is not None:
        short = f"({text})[:{longest}] || '{MARK} [' || stack.path || ']'"  # the number keeps it apart from others
        text = f"CASE WHEN length({text}) > {longest} THEN {short} ELSE {text} END"
    return f"""
        CREATE OR REPLACE TEMP TABLE numbered_path AS
        WITH RECURSIVE walked AS (
            SELECT path, above, level, name, row_number() OVER (ORDER BY first, name) AS place,
                replace(name, '/', '\\/') AS text
            FROM stack JOIN range_name USING (name_id) WHERE above IS NULL
            UNION ALL
            SELECT stack.path, stack.above, stack.level, range_name.name,
                row_number() OVER (ORDER BY first, up.place, range_name.name), {text}
            FROM walked AS up JOIN stack ON stack.above = up.path JOIN range_name USING (name_id)
        )
        SELECT path, above, level, name, text, row_number() OVER (ORDER BY level, place)::INTEGER AS path_id FROM walked
    """


def _choose_lengths(db: duckdb.DuckDBPyConnection, chars: str) -> int | None:
    """Return the length to which texts are cut, each a row of ``stack``; None if they are short enough together."""
    (total, rows) = db.execute(f"SELECT sum({chars}), count(*) FROM stack").fetchone() or (0, 0)
    return max(SHORTEST, TEXT // rows) if (total or 0) > TEXT else None


def _cut_names(db: duckdb.DuckDBPyConnection) -> None:
    """Cut the names of ranges if repeating them in each path would take too much space."""
    (total, rows) = db.execute(
        "SELECT sum(strlen(name)), count(*) FROM stack JOIN range_name USING (name_id)"
    ).fetchone() or (0, 0)
    if (total or 0) > TEXT:
        longest = max(SHORTEST, TEXT // rows)
        db.execute(f"UPDATE range_name SET name = cut(name, {longest}) WHERE length(name) > {longest}")

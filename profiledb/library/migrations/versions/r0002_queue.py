"""The queue of files that wait for a worker (procrastinate 3.10, in a schema of its own), and the workers."""

from importlib import resources

from alembic import op

revision = "0002"
down_revision = "0001"

_WORKER = """
CREATE TABLE worker (
    id TEXT COLLATE "C" PRIMARY KEY,
    host TEXT NOT NULL,
    nsys TEXT NOT NULL,             -- version, such as 2023.4.4; empty where it has none
    ncu TEXT NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL
)
"""


def upgrade() -> None:
    op.execute(_WORKER)
    op.execute("CREATE SCHEMA procrastinate")
    tables = resources.files("procrastinate").joinpath("sql", "schema.sql").read_text(encoding="utf-8")
    before = op.get_bind().exec_driver_sql("SELECT current_setting('search_path')").scalar()
    op.execute("SET LOCAL search_path = procrastinate")
    db = op.get_bind().connection.driver_connection
    assert db is not None
    db.execute(tables)  # as it is: no character stands for a value
    db.execute("SELECT set_config('search_path', %s, true)", [before])


def downgrade() -> None:
    """Drop both; waiting files are found in the inbox again."""
    op.execute("DROP SCHEMA procrastinate CASCADE")
    op.execute("DROP TABLE worker")

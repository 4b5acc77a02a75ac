"""Reports that retention removed, and removals that it announces (catalog.sql)."""

from alembic import op

revision = "0015"
down_revision = "0014"

_TABLES = """
CREATE TABLE retired (report_id TEXT PRIMARY KEY, retired_at TEXT NOT NULL, summary TEXT NOT NULL);
CREATE TABLE removal (
    what TEXT NOT NULL,
    thing TEXT NOT NULL,
    name TEXT NOT NULL,
    why TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    announced_at TEXT NOT NULL,
    PRIMARY KEY (what, thing)
);
CREATE TABLE removal_look (id BIGINT PRIMARY KEY, at TEXT NOT NULL);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_TABLES.replace(" TEXT", ' TEXT COLLATE "C"'))


def downgrade() -> None:
    op.execute("DROP TABLE retired, removal, removal_look")

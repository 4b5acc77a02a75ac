"""Members of series, and the line of each in lists (studies/trends/summaries.sql)."""

from alembic import op

revision = "0014"
down_revision = "0013"

_TABLES = """
CREATE TABLE series_member (
    report_id TEXT PRIMARY KEY,
    series TEXT NOT NULL,
    hint TEXT NOT NULL,
    at TEXT NOT NULL,
    captured_at TEXT NOT NULL
);
CREATE INDEX series_member_order ON series_member (series, at, captured_at, report_id);
CREATE INDEX series_member_hint ON series_member (report_id, hint) WHERE hint <> '';
CREATE TABLE series_line (
    series TEXT PRIMARY KEY,
    turn BIGINT NOT NULL,
    reports BIGINT NOT NULL,
    lines TEXT
);
CREATE TABLE series_state (id BIGINT PRIMARY KEY, rules TEXT NOT NULL, number BIGINT NOT NULL, turn BIGINT NOT NULL);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(_TABLES.replace(" TEXT", ' TEXT COLLATE "C"'))


def downgrade() -> None:
    op.execute("DROP TABLE series_member, series_line, series_state")

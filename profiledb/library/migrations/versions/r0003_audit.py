"""The audit (library/audit.py)."""

from alembic import op

revision = "0003"
down_revision = "0002"

_AUDIT = """
CREATE TABLE audit (
    id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    way TEXT NOT NULL,
    action TEXT NOT NULL,
    report_id TEXT NOT NULL,
    report_name TEXT NOT NULL,
    about TEXT NOT NULL
)
"""


def upgrade() -> None:
    op.execute(_AUDIT.replace(" TEXT", ' TEXT COLLATE "C"'))


def downgrade() -> None:
    op.execute("DROP TABLE audit")

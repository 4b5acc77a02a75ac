"""Links that open one report without a login (library/sharing_links.py)."""

from alembic import op

revision = "0006"
down_revision = "0005"

_SHARE = """
CREATE TABLE share (
    id TEXT PRIMARY KEY,
    report_id TEXT NOT NULL,
    made_by TEXT NOT NULL,
    made_at TEXT NOT NULL,
    ends_at TEXT NOT NULL,
    digest TEXT NOT NULL
)
"""


def upgrade() -> None:
    op.execute(_SHARE.replace(" TEXT", ' TEXT COLLATE "C"'))


def downgrade() -> None:
    """Drop the table: no link opens anything."""
    op.execute("DROP TABLE share")

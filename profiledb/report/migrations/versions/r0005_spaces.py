"""Spaces, and which reports are in them (report/spaces.py); what was there before is everybody's."""

from alembic import op

revision = "0005"
down_revision = "0004"

_SPACE = "CREATE TABLE space (name TEXT PRIMARY KEY, seen_by TEXT NOT NULL)"
_REPORT_SPACE = """
CREATE TABLE report_space (
    report_id TEXT NOT NULL,
    space TEXT NOT NULL,
    PRIMARY KEY (report_id, space)
)
"""


def upgrade() -> None:
    """Makes the tables."""
    for statement in (_SPACE, _REPORT_SPACE):
        op.execute(statement.replace(" TEXT", ' TEXT COLLATE "C"'))
    op.execute("INSERT INTO report_space (report_id, space) SELECT id, '' FROM report")


def downgrade() -> None:
    """Removes them: then everybody sees every report."""
    op.execute("DROP TABLE report_space")
    op.execute("DROP TABLE space")

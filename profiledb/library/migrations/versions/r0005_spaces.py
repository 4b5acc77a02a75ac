"""Spaces and their reports (library/spaces.py); reports older than spaces belong to everybody."""

from alembic import op

from profiledb.library import spaces

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
    """Create the tables; after a downgrade, manifests of reports name their spaces."""
    for statement in (_SPACE, _REPORT_SPACE):
        op.execute(statement.replace(" TEXT", ' TEXT COLLATE "C"'))
    db = op.get_bind()
    if rows := spaces.read_from_manifests(db.exec_driver_sql("SELECT id, manifest FROM report").all()):
        db.exec_driver_sql("INSERT INTO report_space (report_id, space) VALUES (%s, %s)", rows)


def downgrade() -> None:
    """Drop the tables: the version before shows every report to everybody."""
    op.execute("DROP TABLE report_space")
    op.execute("DROP TABLE space")

"""Spaces, and which reports are in them (library/spaces.py): what is older than spaces is everybody's."""

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
    """Makes the tables; a database that went back and comes again has reports whose manifests name their space."""
    for statement in (_SPACE, _REPORT_SPACE):
        op.execute(statement.replace(" TEXT", ' TEXT COLLATE "C"'))
    db = op.get_bind()
    if told := spaces.read_from_manifests(db.exec_driver_sql("SELECT id, manifest FROM report").all()):
        db.exec_driver_sql("INSERT INTO report_space (report_id, space) VALUES (%s, %s)", told)


def downgrade() -> None:
    """Removes them: the version before shows every report to everybody."""
    op.execute("DROP TABLE report_space")
    op.execute("DROP TABLE space")

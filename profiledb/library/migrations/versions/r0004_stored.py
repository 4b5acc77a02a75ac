"""Which objects of a bucket are the files of each report (report/stored/index.py)."""

from alembic import op

revision = "0004"
down_revision = "0003"

_STORED = """
CREATE TABLE stored_file (
    report_id TEXT NOT NULL,
    name TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    time_ns BIGINT NOT NULL,
    damaged BIGINT NOT NULL,
    PRIMARY KEY (report_id, name)
)
"""


def upgrade() -> None:
    """Makes the table."""
    op.execute(_STORED.replace(" TEXT", ' TEXT COLLATE "C"'))


def downgrade() -> None:
    """Removes it."""
    op.execute("DROP TABLE stored_file")

"""The objects of a bucket that are the files of each report (library/bucket/object_index.py)."""

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
    op.execute(_STORED.replace(" TEXT", ' TEXT COLLATE "C"'))


def downgrade() -> None:
    op.execute("DROP TABLE stored_file")

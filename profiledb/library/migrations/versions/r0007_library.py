"""The number of the library that the database belongs to (library/library_id.py)."""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the table; the first worker writes the number."""
    op.execute('CREATE TABLE library (id TEXT COLLATE "C" PRIMARY KEY)')


def downgrade() -> None:
    """Drop the table; the number beside the reports stays."""
    op.execute("DROP TABLE library")

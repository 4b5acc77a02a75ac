"""Whether a job's file is a report or a sidecar; earlier versions had a sign in the fingerprint."""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column and fill it from the fingerprints."""
    op.execute("ALTER TABLE job ADD COLUMN file_kind TEXT COLLATE \"C\" NOT NULL DEFAULT 'report'")
    op.execute("UPDATE job SET file_kind = 'sidecar' WHERE fingerprint LIKE '%@%'")


def downgrade() -> None:
    """Remove the column: the sign is still in the fingerprints of the earlier version."""
    op.execute("ALTER TABLE job DROP COLUMN file_kind")

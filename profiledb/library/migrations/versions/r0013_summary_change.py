"""Which summaries were written or removed (studies/trends/summary_store.py)."""

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.execute(
        "CREATE TABLE summary_change (number BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,"
        ' report_id TEXT COLLATE "C" NOT NULL)'
    )


def downgrade() -> None:
    op.execute("DROP TABLE summary_change")

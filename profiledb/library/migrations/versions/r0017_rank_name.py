"""Ranks of a run are found by their name, too: traces do not tell the launcher's (studies/runs/run_list.py)."""

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.execute("CREATE INDEX rank_name ON rank (run)")


def downgrade() -> None:
    op.execute("DROP INDEX rank_name")

"""The audit is read and removed by time (library/audit.py)."""

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.execute("CREATE INDEX audit_at ON audit (at, id)")
    op.execute("CREATE INDEX access_log_at ON access_log (at, id)")


def downgrade() -> None:
    op.execute("DROP INDEX audit_at")
    op.execute("DROP INDEX access_log_at")

"""Summaries of the ranks of runs (studies/runs/rank_summary.py)."""

from alembic import op

revision = "0011"
down_revision = "0010"

_RANK = """
CREATE TABLE rank (
    report_id TEXT NOT NULL,
    lane BIGINT NOT NULL,
    rank BIGINT,
    size BIGINT,
    run TEXT NOT NULL,
    is_named BIGINT NOT NULL,
    run_id TEXT NOT NULL,
    restarts BIGINT,
    host TEXT NOT NULL,
    gpu TEXT NOT NULL,
    begin_ns BIGINT,
    end_ns BIGINT,
    told_by TEXT NOT NULL,
    steps BIGINT NOT NULL,
    step_ns DOUBLE PRECISION NOT NULL,
    step_rows BYTEA NOT NULL,
    operation_rows BYTEA NOT NULL,
    kernel_rows BYTEA NOT NULL,
    idle_rows BYTEA NOT NULL,
    PRIMARY KEY (report_id, lane)
)
"""


def upgrade() -> None:
    op.execute(_RANK.replace(" TEXT", ' TEXT COLLATE "C"'))


def downgrade() -> None:
    op.execute("DROP TABLE rank")

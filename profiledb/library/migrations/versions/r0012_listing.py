"""Columns that lists of reports search, filter and sort by (library/report_list.py), and their indexes."""

from alembic import op

revision = "0012"
down_revision = "0011"

_TABLES = """
CREATE TABLE listing (
    report_id TEXT PRIMARY KEY,
    sample BIGINT NOT NULL,
    schema_version BIGINT NOT NULL,
    kind TEXT NOT NULL,
    gpu TEXT NOT NULL,
    name TEXT NOT NULL,
    captured_at TEXT NOT NULL,
    ingested_at TEXT NOT NULL,
    duration_ns BIGINT NOT NULL,
    kernels BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    timeline BIGINT NOT NULL,
    launches BIGINT NOT NULL,
    operators BIGINT NOT NULL,
    words TEXT NOT NULL
);
CREATE TABLE finding (
    report_id TEXT NOT NULL,
    rule TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (report_id, rule)
);
CREATE INDEX listing_newest ON listing (ingested_at DESC, name, report_id);
CREATE INDEX listing_sample ON listing (ingested_at) WHERE sample = 1;
CREATE INDEX listing_name ON listing (name, report_id);
CREATE INDEX listing_kind ON listing (kind);
CREATE INDEX listing_gpu ON listing (gpu, report_id);
CREATE INDEX listing_captured ON listing (captured_at, report_id);
CREATE INDEX listing_duration ON listing (duration_ns, report_id);
CREATE INDEX listing_kernels ON listing (kernels, report_id);
CREATE INDEX listing_bytes ON listing (bytes, report_id);
CREATE INDEX finding_rule ON finding (rule, report_id);
"""
_INDEXES = """
CREATE INDEX report_ingested ON report (ingested_at);
CREATE INDEX report_source ON report (source_sha256);
CREATE INDEX report_name ON report (name);
CREATE INDEX job_state ON job (state, changed_at);
CREATE INDEX job_remark ON job (changed_at) WHERE state = 'ready' AND message <> '';
CREATE INDEX label_name ON label (label, report_id);
CREATE INDEX report_space_of ON report_space (space, report_id);
CREATE INDEX rank_run ON rank (run_id);
"""
_NAMES = (
    "report_ingested", "report_source", "report_name", "job_state", "job_remark", "label_name", "report_space_of",
    "rank_run",
)  # fmt: skip


def upgrade() -> None:
    """Create the tables; ``migrations.move`` fills the list."""
    op.get_bind().exec_driver_sql(_TABLES.replace(" TEXT", ' TEXT COLLATE "C"') + _INDEXES)


def downgrade() -> None:
    op.execute("DROP TABLE listing, finding")
    for name in _NAMES:
        op.execute(f"DROP INDEX {name}")

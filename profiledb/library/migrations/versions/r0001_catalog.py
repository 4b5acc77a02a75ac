"""The tables of catalog.sql and summaries.sql, and those for files of a folder library."""

from alembic import op

revision = "0001"
down_revision = None

_TABLES = """
CREATE TABLE revision (             -- counts up with each change, see postgres.py
    topic TEXT PRIMARY KEY,
    number BIGINT NOT NULL
);
INSERT INTO revision VALUES ('catalog', 1), ('summaries', 1);
CREATE TABLE report (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    source_sha256 TEXT NOT NULL,
    captured_at TEXT,
    ingested_at TEXT NOT NULL,
    gpu TEXT,
    manifest TEXT NOT NULL
);
CREATE TABLE job (
    path TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL,
    report_id TEXT,
    message TEXT NOT NULL DEFAULT '',
    hint TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT '',
    tools TEXT NOT NULL DEFAULT '',
    changed_at TEXT NOT NULL,
    seconds DOUBLE PRECISION
);
CREATE INDEX job_report ON job (report_id);
CREATE TABLE label (
    report_id TEXT NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (report_id, label)
);
CREATE TABLE mark (
    report_id TEXT NOT NULL,
    t_ns BIGINT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (report_id, t_ns)
);
CREATE TABLE link (
    nsys_id TEXT PRIMARY KEY,
    ncu_id TEXT NOT NULL
);
CREATE TABLE trace_link (
    nsys_id TEXT PRIMARY KEY,
    trace_id TEXT NOT NULL
);
CREATE TABLE sidecar_columns (
    path TEXT PRIMARY KEY,
    columns TEXT NOT NULL
);
CREATE TABLE series_choice (
    report_id TEXT PRIMARY KEY,
    series TEXT NOT NULL
);
CREATE TABLE change_note (
    report_id TEXT NOT NULL,
    measure TEXT NOT NULL,
    state TEXT NOT NULL,
    note TEXT NOT NULL,
    changed_at TEXT NOT NULL,
    PRIMARY KEY (report_id, measure)
);
CREATE TABLE question (             -- questions/*.json of a folder
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    sql TEXT NOT NULL
);
CREATE TABLE token (                -- tokens.json of a folder
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    digest TEXT NOT NULL,           -- SHA-256 of its secret
    created_at TEXT NOT NULL
);
CREATE TABLE summary (
    report_id TEXT PRIMARY KEY,
    version BIGINT NOT NULL,
    stamp TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    gpu TEXT,
    gpus BIGINT,
    command TEXT,
    captured_at TEXT NOT NULL,
    driver TEXT,
    tool TEXT,
    machine TEXT,
    capture TEXT NOT NULL,
    basis TEXT NOT NULL,
    meta TEXT NOT NULL
);
CREATE TABLE measure (              -- without a key: names are longer than an index takes
    report_id TEXT NOT NULL,
    measure TEXT NOT NULL,
    name TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    low DOUBLE PRECISION,
    high DOUBLE PRECISION,
    title TEXT
);
CREATE INDEX measure_of_report ON measure (report_id, measure);
CREATE INDEX measure_of_all ON measure (measure, report_id) WHERE name = '';
CREATE TABLE detected (
    key TEXT PRIMARY KEY,
    found TEXT NOT NULL
);
"""
_NAMES = (
    "revision", "report", "job", "label", "mark", "link", "trace_link", "sidecar_columns", "series_choice",
    "change_note", "question", "token", "summary", "measure", "detected",
)  # fmt: skip


def upgrade() -> None:
    """Create the tables; texts sort by bytes, as in SQLite."""
    op.get_bind().exec_driver_sql(_TABLES.replace(" TEXT", ' TEXT COLLATE "C"'))


def downgrade() -> None:
    """Drop the tables with their content."""
    op.execute(f"DROP TABLE {', '.join(_NAMES)}")

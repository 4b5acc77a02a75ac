"""Logins (library/logins.py), the access log (library/audit.py), and the expiry and last use of tokens."""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_TOKEN_DAYS = 90
_ACCESS_LOG = """
CREATE TABLE access_log (
    id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    way TEXT NOT NULL,
    action TEXT NOT NULL,
    report_id TEXT NOT NULL,
    report_name TEXT NOT NULL,
    about TEXT NOT NULL
)
"""
_LOGIN = """
CREATE TABLE login (
    person TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    generation TEXT NOT NULL,
    at TEXT NOT NULL
)
"""
_USE = "CREATE TABLE token_use (token_id TEXT PRIMARY KEY, used_at TEXT NOT NULL)"
_ENDS_AT = "ALTER TABLE token ADD COLUMN ends_at TEXT"


def upgrade() -> None:
    """Create the tables; existing tokens last for some days from now."""
    for statement in (_ACCESS_LOG, _LOGIN, _USE, _ENDS_AT):
        op.execute(statement.replace(" TEXT", ' TEXT COLLATE "C"'))
    ends_at = (datetime.now(UTC) + timedelta(days=_TOKEN_DAYS)).isoformat(timespec="seconds")
    op.execute(sa.text("UPDATE token SET ends_at = :ends_at").bindparams(ends_at=ends_at))


def downgrade() -> None:
    """Drop the tables: a login lasts until it expires, a token until somebody removes it."""
    op.execute("ALTER TABLE token DROP COLUMN ends_at")
    for table in ("token_use", "login", "access_log"):
        op.execute(f"DROP TABLE {table}")

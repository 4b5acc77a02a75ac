"""Names that people gave to reports (library/catalog.py)."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Create the table."""
    op.execute('CREATE TABLE report_title (report_id TEXT COLLATE "C" PRIMARY KEY, title TEXT COLLATE "C" NOT NULL)')


def downgrade() -> None:
    """Drop the table: reports have the names of their files again."""
    op.execute("DROP TABLE report_title")

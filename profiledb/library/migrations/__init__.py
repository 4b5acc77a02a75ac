"""Create and change the tables of a team's database with Alembic; catalog.sql has those of SQLite."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from profiledb.library import postgres, report_list, version

LATEST = "head"
NOTHING = "base"
_LOCK = 0x7761727064  # "warpd": one process at a time changes tables


def move(url: str, to: str = LATEST) -> None:
    """Bring the tables of a database to a revision, up or down, in one transaction; concurrent calls wait.

    Args:
        url: the database.
        to: ``head``, ``base`` (no tables), or a revision older than the present one.

    Raises:
        CatalogError: the database cannot be reached.
        NewerLibraryError: a later version of Warpdeck has changed it.
    """
    try:
        with _open_transaction(url) as connection:
            connection.exec_driver_sql("SET statement_timeout = 0; SET lock_timeout = 0")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            for revision in MigrationContext.configure(connection).get_current_heads():
                version.require_revision(revision, postgres.list_known_revisions())
            config = Config()
            config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
            config.attributes["connection"] = connection
            (command.upgrade if to == LATEST else command.downgrade)(config, to)
        if to == LATEST:
            _fill_list(url)
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise postgres.explain_error(error.orig) from error.orig
        raise
    except psycopg.Error as error:
        raise postgres.explain_error(error) from error


def _fill_list(url: str) -> None:
    """List the reports that an earlier version knew, in the table that lists are asked of."""
    database = postgres.Postgres(url)
    try:
        with database.connect() as db:
            report_list.fill(db)
    finally:
        database.close()


@contextmanager
def _open_transaction(url: str) -> Iterator[Connection]:
    given = postgres.build_connection_arguments(url)
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(**given), poolclass=NullPool)
    with engine.begin() as connection:
        yield connection

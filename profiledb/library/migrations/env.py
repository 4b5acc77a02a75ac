"""Entry point of Alembic: run the revisions on the connection that ``move`` opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()

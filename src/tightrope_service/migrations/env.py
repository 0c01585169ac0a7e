"""Alembic's entry: brings the connection that it is given to the newest tables."""

from alembic import context

from tightrope_service.log import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()

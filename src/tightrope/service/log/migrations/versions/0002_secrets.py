"""Secrets: what certificates and the board's cookies are signed with."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table("secrets", sa.Column("name", sa.String(40), primary_key=True), sa.Column("value", sa.LargeBinary, nullable=False))

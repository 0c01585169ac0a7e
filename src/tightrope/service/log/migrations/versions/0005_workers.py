"""Experiments of many workers: a log for each of them, and claims to decisions."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns, which are empty for all experiments that there are, and make the table."""
    op.add_column("experiments", sa.Column("workers", sa.Integer))
    op.add_column("experiments", sa.Column("parent", sa.Integer))
    op.create_table(
        "claims",
        sa.Column("experiment", sa.Integer, nullable=False),
        sa.Column("decision", sa.String(200), nullable=False),
        sa.Column("ending", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("experiment", "decision", "ending"),
    )

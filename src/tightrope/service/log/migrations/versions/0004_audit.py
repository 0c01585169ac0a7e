"""The audit trail."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("key", sa.Integer),
        sa.Column("note", sa.String(200), nullable=False),
        sa.Column("experiment", sa.String(100)),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_index("audit_of_experiment", "audit", ["experiment", "id"])

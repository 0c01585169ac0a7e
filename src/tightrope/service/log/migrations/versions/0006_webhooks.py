"""Webhooks: who is told, how far each of them has come in every log, and what is to be delivered."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", sa.Text, nullable=False),
        sa.Column("experiments", sa.Text),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("note", sa.String(200), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "webhook_watches",
        sa.Column("webhook", sa.Integer, sa.ForeignKey("webhooks.id"), nullable=False),
        sa.Column("experiment", sa.Integer, sa.ForeignKey("experiments.id"), nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("webhook", "experiment"),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("message", sa.String(40), nullable=False),
        sa.Column("webhook", sa.Integer, sa.ForeignKey("webhooks.id"), nullable=False),
        sa.Column("experiment", sa.String(100), nullable=False),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("error", sa.Text),
    )
    op.create_index("deliveries_due", "deliveries", ["status", "due"])
    op.create_index("deliveries_of_webhook", "deliveries", ["webhook", "id"])

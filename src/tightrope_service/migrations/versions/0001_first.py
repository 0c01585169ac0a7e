"""The first tables.

Later migrations say what changes; this one never does again, so it does not read `tables`.
"""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "experiments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.String(40)),
        sa.Column("address", sa.Text),
        sa.Column("lease_until", sa.Float),
    )
    op.create_table(
        "events",
        sa.Column("experiment", sa.Integer, sa.ForeignKey("experiments.id"), nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("key", sa.String(200)),
        sa.Column("subject", sa.String(200)),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("body_digest", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("experiment", "seq"),
    )
    op.create_index("events_of_decision", "events", ["experiment", "key"])
    decided, subject = sa.text("kind = 'decided'"), sa.text("subject IS NOT NULL")
    op.create_index(
        "one_decision",
        "events",
        ["experiment", "key"],
        unique=True,
        sqlite_where=decided,
        postgresql_where=decided,
    )
    op.create_index(
        "events_of_subject",
        "events",
        ["experiment", "subject"],
        sqlite_where=subject,
        postgresql_where=subject,
    )
    op.create_table(
        "snapshots",
        sa.Column("experiment", sa.Integer, sa.ForeignKey("experiments.id"), nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
        sa.Column("rest", sa.Text, nullable=False),
        sa.Column("session", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("experiment", "seq"),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("note", sa.String(200), nullable=False),
        sa.Column("per_second", sa.Float, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("revoked", sa.BigInteger),
        sa.Column("experiments", sa.Text),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        sa.Column("key", sa.Integer, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
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
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", sa.Text, nullable=False),
        sa.Column("experiments", sa.Text),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("note", sa.String(200), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("busy_until", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "webhook_told",
        sa.Column("webhook", sa.Integer, nullable=False),
        sa.Column("experiment", sa.Integer, nullable=False),
        sa.Column("scope", sa.String(20), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("webhook", "experiment", "scope", "about"),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("message", sa.String(40), nullable=False),
        sa.Column("webhook", sa.Integer, nullable=False),
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
    op.create_index("outbox_due", "outbox", ["status", "due"])
    op.create_index("outbox_of_webhook", "outbox", ["webhook", "id"])

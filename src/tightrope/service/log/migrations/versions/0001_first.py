"""The first tables.

Later migrations say what changes; this one never does again, so it does not read `tables`.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
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
    op.create_index("one_decision", "events", ["experiment", "key"], unique=True, sqlite_where=decided, postgresql_where=decided)
    op.create_index("events_of_subject", "events", ["experiment", "subject"], sqlite_where=subject, postgresql_where=subject)
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
    )


def downgrade() -> None:
    """Remove the tables."""
    for table in ("keys", "snapshots", "events", "experiments"):
        op.drop_table(table)

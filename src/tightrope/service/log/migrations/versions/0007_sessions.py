"""Sessions of the board: random cookies, of which the table has the digests, in place of signed ones."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the table, and forget which of the cookies there were before had been ended: none of them is taken any more."""
    op.create_table(
        "sessions",
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        sa.Column("key", sa.Integer, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
    op.execute("DELETE FROM secrets WHERE name LIKE 'ended %'")

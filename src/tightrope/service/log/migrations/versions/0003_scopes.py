"""Keys for some experiments only."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; a key without it is for all experiments, as keys were before."""
    op.add_column("keys", sa.Column("experiments", sa.Text))

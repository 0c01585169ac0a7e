"""Claims: of many workers one decides under an id, and one ends a decision. The database sees to it, so that no worker asks another.

A claim belongs to the transaction that writes the event; another worker's claim of the same waits until that has ended.
"""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .tables import claims as table

T = table.c
CLAIM = sa.text(
    "INSERT INTO claims (experiment, decision, ending) SELECT :ledger, one, :ending FROM unnest(CAST(:decisions AS text[])) AS one "
    "ON CONFLICT DO NOTHING RETURNING decision"
)


def claim(connection: Connection, ledger: int, decisions: Collection[str], ending: bool) -> set[str]:
    """Those of some decisions that are this transaction's to make, or to end; the others were another worker's first."""
    if not decisions:
        return set()
    told = {"ledger": ledger, "decisions": sorted(decisions), "ending": ending}  # in one order, so that two workers do not wait in a ring
    return set(connection.execute(CLAIM, told).scalars())


def release(connection: Connection, ledger: int, decisions: Collection[str], ending: bool) -> None:
    """Give up claims of this transaction that nothing came of."""
    if decisions:
        connection.execute(sa.delete(table).where(T.experiment == ledger, T.decision.in_(decisions), T.ending == ending))

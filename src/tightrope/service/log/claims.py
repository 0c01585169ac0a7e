"""Claims: of many workers one decides under an id, and one ends a decision. The database sees to it, so that no worker asks another.

A claim belongs to the transaction that writes the event; another worker's claim of the same waits until that has ended, which the database
ends itself where its process is silent for long.
"""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from .tables import claims as table

T = table.c
PATIENCE = 5000  # milliseconds that the database waits for a process that holds a lock and says nothing more
CLAIM = sa.text(
    "INSERT INTO claims (experiment, decision, ending) SELECT :ledger, one, :ending FROM unnest(CAST(:decisions AS text[])) AS one "
    "WHERE set_config('idle_in_transaction_session_timeout', :patience, true) || set_config('lock_timeout', :patience, true) <> '' "
    "ON CONFLICT DO NOTHING RETURNING decision"
)


def claim(connection: Connection, ledger: int, decisions: Collection[str], ending: bool) -> set[str]:
    """Those of some decisions that are this transaction's to make, or to end; the others were another worker's first."""
    if not decisions:
        return set()
    parameters: dict[str, object] = {"ledger": ledger, "ending": ending, "patience": str(PATIENCE)}
    parameters["decisions"] = sorted(decisions)  # in one order, so that two workers do not wait in a ring
    return set(connection.execute(CLAIM, parameters).scalars())


def release(connection: Connection, ledger: int, decisions: Collection[str], ending: bool) -> None:
    """Give up claims of this transaction that nothing came of."""
    if decisions:
        connection.execute(sa.delete(table).where(T.experiment == ledger, T.decision.in_(decisions), T.ending == ending))

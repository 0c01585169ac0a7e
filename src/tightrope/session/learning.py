"""`learn_from`: a session that has learned a log of any size, in pieces that workers learn and that
are added up in order.

A part of the log is a run of row groups of one file, read in batches, so memory does not grow with
the log. The cut depends on the files alone and not on the workers, so neither does the result.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.policy import Policy, label
from ..core.types import JsonObject, Oracle
from ..core.verbs import merge
from ..logs.tables import InFiles, Piece, open_table
from ..numerics.states import copied
from ..simulation.loops import Interrupted, Progress, Slices, Stopped
from ..simulation.run import run_experiment, showing
from ..simulation.store import Rows
from .codec import flatten, restore
from .session import Session

MOST_PARTS = 64  # more would keep more states at once
LEAST_PART = 2**17  # rows
BATCH_CELLS = 2**20  # numbers of a batch: 8 MiB
MOST_BATCH = 2**16  # rows


def learn_from(
    dataset: object,
    policy: Policy,
    arms: int | ArrayLike | None = None,
    *,
    action: str | None = "arm",
    reward: str = "reward",
    features: Sequence[str] | str | None = None,
    baseline: int | str | None = None,
    dimension: int | None = None,
    points: ArrayLike | None = None,
    distances: ArrayLike | None = None,
    oracle: Oracle | None = None,
    horizon: int | None = None,
    names: Sequence[str] | None = None,
    engine: str = "threads",
    address: str | None = None,
    workers: int | None = None,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> Session:
    """A session that has learned a whole log, which need not fit in memory.

    Equals one session that learned the rows in order up to rounding: 1e-9 relative.

    Parameters
    ----------
    dataset : path or pyarrow.dataset
        A Parquet file, a folder of them, or a data set of any format, filtered or not.
    policy : Policy
        One whose state is a sum, such as UCB or LinUCB.
    arms, dimension, points, distances, oracle, horizon, names, seed
        As for `Session`.
    action, reward, features, baseline
        Columns of the log, as in `Session.learn`.
    engine, address, workers
        As for `simulate`; the result depends on none of them.
    progress : bool or function
        As for `simulate`, in rows.

    Returns
    -------
    Session
        Its `rounds` are the rows that have a reward.

    Raises
    ------
    ValueError
        For policies that do not learn by sums and for logs with bad rows, with the file and the
        rows.
    Interrupted
        On Ctrl-C.
    """
    arguments = {
        "arms": arms,
        "dimension": dimension,
        "points": points,
        "distances": distances,
        "oracle": oracle,
        "horizon": horizon,
        "names": None if names is None else tuple(checks.ordered("names", names)),
        "seed": seed,
    }
    session = Session(policy, **arguments)  # type: ignore[arg-type]
    merge(
        policy, session.state, copied(session.state)
    )  # refuses what cannot be added up before anything is read
    checks.ordered("features", features)
    table = _open_files(dataset)
    columns = {
        "arm": None if session.catalogue and session.arms.blocks == 1 else action,
        "reward": reward,
        "features": features,
        "baseline": baseline,
    }
    wanted = _columns_read(columns, table.names)
    table.check(wanted)
    parts = table.pieces(LEAST_PART, MOST_PARTS)
    if not parts:
        raise ValueError(f"dataset = {checks.show(dataset)} has no rows.")
    rows = sum(part.rows for part in parts)
    batch = max(256, min(MOST_BATCH, BATCH_CELLS // table.numbers_of_a_row(wanted)))
    experiment = Learning(table, parts, policy, arguments, columns, batch)
    with showing(progress, "learn_from", unit="rows") as advance:
        counted = None if advance is None else lambda done, total: advance(min(done, rows), rows)
        outcome = run_experiment(
            experiment,
            len(parts),
            engine=engine,
            address=address,
            workers=workers,
            progress=counted,
        )
    if not outcome.complete:
        raise Interrupted(None)
    for part in outcome.replications(label(policy)):
        session._add(_session_of(policy, arguments, part))
    return session


@dataclass(frozen=True)
class Learning:
    table: InFiles
    parts: list[Piece]
    policy: Policy
    arguments: JsonObject
    columns: JsonObject
    batch: int  # rows
    kind = "learning"
    period = 1

    @property
    def rounds(self) -> int:
        return -(-sum(part.rows for part in self.parts) // len(self.parts))

    def names(self) -> list[str]:
        return [label(self.policy)]

    def common(self) -> JsonObject:
        return {"columns": self.columns}

    def content(self, name: str, replication: int) -> JsonObject:
        return {"policy": self.policy, "given": self.arguments, "part": self.parts[replication]}

    def label(self, name: str, replication: int) -> str:
        return label(self.policy)

    def replicate(self, name: str, replication: int, slices: Slices) -> Rows:
        session, part = Session(self.policy, **self.arguments), self.parts[replication]
        for batch in self.table.piece(
            part, _columns_read(self.columns, self.table.names), self.batch
        ):
            if slices.stopping():
                raise Stopped
            try:
                session.learn(batch.frame, **self.columns)
            except ValueError as error:
                raise ValueError(
                    f"{batch.source or 'the data set'}, rows counted from {batch.first}: {error}"
                ) from None
            slices.advance(batch.rows)
        return flatten(session.state) | {"rounds": np.array(session.rounds)}


def _session_of(policy: Policy, arguments: JsonObject, rows: Rows) -> Session:
    session, rounds = Session(policy, **arguments), int(rows["rounds"])
    if rounds:
        arms = (
            session.arms._replace(number=session.arms.blocks) if session.catalogue else session.arms
        )
        template = session._sized(arms.number).state if session.catalogue else session.state
        state = restore(
            template, {key: value for key, value in rows.items() if key != "rounds"}, policy, arms
        )
        session._commit(
            session._agent_of(state, arms, rounds - session.rounds),
            session._rounds.changed(arms=arms),
        )
    return session


def _open_files(dataset: object) -> InFiles:
    if isinstance(dataset, (str, os.PathLike)) or hasattr(dataset, "get_fragments"):
        table = open_table(dataset, "dataset")
        if isinstance(table, InFiles):
            return table
    raise ValueError(
        f"dataset = {checks.show(dataset)} is not a Parquet file, a folder of them or a pyarrow "
        "data set; for a table in memory use Session.learn."
    )


def _columns_read(columns: JsonObject, known: Sequence[str]) -> list[str]:
    features = columns["features"]
    wanted = [
        columns["arm"],
        columns["reward"],
        *([features] if isinstance(features, str) else features or []),
    ]
    if isinstance(columns["baseline"], str) and columns["baseline"] in known:
        wanted.append(columns["baseline"])
    return [name for name in dict.fromkeys(wanted) if name is not None]

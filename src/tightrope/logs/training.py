"""Logs as training data: a table is read and checked as a whole, then fed to the policy's kernels
in one compiled loop."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiled.kernels import jit, python_of
from ..core import checks
from ..core.policy import Policy, compiled
from ..core.types import State
from ..core.verbs import Arms, Context, admit, inform
from .log import ArmLabels
from .tables import Columns, InMemory, NamedColumns, matrix, open_table, rewards

CHUNK = 100_000  # rows between two chances to interrupt


class TrainingRows(NamedTuple):
    """Rewards of single arms, one a row; rows of the table without a reward are left out."""

    arms: np.ndarray  # (n,)
    rewards: np.ndarray  # (n,)
    features: np.ndarray | None  # (n, d) of the row's arm, where they change
    baselines: np.ndarray | None  # (n,) the round's baseline arm, where it changes


def read_training_rows(
    frame: NamedColumns,
    arm: str | None,
    reward: str,
    features: Columns | None,
    baseline: int | str | None,
    changing: bool,
    arms: Arms,
    names: tuple[str, ...] | None,
    bounds: tuple[float | None, float | None],
) -> TrainingRows:
    """The checked rows of a table in memory that have a reward.

    arm: the column of arms; None: the features are all there is of an arm. changing: whether
    features come with every row. names: of the arms. bounds: of a reward. The others are those of
    `Session.learn`. Raises ValueError with the number of bad rows and the first of them.
    """
    if changing and features is None:
        raise ValueError(
            f"features is missing; name the {arms.dimension} columns of the played arm's features."
        )
    if (
        features is not None
        and not isinstance(features, str | np.ndarray)
        and not (
            isinstance(checks.ordered("features", features), Sequence)
            and all(isinstance(item, str) for item in features)
        )
    ):
        raise ValueError(
            f"features = {checks.show(features)} is not the name of a column or a list of such "
            "names."
        )
    if not changing and features is not None:
        raise ValueError("features was given, but these arms do not change; leave it out.")
    table = open_table(frame, arm=arm)
    if not isinstance(table, InMemory):
        raise ValueError(
            f"frame = {checks.show(frame)} is in files; use tr.learn_from, which reads them a "
            "part at a time."
        )
    (batch,) = table.batches([])
    labels = ArmLabels(arms.number, names)
    values, bad = rewards(batch.column(reward), reward)
    low, high = bounds
    least, most = -np.inf if low is None else low, np.inf if high is None else high
    bad.note(
        (values < least) | (values > most),
        lambda i: f"{reward} = {values[i]:g} is outside [{least:g}, {most:g}]",
    )
    n = values.size
    played = (
        np.zeros(n, dtype=np.int64) if arm is None else labels.numbers(batch.column(arm), arm, bad)
    )
    shown = None if features is None else matrix(batch, "features", features, bad)
    if shown is not None:
        if shown.shape != (n, arms.dimension):
            raise ValueError(
                f"features has shape {shown.shape}, but must be ({n}, {arms.dimension}), one row "
                "for each of the frame."
            )
        bad.note(
            ~np.isfinite(shown).all(axis=1),
            lambda i: f"features are {checks.show(shown[i])}, not all finite",
        )
    baselines = None
    if isinstance(baseline, str) and baseline not in (names or ()):
        baselines = labels.numbers(batch.column(baseline), baseline, bad)
    elif baseline is not None:
        known = (
            baseline
            if isinstance(baseline, str)
            else checks.integer("baseline", baseline, least=0, most=arms.number - 1)
        )
        baselines = np.full(n, labels.number("baseline", known))
    bad.refuse(consequence=", so nothing of it was learned")
    rewarded = ~np.isnan(values)
    if rewarded.all():
        return TrainingRows(played, values, shown, baselines)
    parts: list[Any] = [
        None if item is None else np.ascontiguousarray(item[rewarded])
        for item in (played, values, shown, baselines)
    ]
    return TrainingRows(*parts)


@jit
def feed_rows(policy, state, arms, rewards, features, shown, baselines):
    """`inform` for every row; shown (K, d) is scratch for a round's features, None where arms do
    not change."""
    for i in range(arms.shape[0]):
        arm = arms[i]
        if features is not None:
            for j in range(features.shape[1]):
                shown[arm, j] = features[i, j]
        if baselines is None:
            state = inform(policy, state, Context(shown, None, None, None), arm, rewards[i])
        else:
            state = inform(policy, state, Context(shown, None, baselines[i], None), arm, rewards[i])
    return state


def feed(policy: Policy, state: State, arms: Arms, log: TrainingRows) -> State:
    """The state that has learned the log; the argument is updated in place. O(update) a row."""
    if not log.arms.size:
        return state
    first = None if log.baselines is None else int(log.baselines[0])
    admit(policy, state, Context(features=log.features, baseline=first))
    blocks, chunks = arms.blocks, range(0, log.arms.size, CHUNK)
    if arms.oracle is not None:  # kernels of sets take many arms at once
        for begin in chunks:
            part = slice(begin, begin + CHUNK)
            action, context = log.arms[part], Context()
            if log.features is not None:
                context = Context(features=log.features[part])
                action = np.arange(action.size) * blocks + action % blocks
            state = inform(policy, state, context, action, log.rewards[part])
        return state
    shown = None if log.features is None else np.zeros((arms.rows, arms.dimension))
    run = feed_rows if compiled(policy) else python_of(feed_rows)
    for begin in chunks:
        part = slice(begin, begin + CHUNK)
        features = None if log.features is None else log.features[part]
        baselines = None if log.baselines is None else log.baselines[part]
        state = run(policy, state, log.arms[part], log.rewards[part], features, shown, baselines)
    return state

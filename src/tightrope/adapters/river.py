"""Policies of this library as River's, for its evaluation and its streams, and River's pipelines as
encoders of a session."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import checks
from ..core.policy import Policy, label
from ..session.session import Session
from . import required

required("river", "river")
from river import bandit  # noqa: E402


class _Wrapped:
    """The common part of both kinds: a session whose arms are River's ids, ranking by mean reward,
    deep copies by `clone`."""

    policy: Policy
    arm_ids: Sequence[Hashable]
    session: Session

    def _number(self, arm_id: Hashable) -> int:
        try:
            return self._places[arm_id]
        except (KeyError, TypeError):
            known = ", ".join(map(str, list(self._places)[:5]))
            raise ValueError(
                f"arm_id = {checks.show(arm_id)} is not one of the arms, which are {known}; name "
                "all of them first."
            ) from None

    def _mask(self, arm_ids: Sequence[Hashable]) -> np.ndarray:
        mask = np.zeros(len(self._places), dtype=np.bool_)
        mask[[self._number(arm_id) for arm_id in arm_ids]] = True
        return mask

    def _start(self, dimension: int | None) -> None:
        ids = list(self.arm_ids)
        if not ids or len(set(ids)) < len(ids):
            raise ValueError(
                f"arm_ids = {checks.show(self.arm_ids)} must be ids that differ, at least one."
            )
        self._places = {arm_id: k for k, arm_id in enumerate(ids)}
        self.session = Session(
            self.policy,
            arms=len(ids),
            dimension=dimension,
            seed=self.seed,  # type: ignore[attr-defined]
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({label(self.policy)}, {len(self._places)} arms)"


class RiverPolicy(_Wrapped, bandit.base.Policy):
    """A policy without contexts as River's `bandit.base.Policy`.

    policy: such as UCB(). arm_ids: all arms, ints or texts. seed: of its own randomness. burn_in:
    pulls of every arm before the policy chooses. `pull(arm_ids)` gives one of these,
    `update(arm_id, reward)` learns, `ranking` sorts arms by mean reward, best first.
    """

    def __init__(
        self, policy: Policy, arm_ids: Sequence[Hashable], seed: int = 0, burn_in: int = 0
    ) -> None:
        super().__init__(burn_in=burn_in)
        self.policy, self.arm_ids, self.seed = policy, arm_ids, seed
        self._start(None)

    def _pull(self, arm_ids: list[Hashable]) -> Hashable:
        return list(self._places)[self.session.select(eligible=self._mask(arm_ids))]

    def update(self, arm_id: Hashable, *reward_args: float, **reward_kwargs: float) -> None:
        self.session.update(self._number(arm_id), reward_args[0])
        super().update(arm_id, *reward_args, **reward_kwargs)


class RiverContextualPolicy(_Wrapped, bandit.base.ContextualPolicy):
    """A policy with contexts, such as LinUCB(), as River's `bandit.base.ContextualPolicy`.

    features: names of the numbers in a context, a dict. All arms see the same context, each in
    columns of its own, so that every arm has its own regression: arms x features dimensions
    together. The other arguments are those of `RiverPolicy`.
    """

    def __init__(
        self,
        policy: Policy,
        arm_ids: Sequence[Hashable],
        features: Sequence[str],
        seed: int = 0,
        burn_in: int = 0,
    ) -> None:
        super().__init__(burn_in=burn_in)
        self.policy, self.arm_ids, self.features, self.seed = policy, arm_ids, features, seed
        self._start(len(list(arm_ids)) * len(features))

    def _rows(self, context: dict[str, float] | None) -> np.ndarray:
        missing = [name for name in self.features if name not in (context or {})]
        if context is None or missing:
            raise ValueError(
                f"context = {checks.show(context)} must have the numbers "
                f"{', '.join(self.features)}."
            )
        x = np.array([checks.real(f"context[{name!r}]", context[name]) for name in self.features])
        return np.kron(np.eye(len(self._places)), x)

    def _pull(self, arm_ids: list[Hashable], context: dict[str, float] | None) -> Hashable:
        return list(self._places)[self.session.select(self._rows(context), self._mask(arm_ids))]

    def update(
        self,
        arm_id: Hashable,
        context: dict[str, float],
        *reward_args: float,
        **reward_kwargs: float,
    ) -> None:
        self.session.update(self._number(arm_id), reward_args[0], self._rows(context))
        super().update(arm_id, context, *reward_args, **reward_kwargs)


class RiverEncoder:
    """A pipeline of River's transformers as the encoder of a session, as it stands: features are
    sorted by name, and the order stays.

    A River pipeline answers with a dict whose names depend on what it has seen. The names are
    therefore taken once, from example rows; names that come later are left out and names that a row
    lacks are 0, as in River's linear models. A pipeline that goes on learning gives the same row
    other features later; a bandit that learned from the earlier ones then predicts wrongly, so
    leave it as it is.

    Parameters
    ----------
    pipeline : river transformer
        With `transform_one`, such as `StandardScaler() | ...` after its `learn_one` over past rows.
    rows : sequence of dict
        Examples, with every level of every category that counts.

    Attributes
    ----------
    names : tuple of str
        Of the features, in their order.
    dimension : int
        d, their number.

    Raises
    ------
    ValueError
        For what has no `transform_one`, rows that are no dicts, and features that are no numbers.
    """

    def __init__(self, pipeline: Any, rows: Sequence[Mapping[str, object]]) -> None:
        if not callable(getattr(pipeline, "transform_one", None)):
            raise ValueError(
                f"pipeline = {checks.show(pipeline)} has no transform_one; give a transformer of "
                "River or a pipeline of them."
            )
        if not (
            isinstance(rows, Sequence) and rows and all(isinstance(row, Mapping) for row in rows)
        ):
            raise ValueError(
                "rows must be example rows as dicts, at least one: their names become the features."
            )
        self.pipeline = pipeline
        self.names: tuple[str, ...] = tuple(
            sorted({str(name) for row in rows for name in pipeline.transform_one(dict(row))})
        )
        self.dimension = len(self.names)
        self.transform(rows)

    def transform(self, rows: Any) -> np.ndarray:
        """(n, d) features of rows as dicts or a pandas DataFrame, (d,) of one dict. Raises
        ValueError for features that are no numbers."""
        if isinstance(rows, Mapping):
            one: np.ndarray = self.transform([rows])[0]
            return one
        listed = rows.to_dict("records") if hasattr(rows, "to_dict") else rows
        features = np.zeros((len(listed), self.dimension))
        for i, row in enumerate(listed):
            encoding = {
                str(name): value for name, value in self.pipeline.transform_one(dict(row)).items()
            }
            for j, name in enumerate(self.names):
                try:
                    features[i, j] = encoding.get(name, 0.0)
                except (TypeError, ValueError):
                    raise ValueError(
                        f"feature {name!r} of row {i} is {checks.show(encoding[name])}, which is "
                        "no number; encode it in the pipeline, with OneHotEncoder for a category."
                    ) from None
        return features

    def __repr__(self) -> str:
        return f"RiverEncoder({self.dimension} features: {checks.show(', '.join(self.names))})"

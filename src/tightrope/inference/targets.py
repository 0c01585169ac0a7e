"""Policies to be judged: what turns each of them into probabilities of the arms for the rows of a log."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..registry import Policy, is_policy, label
from ..serving.session import Session
from .logs import TOLERANCE, Log, Rows

Chances: TypeAlias = Callable[..., ArrayLike]  # (context, eligible) -> (K,)
Judged: TypeAlias = ArrayLike | str | Mapping[int, ArrayLike] | Chances | Session | Policy
LOGGED = "logged"  # the policy that made the log


class Target:
    """A policy as probabilities, checked for every chunk.

    given: (n, K) probabilities, a row for each row of the table that the log was made from, in the table's order; (K,) of
    all rows, an arm or its name, {slot: (K,)}, a function of (context, eligible), or a `Session` at its present state; "logged": the
    policy that made the log.
    """

    def __init__(self, log: Log, given: Any, argument: str = "policy") -> None:
        self.log, self.argument = log, argument
        self.logged = isinstance(given, str) and given == LOGGED and LOGGED not in (log.names or ())
        self.of: Callable[[Rows], np.ndarray]
        if self.logged:
            self.of = self._as_logged
        elif is_policy(given):
            raise ValueError(
                f"{argument} = {label(given)} has learned nothing yet. Give a Session, which is judged at its present state, or say how "
                "a policy that learns is to be judged: method='replay' (uniform logs) or method='simulate' (a fitted model)."
            )
        elif isinstance(given, Session):
            self.of = self._of_session(given)
        elif isinstance(given, str) or (isinstance(given, (int, np.integer)) and not isinstance(given, bool)):
            self.of = self._constant(self._one_arm(given))
        elif isinstance(given, Mapping):
            self.of = self._by_slot(given)
        elif callable(given):
            self.of = self._by_calling(given)
        else:
            self.of = self._of_array(given)

    def probabilities(self, rows: Rows) -> np.ndarray:
        """(m, K), C-contiguous. Raises ValueError naming the row where they are no probabilities."""
        found = np.ascontiguousarray(self.of(rows), dtype=np.float64)
        m, K = rows.arm.size, self.log.arms
        if found.shape != (m, K):
            raise ValueError(f"{self.argument} gave probabilities of shape {found.shape}, but must give {K} for each of {m} rows.")
        if self.logged:
            return found
        total, most = found.sum(axis=1), self.log.size
        bad = ~((found >= 0.0).all(axis=1) & np.isfinite(total))
        if most == 1:
            bad |= np.abs(total - 1.0) > TOLERANCE
            rule = "must be at least 0 and add up to 1"
        else:
            bad |= (found > 1.0 + TOLERANCE).any(axis=1) | (total > most * (1.0 + TOLERANCE))
            rule = f"must be chances to be in a set, in [0, 1], that add up to at most {most}, the size of the largest set"
        if bad.any():
            i = int(np.argmax(bad))
            raise ValueError(f"{self.argument}: probabilities for row {rows.given[i]} {rule}; got {checks.show(found[i])}.")
        if rows.eligible is not None:
            astray = float(np.where(rows.eligible, 0.0, found).sum())
            if astray > TOLERANCE * m:
                i = int(np.argmax(np.where(rows.eligible, 0.0, found).sum(axis=1)))
                raise ValueError(
                    f"{self.argument} puts {astray / m:.1%} of its probability in {m} rows on arms that "
                    f"were not eligible, most in row {rows.given[i]}; give a function of (context, eligible) that leaves them out."
                )
        return found

    def _one_arm(self, given: Any) -> np.ndarray:
        log = self.log
        if isinstance(given, str):
            if log.names is None or given not in log.names:
                known = "arms have numbers only" if log.names is None else f"arms are {checks.show(list(log.names))}"
                raise ValueError(f"{self.argument} = {given!r} is not the name of an arm; {known}, and {LOGGED!r} is the logger itself.")
            arm = log.names.index(given)
        else:
            arm = checks.integer(self.argument, given, least=0, most=log.arms - 1)
        found = np.zeros(log.arms)
        found[arm] = 1.0
        return found

    def _constant(self, chances: np.ndarray) -> Callable[[Rows], np.ndarray]:
        kept = np.zeros((0, chances.size))

        def of(rows: Rows) -> np.ndarray:
            nonlocal kept
            if kept.shape[0] < rows.arm.size:
                kept = np.tile(chances, (rows.arm.size, 1))
            return kept[: rows.arm.size]

        return of

    def _of_array(self, given: Any) -> Callable[[Rows], np.ndarray]:
        values = given if isinstance(given, np.ndarray) else checks.floats(self.argument, given)
        n, K = self.log.given, self.log.arms
        if values.shape == (K,):
            return self._constant(checks.vector(self.argument, values))
        if values.shape != (n, K):
            raise ValueError(
                f"{self.argument} has shape {values.shape}, but must be (n, K) = ({n}, {K}), a row for "
                f"each row of the table, or (K,) = ({K},) probabilities."
            )
        return lambda rows: rows.of(values)

    def _by_slot(self, given: Mapping[Any, ArrayLike]) -> Callable[[Rows], np.ndarray]:
        tables = {checks.integer("slot", slot): checks.vector(f"{self.argument}[{slot!r}]", item) for slot, item in given.items()}
        if not tables or any(item.size != self.log.arms for item in tables.values()):
            raise ValueError(f"{self.argument} must map every slot to {self.log.arms} probabilities, one for each arm.")
        slots = np.array(sorted(tables))
        table = np.stack([tables[int(slot)] for slot in slots])

        def of(rows: Rows) -> np.ndarray:
            if rows.slot is None:
                raise ValueError(f"{self.argument} has probabilities by slot, but the log has no slots; give from_frame(..., slot=...).")
            place = np.minimum(np.searchsorted(slots, rows.slot), slots.size - 1)
            if (slots[place] != rows.slot).any():
                missing = int(rows.slot[np.argmax(slots[place] != rows.slot)])
                raise ValueError(f"{self.argument} has no probabilities for slot {missing}; it has slots {slots.tolist()}.")
            return table[place]

        return of

    def _by_calling(self, function: Chances) -> Callable[[Rows], np.ndarray]:
        X, K = self.log.arm_features, self.log.arms

        def of(rows: Rows) -> np.ndarray:
            found = np.empty((rows.arm.size, K))
            for i in range(rows.arm.size):
                context = X if rows.features is None else rows.features[i]
                chances = np.asarray(function(context, None if rows.eligible is None else rows.eligible[i]), dtype=np.float64)
                if chances.shape != (K,):
                    raise ValueError(f"{self.argument} returned shape {chances.shape} for row {rows.given[i]}, but must return ({K},).")
                found[i] = chances
            return found

        return of

    def _of_session(self, session: Session) -> Callable[[Rows], np.ndarray]:
        log = self.log
        if session.catalogue or session.arms.number != log.arms:
            count = "new candidates every round" if session.catalogue else f"{session.arms.number} arms"
            raise ValueError(f"{self.argument} is a session with {count}, but the log has {log.arms} arms.")
        if session.names is not None and log.names is not None and session.names != log.names:
            raise ValueError(
                f"{self.argument} is a session whose arms are {checks.show(list(session.names))}, but those of the log are "
                f"{checks.show(list(log.names))}; give from_frame(..., arms=session.names)."
            )
        changing = session.arms.dimension > 0 and session.arms.features is None
        always: np.ndarray | None = None

        def of(rows: Rows) -> np.ndarray:
            nonlocal always
            if changing and log.arm_features is None and (rows.features is None or rows.features.ndim != 3):
                raise ValueError(f"{self.argument} is a session whose features change, so the log must have features (n, K, d).")
            if not (changing and rows.features is not None) and rows.eligible is None:
                if always is None:
                    always = session.propensities(log.arm_features if changing else None)
                return np.tile(always, (rows.arm.size, 1))
            found = np.empty((rows.arm.size, log.arms))
            for i in range(rows.arm.size):
                features = None
                if changing:
                    features = log.arm_features if rows.features is None else rows.features[i]
                found[i] = session.propensities(features, None if rows.eligible is None else rows.eligible[i])
            return found

        return of

    def _as_logged(self, rows: Rows) -> np.ndarray:
        """Of the played arm only: the weights are 1, and no other probability is needed."""
        found = np.zeros((rows.arm.size, self.log.arms))
        found[np.arange(rows.arm.size), rows.arm] = rows.propensity
        return found

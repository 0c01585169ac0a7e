"""Policies to be judged: what turns each of them into probabilities of the arms for the rows of a
log."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.policy import Policy, is_policy, label
from ..core.registry import policy_from_spec
from ..logs.log import TOLERANCE, Log, Rows, check_order
from ..session.batches import propensities_of_rounds
from ..session.session import Session
from .estimators import MOST_PRODUCTS

Chances: TypeAlias = Callable[..., ArrayLike]  # (context, eligible) -> (K,)
Judged: TypeAlias = ArrayLike | str | Mapping[int, ArrayLike] | Chances | Session
LOGGED_POLICY = "logged"  # the policy that made the log
KEYS = ("policy", "probabilities", "arm")  # of what a file or a request says is to be judged
UNIFORM = "uniform"


class Target:
    """A policy as probabilities, checked for every chunk.

    given: (n, K) probabilities, a row for each row of the table that the log was made from, in the
    table's order; (K,) of all rows, an arm or its name, {slot: (K,)}, a function of (context,
    eligible), or a `Session` at its present state; "logged": the policy that made the log.
    """

    def __init__(self, log: Log, policy: Judged, argument: str = "policy") -> None:
        self.log, self.argument = log, argument
        self.logged = (
            isinstance(policy, str)
            and policy == LOGGED_POLICY
            and LOGGED_POLICY not in (log.names or ())
        )
        self.arms = list(range(log.arms)) if log.names is None else list(log.names)
        self.of: Callable[[Rows], np.ndarray]
        if self.logged:
            self.of = self._as_logged
        elif is_policy(policy):
            raise ValueError(
                f"{argument} = {label(policy)} has learned nothing yet. Give a Session, which is "
                "judged at its present state, or judge the policy while it learns: "
                "tr.evaluate_learner with method='replay' (uniform logs) or method='simulate' (a "
                "fitted model)."
            )
        elif isinstance(policy, Session):
            self.of = self._of_session(policy)
        elif isinstance(policy, str) or (
            isinstance(policy, (int, np.integer)) and not isinstance(policy, bool)
        ):
            self.of = self._constant(np.eye(1, log.arms, log.number(argument, policy))[0])
        elif isinstance(policy, Mapping):
            self.of = self._by_slot(policy)
        elif callable(policy):
            self.of = self._by_calling(policy)
        else:
            self.of = self._of_array(policy)

    def probabilities(self, rows: Rows) -> np.ndarray:
        """(m, K), C-contiguous. Raises ValueError naming the row where they are no
        probabilities."""
        chances = np.ascontiguousarray(self.of(rows), dtype=np.float64)
        m, K = rows.arm.size, self.log.arms
        if chances.shape != (m, K):
            raise ValueError(
                f"{self.argument} gave probabilities of shape {chances.shape}, but must give {K} "
                f"for each of {m} rows."
            )
        if self.logged:
            return chances
        total, most = chances.sum(axis=1), self.log.size
        bad = ~((chances >= 0.0).all(axis=1) & np.isfinite(total))
        if most == 1:
            bad |= np.abs(total - 1.0) > TOLERANCE
            rule = "must be at least 0 and add up to 1"
        else:
            bad |= (chances > 1.0 + TOLERANCE).any(axis=1) | (total > most * (1.0 + TOLERANCE))
            rule = (
                f"must be chances to be in a set, in [0, 1], that add up to at most {most}, the "
                "size of the largest set"
            )
        if bad.any():
            i = int(np.argmax(bad))
            sums = f"{checks.show(chances[i])}, which add up to {total[i]:.6g}"
            raise ValueError(
                f"{self.argument}: probabilities for row {rows.given[i]} {rule}; got {sums}."
            )
        if rows.eligible is not None:
            astray = float(np.where(rows.eligible, 0.0, chances).sum())
            if astray > TOLERANCE * m:
                i = int(np.argmax(np.where(rows.eligible, 0.0, chances).sum(axis=1)))
                raise ValueError(
                    f"{self.argument} puts {astray / m:.1%} of its probability in {m} rows on "
                    f"arms that were not eligible, most in row {rows.given[i]}; give a function "
                    "of (context, eligible) that leaves them out."
                )
        return chances

    def _constant(self, chances: np.ndarray) -> Callable[[Rows], np.ndarray]:
        kept = np.zeros((0, chances.size))

        def of(rows: Rows) -> np.ndarray:
            nonlocal kept
            if kept.shape[0] < rows.arm.size:
                kept = np.tile(chances, (rows.arm.size, 1))
            return kept[: rows.arm.size]

        return of

    def _of_array(self, chances: ArrayLike) -> Callable[[Rows], np.ndarray]:
        check_order(self.argument, chances, self.arms)
        values = chances if type(chances) is np.ndarray else checks.floats(self.argument, chances)
        n, K = self.log.given, self.log.arms
        if values.shape == (K,):
            return self._constant(checks.vector(self.argument, values))
        if values.shape != (n, K):
            raise ValueError(
                f"{self.argument} has shape {values.shape}, but must be (n, K) = ({n}, {K}), a "
                f"row for each row of the table, or (K,) = ({K},) probabilities."
            )
        return lambda rows: rows.of(values)

    def _by_slot(self, by_slot: Mapping[int, ArrayLike]) -> Callable[[Rows], np.ndarray]:
        if not all(isinstance(slot, (int, np.integer)) for slot in by_slot):
            raise ValueError(
                f"{self.argument} = {checks.show(by_slot)} is no dict of slot -> probabilities; "
                f"where there are no slots give a list of {self.log.arms} probabilities, of the "
                f"arms {checks.show(self.arms)} in this order, or the name of the arm."
            )
        for slot, item in by_slot.items():
            check_order(f"{self.argument}[{slot!r}]", item, self.arms)
        tables = {
            checks.integer("slot", slot): checks.vector(f"{self.argument}[{slot!r}]", item)
            for slot, item in by_slot.items()
        }
        if not tables or any(item.size != self.log.arms for item in tables.values()):
            raise ValueError(
                f"{self.argument} must map every slot to {self.log.arms} probabilities, one for "
                "each arm."
            )
        slots = np.array(sorted(tables))
        table = np.stack([tables[int(slot)] for slot in slots])

        def of(rows: Rows) -> np.ndarray:
            if rows.slot is None:
                raise ValueError(
                    f"{self.argument} has probabilities by slot, but the log has no slots; give "
                    "from_frame(..., slot=...)."
                )
            place = np.minimum(np.searchsorted(slots, rows.slot), slots.size - 1)
            if (slots[place] != rows.slot).any():
                missing = int(rows.slot[np.argmax(slots[place] != rows.slot)])
                raise ValueError(
                    f"{self.argument} has no probabilities for slot {missing}; it has slots "
                    f"{slots.tolist()}."
                )
            return table[place]

        return of

    def _by_calling(self, function: Chances) -> Callable[[Rows], np.ndarray]:
        X, K = self.log.arm_features, self.log.arms

        def of(rows: Rows) -> np.ndarray:
            table = np.empty((rows.arm.size, K))
            for i in range(rows.arm.size):
                context = X if rows.features is None else rows.features[i]
                answer = function(context, None if rows.eligible is None else rows.eligible[i])
                check_order(self.argument, answer, self.arms)
                chances = np.asarray(answer, dtype=np.float64)
                if chances.shape != (K,):
                    raise ValueError(
                        f"{self.argument} returned shape {chances.shape} for row {rows.given[i]}, "
                        f"but must return ({K},)."
                    )
                table[i] = chances
            return table

        return of

    def _of_session(self, session: Session) -> Callable[[Rows], np.ndarray]:
        log = self.log
        if session.catalogue or session.arms.number != log.arms:
            count = (
                "new candidates every round" if session.catalogue else f"{session.arms.number} arms"
            )
            raise ValueError(
                f"{self.argument} is a session with {count}, but the log has {log.arms} arms."
            )
        if (
            session.names is not None
            and log.names is not None
            and session.names != tuple(map(str, log.names))
        ):
            raise ValueError(
                f"{self.argument} is a session whose arms are {checks.show(list(session.names))}, "
                f"but those of the log are {checks.show(list(log.names))}; give from_frame(..., "
                "arms=session.names)."
            )
        numbers = tuple(map(str, range(log.arms)))
        if (
            session.names is None
            and log.names is not None
            and tuple(map(str, log.names)) != numbers
        ):
            raise ValueError(
                f"{self.argument} is a session whose arms have numbers only, but those of the log "
                f"are {checks.show(list(log.names))}; give the session names, Session(.., "
                "names=[..])."
            )
        if (
            log.names is None
            and session.names is not None
            and session.names != numbers
            and set(session.names) <= set(numbers)
        ):
            raise ValueError(
                f"{self.argument} is a session whose arms are called "
                f"{checks.show(list(session.names))}, which may be the log's numbers or not; give "
                "from_frame(..., arms=session.names) with the names as text."
            )
        changing = session.arms.dimension > 0 and session.arms.features is None
        always: np.ndarray | None = None

        def of(rows: Rows) -> np.ndarray:
            nonlocal always
            if changing and log.arm_features is None and rows.features is None:
                raise ValueError(
                    f"{self.argument} is a session whose features change, so the log must have "
                    "features: (n, K, d) of every arm, or (n, d) that every arm is shown. A "
                    "session lets those of closed decisions go; a Journal keeps them for "
                    "tr.logs.from_journal."
                )
            if changing and rows.features is not None:
                x, mask = rows.features, rows.eligible
                step = max(
                    1, MOST_PRODUCTS // (log.arms * x.shape[-1] ** 2)
                )  # so that no compiled loop outlasts a Ctrl-C
                parts = [slice(begin, begin + step) for begin in range(0, x.shape[0], step)]
                return np.concatenate(
                    [
                        propensities_of_rounds(
                            session, x[part], None if mask is None else mask[part]
                        )
                        for part in parts
                    ]
                )
            features = log.arm_features if changing else None
            if rows.eligible is not None:
                return np.stack(
                    [session.propensities(features, mask, encoded=True) for mask in rows.eligible]
                )
            if always is None:
                always = session.propensities(features, encoded=True)
            return np.tile(always, (rows.arm.size, 1))

        return of

    def _as_logged(self, rows: Rows) -> np.ndarray:
        """Of the played arm only: the weights are 1, and no other probability is needed."""
        chances = np.zeros((rows.arm.size, self.log.arms))
        chances[np.arange(rows.arm.size), rows.arm] = rows.propensity
        return chances


def policy_to_judge(data: object, log: Log, argument: str) -> Judged | Policy:
    """The policy that a file or a request describes, a dict with one of

        policy: LinTS            a policy that learns, with its parameters
        probabilities: [..]      of every arm; by slot {0: [..], 1: [..]}; or uniform
        arm: 3                   a number or a name

    argument: begins the sentence of a ValueError.
    """
    keys = [key for key in KEYS if isinstance(data, dict) and key in data]
    if not isinstance(data, dict) or len(keys) != 1 or (keys[0] != "policy" and len(data) > 1):
        raise ValueError(
            f"{argument} must hold exactly one of policy, probabilities and arm; got "
            f"{checks.show(data)}."
        )
    if keys == ["policy"]:
        return policy_from_spec(data)
    value = data[keys[0]]
    return (
        np.full(log.arms, 1.0 / log.arms)
        if value == UNIFORM and keys == ["probabilities"]
        else value
    )


def target_name(policy: object) -> str:
    if is_policy(policy):
        return label(policy)
    inner = getattr(policy, "policy", None)
    if isinstance(inner, Policy):
        return label(inner)
    if isinstance(policy, str):
        return policy
    if isinstance(policy, (int, np.integer)):
        return f"arm {policy}"
    return getattr(policy, "__name__", "policy")

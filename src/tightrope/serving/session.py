"""`Session`: a policy in service, one decision at a time, by the very kernels that simulations run."""

import math
import pathlib
from typing import Any

import numpy as np

from .. import checks, files, rng
from ..matching import check_fit, check_question
from ..registry import Policy, built, described, is_policy
from ..verbs import Arms, Context, admit, commit, evidence, explain, init, recommend, reward_range, select, stopped, update
from .codec import build_oracle, describe_oracle, flatten, restore, same_oracle

FORMAT = 1


class Session:
    """One policy, its state and its random stream.

    policy: an instance such as LinUCB(). arms: K, or (K, d) features. Exactly one of arms, points and distances describes the
    arms: points is (K,) or (K, p), distances a (K, K) metric. dimension: d, when features come with every round. oracle: chooses
    sets of arms; for `oracles.Promotions` give the users as arms. horizon: T, for policies whose widths use it. seed: of the
    policy's own randomness; `simulate` with the same seed makes the same choices in replication 0.

    Bad input raises ValueError and leaves the state as it was. Not thread-safe: one session, one thread at a time.
    """

    def __init__(
        self,
        policy: Policy,
        arms: Any = None,
        *,
        points: Any = None,
        distances: Any = None,
        dimension: int | None = None,
        oracle: Any = None,
        horizon: int | None = None,
        seed: int = 0,
    ) -> None:
        if not is_policy(policy):
            raise ValueError(f"policy = {checks.show(policy)} is not a policy; pass an instance such as UCB().")
        self.policy = policy
        self.arms = describe_arms(arms, points, distances, dimension, oracle, horizon)
        check_fit(policy, self.arms)
        if type(policy).TRAITS.stops:
            check_question(policy, self.arms)
        self.seed = checks.integer("seed", seed, least=0)
        self._rng = rng.stream(self.seed, 0, rng.POLICY)
        self.rounds = 0
        self._changing = self.arms.dimension > 0 and self.arms.features is None
        self._features: np.ndarray | None = None
        self._baseline: tuple[int | None, float | None] = (None, None)
        self._eligible: np.ndarray | None = None
        self.state = init(policy, self._told())

    def _told(self) -> Arms:
        return self.arms._replace(features=None) if self._changing else self.arms

    def select(self, context: Any = None, eligible: Any = None) -> Any:
        """The arm (int) or set of arms (int array) to play now.

        context: (K, d) features of this round's arms, or a `Context`, where they change; eligible: (K,) bool. Where several arms
        share a row of features (promotions for a user), features are (N, d), eligible is (N,) or (N, M), and arm = user * M + promotion.
        """
        seen, state = self._context(context, eligible)
        self._begin(seen, state)
        before = None if self.arms.oracle is None else self._rng.bit_generator.state
        try:
            action = select(self.policy, self.state, seen, self._rng)
        except BaseException:
            if before is not None:  # an oracle may refuse after the noise was drawn
                self._rng.bit_generator.state = before
            raise
        self.state = commit(self.policy, self.state, seen, action)
        if self._changing:
            self._features = seen.features
        self._baseline, self._eligible = (seen.baseline, seen.baseline_mean), seen.eligible
        return int(action) if np.ndim(action) == 0 else np.asarray(action)

    def update(self, arm: Any, reward: Any, context: Any = None) -> None:
        """Take in the reward of an arm (or of several: two arrays). Any arm, in any order, at any time.

        context: the features (and baseline, and mask) of the round the reward belongs to; default those of the last `select`.
        """
        action, value = self._checked_reward(arm, reward)
        round_, state = self._context(context, self._eligible if context is None else None)
        self._begin(round_, state)
        self.state = update(self.policy, self.state, round_, action, value)
        self.rounds += 1

    def explain(self, context: Any = None, eligible: Any = None) -> dict[str, Any]:
        """Why: per-arm mean, width, lower, upper, index and probability, and what the family adds. Changes nothing."""
        seen, state = self._context(context, eligible)
        return dict(explain(self.policy, copied(state), seen, rng.stream(self.seed, self.rounds, rng.AUDIT)))

    @property
    def stopped(self) -> bool:
        """Whether an identification policy has its answer."""
        self._needs_stopping()
        return bool(stopped(self.policy, self.state))

    def recommend(self) -> dict[str, Any]:
        """The arm an identification policy would name, and what supports it.

        status: "certified" or "not certified yet". gap_bound: with probability 1 - delta the arm is at most that much worse than the
        best (B). error: estimated probability that it is worse by more than epsilon. samples_remaining: a forecast.
        """
        self._needs_stopping()
        status = "certified" if self.stopped else "not certified yet"
        return {"arm": int(recommend(self.policy, self.state)), "status": status} | dict(evidence(self.policy, copied(self.state)))

    def _needs_stopping(self) -> None:
        if not type(self.policy).TRAITS.stops:
            name = type(self.policy).__name__
            raise ValueError(f"{name} minimises regret and never stops; use LinGapE or another identification policy.")

    def _context(self, context: Any, eligible: Any) -> tuple[Context, Any]:
        """The checked round and the state that meets it; features given for the first time make a new one. Changes nothing."""
        agreed = self._baseline if context is None else (None, None)
        given = context if isinstance(context, Context) else Context(features=context, baseline=agreed[0], baseline_mean=agreed[1])
        features = given.features
        if eligible is None:
            eligible = given.eligible
        mask = None if eligible is None else checks.mask("eligible", self._per_arm(eligible), self.arms.number)
        if features is not None:
            features = checks.matrix("context", features, shape=(self.arms.rows, self.arms.dimension or None))
            self._check_change()
        elif self._changing:
            features = self._features if self._features is not None else self.arms.features
            if features is None:
                raise ValueError(f"context is missing; pass this round's ({self.arms.rows}, {self.arms.dimension}) features.")
        baseline, known = given.baseline, given.baseline_mean
        round_ = Context(
            features,
            mask,
            None if baseline is None else checks.integer("baseline", baseline, least=0, most=self.arms.number - 1),
            None if known is None else checks.real("baseline_mean", known),
        )
        begins = features is not None and not self._changing
        state = init(self.policy, self.arms._replace(features=None)) if begins else self.state
        admit(self.policy, state, round_)
        return round_, state

    def _per_arm(self, eligible: Any) -> Any:
        """A mask of rows or of (row, block) pairs as one of arms."""
        blocks, shape = self.arms.blocks, np.shape(eligible)
        if blocks > 1 and shape == (self.arms.rows,):
            return np.repeat(eligible, blocks)
        return np.reshape(eligible, -1) if shape == (self.arms.rows, blocks) else eligible

    def _begin(self, context: Context, state: Any) -> None:
        """The first features turn fixed arms into changing ones."""
        self._changing = self._changing or context.features is not None
        self.state = state

    def _check_change(self) -> None:
        """Features that change come too late once rewards were taken in with fixed ones."""
        if self._changing:
            return
        if "contexts" not in type(self.policy).TRAITS.accepts:
            name, d = type(self.policy).__name__, self.arms.dimension
            remedy = (
                f"; for new features every round start with arms={self.arms.rows}, dimension={d}" if self.arms.oracle is not None else ""
            )
            raise ValueError(f"context was given, but {name} does not take features that change in a session with fixed arms{remedy}.")
        if self.rounds:
            raise ValueError("context was given, but this session has learned with fixed arms; start it with dimension=d instead.")

    def _checked_reward(self, arm: Any, reward: Any) -> tuple[Any, Any]:
        least, most = (bound if math.isfinite(bound) else None for bound in reward_range(self.policy))
        if self.arms.oracle is None:
            return checks.integer("arm", arm, least=0, most=self.arms.number - 1), checks.real("reward", reward, least=least, most=most)
        arms = np.atleast_1d(np.asarray(arm))
        if arms.size == 0 == np.size(reward):  # the answer to an empty set
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        given = np.atleast_1d(checks.floats("reward", reward))
        values = checks.vector("reward", given, length=arms.size, least=least, most=most, source="one per arm")
        if arms.dtype.kind not in "iu" or arms.ndim != 1 or (arms < 0).any() or (arms >= self.arms.number).any():
            raise ValueError(f"arm = {checks.show(arms)} must hold whole numbers from 0 to {self.arms.number - 1}.")
        return arms.astype(np.int64), values

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write the session to one file (JSON header and arrays, no pickle); `load` continues bit for bit."""
        arrays = flatten(self.state)
        for name in ("features", "distances", "points"):
            value = getattr(self.arms, name)
            if value is not None:
                arrays[f"arms.{name}"] = value
        for name, value in (("features", self._features), ("eligible", self._eligible)):
            if value is not None:
                arrays[name] = value
        oracle, more = (None, {}) if self.arms.oracle is None else describe_oracle(self.arms.oracle)
        arrays |= more
        header = {
            "format": FORMAT,
            "policy": described(self.policy),
            "arms": {name: getattr(self.arms, name) for name in ("number", "dimension", "horizon", "blocks")},
            "oracle": oracle,
            "changing": self._changing,
            "baseline": self._baseline,
            "rounds": self.rounds,
            "seed": self.seed,
            "rng": rng.pack(self._rng),
        }
        target = pathlib.Path(path)
        files.write_arrays(target, header, arrays)
        return target

    @classmethod
    def load(cls, path: str | pathlib.Path, *, oracle: Any = None, policy: Any = None) -> "Session":
        """Read a saved session. oracle, policy: code of your own is not stored; pass it again."""
        source = pathlib.Path(path)
        try:
            header, arrays = files.read_arrays(source)
        except FileNotFoundError:
            raise FileNotFoundError(f"path = {str(source)!r} does not exist; pass a file that Session.save wrote.") from None
        except (ValueError, KeyError, OSError, EOFError) as error:
            kind = type(error).__name__
            raise ValueError(f"path = {str(source)!r} is not a session file ({kind}); pass one that Session.save wrote.") from None
        if header.get("format") != FORMAT:
            raise ValueError(f"path = {str(source)!r} has format {header.get('format')}, but this version reads {FORMAT}.")
        if oracle is None and isinstance(header["oracle"], dict):
            oracle = build_oracle(header["oracle"], arrays)
        if oracle is not None and not same_oracle(oracle, header["oracle"], arrays):
            raise ValueError(f"oracle = {checks.show(oracle)}, but this session was saved with {header['oracle']}; pass the same again.")
        if oracle is None and header["oracle"] is not None:
            raise ValueError(f"oracle is missing; this session was saved with {header['oracle']}, pass it again.")
        if policy is not None and not is_policy(policy):
            raise ValueError(f"policy = {checks.show(policy)} is not a policy; pass an instance such as UCB().")
        session = cls.__new__(cls)
        session.policy = built(header["policy"]) if policy is None else policy
        session.arms = Arms(
            **header["arms"], oracle=oracle,
            features=arrays.get("arms.features"), distances=arrays.get("arms.distances"), points=arrays.get("arms.points"),
        )  # fmt: skip
        session.seed, session.rounds, session._changing = header["seed"], header["rounds"], header["changing"]
        session._features, session._eligible = arrays.get("features"), arrays.get("eligible")
        session._baseline = tuple(header["baseline"])
        session._rng = rng.unpack(header["rng"])
        session.state = restore(init(session.policy, session._told()), arrays)
        return session


def copied(state: Any) -> Any:
    """A state whose arrays kernels may write into."""
    return restore(state, flatten(state))


def describe_arms(arms: Any, points: Any, distances: Any, dimension: Any, oracle: Any, horizon: Any) -> Arms:
    """`Arms` from what the user gave; exactly one description."""
    given = [name for name, value in (("arms", arms), ("points", points), ("distances", distances)) if value is not None]
    if len(given) != 1:
        raise ValueError(f"give exactly one of arms, points and distances; got {', '.join(given) or 'none'}.")
    T = None if horizon is None else checks.integer("horizon", horizon, least=1)
    if arms is None:
        positions, metric = checks.metric(points, distances)
        return Arms(metric.shape[0], points=positions, distances=metric, horizon=T)
    if oracle is not None and not callable(oracle):
        raise ValueError(f"oracle = {checks.show(oracle)} is not callable; pass one of tightrope.oracles such as TopK(5), or a function.")
    blocks = getattr(oracle, "blocks", 1)
    if np.ndim(arms) == 0:
        d = 0 if dimension is None else checks.integer("dimension", dimension, least=1)
        return Arms(checks.integer("arms", arms, least=1) * blocks, dimension=d, oracle=oracle, horizon=T, blocks=blocks)
    features = checks.matrix("arms", arms)
    rows, d = features.shape
    if dimension is not None and dimension != d:
        raise ValueError(f"dimension = {checks.show(dimension)}, but arms has {d} columns; leave dimension out.")
    return Arms(rows * blocks, features=features, dimension=d, oracle=oracle, horizon=T, blocks=blocks)

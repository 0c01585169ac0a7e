"""Gymnasium both ways: a problem as an environment of `horizon` steps, and an environment as a problem.

Episode e of `env(problem, horizon)` has the contexts and the noise of replication e of `simulate` with the same seed.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core import checks
from ..core.extras import required
from ..core.problem import Problem
from ..core.streams import NOISE, PROBLEM, stream
from ..core.verbs import Arms, Context, describe, observe, play, private, regret

required("gymnasium", "gymnasium", "adapters.gym")
import gymnasium  # noqa: E402

Observation = np.ndarray | int  # features of the round where they change, else 0
StepInfo = dict[str, float | np.ndarray]


def env(problem: Problem, horizon: int) -> "Environment":
    """A Gymnasium environment of a problem.

    problem: of single arms. horizon: steps of an episode, >= 1, after which it is truncated. Actions are arms, 0 .. K - 1. An
    observation is the (K, d) features of the round where they change, and otherwise 0, which says nothing; fixed features are in
    `env.unwrapped.arms.features`. The reward is the problem's. `info` has the `regret` of the step (pseudo-regret) and the `mask` of
    the arms that may be played in the next one. Raises ValueError for problems over sets of arms.
    """
    return Environment(problem, horizon)


class Environment(gymnasium.Env):
    """A problem as a Gymnasium environment, see `env`."""

    metadata: dict[str, list[str]] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, problem: Problem, horizon: int) -> None:
        if not describe.answers(problem):
            raise ValueError(f"problem = {checks.show(problem)} is not a problem; pass one such as problems.Bernoulli([0.3, 0.6]).")
        self.problem = private(problem)
        self.arms = describe(self.problem)
        if self.arms.oracle is not None:
            raise ValueError(
                f"problem = {type(problem).__name__} is played with sets of arms; an environment of single arms needs another."
            )
        self.horizon = checks.integer("horizon", horizon, least=1, most=checks.MOST_ROUNDS)
        K, d = self.arms.number, self.arms.dimension
        self.changing = d > 0 and self.arms.features is None
        self.action_space = gymnasium.spaces.Discrete(K)
        box = gymnasium.spaces.Box(-np.inf, np.inf, (K, d), np.float64)
        self.observation_space = box if self.changing else gymnasium.spaces.Discrete(1)
        self.seed, self.episode, self.round = 0, -1, self.horizon

    def reset(self, *, seed: int | None = None, options: Mapping[str, object] | None = None) -> tuple[Observation, StepInfo]:
        """Begin an episode: with a seed the first of that seed, otherwise the next one."""
        super().reset(seed=seed)
        if seed is not None:
            self.seed, self.episode = checks.seed(seed), -1
        self.episode, self.round = self.episode + 1, 0
        self._streams = stream(self.seed, self.episode, PROBLEM), stream(self.seed, self.episode, NOISE)
        return self._observe(), self._info(0.0)

    def step(self, action: int) -> tuple[Observation, float, bool, bool, StepInfo]:
        """Play an arm."""
        if self.round >= self.horizon:
            raise ValueError("the episode is over; call reset first.")
        arm = checks.integer("action", action, least=0, most=self.arms.number - 1)
        reward = float(play(self.problem, self._context, arm, self._streams[1]))
        lost = float(regret(self.problem, self._context, arm))
        self.round += 1
        truncated = self.round >= self.horizon
        return (self._observation() if truncated else self._observe()), reward, False, truncated, self._info(lost)

    def _observe(self) -> Observation:
        self._context = observe(self.problem, self.round, self._streams[0])
        return self._observation()

    def _observation(self) -> Observation:
        return np.array(self._context.features) if self.changing else 0

    def _info(self, lost: float) -> StepInfo:
        mask = self._context.eligible
        return {"regret": lost, "mask": np.ones(self.arms.number, dtype=np.int8) if mask is None else mask.astype(np.int8)}


class EnvironmentProblem(NamedTuple):
    """A Gymnasium environment as a problem, see `problem_from_env`."""

    make: "Callable[[], gymnasium.Env]"
    number: int
    dimension: int  # of the features that policies see; 0: none
    blocks: bool  # the observation belongs to all arms, each of which has a place of its own for it
    best: float  # NaN: info says the regret
    rewards: tuple[float, float] | None
    now: dict[str, Any]  # of one replication: the environment, its observation, what the last step gave

    def describe(self):  # type: ignore[no-untyped-def]
        """K arms, with features every round where the observation has some."""
        return Arms(self.number, dimension=self.dimension, rewards=self.rewards)

    def private(self):  # type: ignore[no-untyped-def]
        """An environment of its own."""
        return self._replace(now={"env": self.make(), "over": True})

    def observe(self, t, rng):  # type: ignore[no-untyped-def]
        """The observation; a new episode where the last one ended, the first with a seed from the problem's stream."""
        now = self.now
        if now["over"]:
            seed = int(rng.integers(2**31)) if t == 0 else None
            now["observation"], _ = now["env"].reset(seed=seed)
            now["over"] = False
        if not self.dimension:
            return Context(None, None, None, None)
        observation = np.asarray(now["observation"], dtype=np.float64)
        if not self.blocks:
            return Context(np.ascontiguousarray(observation), None, None, None)
        return Context(np.kron(np.eye(self.number), observation), None, None, None)

    def play(self, context, action, rng):  # type: ignore[no-untyped-def]
        """The reward of a step."""
        now = self.now
        now["observation"], reward, ended, cut, now["info"] = now["env"].step(int(action))
        now["over"], now["reward"] = bool(ended or cut), float(reward)
        return now["reward"]

    def regret(self, context, action):  # type: ignore[no-untyped-def]
        """best minus the reward received, or what the environment says."""
        if not np.isnan(self.best):
            return self.best - self.now["reward"]
        if "regret" not in self.now["info"]:
            raise ValueError(
                "env does not say the regret of a step in its info; give problem_from_env best=, the mean reward of the best arm."
            )
        return float(self.now["info"]["regret"])

    def mean(self, context, arm):  # type: ignore[no-untyped-def]
        """Not known of an environment."""
        raise ValueError("an environment does not say the means of its arms, so there is no best arm to identify; use simulate.")


EnvironmentProblem.COMPILED = False  # type: ignore[attr-defined]


def problem_from_env(
    env: "gymnasium.Env | Callable[[], gymnasium.Env]", *, best: float | None = None, rewards: tuple[float, float] | None = None
) -> EnvironmentProblem:
    """A problem whose rounds are the steps of an environment with discrete actions.

    env: an environment, copied for every replication, or a function that makes one. An observation of shape (K, d) is taken as the
    features of the arms; one of shape (d,) as what all arms share, so that arm k sees it in columns k d .. (k + 1) d - 1 of K d; others
    are not shown. best: mean reward of the best arm, against which regret is the difference of the *received* reward; default:
    `info["regret"]` of the steps. rewards: (lowest, highest). An episode that ends is followed by the next one.

    Environments whose next observation depends on the action are not bandits; policies here do not plan for it. The noise is the
    environment's own, so policies that play different arms do not share it. Raises ValueError for other spaces.
    """
    make = env if callable(env) and not hasattr(env, "step") else lambda: copy.deepcopy(env)
    one = make()
    K = getattr(one.action_space, "n", None)
    if K is None or getattr(one.action_space, "start", 0) != 0:
        raise ValueError(f"env has actions {one.action_space}, but a problem of arms needs Discrete(K).")
    shape: tuple[int, ...] = one.observation_space.shape if isinstance(one.observation_space, gymnasium.spaces.Box) else ()
    dimension, blocks = 0, False
    if len(shape) == 2 and shape[0] == K:
        dimension = int(shape[1])
    elif len(shape) == 1:
        dimension, blocks = int(K) * int(shape[0]), True
    value = np.nan if best is None else checks.real("best", best)
    if rewards is not None:
        low, high = (checks.real(f"rewards[{i}]", number) for i, number in enumerate(rewards))
        if low > high:
            raise ValueError(f"rewards = {checks.show(rewards)} must be the lowest and the highest reward.")
        rewards = low, high
    return EnvironmentProblem(make, int(K), dimension, blocks, value, rewards, {})

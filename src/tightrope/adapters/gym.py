"""A problem as a Gymnasium environment of `horizon` steps.

Episode e of `env(problem, horizon)` has the contexts and the noise of replication e of `simulate`
with the same seed.
"""

from collections.abc import Mapping

import numpy as np

from ..core import checks
from ..core.policy import Problem
from ..core.streams import NOISE, PROBLEM, stream
from ..core.verbs import describe, observe, play, private, regret
from . import required

required("gymnasium", "gym")
import gymnasium  # noqa: E402

Observation = np.ndarray | int  # features of the round where they change, else 0
StepInfo = dict[str, float | np.ndarray]


def env(problem: Problem, horizon: int) -> "Environment":
    """A Gymnasium environment of a problem.

    problem: of single arms. horizon: steps of an episode, >= 1, after which it is truncated.
    Actions are arms, 0 .. K - 1. An observation is the (K, d) features of the round where they
    change, and otherwise 0, which says nothing; fixed features are in
    `env.unwrapped.arms.features`. The reward is the problem's. `info` has the `regret` of the step
    (pseudo-regret) and the `mask` of the arms that may be played in the next one. Raises ValueError
    for problems over sets of arms.
    """
    return Environment(problem, horizon)


class Environment(gymnasium.Env):
    """A problem as a Gymnasium environment, see `env`."""

    metadata: dict[str, list[str]] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, problem: Problem, horizon: int) -> None:
        if not describe.answers(problem):
            raise ValueError(
                f"problem = {checks.show(problem)} is not a problem; pass one such as "
                "problems.Bernoulli([0.3, 0.6])."
            )
        self.problem = private(problem)
        self.arms = describe(self.problem)
        if self.arms.oracle is not None:
            raise ValueError(
                f"problem = {type(problem).__name__} is played with sets of arms; an environment "
                "of single arms needs another."
            )
        self.horizon = checks.integer("horizon", horizon, least=1, most=checks.MOST_ROUNDS)
        K, d = self.arms.number, self.arms.dimension
        self.changing = d > 0 and self.arms.features is None
        self.action_space = gymnasium.spaces.Discrete(K)
        box = gymnasium.spaces.Box(-np.inf, np.inf, (K, d), np.float64)
        self.observation_space = box if self.changing else gymnasium.spaces.Discrete(1)
        self.seed, self.episode, self.round = 0, -1, self.horizon

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[Observation, StepInfo]:
        """Begin an episode: with a seed the first of that seed, otherwise the next one."""
        super().reset(seed=seed)
        if seed is not None:
            self.seed, self.episode = checks.seed(seed), -1
        self.episode, self.round = self.episode + 1, 0
        self._streams = (
            stream(self.seed, self.episode, PROBLEM),
            stream(self.seed, self.episode, NOISE),
        )
        return self._observe(), self._info(0.0)

    def step(self, action: int) -> tuple[Observation, float, bool, bool, StepInfo]:
        if self.round >= self.horizon:
            raise ValueError("the episode is over; call reset first.")
        arm = checks.integer("action", action, least=0, most=self.arms.number - 1)
        reward = float(play(self.problem, self._context, arm, self._streams[1]))
        lost = float(regret(self.problem, self._context, arm))
        self.round += 1
        truncated = self.round >= self.horizon
        return (
            (self._observation() if truncated else self._observe()),
            reward,
            False,
            truncated,
            self._info(lost),
        )

    def _observe(self) -> Observation:
        self._context = observe(self.problem, self.round, self._streams[0])
        return self._observation()

    def _observation(self) -> Observation:
        return np.array(self._context.features) if self.changing else 0

    def _info(self, lost: float) -> StepInfo:
        mask = self._context.eligible
        return {
            "regret": lost,
            "mask": np.ones(self.arms.number, dtype=np.int8)
            if mask is None
            else mask.astype(np.int8),
        }

"""CombGreedy: the set of largest estimated means, after a random first round.

When to use it: as a yardstick. Strong where a random first set covers all clusters, weak where good
arms are rare. No bound.
Source: Takemura & Ito 2019, section VII-B1: scores theta'x; before any reward has come in, standard
normal scores.
Per round: O(N d) and the oracle.
"""

from typing import Literal

from ...core.fields import Given, choice, real
from ...core.policy import policy
from ...numerics.batch_ridge import linear_scores, solve
from .sets import LinearSetPolicy, Scoring, best_set, features_of, new_state, predictions


@policy("sets", paper="Takemura & Ito 2019, section VII-B1", compiled=False)
class CombGreedy(LinearSetPolicy):
    """The set of largest estimated means; random before the first reward.

    Parameters
    ----------
    lam : number in (0, inf), default 1.0
        Ridge parameter.
    ties : 'index' or 'random', default 'index'
        Equal scores go to the lowest index, or to one at random.
    """

    lam: float = real(default=1.0, above=0)
    ties: Given[Literal["index", "random"], int] = choice("index", "random", default="index")

    def init(self, arms):
        return new_state(arms, self.lam)

    def select(self, state, context, rng):
        if state.model.seen[0] == 0.0:
            scores = rng.standard_normal(state.setting.number)
        else:
            scores = linear_scores(features_of(state, context), solve(state.model)[0])
        return best_set(state, context, scores, self.ties, rng)

    def _scoring(self, state, context, rng):
        mean, width, _ = predictions(state, context)
        if state.model.seen[0] > 0.0:
            return Scoring(mean, width, mean)

        def draw(draws):
            return rng.standard_normal((draws, mean.size))

        return Scoring(mean, width, None, draw, ("normal", 0.0 * mean, 0.0 * mean + 1.0))

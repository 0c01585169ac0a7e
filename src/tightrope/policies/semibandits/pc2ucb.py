"""PC2UCB: C2UCB whose optimism is perturbed for each arm on its own, so that one set explores
several clusters.

When to use it: sets from a catalogue with large groups of similar arms, few rounds.
Bound: as C2UCB for c = O(1) and alpha = "theory" (Takemura & Ito 2019, Theorem 3).
Source: Takemura & Ito 2019, Algorithm 1: scores theta'x + (1 + u_i) alpha ||x||_{V^-1}, u_i ~ U[0,
c] fresh per arm and round. Where whole clusters tie exactly, C2UCB(ties="random") gains nearly as
much; where they do not, only the perturbation mixes them.
Deviations: by default alpha is `width` times the learned noise and the regression has a constant
column; as printed with alpha a number or "theory".
Per round: O(N d^2 / 2), N uniform draws and the oracle.
"""

from ...core.fields import real
from ...core.policy import policy
from .sets import Optimistic, Scoring, best_set, predictions, width_factor

WIDTH = 1.25  # standard errors; the perturbation adds half of it on average


@policy(
    "sets",
    paper="Takemura & Ito 2019, Algorithm 1",
    compiled=False,
    examples=(
        {},
        {"alpha": 1.0},
    ),
)
class PC2UCB(Optimistic):
    """C2UCB with arm-wise perturbed widths.

    Parameters
    ----------
    alpha : number in [0, inf), or 'theory', or None (from width), default None
        As for C2UCB.
    width : number in [0, inf), default 1.25
        As for C2UCB.
    lam : number in (0, inf), default 1.0
        As for C2UCB.
    delta : number in (0, 1), default 0.1
        As for C2UCB.
    noise : number in [0, inf), or None (learned), default None
        As for C2UCB.
    theta_bound : number in [0, inf), default 1.0
        As for C2UCB.
    ties : 'index' or 'random', default 'index'
        As for C2UCB.
    intercept : True, False, or None (where alpha is), default None
        As for C2UCB.
    c : number in [0, inf), default 1.0
        Largest relative perturbation, >= 0; 0 is C2UCB.
    """

    width: float = real(default=WIDTH, least=0)
    c: float = real(default=1.0, least=0)

    def select(self, state, context, rng):
        mean, width, solved = predictions(state, context)
        width *= width_factor(self, state, solved)
        scores = perturbed(self, mean, width, rng.random(mean.size))
        return best_set(state, context, scores, self.ties, rng, solved.zero)

    def _scoring(self, state, context, rng):
        mean, width, solved = predictions(state, context)
        width *= width_factor(self, state, solved)

        def draw(draws):
            return perturbed(self, mean, width, rng.random((draws, mean.size)))

        return Scoring(
            mean, width, None, draw, ("uniform", mean + width, self.c * width), solved.zero
        )


def perturbed(policy, mean, width, uniform):
    """theta'x + (1 + c u_i) alpha w, u_i ~ U[0, 1], in place of the u_i."""
    uniform *= policy.c
    uniform += 1.0
    uniform *= width
    uniform += mean
    return uniform

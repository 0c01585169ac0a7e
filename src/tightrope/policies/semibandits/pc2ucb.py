"""PC2UCB: C2UCB whose optimism is perturbed for each arm on its own, so that one set explores several clusters.

When to use it: sets from a catalogue with large groups of similar arms, few rounds.
Bound: as C2UCB for c = O(1) and alpha = "theory" (Takemura & Ito 2019, Theorem 3).
Source: Takemura & Ito 2019, Algorithm 1: scores theta'x + (1 + u_i) alpha ||x||_{V^-1}, u_i ~ U[0, c] fresh per arm and round.
Where whole clusters tie exactly, C2UCB(ties="random") gains nearly as much; where they do not, only the perturbation mixes them.
Per round: O(N d^2 / 2), N uniform draws and the oracle.
"""

from ...parameters import policy, real
from ...verbs import admit, explain, grow, init, propensity, select, update
from ._sets import (
    Optimistic,
    Scoring,
    admit_features,
    best_set,
    inclusion,
    learn_set,
    longer_state,
    new_state,
    predictions,
    report,
    width_factor,
)


@policy("sets", paper="Takemura & Ito 2019, Algorithm 1", compiled=False)
class PC2UCB(Optimistic):
    """C2UCB with arm-wise perturbed widths.

    alpha, lam, delta, noise, theta_bound, ties: as for C2UCB. c: largest relative perturbation, >= 0; 0 is C2UCB.
    """

    c: float = real(1.0, least=0)


def perturbed(policy, mean, width, rng):
    """theta'x + (1 + u_i) alpha w."""
    return mean + (1 + policy.c * rng.random(mean.size)) * width


@init.register(PC2UCB)
def init_pc2ucb(policy, arms):
    return new_state(arms, policy.lam)


@select.register(PC2UCB)
def select_pc2ucb(policy, state, context, rng):
    mean, width = predictions(state, context)
    return best_set(state, context, perturbed(policy, mean, width_factor(policy, state) * width, rng), policy.ties, rng)


@update.register(PC2UCB)
def update_pc2ucb(policy, state, context, action, reward):
    return learn_set(state, context, action, reward)


def scoring(policy, state, context, rng):
    """This round's scores, as `select` makes them."""
    mean, width = predictions(state, context)
    width *= width_factor(policy, state)

    def draw():
        return perturbed(policy, mean, width, rng)

    return Scoring(mean, width, draw(), draw, ("uniform", mean + width, policy.c * width))


@propensity.register(PC2UCB)
def propensity_pc2ucb(policy, state, context, action, rng):
    return inclusion(policy, state, context, action, scoring(policy, state, context, rng), rng)


admit.register(PC2UCB)(admit_features)


@grow.register(PC2UCB)
def grow_pc2ucb(policy, state, arms):
    return longer_state(state, arms)


@explain.register(PC2UCB)
def explain_pc2ucb(policy, state, context, rng):
    return report(policy, state, context, scoring(policy, state, context, rng), rng)


def example():
    return [PC2UCB()]

"""RAGE: elimination in rounds of doubling accuracy, each with the optimal design for the arms still
in play.

When to use it: many arms and small gaps, where its sample complexity is optimal up to a factor of
log(1 / gap); decisions come in few large batches. Today's stronger baseline for LinGapE.
Guarantee: the named arm is the best (up to epsilon) with probability >= 1 - delta, noise
sub-Gaussian with scale `noise`.
Source: Fiez, Jain, Jamieson, Ratliff 2019, "Sequential experimental design for transductive linear
bandits", Algorithm 1 with the arms as measurements and items: in phase t, N_t = ceil(8 (2^{t+1})^2
rho_t (1 + rounding) ln(K^2 / delta_t)) samples.
Deviations: N_t is scaled by noise^2; delta_t = delta / (t (t + 1)), so that the phases add up to
delta; shares are rounded up (at most K samples more than N_t), at least one for every arm; an arm
within epsilon of the apparent best may go.
O(K) a round; at the end of a phase a design, O(K^2 d^2) an iteration: with d = 20 in 0.2 s for 100
arms, 1.6 s for 200 and 5 s for 400, so that beyond some hundred arms LinGapE and FrankWolfeSampling
are what to take.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Extended, Finite, Flag, real, scale_bound
from ...core.policy import policy
from ...numerics.counts import argmax, one_hot
from ...solvers.programs import (
    MOST_ITERATIONS,
    Workspace,
    design_kernel,
    new_workspace,
    pair_directions,
)
from .models import (
    PairRidge,
    checked_features,
    coordinates,
    count_reward,
    drop_data,
    new_pair_ridge,
    refactorise,
)
from .stopping import (
    NO_ESTIMATES,
    Answer,
    Certifying,
    eliminate,
    leads_over_survivors,
    new_answer,
    report,
    support,
)

ACCURACY = 0.01  # of the designs: far below `rounding`


@policy(
    "features",
    paper="Fiez, Jain, Jamieson, Ratliff 2019, Algorithm 1",
    stops=True,
    examples=({"epsilon": 0.1, "delta": 0.1, "noise": 0.3},),
)
class RAGE(Certifying):
    """Phase t measures all differences of survivors to accuracy 2^-(t+1) by an optimal design and
    drops who is clearly beaten.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        As for LinGapE.
    delta : number in (0, 1), default 0.05
        As for LinGapE.
    noise : number in (0, inf), default 1.0
        As for LinGapE.
    rounding : number in [0, inf), default 0.1
        Allowance of the paper's rounding procedure, which enlarges N_t.
    """

    noise: float = scale_bound(default=1.0, above=0)
    rounding: float = real(default=0.1, least=0)

    class State(NamedTuple):
        model: PairRidge  # of this phase
        plan: Extended  # (K,) samples of this phase still to take
        survivors: Flag  # (K,) bool
        wanted: Flag  # (M,) bool: pairs of survivors
        directions: Finite  # (M, d)
        work: Workspace
        answer: Answer  # (1,) of the last phase, `phase` t and `value`, the rho_t of its design

    def init(self, arms):
        start = coordinates(checked_features(arms, self.epsilon, "RAGE"), 0.0)
        (K, d), Y = start.features.shape, pair_directions(start.features)
        state = self.State(
            new_pair_ridge(start),
            np.zeros(K),
            np.ones(K, dtype=np.bool_),
            np.ones(len(Y), dtype=np.bool_),
            Y,
            new_workspace(K, len(Y), d),
            new_answer(certified=K == 1, phase=0.0, value=0.0),
        )
        if K > 1:
            begin_phase(self, state)
        return state

    @jit
    def select(self, state, context, rng):
        return argmax(state.plan, context.eligible)

    @jit
    def update(self, state, context, action, reward):
        count_reward(state.model, action, reward)
        state.plan[action] = max(state.plan[action] - 1.0, 0.0)
        if not state.answer[0]["certified"]:
            left = 0.0
            for a in range(state.plan.shape[0]):
                left += state.plan[a]
            if left == 0.0:
                end_phase(self, state)
        return state

    def evidence(self, state):
        model, answer = state.model, state.answer[0]
        if answer["phase"] == 1 and not answer["certified"]:  # no phase has ended
            return NO_ESTIMATES

        # an arm that far behind goes in the first phase t with 2^-(t + 2) below its gap; as many
        # arms stay as now
        def left():
            least = (
                leads_over_survivors(model, state.survivors, answer["leader"]).min() + self.epsilon
            )
            t, samples = answer["phase"], state.plan.sum()
            while 2.0 ** -(t + 2.0) >= least > 0.0:
                t += 1.0
                samples += phase_size(self, state, t)
            return samples if least > 0.0 else math.inf

        return support(self, state, model.mean, model.pair_square[answer["leader"]], left)

    def explain(self, state, context, rng):
        model, answer = state.model, state.answer[0]
        known = bool(answer["phase"] > 1 or answer["certified"])
        C = self.noise * math.sqrt(2.0 * confidence(self, state, max(answer["phase"], 1.0)))
        probability = one_hot(self.select(state, context, rng), state.plan.size)
        return (
            report(model.mean, C, np.diag(model.product), state.plan, probability, known)
            | self.evidence(state)
            | {
                "leader": int(answer["leader"]),
                "survivors": state.survivors.copy(),
                "phase": int(answer["phase"]),
                "design": state.work.shares.copy(),
            }
        )


@lean
def confidence(policy, state, t):
    """ln(K^2 / delta_t)."""
    K = state.plan.shape[0]
    return math.log(K * K * t * (t + 1.0)) - math.log(policy.delta)


@lean
def phase_size(policy, state, t):
    rho = state.answer[0]["value"]
    return math.ceil(
        8.0
        * 4.0 ** (t + 1.0)
        * rho
        * policy.noise**2
        * (1.0 + policy.rounding)
        * confidence(policy, state, t)
    )


@lean
def begin_phase(policy, state):
    work, answer = state.work, state.answer[0]
    answer["phase"] += 1.0
    value, _ = design_kernel(
        state.model.features, state.directions, state.wanted, work, ACCURACY, MOST_ITERATIONS
    )
    answer["value"] = value
    size = phase_size(policy, state, answer["phase"])
    for a in range(state.plan.shape[0]):
        state.plan[a] = max(math.ceil(size * work.shares[a]), 1.0)
    drop_data(state.model)


@lean
def end_phase(policy, state):
    survivors, answer = state.survivors, state.answer[0]
    refactorise(state.model)
    C = policy.noise * math.sqrt(2.0 * confidence(policy, state, answer["phase"]))
    eliminate(state.model, answer, survivors, C, policy.epsilon)
    pair = 0
    for i in range(survivors.shape[0]):
        for j in range(i):
            state.wanted[pair] = survivors[i] and survivors[j]
            pair += 1
    if not answer["certified"]:
        begin_phase(policy, state)

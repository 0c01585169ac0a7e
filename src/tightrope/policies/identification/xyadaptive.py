"""XY-adaptive allocation: XY-static in phases, each for the arms that the phase before could not
rule out.

When to use it: as the baseline of Xu, Honda, Sugiyama 2018, where it needs more samples than
XY-static.
Guarantee: each phase's comparisons are right with probability >= 1 - delta (Proposition 1); delta
is not shared among phases, as in the paper.
Source: Soare, Lazaric, Munos 2014, Algorithm 2; Xu, Honda, Sugiyama 2018, Eq 6.
Deviations: every arm is pulled once at the start of a phase instead of a ridge parameter; the first
phase is measured against the width after those pulls unless `first_width` says otherwise (1 in
Algorithm 2); ties at random. `epsilon` > 0 also rules out arms that are not better than the best by
more.
O(K^3) a round at most, less where the search is cut short; O(K^3) at the end of a phase.
"""

import math
from typing import NamedTuple

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.fields import Flag, Given, real, scale_bound
from ...core.policy import policy
from .models import PairRidge, checked_features, coordinates, drop_data, learn, new_pair_ridge
from .sampling import shrinking_probability, unpulled_or_shrinking
from .stopping import (
    SQRT8,
    Answer,
    Certifying,
    eliminate,
    leads_over_survivors,
    new_answer,
    report,
    static_radius,
    support,
)


@policy(
    "features",
    paper="Soare, Lazaric, Munos 2014, Algorithm 2",
    stops=True,
    examples=({"epsilon": 0.1, "delta": 0.1, "noise": 0.3},),
)
class XYAdaptive(Certifying):
    """XY-static among the survivors, phase by phase; every phase forgets the data of the phase
    before.

    Parameters
    ----------
    epsilon : number in [0, inf), default 0.0
        As for XYStatic.
    delta : number in (0, 1), default 0.05
        As for XYStatic.
    noise : number in (0, inf), default 1.0
        As for XYStatic.
    alpha : number in (0, 1), default 0.1
        A phase ends when the widest surviving difference has shrunk to this share of its value at
        the end of the phase before.
    constant : number in (0, inf), default 2.8284271247461903
        As for XYStatic.
    first_width : number in (0, inf), or None (the widest after one pull of every arm), default None
        The squared width that the first phase is measured against; None: the widest after one pull
        of every arm.
    """

    noise: float = scale_bound(default=1.0, above=0)
    alpha: float = real(default=0.1, above=0, below=1)
    constant: float = real(default=SQRT8, above=0)
    first_width: Given[float | None, float] = real(
        default=None, above=0, none="the widest after one pull of every arm"
    )

    class State(NamedTuple):
        model: PairRidge  # of this phase
        survivors: Flag  # (K,) bool
        # (1,) of the last phase, `target` width of this one (-1: not set) and `phase`, how many
        # have ended
        answer: Answer

    def init(self, arms):
        start = coordinates(checked_features(arms, self.epsilon, "XYAdaptive"), 0.0)
        K = len(start.features)
        target = -1.0 if math.isnan(self.first_width) else self.alpha * self.first_width
        return self.State(
            new_pair_ridge(start),
            np.ones(K, dtype=np.bool_),
            new_answer(certified=K == 1, target=target, phase=0.0),
        )

    @jit
    def select(self, state, context, rng):
        return unpulled_or_shrinking(state.model, state.survivors, context.eligible, rng)

    @jit
    def update(self, state, context, action, reward):
        model, answer = state.model, state.answer[0]
        learn(model, action, reward)
        if model.progress[0]["unpulled"] == 0.0 and not answer["certified"]:
            top = widest(model.pair_square, state.survivors)
            if answer["target"] < 0.0:
                answer["target"] = self.alpha * top
            if top <= answer["target"]:
                end_phase(self, state, top)
        return state

    def evidence(self, state):
        model, answer = state.model, state.answer[0]
        if model.progress[0]["unpulled"] > 0 and not answer["certified"]:
            return {
                "gap_bound": float(answer["bound"]),
                "error": 1.0,
                "samples_remaining": math.inf,
            }

        # the widest difference shrinks like 1 / n; phases go on until the bound fits into the
        # smallest gap
        def left():
            n, K, target = model.progress[0]["rounds"], model.mean.size, answer["target"]
            least = (
                leads_over_survivors(model, state.survivors, answer["leader"]).min() + self.epsilon
            )
            top, C = widest(model.pair_square, state.survivors), static_radius(self, n, K)
            samples = max(top / target - 1.0, 0.0) * n
            while C * math.sqrt(target) > least > 0.0:
                target *= self.alpha
                samples += n * top / target
            return math.ceil(samples) if least > 0.0 else math.inf

        return support(self, state, model.mean, model.pair_square[answer["leader"]], left)

    def propensity(self, state, context, action, rng):
        return float(
            shrinking_probability(state.model, state.survivors, context.eligible)[1][action]
        ), 0.0

    def explain(self, state, context, rng):
        model, answer, known = (
            state.model,
            state.answer[0],
            state.model.progress[0]["unpulled"] == 0,
        )
        C = static_radius(self, model.progress[0]["rounds"], model.mean.size) if known else math.inf
        index, probability = shrinking_probability(model, state.survivors, context.eligible)
        return (
            report(model.mean, C, np.diag(model.product), index, probability, known)
            | self.evidence(state)
            | {
                "leader": int(answer["leader"]),
                "survivors": state.survivors.copy(),
                "phase": int(answer["phase"]) + 1,
            }
        )


@lean
def widest(squares, among):
    """The largest squared width of a difference of the arms in `among`."""
    top = 0.0
    for i in range(squares.shape[0]):
        for j in range(i):
            if among[i] and among[j]:
                top = max(top, squares[i, j])
    return top


@lean
def end_phase(policy, state, top):
    """Who survives, judged anew for all arms from this phase's data; then forget them. top: the
    widest difference."""
    model, answer = state.model, state.answer[0]
    for j in range(state.survivors.shape[0]):
        state.survivors[j] = True
    C = static_radius(policy, model.progress[0]["rounds"], model.mean.shape[0])
    eliminate(model, answer, state.survivors, C, policy.epsilon)
    answer["target"] = policy.alpha * top
    answer["phase"] += 1.0
    if not answer["certified"]:
        drop_data(model)

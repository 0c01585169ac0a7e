"""The stop of Algorithm 2 of Xu, Honda, Sugiyama 2018, which fits every sampling rule: LinGapE, Uniform and the linear games share it."""

from typing import Any

import numpy as np

from ...compiled.kernels import lean
from ...core.fields import flag, real, scale_bound
from ...core.types import Explanation
from ...core.verbs import evidence
from ...numerics.selection import argmax
from .forecast import forecast, least_squares_means
from .gap_ridge import measure_from
from .stopping import NO_ESTIMATES, Answering, Question, compare_with_leader, gap_radius, report, settle, support


class GapStop(Answering):
    """Parameters of policies with this stop, and the grounds of their answer."""

    epsilon: float = real(default=0.0, least=0)
    delta: float = real(default=0.05, above=0, below=1)
    lam: float = real(default=1.0, above=0)
    noise: float = scale_bound(default=1.0, above=0)
    theta_bound: float = real(default=1.0, least=0)
    union: bool = flag(default=True)

    def evidence(self, state):
        return gap_evidence(self, state)


@lean
def decide(policy, state):
    """Leader i, challenger j, C and B (Eqs 3 and 8); certified once B <= epsilon. O(K), or O(K d^2) for a new leader."""
    model, answer = state.model, state.answer[0]
    i = argmax(model.mean, None)
    measure_from(model, i)
    C = gap_radius(policy, model.progress[0]["log_det"], model.mean.shape[0])
    checksum = compare_with_leader(answer, model.mean, model.gap_square, i, C)
    settle(answer, checksum, answer["bound"] <= policy.epsilon)


def gap_evidence(policy: Question, state: Any, shares: np.ndarray | None = None) -> dict[str, float]:
    """`evidence` under this stop. shares: (K,) if the policy samples in fixed shares."""
    model = state.model
    if model.progress[0]["unpulled"] > 0:
        return NO_ESTIMATES

    def left() -> float:
        mean = least_squares_means(model)
        return forecast(
            model, mean, int(np.argmax(mean)), policy.epsilon, lambda log_det, pulls: gap_radius(policy, log_det, mean.size), shares
        )

    return support(policy, state, model.mean, model.gap_square, left)


def gap_report(policy: Question, state: Any, index: np.ndarray, probability: np.ndarray) -> Explanation:
    """`explain` under this stop. index: (K,) what the sampling rule compares; probability: (K,) of every arm to be sampled now."""
    model, answer = state.model, state.answer[0]
    known = model.progress[0]["unpulled"] == 0
    return report(model.mean, answer["radius"], model.square, index, probability, known) | evidence(policy, state) | {
        "leader": int(answer["leader"]), "challenger": int(answer["challenger"]), "radius": float(answer["radius"]),
    }  # fmt: skip

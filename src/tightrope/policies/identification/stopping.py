"""Stopping rules and what they leave: the arm named, the bound B on how much better another may be, whether that is certified.

A bound is only compared with epsilon if every number that went into it is finite; comparisons with NaN are false and would
certify anything. Otherwise the answer is marked as broken: the loop ends, `recommend` raises, and a session refuses to go on.
Kernels that run every round do not raise themselves: it would keep Numba from leaving out reference counts, up to 0.3 us a round.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, Protocol, TypeAlias

import numpy as np

from ...compiled.kernels import jit, lean
from ...core.kinds import ArmIndex, Record
from ...core.policy import Policy
from ...numerics.counts import intervals
from ...numerics.radii import determinant_radius, static_factor

SQRT8 = 2.0 * math.sqrt(2.0)  # the constant of the static bound

ANSWER = [
    ("leader", "i8"),  # i, the arm that would be named now
    ("challenger", "i8"),  # j, its most ambiguous rival
    ("radius", "f8"),  # C, what ||x_i - x_j||_{A^-1} is multiplied by
    ("bound", "f8"),  # B, the most by which another arm may be better than the leader; infinite before there are estimates
    ("certified", "?"),  # whether the leader is the answer
    ("broken", "?"),  # whether an estimate or width is not finite, so that there is no answer
]
Answer: TypeAlias = Annotated[np.ndarray, Record(leader=ArmIndex, challenger=ArmIndex)]
BROKEN = (
    "an estimated mean or a confidence width is not a finite number of six digits, so no arm can be named; pass "
    "tightrope.scale(X).features instead of features X of very different sizes, and bring rewards to a common size."
)


class Question(Protocol):
    """An identification policy, as far as what it asks goes."""

    epsilon: float  # how much worse than the best the named arm may be
    delta: float  # how likely a certified answer may be wrong
    noise: float  # sub-Gaussian scale of the rewards


class Answering(Policy):
    """The base of policies that write an ANSWER into `state.answer`: when they have stopped, the arm they name, when they refuse."""

    @jit
    def stopped(self, state):
        """A broken answer ends the run, too, and `recommend` then raises."""
        answer = state.answer[0]
        return answer["certified"] or answer["broken"]

    @jit
    def recommend(self, state):
        if state.answer[0]["broken"]:
            raise ValueError(BROKEN)
        return state.answer[0]["leader"]

    def tolerance(self):
        return float(self.epsilon)  # a parameter of each of them

    def admit(self, state, context):
        refuse_broken(state)


def refuse_broken(state: Any) -> None:
    if state.answer[0]["broken"]:
        raise ValueError(BROKEN)


def new_answer(leader: int = 0, certified: bool = False, **more: float) -> np.ndarray:
    """(1,) record: an answer without data. more: further numbers that a policy keeps beside it."""
    answer = np.zeros(1, dtype=[(name, "f8") for name in more] + ANSWER)
    answer["leader"], answer["radius"], answer["bound"], answer["certified"] = leader, math.inf, math.inf, certified
    for name, value in more.items():
        answer[name] = value
    return answer


@lean
def settle(answer, checksum, within):
    """Certify if the bound is within epsilon and a sum of all means and widths that decide is finite."""
    answer["broken"] = not math.isfinite(checksum)
    answer["certified"] = within and not answer["broken"]


@lean
def gap_radius(policy, log_det, K):
    """C of Xu, Honda, Sugiyama 2018, Eq 3; log_det is that of A / lam."""
    return determinant_radius(policy.noise, policy.delta / (K * K if policy.union else 1), log_det, policy.lam, policy.theta_bound)


@lean
def static_radius(policy, rounds, K):
    """The factor of Proposition 1 of Soare, Lazaric, Munos 2014 for a sequence of arms fixed in advance."""
    return static_factor(policy.constant, policy.noise, rounds, K, policy.delta)


@lean
def compare_with_leader(answer, mean, squares, i, C):
    """Write i, C, j = argmax_{j != i} [mean_j - mean_i + C sqrt(squares_j)] and its value B, -inf if there is no other arm. O(K).

    Returns the sum of all numbers that decided.
    """
    j, bound, checksum = i, -math.inf, C
    for k in range(mean.shape[0]):
        if k != i:
            value = mean[k] - mean[i] + C * math.sqrt(squares[k])
            checksum += value
            if value > bound:
                j, bound = k, value
    answer["leader"], answer["challenger"], answer["radius"], answer["bound"] = i, j, C, bound
    return checksum


def error_estimate(mean: np.ndarray, squares: np.ndarray, leader: int, epsilon: float, noise: float) -> float:
    """Estimated probability that the leader is worse than the best arm by more than epsilon.

    A union over the other arms of Gaussian tails, sum_j P(N(gap_j, noise^2 squares_j) < -epsilon), at most 1; unlike delta it
    does not correct for looking at every round. mean: (K,); squares: (K,) squared widths of x_leader - x_j.
    """
    total = 0.0
    for j in range(mean.size):
        if j != leader:
            lead = mean[leader] - mean[j] + epsilon
            scale = noise * math.sqrt(squares[j])
            total += 0.5 * math.erfc(lead / (scale * math.sqrt(2.0))) if scale > 0 else float(lead < 0)
    return min(total, 1.0)


NO_ESTIMATES = {"gap_bound": math.inf, "error": 1.0, "samples_remaining": math.inf}


def support(
    policy: Question, state: Any, mean: np.ndarray, squares: np.ndarray, samples_remaining: Callable[[], float]
) -> dict[str, float]:
    """`evidence` of a policy that has estimates. samples_remaining: forecast, called only where the answer is not certified."""
    answer = state.answer[0]
    left = 0.0 if answer["certified"] else float(samples_remaining())
    error = error_estimate(mean, squares, int(answer["leader"]), policy.epsilon, policy.noise)
    return {"gap_bound": float(answer["bound"]), "error": error_of_answer(policy, answer, error), "samples_remaining": left}


def error_of_answer(policy: Question, answer: Any, estimate: float) -> float:
    """An estimate of the error, but no more than delta where the answer is certified: the proof knows better."""
    return min(estimate, policy.delta) if answer["certified"] else estimate


def report(
    mean: np.ndarray, radius: float, square: np.ndarray, index: np.ndarray, probability: np.ndarray, known: bool
) -> dict[str, np.ndarray]:
    """The per-arm part of an explanation, of width radius sqrt(square); without estimates the intervals are infinite."""
    width = radius * np.sqrt(square) if known else np.full(mean.size, math.inf)
    return intervals(np.where(known, mean, math.nan), width) | {"index": index.copy(), "probability": probability}

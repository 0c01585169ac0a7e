"""In which proportions to sample arms without features, so that the evidence against all rivals of the best one grows alike and fast.

Garivier, Kaufmann 2016, section 2.2. Per pull of the best arm, x pulls of rival a give the evidence
g_a(x) = inf_m d(mu_1, m) + x d(mu_a, m + epsilon), which rises from 0; x_a(y) is its inverse. Proportions in which all g_a equal y are
optimal where sum_a d(mu_1, m_a) / d(mu_a, m_a + epsilon) = 1 (their Theorem 5; epsilon enters by the envelope theorem). For a given share
beta of the best arm they are those with sum_a x_a = (1 - beta) / beta (Russo 2020). Both sums rise with y. The outer unknown is x of
the best rival, which is at least that of any other, so that nothing infinite has to be bracketed.
"""

import math

from ...compiled.kernels import lean
from ...numerics.kl import bernoulli_divergence, bernoulli_divergence_close
from .chernoff import MOST_STEPS, meeting_point

PRECISION = 1e-13
TOLERANCE = 1e-11  # relative, of the pulls of a rival per pull of the best arm
SHORTEST, LONGEST = 1e-6, 1e12  # at means 0 and 1 some arms need no pulls


@lean
def apart(x, y):
    """d(x, y) of Bernoulli arms for x <= y, to many digits also where they are near each other."""
    if y >= 1.0:
        return bernoulli_divergence(x, y)
    return bernoulli_divergence_close(x, y) if x < y else 0.0


@lean
def inverse_evidence(p, q, epsilon, y, most):
    """x in [0, most] with g(x) = y of Bernoulli arms: Newton's steps on a concave function, which rise to the root from where the tangent
    at 0 reaches y; a bisection where they leave the bracket."""
    low, high, first = 0.0, most, apart(q, p + epsilon)
    x = min(y / first, most) if 0.0 < first < math.inf else most
    for _ in range(MOST_STEPS):
        m = meeting_point(p, 1.0, q, x, epsilon)
        slope = apart(q, m + epsilon)
        excess = apart(1.0 - p, 1.0 - m) + x * slope - y
        if excess > 0.0:
            high = x
        else:
            low = x
        new = x - excess / slope if 0.0 < slope < math.inf else -1.0
        if abs(new - x) <= PRECISION * most:
            break
        x = new if low < new < high else 0.5 * (low + high)
    return x


@lean
def fill_pulls(policy, mean, best, rival, x, shares):
    """Fill shares with pulls of every arm per pull of the best one when the best rival has x; returns (their sum over rivals, the sum
    of d(mu_1, m_a) / d(mu_a, m_a + epsilon))."""
    total, balance, p, epsilon = 0.0, 0.0, mean[best], policy.epsilon
    y = 0.0
    if policy.rewards == 0:
        m = meeting_point(p, 1.0, mean[rival], x, epsilon)
        y = apart(1.0 - p, 1.0 - m) + x * apart(mean[rival], m + epsilon)
    for a in range(mean.shape[0]):
        if a == best:
            shares[a] = 1.0
            continue
        if policy.rewards == 0:
            pulls = x if mean[a] == mean[rival] else inverse_evidence(p, mean[a], epsilon, y, x)
            m = meeting_point(p, 1.0, mean[a], pulls, epsilon)
            slope = apart(mean[a], m + epsilon)
            balance += apart(1.0 - p, 1.0 - m) / slope if slope > 0.0 else math.inf
        else:
            ratio = (p - mean[a] + epsilon) / (p - mean[rival] + epsilon)
            pulls = x / (ratio * ratio * (1.0 + x) - x)
            balance += pulls * pulls
        shares[a] = pulls
        total += pulls
    return total, balance


@lean
def fill_shares(policy, mean, best, share, shares):
    """Fill shares with the optimal proportions, or with the optimal ones among those that give the best arm this share > 0.

    Where rivals are as good as the best arm (epsilon = 0), they share all samples with it. O(K) a step of about 40 bisections.
    """
    K, rival = mean.shape[0], -1
    for k in range(K):
        if k != best and (rival < 0 or mean[k] > mean[rival]):
            rival = k
    if rival < 0 or mean[best] - mean[rival] + policy.epsilon <= 0.0:
        equals = 0.0
        for k in range(K):
            shares[k] = 1.0 if mean[k] >= mean[best] else 0.0
            equals += shares[k]
        for k in range(K):
            shares[k] /= equals
        return
    low, high = 0.0, 1.0
    while high < LONGEST:
        total, balance = fill_pulls(policy, mean, best, rival, high, shares)
        if (balance >= 1.0) if share == 0.0 else (total * share >= 1.0 - share):
            break
        low, high = high, 2.0 * high
    while high - low > TOLERANCE * max(high, SHORTEST):
        x = 0.5 * (low + high)
        total, balance = fill_pulls(policy, mean, best, rival, x, shares)
        if (balance >= 1.0) if share == 0.0 else (total * share >= 1.0 - share):
            high = x
        else:
            low = x
    total, balance = fill_pulls(policy, mean, best, rival, high, shares)
    for k in range(K):
        shares[k] /= 1.0 + total

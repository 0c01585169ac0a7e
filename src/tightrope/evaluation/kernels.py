"""Compiled passes over rows: what every estimator sums, the scores of the confidence sequences, the regression's sums.

Rewards and model are scaled to [0, 1] here. Nothing is allocated.
"""

import math

from ..compiled.kernels import jit

# Places in `sums`.
ROUNDS, ROWS, W, WW, WR, WWR, WWRR, LARGEST, MASS, H, HH, HG, HHG, HHGG, MATCHED = range(15)
SUMS = 15
# Rows of `moments`, whose columns are the mean and the sum of squared deviations of a score by round.
IPS, CLIPPED, DM, DR, SWITCH = range(5)
MOMENTS = 5


@jit
def score(
    arm, reward, propensity, target, logged, model, least, known, starts, size, k, clip, sums, moments, mass, astray, lower, upper,
    weight, square,
):  # fmt: skip
    """Add rows to the sums of one target, fill the scores of its rounds, and return the number of rounds.

    target, model, least: (m, K) probabilities of the target, predicted rewards, and what the logger's probabilities were at least.
    logged: the target is the logger itself; then `target` holds the propensity of the played arm, `model` and `least` are 0. known:
    whether `least` is exactly the logger's probabilities. starts: (m,) whether a row begins a round. size: arms of the largest set.
    k: lower bound -k of the scores. mass, astray: (K,) sums of the target's probabilities, and of those where the logger's were 0.
    lower, upper: (m,) out, phi^L and phi^U of the round over `size`. weight, square: (m,) out, sums of w and w^2 in the round.
    """
    m, K = target.shape
    i = rounds = 0
    while i < m:
        expected = total = spread = shift_low = shift_high = 0.0
        for a in range(K):
            p = target[i, a]
            if p > 0.0:
                r, h = model[i, a], least[i, a]
                total += p
                if not logged:
                    mass[a] += p
                expected += p * r
                shift_low += min(p * r, k * h)
                shift_high += min(p * (1.0 - r), k * h)
                if h > 0.0:
                    spread += p * p / h
                elif known:
                    astray[a] += p
        ips = clipped = correction = switched = 0.0
        low, high, w_sum, w_square = shift_low, shift_high, 0.0, 0.0
        j = i
        while j < m and (j == i or not starts[j]):
            a, R, h = arm[j], reward[j], propensity[j]
            p, r, floor = target[j, a], model[j, a], least[j, a]
            w = p / h
            ips += w * R
            clipped += min(w, clip) * R
            correction += w * (R - r)
            if w <= clip:
                switched += w * (R - r)
            low += w * R - min(p * r, k * floor) / h
            high += w * (1.0 - R) - min(p * (1.0 - r), k * floor) / h
            w_sum += w
            w_square += w * w
            sums[WR] += w * R
            sums[WWR] += w * w * R
            sums[WWRR] += w * w * R * R
            sums[LARGEST] = max(sums[LARGEST], w)
            if p >= 1.0 - 1e-6:
                sums[MATCHED] += 1.0
            if logged:
                mass[a] += 1.0
            j += 1
        if logged:
            total, spread = float(j - i), 1.0
        sums[ROWS] += j - i
        sums[ROUNDS] += 1.0
        sums[W] += w_sum
        sums[WW] += w_square
        sums[MASS] += total
        n = sums[ROUNDS]
        add(moments, IPS, ips, n)
        add(moments, CLIPPED, clipped, n)
        add(moments, DM, expected, n)
        add(moments, DR, expected + correction, n)
        add(moments, SWITCH, expected + switched, n)
        if (known or logged) and spread > 0.0:
            g, e = expected + correction, 1.0 / spread
            root = math.sqrt(e)
            sums[H] += root
            sums[HH] += e
            sums[HG] += root * g
            sums[HHG] += e * g
            sums[HHGG] += e * g * g
        lower[rounds] = low / size
        upper[rounds] = high / size + 1.0 - total / size
        weight[rounds], square[rounds] = w_sum, w_square
        rounds += 1
        i = j
    return rounds


@jit
def add(moments, place, value, n):
    """Welford's step: the mean of n values and the sum of their squared deviations."""
    before = value - moments[place, 0]
    moments[place, 0] += before / n
    moments[place, 1] += before * (value - moments[place, 0])


@jit
def advance(scores, first, n, k, state, times, place, out):
    """Add scores first .. n - 1 to a sequence's state (t, sum of xi, V), and copy it to `out` at the given times; returns the next place.

    times: (c,) increasing rounds. place: of the first that is still to come. out: (c, 3).
    """
    scale, most = 1.0 / (1.0 + k), 1.0 / (1.0 + k)
    t, total, variance = state[0], state[1], state[2]
    for i in range(first, n):
        xi = scores[i] * scale
        guess = 0.0
        if t > 0.0:
            guess = min(total / t, most)
        variance += (xi - guess) * (xi - guess)
        total += xi
        t += 1.0
        if place < times.shape[0] and t == times[place]:
            out[place, 0], out[place, 1], out[place, 2] = t, total, variance
            place += 1
    state[0], state[1], state[2] = t, total, variance
    return place


@jit
def log_mixture_by_series(S, V, rho, constant):
    """ln M of the gamma-exponential mixture as ln 1F1(1; a + 1; a + S) - ln a + constant, a = V + rho: a sum of positive terms.

    constant: rho ln rho - rho - ln gamma(rho, rho). Infinite beyond what a float holds. O(S + sqrt(V)).
    """
    a = V + rho
    x = a + S
    term = total = 1.0
    i = 1.0
    while term > 1e-17 * total or a + i <= x:
        term *= x / (a + i)
        total += term
        i += 1.0
        if total > 1e290:
            return math.inf
    return math.log(total) - math.log(a) + constant


@jit
def boundary(V, rho, constant, threshold):
    """The S at which ln M = threshold, by Newton's method on a convex function, from above. threshold > 0."""
    a = V + rho
    S = math.sqrt(2.0 * a * threshold) + threshold
    for _ in range(60):
        value = log_mixture_by_series(S, V, rho, constant)
        if value == math.inf:
            S *= 0.5
            continue
        x = a + S
        slope = 1.0 - a / x + a / x * math.exp(-(value - constant + math.log(a)))
        step = (value - threshold) / slope
        S -= step
        if abs(step) <= 1e-10 * S:
            break
    return S


@jit
def first_crossing(scores, n, k, level, rho, constant, threshold, state, least, enough, weight, square, other, others):
    """Add n scores to a state (t, sum of xi, V, S that cannot be a crossing, round of the crossing or 0, sums of w and w^2 of two targets).

    A round is a crossing when M(level) >= exp(threshold) there: the value is above `level` at that confidence. Only rounds count in
    which the effective sample size of both targets is at least `least` and a share `enough` of the rounds. O(1) a round but where the
    sum sets a record: ln M falls in V and grows in S, so below the last boundary nothing needs to be computed.
    """
    scale, most = 1.0 / (1.0 + k), 1.0 / (1.0 + k)
    for i in range(n):
        xi = scores[i] * scale
        guess = 0.0
        if state[0] > 0.0:
            guess = min(state[1] / state[0], most)
        state[2] += (xi - guess) * (xi - guess)
        state[1] += xi
        state[0] += 1.0
        state[5] += weight[i]
        state[6] += square[i]
        state[7] += other[i]
        state[8] += others[i]
        S = state[1] - state[0] * level * scale
        if state[4] > 0.0 or state[3] > S:
            continue
        needed = max(least, enough * state[0])
        if state[5] * state[5] < needed * state[6] or state[7] * state[7] < needed * state[8]:
            continue
        edge = boundary(state[2], rho, constant, threshold)
        if edge <= S:
            state[4] = state[0]
        else:
            state[3] = edge


@jit
def add_products(arm, reward, features, begin, end, grams, products):
    """grams (K, q, q) += x x', products (K, q) += reward x, by arm, with x = (1, features of the row)."""
    q = grams.shape[1]
    for i in range(begin, end):
        a, r = arm[i], reward[i]
        grams[a, 0, 0] += 1.0
        products[a, 0] += r
        for u in range(1, q):
            x = features[i, u - 1]
            products[a, u] += r * x
            for v in range(u + 1):
                y = 1.0
                if v > 0:
                    y = features[i, v - 1]
                grams[a, u, v] += x * y


@jit
def predict_by_arm(features, begin, end, theta, out):
    """out[i, a] <- theta[a] . (1, features[i]), kept within [0, 1]."""
    K, q = theta.shape
    for i in range(begin, end):
        for a in range(K):
            value = theta[a, 0]
            for u in range(1, q):
                value += theta[a, u] * features[i, u - 1]
            out[i, a] = min(max(value, 0.0), 1.0)


@jit
def predict_shared(features, begin, end, theta, out):
    """out[i, a] <- theta . (1, features[i, a]), kept within [0, 1]."""
    K, q = features.shape[1], theta.shape[0]
    for i in range(begin, end):
        for a in range(K):
            value = theta[0]
            for u in range(1, q):
                value += theta[u] * features[i, a, u - 1]
            out[i, a] = min(max(value, 0.0), 1.0)

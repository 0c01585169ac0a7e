"""Compiled passes over rows: what every estimator sums, the scores of the confidence sequences, the regression's sums.

Values are those of the rewards as they are; only the scores of the sequences, and what is divided by the weights, are of rewards and
predictions scaled to [0, 1]. Nothing is allocated.
"""

import math

from ..compiled.kernels import jit

# Places in `sums`.
ROUNDS, ROWS, W, WW, WR, WWR, WWRR, LARGEST, MASS, H, HH, HG, HHG, HHGG, MATCHED, ABOVE, BELOW = range(17)
SUMS = 17
# Rows of `moments`, whose columns are the mean and the sum of squared deviations of a score by round.
IPS, CLIPPED, DM, DR, SWITCH = range(5)
MOMENTS = 5
LEAST = 1e-60  # a propensity below it counts as that much: squares of weights stay finite, and one such row is all there is to say
LARGE_VARIANCE = 1000.0  # V + rho from which the mixture has a closed form to twelve digits


@jit
def score(
    arm, reward, scaled, propensity, target, logged, model, bounded, least, known, starts, size, k, clip, ends, sums, moments, mass,
    astray, lower, upper, weight, square,
):  # fmt: skip
    """Add rows to the sums of one target, fill the scores of its rounds, and return the number of rounds.

    scaled: (m,) rewards in [0, 1]. target, model, bounded, least: (m, K) probabilities of the target, predicted rewards, the same in
    [0, 1], and what the logger's probabilities were at least.
    logged: the target is the logger itself; then `target` holds the propensity of the played arm, the other three are 0. known:
    whether `least` is exactly the logger's probabilities. starts: (m,) whether a row begins a round. size: arms of the largest set.
    k: lower bound -k of the scores. ends: the lowest and the highest reward that occurs. mass, astray: (K,) sums of the target's
    probabilities, and of those where the logger's were 0.
    lower, upper: (m,) out, phi^L and phi^U of the round over `size`. weight, square: (m,) out, sums of w and w^2 in the round.
    """
    m, K = target.shape
    i = rounds = 0
    while i < m:
        expected = total = spread = shift_low = shift_high = 0.0
        for a in range(K):
            p = target[i, a]
            if p > 0.0:
                r, h = bounded[i, a], least[i, a]
                total += p
                if not logged:
                    mass[a] += p
                expected += p * model[i, a]
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
            a, R, h = arm[j], reward[j], max(propensity[j], LEAST)
            p, r, floor = target[j, a], model[j, a], min(least[j, a], propensity[j])
            w = p / h
            if w > 0.0 and ends[0] < R:
                sums[ABOVE] += 1.0
            if w > 0.0 and ends[1] > R:
                sums[BELOW] += 1.0
            ips += w * R
            clipped += min(w, clip) * R
            correction += w * (R - r)
            if w <= clip:
                switched += w * (R - r)
            R, r = scaled[j], bounded[j, a]
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
def log_mixture(S, V, rho, constant):
    """ln M of the gamma-exponential mixture as ln 1F1(1; a + 1; a + S) - ln a + constant, a = V + rho: a sum of positive terms.

    constant: rho ln rho - rho - ln gamma(rho, rho). Infinite beyond what a float holds. From a = LARGE_VARIANCE on by Temme's expansion
    of the incomplete gamma function (DLMF 8.12.3, two terms), with S / a and the signed root of 2 (u - ln(1 + u)) as u and e. O(1).
    """
    a = V + rho
    x = a + S
    if a >= LARGE_VARIANCE:
        u = S / a
        half = S - a * math.log1p(u)
        if abs(u) < 1e-3:  # where the two would cancel
            half = S * u * (1.0 / 2.0 - u * (1.0 / 3.0 - u * (1.0 / 4.0 - u / 5.0)))
        e = math.copysign(math.sqrt(2.0 * half / a), u)
        first = -1.0 / 3.0 + e * (1.0 / 12.0 - e * (2.0 / 135.0 - e * (1.0 / 864.0 + e / 2835.0)))
        second = -1.0 / 540.0 - e * (1.0 / 288.0 - e / 378.0)
        if abs(e) > 0.1:
            first = 1.0 / u - 1.0 / e
            second = 1.0 / (e * e * e) - 1.0 / (u * u * u) - 1.0 / (u * u) - 1.0 / (12.0 * u)
        tail = math.exp(-half) / math.sqrt(2.0 * math.pi * a) * (first + second / a)
        below = 0.5 * math.erfc(-e * math.sqrt(0.5 * a)) - tail
        return half + 0.5 * math.log(2.0 * math.pi / a) + 1.0 / (12.0 * a) + math.log(below) + constant
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
        value = log_mixture(S, V, rho, constant)
        if value == math.inf:
            S *= 0.5
            continue
        x = a + S
        slope = S / x + a / x * math.exp(-(value - constant + math.log(a)))
        step = (value - threshold) / slope
        S -= step
        if abs(step) <= 1e-10 * S:
            break
    return S


@jit
def first_crossing(scores, n, k, level, rho, constant, threshold, state, least, enough, weight, square, other, others):
    """Add n scores to a state (t, sum of xi, V, S that cannot be a crossing, round of the crossing or 0, sums of w and w^2 of two targets).

    A round is a crossing when M(level) >= exp(threshold) there: the value is above `level` at that confidence. Only rounds count in
    which the effective sample size of both targets is at least `least` and a share `enough` of the rounds, so never one before both
    have a weight. O(1) a round, and mostly nothing: ln M falls in V and grows in S, so below the last boundary no new one is needed.
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
        enough_first = state[6] > 0.0 and state[5] * state[5] >= needed * state[6]
        if not (enough_first and state[8] > 0.0 and state[7] * state[7] >= needed * state[8]):
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
def predict_by_arm(features, begin, end, theta, low, high, out):
    """out[i, a] <- theta[a] . (1, features[i]), kept within [low, high]."""
    K, q = theta.shape
    for i in range(begin, end):
        for a in range(K):
            value = theta[a, 0]
            for u in range(1, q):
                value += theta[a, u] * features[i, u - 1]
            out[i, a] = min(max(value, low), high)


@jit
def predict_shared(features, begin, end, theta, low, high, out):
    """out[i, a] <- theta . (1, features[i, a]), kept within [low, high]."""
    K, q = features.shape[1], theta.shape[0]
    for i in range(begin, end):
        for a in range(K):
            value = theta[0]
            for u in range(1, q):
                value += theta[u] * features[i, a, u - 1]
            out[i, a] = min(max(value, low), high)

"""Slow, readable twin of the conservative family: the whole history is kept, every bound computed anew from its definition.

Written from the formulas, not from the package: V, z and the sums are rebuilt from the list of rounds each time.
"""

import math

import numpy as np


class Naive:
    """features: None (independent arms) or (K, d), which may be replaced before every round."""

    def __init__(
        self, K, features=None, *, alpha, delta, sigma, bound, selection, baseline_index, clip,
        lam=1.0, B=1.0, D=1.0, freedman=True, T=1, listed=None, min_gap=None, floor=None, true_means=None,
    ):  # fmt: skip
        self.K, self.X = K, features
        self.alpha, self.delta, self.sigma, self.lam, self.B, self.D = alpha, delta, sigma, lam, B, D
        self.bound, self.selection, self.baseline_index, self.clip, self.freedman = bound, selection, baseline_index, clip, freedman
        self.T, self.listed, self.min_gap, self.floor, self.true_means = T, listed, min_gap, floor, true_means
        self.history = []  # (features of the arm or None, arm, reward, in S, baseline, its features, mu_b or None)

    def rem(self):
        t = len(self.history) + 1
        if self.min_gap is not None:
            past = [0] + [c for c in (self.listed or (range(self.T, t, self.T) if self.T > 1 else [])) if c < t]
            return max(0, past[-1] + self.min_gap - t)
        if self.listed is not None:
            return min([c - t for c in self.listed if c >= t], default=0)
        return math.ceil(t / self.T) * self.T - t

    def intervals(self, unknown):
        """Lower and upper bounds of every arm and, with features, theta_hat, V and beta."""
        fed = [h for h in self.history if h[3] or unknown]
        if self.X is None:
            lower, upper = np.zeros(self.K), np.full(self.K, np.inf)
            for k in range(self.K):
                rewards = [h[2] for h in fed if h[1] == k]
                if rewards:
                    s = len(rewards)
                    width = self.sigma * math.sqrt(2 * math.log(self.K * s**3 / self.delta) / s)
                    lower[k], upper[k] = max(np.mean(rewards) - width, 0.0), np.mean(rewards) + width
            return lower, upper, None
        d = self.X.shape[1]
        V = self.lam * np.eye(d) + sum((np.outer(h[0], h[0]) for h in fed), np.zeros((d, d)))
        theta = np.linalg.solve(V, sum((h[2] * h[0] for h in fed), np.zeros(d)))
        beta = self.sigma * math.sqrt(d * math.log((1 + self.D**2 * (1 + len(fed)) / self.lam) / self.delta)) + self.B * math.sqrt(self.lam)
        norm = np.sqrt(np.einsum("ki,ki->k", self.X, np.linalg.solve(V, self.X.T).T))
        return self.X @ theta - beta * norm, self.X @ theta + beta * norm, (theta, V, beta)

    def decide(self, b, mu):
        """(arm, safe set, TOT + slack) of this round; mu None: unknown."""
        t = len(self.history) + 1
        unknown = mu is None
        S = [h for h in self.history if h[3]]
        Sb = [h for h in self.history if not h[3]]
        m, rem = len(S), self.rem()
        lower, upper, model = self.intervals(unknown)
        checkpoints = self.T > 1 or self.listed is not None or self.min_gap is not None
        clip_sum = self.clip == "both" or checkpoints
        clip_arm = clip_sum or self.selection == "constrained" or self.X is None
        L = math.log(3 * max(m, 1) ** 2 / self.delta)
        psi = self.sigma * math.sqrt(2 * m * L) + (2 / 3 * L if self.freedman else 0.0)
        martingale = sum(h[2] for h in S) - psi
        martingale = max(martingale, 0.0) if clip_sum else martingale

        def minimum(v):
            theta, V, beta = model
            return v @ theta - beta * math.sqrt(v @ np.linalg.solve(V, v))

        def arm_bound(a):
            return max(lower[a], 0.0) if clip_arm else lower[a]

        z = sum((h[0] for h in S), np.zeros(self.X.shape[1])) if self.X is not None else None
        if not unknown:
            mu_l = self.floor if self.floor is not None else mu
            slack = sum(h[6] for h in Sb) + self.alpha * rem * mu_l - (1 - self.alpha) * (sum(h[6] for h in self.history) + mu)
        elif self.X is None:
            c = len(Sb) - (1 - self.alpha) * t + self.alpha * rem
            slack = min(c * lower[b], c * min(upper[b], 1.0))
        else:
            slack = 0.0
        values = np.zeros(self.K)
        for a in range(self.K):
            if unknown and self.X is not None:
                point = self.X[a] + sum((h[5] for h in Sb), np.zeros(self.X.shape[1])) - (1 - self.alpha) * (
                    sum((h[5] for h in self.history), np.zeros(self.X.shape[1])) + self.X[b]
                ) + self.alpha * rem * self.X[b]  # fmt: skip
                values[a] = minimum(z + point) if self.bound == "confidence" else martingale + minimum(point)
            elif self.bound == "oracle":
                values[a] = sum(self.true_means[h[1]] for h in S) + self.true_means[a]
            elif self.bound == "martingale":
                values[a] = martingale + arm_bound(a)
            elif self.X is None:
                N = [sum(h[1] == k for h in S) for k in range(self.K)]
                values[a] = sum(N[k] * lower[k] for k in range(self.K)) + lower[a]
            elif self.clip == "paper":
                values[a] = minimum(z + self.X[a])
            else:
                values[a] = max(minimum(z), 0.0) + max(lower[a], 0.0)
        safe = values + slack >= -1e-9
        return self.choose(b, mu, lower, upper, safe), safe, values + slack

    def choose(self, b, mu, lower, upper, safe):
        """(arm, counts as S)."""
        if self.selection == "constrained":
            return self.instead(b, mu, lower, upper, safe)
        index = upper.copy()
        if mu is not None and self.baseline_index == "mean":
            index[b] = mu
        j = int(np.argmax(index))
        if safe[j] and (j != b or (mu is not None and self.baseline_index == "ucb")):
            return j, True
        return self.instead(b, mu, lower, upper, safe)

    def instead(self, b, mu, lower, upper, safe):
        """(arm, counts as S) where the arm that was wanted is not safe."""
        reference = upper[b] if mu is None else mu
        others = [a for a in range(self.K) if a != b and safe[a]]
        bounds = {"constrained": upper, "largest-lower": lower}.get(self.selection)
        if bounds is not None and others:
            k = max(others, key=lambda a: bounds[a])
            if bounds[k] > reference or (self.selection == "constrained" and bounds[k] == reference):
                return k, True
        return b, False

    def admit(self, wanted, b, mu):
        """(arm, counts as S) where another policy wants `wanted`: the rule of Safe."""
        _, safe, _ = self.decide(b, mu)
        if wanted == b:
            return b, False
        if safe[wanted]:
            return wanted, True
        lower, upper, _ = self.intervals(mu is None)
        return self.instead(b, mu, lower, upper, safe)

    def feed(self, arm, reward, in_S, b, mu):
        row = None if self.X is None else self.X[arm].copy()
        base = None if self.X is None else self.X[b].copy()
        self.history.append((row, arm, reward, in_S, b, base, mu))

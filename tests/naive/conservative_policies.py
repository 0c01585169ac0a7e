"""Slow, readable twin of the conservative family: the whole history is kept, every bound computed
anew from its definition.

Written from the formulas, not from the package: V, z and the sums are rebuilt from the list of
decisions each time. A decision stays in the list without a reward until that is known, and is
struck from it when it is cancelled.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

UNION = sum(s**-3 for s in range(1, 20_000))  # over an arm's numbers of rewards


@dataclass
class Decision:
    """One decided round: features of the arm and of the baseline (None: independent arms), whether
    it counts to D, mu_b (None: unknown)."""

    row: Any
    arm: int
    own: bool
    baseline: int
    base: Any
    mu: float | None
    reward: float | None = None  # None: not in yet


class Naive:
    """features: None (independent arms) or (K, d), which may be replaced before every round."""

    def __init__(
        self,
        K,
        features=None,
        *,
        alpha,
        delta,
        sigma,
        bound,
        selection,
        baseline_index,
        clip,
        lam=1.0,
        B=1.0,
        D=1.0,
        martingale="freedman",
        T=1,
        listed=None,
        min_gap=None,
        floor=None,
        true_means=None,
        open_rule="nothing",
        fixed=True,
        martingale_sigma=None,
        index="interval",
        rewards=None,
        constants="paper",
        learned=False,
    ):
        self.K, self.X = K, features
        self.alpha, self.delta, self.sigma, self.lam, self.B, self.D = (
            alpha,
            delta,
            sigma,
            lam,
            B,
            D,
        )
        self.bound, self.selection, self.baseline_index, self.clip = (
            bound,
            selection,
            baseline_index,
            clip,
        )
        self.freedman = martingale != "subgaussian"
        self.bernoulli = martingale == "bernoulli" or (martingale is None and rewards is not None)
        self.low, self.high = rewards or (0.0, 1.0)
        self.span, self.share_delta = self.high - self.low, (rewards, constants, learned)
        self.T, self.listed, self.min_gap, self.floor, self.true_means = (
            T,
            listed,
            min_gap,
            floor,
            true_means,
        )
        self.open_rule, self.fixed, self.index = open_rule, fixed, index
        self.martingale_sigma = sigma if martingale_sigma is None else martingale_sigma
        self.history = []  # decisions
        self.elsewhere = []  # (features, arm, reward) of data that no decision stands for

    def rem(self):
        t = len(self.history) + 1
        if self.min_gap is not None:
            past = [0] + [
                c
                for c in (self.listed or (range(self.T, t, self.T) if self.T > 1 else []))
                if c < t
            ]
            return max(0, past[-1] + self.min_gap - t)
        if self.listed is not None:
            return min([c - t for c in self.listed if c >= t], default=0)
        return math.ceil(t / self.T) * self.T - t

    def deltas(self):
        """(probability that the bound of the sum fails, the same of all arms' bounds), as the
        guarantee's explanation shares delta."""
        rewards, constants, learned = self.share_delta
        summed, d = self.bound == "martingale", 0 if self.X is None else self.X.shape[1]
        more = self.K / (self.K + 1) if learned and self.X is None else 1.0
        if self.bernoulli:
            return (self.delta / 2, self.delta / 2 * more) if summed else (None, self.delta * more)
        if constants == "paper":
            return self.delta, self.delta
        left = 1 - math.pi**2 / 18 if summed else 1.0
        if self.X is not None:
            enough = not summed or (d >= 3 and self.delta <= 0.1) or (d == 2 and self.freedman)
            return self.delta, self.delta if enough else left * self.delta
        if (
            rewards is not None
            and self.sigma * math.sqrt(2 * math.log(self.K / self.delta)) >= self.span
        ):
            return self.delta, self.delta
        return self.delta, left * self.delta * more / UNION

    def least(self, total, m, error):
        """Lower bound of the sum of m means in [0, 1]: the best of 32 slopes."""
        L = math.log(32 / error)
        bounds = [
            m * (math.exp((slope * total - L) / m) - 1) / (math.exp(slope) - 1)
            for slope in np.geomspace(0.002, 4, 32)
        ]
        return min(max(*bounds, 0.0), m)

    def mean_bounds(self, rewards):
        """Lower and upper bound of an arm's mean."""
        n, error = len(rewards), self.deltas()[1]
        if not self.bernoulli:
            width = self.sigma * math.sqrt(2 * math.log(self.K * n**3 / error) / n)
            return max(np.mean(rewards) - width, self.low), np.mean(rewards) + width
        y = [(reward - self.low) / self.span for reward in rewards]
        lower, upper = (self.least(total, n, error / self.K) / n for total in (sum(y), n - sum(y)))
        return self.low + self.span * lower, self.high - self.span * upper

    def awaited(self):
        """Decisions of the learner without a reward."""
        return [h for h in self.history if h.own and h.reward is None]

    def intervals(self, unknown):
        """Lower and upper bounds of every arm; with features theta_hat, V and beta, else the upper
        end for the worst baseline."""
        data = [
            (h.row, h.arm, h.reward)
            for h in self.history
            if h.reward is not None and (h.own or unknown)
        ] + self.elsewhere
        waiting = [h.arm for h in self.history if h.reward is None and (h.own or unknown)]
        if self.X is None:
            lower, upper, highest = (
                np.full(self.K, self.low),
                np.full(self.K, np.inf),
                np.full(self.K, np.inf),
            )
            for k in range(self.K):
                rewards = [reward for _, arm, reward in data if arm == k]
                if rewards:
                    upper[k] = self.mean_bounds(rewards)[1]
                low, high = list(rewards), list(rewards)
                if (
                    self.open_rule == "nothing"
                ):  # open rewards are the lowest, for the worst baseline the highest
                    low += [self.low] * waiting.count(k)
                    high += [self.high] * waiting.count(k)
                if low:
                    lower[k] = self.mean_bounds(low)[0]
                    highest[k] = self.mean_bounds(high)[1]
            return lower, upper, highest
        d = self.X.shape[1]
        V = self.lam * np.eye(d) + sum((np.outer(x, x) for x, _, _ in data), np.zeros((d, d)))
        theta = np.linalg.solve(V, sum((reward * x for x, _, reward in data), np.zeros(d)))
        growth = d * math.log(1 + self.D**2 * (1 + len(data)) / self.lam)
        beta = self.sigma * math.sqrt(
            growth + max(d, 2) * math.log(1 / self.deltas()[1])
        ) + self.B * math.sqrt(self.lam)
        norm = np.sqrt(np.einsum("ki,ki->k", self.X, np.linalg.solve(V, self.X.T).T))
        return self.X @ theta - beta * norm, self.X @ theta + beta * norm, (theta, V, beta)

    def decide(self, b, mu, wanted=None):
        """((arm, counts to D), safe set, TOT + slack, charge of the open decisions) of this round;
        mu None: unknown."""
        t = len(self.history) + 1
        unknown = mu is None
        own = [h for h in self.history if h.own]
        closed = [h for h in own if h.reward is not None]
        conserved = [h for h in self.history if not h.own]
        rem = self.rem()
        lower, upper, model = self.intervals(unknown)
        checkpoints = self.T > 1 or self.listed is not None or self.min_gap is not None
        clip_sum = self.clip == "both" or checkpoints
        clip_arm = clip_sum or self.selection == "constrained" or self.X is None
        m = len(closed) if self.open_rule == "lower" else len(own)
        L = math.log(3 * max(m, 1) ** 2 / self.delta)
        psi = self.martingale_sigma * math.sqrt(2 * m * L) + (
            2 / 3 * L * self.span if self.freedman else 0.0
        )
        martingale = sum(h.reward for h in closed) + self.low * (m - len(closed)) - psi
        martingale = max(martingale, self.low * m) if clip_sum else martingale
        if self.bernoulli and self.bound == "martingale":
            total = sum((h.reward - self.low) / self.span for h in closed)
            martingale = self.low * m + (
                self.span * self.least(total, m, self.deltas()[0]) if m else 0.0
            )
        nothing = np.zeros(0 if self.X is None else self.X.shape[1])

        def minimum(v):
            theta, V, beta = model
            return v @ theta - beta * math.sqrt(v @ np.linalg.solve(V, v))

        def arm_bound(a):
            return max(lower[a], self.low) if clip_arm else lower[a]

        charge = 0.0
        if self.open_rule == "lower" and self.X is not None and not self.fixed:
            charge = max(
                minimum(sum((h.row for h in self.awaited()), nothing)),
                self.low * len(self.awaited()),
            )
        elif self.open_rule == "lower":
            charge = sum(max(lower[h.arm], self.low) for h in self.awaited())
        martingale += charge
        z = sum((h.row for h in own), nothing) if self.X is not None else None
        if not unknown:
            mu_l = self.floor if self.floor is not None else mu
            slack = (
                sum(h.mu for h in conserved)
                + self.alpha * rem * mu_l
                - (1 - self.alpha) * (sum(h.mu for h in self.history) + mu)
            )
        elif self.X is None:
            c = len(conserved) - (1 - self.alpha) * t + self.alpha * rem
            slack = (
                min(c * max(lower[b], 0.0), c * min(model[b], self.high))
                if c < 0
                else c * max(lower[b], 0.0)
            )
        else:
            slack = 0.0
        values = np.zeros(self.K)
        for a in range(self.K):
            if unknown and self.X is not None:
                point = (
                    self.X[a]
                    + sum((h.base for h in conserved), nothing)
                    - (1 - self.alpha) * (sum((h.base for h in self.history), nothing) + self.X[b])
                    + self.alpha * rem * self.X[b]
                )
                values[a] = (
                    minimum(z + point)
                    if self.bound == "confidence"
                    else martingale + minimum(point)
                )
            elif self.bound == "oracle":
                values[a] = sum(self.true_means[h.arm] for h in own) + self.true_means[a]
            elif self.bound == "martingale":
                values[a] = martingale + arm_bound(a)
            elif self.X is None:
                values[a] = sum(lower[h.arm] for h in own) + lower[a]
            elif self.clip == "paper":
                values[a] = minimum(z + self.X[a])
            elif self.clip == "joint":
                values[a] = max(minimum(z + self.X[a]), self.low * (len(own) + 1))
            else:
                values[a] = max(minimum(z), self.low * len(own)) + max(lower[a], self.low)
        safe = values + slack >= -1e-9
        if self.index == "rounds":
            rewards = [[h.reward for h in closed if h.arm == k] for k in range(self.K)]
            upper = np.array(
                [
                    np.mean(own) + math.sqrt(math.log(t) / len(own)) if own else np.inf
                    for own in rewards
                ]
            )
        chosen = (
            self.choose(b, mu, lower, upper, safe)
            if wanted is None
            else self.admit(wanted, b, mu, lower, upper, safe)
        )
        return chosen, safe, values + slack, charge

    def choose(self, b, mu, lower, upper, safe):
        """(arm, counts to D)."""
        if self.selection == "constrained":
            return self.instead(b, mu, lower, upper, safe)
        index = upper.copy()
        by_mean = mu is not None and (
            self.baseline_index == "mean" or any(h.reward is None for h in self.history)
        )
        if by_mean:
            index[b] = mu
        j = int(np.argmax(index))
        if safe[j] and (j != b or (mu is not None and not by_mean)):
            return j, True
        return self.instead(b, mu, lower, upper, safe)

    def instead(self, b, mu, lower, upper, safe):
        """(arm, counts to D) where the arm that was wanted is not safe."""
        reference = upper[b] if mu is None else mu
        others = [a for a in range(self.K) if a != b and safe[a]]
        bounds = {"constrained": upper, "largest-lower": lower}.get(self.selection)
        if bounds is not None and others:
            k = max(others, key=lambda a: bounds[a])
            if bounds[k] > reference or (
                self.selection == "constrained" and bounds[k] == reference
            ):
                return k, True
        return b, False

    def admit(self, wanted, b, mu, lower, upper, safe):
        """(arm, counts to D) where another policy wants `wanted`: the rule of Safe."""
        if wanted == b:
            return b, False
        if safe[wanted]:
            return wanted, True
        return self.instead(b, mu, lower, upper, safe)

    def commit(self, arm, own, b, mu):
        """The decision, entered. A round of the baseline counts as the open rounds of the baseline
        do."""
        row = None if self.X is None else self.X[arm].copy()
        base = None if self.X is None else self.X[b].copy()
        own = (
            own
            or arm != b
            or any(h.own and h.arm == h.baseline for h in self.history if h.reward is None)
        )
        self.history.append(Decision(row, arm, own, b, base, mu))
        return self.history[-1]

    def feed(self, arm, reward, own, b, mu):
        self.commit(arm, own, b, mu).reward = reward

    def cancel(self, decision):
        self.history = [h for h in self.history if h is not decision]

"""A simulated shop as traffic: customers ask for a price, some buy, and the shop hears of it later.
It knows the truth, so it can say what the policy's caution was worth: the true budget, sum of
mu(arm played) - (1 - alpha) sum of mu(baseline)."""

import dataclasses
import heapq
import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .extras import JsonObject

if TYPE_CHECKING:
    from .client import Client

COST = 6.0  # of the thing that is sold
UNIT = 10.0  # a margin of so much is a reward of 1
BUYERS = {
    "9.90": 0.50,
    "10.90": 0.46,
    "11.90": 0.43,
    "12.90": 0.30,
    "14.90": 0.12,
}  # who pays a price


@dataclasses.dataclass(frozen=True)
class Shop:
    """buyers: share of customers who buy, by arm. values: reward of a sale, by arm. season: the
    share of buyers swings by so much around that, once in `day` decisions. baseline: the arm in
    production. alpha: of the promise."""

    buyers: Mapping[str, float]
    values: Mapping[str, float]
    baseline: str
    alpha: float
    season: float = 0.0
    day: int = 1000

    def share(self, arm: str, decision: int) -> float:
        return min(
            self.buyers[arm] * (1.0 + self.season * math.sin(2.0 * math.pi * decision / self.day)),
            1.0,
        )

    def mean(self, arm: str, decision: int) -> float:
        return self.share(arm, decision) * self.values[arm]

    def spec(
        self,
        name: str,
        guarded: bool = True,
        rollout: bool = True,
        policy: JsonObject | str | None = None,
        seed: int = 1,
    ) -> JsonObject:
        """The experiment of this shop. guarded: with the promise. rollout: begin as an apprentice,
        then rules."""
        spec: JsonObject = {
            "name": name,
            "policy": {"policy": "EpsilonGreedy", "epsilon": 0.1} if policy is None else policy,
            "arms": [{"id": arm} for arm in self.buyers],
            "baseline": self.baseline,
            "window": "1h",
            "default_reward": 0.0,
            "seed": seed,
        }
        if guarded:
            spec |= {
                "alpha": self.alpha,
                "baseline_mean": self.mean(self.baseline, 0),
                "rewards": [0.0, max(self.values.values())],
            }
        if rollout:
            spec["rollout"] = {
                "mode": "apprentice",
                "share": 0.5,
                "promote": {
                    "apprentice": {"after": 200},
                    "shadow": {"after": 300},
                    "capped": {"after": 1000, "better": True},
                },
            }
        return spec


def price_shop(season: float = 0.0, alpha: float = 0.1) -> Shop:
    """Five prices of one thing; a sale is worth its margin."""
    return Shop(
        BUYERS, {price: (float(price) - COST) / UNIT for price in BUYERS}, "9.90", alpha, season
    )


class Truth(NamedTuple):
    """The true outcome of traffic. budget: at the end. lowest: over all rounds. most_open:
    decisions that waited at once."""

    decisions: int
    rewards: int
    mean: float
    best: float
    budget: float
    lowest: float
    baseline_share: float
    most_open: int
    seconds: float


def drive(
    client: "Client",
    shop: Shop,
    decisions: int,
    *,
    delay: int = 200,
    batch: int = 20,
    seed: int = 0,
    per_second: float | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Truth:
    """Send traffic and keep the true books.

    delay: decisions after which a sale is heard of, on average (exponential, sales; twice that
    without a sale, so that delay and reward are not independent); 0: at once. batch: decisions of
    one request. per_second: at most so many decisions. progress: is told decisions and true budget.
    """
    rng = np.random.default_rng(seed)
    waiting: list[tuple[float, str, float]] = []  # (due, decision, reward)
    budget = lowest = best = mean = 0.0
    baseline_plays = rewards = most_open = count = 0
    began = time.monotonic()
    while count < decisions:
        for decision in client.decide_many(min(batch, decisions - count)):
            mu = shop.mean(decision.arm, count)
            budget += mu - (1.0 - shop.alpha) * shop.mean(shop.baseline, count)
            lowest, mean = min(lowest, budget), mean + mu
            best += max(shop.mean(arm, count) for arm in shop.buyers)
            baseline_plays += decision.arm == shop.baseline
            sold = rng.random() < shop.share(decision.arm, count)
            value = shop.values[decision.arm] if sold else 0.0
            heapq.heappush(
                waiting,
                (count + rng.exponential(delay if sold else 2.0 * delay), decision.id, value),
            )
            count += 1
        most_open = max(most_open, len(waiting))
        rewards += deliver(client, waiting, count)
        if progress is not None:
            progress(count, budget)
        if per_second is not None:
            time.sleep(max(0.0, began + count / per_second - time.monotonic()))
    rewards += deliver(client, waiting, math.inf)
    return Truth(
        count,
        rewards,
        mean / count,
        best / count,
        budget,
        lowest,
        baseline_plays / count,
        most_open,
        time.monotonic() - began,
    )


def deliver(client: "Client", waiting: list[tuple[float, str, float]], now: float) -> int:
    due: dict[str, float] = {}
    while waiting and waiting[0][0] <= now:
        _, id, value = heapq.heappop(waiting)
        due[id] = value
    if due:
        client.reward_many(due)
    return len(due)

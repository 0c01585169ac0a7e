"""SquareCB beside epsilon-greedy on labelled data (extra `lab`) and on the Open Bandit Dataset:
`python benchmarks/squarecb.py`.

Labelled data of scikit-learn: a model for each class, 3,000 rounds, 20 replications that meet the
same rows, LinUCB beside them. Prints mistakes. Open Bandit ($TIGHTROPE_DATA): one ridge regression
on the features of the items and the user's affinity to them, on the log of the uniform policy.
Prints clicks in a thousand rounds: by replay of 40 orders of the log, and in 20 runs of 10,000
rounds in a world that was fitted to the log, where expected clicks count. Gains over epsilon-greedy
are paired; their standard errors are those of the runs, and do not say how few clicks the log has.
"""

import math
import sys

import numpy as np
from sklearn import datasets

import tightrope as tr
from tightrope.evaluation.evaluate import Fit, View
from tightrope.evaluation.world import LoggedWorld
from tightrope.logs.log import whole
from tightrope.problems.data import DataNotFound, open_bandit
from tightrope.simulation.loops import World, prepare, to_horizon
from tightrope.simulation.monitors import NoMonitor

DATA = {
    "digits": datasets.load_digits,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "iris": datasets.load_iris,
}
POLICIES = {
    "epsilon-greedy": tr.LinEpsilonGreedy(shared=False),
    "SquareCB": tr.SquareCB(shared=False, scale=10.0, noise=1.0),
    "SquareCB, horizon": tr.SquareCB(shared=False, growth="horizon"),
    "LinUCB": tr.LinUCB(shared=False, beta=0.3),
}


RARE = {  # "scaled": gamma for rewards of the size of the click rate, about 1 / 250
    "epsilon-greedy": tr.LinEpsilonGreedy(),
    "SquareCB": tr.SquareCB(scale=10.0, noise=1.0),
    "SquareCB, scaled": tr.SquareCB(scale=2500.0, noise=1.0),
}
ORDERS, RUNS = 40, 20


def report(name, policy, values, gains, words):
    """A line for one policy on one data set."""
    error = gains.std(ddof=1) / math.sqrt(gains.size)
    print(
        f"{name:22} {policy:18} {values.mean():8.2f} {words}, gain {gains.mean():8.2f} (s.e. "
        f"{error:.2f})",
        flush=True,
    )


def labelled():
    """Mistakes on data with labels."""
    for name, load in DATA.items():
        problem = tr.problems.classification(*load(return_X_y=True), expand=False)
        result = tr.simulate(problem, POLICIES, horizon=3000, replications=20)
        for policy, regret in result.regret.items():
            report(
                name,
                policy,
                regret[:, -1],
                (result.regret["epsilon-greedy"] - regret)[:, -1],
                "mistakes",
            )


def features(campaign):
    """(n, K, d) of the items, each column brought to one size, and the user's affinity to them."""
    n, K = campaign.affinity.shape
    spread = campaign.items.std(axis=0)
    items = (campaign.items - campaign.items.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    parts = (
        np.ones((n, K, 1)),
        np.broadcast_to(items, (n, *items.shape)),
        campaign.affinity[:, :, None] / campaign.affinity.std(),
    )
    return np.concatenate(parts, axis=2) / math.sqrt(items.shape[1])


def log_of(campaign, X, order, labels):
    """The impressions in this order; item k is arm labels[k], since policies break ties by
    number."""
    columns = {"arm": labels[campaign.log["arm"][order]], "reward": campaign.log["reward"][order]}
    return tr.logs.from_frame(
        columns,
        propensity=1.0 / campaign.arms,
        features=X[order][:, np.argsort(labels)],
        arms=campaign.arms,
    )


def replayed(campaign, X):
    """Clicks in a thousand rounds of each policy on the rows where it chose what was shown, in many
    orders."""
    rng, clicks = np.random.default_rng(0), {policy: np.zeros(ORDERS) for policy in RARE}
    for i in range(ORDERS):
        log = log_of(campaign, X, rng.permutation(len(X)), rng.permutation(campaign.arms))
        for policy, each in RARE.items():
            clicks[policy][i] = (
                1000.0 * tr.evaluate_learner(log, each, method="replay", seed=i).value
            )
    return clicks


def simulated(campaign, X):
    """Expected clicks in a thousand rounds of each policy in the world that
    `evaluate_learner(method="simulate")` fits to the log."""
    n, rng, clicks = len(X), np.random.default_rng(0), {policy: np.zeros(RUNS) for policy in RARE}
    for r in range(RUNS):
        log = log_of(campaign, X, np.arange(n), rng.permutation(campaign.arms))
        rows = whole(log)
        fit = Fit(log, rows)
        means = np.clip(fit.means(fit.theta(np.ones(n))), 0.0, 1.0)
        best = means.max(axis=1)
        for policy, each in RARE.items():
            view = View(log, each, rows)
            shown, contexts, scratch, eligible = view.arrays()
            last = np.zeros(1, dtype=np.int64)
            world = LoggedWorld(
                means,
                best,
                np.zeros(0),
                0.0,
                1.0,
                last,
                shown,
                contexts,
                scratch,
                view.fixed,
                eligible,
            )
            record, _, play = to_horizon(
                prepare(each, World(world), 0, r, n), NoMonitor(), np.array([n])
            )
            play(0, n)
            clicks[policy][r] = 1000.0 * (best.mean() - record.regret[-1] / n)
    return clicks


def open_bandit_log():
    """Clicks of policies that learn, on the log of the uniform policy."""
    for name in ("men", "women", "all"):
        campaign = open_bandit(name, "random")
        X = features(campaign)
        for method in (replayed, simulated):
            clicks = method(campaign, X)
            for policy, values in clicks.items():
                report(
                    f"{name}, {method.__name__}",
                    policy,
                    values,
                    values - clicks["epsilon-greedy"],
                    "clicks",
                )


def main():
    labelled()
    try:
        open_bandit_log()
    except DataNotFound as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

"""What the encoder's features that are not linear do on the sets of the bake-off: `python
benchmarks/bakeoff/encoders.py` prints the table of docs/how-to/contexts-and-models.md.

Only ours, on the rows and orders of `bakeoff.py`, whose sets it takes. The Fourier features are
fitted on a set's rows without their classes, as its scales are, and drawn anew in each order. A
forest knows what a shop would: rewards of a random log, which are the first LOG rounds; its policy
has learned from that log, whose mistakes count. Beside it stands the policy with the same log and
without a forest.
"""

import argparse
import pathlib
import tempfile
import time

import numpy as np
from bakeoff import ROUNDS, RowsInOrder, smaller, table
from others import order
from scipy import stats
from sklearn.ensemble import RandomForestRegressor

import tightrope as tr
from tightrope.extend import Context, derived, jit, matrix, problem, real, scratch, vector

LOG, TREES, LEAVES = 200, 20, 8
LINUCB = "LinUCB()"


@problem("rows-after-a-log")
class RowsAfterALog(RowsInOrder):
    """Whose first rounds allow one arm each, those of `logged`."""

    rows: np.ndarray = matrix()
    classes: np.ndarray = vector(least=0.0)
    logged: np.ndarray = vector(least=0.0)  # 1 more than the arm; 0: all may be played
    zero: float = real(default=0.0)
    features: np.ndarray = scratch()
    shown: np.ndarray = scratch()
    eligible: np.ndarray = scratch()
    number: int = derived()

    @staticmethod
    def complete(stored):
        K = int(stored["classes"].max()) + 1
        return stored | {
            "features": np.zeros((K, stored["rows"].shape[1])),
            "shown": np.zeros(1),
            "eligible": np.ones(K, dtype=np.bool_),
            "number": K,
        }

    @jit
    def observe(self, t, rng):
        self.shown[0] = self.classes[t]
        for k in range(self.features.shape[0]):
            self.eligible[k] = self.logged[t] == 0 or self.logged[t] == k + 1
            for j in range(self.features.shape[1]):
                self.features[k, j] = self.rows[t, j]
        return Context(self.features, self.eligible, None, None)


def named(rows):
    """The rows as a table, without the column of ones."""
    return {f"x{j}": column for j, column in enumerate(rows[:, :-1].T)}


def leaves(rows, rewards, arms, seed):
    """Rows as leaves of a forest that predicts every arm's share of the log's rewards."""
    log = named(rows[:LOG])
    plain = tr.Encoder().fit(log).transform(log)
    forest = RandomForestRegressor(TREES, max_leaf_nodes=LEAVES, random_state=seed)
    forest.fit(plain, rewards[:, None] * (arms[:, None] == np.arange(arms.max() + 1)))
    return tr.Encoder(trees=forest).fit(log).transform(named(rows))


def played(X, classes, seed):
    """Losses of all in one order, by name."""
    rows = order(len(X), ROUNDS, seed)
    x, y = X[rows], classes[rows]
    arms = np.random.default_rng([seed, 1]).integers(y.max() + 1, size=LOG)
    logged = np.concatenate([arms + 1.0, np.zeros(ROUNDS - LOG)])
    free = np.zeros(ROUNDS)
    fourier = tr.Encoder(fourier=256, seed=seed).fit(named(X)).transform(named(x))
    forest = leaves(x, (arms == y[:LOG]).astype(float), arms, seed)
    runs = {
        LINUCB: (tr.LinUCB(), x, free),
        "LinUCB(), fourier=256": (tr.LinUCB(), fourier, free),
        "LOSAN(noise=0.5)": (tr.LOSAN(noise=0.5), x, free),
        f"LinUCB(), {LOG} rounds at random": (tr.LinUCB(), x, logged),
        f"LinUCB(), trees={TREES}, {LOG} rounds at random": (tr.LinUCB(), forest, logged),
    }
    losses = {}
    for name, (policy, features, log) in runs.items():
        world = RowsAfterALog(features, y.astype(float), log)
        result = tr.simulate(world, {"": policy}, horizon=ROUNDS, replications=1, seed=seed)
        losses[name] = result.regret[""][0, -1] / ROUNDS
    return losses


def main():
    """Play, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    folder = pathlib.Path(tempfile.gettempdir()) / "bakeoff-sets"
    parser.add_argument("--sets", type=pathlib.Path, default=folder, help="bakeoff.py makes them")
    parser.add_argument("--orders", type=int, default=5)
    options = parser.parse_args()
    losses, once, began = {}, [], time.perf_counter()
    for path in sorted(options.sets.glob("*.npz")):
        data = np.load(path)
        once.append(len(data["X"]) >= ROUNDS)
        runs = [played(data["X"], data["classes"], seed) for seed in range(options.orders)]
        losses[path.stem] = {name: np.array([run[name] for run in runs]) for name in runs[0]}
        print(path.stem, {name: round(float(x.mean()), 3) for name, x in losses[path.stem].items()})
        print(f"  {time.perf_counter() - began:.0f} s", flush=True)
    names = list(runs[0])
    means = np.array([[losses[s][name].mean() for name in names] for s in losses])
    ranks = stats.rankdata(means, axis=1)
    groups = {
        "all": np.ones(len(losses), dtype=bool),
        "no row twice": np.array(once),
        "rows again": ~np.array(once),
    }
    for group, among in groups.items():
        rows, chosen = [], [s for s, is_in in zip(losses, among, strict=True) if is_in]
        if not chosen:
            continue
        for k, name in enumerate(names):
            signs = [smaller(losses[s][name], losses[s][LINUCB]) for s in chosen]
            rank = ranks[among, k]
            rows.append(
                [
                    f"`{name}`",
                    f"{rank.mean():.2f} ± {rank.std(ddof=1) / len(rank) ** 0.5:.2f}",
                    f"{means[among, k].mean():.3f}",
                    "" if name == LINUCB else f"{signs.count(1)}, {signs.count(-1)}",
                ]
            )
        print(f"{group}: {len(chosen)} sets\n")
        print("\n".join(table(["policy", "mean rank", "mean loss", "better, worse"], rows)))


if __name__ == "__main__":
    main()

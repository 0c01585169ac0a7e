"""Other libraries on the labelled data: `python others.py FOLDER LIBRARY ROUNDS SEEDS LIMIT`.
Prints a JSON line for every run.

Every library plays as its documentation shows, with its defaults, on the same rows in the same
order. A policy that takes longer than LIMIT seconds for a run is left out on that set.
"""

import importlib.metadata
import json
import pathlib
import sys
import time

import numpy as np

VOWPAL = {
    "VW epsilon": "--epsilon 0.05",
    "VW squarecb": "--squarecb",
    "VW cover": "--cover 4",
    "VW regcbopt": "--regcbopt",
    "VW softmax": "--softmax --lambda 10",
    "VW bag": "--bag 4",
    "VW first": "--first 100",
}


def order(n, rounds, seed):
    """The row of each round: all rows shuffled, in one pass after the other."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(n) for _ in range(rounds // n + 1)])[:rounds]


def vowpal(options):
    """A player on Vowpal Wabbit's actions with shared features."""

    def make(X, K, seed):
        import vowpalwabbit

        learner = vowpalwabbit.Workspace(
            f"--cb_explore_adf -q xa --cb_type mtr {options} --random_seed {seed + 1} --quiet"
        )
        rng, arms = np.random.default_rng(seed), [f"|a a{k}" for k in range(K)]
        text = {}

        def choose(i):
            if i not in text:
                text[i] = "shared |x " + " ".join(
                    f"f{j}:{value:.6f}" for j, value in enumerate(X[i, :-1])
                )
            p = np.array(learner.predict([text[i], *arms]))
            return int(rng.choice(K, p=p / p.sum())), p

        def learn(i, arm, reward, p):
            learner.learn(
                [
                    text[i],
                    *(
                        f"0:{1.0 - reward}:{p[k]:.6f} {line}" if k == arm else line
                        for k, line in enumerate(arms)
                    ),
                ]
            )

        return choose, learn

    return make


def mabwiser(policy):
    """A player on MABWiser's disjoint linear policies."""

    def make(X, K, seed):
        from mabwiser.mab import MAB, LearningPolicy

        mab = MAB(list(range(K)), getattr(LearningPolicy, policy)(), seed=seed)
        mab.fit(list(range(K)), [0.0] * K, np.zeros((K, X.shape[1])))
        return lambda i: (
            mab.predict(X[i : i + 1]),
            None,
        ), lambda i, arm, reward, p: mab.partial_fit([arm], [reward], X[i : i + 1])

    return make


def river_linucb(X, K, seed):
    """A player on River's LinUCB."""
    from river import bandit

    policy, arms = bandit.LinUCBDisjoint(seed=seed), list(range(K))
    rows = [dict(enumerate(x)) for x in X.tolist()]
    return lambda i: (policy.pull(arms, rows[i]), None), lambda i, arm, reward, p: policy.update(
        arm, rows[i], reward
    )


def bayesian(policy):
    """A player on arms that are normal-inverse-gamma regressions."""

    def make(X, K, seed):
        import bayesianbandits as bb

        arms = [bb.Arm(k, learner=bb.NormalInverseGammaRegressor()) for k in range(K)]
        agent = bb.ContextualAgent(arms, getattr(bb, policy)(), random_seed=seed)

        def learn(i, arm, reward, p):
            agent.select_for_update(arm).update(X[i : i + 1], np.array([reward]))

        return lambda i: (agent.pull(X[i : i + 1])[0], None), learn

    return make


def coba(name):
    """A player on coba's learners, where actions are one-hot."""

    def make(X, K, seed):
        import coba as library

        learner = getattr(library, name)(seed=seed + 1)
        arms = [tuple(float(k == j) for j in range(K)) for k in range(K)]
        rows = X.tolist()

        def choose(i):
            prediction = learner.predict(rows[i], arms)
            return arms.index(tuple(prediction[0])), prediction[1]

        return choose, lambda i, arm, reward, p: learner.learn(rows[i], arms[arm], reward, p)

    return make


LIBRARIES = {
    "vowpalwabbit": {name: vowpal(options) for name, options in VOWPAL.items()},
    "mabwiser": {f"MABWiser {name}": mabwiser(name) for name in ("LinUCB", "LinTS", "LinGreedy")},
    "river": {"River LinUCBDisjoint": river_linucb},
    "bayesianbandits": {
        f"bayesianbandits {name}": bayesian(name) for name in ("ThompsonSampling",)
    },
    "coba": {f"coba {name}": coba(name) for name in ("LinUCBLearner", "LinTSLearner")},
}


def run(make, X, classes, K, rounds, seed, limit):
    """(mistakes, seconds), or None where it takes too long."""
    began, wrong = time.perf_counter(), 0
    choose, learn = make(X, K, seed)
    for t, i in enumerate(order(len(X), rounds, seed)):
        arm, p = choose(i)
        arm = int(arm)
        wrong += arm != classes[i]
        learn(i, arm, float(arm == classes[i]), p)
        if (
            t % 50 == 49
            and (time.perf_counter() - began) * rounds / (t + 1) > limit * 1.5
            and t > 150
        ):
            return None
    return wrong, time.perf_counter() - began


def main(folder, library, rounds, seeds, limit):
    """All sets, all policies of one library."""
    version = importlib.metadata.version(library)
    for path in sorted(pathlib.Path(folder).glob("*.npz")):
        data = np.load(path)
        X, classes = data["X"], data["classes"]
        K = int(classes.max()) + 1
        for name, make in LIBRARIES[library].items():
            for seed in range(seeds):
                line = {
                    "set": path.stem,
                    "policy": name,
                    "seed": seed,
                    "library": library,
                    "version": version,
                }
                try:
                    outcome = run(make, X, classes, K, rounds, seed, limit)
                except Exception as error:
                    print(json.dumps(line | {"failed": repr(error)[:200]}), flush=True)
                    break
                if outcome is None:
                    print(
                        json.dumps(line | {"failed": f"takes longer than {limit:g} s"}), flush=True
                    )
                    break
                print(
                    json.dumps(
                        line
                        | {"loss": outcome[0] / rounds, "microseconds": outcome[1] / rounds * 1e6}
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))

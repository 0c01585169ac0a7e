"""SquareCB beside epsilon-greedy and LinUCB on labelled data of scikit-learn (extra `lab`): `python benchmarks/squarecb.py`.

A model for each class, 3,000 rounds, 20 replications that meet the same rows. Prints mistakes, and the paired gain over epsilon-greedy.
"""

import math

from sklearn import datasets

import tightrope as tr

DATA = {
    "digits": datasets.load_digits,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "iris": datasets.load_iris,
}
POLICIES = {
    "epsilon-greedy": tr.LinEpsilonGreedy(shared=False),
    "SquareCB": tr.SquareCB(shared=False),
    "SquareCB, horizon": tr.SquareCB(shared=False, growth="horizon"),
    "LinUCB": tr.LinUCB(shared=False, beta=0.3),
}


def main():
    for name, load in DATA.items():
        problem = tr.problems.classification(*load(return_X_y=True), expand=False)
        result = tr.simulate(problem, POLICIES, horizon=3000, replications=20)
        for policy, regret in result.regret.items():
            gain = (result.regret["epsilon-greedy"] - regret)[:, -1]
            error = gain.std(ddof=1) / math.sqrt(gain.size)
            print(f"{name:14} {policy:18} {regret[:, -1].mean():8.1f} mistakes, {gain.mean():8.1f} fewer (s.e. {error:.1f})", flush=True)


if __name__ == "__main__":
    main()

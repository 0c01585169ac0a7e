"""One round at catalogue size: a million arms, and promotions for 20,000 users, in seconds of wall
time and GiB.

python benchmarks/catalogue.py [--scipy]    (--scipy: SciPy's dense assignment too, some 8 s)
"""

import resource
import sys
import time

import numpy as np
from scipy.optimize import linear_sum_assignment

import tightrope as tr

ROUNDS = 5


def memory() -> float:
    """Most memory held so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def seconds(session: tr.Session, context: np.ndarray | None) -> float:
    """Median time of select and update, after a first round."""
    rng, times = np.random.default_rng(1), []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        arms = session.select(context=context)
        session.update(arms, rng.normal(size=arms.size))
        times.append(time.perf_counter() - started)
    return float(np.median(times[1:]))


def main() -> None:
    """Print a line per case."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 51))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    print(f"features: {memory():.2f} GiB")
    policies = (tr.C2UCB(), tr.PC2UCB(), tr.CombTS(randomization="arm"))
    for policy in policies:
        for N in (100_000, 1_000_000):
            oracle = tr.oracles.TopK(200)
            fixed = seconds(tr.Session(policy, arms=X[:N], oracle=oracle), None)
            changing = seconds(tr.Session(policy, arms=N, dimension=51, oracle=oracle), X[:N])
            name = type(policy).__name__
            print(
                f"{name}, N = {N:,}, k = 200: fixed arms {fixed:.3f} s, new features "
                f"{changing:.3f} s, peak {memory():.2f} GiB"
            )

    N, M, k = 20_000, 10, 200
    oracle, scores = tr.oracles.Promotions(promotions=M, k=k), rng.normal(size=(N, M))
    oracle(scores)
    started = time.perf_counter()
    assignment = oracle.solve(scores)
    print(
        f"promotions oracle, N = {N:,}, M = {M}, k = {k}: "
        f"{1e3 * (time.perf_counter() - started):.1f} ms"
    )
    if "--scipy" in sys.argv:
        started = time.perf_counter()
        places = np.repeat(scores, k, axis=1)
        value = places[linear_sum_assignment(places, maximize=True)].sum()
        apart = abs(value - assignment.value) / value
        print(
            f"SciPy's dense assignment: {time.perf_counter() - started:.1f} s, values apart by "
            f"{apart:.1e}, relative"
        )
    for policy in policies:
        took = seconds(tr.Session(policy, arms=N, dimension=51, oracle=oracle), X[:N])
        print(
            f"{type(policy).__name__}, promotions for {N:,} users, new features: {took:.3f} s a "
            "round"
        )


if __name__ == "__main__":
    main()

"""Many replications on one GPU: `python benchmarks/gpu.py [POLICY ...]`, on a machine with a card
and the extra tightrope[cuda].

For every policy: whether 64 replications play the same arms as on the processor (else how many
do), and rounds a second beside one core and all cores, compilation apart.
"""

import sys
import time

import numpy as np

import tightrope as tr

SAME, FEW = 64, 200
MEANS = np.linspace(0.1, 0.9, 10)
ARMS = tr.problems.Bernoulli(MEANS)
ROWS = np.random.default_rng(0).normal(size=(30, 5))
ROWS /= np.linalg.norm(ROWS, axis=1)[:, None]
THETA = np.full(5, 5**-0.5)
LINEAR = tr.problems.Linear(ROWS, THETA, noise=0.1)
POINTS = np.linspace(0.0, 1.0, 21)
CURVE = tr.problems.Lipschitz(points=POINTS, means=0.8 - 0.6 * abs(POINTS - 0.4), lipschitz=0.6)
GUARD = {"baseline": 3, "baseline_mean": float(MEANS[3]), "alpha": 0.1}
WORST = int(np.argsort(ROWS @ THETA)[-3])
LINEAR_GUARD = {"baseline": WORST, "baseline_mean": float((ROWS @ THETA)[WORST]), "alpha": 0.1}
CASES = {  # policy, problem, rounds, lanes
    "UCB": (tr.UCB(), ARMS, 4000, 2**18),
    "KLUCB": (tr.KLUCB(), ARMS, 2000, 2**17),
    "BetaThompson": (tr.BetaThompson(), ARMS, 1000, 2**17),
    "CUCB2": (tr.CUCB2(**GUARD), ARMS, 1000, 2**17),
    "Safe(KLUCB)": (tr.Safe(tr.KLUCB(), **GUARD), ARMS, 1000, 2**17),
    "LinUCB": (tr.LinUCB(), LINEAR, 1000, 2**16),
    "OFUL": (tr.OFUL(), LINEAR, 1000, 2**16),
    "LinTS": (tr.LinTS(), LINEAR, 1000, 2**16),
    "SoftUCB": (tr.SoftUCB(), LINEAR, 1000, 2**16),
    "CLUCB2": (tr.CLUCB2(**LINEAR_GUARD), LINEAR, 1000, 2**16),
    "LinGapE": (tr.LinGapE(epsilon=0.1, delta=0.05), LINEAR, 1000, 2**16),
    "HOO": (tr.HOO(nu=1.0, rho=0.5), CURVE, 1000, 2**16),
    "CKLUCB": (tr.CKLUCB(lipschitz=0.6), CURVE, 1000, 2**16),
    "OSLB": (tr.OSLB(lipschitz=0.6), CURVE, 200, 2**15),
}


def seconds(policy, problem, rounds, replications, **where):
    began = time.perf_counter()
    result = tr.simulate(problem, policy, horizon=rounds, replications=replications, **where)
    return time.perf_counter() - began, result


def main() -> None:
    for name in sys.argv[1:] or CASES:
        policy, problem, rounds, lanes = CASES[name]
        first, gpu = seconds(policy, problem, rounds, SAME, engine="cuda")
        seconds(policy, problem, 2, 2)
        here, cpu = seconds(policy, problem, rounds, SAME, workers=1)
        all_cores, _ = seconds(policy, problem, rounds, FEW)
        taken, _ = seconds(policy, problem, rounds, lanes, engine="cuda")
        (ours,), (theirs,) = cpu.pulls.values(), gpu.pulls.values()
        rate = lanes * rounds / taken
        print(
            f"{name}: {int((ours == theirs).all(axis=1).sum())} of {SAME} alike; {rate:.2e} "
            f"rounds/s, {rate * here / (SAME * rounds):,.0f} times one core, "
            f"{rate * all_cores / (FEW * rounds):,.0f} times all; first launch {first:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()

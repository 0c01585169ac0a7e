"""LinMED beside SoftUCB, LinUCB and LinTS on the synthetic instances of Yang & Toni 2020 (Figure
2): `python benchmarks/linmed.py`.

40 instances, T = 2048, every policy told the true noise. Prints mean regret, and the paired
difference to SoftUCB that learns online.
"""

import math

import tightrope as tr
from tightrope_papers.softucb.comparison import ONLINE_ETA, ONLINE_STEP, SIGMAS, synthetic

INSTANCES, HORIZON = 40, 2048


def main():
    for d in (10, 20):
        for name, noise in SIGMAS.items():
            problems = [synthetic(0, i, d, noise) for i in range(INSTANCES)]
            policies = {
                "SoftUCB, online": tr.SoftUCB(
                    online=True, eta=ONLINE_ETA, step=ONLINE_STEP, noise=noise
                ),
                "LinMED, best=0.9": tr.LinMED(noise=noise),
                "LinMED, best=0.5": tr.LinMED(noise=noise, best=0.5, design=0.25),
                "LinMED, best=0.99": tr.LinMED(noise=noise, best=0.99, design=0.005),
                "LinUCB, Eq 5": tr.LinUCB(width="theorem", noise=noise),
                "LinTS, v_t": tr.LinTS(width="theorem", noise=noise),
            }
            result = tr.simulate(problems, policies, horizon=HORIZON, replications=INSTANCES)
            for policy, regret in result.regret.items():
                more = (regret - result.regret["SoftUCB, online"])[:, -1]
                error = more.std(ddof=1) / math.sqrt(INSTANCES)
                print(
                    f"d = {d}, sigma = {name:9} {policy:18} {regret[:, -1].mean():7.1f}, "
                    f"{more.mean():+7.1f} (s.e. {error:.1f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()

"""The stranger's policy of tests/test_stranger.py on a cluster: the same bits as in threads."""

import tightrope as tr
from moss_outside import OutsideMOSS


def test_a_cluster_plays_it_to_the_same_bits(cluster):
    engine, address = cluster
    problem, given = (
        tr.problems.Bernoulli([0.3, 0.5, 0.6]),
        {"horizon": 60, "replications": 4, "seed": 1},
    )
    here = tr.simulate(problem, OutsideMOSS(horizon=60), **given)
    there = tr.simulate(problem, OutsideMOSS(horizon=60), **given, engine=engine, address=address)
    assert here.regret["OutsideMOSS"].tobytes() == there.regret["OutsideMOSS"].tobytes()
    assert here.regret["OutsideMOSS"][:, -1].min() > 0.0

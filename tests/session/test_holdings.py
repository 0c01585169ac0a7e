"""What is in hand, told without a round, is what an explanation of the next round tells."""

import copy

import numpy as np
import pytest

import tightrope as tr
from tiers import thorough
from tightrope.numerics.states import copied
from tightrope.policies.conservative.holdings import holdings

K, D = 4, 3
PAPER = 1  # clip: the policy's own bound of what its arms earned may be below 0
CLUCB = {"alpha": 0.3, "sigma": 0.3, "arm_bound": 2.0}
ROUNDS = [  # policy, how the arms come, whether rounds bring their baseline and its mean
    (tr.Safe(tr.UCB(), baseline=1, baseline_mean=0.5, alpha=0.3, sigma=0.3), "arms", None, None),
    (tr.CUCB2(baseline=1, alpha=0.3, sigma=0.3), "arms", None, None),
    (tr.CUCB2(alpha=0.3, sigma=0.3), "arms", 2, 0.5),
    (tr.CLUCB2(baseline=1, baseline_mean=0.5, **CLUCB), "features", None, None),
    (tr.CLUCB2(baseline=1, baseline_mean=0.5, **CLUCB), "contexts", None, None),
    (tr.CLUCB2(baseline=1, baseline_mean=0.5, open="lower", **CLUCB), "contexts", None, None),
    (tr.CLUCB2(baseline=1, **CLUCB), "contexts", None, None),
    pytest.param((tr.CLUCB2(**CLUCB), "contexts", 2, None), marks=thorough),
    (tr.CLUCB2(**CLUCB), "contexts", 2, 0.5),
    (tr.CLUCB(baseline=1, baseline_mean=0.5, **CLUCB), "contexts", None, None),
    (tr.Safe(tr.LinUCB(), **CLUCB), "catalogue", 0, 0.5),
    (
        tr.Safe(
            tr.C2UCB(), baseline=[0, 1], baseline_mean=0.8, alpha=0.3, sigma=0.3, arm_bound=2.0
        ),
        "sets",
        None,
        None,
    ),
    (tr.Safe(tr.C2UCB(), baseline=[0, 1], alpha=0.3, sigma=0.3, arm_bound=2.0), "sets", None, None),
]


@pytest.mark.parametrize(
    "case", ROUNDS, ids=lambda case: f"{type(case[0]).__name__}-{case[1]}-{case[2]}-{case[3]}"
)
def test_what_is_in_hand_is_what_an_explanation_tells(case):
    policy, how, baseline, mean = case
    noise = np.random.default_rng(4)
    fixed = noise.random((K, D)) / 2
    if how == "catalogue":
        session = tr.Session(policy, dimension=D)
    elif how == "contexts":
        session = tr.Session(policy, K, dimension=D)
    else:
        session = tr.Session(
            policy,
            K if how == "arms" else fixed,
            oracle=tr.oracles.TopK(2) if how == "sets" else None,
        )
    seen = []
    for t in range(60):
        number = K + t % 2 if how == "catalogue" else K
        features = noise.random((number, D)) / 2 if how in ("contexts", "catalogue") else None
        context = tr.Context(features, None, baseline, mean)
        told = holdings(policy, copied(session.state))["budget_bound"]
        if t:
            seen.append(told)
            explained = session.explain(context)["budget_bound"]
            assert told == pytest.approx(explained, abs=1e-9) or (
                told > explained and policy.clip == PAPER
            )
        made = session.decide(context)
        arms = np.atleast_1d(made.arm)
        if (
            t % 4 or how == "sets"
        ):  # some stay open, but none of the baseline, whose mean an explanation does not count
            reward = (0.2 + 0.6 * noise.random(arms.size)).tolist()
            session.reward(
                made.id,
                reward[0]
                if np.ndim(made.arm) == 0
                else dict(zip(arms.tolist(), reward, strict=True)),
            )
    assert len(set(seen)) > 10
    before = copy.deepcopy(session.state)
    assert holdings(policy, copied(session.state)) and str(before) == str(session.state)


def test_nothing_is_in_hand_where_no_ledger_is_kept():
    assert holdings(tr.UCB(), tr.Session(tr.UCB(), 3).state) is None

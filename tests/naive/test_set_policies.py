"""Fast policies over sets against their slow twins: the same sets, round for round."""

import numpy as np
import pytest

import tightrope as tr
from naive import semibandit_policies as naive
from tightrope.core.streams import POLICY, stream

N, D, K, ROUNDS, SEED = 130, 4, 6, 12, 3  # more rows than are solved side by side


def beta(divide=1.0):
    return lambda t: naive.beta(t, K, D, 2.0, 0.1 / divide, 0.5, 1.5)


THEORY = {"lam": 2.0, "delta": 0.1, "noise": 0.5, "theta_bound": 1.5}
TWINS = [
    (tr.C2UCB(alpha=0.7, lam=2.0), naive.C2UCB(D, 2.0, lambda t: 0.7)),
    (tr.C2UCB(alpha="theory", **THEORY), naive.C2UCB(D, 2.0, beta())),
    (tr.PC2UCB(alpha=0.7, lam=2.0, c=0.5), naive.PC2UCB(D, 2.0, lambda t: 0.7, 0.5)),
    (tr.PC2UCB(alpha="theory", **THEORY), naive.PC2UCB(D, 2.0, beta(), 1.0)),
    (tr.CombTS(v=0.7, lam=2.0, randomization="arm"), naive.CombTSArm(D, 2.0, lambda t: 0.7)),
    (
        tr.CombTS(v="theory", randomization="arm", **THEORY),
        naive.CombTSArm(D, 2.0, beta(4 * N * ROUNDS)),
    ),
    (tr.CombTS(v=0.7, lam=2.0, randomization="shared"), naive.CombTSShared(D, 2.0, lambda t: 0.7)),
    (tr.CombTS(v=0.7, lam=2.0), naive.CombTSRound(D, 2.0, lambda t: 0.7)),
    (tr.CombTS(v="theory", **THEORY), naive.CombTSRound(D, 2.0, beta(4 * ROUNDS))),
    (tr.CombGreedy(lam=2.0), naive.Greedy(D, 2.0)),
    (tr.CombLinUCB(prior_scale=0.8, noise=0.3, c=1.5), naive.CombLinUCB(D, 0.8, 0.3, 1.5)),
    (tr.CombLinTS(prior_scale=0.8, noise=0.3), naive.CombLinTS(D, 0.8, 0.3)),
]


@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("case", range(len(TWINS)), ids=[repr(policy) for policy, _ in TWINS])
def test_same_sets_as_the_twin(case, changing):
    policy, made = TWINS[case]
    twin = type(made).__new__(type(made))
    twin.__dict__ = {
        key: value.copy() if isinstance(value, np.ndarray) else value
        for key, value in made.__dict__.items()
    }
    rng = np.random.default_rng(case)
    X, theta = rng.normal(size=(N, D)), rng.normal(size=D)
    given = {"arms": N, "dimension": D} if changing else {"arms": X}
    session = tr.Session(policy, **given, oracle=tr.oracles.TopK(K), horizon=ROUNDS, seed=SEED)
    twins_rng = stream(SEED, 0, POLICY)
    for _ in range(ROUNDS):
        if changing:
            X = rng.normal(size=(N, D))
        chosen = session.select(context=X if changing else None)
        assert chosen.tolist() == naive.top(twin.scores(X, twins_rng), K)
        rewards = X[chosen] @ theta + 0.3 * rng.normal(size=K)
        session.update(chosen, rewards)
        twin.update(X, chosen, rewards)


@pytest.mark.parametrize(
    "policy",
    [tr.C2UCB(), tr.PC2UCB(), tr.CombTS(), tr.CombTS(randomization="arm"), tr.CombGreedy()],
    ids=repr,
)
def test_blocks_equal_one_model_with_zero_padded_features(policy, rng):
    """M regressions of size d choose as the one of size M d whose features are zero outside their
    block; an intercept would be of each."""
    policy = policy._replace(intercept=False) if "intercept" in policy._fields else policy
    users, M, k, d = 20, 3, 2, 4
    X, theta = rng.normal(size=(users, d)), rng.normal(size=(M, d))
    padded = np.zeros((users * M, M * d))
    for arm in range(users * M):
        user, block = divmod(arm, M)
        padded[arm, block * d : (block + 1) * d] = X[user]
    send = tr.oracles.Promotions(promotions=M, k=k)

    def flat(scores):
        pairs = send(scores.reshape(users, M))
        return pairs[:, 0] * M + pairs[:, 1]

    blocked = tr.Session(policy, arms=X, oracle=send, seed=1)
    whole = tr.Session(policy, arms=padded, oracle=flat, seed=1)
    for _ in range(8):
        chosen = blocked.select()
        assert chosen.tolist() == whole.select().tolist()
        rewards = np.einsum("nd,nd->n", X[chosen // M], theta[chosen % M]) + 0.1 * rng.normal(
            size=M * k
        )
        blocked.update(chosen, rewards)
        whole.update(chosen, rewards)
    first, second = blocked.explain(), whole.explain()
    for key in ("mean", "width"):
        np.testing.assert_allclose(first[key], second[key], atol=1e-10)


def test_kalman_aliases_equal_ridge_policies(rng):
    X = rng.normal(size=(40, 3))
    noise, prior, c = 0.4, 0.7, 1.3
    pairs = [
        (
            tr.CombLinUCB(prior_scale=prior, noise=noise, c=c),
            tr.C2UCB(lam=(noise / prior) ** 2, alpha=c * noise),
        ),
        (
            tr.CombLinTS(prior_scale=prior, noise=noise),
            tr.CombTS(lam=(noise / prior) ** 2, v=noise),
        ),
    ]
    for kalman, ridge in pairs:
        sessions = [
            tr.Session(policy, arms=X, oracle=tr.oracles.TopK(4), seed=2)
            for policy in (kalman, ridge)
        ]
        for _ in range(10):
            chosen = [session.select().tolist() for session in sessions]
            assert chosen[0] == chosen[1]
            rewards = rng.normal(size=4)
            for session in sessions:
                session.update(chosen[0], rewards)

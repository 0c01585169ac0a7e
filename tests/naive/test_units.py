"""Which default policies make the same decisions whatever the unit and the zero of rewards: the
table on the page `which-policy`.

`python tests/naive/test_units.py` prints it.
"""

import pathlib
import sys

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import numpy as np
import pytest

import tightrope as tr

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "which-policy.md"
POLICIES = {
    "LinUCB": tr.LinUCB(),
    "LinTS": tr.LinTS(),
    "SoftUCB": tr.SoftUCB(),
    "SquareCB": tr.SquareCB(),
    "LinEpsilonGreedy": tr.LinEpsilonGreedy(),
    "C2UCB": tr.C2UCB(),
    "PC2UCB": tr.PC2UCB(),
    "CombTS": tr.CombTS(),
    "CombLinUCB": tr.CombLinUCB(),
    "CombLinTS": tr.CombLinTS(),
    "EpsilonGreedy": tr.EpsilonGreedy(),
    "GaussianThompson": tr.GaussianThompson(),
    "CombGreedy": tr.CombGreedy(),
    "UCB": tr.UCB(),
    "RobustUCB": tr.RobustUCB(moment=1.0),
    "LinMED": tr.LinMED(),
    "CombUCB1": tr.CombUCB1(),
    "ESCB": tr.ESCB(),
    "CombThompson": tr.CombThompson(),
    "KLUCB": tr.KLUCB(),
    "BetaThompson": tr.BetaThompson(),
    "CombKLUCB": tr.CombKLUCB(),
    "CKLUCB": tr.CKLUCB(lipschitz=4.0),
    "HOO": tr.HOO(nu=1.0),
    "Zooming": tr.Zooming(lipschitz=4.0),
}
ROUNDS, K = 60, 6


def decisions(policy, unit, zero, seed):
    """What is chosen where rewards have this unit and zero; the first choices of greedy policies,
    among equal estimates, are left out."""
    data, kinds = np.random.default_rng(seed), type(policy).TRAITS.accepts
    X, means = data.normal(size=(K, 3)), np.linspace(0.2, 0.8, K)
    many = "sets" in kinds or "sets of lasting arms" in kinds
    if many:
        given = {"arms": X if "sets" in kinds else K, "oracle": tr.oracles.TopK(2)}
    elif "features" in kinds:
        given = {"arms": X}
    else:
        given = (
            {"points": np.linspace(0.0, 1.0, K)} if {"points", "line"} & set(kinds) else {"arms": K}
        )
    session, found = tr.Session(policy, **given, horizon=ROUNDS, seed=seed), []
    for arm in range(K):  # a reward of each
        session.update(
            [arm] if many else arm,
            zero + unit * (np.array([means[arm]]) if many else float(means[arm])),
        )
    for _ in range(ROUNDS):
        arm = session.select()
        found.append(np.atleast_1d(arm).tolist())
        rewards = zero + unit * (means[arm] + 0.15 * data.choice([-1.0, 1.0], size=np.shape(arm)))
        session.update(arm, rewards if many else float(rewards))
    return found


def answer(policy, unit, zero):
    """In a word, what another unit and another zero do to the decisions of three runs."""
    try:
        same = all(
            decisions(policy, unit, zero, seed) == decisions(policy, 1.0, 0.0, seed)
            for seed in range(3)
        )
    except ValueError as error:
        assert "is not a" in str(error), error
        return "refused"
    return "no" if same else "yes"


def rows():
    """The table's rows, policies with equal answers in one."""
    answers = {
        name: (answer(policy, 1000.0, 0.0), answer(policy, 1.0, 100.0))
        for name, policy in POLICIES.items()
    }
    links = {
        each: ", ".join(
            f"[{name}](policies/{name}.md)" for name in answers if answers[name] == each
        )
        for each in answers.values()
    }
    return [f"| {names} | {unit} | {zero} |" for (unit, zero), names in links.items()]


def test_the_page_says_which_policies_depend_on_unit_and_zero():
    page = PAGE.read_text()
    found = rows()
    assert any("LinUCB" in row and row.endswith("| no | no |") for row in found)
    for row in found:
        assert row in page


@pytest.mark.parametrize("name", ["UCB", "LinMED"])
def test_one_that_depends_is_seen_to(name):
    assert answer(POLICIES[name], 1000.0, 0.0) == "yes"


if __name__ == "__main__":
    print(*rows(), sep="\n")

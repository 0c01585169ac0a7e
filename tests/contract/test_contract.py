"""What every policy promises, on every kind of arms it accepts. A new policy file is found by itself."""

import pytest

import tightrope as tr
from standard import fits, pairs, session_for
from tightrope.policies import examples
from tightrope.testing import check_pair, digest, digests_elsewhere
from tightrope.verbs import explain

PAIRS = pairs()
LAST_OF_CLASS = {type(pair.values[0]): pair.id for pair in PAIRS}
COMPILED = [pair for pair in PAIRS if not isinstance(pair.values[1], tr.problems.SemiBandit | tr.problems.Promotions)]  # sets are Python
LAST_OF_FAMILY = {type(pair.values[0]).__module__.rpartition(".")[0]: pair.id for pair in COMPILED}


@pytest.mark.parametrize(("policy", "problem"), PAIRS)
def test_loops_sessions_masks_and_explanations(policy, problem, request):
    """Masks as well, compiled for one pair of each class of policies; interpreted kernels meet them on all pairs (below)."""
    assert explain.answers(policy)
    check_pair(policy, problem, masks=LAST_OF_CLASS[type(policy)] == request.node.callspec.id)


@pytest.mark.parametrize("mode", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_loops_without_compilation_and_with_index_checks(mode):
    """Digests of all runs agree between compiled, interpreted and bounds-checked kernels.

    Interpreted kernels check every index as well, on all pairs; compiled ones, whose indices are the same, on one pair of each family.
    """
    pairs = [pair for pair in PAIRS if mode == "NUMBA_DISABLE_JIT" or pair.id in LAST_OF_FAMILY.values()]
    there = digests_elsewhere([pair.values for pair in pairs], mode, {"NUMBA_OPT": "1"})
    assert [pair.id for pair, wanted in zip(pairs, there, strict=True) if digest(*pair.values) != wanted] == []


def test_one_arm_and_one_round_are_no_special_case():
    """One arm that is 0.5 below the best of the continuum it stands for: every round costs just that, and there is nothing to choose."""
    problem = tr.problems.Lipschitz(points=[0.5], means=[0.25], lipschitz=1.0, best=0.75)
    chosen = {label: policy for label, policy in examples().items() if fits(policy, problem) and not type(policy).TRAITS.stops}
    assert len(chosen) > 8
    for rounds in (1, 3):
        result = tr.simulate(problem, chosen, horizon=rounds)
        for name, policy in chosen.items():
            assert result.pulls[name].tolist() == [[rounds]], name
            assert result.regret[name][0, -1] == 0.5 * rounds, name
            session = session_for(policy, problem, 1, rounds)
            assert session.select() == 0
            session.update(0, 0.25)
            assert session.explain()["probability"].tolist() == [1.0], name

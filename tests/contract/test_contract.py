"""What every policy promises, on every kind of arms it accepts. A new policy file is found by itself."""

import pytest

import tightrope as tr
from standard import pairs
from tightrope.matching import accepts
from tightrope.policies import examples
from tightrope.testing import check_pair, digest, digests_elsewhere
from tightrope.verbs import explain

PAIRS = pairs()


@pytest.mark.parametrize(("policy", "problem"), PAIRS)
def test_loops_sessions_masks_and_explanations(policy, problem):
    assert explain.answers(policy)
    check_pair(policy, problem)


@pytest.mark.parametrize("mode", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_loops_without_compilation_and_with_index_checks(mode):
    """Digests of all runs agree between compiled, interpreted and bounds-checked kernels."""
    there = digests_elsewhere([pair.values for pair in PAIRS], mode)
    assert [pair.id for pair, wanted in zip(PAIRS, there, strict=True) if digest(*pair.values) != wanted] == []


def test_one_arm_and_one_round_are_no_special_case():
    problem = tr.problems.Bernoulli([0.4])
    result = tr.simulate(problem, single_arm_policies(), horizon=1)
    for name in result.policies:
        assert result.pulls[name].sum() == 1
        assert result.regret[name][0, -1] == 0.0


def single_arm_policies():
    return {label: policy for label, policy in examples().items() if "arms" in accepts(policy)}

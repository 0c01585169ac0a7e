"""What every policy promises, on every kind of arms it accepts. A new policy file is found by
itself."""

import pytest

import tightrope as tr
from standard import COSTLY, KINDS, fits, is_quick, pairs, session_for
from tiers import thorough
from tightrope.core.policy import base_of
from tightrope.core.registry import named_policies
from tightrope.core.verbs import explain
from tightrope.policies import examples
from tightrope.testing import check_masks, check_pair, digest, digests_elsewhere

PAIRS = pairs()
QUICK = [pair for pair in PAIRS if is_quick(pair)]


def family(pair):
    return type(pair.values[0]).__module__.rpartition(".")[0]


FIRST_OF_FAMILY = {family(pair): pair.id for pair in reversed(QUICK)}
LAST_OF_CLASS = {type(pair.values[0]): pair for pair in PAIRS}
COMPILED = [
    pair
    for pair in PAIRS
    if not isinstance(pair.values[1], tr.problems.SemiBandit | tr.problems.Promotions)
]  # sets are Python
LAST_OF_FAMILY = {family(pair): pair.id for pair in COMPILED}


@pytest.mark.parametrize(("policy", "problem"), PAIRS)
def test_loops_sessions_masks_and_explanations(policy, problem, request):
    """Masks as well, compiled for the first pair of each family of policies; interpreted kernels
    meet them on all pairs (below)."""
    assert explain.answers(policy)
    check_pair(policy, problem, masks=request.node.callspec.id in FIRST_OF_FAMILY.values())


@thorough
@pytest.mark.parametrize(
    ("policy", "problem"),
    [pytest.param(*pair.values, id=pair.id) for pair in LAST_OF_CLASS.values()],
)
def test_masks_of_the_last_pair_of_every_class(policy, problem):
    """Of contexts, where a class accepts them: kernels are compiled once more for rounds with a
    mask."""
    check_masks(policy, problem, 3)


def differing(pairs, compared, mode):
    """Names of `compared` pairs whose digests differ from those of another process, which runs all
    `pairs` with `mode`."""
    there = digests_elsewhere([pair.values for pair in pairs], mode, {"NUMBA_OPT": "1"})
    names = {pair.id for pair in compared}
    return [
        pair.id
        for pair, wanted in zip(pairs, there, strict=True)
        if pair.id in names and digest(*pair.values) != wanted
    ]


@pytest.mark.parametrize(
    "compared", [QUICK, pytest.param(PAIRS, marks=thorough)], ids=["quick", "all"]
)
def test_interpreted_kernels_check_every_choice_and_agree_with_compiled_ones(compared):
    """Interpreted kernels run on all pairs in both tiers, where every index, arm and mask is
    checked; digests agree to the bit."""
    assert differing(PAIRS, compared, "NUMBA_DISABLE_JIT") == []


@thorough
def test_compiled_kernels_with_index_checks_do_the_same():
    """On one pair of each family: the indices of compiled kernels are those of interpreted ones."""
    pairs = [pair for pair in COMPILED if pair.id in LAST_OF_FAMILY.values()]
    assert differing(pairs, pairs, "NUMBA_BOUNDSCHECK") == []


def not_in_make_test(classes, pairs):
    """Classes of policies that no pair has, and (class, kind of problems) that only thorough pairs
    have."""
    found = [
        (type(pair.values[0]).__name__, KINDS[pair.id.rpartition(" on ")[2]]) for pair in pairs
    ]
    quick = {kind for kind, pair in zip(found, pairs, strict=True) if is_quick(pair)}
    return sorted(classes - {name for name, _ in found}), sorted(set(found) - quick)


def test_every_class_of_policies_meets_the_contract_in_make_test_on_every_kind_of_problems_but_the_costly():
    ours = {
        base_of(item).__name__
        for _, item in named_policies()
        if item.__module__.startswith("tightrope.")
    }
    costly = sorted((name, kind) for kind, those in COSTLY.items() for name in those)
    assert not_in_make_test(ours, PAIRS) == ([], costly)
    without_ucb = [pair for pair in PAIRS if type(pair.values[0]) is not tr.UCB]
    assert not_in_make_test(ours, without_ucb) == (["UCB"], costly)
    later = [
        pytest.param(*p.values, id=p.id, marks=thorough)
        if p.id.startswith("LinUCB") and "contextual" in p.id
        else p
        for p in PAIRS
    ]
    assert not_in_make_test(ours, later) == ([], sorted([("LinUCB", "contexts"), *costly]))


@thorough
def test_one_arm_and_one_round_are_no_special_case():
    """One arm that is 0.5 below the best of the continuum it stands for: every round costs just
    that, and there is nothing to choose."""
    problem = tr.problems.Lipschitz(points=[0.5], means=[0.25], lipschitz=1.0, best=0.75)
    chosen = {
        label: policy
        for label, policy in examples().items()
        if fits(policy, problem) and not type(policy).TRAITS.stops
    }
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

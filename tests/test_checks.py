"""Mistakes that once came out as someone else's exception are sentences with the argument, the
value and the remedy."""

import re

import numpy as np
import pytest

import tightrope as tr

ONE = tr.problems.Bernoulli([0.5])
MESSAGES = [
    (lambda: tr.UCB(alpha=True), "alpha = True is not a number in (0, inf); write 1 for True"),
    (lambda: tr.UCB(alpha=np.True_), "write 1 for True and 0 for False"),
    (
        lambda: tr.Session(tr.UCB(), arms=np.True_),
        "arms = np.True_ is not a whole number from 1 to inf; write 1 for True",
    ),
    (
        lambda: tr.UCB(alpha=10**5000),
        "alpha = a whole number of 16,610 bits is not a number in (0, inf).",
    ),
    (
        lambda: tr.Session(tr.UCB(), arms=3).select(eligible=[[True], []]),
        "eligible = [[True], []] is not a bool array",
    ),
    (lambda: tr.problems.Bernoulli([[0.1], [0.2, 0.3]]), "its rows differ in length"),
    (lambda: tr.problems.Bernoulli(np.array([0.1 + 1j])), "is not an array of numbers"),
    (lambda: tr.problems.Bernoulli(["0.1"]), "is not an array of numbers"),
    (lambda: tr.problems.Bernoulli(endless()), "lists inside lists more than 8 deep"),
    (
        lambda: tr.simulate(ONE, {"a": tr.UCB}, horizon=3),
        "policies['a'] = UCB is a class; pass an instance: UCB()",
    ),
    (
        lambda: tr.simulate(ONE, tr.CUCB2, horizon=3),
        "policies = CUCB2 is a class; pass an instance: CUCB2()",
    ),
    (lambda: tr.simulate(ONE, tr.UCB(), horizon=3, replications=10**400), "bytes"),
    (
        lambda: tr.Session(tr.UCB(), arms=10**13),
        "arms = 10,000,000,000,000 needs 72.8 TiB of memory (8 bytes each), but this machine has",
    ),
    (
        lambda: tr.problems.ContextualLinear([1.0], arms=10**400),
        "arms = about 10^399 needs about 10^400 bytes of memory (8 bytes each), but this machine "
        "has",
    ),
    (
        lambda: tr.problems.spread_arms(2.5, [0.6, 0.8], np.random.default_rng(0)),
        "number = 2.5 is not a whole number from 1",
    ),
    (
        lambda: tr.problems.spread_arms(3, [0.6, 0.9], np.random.default_rng(0)),
        "norm 1.08166538264, but needs length 2 or more and norm 1",
    ),
    (
        lambda: tr.problems.spread_arms(3, [0.6, 0.8], 0),
        "rng = 0 is not a numpy Generator; pass numpy.random.default_rng(seed).",
    ),
    (
        lambda: tr.CUCB2T(baseline=0, checkpoint=2**64),
        "checkpoint = 18446744073709551616 is not a whole number from 1 to",
    ),
]


def endless():
    loop = []
    loop += [loop, loop]
    return loop


@pytest.mark.parametrize(
    ("call", "words"), MESSAGES, ids=[re.sub(r"\W+", "-", words)[:40] for _, words in MESSAGES]
)
def test_mistakes_are_sentences(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("late", [False, True])
def test_a_mask_is_the_callers_to_refill(late, tmp_path):
    """`update` after `select` knows the round's mask as it was, whatever became of the buffer."""

    def chance(refill):
        session = tr.Session(
            tr.SoftUCB(online=True, eta=0, step=1.0, timing="fresh"),
            arms=np.random.default_rng(0).normal(size=(6, 2)),
            horizon=90,
        )
        buffer = np.array([True, True, False, False, True, False])
        for t in range(20):
            arm = (
                session.select(context=tr.Context(eligible=buffer))
                if late
                else session.select(eligible=buffer)
            )
            if refill:
                buffer[:] = ~buffer
                if t == 10:
                    session.save(tmp_path / "s")
                    session = tr.Session.load(tmp_path / "s")
            session.update(arm, 0.1 * arm)
            if refill:
                buffer[:] = ~buffer
        return session.explain()["beta"]

    assert chance(True) == chance(False)

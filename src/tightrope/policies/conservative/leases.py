"""Leases: how many exploring decisions may be made elsewhere before what they have earned is known, with the promise kept.

One ledger knows the decisions that it was told of. It hands out leases, each a number of decisions that explore; whoever holds one may
play any arm so often, and the baseline always, without asking. The derivation is in docs/explanation/conservative-guarantee.md, "Many
workers": with m exploring decisions known, rewards S, G leased decisions that are not, and the baseline's part of the known rounds,

    budget >= max(S - psi(m + G), 0) + baseline's part - (1 - alpha) mu_b G .

Leases are granted while this is not negative. Rewards must be at least 0.
"""

from ...compiled.kernels import lean
from .ledger import martingale_radius


@lean
def leased_bound(rewards, explored, owed, leased, charge, sigma, delta, reach):
    """Lower bound of the budget, whatever the leased decisions were or will be.

    rewards: S, of exploring decisions. explored: m, known ones. owed: (n_b - (1 - alpha) t) mu_b of the known rounds. leased: G. charge:
    (1 - alpha) mu_b, what a leased decision takes at most. reach: range of a reward in Freedman's term, 0: without it.
    """
    own = rewards - martingale_radius(sigma, delta, explored + leased, reach)
    return max(own, 0.0) + owed - charge * leased


@lean
def lease_room(rewards, explored, owed, leased, charge, sigma, delta, reach, most):
    """The largest number of further leased decisions, up to `most`, at which `leased_bound` is not negative; 0 where none is. O(log most).

    The bound falls with every decision that is leased, so bisection finds it.
    """
    low, high = 0, int(most)
    while low < high:
        middle = (low + high + 1) // 2
        if leased_bound(rewards, explored, owed, leased + middle, charge, sigma, delta, reach) >= 0.0:
            low = middle
        else:
            high = middle - 1
    return low

"""Oracles: the best admissible set of arms for given scores. All are exact, refuse what cannot be met, and honour a mask.

`oracle(scores, eligible=None)` returns the arms of a set of largest total score. `oracle.size` is the most arms a set can
hold, `oracle.blocks` how many arms share a row of features (promotions for the same user). Any callable serves as an oracle.
"""

from .choose import choose as choose
from .choose import set_size as set_size
from .knapsack import Knapsack
from .partition import Partition
from .promotions import Assignment, Promotions
from .top import TopK

__all__ = ["Assignment", "Knapsack", "Partition", "Promotions", "TopK"]


def __dir__() -> list[str]:
    return __all__

"""Problems built from real ratings. The data stay where the user has them; nothing is shipped."""

from .find import DataNotFound, find
from .jester import jester
from .movielens import movielens
from .open_bandit import OpenBandit, open_bandit
from .ratings import movielens_ratings
from .stars import movielens_stars
from .yahoo import yahoo

__all__ = [
    "DataNotFound",
    "OpenBandit",
    "find",
    "jester",
    "movielens",
    "movielens_ratings",
    "movielens_stars",
    "open_bandit",
    "yahoo",
]

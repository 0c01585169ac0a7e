"""Problems built from real ratings. The data stay where the user has them; nothing is shipped."""

from .find import DataNotFound, find
from .jester import jester
from .movielens import movielens
from .ratings import movielens_ratings
from .stars import movielens_stars
from .yahoo import yahoo

__all__ = [
    "DataNotFound",
    "find",
    "jester",
    "movielens",
    "movielens_ratings",
    "movielens_stars",
    "yahoo",
]

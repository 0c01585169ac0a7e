"""What a policy is shown: the arms before the first round, and what each round brings."""

from typing import Any, NamedTuple

from .checks import show


class Context(NamedTuple):
    """What a round shows the policy. `None` fields cost nothing in compiled code.

    Parameters
    ----------
    features : (K, d) array
        Of this round's arms; None: the fixed ones.
    eligible : (K,) array of bool
        Arms that may be played; None: all.
    baseline : int
        This round's baseline arm; None: the policy's own.
    baseline_mean : float
        Its known mean this round, in units of reward.
    """

    features: Any = None  # (K, d) features of this round's arms; None: the fixed ones
    eligible: Any = None  # (K,) bool; None: all
    baseline: Any = None  # int: this round's baseline arm; None: the policy's own
    baseline_mean: Any = None  # float: its known mean this round

    def __repr__(self) -> str:
        return f"Context({', '.join(f'{name}={show(value)}' for name, value in self._asdict().items() if value is not None)})"


PLAIN = Context()  # a round like any other, which shows nothing of its own


class Arms(NamedTuple):
    """What a policy is told about the arms before the first round."""

    number: int  # K
    features: Any = None  # (K / blocks, d); None: the arms have no features, or new ones every round
    dimension: int = 0  # d; 0: no features
    distances: Any = None  # (K, K) metric
    points: Any = None  # (K,) or (K, p) positions
    oracle: Any = None  # chooses sets; None: single arms
    horizon: int | None = None  # T, if known
    rewards: tuple[float, float] | None = None  # lowest and highest reward, if known
    blocks: int = 1  # arms per row of features: arm = row * blocks + block, one regression per block
    common: bool = False  # whether a round shows all arms one row of features, as (d,), so that only a model for each arm tells them apart

    @property
    def rows(self) -> int:
        """Rows of features."""
        return self.number // self.blocks

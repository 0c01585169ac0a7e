"""The arms of a session: their description, their names, which of them are retired."""

from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np

from ..core import checks
from ..core.policy import Policy, accepts
from ..core.registry import offers
from ..core.types import Oracle
from ..core.verbs import Arms
from ..solvers.oracles import set_size


def describe_arms(
    arms: object,
    points: object,
    distances: object,
    dimension: object,
    oracle: Oracle | None,
    horizon: object,
) -> Arms:
    arguments = [
        name
        for name, value in (("arms", arms), ("points", points), ("distances", distances))
        if value is not None
    ]
    if len(arguments) > 1 or (not arguments and dimension is None):
        raise ValueError(
            "give exactly one of arms, points and distances; got "
            f"{', '.join(arguments) or 'none'}. dimension=d alone takes any number of candidates "
            "with their features at every call."
        )
    T = None if horizon is None else checks.integer("horizon", horizon, least=1)
    if oracle is not None and not callable(oracle):
        raise ValueError(
            f"oracle = {checks.show(oracle)} is not callable; pass one of tightrope.oracles such "
            "as TopK(5), or a function."
        )
    blocks = getattr(oracle, "blocks", 1)
    if not arguments:
        d = checks.integer("dimension", dimension, least=1)
        return Arms(
            max(1, set_size(oracle, 1)) * blocks,
            dimension=d,
            oracle=oracle,
            horizon=T,
            blocks=blocks,
        )
    if arms is None:
        positions, metric = checks.metric(points, distances)
        return Arms(metric.shape[0], points=positions, distances=metric, horizon=T)
    if (
        not isinstance(arms, int)
        and checks.entries("arms", arms, "an array of numbers").dtype.kind in "UO"
    ):
        raise ValueError(
            f"arms = {checks.show(arms)} is no number of arms, no (K, d) features and no list of "
            "names."
        )
    if checks.floats("arms", arms).ndim == 0:
        d = 0 if dimension is None else checks.integer("dimension", dimension, least=1)
        number = checks.integer("arms", arms, least=1)
        checks.fits_in_memory("arms", number, 8 * blocks * max(d, 1))
        return Arms(number * blocks, dimension=d, oracle=oracle, horizon=T, blocks=blocks)
    features = checks.matrix("arms", arms)
    rows, d = features.shape
    if dimension is not None and checks.integer("dimension", dimension) != d:
        raise ValueError(
            f"dimension = {checks.show(dimension)}, but arms has {d} columns; leave dimension out."
        )
    return Arms(
        rows * blocks, features=features, dimension=d, oracle=oracle, horizon=T, blocks=blocks
    )


def described_addition(
    arms: Arms,
    called: "Names",
    names: object,
    features: object,
    number: object,
    oracle: Oracle | None,
) -> tuple[Arms, "Names"]:
    """The description of a longer list of arms, and what they are called. called: what the old ones
    are."""
    if arms.distances is not None:
        raise ValueError(
            "arms with a metric cannot be added to; start a new session with all points."
        )
    if oracle is not None and arms.oracle is None:
        raise ValueError("oracle was given, but this session plays single arms; leave it out.")
    if oracle is not None and not callable(oracle):
        raise ValueError(
            f"oracle = {checks.show(oracle)} is not callable; pass one of tightrope.oracles such "
            "as TopK(5), or a function."
        )
    X = None
    if arms.features is not None:
        if features is None:
            raise ValueError(
                f"features is missing; give the new arms' features, (n, {arms.dimension})."
            )
        X = checks.matrix("features", features, shape=(None, arms.dimension))
    elif features is not None:
        raise ValueError("features was given, but these arms have no fixed features.")
    if (names is None) != (called.texts is None) and arms.blocks == 1:
        missing = names is None
        raise ValueError(
            f"names {'is missing' if missing else 'was given'}, but these arms have "
            f"{'names' if missing else 'numbers'}."
        )
    texts = None if names is None else checked_names("names", names)
    sizes = {len(item) for item in (X, texts) if item is not None}
    if number is not None:
        sizes.add(checks.integer("number", number, least=1))
        checks.fits_in_memory("number", max(sizes), 8 * arms.blocks * max(arms.dimension, 1))
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(
            "names, features and number must say how many arms are added, the same number and at "
            "least 1."
        )
    longer = arms._replace(
        number=arms.number + sizes.pop() * arms.blocks,
        features=None if X is None else np.concatenate([arms.features, X]),
        oracle=arms.oracle if oracle is None else oracle,
    )
    return longer, Names() if texts is None else called.extended(texts)


def check_features(policy: Policy, arms: Arms) -> None:
    kinds = set(accepts(policy))
    if offers(arms) == ("arms",) and "arms" not in kinds and kinds & {"features", "contexts"}:
        raise ValueError(
            f"{type(policy).__name__} plays by features, which {arms.number} arms without any do "
            "not have; add dimension=d where features come with every decide(context), or give "
            "them as arms, (K, d)."
        )


def named_arms(arms: object, names: Iterable[str] | None) -> tuple[object, Iterable[str] | None]:
    if isinstance(arms, np.ndarray) and arms.dtype.kind in "UO":
        arms = arms.tolist()
    if isinstance(arms, list | tuple) and arms and all(isinstance(item, str) for item in arms):
        if names is not None:
            raise ValueError(
                f"arms = {checks.show(arms)} are names, and names was given too; leave one of "
                "them out."
            )
        return len(arms), arms
    if arms is None and names is not None:
        texts = checked_names("names", names)
        return len(texts), texts
    return arms, names


class Names:
    """Unique texts for the rows of a session's arms; without them an arm is its number."""

    def __init__(self, texts: Iterable[object] | None = None) -> None:
        self.texts: tuple[str, ...] | None = (
            None if texts is None else checked_names("names", texts)
        )
        self.numbers = {} if self.texts is None else {text: k for k, text in enumerate(self.texts)}

    def extended(self, more: tuple[str, ...]) -> "Names":
        """With more texts, which were checked; the old ones are not looked at again, however many
        they are."""
        if self.texts is None:
            return Names()
        repeated = next((text for text in more if text in self.numbers), None)
        if repeated is not None:
            raise ValueError(
                f"names has {checks.show(repeated)} twice; every arm needs a name of its own."
            )
        other = Names()
        other.texts = self.texts + more
        other.numbers = self.numbers | {text: k for k, text in enumerate(more, len(self.texts))}
        return other

    def number(self, argument: str, value: object, count: int) -> int:
        if isinstance(value, str):
            if value in self.numbers:
                return self.numbers[value]
            if self.texts is None:
                raise ValueError(
                    f"{argument} = {checks.show(value)} is a name, but these arms have numbers "
                    f"from 0 to {count - 1} only."
                )
            raise ValueError(
                f"{argument} = {checks.show(value)} is not the name of an arm; "
                f"{nearest(value, self.texts)}"
            )
        return checks.integer(argument, value, least=0, most=count - 1)

    def of(self, arm: int) -> str | int:
        return arm if self.texts is None else self.texts[arm]

    def mask(self, eligible: object, count: int) -> object:
        listed = list(eligible) if isinstance(eligible, (set, frozenset, list, tuple)) else eligible
        if isinstance(listed, np.ndarray) and listed.dtype.kind in "UO":
            listed = listed.tolist()
        if (
            not isinstance(listed, list)
            or not listed
            or not all(isinstance(item, str) for item in listed)
        ):
            return listed
        chosen = np.zeros(count, dtype=np.bool_)
        chosen[[self.number("eligible", item, count) for item in listed]] = True
        return chosen


def checked_names(argument: str, texts: object, length: int | None = None) -> tuple[str, ...]:
    if isinstance(texts, (str, bytes, Mapping)):
        raise ValueError(f"{argument} = {checks.show(texts)} is not a list of names.")
    try:
        listed = tuple(checks.ordered(argument, cast("Iterable[object]", texts)))
    except TypeError:
        raise ValueError(f"{argument} = {checks.show(texts)} is not a list of names.") from None
    for k, text in enumerate(listed):
        if not isinstance(text, str) or not text:
            raise ValueError(
                f"{argument}[{k}] = {checks.show(text)} is not text; a name is text that is not "
                "empty."
            )
        if not encodable(text):
            raise ValueError(
                f"{argument}[{k}] = {checks.show(text)} has characters that are no text (lone "
                "surrogates); no file can hold it."
            )
    if len(set(listed)) < len(listed):
        repeated = next(text for k, text in enumerate(listed) if text in listed[:k])
        raise ValueError(
            f"{argument} has {checks.show(repeated)} twice; every arm needs a name of its own."
        )
    if length is not None and len(listed) != length:
        raise ValueError(f"{argument} has {len(listed)} entries, but there are {length} arms.")
    return tuple(str(text) for text in listed)


def nearest(value: str, texts: tuple[str, ...]) -> str:
    few = ", ".join(map(repr, texts[:5])) + (", .." if len(texts) > 5 else "")
    return f"the names are {few}.{checks.hint(value, texts)}"


def encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

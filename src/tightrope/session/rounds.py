"""The rounds of a session: arms, their names and which of them play, and the check of all that a
call says about a round."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.policy import Policy, accepts
from ..core.registry import offers
from ..core.types import PLAIN, JsonObject, Oracle
from ..core.verbs import Arms, Context
from ..solvers.oracles import set_size

if TYPE_CHECKING:
    from ..logs.encoding import Encoder


# Arms: their description, their names, which of them are retired.


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


# Rounds.


MOST_EQUAL = 20  # decisions with equal rows for all arms, before that is taken for a mistake

Round = (
    ArrayLike | Context | Mapping[str, ArrayLike]
)  # features, all that a round shows, or features by a candidate's name
Mask = ArrayLike | Collection[str]  # which arms may be played: bools, or names
Played = (
    SupportsIndex | str | Sequence[SupportsIndex | str] | np.ndarray
)  # an arm, or those of a set, by number or name
Labels = tuple[str, ...] | None  # the candidates' names where a round brings them


class CheckedRound(NamedTuple):
    context: Context
    labels: Labels  # the candidates' names, where the round brings them
    common: bool  # whether all arms are shown one row of features: it was given as (d,)


class Rounds:
    """The arms of a session and what its rounds have shown: a value, which is replaced and never
    changed.

    Attributes
    ----------
    arms : Arms
        Their description; a catalogue's has as many as its last round.
    catalogue : bool
        Whether every round brings its own candidates.
    names : Names
        What the arms are called.
    retired : (K,) bool or None
        Arms that are not played any more.
    changing : bool
        Whether features come with every round.
    last : Context
        What the last decision's round showed.
    several : bool
        Whether rounds have shown different features.
    equal : int
        Decisions so far whose arms had equal rows of features each time; -1 once they differed.
    """

    def __init__(self, policy: Policy, arms: Arms, catalogue: bool, names: Names) -> None:
        self.policy, self.arms, self.catalogue, self.names = policy, arms, catalogue, names
        self.retired: np.ndarray | None = None
        self.changing = arms.dimension > 0 and arms.features is None
        self.last = PLAIN
        self.several = False
        self.equal = 0

    def policy_arms(self) -> Arms:
        return self.arms._replace(features=None) if self.changing else self.arms

    def count(self, context: Context) -> int:
        return (
            self.arms.number
            if context.features is None
            else context.features.shape[0] * self.arms.blocks
        )

    def checked(
        self,
        context: Any,
        eligible: Mask | None,
        names: Sequence[str] | None,
        begun: bool,
        past: bool = False,
        deciding: bool = False,
    ) -> CheckedRound:
        """The round that a call describes. Changes nothing.

        begun: whether anything was decided or learned yet. past: for a round in which arms that are
        retired by now were played. deciding: for a new visitor, who is not shown what the last one
        was.
        """
        last = self.last
        if (
            context is None
            and eligible is None
            and not self.changing
            and self.retired is None
            and names is None
        ):
            return CheckedRound(
                last if last.eligible is None else last._replace(eligible=None), None, False
            )
        if names is not None and not self.catalogue:
            raise ValueError(
                "names was given, but only a catalogue (dimension without arms) takes names with "
                "every call."
            )
        if self.catalogue and isinstance(context, Mapping):
            names, context = list(context), [context[name] for name in context]
        stated = context if isinstance(context, Context) else Context(features=context)
        features = self._features(stated.features, begun, deciding)
        lasting = self.arms.oracle is None and not self.catalogue and self.arms.number > 1
        common = lasting and (
            self.arms.common if stated.features is None else np.ndim(stated.features) == 1
        )
        count = self.arms.number if features is None else features.shape[0] * self.arms.blocks
        labels = None if names is None else checked_names("names", names, count)
        calling = self.names if labels is None else Names(labels)
        mask = self._mask(stated.eligible if eligible is None else eligible, calling, count, past)
        usual = last if context is None else stated
        baseline, mean, segment = usual.baseline, usual.baseline_mean, stated.segment
        number = None if baseline is None else calling.number("baseline", baseline, count)
        known = None if mean is None else checks.real("baseline_mean", mean)
        context = Context(
            features,
            mask,
            number,
            known,
            None if segment is None else checks.integer("segment", segment, least=0),
        )
        return CheckedRound(context, labels, common)

    def _features(self, context: object, begun: bool, deciding: bool) -> np.ndarray | None:
        """The features of a round: those given, else those of the round before, but for one that is
        to be decided."""
        if context is not None:
            self._check_change(begun)
            number = None if self.catalogue else self.arms.rows
            return checks.rows("context", context, shape=(number, self.arms.dimension or None))
        if not self.changing:
            return None
        features = self.last.features if self.last.features is not None else self.arms.features
        if features is None or deciding:
            rows = "n" if self.catalogue else self.arms.rows
            raise ValueError(
                f"context is missing; pass this round's ({rows}, {self.arms.dimension}) features."
            )
        return np.asarray(features)

    def _mask(self, eligible: object, calling: Names, count: int, past: bool) -> np.ndarray | None:
        mask = None
        if eligible is not None:
            mask = checks.mask(
                "eligible", self._per_arm(calling.mask(eligible, count), count), count
            )
        if self.retired is not None and not past:
            mask = ~self.retired if mask is None else mask & ~self.retired
            if not mask.any():
                raise ValueError("every eligible arm is retired; admit or restore one.")
        return mask

    def _per_arm(self, eligible: object, count: int) -> np.ndarray:
        eligible = checks.entries("eligible", eligible, "a bool array")
        blocks, shape = self.arms.blocks, np.shape(eligible)
        if blocks > 1 and shape == (count // blocks,):
            return np.repeat(eligible, blocks)
        return np.reshape(eligible, -1) if shape == (count // blocks, blocks) else eligible

    def _check_change(self, begun: bool) -> None:
        if self.changing:
            return
        if "contexts" not in type(self.policy).TRAITS.accepts:
            name, d = type(self.policy).__name__, self.arms.dimension
            remedy = (
                f"; for new features every round start with arms={self.arms.rows}, dimension={d}"
                if self.arms.oracle is not None
                else ""
            )
            raise ValueError(
                f"context was given, but {name} does not take features that change in a session "
                f"with fixed arms{remedy}."
            )
        if begun:
            raise ValueError(
                "context was given, but this session has learned with fixed arms; start it with "
                "dimension=d instead."
            )

    def all_equal(self, context: Context) -> bool:
        """Whether the arms' rows are equal to each other, as they were in many decisions and never
        otherwise: probably by mistake."""
        features = context.features
        if (
            self.equal < MOST_EQUAL
            or features is None
            or self.arms.oracle is not None
            or self.catalogue
            or self.arms.common
        ):
            return False
        return len(features) > 1 and bool((features == features[0]).all())

    def changed(self, **changes: object) -> "Rounds":
        other = object.__new__(Rounds)
        other.__dict__.update(self.__dict__, **changes)
        return other

    def record_context(self, context: Context, decided: bool, common: bool = False) -> "Rounds":
        """After a round that was decided, or only learned from. common: all arms were shown one
        row."""
        features, last = context.features, self.last
        if context is last and not (self.catalogue and features is not None):
            return self
        if features is None:
            if not decided:
                return self
            # a mask and a segment are no news to the next round, a baseline is
            lasting = context.baseline is not None or context.baseline_mean is not None
            return self.changed(
                last=context._replace(eligible=None, segment=None) if lasting else PLAIN
            )
        arms, equal = self.arms, self.equal
        if self.catalogue and arms.number != self.count(context):
            arms = arms._replace(number=self.count(context))
        if common and not arms.common:
            arms = arms._replace(common=True)
        elif equal >= 0 and not arms.common:
            equal = equal + decided if bool((features == features[0]).all()) else -1
        if not decided:
            same = arms is self.arms and equal == self.equal and self.changing
            return self if same else self.changed(arms=arms, equal=equal, changing=True)
        shown = last.features
        several = self.several or not (
            shown is None or shown is features or np.array_equal(shown, features)
        )
        return self.changed(arms=arms, equal=equal, changing=True, several=several, last=context)

    def grown(self, arms: Arms, names: Names) -> "Rounds":
        more = arms.number - self.arms.number
        last = self.last._replace(features=None, eligible=None)
        retired = (
            None
            if self.retired is None
            else np.concatenate([self.retired, np.zeros(more, dtype=np.bool_)])
        )
        return self.changed(
            arms=arms, names=names, last=PLAIN if last == PLAIN else last, retired=retired
        )

    def retiring(self, arm: str | int, value: bool) -> "Rounds":
        if self.catalogue:
            raise ValueError(
                "this session takes new candidates at every call; leave out those that are retired."
            )
        k = self.names.number("arm", arm, self.arms.number)
        now = (
            np.zeros(self.arms.number, dtype=np.bool_)
            if self.retired is None
            else self.retired.copy()
        )
        now[k] = value
        if now.all():
            raise ValueError(
                f"arm = {checks.show(arm)} is the last one left; at least one arm must stay."
            )
        return self.changed(retired=now if now.any() else None)

    def same_arms(self, other: "Rounds") -> bool:
        a, b = self.arms, other.arms
        mine, others = (
            (each.catalogue, each.changing, each.names.texts, each.arms.dimension, each.arms.blocks)
            for each in (self, other)
        )
        if mine != others or self.catalogue:
            return mine == others
        return a.number == b.number and (
            self.changing
            or a.features is None
            # which the other has as well, being of the same kind
            or np.array_equal(a.features, b.features)  # type: ignore[arg-type]
        )

    # Points ---------------------------------------------------------------------------------------

    def points(self) -> np.ndarray:
        if self.arms.points is None:
            raise ValueError(
                "these arms have no points; give them as points= when the session starts."
            )
        return np.asarray(self.arms.points)

    def arm_at(self, point: ArrayLike) -> int:
        points = self.points()
        wanted = checks.vector(
            "point",
            np.atleast_1d(checks.floats("point", point)),
            length=1 if points.ndim == 1 else points.shape[1],
        )
        apart = np.abs(points.reshape(points.shape[0], -1) - wanted).max(axis=1)
        k = int(apart.argmin())
        if apart[k] > 1e-9 * max(float(np.ptp(points)), np.abs(wanted).max()):
            raise ValueError(
                f"point = {checks.show(point)} is no point of this session; the nearest is "
                f"{checks.show(points[k].tolist())}, arm {k}."
            )
        return k


# Encoders -----------------------------------------------------------------------------------------


class Transformer(Protocol):
    """Anything fitted that makes features of a table's rows: an `Encoder`, or a ColumnTransformer
    of scikit-learn."""

    def transform(self, rows: Any, /) -> Any:
        """(n, d) features of n rows."""


OWN = "of your own"  # what a session's file says of an encoder that it cannot hold


def is_own(encoder: object) -> "TypeGuard[Encoder]":
    from ..logs.encoding import Encoder

    return isinstance(encoder, Encoder)


def checked_encoder(
    encoder: object, dimension: int | None, arms: object, metric: bool
) -> int | None:
    """The dimension that a session with this encoder has. arms: as the session was given them;
    metric: whether they have points or distances. Raises ValueError for what is no encoder, or has
    nothing to do there."""
    if encoder is None:
        return dimension
    if metric or (
        arms is not None and checks.entries("arms", arms, "a number, names or features").ndim > 1
    ):
        raise ValueError(
            "encoder makes the features that rounds show, but these arms are described once for "
            "all; leave one out."
        )
    if callable(getattr(encoder, "transform_one", None)) and not hasattr(encoder, "transform"):
        raise ValueError(
            "encoder is a transformer of River; wrap it with example rows: "
            "tr.adapters.river.RiverEncoder(encoder, rows)."
        )
    if not callable(getattr(encoder, "transform", None)):
        raise ValueError(
            f"encoder = {checks.show(encoder)} has no transform; pass what "
            "tr.Encoder().fit(table) returned."
        )
    number = getattr(encoder, "dimension", None)  # unfitted, an Encoder says so
    if not isinstance(number, int):
        if dimension is None:
            raise ValueError(
                "dimension is missing; with an encoder that does not know its own say how many "
                "features it makes."
            )
        return dimension
    if dimension is not None and dimension != number:
        raise ValueError(
            f"dimension = {checks.show(dimension)}, but the encoder makes {number} features; "
            "leave dimension out."
        )
    return number


def encoded_round(encoder: Transformer, context: object) -> Any:
    """A round's rows as features: (d,) of one row, (n, d) of several; of a catalogue's candidates
    by name, the names with theirs."""
    if context is None:
        return None
    if isinstance(context, Context):
        return (
            context
            if context.features is None
            else context._replace(features=encoded_round(encoder, context.features))
        )
    if (
        isinstance(context, Mapping)
        and context
        and all(isinstance(row, Mapping) for row in context.values())
    ):
        return dict(zip(context, encoded_rows(encoder, list(context.values())), strict=True))
    return encoded_rows(encoder, context)


def encoded_rows(encoder: Any, rows: Any) -> np.ndarray:
    if is_own(encoder):
        return np.asarray(encoder.transform(rows), dtype=np.float64)
    single = isinstance(rows, Mapping)
    if single or (
        isinstance(rows, Sequence) and rows and all(isinstance(row, Mapping) for row in rows)
    ):
        import pandas as pd

        rows = pd.DataFrame([rows] if single else list(rows))
    matrix = encoder.transform(rows)
    features = np.asarray(
        matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64
    )  # scikit-learn's may be sparse
    return features[0] if single else features


def described_encoder(encoder: Transformer | None) -> JsonObject | str | None:
    if encoder is None:
        return None
    return encoder.to_dict() if is_own(encoder) and encoder.is_data else OWN


def found_encoder(
    description: "JsonObject | str | None", encoder: Transformer | None
) -> Transformer | None:
    if description is None:
        if encoder is not None:
            raise ValueError("encoder was given, but this session was saved without one.")
        return None
    if isinstance(description, str):
        if encoder is None:
            raise ValueError(
                "encoder is missing; this session was saved with one that a file does not hold, "
                "so pass it again."
            )
        return encoder
    from ..logs.encoding import Encoder

    stored = Encoder.from_dict(description)
    if encoder is not None and described_encoder(encoder) != stored.to_dict():
        raise ValueError("encoder is not the one that this session was saved with; leave it out.")
    return stored

"""Encoders of a session: rows where it takes features, in every call that describes a round."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from ..core import checks
from ..core.types import JsonObject
from ..core.verbs import Context

if TYPE_CHECKING:
    from ..logs.encoding import Encoder


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
    description: JsonObject | str = encoder.to_dict() if is_own(encoder) else OWN
    return description


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

"""Many decisions and many rewards at once: the same as one by one, to the bit, in one compiled call
where the policy is compiled.

What cannot be decided in one call (sets, catalogues, policies that count what is open, windows,
identification) is decided one by one in a copy of the session, which takes the session's place when
all of it is decided.
"""

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ..compiled.kernels import jit, python_of
from ..core import checks, streams
from ..core.policy import Policy, compiled
from ..core.types import PLAIN, State
from ..core.verbs import Arms, Context, admit, chances, inform, propensity, select
from ..logs.log import ArmLabels
from ..logs.tables import Columns, InMemory, NamedColumns, matrix, open_table, rewards
from ..numerics.states import copied
from ..policies.bases import RegressionPolicy
from .agent import DECIDED, REWARDS, CompiledAgent, learn_many, one_step, propose_many, show
from .decisions import (
    AUTOMATIC,
    MOST_ID,
    REMEMBERED,
    Batch,
    Book,
    Entry,
    Id,
    check_equal,
    checked_id,
    encodable,
    refuse_automatic,
)
from .rounds import MOST_EQUAL, CheckedRound, Mask, Round, Rounds, encoded_rows

if TYPE_CHECKING:
    import pandas as pd


T = TypeVar("T")
Session = Any  # of `session`, which imports this module

# attributes that a session keeps when it takes over the decisions of its copy
KEPT_ATTRIBUTES = ("policy", "encoder", "_past", "_written")
MOST_ENTRIES = 4_000_000  # of the features of rounds that are checked together


class Decisions(NamedTuple):
    """Decisions that were made together, column by column; `frame()` is the table.

    ids: of each, an array of text or whole numbers. arm: their numbers, (n,); for sets (n,)
    objects, an int array each. name: what the arms are called, without names their numbers.
    propensity, propensity_se: as of `Decision`, NaN in a session that measures none; for sets an
    array each.
    """

    ids: np.ndarray
    arm: np.ndarray
    name: np.ndarray
    propensity: np.ndarray
    propensity_se: np.ndarray

    def columns(self) -> dict[str, np.ndarray]:
        """The columns by name, as `pandas.DataFrame` and `pyarrow.table` take them."""
        return {
            "id": self.ids,
            "arm": self.arm,
            "name": self.name,
            "propensity": self.propensity,
            "propensity_se": self.propensity_se,
        }

    def frame(self) -> "pd.DataFrame":
        """A pandas DataFrame with a row for each decision: id, arm, name, propensity,
        propensity_se."""
        import pandas as pd

        return pd.DataFrame(self.columns())


class RoundRequests(NamedTuple):
    """The arguments of many decisions: contexts, one for each; masks: for each, or one for all."""

    contexts: Any
    masks: Any
    each: bool  # whether masks has one for each round
    ids: list[Id] | None
    n: int

    def round(self, i: int) -> tuple[Round | None, Mask | None, Id | None]:
        mask = self.masks[i] if self.each else self.masks
        return (
            None if self.contexts is None else self.contexts[i],
            mask,
            None if self.ids is None else self.ids[i],
        )


# Deciding -----------------------------------------------------------------------------------------


def decide_many(
    session: Session, contexts: object, ids: object, eligible: object, number: int | None
) -> Decisions:
    asked = checked_rounds(session, contexts, ids, eligible, number)
    batch = decided_at_once(session, asked)
    if batch is None:
        return one_by_one(session, asked)
    called = (
        batch.arm.copy()
        if batch.names.texts is None
        else np.array(batch.names.texts, dtype=object)[batch.arm]
    )
    return Decisions(
        objects(batch.ids), batch.arm.copy(), called, batch.propensity.copy(), batch.error.copy()
    )


def checked_rounds(
    session: Session, contexts: Any, ids: object, eligible: Any, number: int | None
) -> RoundRequests:
    if session.encoder is not None:
        contexts = encoded_contexts(session, contexts)
    listing = isinstance(contexts, list | tuple) and (
        session.catalogue or any(isinstance(one, Context) for one in contexts)
    )
    if contexts is not None and not listing:
        contexts = checks.floats("contexts", contexts)
    if contexts is not None and not listing and contexts.ndim not in (2, 3):
        d, rows = session.arms.dimension, "K" if session.catalogue else session.arms.rows
        raise ValueError(
            f"contexts has shape {contexts.shape}, but must be (n, {d}), or (n, {rows}, {d}) for "
            "n rounds."
        )
    listed = None if ids is None else listed_ids(ids)
    stated = None if number is None else checks.integer("number", number, least=1)
    counts = {
        name: count
        for name, count in (
            ("contexts", None if contexts is None else len(contexts)),
            ("ids", None if listed is None else len(listed)),
            ("number", stated),
        )
        if count is not None
    }
    if not counts:
        raise ValueError(
            "contexts, ids and number are missing; give one of them, to say how many decisions "
            "are to be made."
        )
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{name} says {count}" for name, count in counts.items())
        raise ValueError(
            f"contexts, ids and number say how many decisions are to be made, but {sizes}; they "
            "must agree."
        )
    n = next(iter(counts.values()))
    if n == 0:
        raise ValueError(f"{next(iter(counts))} is empty; give at least one round.")
    if listed is not None:
        check_new(session, listed)
    each = (isinstance(eligible, np.ndarray) and eligible.ndim == 2) or (
        isinstance(eligible, list | tuple)
        and len(eligible) > 0
        and all(isinstance(row, list | tuple | np.ndarray) for row in eligible)
    )
    if each:
        pairs = session.arms.rows, session.arms.blocks
        each = (
            pairs[1] == 1 or checks.entries("eligible", eligible, "a bool array").shape != pairs
        )  # that is one mask of all pairs
        if each and len(eligible) != n:
            raise ValueError(
                f"eligible has {len(eligible)} rows, but there are {n} rounds; give a mask for "
                "each, or one for all."
            )
    return RoundRequests(contexts, eligible, each, listed, n)


def encoded_contexts(session: Session, contexts: Any) -> Any:
    """Rows as features, (n, d), or (n, K, d) of lists of rows; candidates of a catalogue and whole
    contexts stay, and are encoded later."""
    listing = isinstance(contexts, list | tuple) and len(contexts) > 0
    if (
        contexts is None
        or session.catalogue
        or (listing and any(isinstance(one, Context) for one in contexts))
    ):
        return contexts
    if listing and not any(isinstance(one, Mapping) for one in contexts):
        return np.stack([encoded_rows(session.encoder, rows) for rows in contexts])
    return encoded_rows(session.encoder, contexts)


def listed_ids(ids: object) -> list[Id]:
    listed = listed_items("ids", ids)
    kinds = set(map(type, listed))
    if kinds == {str} and all(listed) and encodable("".join(listed)):
        return listed
    if kinds == {int} and min(listed) > -MOST_ID and max(listed) < MOST_ID:
        return listed
    return [checked_row("ids", i, checked_id, id) for i, id in enumerate(listed)]


def listed_items(argument: str, items: object) -> list[Any]:
    checks.ordered(argument, items)
    try:
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise TypeError
        return items.tolist() if isinstance(items, np.ndarray) and items.ndim == 1 else list(items)
    except Exception:  # whatever code of the caller raises
        raise ValueError(
            f"{argument} = {checks.show(items)} is not a list of {argument}."
        ) from None


def checked_row(argument: str, i: int, check: Callable[..., T], *values: object) -> T:
    try:
        return check(*values)
    except ValueError as error:
        raise ValueError(f"row {i} of {argument}: {error}") from error


def check_new(session: Session, ids: list[Id]) -> None:
    """Refuse ids that occur twice, belong to a decision, or look like those that a session
    makes."""
    if len(set(ids)) < len(ids):
        earlier: set[Id] = set()
        for i, id in enumerate(ids):
            if id in earlier:
                raise ValueError(
                    f"row {i} of ids: {checks.show(id)} is there twice; every decision has an id "
                    "of its own."
                )
            earlier.add(id)
    book = session._book
    if not book.lacks(ids):
        i = next(i for i, id in enumerate(ids) if not book.lacks([id]))
        raise ValueError(
            f"row {i} of ids: {checks.show(ids[i])} was decided already; give new ids."
        )
    if AUTOMATIC in {str(id)[0] for id in ids}:
        for i, id in enumerate(ids):
            checked_row("ids", i, refuse_automatic, id)


def one_by_one(session: Session, asked: RoundRequests) -> Decisions:
    other = copy.copy(session)
    if isinstance(asked.contexts, np.ndarray):
        other.encoder = None  # they are encoded
    decisions = []
    for i in range(asked.n):
        context, mask, id = asked.round(i)
        decisions.append(
            checked_row(
                "contexts" if asked.contexts is not None else "ids",
                i,
                other.decide,
                context,
                mask,
                id,
            )
        )
    session.__dict__.update(
        {name: value for name, value in vars(other).items() if name not in KEPT_ATTRIBUTES}
    )
    single = session.arms.oracle is None
    columns = {
        name: [getattr(d, name) for d in decisions]
        for name in ("id", "arm", "name", "propensity", "propensity_se")
    }
    arms = np.array(columns["arm"], dtype=np.int64) if single else objects(columns["arm"])
    names = (
        arms.copy()
        if single and session.names is None and not session.catalogue
        else objects(columns["name"])
    )
    chances = [
        np.array(columns[name]) if single else objects(columns[name])
        for name in ("propensity", "propensity_se")
    ]
    return Decisions(objects(columns["id"]), arms, names, *chances)


def objects(values: Sequence[object]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # some are arrays, which NumPy would take apart
        array[i] = value
    return array


def decided_at_once(session: Session, asked: RoundRequests) -> Batch | None:
    """The decisions, in one compiled call; None where each has to be looked at by itself, and
    nothing was changed."""
    now = session._now
    rounds, changing = now.rounds, now.rounds.changing
    plain = isinstance(now.agent, CompiledAgent) and not (
        now.agent.commits or session._stops or session.catalogue
    )
    shows = (
        isinstance(asked.contexts, np.ndarray)
        if changing
        else asked.contexts is None and rounds.last is PLAIN
    )
    if not (plain and shows) or session.window is not None:
        return None
    features, bounds = (
        (None, None) if asked.contexts is None else checked_features(session, asked.contexts)
    )
    masks = checked_masks(session, asked)
    first = None if features is None else features[0]
    shown = session._checked_round(first, None if masks is None else masks[0], None, encoded=True)
    met = None if features is None else rounds_met(session, features, shown)
    if features is not None and met is None:
        return None
    context = shown.context
    one = now.agent if context is PLAIN else session._agent_for(context, shown.common)
    assert isinstance(one, CompiledAgent)  # of the same policy
    if session._guards and not (context is PLAIN and session._admits_plain):
        rows = None if features is None else features.reshape(-1, features.shape[-1])
        if rows is not None and admit.verb.of(type(session.policy)) is admit.verb.of(
            RegressionPolicy
        ):
            rows = bounds  # which are all that it looks at
        try:  # a check of the largest entries: where all rows pass at once, each does
            admit(session.policy, one.state, context if rows is None else Context(rows))
        except ValueError:
            return None
    n, number = asked.n, one.counts[DECIDED] + 1
    arms, events, certain = (
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int8),
        np.empty(n, dtype=np.bool_),
    )
    row = None if features is None else np.empty((one.number, features.shape[-1]))
    if one.many(propose_many, features, masks, row, one.number, arms, events, certain)() < n:
        return None
    ids = automatic_ids(session, number, n) if asked.ids is None else asked.ids
    unmeasured = np.full(n, math.nan)
    batch = Batch(
        ids,
        arms,
        events,
        unmeasured,
        unmeasured,
        None,
        number,
        features,
        masks,
        rounds.names,
        one.number,
    )
    if session.measured:
        batch = with_propensities(session, batch, one, certain)
    if session._now is not now or one.counts[DECIDED] + 1 != number:
        raise ValueError(
            "this session was changed while it decided, by what a callback did; no decision was "
            "made."
        )
    open_batch(session, batch, one, met)
    return batch


def checked_features(session: Session, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, d = session.arms.rows, session.arms.dimension
    if contexts.shape[1:] not in ((d,), (rows, d)):
        raise ValueError(
            f"contexts has shape {contexts.shape}, but must be (n, {d}) that all arms are shown, "
            f"or (n, {rows}, {d}) of every arm."
        )
    features = np.array(contexts, order="C")
    bounds = column_bounds(features.reshape(-1, d))
    if not np.isfinite(bounds).all():
        place = tuple(np.argwhere(~np.isfinite(features))[0].tolist())
        raise ValueError(
            f"row {place[0]} of contexts: contexts{list(place)} = {features[place]:g} is not a "
            "finite number."
        )
    return features, bounds


def column_bounds(rows: np.ndarray) -> np.ndarray:
    bounds, kept = np.empty((2, rows.shape[1])), np.zeros(rows.shape[1])
    bounds[0], bounds[1] = math.inf, -math.inf
    bound_columns(rows, bounds, kept)
    bounds[:, np.isnan(kept)] = math.nan
    return bounds


@jit
def bound_columns(rows: np.ndarray, bounds: np.ndarray, kept: np.ndarray) -> None:
    """bounds (2, d) <- least and largest entries; kept (d,), zeros, becomes NaN where an entry is
    not finite."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            x = rows[i, j]
            bounds[0, j] = min(bounds[0, j], x)
            bounds[1, j] = max(bounds[1, j], x)
            kept[j] += x * 0.0


def checked_masks(session: Session, asked: RoundRequests) -> np.ndarray | None:
    """(n, K) which arms may be played in each round, (1, K) in all, or None."""
    rounds, K = session._rounds, session.arms.number
    if asked.masks is None:
        return None if rounds.retired is None else ~rounds.retired[None, :]
    if not asked.each:
        mask = rounds._mask(asked.masks, rounds.names, K, False)
        return np.array(mask)[None, :]
    masks = checks.entries("eligible", asked.masks, f"a bool array of shape ({asked.n}, {K})")
    if masks.dtype != np.bool_ or masks.shape != (asked.n, K):
        raise ValueError(
            f"eligible has type {masks.dtype} and shape {masks.shape}, but must be bool of shape "
            f"({asked.n}, {K}), or ({K},)."
        )
    masks = np.array(masks, order="C")
    if rounds.retired is not None:
        masks &= ~rounds.retired
    if not masks.any(axis=1).all():
        i = int(np.argmin(masks.any(axis=1)))
        checked_row("eligible", i, rounds._mask, asked.masks[i], rounds.names, K, False)
    return masks


def rounds_met(session: Session, features: np.ndarray, shown: CheckedRound) -> Rounds | None:
    """The session's rounds once all these were decided, but for the last context; None where arms
    look alike too often to go on."""
    rounds, n = session._rounds, len(features)
    arms, equal, last = rounds.arms, rounds.equal, rounds.last.features
    if shown.common and not arms.common:
        arms = arms._replace(common=True)
    elif equal >= 0 and not arms.common:
        alike = (
            n
            if features.ndim == 2 or features.shape[1] == 1
            else next((i for i in range(n) if not (features[i] == features[i, 0]).all()), n)
        )
        if features.ndim == 3 and features.shape[1] > 1 and equal + alike > MOST_EQUAL:
            return None
        equal = equal + n if alike == n else -1
    first = shown.context.features
    same = last is None or np.array_equal(last, first)  # type: ignore[arg-type]
    several = rounds.several or not same
    several = several or (
        n > 1
        and (not np.array_equal(features[1], features[0]) or bool((features != features[0]).any()))
    )
    return rounds.changed(arms=arms, equal=equal, changing=True, several=several)


def automatic_ids(session: Session, first: int, n: int) -> list[Id]:
    book, branch = session._book, session._past.branch
    begin = f"{AUTOMATIC}{branch}." if branch else AUTOMATIC
    ids: list[Id] = [f"{begin}{k}" for k in range(first, first + n)]
    if book.lacks(ids):
        return ids
    return [book.automatic(k, branch) for k in range(first, first + n)]


def with_propensities(
    session: Session, batch: Batch, one: CompiledAgent, certain: np.ndarray
) -> Batch:
    n = len(batch.arm)
    p, error, draws = np.ones(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    rows = np.arange(n) if session._measures else np.flatnonzero(~certain)
    for i in rows.tolist():
        p[i], error[i], behind = session._propensity(
            one, batch.context(i), int(batch.arm[i]), batch.first + i
        )
        draws[i] = behind or 0
    return batch._replace(propensity=p, error=error, draws=draws if draws.any() else None)


def open_batch(session: Session, batch: Batch, one: CompiledAgent, met: Rounds | None) -> None:
    book, now, counts, n = session._book, session._now, one.counts, len(batch.ids)
    last = batch.entry(n - 1)
    if met is not None:
        now = session._agent_and_rounds(one, met.changed(last=last.context))

    def take() -> None:  # calls nothing
        session._now = now
        book.left[batch.first] = n
        book.batches = [*book.batches, batch]
        book.unlisted = (*book.unlisted, batch)
        book.last = last
        counts[DECIDED] += n

    session._whole(take, book.selected)


# Rewards ------------------------------------------------------------------------------------------


def reward_many(session: Session, ids: object, values: object) -> int:
    listed = listed_ids(ids)
    if session.arms.oracle is not None or session.metrics:
        return rewards_in_parts(session, listed, values)
    rewards = checked_values(session, values, len(listed))
    book = session._book
    items = list(map(book.open.get, listed))
    fresh = fresh_rows(session, listed, rewards, items)
    batches, rounds = list(book.batches), np.zeros(len(items), dtype=np.int64)
    if session.apply == "on arrival":
        rounds[:] = [item if type(item) is int else round_in_batch(book, item) for item in items]
    places = np.searchsorted([batch.first for batch in batches], rounds, side="right") - 1
    for rows in np.split(fresh, np.flatnonzero(np.diff(places[fresh])) + 1):
        some = listed if len(rows) == len(listed) else [listed[i] for i in rows.tolist()]
        if some and places[rows[0]] >= 0:
            batch = batches[places[rows[0]]]
            learned_at_once(session, batch, rounds[rows] - batch.first, some, rewards[rows])
        else:
            for id, value in zip(some, rewards[rows].tolist(), strict=True):
                session.reward(id, value)
    return len(fresh)


def checked_values(session: Session, values: object, n: int) -> np.ndarray:
    rewards = checks.floats(
        "values", values if isinstance(values, np.ndarray) else listed_items("values", values)
    )
    if rewards.shape != (n,):
        raise ValueError(
            f"values has shape {rewards.shape}, but must be ({n},), a reward for each id."
        )
    low, high = (
        -math.inf if session._least is None else session._least,
        math.inf if session._most is None else session._most,
    )
    wrong = ~(np.isfinite(rewards) & (rewards >= low) & (rewards <= high))
    if wrong.any():
        i = int(np.argmax(wrong))
        checked_row("values", i, session._checked_value, "reward", float(rewards[i]))
    return np.array(rewards)


def round_in_batch(book: Book, entry: Entry | None) -> int:
    """The number of an open decision of a batch, and 0, before all of them, for any other."""
    if entry is None or entry.ended is not None or book.batch_of(entry.decision.round) is None:
        return 0
    return entry.decision.round


def fresh_rows(
    session: Session, ids: list[Id], rewards: np.ndarray, items: Sequence[object]
) -> np.ndarray:
    """Rows whose decisions wait; ValueError for unknown ids and for another reward than the one
    that was given before."""
    if set(map(type, items)) == {int} and len(set(ids)) == len(ids):
        return np.arange(len(ids))
    reward_of: dict[Id, float] = {}
    fresh = []
    for i, (id, value, item) in enumerate(zip(ids, rewards.tolist(), items, strict=True)):
        if id in reward_of:
            if reward_of[id] != value:
                raise ValueError(
                    f"row {i} of ids: {checks.show(id)} is there twice, with {reward_of[id]:g} "
                    f"and {value:g}; a reward is given once."
                )
            continue
        reward_of[id] = value
        if item is None or (isinstance(item, Entry) and item.ended is not None):
            checked_row("ids", i, session._check_repetition, id, value)
        else:
            fresh.append(i)
    return np.array(fresh, dtype=np.int64)


def learned_at_once(
    session: Session, batch: Batch, rows: np.ndarray, ids: list[Id], rewards: np.ndarray
) -> None:
    book, one, n = session._book, session._agent, len(ids)
    row = None if batch.features is None else np.empty((batch.number, batch.features.shape[-1]))
    learn = one.many(learn_many, batch.features, batch.masks, row, rows, batch.arm[rows], rewards)
    few = slice(max(0, n - REMEMBERED), n)
    closed = [
        batch.rewarded(i, reward)
        for i, reward in zip(rows[few].tolist(), rewards[few].tolist(), strict=True)
    ]
    step = one_step(
        itertools.starmap(learn, ((),)),
        map(book.open.__delitem__, ids),
        map(book.closed.__setitem__, ids[few], closed),
    )
    counts = one.counts
    for _ in step:
        counts[REWARDS] += n
        book.weight += len(closed)
        book.left[batch.first] -= n
    book.forget()


def rewards_in_parts(session: Session, ids: list[Id], values: object) -> int:
    listed = listed_items("values", values)
    if len(listed) != len(ids):
        raise ValueError(
            f"values = {checks.show(values)} must have {len(ids)} entries, one for every id."
        )
    known: dict[Id, dict[int, float]] = {}
    for i, (id, value) in enumerate(zip(ids, listed, strict=True)):
        entry = session._book.get(id)
        if entry is None or entry.ended is not None:
            checked_row("ids", i, session._check_repetition, id, value)
            continue
        rewards = checked_row("values", i, session._rewards_in_parts, entry.decision, value)
        answers = known.setdefault(id, dict(entry.answers))
        checked_row("values", i, check_equal, entry.decision, answers, rewards, "rewarded")
        known[id] = answers | rewards
    return sum(session.reward(id, value) for id, value in zip(ids, listed, strict=True))


# Chances of all arms in many rounds, as a log is judged by them -----------------------------------


def propensities_of_rounds(
    session: Session, features: np.ndarray, eligible: np.ndarray | None
) -> np.ndarray:
    """(m, K) what `session.propensities` says of m rounds. Changes nothing.

    A policy that draws nothing, or whose kernels compute its chances, answers for all rounds in one
    compiled call; others, and rounds in which chances have to be drawn, are asked one by one.

    Parameters
    ----------
    features : (m, K, d) or (m, d) array
        Of every arm, or what all arms are shown; encoded, where the session has an encoder.
    eligible : (m, K) bool array or None
        Which arms may be played.
    """
    m = features.shape[0]
    out, known = np.zeros((m, session.arms.number)), np.zeros(m, dtype=np.bool_)
    answered_at_once(session, features, eligible, out, known)
    for i in np.flatnonzero(~known):
        out[i] = session.propensities(
            features[i], None if eligible is None else eligible[i], encoded=True
        )
    return out


def answered_at_once(
    session: Session,
    features: np.ndarray,
    eligible: np.ndarray | None,
    out: np.ndarray,
    known: np.ndarray,
) -> None:
    """Fill what kernels can say of the rounds into out (m, K), and known (m,) where they did;
    neither where a round needs a look."""
    policy, m = session.policy, features.shape[0]
    plain = not (session.arms.oracle is not None or session.retired or type(policy).TRAITS.stops)
    if m == 0 or features.size > MOST_ENTRIES or not plain or not compiled(policy):
        return
    shown, _, common = session._checked_round(
        features[0], None if eligible is None else eligible[0], None, encoded=True
    )
    state = copied(session._agent_for(shown, common).state)
    assert shown.features is not None
    try:  # a check of the largest entries: where all rows pass at once, each does
        admit(
            policy,
            state,
            shown._replace(features=features.reshape(-1, features.shape[-1]), eligible=None),
        )
    except ValueError:
        return
    features, row = np.ascontiguousarray(features), np.array(shown.features)
    mask = (
        np.ones(out.shape, dtype=np.bool_)
        if eligible is None
        else np.ascontiguousarray(eligible, dtype=np.bool_)
    )
    if chances.answers(policy):
        fill_chances(policy, state, features, mask, row, out, known)
        total = out.sum(axis=1)
        np.divide(out, total[:, None], out=out, where=(known & (total > 0.0))[:, None])
    elif not propensity.answers(policy):
        rng = streams.stream(session.seed, session.rounds, streams.AUDIT)
        before, choices = rng.bit_generator.state, np.empty(m, dtype=np.int64)
        choose_in_rounds(policy, state, features, mask, row, rng, choices)
        playable = bool(np.all((choices >= 0) & (choices < out.shape[1]))) and bool(
            mask[np.arange(m), choices].all()
        )
        if playable and rng.bit_generator.state == before:
            out[np.arange(m), choices] = 1.0
            known[:] = True


@jit
def fill_chances(
    policy: Any, state: Any, features: Any, eligible: Any, row: Any, out: Any, known: Any
) -> None:
    """out <- what `chances` says of every round, and known <- whether it did. features: (m, K, d)
    or (m, d); row: (K, d), rewritten."""
    for i in range(out.shape[0]):
        show(features, i, row)
        known[i] = chances(policy, state, Context(row, eligible[i], None, None), out[i])


@jit
def choose_in_rounds(
    policy: Any, state: Any, features: Any, eligible: Any, row: Any, rng: Any, choices: Any
) -> None:
    """choices <- what `select` plays in every round. features: (m, K, d) or (m, d); row: (K, d),
    rewritten."""
    for i in range(choices.shape[0]):
        show(features, i, row)
        choices[i] = select(policy, state, Context(row, eligible[i], None, None), rng)


# Logs as training data: a table is read and checked as a whole, then fed to the policy's kernels
# in one compiled loop.


CHUNK = 100_000  # rows between two chances to interrupt


class TrainingRows(NamedTuple):
    arms: np.ndarray  # (n,)
    rewards: np.ndarray  # (n,)
    features: np.ndarray | None  # (n, d) of the row's arm, where they change
    baselines: np.ndarray | None  # (n,) the round's baseline arm, where it changes


def read_training_rows(
    frame: NamedColumns,
    arm: str | None,
    reward: str,
    features: Columns | None,
    baseline: int | str | None,
    changing: bool,
    arms: Arms,
    names: tuple[str, ...] | None,
    bounds: tuple[float | None, float | None],
) -> TrainingRows:
    """The checked rows of a table in memory that have a reward.

    arm: the column of arms; None: the features are all there is of an arm. changing: whether
    features come with every row. names: of the arms. bounds: of a reward. The others are those of
    `Session.learn`. Raises ValueError with the number of bad rows and the first of them.
    """
    if changing and features is None:
        raise ValueError(
            f"features is missing; name the {arms.dimension} columns of the played arm's features."
        )
    if (
        features is not None
        and not isinstance(features, str | np.ndarray)
        and not (
            isinstance(checks.ordered("features", features), Sequence)
            and all(isinstance(item, str) for item in features)
        )
    ):
        raise ValueError(
            f"features = {checks.show(features)} is not the name of a column or a list of such "
            "names."
        )
    if not changing and features is not None:
        raise ValueError("features was given, but these arms do not change; leave it out.")
    table = open_table(frame, arm=arm)
    if not isinstance(table, InMemory):
        raise ValueError(
            f"frame = {checks.show(frame)} is in files; use tr.learn_from, which reads them a "
            "part at a time."
        )
    (batch,) = table.batches([])
    labels = ArmLabels(arms.number, names)
    values, bad = rewards(batch.column(reward), reward)
    low, high = bounds
    least, most = -np.inf if low is None else low, np.inf if high is None else high
    bad.note(
        (values < least) | (values > most),
        lambda i: f"{reward} = {values[i]:g} is outside [{least:g}, {most:g}]",
    )
    n = values.size
    played = (
        np.zeros(n, dtype=np.int64) if arm is None else labels.numbers(batch.column(arm), arm, bad)
    )
    shown = None if features is None else matrix(batch, "features", features, bad)
    if shown is not None:
        if shown.shape != (n, arms.dimension):
            raise ValueError(
                f"features has shape {shown.shape}, but must be ({n}, {arms.dimension}), one row "
                "for each of the frame."
            )
        bad.note(
            ~np.isfinite(shown).all(axis=1),
            lambda i: f"features are {checks.show(shown[i])}, not all finite",
        )
    baselines = None
    if isinstance(baseline, str) and baseline not in (names or ()):
        baselines = labels.numbers(batch.column(baseline), baseline, bad)
    elif baseline is not None:
        known = (
            baseline
            if isinstance(baseline, str)
            else checks.integer("baseline", baseline, least=0, most=arms.number - 1)
        )
        baselines = np.full(n, labels.number("baseline", known))
    bad.refuse(consequence=", so nothing of it was learned")
    rewarded = ~np.isnan(values)
    if rewarded.all():
        return TrainingRows(played, values, shown, baselines)
    parts: list[Any] = [
        None if item is None else np.ascontiguousarray(item[rewarded])
        for item in (played, values, shown, baselines)
    ]
    return TrainingRows(*parts)


@jit
def feed_rows(  # type: ignore[no-untyped-def]
    policy, state, arms, rewards, features, shown, baselines
):
    """`inform` for every row; shown (K, d) is scratch for a round's features, None where arms do
    not change."""
    for i in range(arms.shape[0]):
        arm = arms[i]
        if features is not None:
            for j in range(features.shape[1]):
                shown[arm, j] = features[i, j]
        if baselines is None:
            state = inform(policy, state, Context(shown, None, None, None), arm, rewards[i])
        else:
            state = inform(policy, state, Context(shown, None, baselines[i], None), arm, rewards[i])
    return state


def feed(policy: Policy, state: State, arms: Arms, log: TrainingRows) -> State:
    """The state that has learned the log; the argument is updated in place. O(update) a row."""
    if not log.arms.size:
        return state
    first = None if log.baselines is None else int(log.baselines[0])
    admit(policy, state, Context(features=log.features, baseline=first))
    blocks, chunks = arms.blocks, range(0, log.arms.size, CHUNK)
    if arms.oracle is not None:  # kernels of sets take many arms at once
        for begin in chunks:
            part = slice(begin, begin + CHUNK)
            action, context = log.arms[part], Context()
            if log.features is not None:
                context = Context(features=log.features[part])
                action = np.arange(action.size) * blocks + action % blocks
            state = inform(policy, state, context, action, log.rewards[part])
        return state
    shown = None if log.features is None else np.zeros((arms.rows, arms.dimension))
    run = feed_rows if compiled(policy) else python_of(feed_rows)
    for begin in chunks:
        part = slice(begin, begin + CHUNK)
        features = None if log.features is None else log.features[part]
        baselines = None if log.baselines is None else log.baselines[part]
        state = run(policy, state, log.arms[part], log.rewards[part], features, shown, baselines)
    return state

"""Many decisions and many rewards at once: the same as one by one, to the bit, in one compiled call
where the policy is compiled.

What cannot be decided in one call (sets, catalogues, policies that count what is open, windows,
identification) is decided one by one in a copy of the session, which takes the session's place when
all of it is decided.
"""

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ..compiled.kernels import jit
from ..core import checks
from ..core.types import PLAIN
from ..core.verbs import Context, admit
from ..policies.bases import RegressionPolicy
from .agent import DECIDED, REWARDS, CompiledAgent, learn_many, propose_many
from .choices import DecidingSession
from .decisions import Batch, Entry, Open
from .encoders import encoded_rows
from .ids import AUTOMATIC, MOST_ID, Id, checked_id, encodable, refuse_automatic
from .rewards import check_equal, rewards_by_arm
from .rounds import MOST_EQUAL, CheckedRound, Mask, Round, Rounds

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

ITS_OWN = (
    "policy",
    "encoder",
    "_past",
    "_written",
)  # what a session keeps that takes over the decisions of its copy


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
    session: DecidingSession, contexts: object, ids: object, eligible: object, number: int | None
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
    session: DecidingSession, contexts: Any, ids: object, eligible: Any, number: int | None
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


def encoded_contexts(session: DecidingSession, contexts: Any) -> Any:
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


def check_new(session: DecidingSession, ids: list[Id]) -> None:
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
    if not (book.open.lacks(ids) and book.closed.keys().isdisjoint(ids)):
        i = next(i for i, id in enumerate(ids) if id in book.open or id in book.closed)
        raise ValueError(
            f"row {i} of ids: {checks.show(ids[i])} was decided already; give new ids."
        )
    if AUTOMATIC in {str(id)[0] for id in ids}:
        for i, id in enumerate(ids):
            checked_row("ids", i, refuse_automatic, id)


def one_by_one(session: DecidingSession, asked: RoundRequests) -> Decisions:
    """All of them by `decide`, in a copy that takes the session's place at once."""
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
        {name: value for name, value in vars(other).items() if name not in ITS_OWN}
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
    if values and isinstance(values[0], str | int):
        array[:] = values
        return array
    for i, value in enumerate(values):  # arrays, which NumPy would take apart
        array[i] = value
    return array


def decided_at_once(session: DecidingSession, asked: RoundRequests) -> Batch | None:
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
    if one.many(propose_many, features, masks, row, one.number, arms, events, certain) < n:
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
        batch = with_propensities(session, batch, one, shown, certain)
    if session._now is not now or one.counts[DECIDED] + 1 != number:
        raise ValueError(
            "this session was changed while it decided, by what a callback did; no decision was "
            "made."
        )
    open_batch(session, batch, one, met)
    return batch


def checked_features(
    session: DecidingSession, contexts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    rows, d = session.arms.rows, session.arms.dimension
    if contexts.shape[1:] not in ((d,), (rows, d)):
        raise ValueError(
            f"contexts has shape {contexts.shape}, but must be (n, {d}) that all arms are shown, "
            f"or (n, {rows}, {d}) of every arm."
        )
    features = contexts if is_read_only(contexts) else np.array(contexts, order="C")
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


def is_read_only(array: np.ndarray) -> bool:
    """Whether nobody can write into an array, so that it needs no copy: it and what it is a view of
    are read-only."""
    if not (array.flags.c_contiguous and array.dtype == np.float64):
        return False
    whole: object = array
    while isinstance(whole, np.ndarray) and not whole.flags.writeable:
        if whole.base is None:
            return bool(whole.flags.owndata)
        whole = whole.base
    return False


def checked_masks(session: DecidingSession, asked: RoundRequests) -> np.ndarray | None:
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


def rounds_met(
    session: DecidingSession, features: np.ndarray, shown: CheckedRound
) -> Rounds | None:
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


def automatic_ids(session: DecidingSession, first: int, n: int) -> list[Id]:
    book, branch = session._book, session._past.branch
    begin = f"{AUTOMATIC}{branch}." if branch else AUTOMATIC
    ids: list[Id] = [f"{begin}{k}" for k in range(first, first + n)]
    if book.open.lacks(ids) and book.closed.keys().isdisjoint(ids):
        return ids
    return [book.automatic(k, branch) for k in range(first, first + n)]


def with_propensities(
    session: DecidingSession,
    batch: Batch,
    one: CompiledAgent,
    shown: CheckedRound,
    certain: np.ndarray,
) -> Batch:
    n = len(batch.arm)
    p, error, draws = np.ones(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    rows = np.arange(n) if session._measures else np.flatnonzero(~certain)
    for i in rows.tolist():
        arm = int(batch.arm[i])
        here = shown._replace(context=batch.context(i))
        p[i], error[i], behind = session._chance_of(
            one, arm, bool(certain[i]), here, batch.first + i
        )
        draws[i] = behind or 0
    return batch._replace(propensity=p, error=error, draws=draws if draws.any() else None)


def open_batch(
    session: DecidingSession, batch: Batch, one: CompiledAgent, met: Rounds | None
) -> None:
    """Take all of them: the count makes them decisions; what comes before is undone where it does
    not come."""
    before, last, former, n = (
        session._now,
        session._book.last,
        session._book.selected,
        len(batch.ids),
    )
    try:
        entry = session._book.add_many(batch)
        if met is not None:
            session._stand(one, met.changed(last=entry.context))
        one.counts[DECIDED] += n
        session._end_earlier(former)
    except BaseException:
        if one.counts[DECIDED] < batch.first:
            session._book.open.remove_many(batch.ids, batch)
            session._book.last, session._now = last, before
        else:
            session._end_earlier(former)
        raise


# Rewards ------------------------------------------------------------------------------------------


def reward_many(session: DecidingSession, ids: object, values: object) -> int:
    listed = listed_ids(ids)
    if session.arms.oracle is not None:
        return rewards_of_sets(session, listed, values)
    rewards = checked_values(session, values, len(listed))
    items = [
        item if type(item) is int else place_of(session._book.open, item)
        for item in session._book.open.raw(listed)
    ]
    fresh = fresh_rows(session, listed, rewards, items)
    at_once = session.apply == "on arrival" and isinstance(session._agent, CompiledAgent)
    if not at_once:
        for i in fresh:
            session.reward(listed[i], float(rewards[i]))
        return len(fresh)
    whole = batch_of_all(session._book.open, items) if len(fresh) == len(items) else None
    groups = by_batch(session._book.open, fresh, items) if whole is None else [(whole, fresh)]
    for batch, rows in groups:
        if batch is None:
            for i in rows:
                session.reward(listed[i], float(rewards[i]))
        else:
            places = np.array([items[i] for i in rows]) - batch.first
            learned_at_once(session, batch, places, [listed[i] for i in rows], rewards[rows])
    return len(fresh)


def checked_values(session: DecidingSession, values: object, n: int) -> np.ndarray:
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


def place_of(open: Open, item: Entry | int | None) -> Entry | int | None:
    """The entry of a decision: its number where it is of a batch, its entry, or None where it is
    not open."""
    if (
        isinstance(item, Entry)
        and item.ended is None
        and open.batch_of(item.decision.round) is not None
    ):
        return item.decision.round
    return item


def batch_of_all(open: Open, items: list[Any]) -> Batch | None:
    if set(map(type, items)) != {int}:
        return None
    batch = open.batch_of(min(items))
    return batch if batch is not None and max(items) < batch.first + len(batch.ids) else None


def by_batch(
    open: Open, rows: list[int], items: list[Any]
) -> Iterator[tuple[Batch | None, list[int]]]:
    """Rows one after the other, those together that are of one batch; None: of none."""
    begin = 0
    while begin < len(rows):
        number = items[rows[begin]]
        batch = open.batch_of(number) if type(number) is int else None
        after = 0 if batch is None else batch.first + len(batch.ids)
        end = begin + 1
        while (
            batch is not None
            and end < len(rows)
            and type(items[rows[end]]) is int
            and batch.first <= items[rows[end]] < after
        ):
            end += 1
        yield batch, rows[begin:end]
        begin = end


def fresh_rows(
    session: DecidingSession, ids: list[Id], rewards: np.ndarray, items: Sequence[object]
) -> list[int]:
    """Rows whose decisions wait; ValueError for unknown ids and for another reward than the one
    that was given before."""
    if set(map(type, items)) == {int} and len(set(ids)) == len(ids):
        return list(range(len(ids)))
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
    return fresh


def learned_at_once(
    session: DecidingSession, batch: Batch, rows: np.ndarray, ids: list[Id], rewards: np.ndarray
) -> None:
    one = session._agent
    assert isinstance(one, CompiledAgent)
    arms, learned = batch.arm[rows], one.counts[REWARDS]
    row = None if batch.features is None else np.empty((batch.number, batch.features.shape[-1]))
    try:
        one.many(
            learn_many, batch.features, batch.masks, row, rows, arms, rewards
        )  # counts the rewards
        session._book.close_many(ids, rewards, batch)
    except BaseException:
        if one.counts[REWARDS] != learned:
            session._book.close_many(ids, rewards, batch)
        raise


def rewards_of_sets(session: DecidingSession, ids: list[Id], values: object) -> int:
    listed = listed_items("values", values)
    if len(listed) != len(ids):
        raise ValueError(
            f"values = {checks.show(values)} must have {len(ids)} entries, the rewards of every "
            "id's set."
        )
    known: dict[Id, dict[int, float]] = {}
    for i, (id, value) in enumerate(zip(ids, listed, strict=True)):
        entry = session._book.open.get(id)
        if entry is None or entry.ended is not None:
            checked_row("ids", i, session._check_repetition, id, value)
            continue
        rewards = checked_row(
            "values", i, rewards_by_arm, entry.decision, value, session._checked_value
        )
        answers = known.setdefault(id, dict(entry.answers))
        checked_row("values", i, check_equal, entry.decision, answers, rewards, "rewarded")
        known[id] = answers | rewards
    return sum(session.reward(id, value) for id, value in zip(ids, listed, strict=True))

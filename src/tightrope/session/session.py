"""`Session`: a policy in service, many decisions open at once, by the very kernels that simulations run."""

import copy
import math
import pathlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks, files, notebook, streams
from ..core.matching import ORDERS, check_fit, check_question
from ..core.policy import Policy, is_policy, label
from ..core.types import Action, Explanation, Oracle, State
from ..core.verbs import (
    Arms,
    Context,
    admit,
    event,
    evidence,
    explain,
    grow,
    inform,
    init,
    merge,
    propensity,
    recommend,
    reward_range,
    stopped,
    withdraw,
)
from ..logs.tables import NamedColumns
from ..logs.training import feed, read_training_rows
from ..numerics.growth import carried
from ..numerics.ridge import regressions_in
from ..numerics.states import copied, same_form
from . import store
from .arms import Names, checked_names, describe_arms
from .codec import restore
from .decisions import Book, Chance, Decision, Id, Open, checked_id, locked, reason, shown
from .direct import Direct, may_draw
from .forecast import forecast_range

Round = ArrayLike | Context | Mapping[str, ArrayLike]  # features, all that a round shows, or features by a candidate's name
Mask = ArrayLike | Collection[str]  # which arms may be played: bools, or names
Played = SupportsIndex | str | Sequence[SupportsIndex | str] | np.ndarray  # an arm, or those of a set, by number or name
AFTER_STOP: tuple[Literal["winner", "explore"], ...] = ("winner", "explore")
PER_ARM = {  # what explanations say arm by arm
    "mean", "width", "lower", "upper", "index", "probability", "probability_se", "pulls", "safe", "design", "direction_scores", "rates",
}  # fmt: skip
SHOWN_ARMS = 20  # of a session in a notebook
LEAST_DRAWS, MOST_DRAWS = 10, 10**8  # behind a probability
NOTHING_SHOWN = Context()
MOST_EQUAL = 20  # rounds whose arms all look the same, before that is taken for a mistake
SIZES = 16  # numbers of candidates whose scratch a catalogue keeps


class Session:
    """One policy, its state, its random stream and its open decisions.

    policy: an instance such as LinUCB(). arms: K, or (K, d) features. Exactly one of arms, points and distances describes the
    arms: points is (K,) or (K, p), distances a (K, K) metric. dimension: d, when features come with every round; without arms, a
    catalogue: every call brings any number of candidates with their features. oracle: chooses sets of arms; for
    `oracles.Promotions` give the users as arms. horizon: T, for policies whose widths use it. seed: of the policy's own randomness;
    `simulate` with the same seed makes the same choices in replication 0. names: K texts, by which arms can be called.
    window: a decision more than so many rounds old is closed with default_reward. apply: rewards are learned from as they arrive,
    or "in order" of their decisions, each held back until all earlier decisions are closed (a guarantee on linear rewards needs
    it where the delay depends on the reward). after_stop: what an identification policy plays once it has its answer: the "winner",
    where it is eligible, or what it would "explore" next, to learn more than was asked.

    Bad input raises ValueError and leaves the session as it was. Not thread-safe: one session, one thread at a time.
    """

    def __init__(
        self,
        policy: Policy,
        arms: int | ArrayLike | None = None,
        *,
        points: ArrayLike | None = None,
        distances: ArrayLike | None = None,
        dimension: int | None = None,
        oracle: Oracle | None = None,
        horizon: int | None = None,
        seed: int = 0,
        names: Iterable[str] | None = None,
        window: int | None = None,
        default_reward: float | None = None,
        apply: Literal["on arrival", "in order"] = "on arrival",
        after_stop: Literal["winner", "explore"] = "winner",
    ) -> None:
        if not is_policy(policy):
            raise ValueError(f"policy = {checks.show(policy)} is not a policy; pass an instance such as UCB().")
        self.policy = policy
        self.arms = describe_arms(arms, points, distances, dimension, oracle, horizon)
        check_fit(policy, self.arms)
        if type(policy).TRAITS.stops:
            check_question(policy, self.arms)
        self.catalogue = arms is None and points is None and distances is None
        self._names = Names(None if names is None else self._checked_names(names))
        self._least, self._most = (bound if math.isfinite(bound) else None for bound in reward_range(policy))
        self.default_reward = None if default_reward is None else self._checked_value("default_reward", default_reward)
        self.window = None if window is None else checks.integer("window", window, least=1)
        if self.window is not None and self.default_reward is None:
            raise ValueError(f"window = {self.window} closes decisions with default_reward, which is missing; give one, such as 0.0.")
        self.apply = ORDERS[checks.choice("apply", apply, ORDERS)]
        self.after_stop = AFTER_STOP[checks.choice("after_stop", after_stop, AFTER_STOP)]
        self.seed = checks.integer("seed", seed, least=0)
        self._rng, self._audit = streams.stream(self.seed, 0, streams.POLICY), streams.stream(self.seed, 0, streams.AUDIT)
        self.rounds = 0  # rewards taken in
        self.decided = 0  # decisions made
        self._book = Book()
        self._retired: np.ndarray | None = None
        self._changing = self.arms.dimension > 0 and self.arms.features is None
        self._last = NOTHING_SHOWN  # what the last decision's round showed
        self._several = False  # whether rounds have shown different features
        self._alike = False  # whether the last round that was given showed all arms one row, (d,)
        self._equal = 0  # rounds so far whose rows, (K, d), were all equal; -1 once they were not
        self._scratch: dict[int, State] = {}
        self._wanted, self._own = 0, math.nan  # by `decide_beside`: the policy's choice, and its chance of what was played
        self._agreed = True  # whether the last decision that was followed was also this session's own choice
        self._tells, self._measures, self._draws = event.answers(policy), propensity.answers(policy), may_draw(policy)
        self.state = init(policy, self._told())
        self._direct = Direct(policy)

    def __repr__(self) -> str:
        number, open_ = self.arms.number, len(self.open)
        arms = f"{self.arms.dimension} features a candidate" if self.catalogue else f"{number:,} arm{'s' if number != 1 else ''}"
        model = [] if (form := regressions_in(self.state)) is None or not (self.rounds or self.decided) else [form]
        told = [label(self.policy), arms, *model, f"{self.decided:,} decisions", f"{self.rounds:,} rewards", f"{open_:,} open"]
        if type(self.policy).TRAITS.stops:
            told.append("certified" if bool(stopped(self.policy, self.state)) else "not certified yet")
        return f"<Session: {', '.join(told)}>"

    def _repr_html_(self) -> str:
        """The session in a notebook: its line, and what it knows of its arms where they are few."""
        few = self.arms.oracle is None and not self.catalogue and self.arms.number <= SHOWN_ARMS
        try:
            known = self.explain() if few else {}
        except ValueError:  # no round has shown its features yet
            known = {}
        columns = [name for name in ("mean", "lower", "upper", "index", "probability") if name in known]
        rows = [[self._names.of(k), *(float(known[name][k]) for name in columns)] for k in range(self.arms.number)] if columns else []
        return notebook.table(repr(self).strip("<>"), ["arm", *columns] if columns else [], rows)

    # Deciding ------------------------------------------------------------------------------------------------------------

    def decide(
        self,
        context: Round | None = None,
        eligible: Mask | None = None,
        id: Id | None = None,
        names: Sequence[str] | None = None,
    ) -> Decision:
        """Decide which arm (or set of arms) to play; the decision stays open until its reward comes, see `reward`.

        context: where they change, (K, d) features of this round's arms, (d,) that all arms are shown, or a `Context`. eligible: (K,) bool,
        or names. id: text or a whole number of your own; given twice it returns the same decision and draws nothing. names: of a
        catalogue's candidates, which may also come as context = {name: features}. Where several arms share a row of features
        (promotions for a user), features are (N, d), eligible is (N,) or (N, M), and arm = user * M + promotion. Costs one `select`
        and one `propensity`.
        """
        if id is not None:
            id = checked_id(id)
            made = self._book.known(id)
            if made is not None:
                return made
        return self._decide(context, eligible, id, names, True).decision

    def select(self, context: Round | None = None, eligible: Mask | None = None) -> Any:
        """The arm (int) or set of arms (int array) to play now: `decide` without an id and without asking for the propensity."""
        action = self._decide(context, eligible, None, None, False).action
        return action if isinstance(action, int) else action.copy()

    def follow(
        self,
        arm: int | Sequence[int],
        id: Id,
        context: Round | None = None,
        eligible: Mask | None = None,
        names: Sequence[str] | None = None,
        propensity: Chance = math.nan,
        propensity_se: Chance = math.nan,
        wanted: int | None = None,
    ) -> bool:
        """Make a decision of a log once more: `select` draws as it did then, and the arm of the log is taken. Returns whether both agree.

        arm: the number that the log has, or those of a set. id: the decision's; one that is still known is refused. propensity,
        propensity_se: the log's, which are not computed again. wanted: what the policy chose, where `decide_beside` played another arm.
        The others are those of `decide`. On the kind of processor that wrote
        the log both agree to the bit; on another one last digits may differ, and what was played is what counts.
        """
        if self._book.known(checked_id(id)) is not None:
            raise ValueError(f"id = {checks.show(id)} was decided already; a log has every decision once.")
        taken = arm if isinstance(arm, int) else np.array(checks.entries("arm", arm, "an array of arms"), dtype=np.int64)
        self._agreed = True
        self._decide(context, eligible, id, names, False, taken, (propensity, propensity_se), wanted)
        return self._agreed

    def decide_beside(
        self,
        arm: int | None,
        chance: Callable[[int, float], float],
        context: Round | None = None,
        eligible: Mask | None = None,
        id: Id | None = None,
        names: Sequence[str] | None = None,
        measured: bool = True,
    ) -> tuple[Decision, int, float]:
        """A decision that is the policy's or somebody else's, as while a policy is rolled out beside a baseline.

        arm: the number of the arm to play; None: the policy's own choice, which is drawn in either case. chance: the propensity of the
        played arm, from its number and the policy's own chance of it. measured: False where the policy's chance is not needed; it is
        NaN then. The others are those of `decide`; the id must be new. Returns the decision, the policy's choice, and the policy's
        chance of the arm that is played. For policies that play single arms.
        """
        if self.arms.oracle is not None:
            raise ValueError("this session chooses sets; only a choice of single arms can be made beside another.")
        if id is not None and self._book.known(checked_id(id)) is not None:
            raise ValueError(f"id = {checks.show(id)} was decided already.")
        entry = self._decide(context, eligible, id, names, measured, arm, chance=chance)
        return entry.decision, self._wanted, self._own

    def _decide(
        self,
        context: Round | None,
        eligible: Mask | None,
        id: Id | None,
        names: Sequence[str] | None,
        measured: bool,
        taken: Action | None = None,
        known: tuple[Chance, Chance] = (math.nan, math.nan),
        wanted: Action | None = None,
        chance: Callable[[int, float], float] | None = None,
    ) -> Open:
        seen, labels = self._round(context, eligible, names)
        state = self._state_for(seen, self._alike or self._always_equal(seen))
        admit(self.policy, state, seen)
        bits = self._rng.bit_generator
        before = bits.state if self._draws else None
        winner = self._winner(seen)
        try:
            action: Any = winner if winner is not None else self._checked_action(self._direct.select(state, seen, self._rng), seen)
            own = action
            if taken is not None:
                action = self._checked_action(taken, seen)
                expected = action if wanted is None else wanted
                self._agreed = own == expected if isinstance(own, int) else bool(np.array_equal(own, expected))
        except BaseException:  # an oracle may refuse after noise was drawn
            if before is not None:
                bits.state = before
            raise
        why = event(self.policy, state, action) if self._tells else 0
        p, error = known
        if measured:
            if winner is not None or (not self._measures and (before is None or streams.same(before, bits.state))):
                p, error = float(own is action or np.array_equal(own, action)), 0.0  # nothing was drawn, so the choice was certain
            else:
                p, error = self._measured(state, seen, action)
        if chance is not None:
            self._wanted, self._own = int(own), float(p)
            p = chance(int(action), self._own)
        if self._changing or seen.features is not None:
            self._several = self._several or not (
                self._last.features is None or self._last.features is seen.features or np.array_equal(self._last.features, seen.features)
            )
            self._changing = True
        self._became(self._direct.commit(state, seen, action), seen)
        self._met(seen)
        self._last = seen
        self.decided += 1
        single = isinstance(action, int)
        if not single and (measured or taken is not None):
            p, error = (locked(np.broadcast_to(np.asarray(x, dtype=np.float64), action.shape)) for x in (p, error))
        name: object
        if single:
            name = labels[action] if labels is not None else self._names.of(action)
        else:
            name = tuple(labels[k] if labels is not None else self._names.of(k) for k in action.tolist())
        if id is None:
            id = str(self.decided)
            while self._book.known(id) is not None:
                id += "+"
        words = reason(why, name, p) if winner is None or action != winner else f"{name}: the certified answer"
        made = Decision(id, action if single else locked(action), name, p, error, words, self.decided, shown(seen))
        entry = Open(made, seen, action, None if single else set(action.tolist()))
        self._book.add(entry)
        if self.window is not None:
            self._expire(self.decided - self.window)
        return entry

    def _measured(self, state: State, seen: Context, action: Action) -> tuple[Chance, Chance]:
        """The propensity. Its draws begin 2^64 places of the audit stream after those of the decision before, the stream is put back and
        the state's scratch is left alone: a log can be followed to the bit without computing it again."""
        bits: Any = self._audit.bit_generator
        origin = bits.state
        bits.advance(self.decided << 64)
        try:
            chance: tuple[Chance, Chance] = propensity(self.policy, copied(state), seen, action, self._audit)
        finally:
            bits.state = origin
        return chance

    def _winner(self, seen: Context) -> int | None:
        """The certified arm, where it is what is played; None where there is none, it may not be played, or exploring goes on."""
        if self.after_stop == "explore" or not type(self.policy).TRAITS.stops or not self.stopped:
            return None
        arm = int(recommend(self.policy, self.state))
        return arm if seen.eligible is None or seen.eligible[arm] else None

    def _checked_action(self, action: Any, seen: Context) -> Action:
        """The policy's answer as an int or int array; one that is no eligible arm is refused."""
        if not isinstance(action, int) and np.ndim(action) != 0:
            return np.asarray(action)
        arm, count = int(action), self._count(seen)
        if not 0 <= arm < count or (seen.eligible is not None and not seen.eligible[arm]):
            name = type(self.policy).__name__
            raise ValueError(f"{name}'s select returned arm {arm}, but arms are 0 to {count - 1} and must be eligible.")
        return arm

    # Rewards -------------------------------------------------------------------------------------------------------------

    def reward(self, id: Id, value: ArrayLike | Mapping[int, float] | Mapping[str, float]) -> bool:
        """Close an open decision with its reward, learned with the features, mask and baseline of its own round.

        value: a number; for a set {arm or name: number}, in parts where they come so, or one number per arm in the decision's order.
        The same answer once more changes nothing and returns False; another one, or an unknown id, is a ValueError.
        """
        id = id if type(id) is str else checked_id(id)
        entry = self._book.open.get(id)
        if entry is None or entry.ended is not None:
            return self._repeated(id, entry, value)
        if entry.waiting is not None:
            return self._reward_set(entry, value)
        entry.answers = self._checked_value("reward", value)
        self._take(entry, entry.action, entry.answers, "rewarded")
        return True

    def _reward_set(self, entry: Open, value: object) -> bool:
        given = self._by_arm(entry.decision, value)
        fresh = [arm for arm in given if arm not in entry.answers]
        self._check_equal(entry.decision, entry.answers, given, "rewarded")
        if not fresh and entry.waiting:
            return False
        self._answer_set(entry, fresh, [given[arm] for arm in fresh], "rewarded")
        return True

    def _answer_set(self, entry: Open, arms: Sequence[int], rewards: Sequence[float], how: str) -> None:
        entry.answers |= zip(arms, rewards, strict=True)
        assert entry.waiting is not None
        entry.waiting.difference_update(arms)
        action = np.array(arms, dtype=np.int64) if len(arms) else None
        self._take(entry, action, np.array(rewards, dtype=np.float64), None if entry.waiting else how)

    def _by_arm(self, decision: Decision, value: object) -> dict[int, float]:
        """Rewards of a set by arm, checked."""
        arms = decision.arm.tolist()
        if not isinstance(value, Mapping):
            values = checks.floats("reward", value).reshape(-1)
            if values.size != len(arms):
                raise ValueError(
                    f"reward has {values.size} entries, but decision {decision.id!r} has {len(arms)} arms; "
                    "for a part of them give {arm: reward}."
                )
            value = dict(zip(arms, values.tolist(), strict=True))
        by_name = dict(zip(decision.name, arms, strict=True))
        found: dict[int, float] = {}
        for key, number in value.items():
            arm = by_name.get(key) if isinstance(key, str) else checks.integer("arm", key)
            if arm not in arms:
                raise ValueError(f"arm = {checks.show(key)} is not in decision {decision.id!r}, which has {checks.show(decision.name)}.")
            assert arm is not None
            found[arm] = self._checked_value(f"reward[{checks.show(key)}]", number)
        return found

    def _repeated(self, id: Id, entry: Open | None, value: object) -> bool:
        """The answer to a decision that is closed already."""
        ended = self._book.closed.get(id)
        if entry is not None:
            decision, answers, how = entry.decision, entry.answers, entry.ended
        elif ended is not None:
            decision, answers, how = ended.decision, ended.answers, ended.how
        else:
            raise ValueError(
                f"id = {checks.show(id)} is not a decision of this session, was cancelled, or was closed too long ago to be known."
            )
        if isinstance(answers, dict):
            given = self._by_arm(decision, value)
            self._check_equal(decision, answers, given, str(how))
        elif answers is None or self._checked_value("reward", value) != answers:
            self._refuse(decision, answers, str(how))
        return False

    def _check_equal(self, decision: Decision, answers: dict[int, float], given: dict[int, float], how: str) -> None:
        for arm, value in given.items():
            if arm in answers and answers[arm] != value:
                raise ValueError(f"decision {decision.id!r} was {how} with {answers[arm]:g} for arm {arm}; a reward is given once.")
            if arm not in answers and how == "closed":
                self._refuse(decision, None, how)

    def _refuse(self, decision: Decision, answer: float | None, how: str) -> None:
        told = "without a reward" if answer is None else f"with {answer:g}"
        raise ValueError(f"decision {decision.id!r} was {how} {told}; a reward is given once, while the decision is open.")

    def update(self, arm: Played, reward: ArrayLike, context: Round | None = None) -> None:
        """Take in the reward of an arm, or the rewards of several arms of a set as two arrays: closes the oldest open decision of it.

        Where no decision of the arm is open, it is data from elsewhere: the policy learns from it, a ledger does not count it.
        context: the features (and baseline, and mask) of the round the reward belongs to; by default those of that decision, or of the
        only features the session has seen.
        """
        given = None if context is None else self._round(context, None, None, past=True)[0]
        action, value = self._checked_reward(arm, reward, given)
        entry = self._book.oldest_of(action, given)
        if entry is not None:
            if isinstance(action, np.ndarray):
                self._answer_set(entry, action.tolist(), value.tolist(), "rewarded")
            else:
                entry.answers = value
                self._take(entry, action, value, "rewarded")
            return
        if given is None and self._changing and self._several:
            what = "these arms have no open decision together" if isinstance(action, np.ndarray) else f"arm {arm} has no open decision"
            raise ValueError(f"context is missing: {what}, and rounds have shown different features; pass those the reward belongs to.")
        seen = given if given is not None else self._round(None, self._last.eligible, None, past=True)[0]
        state = self._state_for(seen, self._alike)
        admit(self.policy, state, seen)
        self._changing = self._changing or seen.features is not None
        self._became(inform(self.policy, state, seen, action, value), seen)
        self._met(seen)
        self.rounds += 1

    def _take(self, entry: Open, action: Action | None, value: float | np.ndarray | None, ended: str | None) -> None:
        """Learn from (a part of) a decision's answer, now or, in order, when all earlier decisions are closed."""
        id = entry.decision.id
        if self.apply == "on arrival":
            self._learn_from(entry, action, value)
            if ended is not None:
                self._book.close(id, ended)
            return
        if action is not None:
            entry.held.append((action, value))
        entry.ended = ended
        self._release()

    def _release(self) -> None:
        """In order: learn what waited for decisions that are closed by now."""
        while (entry := self._book.first()) is not None:
            while entry.held:
                self._learn_from(entry, *entry.held.pop(0))
            if entry.ended is None:
                return
            self._book.close(entry.decision.id, entry.ended)

    def _learn_from(self, entry: Open, action: Action | None, value: float | np.ndarray | None) -> None:
        if action is not None:
            seen = entry.context
            self._became(self._direct.update(self._state_for(seen), seen, action, value), seen)
            self.rounds += 1

    def cancel(self, id: Id) -> None:
        """Take back an open decision that was never shown: the policy is as it was without it, but for its random stream."""
        entry = self._unanswered(id)
        if entry.answers:
            raise ValueError(f"id = {checks.show(id)} has answers already, so it was shown; close it instead.")
        seen = entry.context
        self._became(withdraw(self.policy, self._state_for(seen), seen, entry.action), seen)
        self._book.remove(entry.decision.id)
        if self.apply != "on arrival":
            self._release()

    def close(self, id: Id) -> None:
        """Close a decision that was shown but whose reward, or whose missing rewards of a set, will never come. Nothing is learned."""
        entry = self._unanswered(id)
        self._take(entry, None, None, "closed")

    def _unanswered(self, id: Id) -> Open:
        id = checked_id(id)
        entry = self._book.open.get(id)
        if entry is None or entry.ended is not None:
            raise ValueError(f"id = {checks.show(id)} is not an open decision; it was closed, cancelled or never made.")
        return entry

    def expire(self, older_than: int | None = None, *, ids: Iterable[Id] | None = None) -> list[Id]:
        """Close with default_reward every decision that is more than so many rounds old; returns their ids.

        older_than: rounds (decisions made since), >= 0; default: the window. ids: the open decisions to close instead, whatever
        their age, where another clock says which.
        """
        if ids is not None:
            if older_than is not None:
                raise ValueError("older_than and ids both say what expires; give one of them.")
            if self.default_reward is None:
                raise ValueError("default_reward is missing, so nothing can expire; give it to Session, or close decisions one by one.")
            return self._settle([self._unanswered(id) for id in dict.fromkeys(ids)])
        if older_than is None and self.window is None:
            raise ValueError("older_than is missing, and this session has no window; give a number of rounds.")
        rounds = self.window if older_than is None else checks.integer("older_than", older_than, least=0)
        if self.default_reward is None:
            raise ValueError("default_reward is missing, so nothing can expire; give it to Session, or close decisions one by one.")
        assert rounds is not None
        return self._expire(self.decided - rounds)

    def _expire(self, before: int) -> list[Id]:
        return self._settle(self._book.before(before))

    def _settle(self, expired: list[Open]) -> list[Id]:
        assert self.default_reward is not None
        for entry in expired:
            if entry.waiting is None:
                entry.answers = self.default_reward
                self._take(entry, entry.action, entry.answers, "expired")
            else:
                missing = sorted(entry.waiting)
                self._answer_set(entry, missing, [self.default_reward] * len(missing), "expired")
        return [entry.decision.id for entry in expired]

    @property
    def open(self) -> dict[Id, Decision]:
        """Decisions that wait for rewards, by id, the oldest first."""
        return {id: entry.decision for id, entry in self._book.open.items() if entry.ended is None}

    def is_open(self, id: Id) -> bool:
        """Whether a decision waits for its reward, or for those of a part of its set."""
        entry = self._book.open.get(id)
        return entry is not None and entry.ended is None

    def answered(self) -> Iterator[tuple[Decision, float | dict[int, float] | None]]:
        """Decisions that have ended and are still remembered, with their rewards (of a set by arm; None: closed without one)."""
        for entry in self._book.open.values():
            if entry.ended is not None:
                yield entry.decision, entry.answers
        for closed in self._book.closed.values():
            yield closed.decision, closed.answers

    def propensities(self, context: Round | None = None, eligible: Mask | None = None) -> np.ndarray:
        """(K,) chances with which `select` would play each single arm now, as far as the policy computes them exactly, else by draws.

        For policies with an oracle the propensity belongs to a set; ask `decide` for that of the chosen one. Changes nothing.
        """
        if self.arms.oracle is not None:
            raise ValueError("this session chooses sets, whose chances are not those of single arms; see Decision.propensity.")
        seen, _ = self._round(context, eligible, None)
        state = copied(self._state_for(seen, self._alike))
        admit(self.policy, state, seen)
        audit, found = streams.stream(self.seed, self.rounds, streams.AUDIT), np.zeros(self._count(seen))
        winner = self._winner(seen)
        if winner is not None:
            found[winner] = 1.0
            return found
        for arm in range(found.size):
            if seen.eligible is None or seen.eligible[arm]:
                found[arm] = propensity(self.policy, state, seen, arm, audit)[0]
        total = found.sum()  # chances by draws add up to nearly 1
        return found / total if total > 0.0 else found

    def learn(
        self, frame: NamedColumns, arm: str | None = "arm", reward: str = "reward", features: Sequence[str] | str | None = None,
        baseline: int | str | None = None,
    ) -> int:  # fmt: skip
        """Learn from a whole log of rewards that no decision of this session stands for, by compiled code. O(update) a row.

        Parameters
        ----------
        frame : table
            With named columns: of pandas, polars, pyarrow or DuckDB, or a dict of arrays.
        arm, reward : str
            Columns of arms (numbers, or names) and of rewards. Rows without a reward (null or NaN) are left out. A catalogue needs no arm.
        features : str or list of str
            Its d columns of the played arm's features, or one column of arrays (d,), where features change.
        baseline : int or str
            The baseline arm or its name, or a column of them, where every round has its own.

        Returns
        -------
        int
            Number of rows learned: those that have a reward.

        Raises
        ------
        ValueError
            For a frame with bad rows, with their number and the first of them; then nothing of it is learned.
        """
        arms, range_ = self.arms, (self._least, self._most)
        state = self.state
        if self.catalogue:  # a row's features are all there is of its arm
            arms = self.arms._replace(number=self.arms.blocks)
            state = self._sized(arms.number)
            arm = None if arms.blocks == 1 else arm
        log = read_training_rows(frame, arm, reward, features, baseline, self._changing, arms, self.names, range_)
        state = feed(self.policy, copied(state), arms, log)
        self.state, self.arms = state, arms if self.catalogue else self.arms
        self.rounds += log.rewards.size
        return int(log.rewards.size)

    def merge(self, other: "Session") -> None:
        """Take in all that another session of the same policy and arms has learned, as if its rewards had been fed to this one.

        other: left as it is; its open decisions do not move over, so it must have none. Only for policies whose state is a sum (counts;
        V and b). Raises ValueError, with nothing changed, for other policies, and for sessions that differ in policy or arms.
        """
        if not isinstance(other, Session):
            raise ValueError(f"other = {checks.show(other)} is not a session.")
        mine, its = (label(one.policy) for one in (self, other))
        if mine != its:
            raise ValueError(f"other has the policy {its}, but this session has {mine}; only equal policies learn the same sums.")
        if not self._same_arms(other):
            raise ValueError("other has other arms, features or names than this session; what they learned is not about the same things.")
        if other.open:
            raise ValueError(f"other has {len(other.open)} open decisions; close or cancel them first.")
        self.state = merge(self.policy, self.state, other.state)
        self.rounds += other.rounds
        self._several = self._several or other._several

    def adopt(self, arrays: dict[str, np.ndarray], rounds: int) -> None:
        """Take over what `flatten` made of the state of a session like this one, which had learned so many rewards and decided nothing."""
        template = self._sized(self.arms.blocks) if self.catalogue else self.state
        arms = self.arms._replace(number=self.arms.blocks) if self.catalogue else self.arms
        self.state, self.arms, self.rounds = restore(template, arrays, self.policy, arms), arms, rounds

    def _same_arms(self, other: "Session") -> bool:
        a, b = self.arms, other.arms
        if (self.catalogue, self._changing, self.names, a.dimension, a.blocks) != (
            other.catalogue, other._changing, other.names, b.dimension, b.blocks,
        ):  # fmt: skip
            return False
        if self.catalogue:
            return True
        return a.number == b.number and (self._changing or a.features is None or np.array_equal(a.features, b.features))

    # Arms that come and go -----------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of all arms, also retired ones; None: arms have numbers only."""
        return self._names.texts

    @property
    def retired(self) -> list[str | int]:
        """Arms that are not played any more, by name or number."""
        return [] if self._retired is None else [self._names.of(k) for k in np.flatnonzero(self._retired).tolist()]

    def add_arms(
        self,
        names: Sequence[str] | None = None,
        features: ArrayLike | None = None,
        *,
        number: int | None = None,
        oracle: Oracle | None = None,
    ) -> list[int]:
        """Add arms after the others; everything learned stays, open decisions stay open. Returns their numbers.

        names: of the new arms, if the session has names. features: theirs, (n, d), if features are fixed. number: how many, where
        neither says. oracle: for the longer list, where an oracle knows arms by number. ValueError where the policy cannot grow.
        """
        if self.catalogue:
            raise ValueError("this session takes new candidates at every call; there is nothing to add.")
        if self.arms.distances is not None:
            raise ValueError("arms with a metric cannot be added to; start a new session with all points.")
        a = self.arms
        X = None
        if a.features is not None:
            if features is None:
                raise ValueError(f"features is missing; give the new arms' features, (n, {a.dimension}).")
            X = checks.matrix("features", features, shape=(None, a.dimension))
        elif features is not None:
            raise ValueError("features was given, but these arms have no fixed features.")
        if (names is None) != (self.names is None) and a.blocks == 1:
            missing = names is None
            raise ValueError(f"names {'is missing' if missing else 'was given'}, but these arms have {'names' if missing else 'numbers'}.")
        texts = None if names is None else checked_names("names", names)
        sizes = {len(item) for item in (X, texts) if item is not None}
        if number is not None:
            sizes.add(checks.integer("number", number, least=1))
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError("names, features and number must say how many arms are added, the same number and at least 1.")
        more = sizes.pop()
        both = Names(None if texts is None or self.names is None else (*self.names, *texts))
        longer = a._replace(
            number=a.number + more * a.blocks,
            features=None if X is None else np.concatenate([a.features, X]),
            oracle=a.oracle if oracle is None else oracle,
        )
        told = longer._replace(features=None) if self._changing else longer
        self.state = grow(self.policy, copied(self.state), told)
        self.arms, self._names = longer, both
        self._book.resize(a.number, longer.number, longer.rows)
        self._last = self._last._replace(features=None, eligible=None)
        if self._retired is not None:
            self._retired = np.concatenate([self._retired, np.zeros(longer.number - a.number, dtype=np.bool_)])
        return list(range(a.number, longer.number))

    def retire(self, arm: str | int) -> None:
        """Stop playing an arm. What was learned stays, and late rewards are still taken in."""
        self._set_retired(arm, True)

    def restore(self, arm: str | int) -> None:
        """Play a retired arm again."""
        self._set_retired(arm, False)

    def _set_retired(self, arm: str | int, value: bool) -> None:
        if self.catalogue:
            raise ValueError("this session takes new candidates at every call; leave out those that are retired.")
        k = self._names.number("arm", arm, self.arms.number)
        now = np.zeros(self.arms.number, dtype=np.bool_) if self._retired is None else self._retired.copy()
        now[k] = value
        if now.all():
            raise ValueError(f"arm = {checks.show(arm)} is the last one left; at least one arm must stay.")
        self._retired = now if now.any() else None

    # Points --------------------------------------------------------------------------------------------------------------

    def point(self, arm: SupportsIndex | str) -> Any:
        """The point (price, position) of an arm: a float on a line, else a (p,) array."""
        k = self._names.number("arm", arm, self.arms.number)
        point = self._points()[k]
        return float(point) if np.ndim(point) == 0 else point.copy()

    def arm_at(self, point: ArrayLike) -> int:
        """The arm of a point, which must be one of the session's up to rounding (one part in 1e9 of their range)."""
        points = self._points()
        wanted = checks.vector("point", np.atleast_1d(checks.floats("point", point)), length=1 if points.ndim == 1 else points.shape[1])
        apart = np.abs(points.reshape(points.shape[0], -1) - wanted).max(axis=1)
        k = int(apart.argmin())
        if apart[k] > 1e-9 * max(float(np.ptp(points)), np.abs(wanted).max()):
            raise ValueError(
                f"point = {checks.show(point)} is no point of this session; the nearest is {checks.show(points[k].tolist())}, arm {k}."
            )
        return k

    def _points(self) -> np.ndarray:
        if self.arms.points is None:
            raise ValueError("these arms have no points; give them as points= when the session starts.")
        return np.asarray(self.arms.points)

    # Explaining ----------------------------------------------------------------------------------------------------------

    def explain(
        self,
        context: Round | None = None,
        eligible: Mask | None = None,
        *,
        arms: Sequence[SupportsIndex | str] | None = None,
        draws: int | None = None,
        plain: bool = False,
    ) -> Explanation:
        """Why: per-arm mean, width, lower, upper, index and probability, and what the family adds. Changes nothing.

        arms: numbers or names of the only arms to tell of, in this order; their numbers are then under "arm". draws: from 10, how many
        random draws stand behind probabilities that are sampled, as those of LinTS and of sets: more make "probability_se" smaller, fewer
        are quicker; None: the policy's own number. Probabilities without "probability_se" are exact and need none. plain: lists, numbers
        and text that `json.dumps` takes, None in place of what is not finite.
        """
        seen, _ = self._round(context, eligible, None)
        state, count = self._state_for(seen, self._alike), self._count(seen)
        chosen = None if arms is None else [self._names.number("arms", arm, count) for arm in arms]
        drawn = None if draws is None else checks.integer("draws", draws, least=LEAST_DRAWS, most=MOST_DRAWS)
        admit(self.policy, state, seen)
        found = dict(explain(self.policy, copied(state), seen, streams.stream(self.seed, self.rounds, streams.AUDIT), drawn))
        winner = self._winner(seen)
        if winner is not None:
            found["probability"] = np.eye(1, count, winner)[0]
        if chosen is not None:
            found = {name: value[chosen] if np.shape(value)[:1] == (count,) and name in PER_ARM else value for name, value in found.items()}
            found = {"arm": np.array(chosen, dtype=np.int64)} | found
        if checks.flag("plain", plain):
            told: Explanation = files.plain(found)
            return told
        return found

    def view(self) -> Self:
        """A copy of what `explain`, `stopped` and `recommend` read, so that another thread may ask them while this session goes on."""
        view = copy.copy(self)
        view.state, view._scratch, view._direct = copied(self.state), {}, Direct(self.policy)
        return view

    @property
    def stopped(self) -> bool:
        """Whether an identification policy has its answer."""
        self._needs_stopping()
        done = bool(stopped(self.policy, self.state))
        if done:
            recommend(self.policy, self.state)  # raises where the run ended because its estimates broke down
        return done

    def recommend(self) -> dict[str, Any]:
        """The arm an identification policy would name, and what supports it.

        status: "certified" or "not certified yet". gap_bound: with probability 1 - delta the arm is at most that much worse than the
        best (B), where rewards are bounded no more than they differ. error: estimated probability that it is worse by more than epsilon.
        samples_remaining: a forecast; samples_range: (lowest, highest) for leads two standard errors larger and smaller than estimated.
        """
        self._needs_stopping()
        status = "certified" if self.stopped else "not certified yet"
        told = dict(evidence(self.policy, copied(self.state)))
        if self._least is not None and self._most is not None:
            told["gap_bound"] = min(told["gap_bound"], self._most - self._least)
        told["samples_range"] = forecast_range(self.rounds, told["samples_remaining"], told["error"])
        return {"arm": int(recommend(self.policy, self.state)), "status": status} | told

    def _needs_stopping(self) -> None:
        if not type(self.policy).TRAITS.stops:
            name = type(self.policy).__name__
            raise ValueError(f"{name} minimises regret and never stops; use LinGapE or another identification policy.")

    # Rounds --------------------------------------------------------------------------------------------------------------

    def _round(
        self, context: Any, eligible: Mask | None, names: Sequence[str] | None, past: bool = False
    ) -> tuple[Context, tuple[str, ...] | None]:
        """The checked round and its candidates' names where it brings them. past: retired arms were still in it. Changes nothing."""
        last = self._last
        if context is None and eligible is None and not self._changing and self._retired is None and names is None:
            return last if last.eligible is None else last._replace(eligible=None), None
        if names is not None and not self.catalogue:
            raise ValueError("names was given, but only a catalogue (dimension without arms) takes names with every call.")
        if self.catalogue and isinstance(context, Mapping):
            names, context = list(context), [context[name] for name in context]
        given = context if isinstance(context, Context) else Context(features=context)
        agreed = last if context is None else given
        features = given.features
        if features is not None:
            self._check_change()
            number = None if self.catalogue else self.arms.rows
            features = checks.rows("context", features, shape=(number, self.arms.dimension or None))
        elif self._changing:
            features = last.features if last.features is not None else self.arms.features
            if features is None:
                rows_text = "n" if self.catalogue else self.arms.rows
                raise ValueError(f"context is missing; pass this round's ({rows_text}, {self.arms.dimension}) features.")
        lasting = self.arms.number if self.arms.oracle is None and not self.catalogue else 1
        self._alike = lasting > 1 and (np.ndim(given.features) == 1 if given.features is not None else self.arms.common)
        count = self.arms.number if features is None else features.shape[0] * self.arms.blocks
        labels = None if names is None else checked_names("names", names, count)
        calling = self._names if labels is None else Names(labels)
        mask = given.eligible if eligible is None else eligible
        if mask is not None:
            mask = checks.mask("eligible", self._per_arm(calling.mask(mask, count), count), count)
        if self._retired is not None and not past:
            mask = ~self._retired if mask is None else mask & ~self._retired
            if not mask.any():
                raise ValueError("every eligible arm is retired; admit or restore one.")
        baseline, known = agreed.baseline, agreed.baseline_mean
        return Context(
            features,
            mask,
            None if baseline is None else calling.number("baseline", baseline, count),
            None if known is None else checks.real("baseline_mean", known),
        ), labels

    def _per_arm(self, eligible: object, count: int) -> np.ndarray:
        """A mask of rows or of (row, block) pairs as one of arms."""
        eligible = checks.entries("eligible", eligible, "a bool array")
        blocks, shape = self.arms.blocks, np.shape(eligible)
        if blocks > 1 and shape == (count // blocks,):
            return np.repeat(eligible, blocks)
        return np.reshape(eligible, -1) if shape == (count // blocks, blocks) else eligible

    def _count(self, seen: Context) -> int:
        """Arms in a round."""
        return self.arms.number if seen.features is None else seen.features.shape[0] * self.arms.blocks

    def _told(self) -> Arms:
        return self.arms._replace(features=None) if self._changing else self.arms

    def _state_for(self, seen: Context, alike: bool = False) -> State:
        """The state that meets a round: of its number of candidates; without data where features come for the first time.

        alike: whether all arms are shown one row, so that only a regression for each can tell them apart. Raises where the policy has one.
        """
        if seen.features is None:
            return self.state
        if self.catalogue:
            return self._sized(self._count(seen))
        if alike and not self.arms.common:
            apart = init(self.policy, self.arms._replace(features=None, common=True))
            if not (self.rounds or self.decided):
                return apart
            if not same_form(apart, self.state):
                raise ValueError(
                    "context shows all arms the same row, but this session began with a row of its own for every arm, (K, d), and has one "
                    "regression for all of them; start a new session with shared=False, or with rows of shape (d,) from the first round on."
                )
            return self.state
        return self.state if self._changing else init(self.policy, self.arms._replace(features=None))

    def _sized(self, number: int) -> State:
        """The state of a catalogue for a number of candidates."""
        if number == self.arms.number:
            return self.state
        template = self._scratch.get(number)
        if template is None:
            template = init(self.policy, self.arms._replace(number=number))
            if len(self._scratch) >= SIZES:
                del self._scratch[next(iter(self._scratch))]
            self._scratch[number] = template
        return carried(template, self.state)

    def _always_equal(self, seen: Context) -> bool:
        """Whether the arms' rows have been equal to each other in every one of many rounds."""
        features = seen.features
        if self._equal < 0 or features is None or self.arms.oracle is not None or self.catalogue or self.arms.common or len(features) < 2:
            return False
        return self._equal >= MOST_EQUAL and bool((features == features[0]).all())

    def _met(self, seen: Context) -> None:
        """Note of what kind a round was that the policy has met."""
        if seen.features is None:
            return
        if self._alike and not self.arms.common:
            self.arms = self.arms._replace(common=True)
        elif self._equal >= 0:
            self._equal = self._equal + 1 if bool((seen.features == seen.features[0]).all()) else -1

    def _became(self, state: State, seen: Context) -> None:
        """Keep the state that has met a round; a catalogue's has as many arms as that."""
        self.state = state
        if self.catalogue and seen.features is not None:
            self.arms = self.arms._replace(number=self._count(seen))

    def _check_change(self) -> None:
        """Features that change come too late once something was decided or learned with fixed ones."""
        if self._changing:
            return
        if "contexts" not in type(self.policy).TRAITS.accepts:
            name, d = type(self.policy).__name__, self.arms.dimension
            remedy = (
                f"; for new features every round start with arms={self.arms.rows}, dimension={d}" if self.arms.oracle is not None else ""
            )
            raise ValueError(f"context was given, but {name} does not take features that change in a session with fixed arms{remedy}.")
        if self.rounds or self._book.open or self._book.closed:
            raise ValueError("context was given, but this session has learned with fixed arms; start it with dimension=d instead.")

    # Checks --------------------------------------------------------------------------------------------------------------

    def _checked_names(self, names: Iterable[str]) -> tuple[str, ...]:
        if self.catalogue:
            raise ValueError("names was given, but a catalogue (dimension without arms) takes names with every call of decide.")
        if self.arms.blocks > 1:
            raise ValueError("names was given, but arms of this oracle are pairs (row * blocks + block), which have numbers only.")
        return checked_names("names", names, self.arms.number)

    def _checked_value(self, argument: str, value: object) -> float:
        return checks.real(argument, value, least=self._least, most=self._most)

    def _checked_reward(self, arm: Played, reward: ArrayLike, given: Context | None) -> tuple[Action, Any]:
        count = self.arms.number if given is None else self._count(given)
        if self.arms.oracle is None:
            if self.catalogue and isinstance(arm, str):
                return self._book.candidate(arm), self._checked_value("reward", reward)
            return self._names.number("arm", arm, count), self._checked_value("reward", reward)
        listed: Any = [arm] if isinstance(arm, str) else arm
        if self.names is not None and not isinstance(listed, np.ndarray) and np.ndim(listed) == 1:
            listed = [self._names.number("arm", item, count) if isinstance(item, str) else item for item in listed]
        arms, numbers = np.atleast_1d(checks.entries("arm", listed, "an array of arms")), np.atleast_1d(checks.floats("reward", reward))
        if arms.size == 0 == numbers.size:  # the answer to an empty set
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        values = checks.vector("reward", numbers, length=arms.size, least=self._least, most=self._most, source="one per arm")
        if arms.dtype.kind not in "iu" or arms.ndim != 1 or (arms < 0).any() or (arms >= count).any():
            raise ValueError(f"arm = {checks.show(arms)} must hold whole numbers from 0 to {count - 1}.")
        return arms.astype(np.int64), values

    # Files ---------------------------------------------------------------------------------------------------------------

    def forget_round(self) -> None:
        """Let go of what the last decision's round showed, which `decide` would take where the next one brings no context."""
        self._last = NOTHING_SHOWN

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write the session with its open decisions to one file (JSON header and arrays, no pickle); `load` continues bit for bit."""
        return store.save(self, pathlib.Path(path))

    @classmethod
    def load(cls, path: str | pathlib.Path, *, oracle: Oracle | None = None, policy: Policy | None = None) -> Self:
        """Read a saved session.

        oracle: needed again only where it was code of your own, which a file does not hold; `tightrope.oracles` come back by
        themselves. policy: an instance to use in place of the stored one; a registered class, also one of your own whose module is
        imported, is found by its name. Nothing in a file chooses code to run: names are looked up among what is registered.
        """
        return store.load(cls, pathlib.Path(path), oracle, policy)

    def to_bytes(self) -> bytes:
        """What `save` writes, for a database instead of a file."""
        return store.to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes, *, oracle: Oracle | None = None, policy: Policy | None = None) -> Self:
        """The session that `to_bytes` wrote; the arguments of `load`."""
        return store.from_bytes(cls, data, oracle, policy)

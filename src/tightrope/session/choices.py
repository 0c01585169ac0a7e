"""Decisions: what the policy would play in a round, its propensity, and the open decision that is
made of it."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import checks
from ..core.types import PLAIN, Action, draws_of
from ..core.verbs import Context, admit, event, propensity, recommend
from ..numerics.states import copied
from .agent import DECIDED, UNPLAYABLE, Agent
from .answers import AnsweringSession
from .decisions import Chance, Decision, Entry, locked, read_only_context, reason
from .ids import Id, checked_id, refuse_automatic
from .parts import AgentAndRounds, Draws
from .rounds import CheckedRound, Mask, Round


class Choice(NamedTuple):
    agent: Agent  # with the state that met the round
    action: Action
    event: int  # how it came about, see the verb `event`
    certain: bool  # nothing was drawn
    certified: bool  # it is the answer of an identification policy
    shown: CheckedRound  # the round
    now: AgentAndRounds  # of the session that chose
    number: int  # of the decision it would be


class DecidingSession(AnsweringSession):
    def decide(
        self,
        context: Round | None = None,
        eligible: Mask | None = None,
        id: Id | None = None,
        names: Sequence[str] | None = None,
    ) -> Decision:
        """Decide which arm (or set of arms) to play. The decision stays open until its reward
        comes, see `reward`.

        Costs one `select` of the policy and, in a session that measures them, one `propensity`.

        Parameters
        ----------
        context : (K, d) array, (d,) array, Context, or rows for the encoder
            Features of every arm in this round, or one row that all arms are shown. None: rounds
            show nothing; where any was shown, every decision is asked for its own.
            A catalogue may take {name: features}. Where arms share rows, as promotions to users do,
            features are (N, d) and arm = user * M + promotion.
        eligible : (K,) array of bool, or names
            Arms that may be played, default all; (N,) or (N, M) where arms share rows.
        id : str or int
            Your own; given twice it returns the same decision and draws nothing. Default: one is
            made.
        names : sequence of str
            Of a catalogue's candidates.

        Returns
        -------
        Decision

        Raises
        ------
        ValueError
            Where the round does not fit the session's arms, or no arm may be played.

        Examples
        --------
        >>> import tightrope as tr
        >>> session = tr.Session(tr.EpsilonGreedy(epsilon=0.1), arms=["red", "green"], seed=1)
        >>> first = session.decide(id="visitor 17")
        >>> session.decide(id="visitor 17") is first
        True
        """
        if id is not None:
            id = checked_id(id)
            known = self._book.decision_of(id)
            if known is not None:
                return known
            refuse_automatic(id)
        choice = self._choice(self._checked_round(context, eligible, names, deciding=True))
        chance = (
            self._chance(choice, choice.action) if self.measured else (math.nan, math.nan, None)
        )
        return self._open(choice, choice.action, id, *chance).decision

    def select(self, context: Round | None = None, eligible: Mask | None = None) -> Any:
        """The arm or set of arms to play now: a decision whose reward comes by `update`, before the
        next decision.

        A reward that comes later is learned too, but as data: the decision itself was closed by the
        next one. For rewards that come late or never, use `decide` and `reward`. The propensity is
        not computed.

        Parameters
        ----------
        context : (K, d) array, (d,) array, Context, or rows for the encoder
            Features of every arm in this round, or one row that all arms are shown. None: rounds
            show nothing; where any was shown, every decision is asked for its own.
        eligible : (K,) array of bool, or names
            Arms that may be played, default all.

        Returns
        -------
        int, or array of int for a set

        Raises
        ------
        ValueError
            Where the round does not fit the session's arms, or no arm may be played.
        """
        now = self._now
        if now.plain and context is None and eligible is None and self._book.selected is None:
            arm, why, _ = now.agent.play()
            if why != UNPLAYABLE:
                return arm
        choice = self._choice(self._checked_round(context, eligible, None, deciding=True))
        entry = self._open(choice, choice.action, None, math.nan, math.nan, selected=True)
        return entry.action if isinstance(entry.action, int) else entry.action.copy()

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
        draws: int | None = None,
        encoded: bool = False,
    ) -> bool:
        """Make a decision of a log once more: the policy draws as it did then, and the arm of the
        log is taken.

        On the kind of processor that wrote the log both agree to the bit. On another one last
        digits may differ, and what was played is what counts.

        Parameters
        ----------
        arm : int, or sequence of int for a set
            The number that the log has.
        id : str or int
            The decision's; one that is still known is refused.
        context, eligible, names
            As for `decide`.
        propensity, propensity_se : float, or array for a set
            The log's, in [0, 1]; they are not computed again. Default NaN: not measured.
        wanted : int
            What the policy chose, where `decide_beside` played another arm. Default None: arm.
        draws : int >= 1
            Random draws behind the propensity; None: it is exact.
        encoded : bool
            Whether context has features already, where the session has an encoder. Default False.

        Returns
        -------
        bool
            Whether the policy chose what the log says.

        Raises
        ------
        ValueError
            Where the id is known already, or the round or the arm do not fit.
        """
        id = checked_id(id)
        if self._book.decision_of(id) is not None:
            raise ValueError(
                f"id = {checks.show(id)} was decided already; a log has every decision once."
            )
        shown = self._checked_round(context, eligible, names, encoded=encoded)
        taken = self._arm_taken(arm, shown.context)
        p, error = (
            self._chance_taken("propensity", propensity, taken),
            self._chance_taken("propensity_se", propensity_se, taken),
        )
        behind = None if draws is None else checks.integer("draws", draws, least=1)
        choice = self._choice(shown, taken)
        self._open(choice, taken, id, p, error, behind)
        return bool(np.array_equal(choice.action, taken if wanted is None else wanted))

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
        """Decide with an arm that is the policy's or somebody else's, as while a policy is rolled
        out beside a baseline.

        For policies that play single arms.

        Parameters
        ----------
        arm : int or None
            The arm to play; None: the policy's own choice, which is drawn in either case.
        chance : function of (int, float) returning float
            The propensity of the played arm, from its number and the policy's own chance of it.
        context, eligible, names
            As for `decide`.
        id : str or int
            Your own, which must be new. Default: one is made.
        measured : bool
            Default True. False where the policy's chance is not needed; it is NaN then.

        Returns
        -------
        (Decision, int, float)
            The decision, the policy's choice, and the policy's chance of the arm that is played.

        Raises
        ------
        ValueError
            Where the id is known already, or the round or the arm do not fit.
        """
        if self.arms.oracle is not None:
            raise ValueError(
                "this session chooses sets; only a choice of single arms can be made beside "
                "another."
            )
        id = None if id is None else checked_id(id)
        if id is not None and self._book.decision_of(id) is not None:
            raise ValueError(f"id = {checks.show(id)} was decided already.")
        shown = self._checked_round(context, eligible, names, deciding=True)
        taken = None if arm is None else self._arm_taken(arm, shown.context)
        choice = self._choice(shown, taken)
        action = choice.action if taken is None else taken
        own, error, draws = self._chance(choice, action) if measured else (math.nan, math.nan, None)
        played = self._chance_taken("chance", chance(int(action), float(own)), action)
        entry = self._open(choice, action, id, played, error, draws)
        return entry.decision, int(choice.action), float(own)

    def _choice(self, shown: CheckedRound, taken: Action | None = None) -> Choice:
        """The action that the policy proposes, drawn from its stream. taken: the arm of a log,
        checked before anything is drawn."""
        self._close_overdue()
        context = shown.context
        one = (
            self._now.agent
            if context is PLAIN
            else self._agent_for(
                context, shown.common or (taken is None and self._rounds.all_equal(context))
            )
        )
        if taken is not None:
            self._check_playable("the log has", taken, one.number, context)
        if self._guards and not (context is PLAIN and self._admits_plain):
            admit(self.policy, one.state, context)
        winner = self._winner(context) if self._stops else None
        now, next_one = self._now, one.counts[DECIDED] + 1
        if winner is not None:
            return Choice(
                one, winner, event(self.policy, one.state, winner), True, True, shown, now, next_one
            )
        action, why, certain = one.propose(context)
        if why == UNPLAYABLE:
            self._check_playable(
                f"{type(self.policy).__name__}'s select returned", action, one.number, context
            )
        return Choice(one, action, why, certain, False, shown, now, next_one)

    def _arm_taken(self, arm: object, context: Context) -> Action:
        count = self._agent.number if context.features is None else self._rounds.count(context)
        if self.arms.oracle is None:
            return self._rounds.names.number("arm", arm, count)
        arms = checks.entries("arm", arm, "an array of arms")
        whole = arms.ndim == 1 and (arms.size == 0 or arms.dtype.kind in "iu")
        if (
            not whole
            or (arms < 0).any()
            or (arms >= count).any()
            or np.unique(arms).size < arms.size
        ):
            raise ValueError(
                f"arm = {checks.show(arm)} must be distinct whole numbers from 0 to {count - 1}, "
                "the arms of a set."
            )
        return arms.astype(np.int64)

    def _chance_taken(self, argument: str, value: Chance, taken: Action) -> Chance:
        """A chance of the caller's: in [0, 1], or NaN where it is not known; of a set one for each
        arm."""
        if isinstance(value, float) and math.isnan(value):
            return value
        if isinstance(taken, int):
            return checks.real(argument, value, least=0, most=1)
        chances = np.broadcast_to(checks.floats(argument, value), np.shape(taken))
        if not ((chances >= 0.0) & (chances <= 1.0)).all():
            raise ValueError(
                f"{argument} = {checks.show(value)} must be chances, numbers in [0, 1]."
            )
        return chances

    def _chance(self, choice: Choice, action: Action) -> tuple[Chance, Chance, int | None]:
        """(propensity of an action, standard error, draws behind it).

        Its draws begin 2^64 places of the audit stream after those of the decision before, a copy
        of the stream is drawn from and the state's scratch is left alone: a log can be followed to
        the bit without computing it again.
        """
        if choice.certified or (choice.certain and not self._measures):
            return (
                float(action is choice.action or np.array_equal(action, choice.action)),
                0.0,
                None,
            )
        if self._draws is None or self._draws.audit is not self._audit:
            self._draws = Draws.of(self._audit)
        rng = self._draws.rng
        bits: Any = rng.bit_generator
        bits.state = self._draws.place  # whatever a signal's exception left behind
        bits.advance((choice.number - 1) << 64)
        state, context = copied(choice.agent.state), choice.shown.context
        stated: tuple[Chance, Chance] = propensity(
            self.policy, state, context, action, rng, self.draws
        )
        behind = draws_of(stated)
        played = action is choice.action or np.array_equal(action, choice.action)
        return *(stated if behind is None or not played else counted_in(stated, behind)), behind

    def _chance_of(
        self, one: Agent, arm: int, certain: bool, shown: CheckedRound, number: int
    ) -> tuple[Chance, Chance, int | None]:
        return self._chance(Choice(one, arm, 0, certain, False, shown, self._now, number), arm)

    def _winner(self, context: Context) -> int | None:
        """The certified arm, where it is what is played; None where there is none, it may not be
        played, or exploring goes on."""
        if self.after_stop == "explore" or not self._stops or not self.stopped:
            return None
        arm = int(recommend(self.policy, self.state))
        return arm if context.eligible is None or context.eligible[arm] else None

    def _moment(self) -> float:
        """The time of a decision: the clock's, or that of the decision before where the clock went
        back."""
        moment, last = self._time(), self._book.last
        return (
            moment
            if last is None or last.decision.time is None
            else max(moment, last.decision.time)
        )

    def _open(
        self,
        choice: Choice,
        action: Any,
        id: Id | None,
        p: Chance,
        error: Chance,
        draws: int | None = None,
        selected: bool = False,
    ) -> Entry:
        """Take an action: the open decision of it. selected: it is one of `select`."""
        (context, labels, common), single = choice.shown, isinstance(action, int)
        if not single:
            p, error = (
                x
                if np.ndim(x) == 0 and np.isnan(x)
                else locked(np.broadcast_to(np.asarray(x, dtype=np.float64), action.shape))
                for x in (p, error)
            )
        before, last, former = self._now, self._book.last, self._book.selected
        called = before.rounds.names.of if labels is None else labels.__getitem__
        name: object = called(action) if single else tuple(called(k) for k in action.tolist())
        if choice.certified and single and action == choice.action:
            words = f"{name}: the certified answer"
        else:
            why = (
                choice.event
                if action is choice.action
                else event(self.policy, choice.agent.state, action)
            )
            words = reason(why, name, p)
        number = choice.number
        if before is not choice.now or choice.agent.counts[DECIDED] + 1 != number:
            raise ValueError(
                "this session was changed while it decided, by what a callback did; the decision "
                "was not made."
            )
        if id is None:
            id = self._book.automatic(number, self._past.branch)
        moment = self._moment() if self._timed else None
        decision = Decision(
            id,
            action if single else locked(action),
            name,
            p,
            error,
            words,
            number,
            read_only_context(context),
            draws,
            moment,
        )
        entry = Entry(decision, context, action, None if single else set(action.tolist()))
        rounds = (
            before.rounds
            if context is before.rounds.last and context is PLAIN
            else before.rounds.record_context(context, True, common)
        )
        try:
            self._book.add(entry, selected)
            if choice.agent is not before.agent or rounds is not before.rounds:
                self._stand(choice.agent, rounds)
            choice.agent.take(
                context, action
            )  # counts the decision; what comes before is undone where it does not
            if former is not None or isinstance(self.window, int):
                self._end_earlier(former)
        except BaseException as stop:
            if choice.agent.counts[DECIDED] < number:
                self._book.remove(id)
                self._book.last, self._book.selected, self._now = last, former, before
            elif not isinstance(stop, Exception):
                self._end_earlier(former)
            raise
        return entry

    def _end_earlier(self, former: Entry | None) -> None:
        """After a decision: close the one that `select` made before it, and those that left a
        window in rounds."""
        if former is not None:
            self._close_entries([former])
        if isinstance(self.window, int):
            self._settle(self._book.before(self.decided - self.window))


def counted_in(stated: tuple[Chance, Chance], draws: int) -> tuple[Chance, Chance]:
    """A sampled chance of what was played, and its standard error: where no draw met it, the choice
    itself is one draw more."""
    p, error = stated
    least = 1.0 / (draws + 1)
    own = (
        np.where(np.equal(p, 0.0), least, p),
        np.where(np.equal(p, 0.0), math.sqrt(least * (1.0 - least) / draws), error),
    )
    return own if np.ndim(p) else (float(own[0]), float(own[1]))

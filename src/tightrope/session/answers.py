"""Rewards of open decisions: learned on arrival or in order, once each, whole or not at all;
decisions that end without one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

import numpy as np
from numpy.typing import ArrayLike

from ..core import checks
from ..core.types import PLAIN, Action
from ..core.verbs import admit
from .agent import REWARDS, WITHDRAWN
from .decisions import Decision, Entry, Held, Reward, agrees
from .ids import Id, checked_id
from .parts import SessionParts, checked_window
from .rewards import check_equal, refuse, rewards_by_arm
from .rounds import Played, Round


class AnsweringSession(SessionParts):
    def reward(self, id: Id, value: ArrayLike | Mapping[int, float] | Mapping[str, float]) -> bool:
        """Close an open decision with its reward, learned with the features, mask and baseline of
        its own round.

        Parameters
        ----------
        id : str or int
            The decision's.
        value : float, array, or dict of arm or name to float
            In units of reward. Of a set a number for each of its arms in the decision's order, or a
            dict, in parts where they come so.

        Returns
        -------
        bool
            Whether it was new: the same answer once more changes nothing and returns False.

        Raises
        ------
        ValueError
            For an unknown id, another answer than the one that is there, or a value that is no
            reward of the policy.
        """
        id = id if type(id) is str else checked_id(id)
        self._close_overdue()
        entry = self._book.open.get(id)
        if (
            entry is not None
            and entry.waiting is None
            and not (type(value) is float and self._within(value))
        ):
            value = self._checked_value(
                "reward", value
            )  # may run code of the caller, after which the decision may have ended
            entry = self._book.open.get(id)
        if entry is None or entry.ended is not None:
            return self._check_repetition(id, value)
        if entry.waiting is not None:
            answers = rewards_by_arm(entry.decision, value, self._checked_value)
            fresh = [arm for arm in answers if arm not in entry.answers]
            check_equal(entry.decision, entry.answers, answers, "rewarded")
            if not fresh and entry.waiting:
                return False
            self._answer_set(entry, fresh, [answers[arm] for arm in fresh], "rewarded")
            return True
        assert isinstance(value, float)
        self._take(entry, entry.action, value, "rewarded")
        return True

    def update(self, arm: Played, reward: ArrayLike, context: Round | None = None) -> None:
        """Take in the reward of an arm, or the rewards of several arms of a set.

        It answers the session's last decision, of `select` or of `decide`, if that played the arm,
        was shown the context, where one is given, and is open. Any other is data: the policy learns
        from it, a ledger does not count it.

        Parameters
        ----------
        arm : int, str, or array of them for a set
            What was played.
        reward : float, or array with one entry for each arm of the set
            In units of reward.
        context : as for `decide`
            What the round showed: features, baseline and mask.

        Raises
        ------
        ValueError
            For data without its context where rounds have shown different features; use `decide`
            and `reward` for late rewards.
        """
        self._close_overdue()
        now = self._now
        counted = now.plain and context is None and type(arm) is int
        if (
            counted
            and type(reward) is float
            and self._within(reward)
            and now.agent.learn(arm, reward)
        ):
            return
        shown = None if context is None else self._checked_round(context, None, None, past=True)
        given = PLAIN if shown is None else shown.context
        action, value = self._checked_reward(arm, reward, None if shown is None else given)
        if isinstance(value, float) and action == self._agent.selected() and agrees(PLAIN, given):
            self._agent.learn(int(action), value)
            return
        entry = self._book.latest(self.decided)
        if entry is not None and entry.plays(action) and agrees(entry.context, given):
            self._answer(entry, action, value)
            return
        if shown is None:
            if self._rounds.changing and self._rounds.several:
                raise ValueError(
                    "context is missing: the last decision is not an open one of arm "
                    f"{checks.show(arm)}, and rounds have shown different features; pass those "
                    "the reward belongs to, or use decide and reward."
                )
            shown = self._checked_round(None, self._rounds.last.eligible, None, past=True)
        seen_context = shown.context
        one = self._agent_for(seen_context, shown.common)
        if self._guards:
            admit(self.policy, one.state, seen_context)
        now, learned = self._now, one.counts[REWARDS]
        try:
            self._stand(one, now.rounds.record_context(seen_context, False, shown.common))
            one.inform(seen_context, action, value)
        except BaseException:
            if one.counts[REWARDS] == learned:
                self._now = now
            raise

    def cancel(self, id: Id) -> None:
        """Take back an open decision that was never shown: the policy is as it was without it, but
        for its random stream.

        Parameters
        ----------
        id : str or int
            The decision's.

        Raises
        ------
        ValueError
            Where it is not open, or a part of its rewards is in.
        """
        self._close_overdue()
        entry = self._unanswered(id)
        if entry.answers:
            raise ValueError(
                f"id = {checks.show(id)} has answers already, so it was shown; close it instead."
            )
        one, rounds, now = (
            self._agent_for(entry.context),
            self._rounds.record_context(entry.context, False),
            self._now,
        )
        withdrawn = one.counts[WITHDRAWN]
        try:
            if one is not now.agent or rounds is not now.rounds:
                self._stand(one, rounds)
            one.withdraw(
                entry.context, entry.action
            )  # counts; what comes before is undone where it does not, what comes after is done
            self._removed(entry)
        except BaseException as stop:
            if one.counts[WITHDRAWN] == withdrawn:
                self._now = now
            elif not isinstance(stop, Exception):
                self._removed(entry)
            raise

    def close(self, id: Id) -> None:
        """Close a decision that was shown but whose reward, or whose missing rewards of a set, will
        never come. Nothing is learned.

        Parameters
        ----------
        id : str or int
            The decision's.

        Raises
        ------
        ValueError
            Where it is not open.
        """
        self._close_overdue()
        self._take(self._unanswered(id), None, None, "closed")

    def expire(
        self, older_than: int | str | timedelta | None = None, *, ids: Iterable[Id] | None = None
    ) -> list[Id]:
        """Close with default_reward every decision that is older.

        Parameters
        ----------
        older_than : int >= 0, str or timedelta
            As the session's window, but from 0 rounds (decisions made since); a time where the
            window is one. Default: the window.
        ids : iterable of str or int
            The open decisions to close instead, whatever their age, where another clock says which.

        Returns
        -------
        list of str or int
            Ids of the decisions that were closed.

        Raises
        ------
        ValueError
            Where the session has no default_reward, or an argument is not in its range.
        """
        if ids is not None and older_than is not None:
            raise ValueError("older_than and ids both say what expires; give one of them.")
        if ids is None and older_than is None and self.window is None:
            raise ValueError(
                "older_than is missing, and this session has no window; give a number of rounds."
            )
        age = (
            self.window if older_than is None else checked_window(older_than, "older_than", least=0)
        )
        if isinstance(age, timedelta) and not self._timed:
            raise ValueError(
                f"older_than = {age} is a time, but decisions of this session carry none; give it "
                "a window in time."
            )
        if self.default_reward is None:
            raise ValueError(
                "default_reward is missing, so nothing can expire; give it to Session, or close "
                "decisions one by one."
            )
        if ids is not None:
            if isinstance(ids, str) or not isinstance(checks.ordered("ids", ids), Iterable):
                raise ValueError(f"ids = {checks.show(ids)} is not a list of ids.")
            return self._settle(
                [self._unanswered(id) for id in dict.fromkeys(map(checked_id, ids))]
            )
        assert age is not None
        return self._settle(self._older(age))

    @property
    def open(self) -> dict[Id, Decision]:
        """Decisions that wait for rewards, by id, the oldest first. Those of `select` in rounds
        that show nothing are only counted."""
        return {
            entry.decision.id: entry.decision
            for entry in self._book.open.values()
            if entry.ended is None
        }

    def is_open(self, id: Id) -> bool:
        """Whether a decision waits for its reward, or for those of a part of its set.

        Parameters
        ----------
        id : str or int
            The decision's.

        Returns
        -------
        bool
        """
        return self._book.is_open(self._book.open.get(checked_id(id)))

    def known(self, id: Id) -> Decision | None:
        """The decision of an id, open or among the last 10,000 closed ones.

        Parameters
        ----------
        id : str or int
            The decision's.

        Returns
        -------
        Decision or None
            None for an id that is not known, or not any more.
        """
        return self._book.decision_of(checked_id(id))

    def answered(self) -> Iterator[tuple[Decision, float | dict[int, float] | None]]:
        """Decisions that have ended and are still remembered, with their rewards.

        Yields
        ------
        (Decision, float, dict or None)
            The decision and its reward: of a set by arm, None where it was closed without one.
        """
        for entry in (*self._book.open.values(), *self._book.closed.values()):
            if entry.ended is not None:
                yield entry.decision, entry.answers

    def _answer_set(
        self, entry: Entry, arms: Sequence[int], rewards: Sequence[float], how: str
    ) -> None:
        assert entry.waiting is not None
        action = np.array(arms, dtype=np.int64) if len(arms) else None
        ended = how if entry.waiting <= set(arms) else None
        self._take(entry, action, np.array(rewards, dtype=np.float64), ended)

    def _check_repetition(self, id: Id, value: object) -> bool:
        entry = self._book.open.get(id) or self._book.closed.get(id)
        if entry is None:
            raise ValueError(
                f"id = {checks.show(id)} is not a decision of this session, was cancelled, or was "
                "closed too long ago to be known."
            )
        decision, answers, how = entry.decision, entry.answers, str(entry.ended)
        if isinstance(answers, dict):
            check_equal(
                decision, answers, rewards_by_arm(decision, value, self._checked_value), how
            )
        elif answers is None or self._checked_value("reward", value) != answers:
            refuse(decision, answers, how)
        return False

    def _answer(self, entry: Entry, action: Action, value: Reward) -> None:
        if isinstance(action, np.ndarray) and isinstance(value, np.ndarray):
            self._answer_set(entry, action.tolist(), value.tolist(), "rewarded")
        else:
            self._take(entry, action, value, "rewarded")

    def _take(
        self, entry: Entry, action: Action | None, value: Reward | None, ended: str | None
    ) -> None:
        """Learn from (a part of) a decision's answer, now or, in order, when all earlier decisions
        are closed."""
        if self.apply == "on arrival":
            self._finish(entry, action, value, ended)
            return
        withheld, kept = (
            entry.held if action is None or value is None else [*entry.held, (action, value)],
            False,
        )
        try:
            self._keep(entry, action, value, ended, withheld)
            kept = True
            self._release()
        except BaseException as stop:
            if not isinstance(stop, Exception):
                if not kept:
                    self._keep(entry, action, value, ended, withheld)
                self._release()
            raise

    def _keep(
        self,
        entry: Entry,
        action: Action | None,
        value: Reward | None,
        ended: str | None,
        withheld: Held,
    ) -> None:
        """In order: keep an answer until all earlier decisions are closed."""
        if action is not None and value is not None:
            entry.answer(action, value)
        entry.held, entry.ended = withheld, ended

    def _release(self) -> None:
        """In order: learn what waited for decisions that are closed by now."""
        while (entry := self._book.first()) is not None:
            while entry.held:
                self._finish(entry, *entry.held[0], None, entry.held[1:])
            if entry.ended is None:
                return
            self._book.close(entry.decision.id, entry.ended)

    def _finish(
        self,
        entry: Entry,
        action: Action | None,
        value: Reward | None,
        ended: str | None,
        withheld: Held | None = None,
    ) -> None:
        """Learn one answer, and note in the book that it was learned. held: what the entry still
        holds back then."""
        if action is None:
            try:
                self._book.note(entry, action, value, ended, withheld)
            except BaseException:
                self._book.note(entry, action, value, ended, withheld)
                raise
            return
        context, now = entry.context, self._now
        one, rounds = (
            (now.agent, now.rounds)
            if context is PLAIN
            else (self._agent_for(context), now.rounds.record_context(context, False))
        )
        learned = one.counts[REWARDS]
        try:
            if one is not now.agent or rounds is not now.rounds:
                self._stand(one, rounds)
            one.update(
                context, action, value
            )  # counts the reward; what comes before is undone where it does not
            self._book.note(entry, action, value, ended, withheld)
        except BaseException:
            if one.counts[REWARDS] == learned:
                self._now = now
            else:
                self._book.note(entry, action, value, ended, withheld)
            raise

    def _removed(self, entry: Entry) -> None:
        self._book.remove(entry.decision.id)
        if self.apply != "on arrival":
            self._release()

    def _unanswered(self, id: Id) -> Entry:
        id = checked_id(id)
        entry = self._book.open.get(id)
        if entry is None or entry.ended is not None:
            raise ValueError(
                f"id = {checks.show(id)} is not an open decision; it was closed, cancelled or "
                "never made."
            )
        return entry

    def _older(self, age: int | timedelta) -> list[Entry]:
        if isinstance(age, int):
            return self._book.before(self.decided - age)
        return self._book.made_before(self._time() - age.total_seconds())

    def _close_overdue(self) -> None:
        if self._timed:
            assert self.window is not None
            self._settle(self._older(self.window))

    def _settle(self, expired: list[Entry]) -> list[Id]:
        try:
            self._expired(expired)
        except BaseException as stop:
            if not isinstance(stop, Exception):
                self._expired(expired)
            raise
        return [entry.decision.id for entry in expired]

    def _expired(self, entries: list[Entry]) -> None:
        assert self.default_reward is not None
        for entry in entries:
            if not self._book.is_open(entry):
                continue
            if entry.waiting is None:
                self._take(entry, entry.action, self.default_reward, "expired")
            else:
                missing = sorted(entry.waiting)
                self._answer_set(entry, missing, [self.default_reward] * len(missing), "expired")

    def _close_entries(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if self._book.is_open(entry):
                self._take(entry, None, None, "closed")

"""The parts of a session: policy, state, stream, arms, rounds, open decisions and past, and how one
of them is replaced."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.handle import Stream
from ..core import checks, streams
from ..core.extras import LONGEST, seconds_of
from ..core.policy import Policy, is_policy
from ..core.registry import ORDERS, check_fit, check_question
from ..core.types import PLAIN, Action, Oracle, State
from ..core.verbs import (
    Arms,
    Context,
    admit,
    init,
    propensity,
    recommend,
    reward_range,
    with_rewards,
)
from ..numerics.states import carried, same_form
from .agent import DECIDED, PLAYED, REWARDS, Agent, agent, new_tally
from .arms import Names, check_features, checked_names, describe_arms, named_arms
from .decisions import Book, Reward
from .encoders import Transformer, checked_encoder, encoded_round
from .forks import Past
from .ids import LEAST_DRAWS, MOST_DRAWS
from .rounds import CheckedRound, Mask, Played, Round, Rounds

AFTER_STOP: tuple[Literal["winner", "explore"], ...] = ("winner", "explore")
PLAIN_ROUND = CheckedRound(PLAIN, None, False)  # a round like any other


class AgentAndRounds(NamedTuple):
    """Replaced in one assignment, so that a signal's exception finds a session before or after
    it."""

    agent: Agent
    rounds: Rounds
    silent: bool  # whether a round shows nothing unless the call says so
    plain: bool  # whether `select` then only counts its decision


class Draws(NamedTuple):
    """A copy of the audit stream, from which propensities are drawn; the stream itself stays where
    it is."""

    audit: np.random.Generator
    place: Mapping[str, object]  # where it is
    rng: np.random.Generator  # of PCG64

    @classmethod
    def of(cls, audit: np.random.Generator) -> Self:
        bits = audit.bit_generator
        return cls(audit, bits.state, np.random.Generator(type(bits)(0)))


class SessionParts:
    def __init__(
        self,
        policy: Policy,
        arms: int | Sequence[str] | ArrayLike | None = None,
        *,
        points: ArrayLike | None = None,
        distances: ArrayLike | None = None,
        dimension: int | None = None,
        oracle: Oracle | None = None,
        horizon: int | None = None,
        seed: int = 0,
        names: Iterable[str] | None = None,
        window: int | str | timedelta | None = None,
        default_reward: float | None = None,
        apply: Literal["on arrival", "in order"] = "on arrival",
        after_stop: Literal["winner", "explore"] = "winner",
        measured: bool = True,
        draws: int | None = None,
        encoder: Transformer | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not is_policy(policy):
            raise ValueError(
                f"policy = {checks.show(policy)} is not a policy; pass an instance such as UCB()."
            )
        self.encoder = encoder
        dimension = checked_encoder(
            encoder, dimension, arms, points is not None or distances is not None
        )
        features: object = arms
        if points is None and distances is None:
            features, names = named_arms(arms, names)
        described = describe_arms(features, points, distances, dimension, oracle, horizon)
        check_features(policy, described)
        self.policy = policy = with_rewards(policy, described)
        check_fit(policy, described)
        if type(policy).TRAITS.stops:
            check_question(policy, described)
        catalogue = features is None and points is None and distances is None
        called = Names() if names is None else Names(_checked_names(names, described, catalogue))
        rounds = Rounds(policy, described, catalogue, called)
        self._least, self._most = (
            bound if math.isfinite(bound) else None for bound in reward_range(policy)
        )
        self.default_reward = (
            None
            if default_reward is None
            else self._checked_value("default_reward", default_reward)
        )
        self.window = checked_window(window)
        if self.window is not None and self.default_reward is None:
            raise ValueError(
                f"window = {self.window} closes decisions with default_reward, which is missing; "
                "give one, such as 0.0."
            )
        if not callable(clock):
            raise ValueError(
                f"clock = {checks.show(clock)} is not a function that returns seconds since 1970, "
                "as time.time does."
            )
        self.clock, self._timed = clock, isinstance(self.window, timedelta)
        self.apply = ORDERS[checks.choice("apply", apply, ORDERS)]
        self.after_stop = AFTER_STOP[checks.choice("after_stop", after_stop, AFTER_STOP)]
        self.measured = checks.flag("measured", measured)
        self.draws = (
            None
            if draws is None
            else checks.integer("draws", draws, least=LEAST_DRAWS, most=MOST_DRAWS)
        )
        if self.draws is not None and not self.measured:
            raise ValueError(
                f"draws = {self.draws} stand behind propensities, but measured=False asks for "
                "none; leave one out."
            )
        self.seed = checks.seed(seed)
        self._audit = streams.stream(self.seed, 0, streams.AUDIT)
        self._draws: Draws | None = None  # of propensities, made with the first one
        self._book = Book()
        self._past = Past()
        self._written: tuple[str, ...] = ()  # digests of what was written or read
        self._guards, self._measures = admit.answers(policy), propensity.answers(policy)
        self._stops = type(policy).TRAITS.stops
        stream = Stream(streams.stream(self.seed, 0, streams.POLICY))
        state = init(policy, rounds.policy_arms())
        self._admits_plain = not self._stops and not rounds.changing and admitted(policy, state)
        guarded = self._guards and not self._admits_plain
        self._counts = (
            self.apply == "on arrival"
            and self.window is None
            and not self._stops
            and not guarded
            and oracle is None
        )
        self._stand(agent(policy, state, stream, described, new_tally()), rounds)

    def _stand(self, one: Agent, rounds: Rounds) -> None:
        self._now = self._agent_and_rounds(one, rounds)

    def _agent_and_rounds(self, one: Agent, rounds: Rounds) -> AgentAndRounds:
        silent = not rounds.changing and rounds.retired is None and rounds.last is PLAIN
        return AgentAndRounds(one, rounds, silent, silent and self._counts)

    def _agent_of(self, state: State, arms: Arms | None = None, rewards: int = 0) -> Agent:
        """An agent that goes on from a state, of other arms where they are given, with so many more
        rewards learned."""
        now = self._now.agent
        arms = self._now.rounds.arms if arms is None else arms
        tally = now.tally
        if rewards:
            tally = tally.copy()
            tally[REWARDS] += rewards
        return agent(self.policy, state, now.stream, arms, tally)

    @property
    def _agent(self) -> Agent:
        return self._now.agent

    @property
    def _rounds(self) -> Rounds:
        return self._now.rounds

    @property
    def rounds(self) -> int:
        """Rewards taken in."""
        return self._now.agent.counts[REWARDS]

    @property
    def decided(self) -> int:
        """Decisions made."""
        return self._now.agent.counts[DECIDED]

    @property
    def played(self) -> int:
        """Decisions of `select` in rounds that showed nothing: these are only counted, not kept."""
        return self._now.agent.counts[PLAYED]

    @property
    def arms(self) -> Arms:
        """The arms as the policy sees them, as `extend.Arms`: number, features, dimension, points,
        distances, oracle, horizon."""
        return self._rounds.arms

    @property
    def catalogue(self) -> bool:
        """Whether every call brings its own candidates."""
        return self._rounds.catalogue

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of all arms, also retired ones; None: arms have numbers only."""
        return self._rounds.names.texts

    @property
    def _numbers(self) -> dict[str, int]:
        return self._rounds.names.numbers

    @property
    def retired(self) -> list[str | int]:
        """Arms that are not played any more, by name or number."""
        retired = self._rounds.retired
        return (
            []
            if retired is None
            else [self._rounds.names.of(k) for k in np.flatnonzero(retired).tolist()]
        )

    @property
    def state(self) -> State:
        """The policy's state, of its class `State`. To read, not to write."""
        return self._agent.state

    @property
    def waiting(self) -> int:
        """Decisions that wait for rewards."""
        return self._book.waiting + (self._agent.selected() is not None)

    @property
    def stopped(self) -> bool:
        """Whether an identification policy has its answer."""
        self._needs_stopping()
        done = self._agent.stopped()
        if done:
            recommend(
                self.policy, self.state
            )  # raises where the run ended because its estimates broke down
        return done

    def _needs_stopping(self) -> None:
        if not self._stops:
            name = type(self.policy).__name__
            raise ValueError(
                f"{name} minimises regret and never stops; use LinGapE or another identification "
                "policy."
            )

    def _checked_round(
        self,
        context: Round | None,
        eligible: Mask | None,
        names: Sequence[str] | None,
        past: bool = False,
        encoded: bool = False,
        deciding: bool = False,
    ) -> CheckedRound:
        """Check the round of a call. encoded: whether it brings features already, where others
        bring rows. deciding: it is a new one."""
        now = self._now
        if now.silent and context is None and eligible is None and names is None:
            return PLAIN_ROUND
        if self.encoder is not None and not encoded:
            context = encoded_round(self.encoder, context)
        return now.rounds.checked(
            context, eligible, names, bool(self.decided or self.rounds), past, deciding
        )

    def _time(self) -> float:
        moment = self.clock()
        try:
            return checks.real("clock()", moment)
        except ValueError:
            raise ValueError(
                f"clock() = {checks.show(moment)} is not a finite number of seconds since 1970, "
                "as time.time() gives."
            ) from None

    def _agent_for(self, context: Context, common: bool = False) -> Agent:
        """The agent that meets a round: of its number of candidates; without data where features
        come for the first time.

        common: all arms are shown one row, so that only a regression for each can tell them apart.
        ValueError where the policy has one.
        """
        rounds = self._rounds
        if context.features is None:
            return self._agent
        if rounds.catalogue:
            return self._sized(rounds.count(context))
        if common and not rounds.arms.common:
            apart = init(self.policy, rounds.arms._replace(features=None, common=True))
            if not (self.rounds or self.decided):
                return self._agent_of(apart)
            if not same_form(apart, self.state):
                raise ValueError(
                    "context shows all arms the same row, but this session has one regression for "
                    "all of them, so that nothing tells them apart; start a new session with "
                    "shared=False, or with one row for all arms, (d,), from the first round on."
                )
            return self._agent
        return (
            self._agent
            if rounds.changing
            else self._agent_of(init(self.policy, rounds.arms._replace(features=None)))
        )

    def _sized(self, number: int) -> Agent:
        if number == self._agent.number:
            return self._agent
        arms = self.arms._replace(number=number)
        return self._agent_of(carried(init(self.policy, arms), self.state), arms)

    def _check_playable(self, who: str, action: Action, number: int, context: Context) -> None:
        arms = np.atleast_1d(action)
        if (
            (arms < 0).any()
            or (arms >= number).any()
            or (context.eligible is not None and not context.eligible[arms].all())
        ):
            raise ValueError(
                f"{who} arm {checks.show(action)}, but arms are 0 to {number - 1} and must be "
                "eligible."
            )

    def _within(self, reward: float) -> bool:
        return (
            math.isfinite(reward)
            and (self._least is None or reward >= self._least)
            and (self._most is None or reward <= self._most)
        )

    def _checked_value(self, argument: str, value: object) -> float:
        if isinstance(value, bool | np.bool_):  # whether somebody clicked
            value = float(value)
        try:
            return checks.real(argument, value, least=self._least, most=self._most)
        except ValueError as error:
            remedy = (
                " For other rewards give the policy rewards=(lowest, highest)."
                if hasattr(self.policy, "rewards")
                else ""
            )
            raise ValueError(f"{error}{remedy}") from None

    def _checked_reward(
        self, arm: Played, reward: ArrayLike, context: Context | None
    ) -> tuple[Action, Reward]:
        count = self._agent.number if context is None else self._rounds.count(context)
        called = self._rounds.names
        if isinstance(arm, str) and arm not in called and self._book.decision_of(arm) is not None:
            raise ValueError(
                f"arm = {checks.show(arm)} is the id of a decision, not an arm; tell its reward "
                "by reward(id, value)."
            )
        if self.arms.oracle is None:
            if self.catalogue and isinstance(arm, str):
                entry = self._book.latest(self.decided)
                if entry is None or entry.decision.name != arm:
                    raise ValueError(
                        f"arm = {checks.show(arm)} is not the candidate of the last decision, or "
                        "that is not open; give its number in context, the features of its round."
                    )
                return int(entry.action), self._checked_value("reward", reward)
            return called.number("arm", arm, count), self._checked_value("reward", reward)
        listed: Any = [arm] if isinstance(arm, str) else arm
        if self.names is not None and not isinstance(listed, np.ndarray) and np.ndim(listed) == 1:
            listed = [
                called.number("arm", item, count) if isinstance(item, str) else item
                for item in listed
            ]
        arms, numbers = (
            np.atleast_1d(checks.entries("arm", listed, "an array of arms")),
            np.atleast_1d(checks.floats("reward", reward)),
        )
        if arms.size == 0 == numbers.size:  # the answer to an empty set
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        values = checks.vector(
            "reward",
            numbers,
            length=arms.size,
            least=self._least,
            most=self._most,
            source="one per arm",
        )
        if (
            arms.dtype.kind not in "iu"
            or arms.ndim != 1
            or (arms < 0).any()
            or (arms >= count).any()
        ):
            raise ValueError(
                f"arm = {checks.show(arms)} must hold whole numbers from 0 to {count - 1}."
            )
        return arms.astype(np.int64), values


def checked_window(
    window: object, argument: str = "window", least: int = 1
) -> int | timedelta | None:
    if window is None:
        return None
    if isinstance(window, str):
        try:
            window = timedelta(seconds=seconds_of(window))
        except ValueError as error:
            raise ValueError(
                f"{argument} = {error}".replace("write seconds", "write rounds as a whole number")
            ) from None
    if isinstance(window, timedelta):
        if not 0 < window.total_seconds() <= LONGEST:
            raise ValueError(f"{argument} = {window} must be longer than 0 and at most ten years.")
        return window
    return checks.integer(argument, window, least=least)


def admitted(policy: Policy, state: State) -> bool:
    """Whether rounds that show nothing are admitted; False: each must show something, as its
    baseline."""
    try:
        admit(policy, state, PLAIN)
    except ValueError:
        return False
    return True


def _checked_names(names: Iterable[str], arms: Arms, catalogue: bool) -> tuple[str, ...]:
    if catalogue:
        raise ValueError(
            "names was given, but a catalogue (dimension without arms) takes names with every "
            "call of decide."
        )
    if arms.blocks > 1:
        raise ValueError(
            "names was given, but arms of this oracle are pairs (row * blocks + block), which "
            "have numbers only."
        )
    return checked_names("names", names, arms.number)

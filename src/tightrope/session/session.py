"""`Session`: a policy in service, many decisions open at once, by the very kernels that simulations run."""

import math
import pathlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, NamedTuple, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.handle import Stream
from ..core import checks, files, notebook, streams
from ..core.durations import LONGEST, seconds_of
from ..core.matching import ORDERS, check_fit, check_question
from ..core.policy import Policy, is_policy, label
from ..core.rounds import PLAIN
from ..core.sampled import draws_of
from ..core.types import Action, Explanation, Oracle, State
from ..core.verbs import (
    Arms,
    Context,
    admit,
    commit,
    event,
    evidence,
    explain,
    grow,
    init,
    propensity,
    recommend,
    reward_range,
)
from ..logs.tables import NamedColumns
from ..logs.training import feed, read_training_rows
from ..numerics.growth import carried
from ..numerics.ridge import regressions_in
from ..numerics.states import copied, same_form
from . import batches, store
from .agent import DECIDED, PLAYED, PROPOSED, REWARDS, UNPLAYABLE, WITHDRAWN, Agent, agent, new_tally
from .arms import Names, check_features, checked_names, describe_arms, described_addition, named_arms
from .codec import restore
from .decisions import UNNAMED, Book, Chance, Decision, Entry, locked, reason
from .decisions import shown as visible
from .encoders import Transformer, checked_encoder, encoded_round, encoded_rows
from .forecast import forecast_range
from .header import LEAST_DRAWS, MOST_DRAWS
from .ids import Id, checked_id, refuse_automatic
from .past import LOADED, Base, Past, digest, extended, generator, mark_of, noted, shared, together
from .rewards import check_equal, refuse, rewards_by_arm
from .rounds import Mask, Played, Round, Rounds, Shown

AFTER_STOP: tuple[Literal["winner", "explore"], ...] = ("winner", "explore")
PER_ARM = {  # what explanations say arm by arm
    "mean", "width", "lower", "upper", "index", "probability", "probability_se", "pulls", "safe", "design", "direction_scores", "rates",
}  # fmt: skip
SHOWN_ARMS = 20  # of a session in a notebook
NOTHING = Shown(PLAIN, None, False)  # a round like any other


class Standing(NamedTuple):
    """What changes together, in one assignment, so that a signal's exception finds a session before or after it."""

    agent: Agent
    rounds: Rounds
    silent: bool  # whether a round shows nothing unless the call says so
    plain: bool  # whether `select` then only counts its decision


class Draws(NamedTuple):
    """A copy of the audit stream, from which propensities are drawn; the stream itself stays where it is."""

    audit: np.random.Generator
    place: Any  # where it is
    rng: Any

    @classmethod
    def of(cls, audit: np.random.Generator) -> Self:
        """Of a stream."""
        bits = audit.bit_generator
        return cls(audit, bits.state, np.random.Generator(type(bits)(0)))


class Choice(NamedTuple):
    """What a policy would play in a round."""

    agent: Agent  # with the state that met the round
    action: Any
    event: int  # how it came about, see the verb `event`
    certain: bool  # nothing was drawn
    certified: bool  # it is the answer of an identification policy
    shown: Shown  # the round
    now: Standing  # of the session that chose
    number: int  # of the decision it would be


class Session:
    """One policy, its state, its random stream and its open decisions.

    Exactly one of arms, points, distances and names says which arms there are; names may also come with one of the others. With none
    of them, and dimension, the session is a catalogue: every call brings any number of candidates with their features.

    Bad input raises ValueError and leaves the session as it was. Not thread-safe: one session, one thread at a time.

    Parameters
    ----------
    policy : Policy
        An instance, such as `LinUCB()`.
    arms : int >= 1, sequence of K str, or (K, d) array
        How many arms there are, their names, or their features.
    points : (K,) or (K, p) array
        Positions of the arms, such as prices.
    distances : (K, K) array
        A metric between the arms, in place of points.
    dimension : int >= 1
        d, where features come with every round.
    oracle : Oracle
        Chooses sets of arms, see `tr.oracles`; for `oracles.Promotions` give the users as arms. Default None: single arms.
    horizon : int >= 1
        T, in rounds, for policies whose widths use it.
    seed : int >= 0
        Of the policy's own randomness, default 0; `simulate` with the same seed makes the same choices in replication 0.
    names : iterable of K str
        By which arms can be called.
    window : int >= 1, str or timedelta
        A decision that is older is closed with default_reward: in rounds (a number), or in time (text such as "90s", "12h", "14d", or a
        timedelta), which is looked at whenever something is decided or answered. Default None: decisions stay open.
    default_reward : float
        The reward of a decision that the window closes, in units of reward; required with a window.
    apply : "on arrival" or "in order"
        Rewards are learned from as they arrive, the default, or in the order of their decisions: each is held back until all earlier
        decisions are closed. A guarantee on linear rewards needs that where the delay depends on the reward.
    after_stop : "winner" or "explore"
        Where an identification policy has its answer, play the winner, if it is eligible (the default), or what the policy would try
        next, to learn more than was asked.
    measured : bool
        Default True. False where no decision needs its propensity, which then costs nothing and is NaN: such decisions cannot be evaluated.
    draws : int in 10..10^8
        How many random draws stand behind a propensity that is not exact; a decision tells its standard error. Fewer are quicker, more are
        closer. None, the default: the policy's own number, such as 500 for LinTS.
    encoder : Encoder, or anything with its `transform`
        Makes the features of rounds from rows by column name: a dict for all arms, a list of dicts, or a table with a row for each arm. It
        must have been fitted. Files hold an `Encoder`; `load` asks for any other again.
    clock : function returning seconds since 1970
        Says the time for a window in time, default `time.time`.

    Raises
    ------
    ValueError
        Where an argument is out of its range, or the policy does not fit the arms.

    Examples
    --------
    >>> import tightrope as tr
    >>> session = tr.Session(tr.UCB(), arms=["red", "green"])
    >>> decision = session.decide(id="visitor 17")
    >>> session.reward("visitor 17", 1.0)
    True
    >>> session
    <Session: UCB, 2 arms, 1 decisions, 1 rewards, 0 open>
    """

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
            raise ValueError(f"policy = {checks.show(policy)} is not a policy; pass an instance such as UCB().")
        self.policy = policy
        self.encoder = encoder
        dimension = checked_encoder(encoder, dimension, arms, points is not None or distances is not None)
        given: object = arms
        if points is None and distances is None:
            given, names = named_arms(arms, names)
        described = describe_arms(given, points, distances, dimension, oracle, horizon)
        check_features(policy, described)
        check_fit(policy, described)
        if type(policy).TRAITS.stops:
            check_question(policy, described)
        catalogue = given is None and points is None and distances is None
        called = Names() if names is None else Names(_checked_names(names, described, catalogue))
        rounds = Rounds(policy, described, catalogue, called)
        self._least, self._most = (bound if math.isfinite(bound) else None for bound in reward_range(policy))
        self.default_reward = None if default_reward is None else self._checked_value("default_reward", default_reward)
        self.window = checked_window(window)
        if self.window is not None and self.default_reward is None:
            raise ValueError(f"window = {self.window} closes decisions with default_reward, which is missing; give one, such as 0.0.")
        if not callable(clock):
            raise ValueError(f"clock = {checks.show(clock)} is not a function that returns seconds since 1970, as time.time does.")
        self.clock, self._timed = clock, isinstance(self.window, timedelta)
        self.apply = ORDERS[checks.choice("apply", apply, ORDERS)]
        self.after_stop = AFTER_STOP[checks.choice("after_stop", after_stop, AFTER_STOP)]
        self.measured = checks.flag("measured", measured)
        self.draws = None if draws is None else checks.integer("draws", draws, least=LEAST_DRAWS, most=MOST_DRAWS)
        if self.draws is not None and not self.measured:
            raise ValueError(f"draws = {self.draws} stand behind propensities, but measured=False asks for none; leave one out.")
        self.seed = checks.integer("seed", seed, least=0)
        self._audit = streams.stream(self.seed, 0, streams.AUDIT)
        self._draws: Draws | None = None  # of propensities, made with the first one
        self._book = Book()
        self._past = Past()
        self._mark: str | None = None  # with which it was written or read last
        self._held: Base | None = None  # what it had when it was read
        self._guards, self._measures = admit.answers(policy), propensity.answers(policy)
        self._stops = type(policy).TRAITS.stops
        stream, waiting = (
            Stream(streams.stream(self.seed, 0, streams.POLICY)),
            np.zeros(0 if catalogue else described.number, dtype=np.int64),
        )
        state = init(policy, rounds.told())
        self._admits_plain = not self._stops and not rounds.changing and admitted(policy, state)
        guarded = self._guards and not self._admits_plain
        self._counts = self.apply == "on arrival" and self.window is None and not self._stops and not guarded and oracle is None
        self._stand(agent(policy, state, stream, described, new_tally(), waiting), rounds)

    def _stand(self, one: Agent, rounds: Rounds) -> None:
        """Go on with another agent, or after another round."""
        self._now = self._standing(one, rounds)

    def _standing(self, one: Agent, rounds: Rounds) -> Standing:
        """With another agent, or after another round."""
        silent = not rounds.changing and rounds.retired is None and rounds.last is PLAIN
        return Standing(one, rounds, silent, silent and self._counts)

    def _agent_of(self, state: State, arms: Arms | None = None, rewards: int = 0) -> Agent:
        """An agent that goes on from a state, of other arms where they are given, with so many more rewards learned."""
        now = self._now.agent
        arms = self._now.rounds.arms if arms is None else arms
        tally, waiting = now.tally, now.waiting
        if rewards:
            tally = tally.copy()
            tally[REWARDS] += rewards
        if not self.catalogue and arms.number != waiting.size:
            waiting = np.concatenate([waiting, np.zeros(arms.number - waiting.size, dtype=np.int64)])
        return agent(self.policy, state, now.stream, arms, tally, waiting)

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
    def arms(self) -> Any:
        """What the policy is told of the arms, as `extend.Arms`: number, features, dimension, points, distances, oracle, horizon."""
        return self._rounds.arms

    @property
    def catalogue(self) -> bool:
        """Whether every call brings its own candidates."""
        return self._rounds.catalogue

    @property
    def state(self) -> State:
        """What the policy has learned, as its `State` says. To read, not to write."""
        return self._agent.state

    @property
    def waiting(self) -> int:
        """Decisions that wait for rewards, those that are only counted among them."""
        return self._book.waiting + int(self._agent.waiting.sum())

    def __repr__(self) -> str:
        number = self.arms.number
        arms = f"{self.arms.dimension} features a candidate" if self.catalogue else f"{number:,} arm{'s' if number != 1 else ''}"
        form = regressions_in(self.state) if self.rounds or self.decided else None
        model = [] if form is None else [form]
        told = [
            label(self.policy),
            arms,
            *model,
            f"{self.decided:,} decisions",
            f"{self.rounds:,} rewards",
            f"{self.waiting:,} open",
        ]
        if self._stops:
            told.append("certified" if self._agent.stopped() else "not certified yet")
        return f"<Session: {', '.join(told)}>"

    def _repr_html_(self) -> str:
        """The session in a notebook: its line, and what it knows of its arms where they are few."""
        few = self.arms.oracle is None and not self.catalogue and self.arms.number <= SHOWN_ARMS
        try:
            known = self.explain() if few else {}
        except ValueError:  # no round has shown its features yet
            known = {}
        columns = [name for name in ("mean", "lower", "upper", "index", "probability") if name in known]
        called = self._rounds.names
        rows = [[called.of(k), *(float(known[name][k]) for name in columns)] for k in range(self.arms.number)] if columns else []
        return notebook.table(repr(self).strip("<>"), ["arm", *columns] if columns else [], rows)

    # Deciding ------------------------------------------------------------------------------------------------------------

    def decide(
        self,
        context: Round | None = None,
        eligible: Mask | None = None,
        id: Id | None = None,
        names: Sequence[str] | None = None,
    ) -> Decision:
        """Decide which arm (or set of arms) to play. The decision stays open until its reward comes, see `reward`.

        Costs one `select` of the policy and, in a session that measures them, one `propensity`.

        Parameters
        ----------
        context : (K, d) array, (d,) array, Context, or rows for the encoder
            Features of every arm in this round, or one row that all arms are shown. None: what the last round showed, if rounds show
            anything.
            A catalogue may take {name: features}. Where arms share rows, as promotions to users do, features are (N, d) and
            arm = user * M + promotion.
        eligible : (K,) array of bool, or names
            Arms that may be played, default all; (N,) or (N, M) where arms share rows.
        id : str or int
            Your own; given twice it returns the same decision and draws nothing. Default: one is made.
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
            known = self._book.known(id)
            if known is not None:
                return known
            refuse_automatic(id)
        choice = self._choice(self._checked_round(context, eligible, names))
        chance = self._chance(choice, choice.action) if self.measured else (math.nan, math.nan, None)
        return self._opened(choice, choice.action, id, *chance).decision

    def decide_many(
        self,
        contexts: ArrayLike | Sequence[Round] | None = None,
        ids: Iterable[Id] | None = None,
        eligible: Mask | Sequence[Mask] | None = None,
        *,
        number: int | None = None,
    ) -> batches.Decisions:
        """Decide for many rounds at once, as for a campaign: the same as `decide` for one after the other, to the bit, or nothing at all.

        All are decided before any of their rewards is known, so nothing is learned between the first and the last.

        Parameters
        ----------
        contexts : (n, d) array, (n, K, d) array, list of n, or table
            A row that all arms of the round are shown; features of every arm; what `decide` takes, for each round; with an encoder a table
            with a row for each round. None where rounds show nothing.
        ids : iterable of n str or int
            Your own, unique and new. Default: made.
        eligible : mask as for `decide`, or (n, K) array of bool
            For all rounds, or for each.
        number : int >= 1
            n, where neither contexts nor ids say it.

        Returns
        -------
        Decisions
            Columns ids, arm, name, propensity and propensity_se; `frame()` makes a pandas table of them.

        Raises
        ------
        ValueError
            For a round or an id that `decide` would refuse, with its row; then nothing is decided.

        Notes
        -----
        A compiled policy over single arms chooses in one compiled call. Features stay in one array until the last of these decisions is
        closed: a copy, or `contexts` itself where it is read-only (`contexts.flags.writeable = False`). Propensities of policies that draw
        are computed one after the other, as `decide` does; `measured=False` leaves them out. Sets, catalogues, windows, conservative and
        identification policies are decided one by one.

        Examples
        --------
        >>> import tightrope as tr
        >>> session = tr.Session(tr.UCB(), arms=["red", "green"])
        >>> made = session.decide_many(ids=["a", "b", "c"])
        >>> session.reward_many(made.ids, [1.0, 0.0, 1.0])
        3
        """
        return batches.decide_many(self, contexts, ids, eligible, number)

    def select(self, context: Round | None = None, eligible: Mask | None = None) -> Any:
        """The arm or set of arms to play now: a decision whose reward comes by `update`, and next.

        Where rounds show features of their own, `update` means the last decision; for rewards that come late or never, use `decide` and
        `reward`. The propensity is not computed.

        Parameters
        ----------
        context : (K, d) array, (d,) array, Context, or rows for the encoder
            Features of every arm in this round, or one row that all arms are shown. None: what the last round showed, if rounds show
            anything.
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
        if now.plain and context is None and eligible is None:
            arm: Any
            arm, why, _ = now.agent.play()
            if why != UNPLAYABLE:
                return arm
        choice = self._choice(self._checked_round(context, eligible, None))
        entry = self._opened(choice, choice.action, None, math.nan, math.nan, unnamed=True)
        oldest = self._book.too_many()
        if oldest:
            self._closed(oldest)
            warnings.warn(
                f"more than {UNNAMED:,} decisions of select wait for update; the oldest ones are closed without a reward. Where rewards "
                "come late or never, use decide and reward.",
                RuntimeWarning,
                stacklevel=2,
            )
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
        """Make a decision of a log once more: the policy draws as it did then, and the arm of the log is taken.

        On the kind of processor that wrote the log both agree to the bit. On another one last digits may differ, and what was played is
        what counts.

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
        if self._book.known(id) is not None:
            raise ValueError(f"id = {checks.show(id)} was decided already; a log has every decision once.")
        shown = self._checked_round(context, eligible, names, encoded=encoded)
        taken = self._arm_taken(arm, shown.context)
        p, error = self._chance_taken("propensity", propensity, taken), self._chance_taken("propensity_se", propensity_se, taken)
        behind = None if draws is None else checks.integer("draws", draws, least=1)
        choice = self._choice(shown, taken)
        self._opened(choice, taken, id, p, error, behind)
        return bool(np.array_equal(choice.action, taken if wanted is None else wanted))

    def _follow_branch(
        self, arm: int, id: Id, context: Round | None, eligible: Mask | None, p: float, error: float, draws: int | None, words: str
    ) -> None:
        """Hold a decision open that a session which is a branch of this one has made, by what that one says of it. As `follow`, but the
        policy is asked only where it notes its choice in the state: it would draw from this session's stream, and the branch has drawn from
        its own."""
        if self._book.known(id) is not None:
            raise ValueError(f"id = {checks.show(id)} was decided already; a log has every decision once.")
        shown = self._checked_round(context, eligible, None)
        seen = shown.context
        one = self._now.agent if seen is PLAIN else self._agent_for(seen, shown.common)
        if not 0 <= arm < one.number:
            raise ValueError(f"arm = {arm} of decision {checks.show(id)} must be a number from 0 to {one.number - 1}.")
        if one.commits:
            one.propose(seen)
        choice = Choice(one, arm, 0, True, False, shown, self._now, one.counts[DECIDED] + 1)
        self._opened(choice, arm, id, p, error, draws, words=words)

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
        """Decide with an arm that is the policy's or somebody else's, as while a policy is rolled out beside a baseline.

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
            raise ValueError("this session chooses sets; only a choice of single arms can be made beside another.")
        id = None if id is None else checked_id(id)
        if id is not None and self._book.known(id) is not None:
            raise ValueError(f"id = {checks.show(id)} was decided already.")
        shown = self._checked_round(context, eligible, names)
        taken = None if arm is None else self._arm_taken(arm, shown.context)
        choice = self._choice(shown, taken)
        action = choice.action if taken is None else taken
        own, error, draws = self._chance(choice, action) if measured else (math.nan, math.nan, None)
        played = self._chance_taken("chance", chance(int(action), float(own)), action)
        entry = self._opened(choice, action, id, played, error, draws)
        return entry.decision, int(choice.action), float(own)

    def _checked_round(
        self, context: Any, eligible: Mask | None, names: Sequence[str] | None, past: bool = False, encoded: bool = False
    ) -> Shown:
        """What a call says of a round. encoded: whether it brings features already, where others bring rows."""
        now = self._now
        if now.silent and context is None and eligible is None and names is None:
            return NOTHING
        if self.encoder is not None and not encoded:
            context = encoded_round(self.encoder, context)
        return now.rounds.checked(context, eligible, names, bool(self.decided or self.rounds), past)

    def _choice(self, shown: Shown, taken: Action | None = None) -> Choice:
        """What the policy would play, drawn from its stream. taken: the arm of a log, which is checked before anything is drawn."""
        self._close_overdue()
        seen = shown.context
        one = self._now.agent if seen is PLAIN else self._agent_for(seen, shown.common or (taken is None and self._rounds.all_equal(seen)))
        if taken is not None:
            self._check_playable("the log has", taken, one.number, seen)
        if self._guards and not (seen is PLAIN and self._admits_plain):
            admit(self.policy, one.state, seen)
        winner = self._winner(seen) if self._stops else None
        now, next_one = self._now, one.counts[DECIDED] + 1
        if winner is not None:
            return Choice(one, winner, event(self.policy, one.state, winner), True, True, shown, now, next_one)
        action, why, certain = one.propose(seen)
        if why == UNPLAYABLE:
            self._check_playable(f"{type(self.policy).__name__}'s select returned", action, one.number, seen)
        return Choice(one, action, why, certain, False, shown, now, next_one)

    def _arm_taken(self, arm: object, seen: Context) -> Action:
        """The arm of a log, or those of a set."""
        count = self._agent.number if seen.features is None else self._rounds.count(seen)
        if self.arms.oracle is None:
            return self._rounds.names.number("arm", arm, count)
        arms = checks.entries("arm", arm, "an array of arms")
        whole = arms.ndim == 1 and (arms.size == 0 or arms.dtype.kind in "iu")
        if not whole or (arms < 0).any() or (arms >= count).any() or np.unique(arms).size < arms.size:
            raise ValueError(f"arm = {checks.show(arm)} must be distinct whole numbers from 0 to {count - 1}, the arms of a set.")
        return arms.astype(np.int64)

    def _chance_taken(self, argument: str, value: Any, taken: Action) -> Chance:
        """A chance of the caller's: in [0, 1], or NaN where it is not known; of a set one for each arm."""
        if isinstance(value, float) and math.isnan(value):
            return value
        if isinstance(taken, int):
            return checks.real(argument, value, least=0, most=1)
        given = np.broadcast_to(checks.floats(argument, value), np.shape(taken))
        if not ((given >= 0.0) & (given <= 1.0)).all():
            raise ValueError(f"{argument} = {checks.show(value)} must be chances, numbers in [0, 1].")
        return given

    def _check_playable(self, who: str, action: Action, number: int, seen: Context) -> None:
        arms = np.atleast_1d(action)
        if (arms < 0).any() or (arms >= number).any() or (seen.eligible is not None and not seen.eligible[arms].all()):
            raise ValueError(f"{who} arm {checks.show(action)}, but arms are 0 to {number - 1} and must be eligible.")

    def _chance(self, choice: Choice, action: Action) -> tuple[Chance, Chance, int | None]:
        """(propensity of an action, standard error, draws behind it).

        Its draws begin 2^64 places of the audit stream after those of the decision before, a copy of the stream is drawn from and the
        state's scratch is left alone: a log can be followed to the bit without computing it again.
        """
        if choice.certified or (choice.certain and not self._measures):
            return float(action is choice.action or np.array_equal(action, choice.action)), 0.0, None
        if self._draws is None or self._draws.audit is not self._audit:
            self._draws = Draws.of(self._audit)
        rng, bits = self._draws.rng, self._draws.rng.bit_generator
        bits.state = self._draws.place  # whatever a signal's exception left behind
        bits.advance((choice.number - 1) << 64)
        state, seen = copied(choice.agent.state), choice.shown.context
        stated: tuple[Chance, Chance] = propensity(self.policy, state, seen, action, rng, self.draws)
        return *stated, draws_of(stated)

    def _chance_of(self, one: Agent, arm: int, certain: bool, shown: Shown, number: int) -> tuple[Chance, Chance, int | None]:
        """As `_chance`, of a decision that will have this number."""
        return self._chance(Choice(one, arm, 0, certain, False, shown, self._now, number), arm)

    def _winner(self, seen: Context) -> int | None:
        """The certified arm, where it is what is played; None where there is none, it may not be played, or exploring goes on."""
        if self.after_stop == "explore" or not self._stops or not self.stopped:
            return None
        arm = int(recommend(self.policy, self.state))
        return arm if seen.eligible is None or seen.eligible[arm] else None

    def _opened(
        self, choice: Choice, action: Any, id: Id | None, p: Chance, error: Chance, draws: int | None = None, unnamed: bool = False,
        words: str | None = None,
    ) -> Entry:  # fmt: skip
        """Take an action: the open decision of it. unnamed: it is one of `select`, whose id its caller does not know. words: why it was
        made, where somebody has said so."""
        (seen, labels, common), single = choice.shown, isinstance(action, int)
        if not single:
            p, error = (
                x if np.ndim(x) == 0 and np.isnan(x) else locked(np.broadcast_to(np.asarray(x, dtype=np.float64), action.shape))
                for x in (p, error)
            )
        before, last = self._now, self._book.last
        called = before.rounds.names.of if labels is None else labels.__getitem__
        name: object = called(action) if single else tuple(called(k) for k in action.tolist())
        if words is not None:
            pass
        elif choice.certified and single and action == choice.action:
            words = f"{name}: the certified answer"
        else:
            why = choice.event if action is choice.action else event(self.policy, choice.agent.state, action)
            words = reason(why, name, p)
        number = choice.number
        if before is not choice.now or choice.agent.counts[DECIDED] + 1 != number:
            raise ValueError("this session was changed while it decided, by what a callback did; the decision was not made.")
        if id is None:
            id = self._book.automatic(number, self._past.branch)
        moment = self._moment() if self._timed else None
        made = Decision(id, action if single else locked(action), name, p, error, words, number, visible(seen), draws, moment)
        entry = Entry(made, seen, action, None if single else set(action.tolist()))
        rounds = before.rounds if seen is before.rounds.last and seen is PLAIN else before.rounds.met(seen, True, common)
        try:
            self._book.add(entry, unnamed)
            if choice.agent is not before.agent or rounds is not before.rounds:
                self._stand(choice.agent, rounds)
            choice.agent.take(seen, action)  # counts the decision; what comes before is undone where it does not
            if isinstance(self.window, int):
                self._settle(self._book.before(self.decided - self.window))
        except BaseException as stop:
            if choice.agent.counts[DECIDED] < number:
                self._book.remove(id)
                self._book.last, self._now = last, before
            elif isinstance(self.window, int) and not isinstance(stop, Exception):
                self._settle(self._book.before(self.decided - self.window))
            raise
        return entry

    def _agent_for(self, seen: Context, common: bool = False) -> Agent:
        """The agent that meets a round: of its number of candidates; without data where features come for the first time.

        common: all arms are shown one row, so that only a regression for each can tell them apart. ValueError where the policy has one.
        """
        rounds = self._rounds
        if seen.features is None:
            return self._agent
        if rounds.catalogue:
            return self._sized(rounds.count(seen))
        if common and not rounds.arms.common:
            apart = init(self.policy, rounds.arms._replace(features=None, common=True))
            if not (self.rounds or self.decided):
                return self._agent_of(apart)
            if not same_form(apart, self.state):
                raise ValueError(
                    "context shows all arms the same row, but this session has one regression for all of them, so that nothing tells them "
                    "apart; start a new session with shared=False, or with one row for all arms, (d,), from the first round on."
                )
            return self._agent
        return self._agent if rounds.changing else self._agent_of(init(self.policy, rounds.arms._replace(features=None)))

    def _sized(self, number: int) -> Agent:
        """The agent of a catalogue for a number of candidates."""
        if number == self._agent.number:
            return self._agent
        arms = self.arms._replace(number=number)
        return self._agent_of(carried(init(self.policy, arms), self.state), arms)

    # Rewards -------------------------------------------------------------------------------------------------------------

    def reward(self, id: Id, value: ArrayLike | Mapping[int, float] | Mapping[str, float]) -> bool:
        """Close an open decision with its reward, learned with the features, mask and baseline of its own round.

        Parameters
        ----------
        id : str or int
            The decision's.
        value : float, array, or dict of arm or name to float
            In units of reward. Of a set a number for each of its arms in the decision's order, or a dict, in parts where they come so.

        Returns
        -------
        bool
            Whether it was new: the same answer once more changes nothing and returns False.

        Raises
        ------
        ValueError
            For an unknown id, another answer than the one that is there, or a value that is no reward of the policy.
        """
        id = id if type(id) is str else checked_id(id)
        self._close_overdue()
        entry = self._book.open.get(id)
        if entry is not None and entry.waiting is None and not (type(value) is float and self._within(value)):
            value = self._checked_value("reward", value)  # may run code of the caller, after which the decision may have ended
            entry = self._book.open.get(id)
        if entry is None or entry.ended is not None:
            return self._repeated(id, value)
        if entry.waiting is not None:
            given = rewards_by_arm(entry.decision, value, self._checked_value)
            fresh = [arm for arm in given if arm not in entry.answers]
            check_equal(entry.decision, entry.answers, given, "rewarded")
            if not fresh and entry.waiting:
                return False
            self._answer_set(entry, fresh, [given[arm] for arm in fresh], "rewarded")
            return True
        assert isinstance(value, float)
        self._take(entry, entry.action, value, "rewarded")
        return True

    def reward_many(self, ids: Iterable[Id], values: Any) -> int:
        """Take in many rewards: the same as `reward` for one after the other, in this order.

        All rows are checked before the first is learned. Rewards of decisions that `decide_many` made together are learned in one compiled
        call.

        Parameters
        ----------
        ids : iterable of n str or int
            The decisions'.
        values : sequence of n
            Of each id what `reward` takes.

        Returns
        -------
        int
            How many were new: an equal reward once more changes nothing.

        Raises
        ------
        ValueError
            For an unknown id, another reward for a decision that has one, or a value that is no reward of the policy, with its row.
        """
        self._close_overdue()
        return batches.reward_many(self, ids, values)

    def _answer_set(self, entry: Entry, arms: Sequence[int], rewards: Sequence[float], how: str) -> None:
        assert entry.waiting is not None
        action = np.array(arms, dtype=np.int64) if len(arms) else None
        ended = how if entry.waiting <= set(arms) else None
        self._take(entry, action, np.array(rewards, dtype=np.float64), ended)

    def _repeated(self, id: Id, value: object) -> bool:
        """The answer to a decision that has ended already."""
        entry = self._book.open.get(id) or self._book.closed.get(id)
        if entry is None:
            raise ValueError(
                f"id = {checks.show(id)} is not a decision of this session, was cancelled, or was closed too long ago to be known."
            )
        decision, answers, how = entry.decision, entry.answers, str(entry.ended)
        if isinstance(answers, dict):
            check_equal(decision, answers, rewards_by_arm(decision, value, self._checked_value), how)
        elif answers is None or self._checked_value("reward", value) != answers:
            refuse(decision, answers, how)
        return False

    def update(self, arm: Played, reward: ArrayLike, context: Round | None = None) -> None:
        """Take in the reward of an arm, or the rewards of several arms of a set, for an open decision of it.

        Where all rounds show the same, that is one that `select` made, where one waits, else the oldest. Where features change, it is the
        session's last decision, if that is of the arm, and older ones that `select` made of it are closed without a reward; else the only
        one of the arm. With context it is the oldest one that showed the same. Where no decision of the arm is open, it is data from
        elsewhere: the policy learns from it, a ledger does not count it.

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
            Where it cannot be known which features the reward belongs to; for rewards that come late or never, use `decide` and `reward`.
        """
        self._close_overdue()
        now = self._now
        counted = context is None and not now.rounds.changing and now.rounds.arms.oracle is None
        if counted and type(arm) is int and type(reward) is float and self._within(reward) and now.agent.learn(arm, reward):
            return
        shown = None if context is None else self._checked_round(context, None, None, past=True)
        given = None if shown is None else shown.context
        action, value = self._checked_reward(arm, reward, given)
        if counted and isinstance(action, int) and self._agent.learn(action, value):
            return
        entry, lost = self._answered(arm, action, given)
        if entry is not None:
            try:
                for older in lost:
                    self._take(older, None, None, "closed")
                self._answer(entry, action, value)
            except BaseException as stop:
                if not isinstance(stop, Exception):
                    self._closed(lost)
                    if self._book.is_open(entry) and entry.plays(action):
                        self._answer(entry, action, value)
                raise
            return
        if shown is None:
            shown = self._checked_round(None, self._rounds.last.eligible, None, past=True)
        seen = shown.context
        one = self._agent_for(seen, shown.common)
        if self._guards:
            admit(self.policy, one.state, seen)
        now, learned = self._now, one.counts[REWARDS]
        try:
            self._stand(one, now.rounds.met(seen, False, shown.common))
            one.inform(seen, action, value)
        except BaseException:
            if one.counts[REWARDS] == learned:
                self._now = now
            raise

    def _answer(self, entry: Entry, action: Action, value: Any) -> None:
        """Close an open decision with its reward, or take in those of a part of its set."""
        if isinstance(action, np.ndarray):
            self._answer_set(entry, action.tolist(), value.tolist(), "rewarded")
        else:
            self._take(entry, action, value, "rewarded")

    def _answered(self, arm: Played, action: Action, given: Context | None) -> tuple[Entry | None, list[Entry]]:
        """The open decision that `update` means, and older ones whose rewards were lost; None: the reward is data from elsewhere."""
        book, rounds = self._book, self._rounds
        latest = book.last if book.is_open(book.last) else None
        if given is not None or not (rounds.changing and rounds.several):
            entry = book.oldest_of(action, given)
            if entry is None and latest is not None and latest.plays(action) and given is not None and given.features is not None:
                raise ValueError(
                    f"context differs from what the open decision {latest.decision.id!r} for arm {checks.show(arm)} was shown; pass the "
                    "same features, or close that decision first."
                )
            return entry, []
        called = arm if rounds.catalogue and isinstance(arm, str) else None
        if latest is not None and (latest.plays(action) if called is None else latest.decision.name == called):
            # a reward of `update` belongs to the decision before it, so those of older ones were lost
            older = (book.open[id] for id in book.unnamed if id in book.open)
            return latest, [one for one in older if one is not latest and one.ended is None
                            and (one.plays(action) if called is None else one.decision.name == called)]  # fmt: skip
        waiting = list(book.waiting_for(action, called))
        if len(waiting) != 1:
            what = "these arms have" if isinstance(action, np.ndarray) else f"arm {checks.show(arm)} has"
            raise ValueError(
                f"context is missing: {what} {len(waiting) or 'no'} open decision{'s' if waiting else ''}, and rounds have shown "
                "different features; pass those the reward belongs to, or use decide and reward."
            )
        return waiting[0], []

    def _within(self, reward: float) -> bool:
        """Whether a float is a reward that the policy can take in."""
        return math.isfinite(reward) and (self._least is None or reward >= self._least) and (self._most is None or reward <= self._most)

    def _take(self, entry: Entry, action: Action | None, value: float | np.ndarray | None, ended: str | None) -> None:
        """Learn from (a part of) a decision's answer, now or, in order, when all earlier decisions are closed."""
        if self.apply == "on arrival":
            self._finish(entry, action, value, ended)
            return
        held, kept = entry.held if action is None else [*entry.held, (action, value)], False
        try:
            self._keep(entry, action, value, ended, held)
            kept = True
            self._release()
        except BaseException as stop:
            if not isinstance(stop, Exception):
                if not kept:
                    self._keep(entry, action, value, ended, held)
                self._release()
            raise

    def _keep(self, entry: Entry, action: Action | None, value: Any, ended: str | None, held: list[tuple[Action, Any]]) -> None:
        """In order: keep an answer until all earlier decisions are closed."""
        if action is not None:
            entry.answer(action, value)
        entry.held, entry.ended = held, ended

    def _release(self) -> None:
        """In order: learn what waited for decisions that are closed by now."""
        while (entry := self._book.first()) is not None:
            while entry.held:
                self._finish(entry, *entry.held[0], None, entry.held[1:])
            if entry.ended is None:
                return
            self._book.close(entry.decision.id, entry.ended)

    def _finish(
        self, entry: Entry, action: Action | None, value: Any, ended: str | None, held: list[tuple[Action, Any]] | None = None
    ) -> None:  # fmt: skip
        """Learn one answer, and note in the book that it was learned. held: what the entry still holds back then."""
        if action is None:
            try:
                self._book.note(entry, action, value, ended, held)
            except BaseException:
                self._book.note(entry, action, value, ended, held)
                raise
            return
        seen, now = entry.context, self._now
        one, rounds = (now.agent, now.rounds) if seen is PLAIN else (self._agent_for(seen), now.rounds.met(seen, False))
        learned = one.counts[REWARDS]
        try:
            if one is not now.agent or rounds is not now.rounds:
                self._stand(one, rounds)
            one.update(seen, action, value)  # counts the reward; what comes before is undone where it does not
            self._book.note(entry, action, value, ended, held)
        except BaseException:
            if one.counts[REWARDS] == learned:
                self._now = now
            else:
                self._book.note(entry, action, value, ended, held)
            raise

    def cancel(self, id: Id) -> None:
        """Take back an open decision that was never shown: the policy is as it was without it, but for its random stream.

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
            raise ValueError(f"id = {checks.show(id)} has answers already, so it was shown; close it instead.")
        one, rounds, now = self._agent_for(entry.context), self._rounds.met(entry.context, False), self._now
        withdrawn = one.counts[WITHDRAWN]
        try:
            if one is not now.agent or rounds is not now.rounds:
                self._stand(one, rounds)
            one.withdraw(entry.context, entry.action)  # counts; what comes before is undone where it does not, what comes after is done
            self._removed(entry)
        except BaseException as stop:
            if one.counts[WITHDRAWN] == withdrawn:
                self._now = now
            elif not isinstance(stop, Exception):
                self._removed(entry)
            raise

    def _removed(self, entry: Entry) -> None:
        """Take a withdrawn decision out of the book, for which others may have waited."""
        self._book.remove(entry.decision.id)
        if self.apply != "on arrival":
            self._release()

    def close(self, id: Id) -> None:
        """Close a decision that was shown but whose reward, or whose missing rewards of a set, will never come. Nothing is learned.

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

    def _unanswered(self, id: Id) -> Entry:
        id = checked_id(id)
        entry = self._book.open.get(id)
        if entry is None or entry.ended is not None:
            raise ValueError(f"id = {checks.show(id)} is not an open decision; it was closed, cancelled or never made.")
        return entry

    def expire(self, older_than: int | str | timedelta | None = None, *, ids: Iterable[Id] | None = None) -> list[Id]:
        """Close with default_reward every decision that is older.

        Parameters
        ----------
        older_than : int >= 0, str or timedelta
            As the session's window, but from 0 rounds (decisions made since); a time where the window is one. Default: the window.
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
            raise ValueError("older_than is missing, and this session has no window; give a number of rounds.")
        age = self.window if older_than is None else checked_window(older_than, "older_than", least=0)
        if isinstance(age, timedelta) and not self._timed:
            raise ValueError(f"older_than = {age} is a time, but decisions of this session carry none; give it a window in time.")
        if self.default_reward is None:
            raise ValueError("default_reward is missing, so nothing can expire; give it to Session, or close decisions one by one.")
        if ids is not None:
            if isinstance(ids, str) or not isinstance(ids, Iterable):
                raise ValueError(f"ids = {checks.show(ids)} is not a list of ids.")
            return self._settle([self._unanswered(id) for id in dict.fromkeys(map(checked_id, ids))])
        assert age is not None
        return self._settle(self._older(age))

    def _older(self, age: int | timedelta) -> list[Entry]:
        """Decisions without all their answers that are older, the oldest first."""
        if isinstance(age, int):
            return self._book.before(self.decided - age)
        return self._book.made_before(self.clock() - age.total_seconds())

    def _close_overdue(self) -> None:
        """Close what is older than a window in time."""
        if self._timed:
            assert self.window is not None
            self._settle(self._older(self.window))

    def _moment(self) -> float:
        """The time of a decision: the clock's, or that of the decision before where the clock went back."""
        moment, last = checks.real("clock()", self.clock()), self._book.last
        return moment if last is None or last.decision.time is None else max(moment, last.decision.time)

    def _settle(self, expired: list[Entry]) -> list[Id]:
        try:
            self._expired(expired)
        except BaseException as stop:
            if not isinstance(stop, Exception):
                self._expired(expired)
            raise
        return [entry.decision.id for entry in expired]

    def _expired(self, entries: list[Entry]) -> None:
        """Close those that are still open with the default reward."""
        assert self.default_reward is not None
        for entry in entries:
            if not self._book.is_open(entry):
                continue
            if entry.waiting is None:
                self._take(entry, entry.action, self.default_reward, "expired")
            else:
                missing = sorted(entry.waiting)
                self._answer_set(entry, missing, [self.default_reward] * len(missing), "expired")

    def _closed(self, entries: Iterable[Entry]) -> None:
        """Close those that are still open without a reward."""
        for entry in entries:
            if self._book.is_open(entry):
                self._take(entry, None, None, "closed")

    @property
    def open(self) -> dict[Id, Decision]:
        """Decisions that wait for rewards, by id, the oldest first. Those of `select` in rounds that show nothing are only counted."""
        return {id: entry.decision for id, entry in self._book.open.items() if entry.ended is None}

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
        return self._book.known(checked_id(id))

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

    def _checked_value(self, argument: str, value: object) -> float:
        if isinstance(value, bool | np.bool_):  # whether somebody clicked
            value = float(value)
        return checks.real(argument, value, least=self._least, most=self._most)

    def _checked_reward(self, arm: Played, reward: ArrayLike, given: Context | None) -> tuple[Action, Any]:
        count = self._agent.number if given is None else self._rounds.count(given)
        called = self._rounds.names
        if self.arms.oracle is None:
            if self.catalogue and isinstance(arm, str):
                entry = next(self._book.waiting_for(0, arm), None)
                if entry is None:
                    raise ValueError(
                        f"arm = {checks.show(arm)} has no open decision; give its number in context, the features of its round."
                    )
                return int(entry.action), self._checked_value("reward", reward)
            return called.number("arm", arm, count), self._checked_value("reward", reward)
        listed: Any = [arm] if isinstance(arm, str) else arm
        if self.names is not None and not isinstance(listed, np.ndarray) and np.ndim(listed) == 1:
            listed = [called.number("arm", item, count) if isinstance(item, str) else item for item in listed]
        arms, numbers = np.atleast_1d(checks.entries("arm", listed, "an array of arms")), np.atleast_1d(checks.floats("reward", reward))
        if arms.size == 0 == numbers.size:  # the answer to an empty set
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        values = checks.vector("reward", numbers, length=arms.size, least=self._least, most=self._most, source="one per arm")
        if arms.dtype.kind not in "iu" or arms.ndim != 1 or (arms < 0).any() or (arms >= count).any():
            raise ValueError(f"arm = {checks.show(arms)} must hold whole numbers from 0 to {count - 1}.")
        return arms.astype(np.int64), values

    # Learning from logs and from other sessions ----------------------------------------------------------------------------

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
            Its d columns of the played arm's features, or one column of arrays (d,), where features change; a session with an encoder
            makes them of the table's rows.
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
        rounds, bounds = self._rounds, (self._least, self._most)
        arms, state = self.arms, self.state
        if self.catalogue:  # a row's features are all there is of its arm
            arms = arms._replace(number=arms.blocks)
            state = self._sized(arms.number).state
            arm = None if arms.blocks == 1 else arm
        columns = encoded_rows(self.encoder, frame) if self.encoder is not None and features is None else features
        log = read_training_rows(frame, arm, reward, columns, baseline, rounds.changing, arms, self.names, bounds)
        state = feed(self.policy, copied(state), arms, log)
        self._stand(self._agent_of(state, arms, int(log.rewards.size)), rounds.changed(arms=arms))
        return int(log.rewards.size)

    def merge(self, other: "Session") -> None:
        """Take in all that another session of the same policy and arms has learned, as if its rewards had been fed to this one.

        What both have learned counts once, where they come from one session by `fork`, `load`, a copy or pickle: what is new in the other
        is added. Only for policies whose state is a sum, such as counts, or V and b of a regression.

        Parameters
        ----------
        other : Session
            Left as it is. Its open decisions do not move over, so it must have none.

        Raises
        ------
        ValueError
            With nothing changed: for a policy that cannot be merged, for sessions that differ in policy or arms, for this session itself,
            and where rewards would count twice, because the other was merged before or it is not known what they share.
        """
        base = self._mergeable(other)
        past, its = noted(self), noted(other)
        now = self._absorbed(*together(self, other, base), other)
        if not other.rounds:
            self._now = now
            return
        mark = digest("merged", mark_of(other), [*its.kept, *its.recent], len(past.kept), past.branch)
        joined, shown = past.joined(its, mark), its.joined(Past(), mark)
        if base is None or base is past.base:
            base = self._held
        self._past, self._mark, self._held, self._now, other._past = joined, None, base, now, shown  # all of it or nothing

    def _mergeable(self, other: "Session") -> Base | None:
        """What this session shares with another that can be merged; ValueError where it cannot."""
        if not isinstance(other, Session):
            raise ValueError(f"other = {checks.show(other)} is not a session.")
        mine, its = (label(one.policy) for one in (self, other))
        if mine != its:
            raise ValueError(f"other has the policy {its}, but this session has {mine}; only equal policies learn the same sums.")
        if not self._rounds.same_arms(other._rounds):
            raise ValueError("other has other arms, features or names than this session; what they learned is not about the same things.")
        if not same_form(self.state, other.state):
            here, there = regressions_in(self.state), regressions_in(other.state)
            raise ValueError(
                f"other has {there}, but this session has {here}: one was shown a row for every arm, (K, d), and the other one row for "
                "all of them, (d,); show both the same."
            )
        base = shared(self, other)
        if other.waiting:
            raise ValueError(f"other has {other.waiting} open decisions; update, close or cancel them first.")
        return base

    def _absorbed(self, state: State, rewards: int, other: "Session") -> Standing:
        """With a state that has learned so many rewards of another session."""
        rounds = self._rounds.changed(several=self._rounds.several or other._rounds.several)
        return self._standing(self._agent_of(state, rewards=rewards), rounds)

    def _add(self, part: "Session") -> None:
        """`merge` with a part of one log, which no one else will ever merge: nothing about it is remembered."""
        self._now = self._absorbed(*together(self, part, self._mergeable(part)), part)

    def fork(self, n: int, seed: int | None = None) -> list[Self]:
        """Sessions for n workers that go on from here, each by itself; `merge` then adds what is new in each, exactly.

        Each has a random stream of its own, independent of this session's and of each other's, and automatic ids of its own: "#2.17" is
        decision 17 of the third fork ever made of a session. Open decisions stay here.

        Parameters
        ----------
        n : int >= 1
            How many.
        seed : int >= 0
            Of their streams. Default None: this session's.

        Returns
        -------
        list of Session

        Raises
        ------
        ValueError
            Where the policy counts on its open decisions, while there are any.
        """
        n = checks.integer("n", n, least=1)
        seed = self.seed if seed is None else checks.integer("seed", seed, least=0)
        if self.waiting and commit.answers(self.policy):
            counts = f"{self.waiting} decisions are open, on whose rewards {type(self.policy).__name__} counts"
            raise ValueError(f"{counts}; answer, close or cancel them before fork.")
        branches = [extended(self._past.branch, str(self._past.forks + i)) for i in range(n)]
        forks = []
        for branch in branches:
            one = self.__copy__()
            one._branched(seed, branch)
            one._emptied()
            forks.append(one)
        self._past = noted(self)._replace(forks=self._past.forks + n)
        return forks

    def _branched(self, seed: int, branch: str) -> None:
        """Go on as a branch of the session that was read, with streams of its own."""
        past, base = noted(self), self._held
        mine = () if base is None and not past.kept else (digest("branch", base.mark if base else past.kept, branch, seed),)
        self._past = past._replace(kept=(*past.kept, *mine), branch=branch, forks=0, base=base)
        self._mark = self._held = None
        self.seed = seed
        self._audit = generator(seed, branch, streams.AUDIT)
        now = self._now.agent
        stream = Stream(generator(seed, branch, streams.POLICY))
        self._stand(agent(self.policy, now.state, stream, self.arms, now.tally, now.waiting), self._rounds)

    def _branch(self, branch: str, former: Self | None = None) -> Self:
        """A session that goes on by itself from what this one has learned, with streams of its own. Decisions stay here; `_borrow` brings
        one over. former: an earlier one that is used no more, whose compiled agent goes on where it can: a new one takes milliseconds."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._audit, other._draws, other._book = generator(self.seed, branch, streams.AUDIT), None, Book()
        now, rounds, rng = self._now.agent, self._rounds, generator(self.seed, branch, streams.POLICY)
        if former is not None and former._now.agent.number == now.number and former._now.agent.take_over(now, rng):
            other._stand(former._now.agent, rounds)
            return other
        one = agent(self.policy, copied(now.state), Stream(rng), rounds.arms, now.tally.copy(), now.waiting.copy())
        one.tally[PROPOSED] = 0  # of the new stream nothing was drawn
        other._stand(one, rounds)
        return other

    def _borrow(self, id: Id, owner: "Session") -> None:
        """Know an open decision of the session that this one is a branch of; what becomes of it here changes nothing there."""
        entry, last = owner._book.open[id], self._book.last
        self._book.add(Entry(entry.decision, entry.context, entry.action, None))
        self._book.last = last

    def _emptied(self) -> None:
        """Let go of all decisions, which stay with the session that was forked."""
        now, self._book = self._now.agent, Book()
        one = agent(self.policy, now.state, now.stream, self.arms, now.tally, np.zeros_like(now.waiting))
        self._stand(one, self._rounds.changed(last=PLAIN))

    def adopt(self, arrays: dict[str, np.ndarray], rounds: int) -> None:
        """Take over the state of a session like this one, which had learned so many rewards and decided nothing.

        Parameters
        ----------
        arrays : dict of str to array
            What `flatten` made of that state.
        rounds : int >= 0
            The rewards that it had learned.

        Raises
        ------
        ValueError
            Where the arrays are no state of this session's policy.
        """
        arms = self.arms._replace(number=self.arms.blocks) if self.catalogue else self.arms
        template = self._sized(arms.number).state if self.catalogue else self.state
        one = self._agent_of(restore(template, arrays, self.policy, arms), arms, rounds - self.rounds)
        self._stand(one, self._rounds.changed(arms=arms))

    # Arms that come and go -----------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of all arms, also retired ones; None: arms have numbers only."""
        return self._rounds.names.texts

    @property
    def retired(self) -> list[str | int]:
        """Arms that are not played any more, by name or number."""
        retired = self._rounds.retired
        return [] if retired is None else [self._rounds.names.of(k) for k in np.flatnonzero(retired).tolist()]

    def add_arms(
        self,
        names: Sequence[str] | None = None,
        features: ArrayLike | None = None,
        *,
        number: int | None = None,
        oracle: Oracle | None = None,
    ) -> list[int]:
        """Add arms after the others; everything learned stays, open decisions stay open.

        Parameters
        ----------
        names : sequence of n str
            Of the new arms, if the session has names.
        features : (n, d) array
            Theirs, if features are fixed.
        number : int >= 1
            How many, where neither says.
        oracle : Oracle
            For the longer list, where an oracle knows arms by number.

        Returns
        -------
        list of int
            Their numbers.

        Raises
        ------
        ValueError
            Where the policy cannot grow, or names or features do not fit the session.
        """
        if self.catalogue:
            raise ValueError("this session takes new candidates at every call; there is nothing to add.")
        before = self.arms
        longer, called = described_addition(before, self._rounds.names, names, features, number, oracle)
        told = longer._replace(features=None) if self._rounds.changing else longer
        one = self._agent_of(grow(self.policy, copied(self.state), told), longer)
        book = self._book.grown(before.number, longer.number, longer.rows)
        now, past = self._standing(one, self._rounds.grown(longer, called)), self._past._replace(base=None)
        self._past, self._held, self._now, self._book = past, None, now, book  # past and base know nothing of these arms
        return list(range(before.number, longer.number))

    def retire(self, arm: str | int) -> None:
        """Stop playing an arm. What was learned stays, and late rewards are still taken in.

        Parameters
        ----------
        arm : int or str
            Its number or name.

        Raises
        ------
        ValueError
            For an unknown arm, the last one that is played, and in a catalogue.
        """
        self._stand(self._agent, self._rounds.retiring(arm, True))

    def restore(self, arm: str | int) -> None:
        """Play a retired arm again.

        Parameters
        ----------
        arm : int or str
            Its number or name.

        Raises
        ------
        ValueError
            For an unknown arm, and in a catalogue.
        """
        self._stand(self._agent, self._rounds.retiring(arm, False))

    def point(self, arm: SupportsIndex | str) -> Any:
        """The point (price, position) of an arm.

        Parameters
        ----------
        arm : int or str
            Its number or name.

        Returns
        -------
        float on a line, else (p,) array

        Raises
        ------
        ValueError
            For an unknown arm, and where the session has no points.
        """
        points = self._rounds.points()
        point = points[self._rounds.names.number("arm", arm, self.arms.number)]
        return float(point) if np.ndim(point) == 0 else point.copy()

    def arm_at(self, point: ArrayLike) -> int:
        """The arm of a point.

        Parameters
        ----------
        point : float or (p,) array
            One of the session's, up to rounding: one part in 1e9 of their range.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            Where no arm is there, or the session has no points.
        """
        return self._rounds.arm_at(point)

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

        Parameters
        ----------
        context : (K, d) array, (d,) array, Context, or rows for the encoder
            Features of every arm in this round, or one row that all arms are shown. None: what the last round showed, if rounds show
            anything.
        eligible : (K,) array of bool, or names
            Arms that may be played, default all.
        arms : sequence of int or str
            The only arms to tell of, in this order; their numbers are then under "arm". Default: all.
        draws : int in 10..10^8
            How many random draws stand behind probabilities that are sampled, as those of LinTS and of sets: more make "probability_se"
            smaller, fewer are quicker. Default None: the policy's own number. Probabilities without "probability_se" are exact.
        plain : bool
            Whether to answer with lists, numbers and text that `json.dumps` takes, None in place of what is not finite. Default False.

        Returns
        -------
        dict of str to (K,) array, number or text

        Raises
        ------
        ValueError
            Where an argument is out of its range, or the round does not fit the session's arms.
        """
        seen, _, common = self._checked_round(context, eligible, None)
        state, count = copied(self._agent_for(seen, common).state), self._rounds.count(seen)
        if isinstance(arms, str) or not isinstance(arms, Iterable | None):
            raise ValueError(f"arms = {checks.show(arms)} is not a list of arms, by number or name.")
        chosen = None if arms is None else [self._rounds.names.number("arms", arm, count) for arm in arms]
        drawn = None if draws is None else checks.integer("draws", draws, least=LEAST_DRAWS, most=MOST_DRAWS)
        admit(self.policy, state, seen)
        report = dict(explain(self.policy, state, seen, streams.stream(self.seed, self.rounds, streams.AUDIT), drawn))
        winner = self._winner(seen)
        if winner is not None:
            report["probability"] = np.eye(1, count, winner)[0]
        if chosen is not None:
            report = {
                name: value[chosen] if np.shape(value)[:1] == (count,) and name in PER_ARM else value for name, value in report.items()
            }
            report = {"arm": np.array(chosen, dtype=np.int64)} | report
        if checks.flag("plain", plain):
            told: Explanation = files.plain(report)
            return told
        return report

    def propensities(self, context: Round | None = None, eligible: Mask | None = None, *, encoded: bool = False) -> np.ndarray:
        """Chances with which `select` would play each single arm now: exact where the policy computes them exactly, else by draws.

        Changes nothing. With an oracle the propensity belongs to a set; ask `decide` for that of the chosen one.

        Parameters
        ----------
        context : (K, d) array, (d,) array, Context, or rows for the encoder
            Features of every arm in this round, or one row that all arms are shown. None: what the last round showed, if rounds show
            anything.
        eligible : (K,) array of bool, or names
            Arms that may be played, default all.
        encoded : bool
            Whether context has features already, where the session has an encoder.

        Returns
        -------
        (K,) array in [0, 1]

        Raises
        ------
        ValueError
            For a session with an oracle, or a round that does not fit the session's arms.
        """
        if self.arms.oracle is not None:
            raise ValueError("this session chooses sets, whose chances are not those of single arms; see Decision.propensity.")
        seen, _, common = self._checked_round(context, eligible, None, encoded=encoded)
        state = copied(self._agent_for(seen, common).state)
        admit(self.policy, state, seen)
        audit, chances = streams.stream(self.seed, self.rounds, streams.AUDIT), np.zeros(self._rounds.count(seen))
        winner = self._winner(seen)
        if winner is not None:
            chances[winner] = 1.0
            return chances
        for arm in range(chances.size):
            if seen.eligible is None or seen.eligible[arm]:
                chances[arm] = propensity(self.policy, state, seen, arm, audit, self.draws)[0]
        total = chances.sum()  # chances by draws add up to nearly 1
        return chances / total if total > 0.0 else chances

    def view(self) -> Self:
        """A copy of what `explain`, `stopped` and `recommend` read, so that another thread may ask them while this session goes on.

        Returns
        -------
        Session
        """
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        now = self._now
        one = Agent(
            self.policy, copied(now.agent.state), now.agent.stream, now.agent.number, now.agent.tally.copy(), now.agent.waiting.copy()
        )
        view._now = now._replace(agent=one)
        return view

    def __copy__(self) -> Self:
        """A session that goes on by itself: a copy of what `save` writes. An oracle of one's own is shared."""
        oracle = self.arms.oracle
        other = type(self).from_bytes(self.to_bytes(), oracle=oracle, policy=self.policy, encoder=self.encoder)
        other.clock = self.clock
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return _unpickled, (type(self), self.to_bytes(), self.arms.oracle, self.policy, self.encoder)

    @property
    def stopped(self) -> bool:
        """Whether an identification policy has its answer."""
        self._needs_stopping()
        done = self._agent.stopped()
        if done:
            recommend(self.policy, self.state)  # raises where the run ended because its estimates broke down
        return done

    def recommend(self) -> dict[str, Any]:
        """The arm that an identification policy would name, and what supports it.

        Returns
        -------
        dict of str to value
            "arm"; "status": "certified" or "not certified yet"; "gap_bound": with
            probability 1 - delta the arm is at most that much worse than the best, where rewards are bounded no more than they differ;
            "error": the estimated probability that it is worse by more than epsilon; "samples_remaining": a forecast; "samples_range":
            the lowest and highest of it, for leads two standard errors larger and smaller than estimated.

        Raises
        ------
        ValueError
            For policies that do not identify.
        """
        self._needs_stopping()
        status = "certified" if self.stopped else "not certified yet"
        told = dict(evidence(self.policy, copied(self.state)))
        if self._least is not None and self._most is not None:
            told["gap_bound"] = min(told["gap_bound"], self._most - self._least)
        told["samples_range"] = forecast_range(self.rounds, told["samples_remaining"], told["error"])
        return {"arm": int(recommend(self.policy, self.state)), "status": status} | told

    def _needs_stopping(self) -> None:
        if not self._stops:
            name = type(self.policy).__name__
            raise ValueError(f"{name} minimises regret and never stops; use LinGapE or another identification policy.")

    # Files ---------------------------------------------------------------------------------------------------------------

    def forget_round(self) -> None:
        """Let go of what the last decision's round showed, which `decide` would take where the next one brings no context."""
        if self._rounds.last is not PLAIN:
            self._stand(self._agent, self._rounds.changed(last=PLAIN))

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write the session with its open decisions to one file (JSON header and arrays, no pickle); `load` continues bit for bit.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced in one step.

        Returns
        -------
        Path
        """
        return store.save(self, checked_path(path))

    @classmethod
    def load(
        cls, path: str | pathlib.Path, *, oracle: Oracle | None = None, policy: Policy | None = None, seed: int | None = None,
        encoder: Transformer | None = None,
    ) -> Self:  # fmt: skip
        """Read a saved session.

        Nothing in a file chooses code to run: names are looked up among what is registered.

        Parameters
        ----------
        path : str or Path
            What `save` wrote.
        oracle : Oracle
            Needed again only where it was code of your own, which a file does not hold; those of `tr.oracles` come back by themselves.
        policy : Policy
            An instance to use in place of the stored one. A registered class, also one of your own whose module is imported, is found by
            its name.
        seed : int >= 0
            None, the default: go on bit for bit as the session that was saved, which only one process at a time should do. Workers that
            load one file give different seeds: each has a stream and automatic ids ("#s7.17" with seed 7) of its own, and keeps what it
            began with, so that `merge` can tell what is new.
        encoder : anything with `transform`
            Needed again only where it is not an `Encoder`.

        Returns
        -------
        Session

        Raises
        ------
        ValueError
            Where the data are no session, are damaged, or need an oracle, a policy or an encoder that is not given.
        """
        seed = None if seed is None else checks.integer("seed", seed, least=0)
        return cls._seeded(store.load(cls, checked_path(path), oracle, policy, encoder), seed)

    def to_bytes(self) -> bytes:
        """What `save` writes, for a database instead of a file.

        Returns
        -------
        bytes
        """
        return store.to_bytes(self)

    @classmethod
    def from_bytes(
        cls, data: bytes, *, oracle: Oracle | None = None, policy: Policy | None = None, seed: int | None = None,
        encoder: Transformer | None = None,
    ) -> Self:  # fmt: skip
        """The session that `to_bytes` wrote.

        Parameters
        ----------
        data : bytes
            What `to_bytes` returned.
        oracle : Oracle
            Needed again only where it was code of your own, which a file does not hold; those of `tr.oracles` come back by themselves.
        policy : Policy
            An instance to use in place of the stored one. A registered class, also one of your own whose module is imported, is found by
            its name.
        seed : int >= 0
            None, the default: go on bit for bit as the session that was saved, which only one process at a time should do. Workers that
            load one file give different seeds: each has a stream and automatic ids ("#s7.17" with seed 7) of its own, and keeps what it
            began with, so that `merge` can tell what is new.
        encoder : anything with `transform`
            Needed again only where it is not an `Encoder`.

        Returns
        -------
        Session

        Raises
        ------
        ValueError
            Where the data are no session, are damaged, or need an oracle, a policy or an encoder that is not given.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ValueError(f"data = {checks.show(data)} is not bytes; pass what to_bytes returned.")
        seed = None if seed is None else checks.integer("seed", seed, least=0)
        return cls._seeded(store.from_bytes(cls, bytes(data), oracle, policy, encoder), seed)

    @staticmethod
    def _seeded(session: Any, seed: int | None) -> Any:
        """A session that was read, as the branch of a seed where there is one."""
        if seed is not None:
            session._branched(seed, extended(session._past.branch, f"{LOADED}{seed}"))
        return session


def checked_window(window: object, argument: str = "window", least: int = 1) -> int | timedelta | None:
    """An age in rounds or in time."""
    if window is None:
        return None
    if isinstance(window, str):
        try:
            window = timedelta(seconds=seconds_of(window))
        except ValueError as error:
            raise ValueError(f"{argument} = {error}".replace("write seconds", "write rounds as a whole number")) from None
    if isinstance(window, timedelta):
        if not 0 < window.total_seconds() <= LONGEST:
            raise ValueError(f"{argument} = {window} must be longer than 0 and at most ten years.")
        return window
    return checks.integer(argument, window, least=least)


def checked_path(path: object) -> pathlib.Path:
    """A path that was given as text or as a path."""
    if not isinstance(path, str | pathlib.PurePath):
        raise ValueError(f"path = {checks.show(path)} is not a path; give text or a pathlib.Path.")
    return pathlib.Path(path)


def admitted(policy: Policy, state: State) -> bool:
    """Whether rounds that show nothing are admitted; False: each must show something, as its baseline."""
    try:
        admit(policy, state, PLAIN)
    except ValueError:
        return False
    return True


def _unpickled(cls: type[Session], data: bytes, oracle: Oracle | None, policy: Policy, encoder: Transformer | None) -> Session:
    return cls.from_bytes(data, oracle=oracle, policy=policy, encoder=encoder)


def _checked_names(names: Iterable[str], arms: Any, catalogue: bool) -> tuple[str, ...]:
    if catalogue:
        raise ValueError("names was given, but a catalogue (dimension without arms) takes names with every call of decide.")
    if arms.blocks > 1:
        raise ValueError("names was given, but arms of this oracle are pairs (row * blocks + block), which have numbers only.")
    return checked_names("names", names, arms.number)

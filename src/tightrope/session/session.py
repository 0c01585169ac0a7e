"""`Session`: a policy in service, many decisions open at once, by the very kernels that simulations
run.

A step is computed first, with every check and every call of code that is not ours. Then it is
taken: the policy's state changes in one iteration of a `for`, whose body calls nothing (see
`agent.Step`), so that a signal's exception finds a session as before the step or as after it.
"""

import functools
import math
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.handle import Stream
from ..core import checks, files, streams
from ..core.policy import Policy, is_policy, label, metrics_of
from ..core.registry import ORDERS, check_fit, check_question
from ..core.types import PLAIN, Action, Explanation, Oracle, State, draws_of
from ..core.verbs import (
    Arms,
    Context,
    admit,
    commit,
    event,
    evidence,
    explain,
    grow,
    inform,
    init,
    propensity,
    recommend,
    reward_range,
    update,
    with_rewards,
    withdraw,
)
from ..logs.formats import checked_path
from ..logs.tables import NamedColumns
from ..numerics.ridge import regressions_in
from ..numerics.states import carried, copied, same_form
from . import batches, store
from .agent import (
    DECIDED,
    NO_CHANGE,
    PLAYED,
    REWARDS,
    SELECTED,
    UNPLAYABLE,
    Agent,
    agent,
    new_tally,
)
from .batches import feed, read_training_rows
from .codec import (
    LOADED,
    AuditStream,
    Base,
    Past,
    digest,
    extended,
    generator,
    shared,
    sum_of_both,
    went_on,
)
from .decisions import (
    LEAST_DRAWS,
    MOST_DRAWS,
    ROUND,
    TIME,
    Book,
    Chance,
    Decision,
    Entry,
    Held,
    Id,
    Reward,
    agrees,
    check_equal,
    checked_id,
    locked,
    read_only_context,
    reason,
    refuse,
    refuse_automatic,
    rewards_by_arm,
    rewards_by_metric,
    size_of,
    without_context,
)
from .rounds import (
    CheckedRound,
    Mask,
    Names,
    Played,
    Round,
    Rounds,
    Transformer,
    check_features,
    checked_encoder,
    checked_names,
    describe_arms,
    described_addition,
    encoded_round,
    encoded_rows,
    named_arms,
)

AFTER_STOP: tuple[Literal["winner", "explore"], ...] = ("winner", "explore")
PLAIN_ROUND = CheckedRound(PLAIN, None, False)  # a round like any other
UNMEASURED = math.nan, math.nan, None
# By how a policy stops: before it does, once it has, and why its answer is played then.
STATUS = {
    False: (),
    True: ("not certified yet", "certified", "the certified answer"),
    "plan": ("not certified yet", "best by the plan", "best by the plan"),
}
PER_ARM = {  # what explanations say arm by arm
    "mean",
    "width",
    "lower",
    "upper",
    "index",
    "probability",
    "probability_se",
    "pulls",
    "safe",
    "design",
    "direction_scores",
    "rates",
}
# of a session: arms in a notebook's table, arms up to which somebody leads, draws behind chances
SHOWN_ARMS, TOLD_ARMS, SHOWN_DRAWS = 20, 1000, 500
CERTAIN = 0.995  # a probability from which only the name is said
ERRORS = 2.0  # standard errors of the lead, in a forecast of samples
LEAST = 1e-300  # probability below which the lead is certain
# a propensity, its standard error, and how many draws stand behind it
Stated: TypeAlias = tuple[Chance, Chance, int | None]


class AgentAndRounds(NamedTuple):
    """Replaced in one assignment, so that a signal's exception finds a session before or after
    it."""

    agent: Agent
    rounds: Rounds
    silent: bool  # whether a round shows nothing unless the call says so
    plain: bool  # whether `select` then only counts its decision


class Choice(NamedTuple):
    agent: Agent  # with the state that met the round
    chosen: Action  # by the policy
    action: Action  # that is played
    event: int  # how it came about, see the verb `event`
    certified: bool  # it is the answer of an identification policy
    chance: Stated
    shown: CheckedRound  # the round
    now: AgentAndRounds  # of the session that chose
    number: int  # of the decision it would be


class Session:
    """One policy, its state, its random stream and its open decisions.

    Exactly one of arms, points, distances and names says which arms there are; names may also come
    with one of the others. With none of them, and dimension, the session is a catalogue: every call
    brings any number of candidates with their features.

    Bad input raises ValueError and leaves the session as it was. Not thread-safe: one session, one
    thread at a time.

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
        Chooses sets of arms, see `tr.oracles`; for `oracles.Promotions` give the users as arms.
        Default None: single arms.
    horizon : int >= 1
        T, in rounds, for policies whose widths use it.
    seed : int >= 0
        Of the policy's own randomness, default 0; `simulate` with the same seed makes the same
        choices in replication 0.
    names : iterable of K str
        By which arms can be called. A whole number in a call is an arm's position, as `select`
        returns it; in a table it is the arm whose name reads so, and refused where it could as well
        be the position of another.
    window : int >= 1, str or timedelta
        A decision that is older is closed with default_reward: in rounds (a number), or in time
        (text such as "90s", "12h", "14d", or a timedelta), which is looked at whenever something is
        decided or answered. Default None: decisions stay open.
    default_reward : float
        The reward of a decision that the window closes, in units of reward; required with a window.
    apply : "on arrival" or "in order"
        Rewards are learned from as they arrive, the default, or in the order of their decisions:
        each is held back until all earlier decisions are closed. A guarantee on linear rewards
        needs that where the delay depends on the reward.
    after_stop : "winner" or "explore"
        Where an identification policy has its answer, play the winner, if it is eligible (the
        default), or what the policy would try next, to learn more than was asked.
    measured : bool
        Default True. False where no decision needs its propensity, which then costs nothing and is
        NaN: such decisions cannot be evaluated.
    draws : int in 10..10^8
        How many random draws stand behind a propensity that is not exact; a decision tells its
        standard error. Fewer are quicker, more are closer. None, the default: the policy's own
        number, such as 500 for LinTS.
    encoder : Encoder, or anything with its `transform`
        Makes the features of rounds from rows by column name: a dict for all arms, a list of dicts,
        or a table with a row for each arm. It must have been fitted. Files hold an `Encoder`
        without trees; `load` asks for any other again.
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
    <Session: UCB, 2 arms
     leader: red 1 in [-0.177, 2.18]
     next: green; 1 decisions, 1 rewards, 0 open>
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
        default_reward: float | Mapping[str, float] | None = None,
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
        self.metrics = metrics_of(policy)
        described = described._replace(metrics=tuple(self.metrics) if self.metrics else None)
        self.policy = policy = with_rewards(policy, described)
        check_fit(policy, described)
        if type(policy).TRAITS.stops:
            check_question(policy, described)
        catalogue = features is None and points is None and distances is None
        if names is not None and catalogue:
            raise ValueError(
                "names was given, but a catalogue (dimension without arms) takes names with every "
                "call of decide."
            )
        if names is not None and described.blocks > 1:
            raise ValueError(
                "names was given, but arms of this oracle are pairs (row * blocks + block), which "
                "have numbers only."
            )
        called = Names(None if names is None else checked_names("names", names, described.number))
        rounds = Rounds(policy, described, catalogue, called)
        self._least, self._most = (
            bound if math.isfinite(bound) else None for bound in reward_range(policy)
        )
        if default_reward is not None:
            default_reward = self._checked_default(default_reward)
        self.default_reward = default_reward
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
        self._audit = AuditStream(streams.stream(self.seed, 0, streams.AUDIT))
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
        one = agent(policy, state, stream, described, new_tally())
        self._now: AgentAndRounds = self._agent_and_rounds(one, rounds)

    def __repr__(self) -> str:
        form = regressions_in(self.state) if self.rounds or self.decided else None
        parts = [
            label(self.policy),
            f"{self.arms.dimension} features a candidate"
            if self.catalogue
            else f"{self.arms.number:,} arm{'s' if self.arms.number != 1 else ''}",
            *([] if form is None else [form]),
            *([] if not self._stops else [STATUS[self._stops][self._agent.stopped()]]),
        ]
        return f"<Session: {', '.join(parts)}\n {self._leader_and_next()}>"

    def _repr_html_(self) -> str:
        """The same in a notebook, and what it knows of its arms where they are few."""
        known = self._known() if self.arms.oracle is None and self.arms.number <= SHOWN_ARMS else {}
        columns = [
            name for name in ("mean", "lower", "upper", "index", "probability") if name in known
        ]
        rows = [
            [self._rounds.names.of(k), *(float(known[name][k]) for name in columns)]
            for k in range(self.arms.number if columns else 0)
        ]
        return files.table(repr(self).strip("<>"), ["arm", *columns] if columns else [], rows)

    def _known(self) -> Explanation:
        try:
            return (
                {}
                if self.catalogue or self.arms.number > TOLD_ARMS
                else self.explain(draws=SHOWN_DRAWS if self.arms.oracle is None else LEAST_DRAWS)
            )
        except ValueError:  # no round has shown its features yet
            return {}

    def _leader_and_next(self) -> str:
        known, called, retired = self._known(), self._rounds.names.of, self._rounds.retired
        mean, chance = (
            np.where(False if retired is None else retired, np.nan, known.get("mean", np.nan)),
            known["probability"] if known and self.arms.oracle is None else np.zeros(1),
        )
        ranked = np.argsort(-mean.reshape(-1), kind="stable")[: np.isfinite(mean).sum()].tolist()
        leaders = [
            f"{called(k)} {mean[k]:.3g}"
            + (
                f" in [{known['lower'][k]:.3g}, {known['upper'][k]:.3g}]"
                if "lower" in known
                else ""
            )
            for k in ranked[:2]
        ]
        following = (
            f"{called(int(chance.argmax()))}"
            + (f" with probability {chance.max():.2g}" if chance.max() < CERTAIN else "")
            if chance.any()
            else "depends on its round"
        )
        return (
            f"leader: {', then '.join(leaders) or 'none yet'}"
            + (f"; budget left {known['budget_bound']:.4g}" if "budget_bound" in known else "")
            + "".join(
                f"\n {one['promise']}: {one['budget_bound']:.4g} in hand"
                for one in known.get("promises", ())[:SHOWN_ARMS]
            )
            + f"\n next: {following}; {self.decided:,} decisions, {self.rounds:,} rewards, "
            f"{self.waiting:,} open"
        )

    # What it is -----------------------------------------------------------------------------------

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
    def retired(self) -> list[str | int]:
        """Arms that are not played any more, by name or number."""
        retired = self._rounds.retired
        return (
            []
            if retired is None
            else [self._rounds.names.of(k) for k in np.flatnonzero(retired).tolist()]
        )

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

    # Deciding -------------------------------------------------------------------------------------

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
        shown = self._checked_round(context, eligible, names, deciding=True)
        return self._open(self._choice(shown, measured=self.measured), id).decision

    def decide_many(
        self,
        contexts: ArrayLike | Sequence[Round] | None = None,
        ids: Iterable[Id] | None = None,
        eligible: Mask | Sequence[Mask] | None = None,
        *,
        number: int | None = None,
    ) -> batches.Decisions:
        """Decide for many rounds at once, as for a campaign: the same as `decide` for one after the
        other, to the bit, or nothing at all.

        All are decided before any of their rewards is known, so nothing is learned between the
        first and the last.

        Parameters
        ----------
        contexts : (n, d) array, (n, K, d) array, list of n, or table
            A row that all arms of the round are shown; features of every arm; what `decide` takes,
            for each round; with an encoder a table with a row for each round. None where rounds
            show nothing.
        ids : iterable of n str or int
            Your own, unique and new. Default: made.
        eligible : mask as for `decide`, or (n, K) array of bool
            For all rounds, or for each.
        number : int >= 1
            n, where neither contexts nor ids say it.

        Returns
        -------
        Decisions
            Columns ids, arm, name, propensity and propensity_se; `frame()` makes a pandas table of
            them.

        Raises
        ------
        ValueError
            For a round or an id that `decide` would refuse, with its row; then nothing is decided.

        Notes
        -----
        A compiled policy over single arms chooses in one compiled call. Features stay in one array
        until the last of these decisions is closed. Propensities of policies that draw are
        computed one after the other, as `decide` does; `measured=False` leaves them out. Sets,
        catalogues, windows, conservative and identification policies are decided one by one.

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
        """The arm or set of arms to play now: a decision whose reward comes by `update`, before the
        next decision.

        A reward that comes later is learned too, but as data: the decision itself was closed by the
        next one. For rewards that come late or never, use `decide` and `reward`. The propensity is
        not computed.

        Parameters
        ----------
        context, eligible
            As for `decide`.

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
        self._open(choice, None, selected=True)
        return choice.action if isinstance(choice.action, int) else choice.action.copy()

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
        chance = (
            self._chance_taken("propensity", propensity, taken),
            self._chance_taken("propensity_se", propensity_se, taken),
            None if draws is None else checks.integer("draws", draws, least=1),
        )
        choice = self._choice(shown, taken)
        self._open(choice._replace(chance=chance), id)
        return bool(np.array_equal(choice.chosen, taken if wanted is None else wanted))

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
        choice = self._choice(shown, taken, measured)
        own, error, draws = choice.chance
        stated = chance(int(choice.action), float(own))
        played = self._chance_taken("chance", stated, choice.action)
        entry = self._open(choice._replace(chance=(played, error, draws)), id)
        return entry.decision, int(choice.chosen), float(own)

    # Rewards --------------------------------------------------------------------------------------

    def reward(self, id: Id, value: ArrayLike | Mapping[int, float] | Mapping[str, float]) -> bool:
        """Close an open decision with its reward, learned with the features, mask and baseline of
        its own round.

        Parameters
        ----------
        id : str or int
            The decision's.
        value : float, array, or dict of arm or name to float
            In units of reward. Of a set a number for each of its arms in the decision's order, or a
            dict, in parts where they come so; of several metrics a dict, in parts likewise.

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
        entry = self._book.get(id)
        if (
            entry is not None
            and entry.waiting is None
            and not (type(value) is float and self._within(value))
        ):
            value = self._checked_value("reward", value)  # may run code of the caller
            entry = self._book.get(id)
        if entry is None or entry.ended is not None:
            self._check_repetition(id, value)
            return False
        if entry.waiting is None:
            assert isinstance(value, float)
            self._take(entry, entry.decision.arm, value, "rewarded")
            return True
        answers = self._rewards_in_parts(entry.decision, value)
        check_equal(entry.decision, entry.answers, answers, "rewarded")
        fresh = {part: reward for part, reward in answers.items() if part not in entry.answers}
        if not fresh and entry.waiting:
            return False
        self._take(entry, *entry.part_of_set(fresh, "rewarded"))
        return True

    def reward_many(self, ids: Iterable[Id], values: Iterable[object]) -> int:
        """Take in many rewards: the same as `reward` for one after the other, in this order.

        All rows are checked before the first is learned. Rewards of decisions that `decide_many`
        made together are learned in one compiled call.

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
            For an unknown id, another reward for a decision that has one, or a value that is no
            reward of the policy, with its row.
        """
        self._close_overdue()
        return batches.reward_many(self, ids, values)

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
        if (
            now.plain
            and context is None
            and type(arm) is int
            and type(reward) is float
            and self._within(reward)
            and now.agent.learn(arm, reward)
        ):
            return
        shown = None if context is None else self._checked_round(context, None, None, past=True)
        given = PLAIN if shown is None else shown.context
        action, value = self._checked_reward(arm, reward, None if shown is None else given)
        single = not isinstance(action, np.ndarray)
        if single and action == self._agent.selected() and agrees(PLAIN, given):
            self._agent.learn(int(action), value)
            return
        entry = self._book.latest(self.decided)
        if entry is not None and entry.plays(action) and agrees(entry.context, given):
            if single and isinstance(value, np.ndarray):
                metrics = dict(enumerate(value.tolist()))
                self._take(entry, *entry.part_of_set(metrics, "rewarded"))
            elif isinstance(action, np.ndarray) and isinstance(value, np.ndarray):
                rewards = dict(zip(action.tolist(), value.tolist(), strict=True))
                self._take(entry, *entry.part_of_set(rewards, "rewarded"))
            else:
                self._take(entry, action, value, "rewarded")
            return
        if shown is None:
            if self._rounds.changing and self._rounds.several:
                raise ValueError(
                    "context is missing: the last decision is not an open one of arm "
                    f"{checks.show(arm)}, and rounds have shown different features; pass those "
                    "the reward belongs to, or use decide and reward."
                )
            shown = self._checked_round(None, self._rounds.last.eligible, None, past=True)
        one = self._agent_for(shown.context, shown.common)
        if self._guards:
            admit(self.policy, one.state, shown.context)
        rounds = self._rounds.record_context(shown.context, False, shown.common)
        now, counts = self._agent_and_rounds(one, rounds), one.counts
        for _ in one.step(inform, shown.context, action, value):
            self._now = now
            counts[REWARDS] += 1

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
        self._whole(functools.partial(self._withdraw, entry))

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
            for entry in self._book.entries()
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
        return self._book.is_open(self._book.get(checked_id(id)))

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
        for entry in (*self._book.entries(), *self._book.closed.values()):
            if entry.ended is not None:
                yield entry.decision, entry.answers

    # Learning from logs and from other sessions ---------------------------------------------------

    def learn(
        self,
        frame: NamedColumns,
        arm: str | None = "arm",
        reward: str = "reward",
        features: Sequence[str] | str | None = None,
        baseline: int | str | None = None,
    ) -> int:
        """Learn from a whole log of rewards that no decision of this session stands for, by
        compiled code. O(update) a row.

        Parameters
        ----------
        frame : table
            With named columns: of pandas, polars, pyarrow or DuckDB, or a dict of arrays.
        arm, reward : str
            Columns of arms (numbers, or names) and of rewards. Rows without a reward (null or NaN)
            are left out. A catalogue needs no arm.
        features : str or list of str
            Its d columns of the played arm's features, or one column of arrays (d,), where features
            change; a session with an encoder makes them of the table's rows.
        baseline : int or str
            The baseline arm or its name, or a column of them, where every round has its own.

        Returns
        -------
        int
            Number of rows learned: those that have a reward.

        Raises
        ------
        ValueError
            For a frame with bad rows, with their number and the first of them; then nothing of it
            is learned.
        """
        if self.metrics:
            raise ValueError(
                f"a log has one reward a row, and this session the metrics "
                f"{', '.join(self.metrics)}; give its rows by decide and reward."
            )
        rounds, bounds = self._rounds, (self._least, self._most)
        arms, state = self.arms, self.state
        if self.catalogue:  # a row's features are all there is of its arm
            arms = arms._replace(number=arms.blocks)
            state = self._sized(arms.number).state
            arm = None if arms.blocks == 1 else arm
        columns = (
            encoded_rows(self.encoder, frame)
            if self.encoder is not None and features is None
            else features
        )
        log = read_training_rows(
            frame, arm, reward, columns, baseline, rounds.changing, arms, self.names, bounds
        )
        state = feed(self.policy, copied(state), arms, log)
        self._commit(self._agent_of(state, arms, int(log.rewards.size)), rounds.changed(arms=arms))
        return int(log.rewards.size)

    def merge(self, other: "Session") -> None:
        """Take in all that another session of the same policy and arms has learned, as if its
        rewards had been fed to this one.

        Of a fork of this session, or one that comes with it from one session by `fork` or
        `load(seed=...)`, what is new is added. Only for policies whose state is a sum, such as
        counts, or V and b of a regression.

        Parameters
        ----------
        other : Session
            Left as it is. Its open decisions do not move over, so it must have none.

        Raises
        ------
        ValueError
            With nothing changed: for a policy that cannot be merged, for sessions that differ in
            policy or arms, for this session itself, and where rewards would count twice, because
            the other was merged before or it is not known what they share.
        """
        base = self._mergeable(other)
        now = self._absorbed(*sum_of_both(self, other, base), other)
        merged, its = digest(other), other._past
        mine, theirs = self._past.knowing(*its.known, merged), its.knowing(merged)
        self._past = mine  # nothing is called from here on
        self._now = now
        other._past = theirs

    def fork(self, n: int, seed: int | None = None) -> list[Self]:
        """Sessions for n workers that go on from here, each by itself; `merge` then adds what is
        new in each, exactly.

        Each has a random stream of its own, independent of this session's and of each other's, and
        automatic ids of its own: "#2.17" is decision 17 of the third fork ever made of a session.
        Open decisions stay here.

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
        seed = self.seed if seed is None else checks.seed(seed)
        if self.waiting and commit.answers(self.policy):
            raise ValueError(
                f"{self.waiting} decisions are open, on whose rewards "
                f"{type(self.policy).__name__} counts; answer, close or cancel them before fork."
            )
        branches = [extended(self._past.branch, str(self._past.forks + i)) for i in range(n)]
        forks = []
        for branch in branches:
            one = self.__copy__()
            one._branched(seed, branch)
            one._book = Book()
            one._agent.counts[SELECTED] = -1
            one.forget_round()
            forks.append(one)
        self._past = self._past.knowing(digest(self))._replace(forks=self._past.forks + n)
        return forks

    # Arms that come and go ------------------------------------------------------------------------

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
            raise ValueError(
                "this session takes new candidates at every call; there is nothing to add."
            )
        before = self.arms
        longer, called = described_addition(
            before, self._rounds.names, names, features, number, oracle
        )
        described = longer._replace(features=None) if self._rounds.changing else longer
        one = self._agent_of(grow(self.policy, copied(self.state), described), longer)
        book = self._book.grown(before.number, longer.number, longer.rows)
        now = self._agent_and_rounds(one, self._rounds.grown(longer, called))
        past = self._past._replace(base=None)  # what it began with knows nothing of these arms
        self._past = past  # nothing is called from here on
        self._now = now
        self._book = book
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
        self._commit(self._agent, self._rounds.retiring(arm, True))

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
        self._commit(self._agent, self._rounds.retiring(arm, False))

    def point(self, arm: SupportsIndex | str) -> float | np.ndarray:
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

    # Explaining -----------------------------------------------------------------------------------

    def explain(
        self,
        context: Round | None = None,
        eligible: Mask | None = None,
        *,
        arms: Sequence[SupportsIndex | str] | None = None,
        draws: int | None = None,
        plain: bool = False,
    ) -> Explanation:
        """Why: per-arm mean, width, lower, upper, index and probability, and what the family adds.
        Changes nothing.

        Parameters
        ----------
        context : (K, d) array, (d,) array, Context, or rows for the encoder
            Features of every arm in this round, or one row that all arms are shown. None: what the
            last round showed, if rounds show anything.
        eligible : (K,) array of bool, or names
            Arms that may be played, default all.
        arms : sequence of int or str
            The only arms to tell of, in this order; their numbers are then under "arm". Default:
            all.
        draws : int in 10..10^8
            How many random draws stand behind probabilities that are sampled, as those of LinTS and
            of sets: more make "probability_se" smaller, fewer are quicker. Default None: the
            policy's own number. Probabilities without "probability_se" are exact.
        plain : bool
            Whether to answer with lists, numbers and text that `json.dumps` takes, None in place of
            what is not finite. Default False.

        Returns
        -------
        dict of str to (K,) array, number or text

        Raises
        ------
        ValueError
            Where an argument is out of its range, or the round does not fit the session's arms.
        """
        round, _, common = self._checked_round(context, eligible, None)
        state, count = copied(self._agent_for(round, common).state), self._rounds.count(round)
        if isinstance(arms, str) or not isinstance(arms, Iterable | None):
            raise ValueError(
                f"arms = {checks.show(arms)} is not a list of arms, by number or name."
            )
        chosen = (
            None
            if arms is None
            else [self._rounds.names.number("arms", arm, count) for arm in arms]
        )
        drawn = (
            None
            if draws is None
            else checks.integer("draws", draws, least=LEAST_DRAWS, most=MOST_DRAWS)
        )
        admit(self.policy, state, round)
        report = dict(
            explain(
                self.policy,
                state,
                round,
                streams.stream(self.seed, self.rounds, streams.AUDIT),
                drawn,
            )
        )
        winner = self._winner(round)
        if winner is not None:
            report["probability"] = np.eye(1, count, winner)[0]
        if chosen is not None:
            report = {
                name: value[chosen]
                if np.shape(value)[:1] == (count,) and name in PER_ARM
                else value
                for name, value in report.items()
            }
            report = {"arm": np.array(chosen, dtype=np.int64)} | report
        if checks.flag("plain", plain):
            plain_report: Explanation = files.plain(report)
            return plain_report
        return report

    def propensities(
        self, context: Round | None = None, eligible: Mask | None = None, *, encoded: bool = False
    ) -> np.ndarray:
        """Chances with which `select` would play each single arm now: exact where the policy
        computes them exactly, else by draws.

        Changes nothing. With an oracle the propensity belongs to a set; ask `decide` for that of
        the chosen one.

        Parameters
        ----------
        context, eligible
            As for `explain`.
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
            raise ValueError(
                "this session chooses sets, whose chances are not those of single arms; see "
                "Decision.propensity."
            )
        round, _, common = self._checked_round(context, eligible, None, encoded=encoded)
        state = copied(self._agent_for(round, common).state)
        admit(self.policy, state, round)
        audit, chances = (
            streams.stream(self.seed, self.rounds, streams.AUDIT),
            np.zeros(self._rounds.count(round)),
        )
        winner = self._winner(round)
        if winner is not None:
            chances[winner] = 1.0
            return chances
        for arm in range(chances.size):
            if round.eligible is None or round.eligible[arm]:
                chances[arm] = propensity(self.policy, state, round, arm, audit, self.draws)[0]
        total = chances.sum()  # chances by draws add up to nearly 1
        return chances / total if total > 0.0 else chances

    def recommend(self) -> Explanation:
        """The arm that an identification policy would name, and what supports it.

        Returns
        -------
        dict of str to value
            "arm"; "status": "certified", "not certified yet", or "best by the plan" where a policy
            has taken the samples that it was given, and certifies nothing; "gap_bound": with
            probability 1 - delta the arm is at most that much worse than the best, where rewards
            are bounded no more than they differ; "error": the estimated probability that it is
            worse by more than epsilon; "samples_remaining": a forecast; "samples_range": the lowest
            and highest of it, for leads two standard errors larger and smaller than estimated.

        Raises
        ------
        ValueError
            For policies that do not identify.
        """
        status = STATUS[self._stops][self.stopped]  # raises where nothing can be named
        report = dict(evidence(self.policy, copied(self.state)))
        if self._least is not None and self._most is not None:
            report["gap_bound"] = min(report["gap_bound"], self._most - self._least)
        report["samples_range"] = forecast_range(
            self.rounds, report["samples_remaining"], report["error"]
        )
        return {"arm": int(recommend(self.policy, self.state)), "status": status} | report

    def view(self) -> Self:
        """A copy of what `explain`, `stopped` and `recommend` read, so that another thread may ask
        them while this session goes on.

        Returns
        -------
        Session
        """
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        now = self._now
        view._now = now._replace(
            agent=Agent(
                self.policy,
                copied(now.agent.state),
                now.agent.stream,
                now.agent.number,
                now.agent.tally.copy(),
            )
        )
        return view

    # Files ----------------------------------------------------------------------------------------

    def forget_round(self) -> None:
        """Forget the last context, so that `decide` does not reuse it where the next round brings
        none."""
        if self._rounds.last is not PLAIN:
            self._commit(self._agent, self._rounds.changed(last=PLAIN))

    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Write the session with its open decisions to one file (safetensors, no pickle); `load`
        continues bit for bit.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced in one step.

        Returns
        -------
        Path
        """
        target = checked_path(path)
        files.write_bytes(target, self.to_bytes())
        return target

    @classmethod
    def load(
        cls,
        path: str | pathlib.Path,
        *,
        oracle: Oracle | None = None,
        policy: Policy | None = None,
        seed: int | None = None,
        encoder: Transformer | None = None,
    ) -> Self:
        """Read a saved session.

        Nothing in a file chooses code to run: names are looked up among what is registered.

        Parameters
        ----------
        path : str or Path
            What `save` wrote.
        oracle : Oracle
            Needed again only where it was code of your own, which a file does not hold; those of
            `tr.oracles` come back by themselves.
        policy : Policy
            An instance to use in place of the stored one. A registered class, also one of your own
            whose module is imported, is found by its name.
        seed : int >= 0
            None, the default: go on bit for bit as the session that was saved, which only one
            process at a time should do. Workers that load one file give different seeds: each has a
            stream and automatic ids ("#s7.17" with seed 7) of its own, and keeps what it began
            with, so that `merge` can tell what is new.
        encoder : anything with `transform`
            Needed again only where it is not an `Encoder`, or has trees.

        Returns
        -------
        Session

        Raises
        ------
        ValueError
            Where the data are no session, are damaged, or need an oracle, a policy or an encoder
            that is not given.
        """
        called = f"path = {str(checked_path(path))!r}"
        try:
            data = pathlib.Path(path).read_bytes()
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{called} does not exist; pass a file that Session.save wrote."
            ) from None
        return cls._read(data, called, seed, oracle, policy, encoder)

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes, for a database instead of a file.

        Returns
        -------
        bytes
        """
        return store.to_bytes(self)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        *,
        oracle: Oracle | None = None,
        policy: Policy | None = None,
        seed: int | None = None,
        encoder: Transformer | None = None,
    ) -> Self:
        """The session that `to_bytes` wrote.

        Parameters
        ----------
        data : bytes
            What `to_bytes` returned.
        oracle, policy, seed, encoder
            As for `load`.

        Returns
        -------
        Session

        Raises
        ------
        ValueError
            Where the data are no session, are damaged, or need an oracle, a policy or an encoder
            that is not given.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ValueError(
                f"data = {checks.show(data)} is not bytes; pass what to_bytes returned."
            )
        return cls._read(bytes(data), "data", seed, oracle, policy, encoder)

    def __copy__(self) -> Self:
        """A session that goes on by itself: a copy of what `save` writes. An oracle of one's own is
        shared."""
        other = type(self).from_bytes(
            self.to_bytes(),
            oracle=self.arms.oracle,
            policy=self.policy,
            encoder=self.encoder,
        )
        other.clock = self.clock
        return other

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial(
            type(self).from_bytes,
            oracle=self.arms.oracle,
            policy=self.policy,
            encoder=self.encoder,
        ), (self.to_bytes(),)

    @classmethod
    def _read(
        cls,
        data: bytes,
        called: str,
        seed: int | None,
        oracle: Oracle | None,
        policy: Policy | None,
        encoder: Transformer | None,
    ) -> Self:
        """called: what begins the sentences about the data."""
        seed = None if seed is None else checks.seed(seed)
        session = store.from_bytes(cls, data, oracle, policy, encoder, called)
        if seed is not None:
            session._branched(seed, extended(session._past.branch, f"{LOADED}{seed}"))
        return session

    # The parts, and how they are replaced ---------------------------------------------------------

    @property
    def _agent(self) -> Agent:
        return self._now.agent

    @property
    def _rounds(self) -> Rounds:
        return self._now.rounds

    @property
    def _numbers(self) -> dict[str, int]:
        return self._rounds.names.numbers

    def _commit(self, one: Agent, rounds: Rounds) -> None:
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

    # A decision: chosen, then taken ---------------------------------------------------------------

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

    def _choice(
        self, shown: CheckedRound, taken: Action | None = None, measured: bool = False
    ) -> Choice:
        """The action that the policy proposes, drawn from its stream. taken: the arm to play in
        its place, which is checked before anything is drawn."""
        self._close_overdue()
        context, one = shown.context, self._now.agent
        if context is not PLAIN:
            alike = taken is None and self._rounds.all_equal(context)
            one = self._agent_for(context, shown.common or alike)
        if taken is not None:
            self._check_playable("the log has", taken, one.number, context)
        if self._guards and not (context is PLAIN and self._admits_plain):
            admit(self.policy, one.state, context)
        winner = self._winner(context) if self._stops else None
        now, number = self._now, one.counts[DECIDED] + 1
        if winner is None:
            chosen, why, certain = one.propose(context)
            if why == UNPLAYABLE:
                who = f"{type(self.policy).__name__}'s select returned"
                self._check_playable(who, chosen, one.number, context)
        else:
            chosen, why, certain = winner, event(self.policy, one.state, winner), True
        action, same = chosen, True
        if taken is not None:
            action, same = taken, bool(np.array_equal(taken, chosen))
            why = event(self.policy, one.state, taken)
        chance: Stated = UNMEASURED
        if measured and certain and (winner is not None or not self._measures):
            chance = float(same), 0.0, None
        elif measured:
            chance = self._propensity(one, context, action, number, same)
        certified = winner is not None and same
        return Choice(one, chosen, action, why, certified, chance, shown, now, number)

    def _winner(self, context: Context) -> int | None:
        """The certified arm, where it is what is played; None where there is none, it may not be
        played, or exploring goes on."""
        if self.after_stop == "explore" or not self._stops or not self.stopped:
            return None
        arm = int(recommend(self.policy, self.state))
        return arm if context.eligible is None or context.eligible[arm] else None

    def _propensity(
        self, one: Agent, context: Context, action: Action, number: int, chosen: bool = True
    ) -> Stated:
        """(propensity of an action, standard error, draws behind it), computed in a copy of the
        state. chosen: whether the policy proposed this action."""
        stated: tuple[Chance, Chance] = propensity(
            self.policy, copied(one.state), context, action, self._audit.at(number), self.draws
        )
        draws = draws_of(stated)
        p, error = stated if draws is None or not chosen else counted_in(stated, draws)
        return p, error, draws

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

    def _open(self, choice: Choice, id: Id | None, selected: bool = False) -> Entry:
        """Take a choice: the open decision of it. selected: it is one of `select`."""
        context, labels, common = choice.shown
        one, action, number, before = choice.agent, choice.action, choice.number, choice.now
        p, error, draws = choice.chance
        called = before.rounds.names.of if labels is None else labels.__getitem__
        name: object
        arm, waiting = action, None
        if isinstance(action, int):
            name, waiting = called(action), set(range(len(self.metrics))) if self.metrics else None
        else:
            name, waiting = tuple(map(called, action.tolist())), set(action.tolist())
            p, error, arm = for_each(p, action), for_each(error, action), locked(action)
        words = (
            f"{name}: {STATUS[self._stops][2]}"
            if choice.certified
            else reason(choice.event, name, p)
        )
        moment = self._time() if self._timed else None
        if moment is not None and self._book.last is not None:  # the clock may have gone back
            moment = max(moment, self._book.last.decision.time or moment)
        if before is not self._now or one.counts[DECIDED] + 1 != number:
            raise ValueError(
                "this session was changed while it decided, by what a callback did; the decision "
                "was not made."
            )
        book, counts = self._book, one.counts
        entries, former = book.open, book.selected
        if id is None:
            id = book.automatic(number, self._past.branch)
        seen = read_only_context(context)
        decision = Decision(id, arm, name, p, error, words, number, seen, draws, moment)
        entry, now = Entry(decision, context, waiting), before
        if context is not PLAIN or context is not before.rounds.last:
            now = self._agent_and_rounds(one, before.rounds.record_context(context, True, common))
        step = one.taking(context, action)
        try:
            for _ in step:
                self._now = now
                entries[id] = entry
                book.last = entry
                if selected:
                    book.selected = entry
                counts[DECIDED] = number
            if former is not None or isinstance(self.window, int):
                self._follow_up(former)
        except BaseException as stop:
            if not isinstance(stop, Exception):
                self._follow_up(former)
            raise
        return entry

    # Answers: learned now or, in order, after those of all earlier decisions ----------------------

    def _take(
        self, entry: Entry, action: Action | None, value: Reward | None, ended: str | None
    ) -> None:
        if self.apply == "on arrival":
            self._learn(entry, action, value, ended)
        else:
            self._whole(functools.partial(self._keep, entry, action, value, ended))

    def _learn(
        self,
        entry: Entry,
        action: Action | None,
        value: Reward | None,
        ended: str | None,
        held: Held = (),
    ) -> None:
        """Learn an answer, if there is one, and close its decision where `ended` says how. held:
        answers that the decision still holds back."""
        book, now, decision, context = self._book, self._now, entry.decision, entry.context
        one, step, learned = now.agent, NO_CHANGE, 0
        answers, waiting = entry.answers, entry.waiting
        if action is not None and value is not None:
            answers, waiting = entry.with_answer(action, value)
            learned = 1
            if context is not PLAIN:
                one, rounds = self._agent_for(context), now.rounds.record_context(context, False)
                if one is not now.agent or rounds is not now.rounds:
                    now = self._agent_and_rounds(one, rounds)
            if self.metrics:
                values = np.full(len(self.metrics), np.nan)
                values[action] = value
                action, value = decision.arm, values
            step = one.step(update, context, action, value)
        if ended is not None and context is not PLAIN:
            decision, context = without_context(decision), PLAIN
        id, entries, closed, counts = decision.id, book.open, book.closed, one.counts
        weight, batch = size_of(decision), book.batch_of(decision.round)
        for _ in step:
            self._now = now
            counts[REWARDS] += learned
            entry.answers = answers
            entry.waiting = waiting
            entry.held = held
            if ended is not None:
                entry.ended = ended
                entry.decision = decision
                entry.context = context
                if book.selected is entry:
                    book.selected = None
                del entries[id]
                closed[id] = entry
                book.weight += weight
                if batch is not None:
                    book.left[batch.first] -= 1
        if ended is not None:
            book.forget()

    def _keep(
        self, entry: Entry, action: Action | None, value: Reward | None, ended: str | None
    ) -> None:
        """In order: keep an answer until all earlier decisions are closed, see `_follow_up`."""
        answers, waiting, held = entry.answers, entry.waiting, entry.held
        if action is not None and value is not None:
            answers, waiting = entry.with_answer(action, value)
            held = (*held, (action, value))
        entry.answers = answers
        entry.waiting = waiting
        entry.held = held
        entry.ended = ended

    def _whole(
        self,
        step: Callable[[], None] | None,
        former: Entry | None = None,
        expired: Iterable[Entry] = (),
    ) -> None:
        """Take a step and what follows from it, see `_follow_up`. Where a signal's exception ends
        that, it is finished first."""
        try:
            if step is not None:
                step()
            self._follow_up(former, expired)
        except BaseException as stop:
            if not isinstance(stop, Exception):
                self._follow_up(former, expired)
            raise

    def _follow_up(self, former: Entry | None, expired: Iterable[Entry] = ()) -> None:
        """Close what a step that was taken leaves behind: the decision that `select` made before,
        what expired, what left a window in rounds. In order: learn what waited for decisions that
        are closed by now."""
        book = self._book
        step = self._learn if self.apply == "on arrival" else self._keep
        if former is not book.last and book.is_open(former):
            step(former, None, None, "closed")
        if isinstance(self.window, int):
            expired = (*expired, *book.older(self.decided - self.window, ROUND))
        for entry in expired:
            if book.is_open(entry):
                assert self.default_reward is not None
                default = self.default_reward
                if entry.waiting is None and isinstance(default, float):
                    step(entry, entry.decision.arm, default, "expired")
                elif entry.waiting is not None:
                    by_metric = list(default.values()) if isinstance(default, dict) else []
                    missing = {
                        part: default if isinstance(default, float) else by_metric[part]
                        for part in sorted(entry.waiting)
                    }
                    step(entry, *entry.part_of_set(missing, "expired"))
        while (
            self.apply == "in order"
            and (first := next(book.entries(), None)) is not None
            and (first.held or first.ended)
        ):
            if first.held:
                self._learn(first, *first.held[0], None, first.held[1:])
            else:
                self._learn(first, None, None, first.ended)

    def _withdraw(self, entry: Entry) -> None:
        book, context, id = self._book, entry.context, entry.decision.id
        one, rounds = self._agent_for(context), self._rounds.record_context(context, False)
        now, entries = self._agent_and_rounds(one, rounds), book.open
        batch = book.batch_of(entry.decision.round)
        for _ in one.step(withdraw, context, entry.decision.arm):
            self._now = now
            del entries[id]
            if book.selected is entry:
                book.selected = None
            if batch is not None:
                book.left[batch.first] -= 1
        book.forget()

    def _settle(self, expired: list[Entry]) -> list[Id]:
        self._whole(None, expired=expired)
        return [entry.decision.id for entry in expired]

    def _older(self, age: int | timedelta) -> list[Entry]:
        if isinstance(age, int):
            return self._book.older(self.decided - age, ROUND)
        return self._book.older(self._time() - age.total_seconds(), TIME)

    def _close_overdue(self) -> None:
        if self._timed:
            assert self.window is not None
            overdue = self._older(self.window)
            if overdue:
                self._settle(overdue)

    def _unanswered(self, id: Id) -> Entry:
        id = checked_id(id)
        entry = self._book.get(id)
        if entry is None or entry.ended is not None:
            raise ValueError(
                f"id = {checks.show(id)} is not an open decision; it was closed, cancelled or "
                "never made."
            )
        return entry

    def _check_repetition(self, id: Id, value: object) -> None:
        entry = self._book.find(id)
        if entry is None:
            raise ValueError(
                f"id = {checks.show(id)} is not a decision of this session, was cancelled, or was "
                "closed too long ago to be known."
            )
        decision, answers, how = entry.decision, entry.answers, str(entry.ended)
        if isinstance(answers, dict):
            check_equal(decision, answers, self._rewards_in_parts(decision, value), how)
        elif answers is None or self._checked_value("reward", value) != answers:
            refuse(decision, answers, how)

    # Checks ---------------------------------------------------------------------------------------

    def _time(self) -> float:
        moment = self.clock()
        try:
            return checks.real("clock()", moment)
        except ValueError:
            raise ValueError(
                f"clock() = {checks.show(moment)} is not a finite number of seconds since 1970, "
                "as time.time() gives."
            ) from None

    def _rewards_in_parts(self, decision: Decision, value: object) -> dict[int, float]:
        if self.metrics:
            return rewards_by_metric(self.metrics, "reward", value)
        return rewards_by_arm(decision, value, self._checked_value)

    def _checked_default(self, value: object) -> float | dict[str, float]:
        if not self.metrics:
            return self._checked_value("default_reward", value)
        given = rewards_by_metric(self.metrics, "default_reward", value)
        missing = [name for m, name in enumerate(self.metrics) if m not in given]
        if missing:
            raise ValueError(
                f"default_reward lacks {', '.join(missing)}; give every metric's, since what is "
                "not in expires with it."
            )
        return {name: given[m] for m, name in enumerate(self.metrics)}

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
        if (
            isinstance(arm, str)
            and arm not in called.numbers
            and self._book.decision_of(arm) is not None
        ):
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
                return int(entry.decision.arm), self._checked_value("reward", reward)
            number = called.number("arm", arm, count)
            if not self.metrics:
                return number, self._checked_value("reward", reward)
            given = rewards_by_metric(self.metrics, "reward", reward)
            if len(given) < len(self.metrics):
                raise ValueError(
                    f"reward = {checks.show(reward)} lacks some of {', '.join(self.metrics)}; "
                    "give all of them at once, or use decide and reward for parts."
                )
            return number, np.array([given[m] for m in range(len(given))])
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

    def _needs_stopping(self) -> None:
        if not self._stops:
            name = type(self.policy).__name__
            raise ValueError(
                f"{name} minimises regret and never stops; use LinGapE or another identification "
                "policy."
            )

    # Merging --------------------------------------------------------------------------------------

    def _mergeable(self, other: "Session") -> Base | None:
        """The base that this session shares with another; ValueError where the two cannot be
        merged."""
        if not isinstance(other, Session):
            raise ValueError(f"other = {checks.show(other)} is not a session.")
        mine, its = (label(one.policy) for one in (self, other))
        if mine != its:
            raise ValueError(
                f"other has the policy {its}, but this session has {mine}; only equal policies "
                "learn the same sums."
            )
        if not self._rounds.same_arms(other._rounds):
            raise ValueError(
                "other has other arms, features or names than this session; what they learned is "
                "not about the same things."
            )
        if not same_form(self.state, other.state):
            here, there = regressions_in(self.state), regressions_in(other.state)
            raise ValueError(
                f"other has {there}, but this session has {here}: one was shown a row for every "
                "arm, (K, d), and the other one row for all of them, (d,); show both the same."
            )
        base = shared(self, other)
        if other.waiting:
            raise ValueError(
                f"other has {other.waiting} open decisions; update, close or cancel them first."
            )
        return base

    def _absorbed(self, state: State, rewards: int, other: "Session") -> AgentAndRounds:
        rounds = self._rounds.changed(several=self._rounds.several or other._rounds.several)
        return self._agent_and_rounds(self._agent_of(state, rewards=rewards), rounds)

    def _add(self, part: "Session") -> None:
        """`merge` with a part of one log, which no one else will ever merge: nothing about it is
        remembered."""
        self._now = self._absorbed(*sum_of_both(self, part, self._mergeable(part)), part)

    def _branched(self, seed: int, branch: str) -> None:
        self._past = went_on(self, branch)
        self.seed = seed
        self._audit = AuditStream(generator(seed, branch, streams.AUDIT))
        now = self._now.agent
        stream = Stream(generator(seed, branch, streams.POLICY))
        self._commit(agent(self.policy, now.state, stream, self.arms, now.tally), self._rounds)


def checked_window(
    window: object, argument: str = "window", least: int = 1
) -> int | timedelta | None:
    if window is None:
        return None
    if isinstance(window, str):
        try:
            window = timedelta(seconds=checks.seconds_of(window))
        except ValueError as error:
            raise ValueError(
                f"{argument} = {error}".replace("write seconds", "write rounds as a whole number")
            ) from None
    if isinstance(window, timedelta):
        if not 0 < window.total_seconds() <= checks.LONGEST_TIME:
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


def for_each(chance: Chance, action: np.ndarray) -> Chance:
    """A chance of every arm of a set, read-only; NaN stays one number."""
    if np.ndim(chance) == 0 and np.isnan(chance):
        return chance
    return locked(np.broadcast_to(np.asarray(chance, dtype=np.float64), action.shape))


def forecast_range(rounds: int, remaining: float, error: float) -> tuple[float, float]:
    """(lowest, highest) samples that remain, for leads ERRORS standard errors larger and smaller
    than the estimated one.

    rounds: samples so far. remaining: the forecast. error: probability that the leader is worse
    than promised; as that of a normal lead it says how many standard errors the lead has. Samples
    in all are inversely proportional to the square of the lead.
    """
    if remaining <= 0.0:
        return 0.0, 0.0
    leads = -NormalDist().inv_cdf(min(max(error, LEAST), 0.5))
    if leads <= 0.0 or not math.isfinite(remaining):
        return 0.0, math.inf
    total = rounds + remaining
    low = max(total / (1.0 + ERRORS / leads) ** 2 - rounds, 0.0)
    high = total / (1.0 - ERRORS / leads) ** 2 - rounds if leads > ERRORS else math.inf
    return float(math.floor(low)), high if math.isinf(high) else float(math.ceil(high))

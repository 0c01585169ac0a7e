"""`Session`: a policy in service, many decisions open at once, by the very kernels that simulations
run."""

import pathlib
from collections.abc import Iterable, Sequence
from typing import Self, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..compiled.handle import Stream
from ..core import checks, files, streams
from ..core.policy import Policy, label
from ..core.types import PLAIN, Explanation, Oracle, State
from ..core.verbs import (
    admit,
    commit,
    evidence,
    explain,
    grow,
    propensity,
    recommend,
)
from ..logs.tables import NamedColumns
from ..logs.training import feed, read_training_rows
from ..numerics.ridge import regressions_in
from ..numerics.states import copied, same_form
from . import batches, store
from .agent import SELECTED, Agent, agent
from .arms import described_addition
from .choices import DecidingSession
from .decisions import Book
from .encoders import Transformer, encoded_rows
from .forecast import forecast_range
from .forks import LOADED, Base, digest, extended, generator, shared, sum_of_both, went_on
from .ids import LEAST_DRAWS, MOST_DRAWS, Id
from .parts import AgentAndRounds
from .rounds import Mask, Round

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
SHOWN_ARMS = 20  # of a session in a notebook


SessionType = TypeVar("SessionType", bound="Session")


class Session(DecidingSession):
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
        or a table with a row for each arm. It must have been fitted. Files hold an `Encoder`;
        `load` asks for any other again.
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

    def __repr__(self) -> str:
        number = self.arms.number
        arms = (
            f"{self.arms.dimension} features a candidate"
            if self.catalogue
            else f"{number:,} arm{'s' if number != 1 else ''}"
        )
        form = regressions_in(self.state) if self.rounds or self.decided else None
        model = [] if form is None else [form]
        parts = [
            label(self.policy),
            arms,
            *model,
            f"{self.decided:,} decisions",
            f"{self.rounds:,} rewards",
            f"{self.waiting:,} open",
        ]
        if self._stops:
            parts.append("certified" if self._agent.stopped() else "not certified yet")
        return f"<Session: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """The session in a notebook: its line, and what it knows of its arms where they are few."""
        few = self.arms.oracle is None and not self.catalogue and self.arms.number <= SHOWN_ARMS
        try:
            known = self.explain() if few else {}
        except ValueError:  # no round has shown its features yet
            known = {}
        columns = [
            name for name in ("mean", "lower", "upper", "index", "probability") if name in known
        ]
        called = self._rounds.names
        rows = (
            [
                [called.of(k), *(float(known[name][k]) for name in columns)]
                for k in range(self.arms.number)
            ]
            if columns
            else []
        )
        return files.table(repr(self).strip("<>"), ["arm", *columns] if columns else [], rows)

    # Deciding -------------------------------------------------------------------------------------

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
        until the last of these decisions is closed: a copy, or `contexts` itself where it is
        read-only (`contexts.flags.writeable = False`). Propensities of policies that draw are
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

    # Rewards --------------------------------------------------------------------------------------

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
        self._stand(self._agent_of(state, arms, int(log.rewards.size)), rounds.changed(arms=arms))
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
        now, merged, its = (
            self._absorbed(*sum_of_both(self, other, base), other),
            digest(other),
            other._past,
        )
        joined = self._past.knowing(*its.known, merged)
        self._past, self._now, other._past = (
            joined,
            now,
            its.knowing(merged),
        )  # all of it or nothing

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
            counts = (
                f"{self.waiting} decisions are open, on whose rewards "
                f"{type(self.policy).__name__} counts"
            )
            raise ValueError(f"{counts}; answer, close or cancel them before fork.")
        branches = [extended(self._past.branch, str(self._past.forks + i)) for i in range(n)]
        forks = []
        for branch in branches:
            one = self.__copy__()
            one._branched(seed, branch)
            one._emptied()
            forks.append(one)
        self._past = self._past.knowing(digest(self))._replace(forks=self._past.forks + n)
        return forks

    def _branched(self, seed: int, branch: str) -> None:
        self._past = went_on(self, branch)
        self.seed = seed
        self._audit = generator(seed, branch, streams.AUDIT)
        now = self._now.agent
        stream = Stream(generator(seed, branch, streams.POLICY))
        self._stand(agent(self.policy, now.state, stream, self.arms, now.tally), self._rounds)

    def _emptied(self) -> None:
        self._book = Book()
        self._agent.counts[SELECTED] = -1
        self._stand(self._agent, self._rounds.changed(last=PLAIN))

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
        now, past = (
            self._agent_and_rounds(one, self._rounds.grown(longer, called)),
            self._past._replace(base=None),
        )
        self._past, self._now, self._book = (
            past,
            now,
            book,
        )  # what it began with knows nothing of these arms
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
        context : (K, d) array, (d,) array, Context, or rows for the encoder
            Features of every arm in this round, or one row that all arms are shown. None: what the
            last round showed, if rounds show anything.
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
        one = Agent(
            self.policy,
            copied(now.agent.state),
            now.agent.stream,
            now.agent.number,
            now.agent.tally.copy(),
        )
        view._now = now._replace(agent=one)
        return view

    def __copy__(self) -> Self:
        """A session that goes on by itself: a copy of what `save` writes. An oracle of one's own is
        shared."""
        oracle = self.arms.oracle
        other = type(self).from_bytes(
            self.to_bytes(), oracle=oracle, policy=self.policy, encoder=self.encoder
        )
        other.clock = self.clock
        return other

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (
            type(self),
            self.to_bytes(),
            self.arms.oracle,
            self.policy,
            self.encoder,
        )

    def recommend(self) -> Explanation:
        """The arm that an identification policy would name, and what supports it.

        Returns
        -------
        dict of str to value
            "arm"; "status": "certified" or "not certified yet"; "gap_bound": with probability 1 -
            delta the arm is at most that much worse than the best, where rewards are bounded no
            more than they differ; "error": the estimated probability that it is worse by more than
            epsilon; "samples_remaining": a forecast; "samples_range": the lowest and highest of it,
            for leads two standard errors larger and smaller than estimated.

        Raises
        ------
        ValueError
            For policies that do not identify.
        """
        self._needs_stopping()
        status = "certified" if self.stopped else "not certified yet"
        report = dict(evidence(self.policy, copied(self.state)))
        if self._least is not None and self._most is not None:
            report["gap_bound"] = min(report["gap_bound"], self._most - self._least)
        report["samples_range"] = forecast_range(
            self.rounds, report["samples_remaining"], report["error"]
        )
        return {"arm": int(recommend(self.policy, self.state)), "status": status} | report

    # Files ----------------------------------------------------------------------------------------

    def forget_round(self) -> None:
        """Forget the last context, so that `decide` does not reuse it where the next round brings
        none."""
        if self._rounds.last is not PLAIN:
            self._stand(self._agent, self._rounds.changed(last=PLAIN))

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
        return store.save(self, checked_path(path))

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
            Needed again only where it is not an `Encoder`.

        Returns
        -------
        Session

        Raises
        ------
        ValueError
            Where the data are no session, are damaged, or need an oracle, a policy or an encoder
            that is not given.
        """
        seed = None if seed is None else checks.seed(seed)
        return cls._seeded(store.load(cls, checked_path(path), oracle, policy, encoder), seed)

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
            Needed again only where it is not an `Encoder`.

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
        seed = None if seed is None else checks.seed(seed)
        return cls._seeded(store.from_bytes(cls, bytes(data), oracle, policy, encoder), seed)

    @staticmethod
    def _seeded(session: SessionType, seed: int | None) -> SessionType:
        if seed is not None:
            session._branched(seed, extended(session._past.branch, f"{LOADED}{seed}"))
        return session


def checked_path(path: object) -> pathlib.Path:
    if not isinstance(path, str | pathlib.PurePath):
        raise ValueError(f"path = {checks.show(path)} is not a path; give text or a pathlib.Path.")
    return pathlib.Path(path)


def _unpickled(
    cls: type[Session],
    data: bytes,
    oracle: Oracle | None,
    policy: Policy,
    encoder: Transformer | None,
) -> Session:
    return cls.from_bytes(data, oracle=oracle, policy=policy, encoder=encoder)

"""`check_policy` and `check_problem`: what the engine and the service rely on, checked for a class
of one's own.

Each raises `Broken`, an AssertionError whose message is one sentence. Kernels are first run without
compilation in a process of their own, where a wrong index is an error; compiled code would read and
write beyond its arrays.
"""

import contextlib
import gc
import inspect
import itertools
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from . import Session, oracles, problems as worlds
from .compiled.cache import findable
from .compiled.kernels import INTERPRETED, is_kernel, python_of
from .core.fields import kind_of
from .core.registry import check_fit, find
from .extend import (
    NOISE,
    PROBLEM,
    VERBS,
    Action,
    Arguments,
    Context,
    NoMonitor,
    Policy,
    Problem,
    Record,
    State,
    World,
    accepts,
    begin,
    commit,
    describe,
    evidence,
    explain,
    flatten,
    is_policy,
    label,
    mean,
    observe,
    play,
    policy_from_spec,
    policy_to_spec,
    prepare,
    private,
    recommend,
    regret,
    reward_range,
    select,
    stream,
    update,
    with_rewards,
)
from .numerics.posterior import unit_rows
from .simulation.loops import (
    AtOnce,
    RunLog,
    check_round,
    fixed_horizon,
    loop_for,
    new_log,
    note,
    rewarded_arms,
)

HORIZON = 60
SEED = 5  # of the runs whose digests are compared
DRAWS = 2000  # of a reward, to compare its average with `mean`
NOT_ELIGIBLE = "select plays an arm that is not eligible; skip those where allowed(..) is false"
DEVIATIONS = 6.0  # standard errors that the average may be off


class Broken(AssertionError):
    """A promise that a policy or problem does not keep, in one sentence."""


def standard_problems() -> dict[str, Problem]:
    """A small problem of every kind, by name."""
    rng, rng_of_clicks = np.random.default_rng(7), np.random.default_rng(8)
    theta = unit_rows(rng, 1, 3)[0]
    return {
        "bernoulli": worlds.Bernoulli([0.3, 0.5, 0.45, 0.7, 0.2]),
        "linear": worlds.Linear(unit_rows(rng, 6, 3), theta, noise=0.3),
        "linear, K < d": worlds.Linear(unit_rows(rng, 3, 5), unit_rows(rng, 1, 5)[0], noise=0.3),
        "lipschitz": worlds.Lipschitz(
            np.array([0.0, 0.1, 0.35, 0.5, 0.8, 1.0]),
            [0.3, 0.4, 0.6, 0.75, 0.5, 0.35],
            lipschitz=1.0,
        ),
        "lipschitz, contexts": worlds.ContextualLipschitz(
            [0.0, 0.5], [0.0, 0.4, 1.0], [[0.8, 0.6, 0.3], [0.6, 0.7, 0.5]], 0.5
        ),
        "contextual": worlds.ContextualLinear(theta, arms=4, noise=0.3),
        "clicks": worlds.Linear(rng_of_clicks.random((5, 3)), [0.5, 0.3, 0.1], rewards="bernoulli"),
        "clicks, contexts": worlds.Classification(
            rng_of_clicks.normal(size=(30, 2)), np.arange(30) % 3, intercept=True, expand=True
        ),
        "sets": worlds.SemiBandit(unit_rows(rng, 12, 3), theta, oracles.TopK(3), noise=0.3),
        "sets, contexts": worlds.SemiBandit(
            unit_rows(rng, 12, 3), theta, oracles.TopK(3), rewards="sign", shown=8
        ),
        "promotions": worlds.Promotions(
            unit_rows(rng, 9, 3), rng.integers(0, 5, (9, 2)), k=2, shown=7
        ),
        "cascade": worlds.Cascade(np.linspace(0.1, 0.6, 8), oracles.TopK(3), unit_rows(rng, 8, 3)),
    }


def fits(policy: Policy, problem: Problem) -> bool:
    try:
        check_fit(policy, describe(problem))
    except ValueError:
        return False
    return True


def stands_for(policy: Policy, name: str, problem: Problem) -> bool:
    """Whether a standard problem is one to check a policy on: those of clicks are for policies with
    features that take no other rewards."""
    features = {"features", "contexts"} & set(accepts(policy))
    return fits(policy, problem) and (
        "clicks" not in name or bool(features and reward_range(policy) == (0.0, 1.0))
    )


def check_policy(policy: Policy, problems: Iterable[Problem] | None = None) -> None:
    """Check an instance of a policy on every kind of arms that it accepts.

    Checked is that compiled loops, sessions and uncompiled kernels make the same decisions to the
    bit; the same seed gives the same run, wherever a loop is cut; a session goes on after save and
    load; fields of whole numbers declare their kind; arms are in range and eligible; `explain`
    changes nothing; and a spec can name the policy.

    Parameters
    ----------
    policy : Policy
        The instance.
    problems : iterable of Problem
        To check it on; default a small one of every kind that fits.

    Raises
    ------
    Broken
        Where something does not hold, with what and on which problem.
    """
    if not is_policy(policy):
        raise ValueError(f"policy = {policy!r} is not an instance of a class made by @policy.")
    standard = standard_problems().items()
    chosen = (
        [problem for name, problem in standard if stands_for(policy, name, problem)]
        if problems is None
        else list(problems)
    )
    for problem in chosen:
        check_fit(policy, describe(problem))
    _check_name(policy)
    _check_all([(policy, problem) for problem in chosen])
    if "arms" in accepts(policy) and not type(policy).TRAITS.stops and (problems is None):
        play_loop(policy, worlds.Bernoulli([0.4]), 0, 1)


def check_problem(problem: Problem, policies: Iterable[Policy] | None = None) -> None:
    """Check a problem by itself and with policies.

    Checked is that `arms` describes what rounds show; regret is never negative, and falls as the
    mean rises; rewards average to `mean`; replications do not write into each other's arrays; and
    with every policy what `check_policy` checks.

    Parameters
    ----------
    problem : Problem
        The instance.
    policies : iterable of Policy
        To play it with; default one that fits.

    Raises
    ------
    Broken
        Where something does not hold, with what.
    """
    if not isinstance(problem, Problem):
        raise ValueError(f"problem = {problem!r} is not an instance of a class made by @problem.")
    usual = (
        find("UCB")(),
        find("LinUCB")(),
        find("CKLUCB")(lipschitz=1.0),
        find("C2UCB")(),
        find("CombUCB1")(),
    )
    chosen = (
        [policy for policy in usual if fits(policy, problem)][-1:]
        if policies is None
        else list(policies)
    )
    for policy in chosen:
        check_fit(policy, describe(problem))
    _check_rounds(problem)
    _check_all([(policy, problem) for policy in chosen])


def _check_all(pairs: Sequence[tuple[Policy, Problem]]) -> None:
    if not pairs:
        raise ValueError("there is nothing to check it with; pass a problem (or policy) that fits.")
    _say(f"uncompiled, every index checked: {len(pairs)} runs in another process")
    for (policy, problem), uncompiled in zip(
        pairs, digests_elsewhere(pairs, "NUMBA_DISABLE_JIT"), strict=True
    ):
        _say(
            f"{label(policy)} on {type(problem).__name__}: compiled, in steps, saved and loaded, "
            "under masks"
        )
        check_pair(policy, problem)
        _require(
            digest(policy, problem) == uncompiled,
            policy,
            problem,
            "differs between compiled and uncompiled kernels; use math.log, math.exp, math.sqrt "
            "and explicit loops in kernels",
        )


def _say(words: str) -> None:
    """On stderr: checks take from a second to a minute, most of it to compile what was never
    compiled before."""
    print(f"check: {words}", file=sys.stderr, flush=True)


def check_pair(policy: Policy, problem: Problem, seed: int = 3, masks: bool = True) -> None:
    """Check in one process a policy on a problem: loops, sessions, save and load, `explain`, and
    masks, which compile most."""
    log, state = play_loop(policy, problem, seed, HORIZON, cuts=(1, 17))
    whole, _ = play_loop(policy, problem, seed, HORIZON)
    _require(
        np.array_equal(log.pulls, whole.pulls),
        policy,
        problem,
        "plays differently when a loop is cut, or with the same seed again",
    )
    actions, stepped, session = play_session(policy, problem, seed)
    _check_kinds(policy, problem, session.state)
    moved = difference_between(state, stepped)
    _require(not moved, policy, problem, f"differs between loop and session in {moved}")
    _require(
        np.array_equal(np.bincount(actions, minlength=log.pulls.size), log.pulls),
        policy,
        problem,
        "differs between loop and session",
    )
    with tempfile.TemporaryDirectory() as folder:
        replay, reloaded, _ = play_session(
            policy, problem, seed, reload=pathlib.Path(folder) / "session.npz"
        )
    moved = difference_between(stepped, reloaded)
    _require(
        np.array_equal(actions, replay) and not moved,
        policy,
        problem,
        f"goes on differently after save and load {moved}".rstrip(),
    )
    _check_explanation(policy, problem, session, log.pulls)
    if masks:
        check_masks(policy, problem, seed)
    if type(policy).TRAITS.stops:
        arm, support = recommend(policy, session.state), evidence(policy, session.state)
        _require(
            0 <= arm < log.pulls.size,
            policy,
            problem,
            f"recommends arm {arm}, but arms are 0 to {log.pulls.size - 1}",
        )
        missing = {"gap_bound", "error", "samples_remaining"} - set(support)
        _require(not missing, policy, problem, f"has evidence without {', '.join(sorted(missing))}")


def _check_name(policy: Policy) -> None:
    name = type(policy).__name__
    try:
        copy = policy_from_spec(json.loads(json.dumps(policy_to_spec(policy))))
    except (ValueError, TypeError) as error:
        raise Broken(
            f"{label(policy)} cannot be made again from what a session file or spec says of it: "
            f"{error}"
        ) from None
    if type(copy) is not type(policy) or repr(copy) != repr(policy):
        raise Broken(
            f"{name} made again from {policy_to_spec(policy)} is {copy!r}; decode what the fields "
            "encode."
        )


def _check_kinds(policy: Policy, problem: Problem, state: State) -> None:
    """Whole numbers may be places in arrays, which compiled kernels do not check: what a file may
    put there must be declared."""
    for name, value in zip(state._fields, state, strict=True):
        if hasattr(value, "_fields"):
            _check_kinds(policy, problem, value)
        elif isinstance(value, np.ndarray):
            kind = kind_of(type(state), name)
            whole = [part for part in value.dtype.names or () if value.dtype[part].kind in "iu"]
            if isinstance(kind, Record):
                declared = all(part in kind.kinds for part in whole)
            else:
                declared = kind is not None or (not whole and value.dtype.kind not in "iu")
            words = (
                f"{type(state).__name__}.{name} holds whole numbers of no declared kind; annotate "
                "the field, as ArmIndex, Count or another kind of tightrope.extend"
            )
            _require(declared, policy, problem, words)


def _check_explanation(
    policy: Policy, problem: Problem, session: Session, pulls: np.ndarray
) -> None:
    if not explain.answers(policy):
        return
    K, frozen = pulls.size, {key: value.copy() for key, value in flatten(session.state).items()}
    before = session._agent.rng.bit_generator.state
    report = session.explain()
    moved = difference_between(frozen, flatten(session.state))
    _require(not moved, policy, problem, f"explain changes the state in {moved}")
    _require(
        session._agent.rng.bit_generator.state == before,
        policy,
        problem,
        "explain draws from the policy's own stream; draw from its rng",
    )
    missing = {"mean", "probability"} - set(report)
    _require(not missing, policy, problem, f"explain has no {', '.join(sorted(missing))}")
    mean, chance = np.asarray(report["mean"]), np.asarray(report["probability"])
    width = np.broadcast_to(
        report.get("width", 0.0), K
    )  # nothing may be known of an arm played: a baseline, or estimates made later
    known = mean.shape == (K,) and bool((np.isfinite(mean) | (width == np.inf))[pulls > 0].all())
    words = (
        f"explain's mean must be ({K},), and finite for the arms played; NaN only where the width "
        "is infinite"
    )
    _require(known, policy, problem, words)
    shown = (
        session._rounds.last.features if session._rounds.changing else None
    )  # the round that explain is about
    arms = np.atleast_1d(session.select(context=shown))
    right = (
        chance.shape == (K,) and (chance >= 0).all() and abs(float(chance.sum()) - arms.size) < 1e-6
    )
    words = (
        f"explain's probability must be ({K},), not negative, and sum to {arms.size}, the number "
        "of arms it plays"
    )
    _require(right, policy, problem, words)
    certain = session._agent.rng.bit_generator.state == before  # nothing was drawn
    agrees = (np.abs(chance[arms] - 1.0) < 1e-6).all() if certain else (chance[arms] > 0).all()
    _require(
        agrees,
        policy,
        problem,
        f"select plays {arms}, to which explain gives the probability {chance[arms]}",
    )


def check_masks(policy: Policy, problem: Problem, seed: int) -> None:
    session, world = session_on(policy, problem, seed, HORIZON), private(problem)
    draw, noise, masks = (
        stream(seed, 0, PROBLEM),
        stream(seed, 0, NOISE),
        np.random.default_rng(seed),
    )
    K, size = session.arms.number, _least_set(problem)
    for t in range(20):
        context = observe(world, t, draw)
        offered = np.arange(K) if context.eligible is None else np.flatnonzero(context.eligible)
        mask = np.zeros(K, dtype=np.bool_)
        mask[
            masks.choice(
                offered, size=min(offered.size, int(masks.integers(size, K + 1))), replace=False
            )
        ] = True
        masked_context = context._replace(eligible=mask)
        try:
            action = session.select(context=masked_context)
        except ValueError as error:
            _require(
                "select returned arm" not in str(error), policy, problem, NOT_ELIGIBLE
            )  # a session's check came first
            continue
        refused = np.flatnonzero(~mask[np.atleast_1d(action)])
        _require(not refused.size, policy, problem, NOT_ELIGIBLE)
        answer(session, action, play(world, masked_context, action, noise), masked_context)


def _least_set(problem: Problem) -> int:
    """Arms that a mask must leave: one, or as many as the largest set; all, where the oracle has
    rules of its own for what is enough."""
    arms = describe(problem)
    if arms.oracle is None:
        return 1
    return arms.number if arms.blocks > 1 else oracles.set_size(arms.oracle, arms.number)


def _check_rounds(problem: Problem) -> None:
    arms, name = describe(problem), type(problem).__name__
    K, world = arms.number, private(problem)
    before = {key: value.copy() for key, value in flatten(problem).items()}
    draw, noise = stream(1, 0, PROBLEM), stream(1, 0, NOISE)
    for t in range(3):
        context: Any = observe(world, t, draw)
        try:
            check_round(problem, arms, context)
        except ValueError as error:
            raise Broken(str(error)) from None
        if arms.oracle is None:
            _check_rewards(problem, world, context, noise, K)
    changed = difference_between(before, flatten(problem))
    if changed:
        raise Broken(
            f"{name}'s observe writes into {changed}, which all replications share; declare it as "
            "scratch()."
        )


def _check_rewards(
    problem: Problem, world: Problem, context: Context, noise: np.random.Generator, K: int
) -> None:
    name, arms = type(problem).__name__, describe(problem)
    offered = range(K) if context.eligible is None else np.flatnonzero(context.eligible)
    total = [float(mean(world, context, k)) + float(regret(world, context, k)) for k in offered]
    for k in offered:
        short = float(regret(world, context, k))
        if not short >= -1e-9:
            raise Broken(
                f"{name}'s regret of arm {k} is {short:g}, but no arm is better than the best."
            )
        rewards = np.array([play(world, context, k, noise) for _ in range(DRAWS)])
        if not np.isfinite(rewards).all():
            raise Broken(f"{name}'s play returned a reward of arm {k} that is not a finite number.")
        if arms.rewards is not None and (
            rewards.min() < arms.rewards[0] or rewards.max() > arms.rewards[1]
        ):
            raise Broken(
                f"{name}'s play returned rewards from {rewards.min():g} to {rewards.max():g}, but "
                f"arms says {arms.rewards}."
            )
        expected, error = float(mean(world, context, k)), float(rewards.std()) / np.sqrt(DRAWS)
        if abs(float(rewards.mean()) - expected) > DEVIATIONS * error + 1e-9:
            raise Broken(
                f"{name}'s rewards of arm {k} average {rewards.mean():.4g} (se {error:.2g}), but "
                f"its mean says {expected:.4g}."
            )
    if np.ptp(total) > 1e-9:
        raise Broken(
            f"{name}'s mean and regret do not add up to the same best value for all arms, but to "
            f"{min(total):g} to {max(total):g}."
        )


# Runs ---------------------------------------------------------------------------------------------


def play_loop(
    policy: Policy, problem: Problem, seed: int, horizon: int = HORIZON, cuts: tuple[int, ...] = ()
) -> tuple[RunLog, dict[str, np.ndarray]]:
    """The log and the flattened state after a run in the engine's loop, cut into several calls."""
    run = prepare(policy, World(problem), seed, 0, horizon)
    log = new_log(np.arange(1, horizon + 1), run.arms.number)
    tally = begin(NoMonitor(), run.arms, horizon)
    loop = loop_for(fixed_horizon, policy, problem)
    for first, last in itertools.pairwise([0, *cuts, horizon]):
        run.state, _ = loop(
            run.policy,
            run.state,
            run.problem,
            AtOnce(),
            NoMonitor(),
            tally,
            log,
            first,
            last,
            *run.streams,
            run.late,
        )
    return log, flatten(run.state)


def play_checked(
    policy: Policy, problem: Problem, seed: int, horizon: int = HORIZON
) -> tuple[RunLog, dict[str, np.ndarray]]:
    """The same in plain Python, with every choice checked before it is played; under random masks
    too."""
    run = prepare(policy, World(problem), seed, 0, horizon)
    log, K = new_log(np.arange(1, horizon + 1), run.arms.number), run.arms.number
    draw, noise, own = run.streams
    for t in range(horizon):
        context = observe(run.problem, t, draw)
        action = select(policy, run.state, context, own)
        arms = np.atleast_1d(action)
        _require(
            arms.dtype.kind in "iu",
            policy,
            problem,
            f"select returned {action!r}; it must be an arm (int) or a set of arms (int array)",
        )
        for arm in arms:
            _require(
                0 <= arm < K,
                policy,
                problem,
                f"select returned arm {arm}, but arms are 0 to {K - 1}",
            )
            eligible = context.eligible is None or context.eligible[arm]
            _require(
                bool(eligible),
                policy,
                problem,
                f"select returned arm {arm}, which is not eligible in round {t}",
            )
        run.state = commit(policy, run.state, context, action)
        reward = play(run.problem, context, action, noise)
        run.state = update(policy, run.state, context, rewarded_arms(action, reward), reward)
        note(log.pulls, action)
        log.total[0] += regret(run.problem, context, action)
        log.regret[t] = log.total[0]
    check_masks(policy, problem, seed)
    return log, flatten(run.state)


def session_on(policy: Policy, problem: Problem, seed: int, horizon: int | None) -> Session:
    """A session on the arms of a problem, which plays what the policy itself would, also after it
    has stopped, as loops do."""
    arms = describe(problem)
    arguments: Arguments = {"arms": arms.rows if arms.features is None else arms.features}
    if arms.points is not None or arms.distances is not None:
        arguments = (
            {"points": arms.points} if arms.points is not None else {"distances": arms.distances}
        )
    if arms.features is None and arms.dimension:
        arguments["dimension"] = arms.dimension
    return Session(
        with_rewards(policy, arms),
        **arguments,
        oracle=arms.oracle,
        horizon=horizon,
        seed=seed,
        after_stop="explore",
    )


def answer(
    session: Session, action: Action, reward: float | np.ndarray, context: Context | None
) -> None:
    """Tell a session what came of its choice; arms of a set that were not looked at never get a
    reward."""
    session.update(rewarded_arms(action, reward), reward, context=context)
    for id in session.open:
        session.close(id)


def play_session(
    policy: Policy,
    problem: Problem,
    seed: int,
    horizon: int = HORIZON,
    reload: pathlib.Path | None = None,
) -> tuple[np.ndarray, dict[str, np.ndarray], Session]:
    """Arms, flattened state and the session of the same rounds one decision at a time. reload: save
    and load there in the middle."""
    session, world = session_on(policy, problem, seed, horizon), private(problem)
    draw, noise = stream(seed, 0, PROBLEM), stream(seed, 0, NOISE)
    actions = []
    for t in range(horizon):
        if reload is not None and t == horizon // 2:
            session.save(reload)
            session = Session.load(reload, policy=session.policy)
        context = observe(world, t, draw)
        shown_context = None if all(item is None for item in context) else context
        action = session.select(context=shown_context)
        answer(session, action, play(world, context, action, noise), shown_context)
        actions.append(np.atleast_1d(action))
    return np.concatenate(actions), flatten(session.state), session


def difference_between(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]) -> str:
    names = sorted(first.keys() ^ second.keys())
    for key in first.keys() & second.keys():
        if not np.array_equal(first[key], second[key], equal_nan=first[key].dtype.kind == "f"):
            names.append(key)
    return ", ".join(names)


def digest(policy: Policy, problem: Problem) -> list[str]:
    """Regret, pulls and the sums of all arrays of the state after a run in the engine's loop, to
    the bit."""
    return _digest(*play_loop(policy, problem, SEED))


def _digest(log: RunLog, state: Mapping[str, np.ndarray]) -> list[str]:
    columns = [
        item
        for value in state.values()
        for item in ((value[name] for name in value.dtype.names) if value.dtype.names else (value,))
    ]
    sums = (float(np.nansum(item)) for item in columns if item.dtype.kind in "fi")
    return [float(number).hex() for number in (log.regret.sum(), *log.pulls.tolist(), *sums)]


def digests_elsewhere(
    pairs: Sequence[tuple[Policy, Problem]], mode: str, environment: Mapping[str, str] | None = None
) -> list[list[str]]:
    """Digests of (policy, problem) pairs from a process where `mode` (NUMBA_DISABLE_JIT or
    NUMBA_BOUNDSCHECK) is set.

    A class that no other process can import, as in a notebook, is checked in this one, its kernels
    uncompiled but not what they call.
    """
    if not all(findable(part) for pair in pairs for item in pair for part in _code_of(item)):
        with _uncompiled({type(item) for pair in pairs for item in pair}):
            return [_named_errors(policy, problem, play_checked) for policy, problem in pairs]
    settings = (
        os.environ
        | {mode: "1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        | dict(environment or {})
    )
    done = subprocess.run(
        [sys.executable, "-c", "from tightrope.testing import _answer; _answer()"],
        input=pickle.dumps(list(pairs)),
        env=settings,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise Broken(
            f"the process that runs the kernels with {mode}=1 failed: "
            f"{words[-1] if words else f'exit code {done.returncode}'}."
        )
    answer = json.loads(done.stdout.splitlines()[-1])
    if "broken" in answer:
        raise Broken(answer["broken"])
    return [list(item) for item in answer["digests"]]


def _code_of(item: Iterable[object]) -> list[type | FunctionType]:
    """The parts of a policy or problem that another process must find: its class, and the functions
    that it holds."""
    return [type(item), *(part for part in item if inspect.isfunction(part))]


def _answer() -> None:
    """Read pairs from stdin in the other process and write their digests to stdout."""
    gc.disable()  # it compiles and ends
    pairs = pickle.load(sys.stdin.buffer)
    try:
        answer: dict[str, object] = {
            "digests": [
                _named_errors(policy, problem, play_checked if INTERPRETED else play_loop)
                for policy, problem in pairs
            ]
        }
    except Broken as broken:
        answer = {"broken": str(broken)}
    print(json.dumps(answer))


def _named_errors(
    policy: Policy,
    problem: Problem,
    play_rounds: Callable[[Policy, Problem, int], tuple[RunLog, dict[str, np.ndarray]]],
) -> list[str]:
    try:
        return _digest(*play_rounds(policy, problem, SEED))
    except Broken:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{pathlib.Path(last.filename).name}, line {last.lineno}"
        raise Broken(
            f"{label(policy)} on {type(problem).__name__} failed: {type(error).__name__}: {error} "
            f"({where})."
        ) from error


@contextlib.contextmanager
def _uncompiled(classes: set[type]) -> Iterator[None]:
    """Verbs call the plain functions behind these classes' kernels."""
    compiled = [
        (cls, name, method)
        for cls in classes
        for name in VERBS
        if is_kernel(method := getattr(cls, name, None))
    ]
    own = {(cls, name) for cls, name, _ in compiled if name in vars(cls)}
    try:
        for cls, name, kernel in compiled:
            setattr(cls, name, python_of(kernel))
        yield
    finally:
        for cls, name, kernel in compiled:
            if (cls, name) in own:
                setattr(cls, name, kernel)
            else:
                delattr(cls, name)


def _require(condition: object, policy: Policy, problem: Problem, words: str) -> None:
    if not condition:
        raise Broken(f"{label(policy)} on {type(problem).__name__}: {words}.")

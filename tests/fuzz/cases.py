"""Random calls of constructors, sessions and runs: the answer is a result or a sentence, and a
refused call changes nothing.

`python tests/fuzz/cases.py sessions 2000 0` plays 2,000 cases from seed 0 and exits with 1 at the
first that fails, naming the call and its arguments. NUMBA_DISABLE_JIT=1 saves the compilation.
"""

import math
import pathlib
import sys
import warnings
from typing import Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import tightrope as tr
from fuzz.values import draw, is_a_sentence, told
from tightrope.core import checks
from tightrope.core.policy import base_of, is_policy, parameters
from tightrope.core.registry import named_policies, policy_from_spec, policy_to_spec
from tightrope.policies import examples
from tightrope.session.codec import flatten

X = np.array([[1.0, 0.0, 0.2], [0.6, 0.8, 0.0], [0.0, 0.5, 0.5]])
THETA = [0.2, 0.3, 0.1]
POINTS = [0.0, 0.4, 1.0]
MEANS = [0.3, 0.5, 0.4]

CONSTRUCTORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Bernoulli": (tr.problems.Bernoulli, {"means": MEANS}),
    "Gaussian": (tr.problems.Gaussian, {"means": MEANS, "sd": 1.0}),
    "Linear": (
        tr.problems.Linear,
        {"arms": X, "theta": THETA, "noise": 0.1, "rewards": "gaussian"},
    ),
    "ContextualLinear": (
        tr.problems.ContextualLinear,
        {"theta": THETA, "arms": 3, "noise": 0.1, "rewards": "gaussian"},
    ),
    "Lipschitz": (
        tr.problems.Lipschitz,
        {
            "points": POINTS,
            "means": MEANS,
            "lipschitz": 1.0,
            "distances": None,
            "rewards": "bernoulli",
            "noise": 1.0,
            "best": None,
        },
    ),
    "ContextualLipschitz": (
        tr.problems.ContextualLipschitz,
        {
            "contexts": [0.0, 1.0],
            "points": POINTS,
            "means": [MEANS, MEANS],
            "lipschitz": 1.0,
            "frequencies": None,
            "noise": 1.0,
        },
    ),
    "SemiBandit": (
        tr.problems.SemiBandit,
        {"arms": X, "theta": THETA, "oracle": tr.oracles.TopK(2), "noise": 0.1, "shown": None},
    ),
    "Cascade": (tr.problems.Cascade, {"means": MEANS, "oracle": tr.oracles.TopK(2), "arms": None}),
    "Promotions": (
        tr.problems.Promotions,
        {"features": X, "rewards": [[1, 2], [2, 1], [0, 3]], "k": 1, "shown": None},
    ),
    "ContextualSpread": (
        tr.problems.ContextualSpread,
        {"theta": [0.6, 0.8], "arms": 4, "noise": 0.1, "baseline_rank": 2},
    ),
    "spread_arms": (
        tr.problems.spread_arms,
        {"number": 4, "theta": [0.6, 0.8], "rng": np.random.default_rng(0)},
    ),
    "TopK": (tr.oracles.TopK, {"k": 2}),
    "Knapsack": (tr.oracles.Knapsack, {"costs": [1.0, 2.0, 1.0], "budget": 2.0}),
    "Partition": (tr.oracles.Partition, {"categories": ["a", "b", "b"], "limit": 1, "k": 2}),
    "Path": (
        tr.oracles.Path,
        {"tail": [0, 0, 1], "head": [1, 2, 2], "source": 0, "target": 2},
    ),
    "SpanningTree": (tr.oracles.SpanningTree, {"u": [0, 0, 1], "v": [1, 2, 2]}),
    "Matching": (
        tr.oracles.Matching,
        {"left": [0, 0, 1], "right": [0, 1, 0], "perfect": True},
    ),
    "Promotions oracle": (tr.oracles.Promotions, {"promotions": 2, "k": 1}),
    "Budget": (tr.Budget, {"baseline": 0, "alpha": 0.1, "checkpoint": 1}),
    "lipschitz_lower_bound": (
        tr.lipschitz_lower_bound,
        {
            "means": MEANS,
            "points": POINTS,
            "lipschitz": 1.0,
            "divergence": "bernoulli",
            "sigma": 1.0,
            "contexts": None,
        },
    ),
    "Encoder": (
        tr.Encoder,
        {
            "columns": {"x": "number"},
            "cross": (("x", "y"),),
            "levels": 5,
            "buckets": 4,
            "intercept": False,
        },
    ),
    "discretize": (tr.discretize, {"horizon": 100, "exponent": 1.0}),
}
PLAYED = {type(one): parameters(one) for one in examples(tr.problems.Linear(X, THETA)).values()}
for _name, _item in named_policies():
    _given, _fields = PLAYED.get(base_of(_item), {}), _item.FIELDS.items()
    CONSTRUCTORS[_name] = _item, {name: _given[name] for name, field in _fields if field.required}


class Failed(Exception):
    """A case that neither succeeded nor was refused with a sentence."""


def attempt(number: int, call: Any, what: str, given: dict[str, Any]) -> Any:
    """The result of a call, or the ValueError it was refused with; anything else fails with the
    case."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(**given)
    except Exception as error:
        if isinstance(error, ValueError) and is_a_sentence(error):
            return error
        shown = ", ".join(f"{key}={told(value)}" for key, value in given.items())
        raise Failed(
            f"case {number}: {what}({shown}) raised {type(error).__name__}: {str(error)[:300]}"
        ) from error


def spoilt(rng: np.random.Generator, given: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The arguments with one or two of them replaced."""
    wrong = rng.choice(names, size=min(len(names), 1 + int(rng.random() < 0.3)), replace=False)
    return given | {str(name): draw(rng) for name in wrong}


def constructors(cases: list[np.random.Generator]) -> None:
    names, accepted = list(CONSTRUCTORS), 0
    for number, rng in enumerate(cases):
        name = names[int(rng.integers(len(names)))]
        make, given = CONSTRUCTORS[name]
        fields = list(make.FIELDS) if hasattr(make, "FIELDS") else list(given)
        wrong = spoilt(rng, given, fields) if fields else {}
        if callable(wrong.get("oracle")) and not isinstance(wrong["oracle"], tr.oracles.TopK):
            continue  # an oracle of one's own is called, and raises what it raises
        made = attempt(number, make, name, wrong)
        if is_policy(made):
            accepted += 1
            assert repr(policy_from_spec(policy_to_spec(made))) == repr(made), f"case {number}"
    assert 0.02 * len(cases) < accepted < 0.9 * len(cases)


SESSIONS: dict[str, Any] = {
    "UCB": lambda: tr.Session(tr.UCB(), arms=3),
    "BetaThompson": lambda: tr.Session(tr.BetaThompson(), arms=3),
    "LinTS": lambda: tr.Session(tr.LinTS(), arms=X),
    "LinUCB, contexts": lambda: tr.Session(tr.LinUCB(), arms=3, dimension=3),
    "CUCB2": lambda: tr.Session(tr.CUCB2(baseline=0), arms=3),
    "CKLUCB": lambda: tr.Session(tr.CKLUCB(lipschitz=1.0), points=POINTS),
    "LinGapE": lambda: tr.Session(tr.LinGapE(), arms=X),
    "C2UCB": lambda: tr.Session(tr.C2UCB(), arms=X, oracle=tr.oracles.TopK(2)),
    "CombUCB1": lambda: tr.Session(tr.CombUCB1(), arms=3, oracle=tr.oracles.TopK(2)),
    "C2UCB, promotions": lambda: tr.Session(
        tr.C2UCB(), arms=X, oracle=tr.oracles.Promotions(promotions=2, k=1)
    ),
}
STARTS = {
    "policy": tr.UCB(),
    "arms": 3,
    "points": None,
    "distances": None,
    "dimension": None,
    "oracle": None,
    "horizon": None,
    "seed": 0,
    "encoder": None,
}
FRESH_AFTER = 40  # cases, so that extreme rewards which are legal do not pile up


def frozen(session: tr.Session) -> dict[str, Any]:
    return {key: value.copy() for key, value in flatten(session.state).items()} | {
        "rounds": session.rounds,
        "rng": repr(session._agent.rng.bit_generator.state),
    }


def equal(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(
        np.array_equal(value, second[key], equal_nan=True)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else np.array_equal(value, second[key])
        for key, value in first.items()
    )


def random_call(rng: np.random.Generator, name: str, arms: int) -> tuple[str, dict[str, Any]]:
    """A method of a session and arguments, right or wrong."""

    def either(right: Any, chance: float = 0.5) -> Any:
        return draw(rng) if rng.random() < chance else right

    def context() -> Any:
        features = (
            rng.normal(size=(3, 3)) if name.endswith("contexts") or rng.random() < 0.2 else None
        )
        kind = rng.random()
        if kind < 0.2:
            return draw(rng)
        if kind < 0.6:
            return features
        return tr.Context(
            either(features, 0.2), either(None, 0.2), either(None, 0.2), either(None, 0.2)
        )

    action = int(rng.integers(4))
    if action == 0:
        right = rng.random(arms) < 0.8
        return "select", {
            "context": context(),
            "eligible": either(None if rng.random() < 0.5 else right, 0.3),
        }
    if action == 1:
        return "explain", {"context": context(), "eligible": either(None)}
    if action == 2 and rng.random() < 0.2:
        return "recommend", {}
    if action == 2 and rng.random() < 0.3:
        shown = (
            rng.normal(size=(2, 3, 3) if rng.random() < 0.5 else (2, 3))
            if name.endswith("contexts")
            else None
        )
        ids = [f"{rng.integers(10**9)}", int(rng.integers(10**9))]
        return "decide_many", {
            "contexts": either(shown, 0.4),
            "ids": either(ids, 0.4),
            "eligible": either(None, 0.2),
            "number": either(2, 0.2),
        }
    if action == 2 and rng.random() < 0.3:
        return "reward_many", {"ids": either(["#1", "#2"]), "values": either([0.5, 0.5])}
    arm: Any = int(rng.integers(arms))
    reward: Any = float(rng.random())
    if name.startswith("C2UCB"):
        arm, reward = [arm, int(rng.integers(arms))], [reward, reward]
    return "update", {"arm": either(arm, 0.4), "reward": either(reward, 0.4), "context": context()}


def sessions(cases: list[np.random.Generator]) -> None:
    """A refused call leaves state, rounds and random stream as they were; an accepted one answers
    with arms that exist."""
    open_sessions = {name: make() for name, make in SESSIONS.items()}
    used, answered = dict.fromkeys(open_sessions, 0), 0
    for number, rng in enumerate(cases):
        if number % 10 == 9:
            attempt(number, tr.Session, "Session", spoilt(rng, STARTS, list(STARTS)))
            continue
        name = list(open_sessions)[int(rng.integers(len(open_sessions)))]
        used[name] += 1
        if used[name] % FRESH_AFTER == 0:
            open_sessions[name] = SESSIONS[name]()
        session = open_sessions[name]
        before, changing = frozen(session), session._rounds.changing
        method, given = random_call(rng, name, session.arms.number)
        found = attempt(number, getattr(session, method), f"{name}.{method}", given)
        if isinstance(found, ValueError):
            assert equal(before, frozen(session)), (
                f"case {number}: {name}.{method} was refused with {found} and changed the session"
            )
            assert session._rounds.changing == changing, f"case {number}"
        elif method == "select":
            answered += 1
            chosen = np.atleast_1d(found)
            assert ((chosen >= 0) & (chosen < session.arms.number)).all(), f"case {number}"
        elif method == "explain":
            assert equal(before, frozen(session)) or session._rounds.changing != changing, (
                f"case {number}: explain changed the session"
            )
    assert answered > 0.03 * len(cases)


PROBLEM = tr.problems.Bernoulli([0.3, 0.6])
QUESTION = tr.problems.Linear(X, THETA, noise=0.1)
RUNS: dict[str, tuple[Any, dict[str, Any]]] = {
    "simulate": (
        tr.simulate,
        {
            "problem": PROBLEM,
            "policies": {"a": tr.UCB()},
            "horizon": 8,
            "replications": 1,
            "seed": 0,
            "checkpoints": None,
            "monitor": None,
            "workers": 1,
        },
    ),
    "identify": (
        tr.identify,
        {
            "problem": QUESTION,
            "policies": {"a": tr.LinGapE(noise=0.1)},
            "replications": 1,
            "seed": 0,
            "max_rounds": 20,
            "budget": None,
            "workers": 1,
        },
    ),
}
LONG = ("horizon", "max_rounds", "budget", "replications")  # where a legal number may mean an hour


def runs(cases: list[np.random.Generator]) -> None:
    """`simulate` and `identify` answer with finite numbers or refuse with a sentence, whatever they
    are given."""
    done = 0
    for number, rng in enumerate(cases):
        name = "identify" if rng.random() < 0.3 else "simulate"
        run, given = RUNS[name]
        wrong = given | {"seed": number} if rng.random() < 0.1 else spoilt(rng, given, list(given))
        if callable(wrong.get("monitor")):
            continue  # a function of the problem is called, and raises what it raises
        for key in LONG:
            size = checks._float(wrong.get(key))
            if size is not None and 300 < size <= checks.MOST_ROUNDS:
                wrong[key] = 5
        found = attempt(number, run, name, wrong)
        if isinstance(found, tr.Result):
            done += 1
            for curve in found.regret.values():
                assert np.isfinite(curve).all(), f"case {number}"
            for pulls in found.pulls.values():
                assert (pulls.sum(axis=1) == pulls.sum(axis=1)[0]).all(), f"case {number}"
        elif isinstance(found, tr.Identification):
            done += 1
            assert all(
                math.isfinite(value) for rounds in found.rounds.values() for value in rounds
            ), f"case {number}"
    assert done > 0.05 * len(cases)


if __name__ == "__main__":
    kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    try:
        {"constructors": constructors, "sessions": sessions, "runs": runs}[kind](
            [np.random.default_rng([seed, n]) for n in range(count)]
        )
    except (Failed, AssertionError) as failure:
        sys.exit(str(failure))

"""What every policy does on every standard problem, as numbers that must not move.

`python tests/golden/record.py` prints them as JSON, with `--quick` those that `make test` compares;
`--add` stores those of new policies and problems in golden.json; `--save` stores all anew. A change
of what is stored is a change of results: say why in the changelog.
"""

import hashlib
import itertools
import json
import pathlib
import sys
import warnings
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import pinned  # noqa: F401

# isort: split
import numpy as np

import tightrope as tr
from standard import all_pairs, problems, quick_pairs, session_for, stands_for
from tightrope.core.policy import accepts, base_of, label
from tightrope.core.streams import NOISE, PROBLEM, stream
from tightrope.core.verbs import observe, play, private
from tightrope.policies import examples
from tightrope.testing import answer

STORED = pathlib.Path(__file__).parent / "golden.json"
HORIZON, STEPS, ROUNDS = 400, 40, 3000


def policies() -> dict[str, Any]:
    """Every example, and every registered name that works with its defaults or with a baseline of
    known mean."""
    found = {label(policy): policy for policy in examples().values()}
    given_as_examples = list(found.values())
    for name, item in vars(tr.policies).items():
        if name in tr.__all__ and not any(
            text.startswith((f"{name}(", name)) and text.split("(")[0] == name for text in found
        ):
            every = {"checkpoint": 7} if hasattr(item, "NEEDED") else {}
            given = (
                item(baseline=0, baseline_mean=0.4, alpha=0.2, sigma=0.3, **every)
                if base_of(item) is tr.Conservative
                else item()
            )
            if given not in given_as_examples:  # OFUL() is one of LinUCB's
                found[name] = given
    return found


def _sha(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        counts = array.dtype == np.int64  # as they were recorded
        digest.update(np.ascontiguousarray(array, dtype=np.float64 if counts else None).tobytes())
    return digest.hexdigest()[:16]


def _numbers(report: dict[str, Any]) -> dict[str, Any]:
    """A weighted sum of every array of an explanation (exact order matters, so a swap shows), and
    its words."""
    found: dict[str, Any] = {}
    for key, value in report.items():
        if isinstance(value, dict):
            found |= {f"{key}.{inner}": item for inner, item in _numbers(value).items()}
        elif isinstance(value, str):
            found[key] = value
        elif key == "promises":
            for i, line in enumerate(value):
                found |= {f"{key}.{i}.{inner}": item for inner, item in _numbers(line).items()}
        else:
            array = np.atleast_1d(np.asarray(value, dtype=np.float64)).reshape(-1)
            finite = np.isfinite(array)
            found[key] = [
                float((array[finite] * np.sqrt(1.0 + np.flatnonzero(finite))).sum()),
                int((~finite).sum()),
            ]
    return found


def explanation(policy: Any, problem: Any) -> dict[str, Any]:
    """What a session says after STEPS rounds."""
    session = session_for(policy, problem, 3, HORIZON)
    problem = private(problem)
    problem_rng, noise_rng = stream(3, 0, PROBLEM), stream(3, 0, NOISE)
    for t in range(STEPS):
        context = observe(problem, t, problem_rng)
        seen = None if all(item is None for item in context) else context
        action = session.select(context=seen)
        answer(session, action, play(problem, context, action, noise_rng), seen)
    report = _numbers(session.explain())
    if type(policy).TRAITS.stops:
        report |= _numbers(session.recommend())
    return report


def one(policy: Any, problem: Any) -> dict[str, Any]:
    """Regret, pulls, stopping times and an explanation of one pair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: dict[str, Any] = {}
        if type(policy).TRAITS.stops:
            named = tr.identify(
                problem, {"x": policy}, replications=2, seed=11, max_rounds=ROUNDS, workers=1
            )
            found["rounds"], found["arm"] = named.rounds["x"].tolist(), named.arm["x"].tolist()
            found["identify"] = _sha(named.pulls["x"], named.stopped["x"])
        result = tr.simulate(
            problem, {"x": policy}, horizon=HORIZON, replications=2, seed=11, workers=1
        )
        found["regret"] = [float(value).hex() for value in result.regret["x"][:, -1]]
        found["path"], found["pulls"] = _sha(result.regret["x"]), _sha(result.pulls["x"])
        found["explain"] = explanation(policy, problem)
    return found


def record(known: frozenset[str] = frozenset()) -> dict[str, Any]:
    """All pairs that are not known; policies for independent arms on the first problem only."""
    found = {}
    for (name, policy), (kind, problem) in itertools.product(
        policies().items(), problems().items()
    ):
        if name == "XYOracle" and hasattr(problem, "theta"):
            policy = tr.XYOracle(theta=problem.theta, epsilon=0.2)
        elif name == "XYOracle":
            continue
        if stands_for(policy, kind, problem) and (
            kind == "bernoulli" or accepts(policy) != ("arms",)
        ):
            pair = f"{name} on {kind}"
            if pair not in known:
                found[pair] = one(policy, problem)
    return found


def quick() -> set[str]:
    """Those of the stored pairs whose compiled kernels `make test` compares with uncompiled ones.

    XYOracle is stored by its class alone, because its example names the theta of the problem.
    """
    return json.loads(STORED.read_text()).keys() & (
        quick_pairs(all_pairs()) | {"XYOracle on linear"}
    )


def differences(wanted: dict[str, Any], got: dict[str, Any], tolerance: float = 1e-9) -> list[str]:
    """What moved: decisions and regret to the bit, explanations (SciPy, BLAS) to `tolerance`
    relative."""
    moved = [f"{pair} is missing" for pair in wanted.keys() - got.keys()] + [
        f"{pair} is new" for pair in got.keys() - wanted.keys()
    ]
    for pair in sorted(wanted.keys() & got.keys()):
        first, second = wanted[pair], got[pair]
        moved += [
            f"{pair}: {key}" for key in first if key != "explain" and first[key] != second.get(key)
        ]
        told, tells = first["explain"], second["explain"]
        for key, value in told.items():
            if key not in tells:
                moved.append(f"{pair}: explain no longer has {key}")
            elif isinstance(value, str) or isinstance(tells[key], str):
                if value != tells[key]:
                    moved.append(f"{pair}: explain {key}: {value!r} -> {tells[key]!r}")
            elif value[1] != tells[key][1] or abs(value[0] - tells[key][0]) > tolerance * max(
                1.0, abs(value[0])
            ):
                moved.append(f"{pair}: explain {key}: {value[0]:.12g} -> {tells[key][0]:.12g}")
    return moved


if __name__ == "__main__":
    if "--add" in sys.argv:
        before = json.loads(STORED.read_text())
        numbers = before | record(frozenset(before))
    elif "--quick" in sys.argv:
        numbers = record(frozenset(json.loads(STORED.read_text())) - quick())
    else:
        numbers = record()
    text = json.dumps(numbers, indent=1, sort_keys=True)
    if "--add" in sys.argv or "--save" in sys.argv:
        STORED.write_text(text + "\n")
    else:
        print(text)

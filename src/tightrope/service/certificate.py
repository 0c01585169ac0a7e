"""The certificate: what an experiment promises, what it rests on, and how it stands, bound to the head of the log by a signature."""

import hashlib
import json
from typing import Any

from .chronicle import Chronicle
from .operations import stamp
from .signing import agrees, signature

KIND = "tightrope certificate 1"


def certificate(told: dict[str, Any], story: Chronicle, key: bytes, issued: int) -> dict[str, Any]:
    """A certificate of how an experiment stands. told: by the writer, see `operations.standing`. issued: microseconds since 1970."""
    held, spec = told["holdings"], told["spec"]
    budget = None
    if held is not None:
        budget = {
            "bound": held["budget_bound"],
            "lowest_bound": min(held["budget_bound"], held["budget_bound"] if story.lowest is None else story.lowest),
            "over_time": [[point.decisions, point.budget] for point in story.shown() if point.budget is not None],
            "alpha": held["alpha"], "delta": held["delta"], "sigma": held["sigma"],
        }  # fmt: skip
    body = {
        "kind": KIND,
        "experiment": told["name"],
        "issued": stamp(issued),
        "log": {"events": told["seq"], "digest": told["digest"], "time": stamp(story.time)},
        "policy": spec["policy"],
        "baseline": spec.get("baseline"),
        "baseline_mean": spec.get("baseline_mean"),
        "budget": budget,
        "open": {"decisions": told["open"], "charged": charge(held)},
        "decisions": story.decisions,
        "baseline_share": story.usual / story.decisions if story.decisions else None,
        "mode": told["rollout"]["mode"],
        "modes": [one | {"time": stamp(one["time"])} for one in story.modes],
        "estimate": told["rollout"]["estimate"],
        "promise": promise(held, spec),
        "assumptions": assumptions(held, spec, told["rollout"]),
    }
    text = canonical(body)
    return body | {"sha256": hashlib.sha256(text).hexdigest(), "hmac_sha256": signature(key, text)}


def canonical(body: dict[str, Any]) -> bytes:
    """The text that is signed: keys in order, no spaces."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def check(given: dict[str, Any], key: bytes) -> list[str]:
    """What is wrong with a certificate; none: it is one of this service, and nothing of it was changed."""
    body = {name: value for name, value in given.items() if name not in ("sha256", "hmac_sha256")}
    if body.get("kind") != KIND or not isinstance(given.get("hmac_sha256"), str):
        return ["It is not a certificate of this kind."]
    text = canonical(body)
    wrong = []
    if hashlib.sha256(text).hexdigest() != given.get("sha256"):
        wrong.append("Its digest is not that of its content: it was changed.")
    if not agrees(key, text, given["hmac_sha256"]):
        wrong.append("Its signature is not that of this database's service.")
    return wrong


def charge(held: dict[str, Any] | None) -> str:
    """What open decisions count for, in words."""
    if held is None:
        return "Nothing: this policy keeps no budget."
    open, charged = held["open"], held["open"]["charged"]
    usual = "as whatever is worst for the policy" if held["learned"] else "as having earned its mean"
    if held["sets"]:
        return f"The rewards of {open['arms']} arms are open: those of the policy's sets count as nothing, a set of the baseline {usual}."
    if charged != charged:
        return f"{open['decisions']} open decisions of the policy are bounded together with all others by the regression's confidence set."
    if charged == 0.0:
        own, others = open["decisions"], open["baseline"]
        return f"{own} open decisions of the policy count as having earned nothing, {others} of the baseline {usual}."
    return f"{open['decisions']} open decisions of the policy count as having earned at least {charged:.6g}."


def promise(held: dict[str, Any] | None, spec: dict[str, Any]) -> str:
    """What is promised, in a sentence, and what it does not cover."""
    if held is None:
        return "None: the policy keeps no budget. Create the experiment with a baseline and alpha for a promise."
    alpha, delta, others = held["alpha"], held["delta"], unguarded(spec)
    where = rounds(held["checkpoint"], held["min_gap"])
    if others:
        where = ("whenever" if where == EVERY else f"{where}, where") + " the policy itself has played an arm other than the baseline,"
    sure = (
        f"With probability at least {1 - delta:.6g}, {where} the expected reward of all decisions so far is at least "
        f"{1 - alpha:.6g} times what the baseline alone would have earned."
    )
    if not others:
        return sure
    return (
        f"{sure} The promise covers what the policy decides. What production plays besides the baseline ({', '.join(others)}; "
        "rollout.production) is counted but not guarded: while it is served the reward may be less."
    )


EVERY = "in every round"


def rounds(checkpoint: list[int], min_gap: int) -> str:
    """When the promise holds. checkpoint: [-T] for every T-th round, else those that were listed; after the last one it holds always."""
    if checkpoint[0] == -1 and min_gap <= 0:
        return EVERY
    if min_gap > 0:
        return f"at every checkpoint, of which two are at least {min_gap} rounds apart,"
    if checkpoint[0] < 0:
        return f"at checkpoints, after every {-checkpoint[0]} decisions,"
    listed = ", ".join(map(str, checkpoint[:10])) + (f", .., {checkpoint[-1]}" if len(checkpoint) > 10 else "")
    return f"at checkpoints, after {listed} decisions and always after the last of them,"


def unguarded(spec: dict[str, Any]) -> list[str]:
    """Arms other than the baseline that production plays."""
    production = (spec.get("rollout") or {}).get("production") or {}
    return [arm for arm in production if arm != spec.get("baseline")]


def assumptions(held: dict[str, Any] | None, spec: dict[str, Any], rollout: dict[str, Any]) -> list[str]:
    """What the certificate's numbers rest on, in words."""
    found = [] if held is None else guarantees(held, spec)
    if rollout["estimate"] is not None:
        found += [
            "Every reward is within the declared range, and a decision without a reward is as good as one with it.",
            "The difference between policy and baseline is bounded at all times at once, "
            f"each side with error {rollout['estimate']['error']:.3g}.",
        ]
    if spec.get("default_reward") is not None:
        found.append(f"A decision without a reward when its window closes has earned {spec['default_reward']:.6g}.")
    return [*found, "Each decision was carried out as it was answered, and each reward was reported once and truly."]


def guarantees(held: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    """What the budget rests on; docs/explanation/conservative-guarantee.md says why."""
    found = [
        f"Rewards are at least 0, and their noise is sub-Gaussian with scale sigma = {held['sigma']:.6g} "
        "(1/2 is enough for any reward between 0 and 1).",
    ]
    if held["freedman"]:
        found.append("The reward of an arm differs from what it earns on average by at most 1.")
    if not held["sets"]:
        found.append("What an arm earns on average is between 0 and 1.")
    if held["norms"] is None:
        found.append("What an arm earns on average does not change during the experiment.")
        if held["learned"]:
            found.append("Rewards are at most 1.")
    else:
        coefficients, longest = held["norms"]
        found.append(
            "What an arm earns on average is a linear function of its features, which does not change during the experiment; the norm of "
            f"its coefficients is at most {coefficients:.6g} (theta_bound), that of features at most {longest:.6g} (arm_bound)."
        )
    if held["lower"] or (held["norms"] is not None and spec.get("apply") != "in order"):
        found.append("When a reward arrives, and whether it does, does not depend on what it is.")
    elif held["norms"] is not None and spec.get("default_reward") is None:
        found.append("Whether a reward arrives does not depend on what it is.")
    found.append("The baseline can be played in every round; where it could not, a decision's reason says so.")
    if held["baseline_mean"] is not None:
        found.append(f"The baseline earns {held['baseline_mean']:.6g} on average, or what a round said that it earns.")
    else:
        found.append("The baseline's mean is learned." if held["learned"] else "A round's baseline earns on average what the round said.")
    return found

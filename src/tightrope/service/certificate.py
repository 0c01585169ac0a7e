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
    if charged != charged:
        return f"{open['decisions']} open decisions of the policy are bounded together with all others by the regression's confidence set."
    if charged == 0.0:
        own, usual = open["decisions"], open["baseline"]
        return f"{own} open decisions of the policy count as having earned nothing, {usual} of the baseline as having earned its mean."
    return f"{open['decisions']} open decisions of the policy count as having earned at least {charged:.6g}."


def promise(held: dict[str, Any] | None, spec: dict[str, Any]) -> str:
    """What is promised, in a sentence."""
    if held is None:
        return "None: the policy keeps no budget. Create the experiment with a baseline and alpha for a promise."
    alpha, delta = held["alpha"], held["delta"]
    return (
        f"With probability at least {1 - delta:.6g}, in every round the expected reward of all decisions so far is at least "
        f"{1 - alpha:.6g} times what the baseline alone would have earned."
    )


def assumptions(held: dict[str, Any] | None, spec: dict[str, Any], rollout: dict[str, Any]) -> list[str]:
    """What the certificate's numbers rest on, in words."""
    found = []
    if held is not None:
        found += [
            f"Rewards are at least 0, and their noise is sub-Gaussian with scale sigma = {held['sigma']:.6g} "
            "(1/2 is enough for any reward between 0 and 1).",
            "What an arm earns on average does not change during the experiment, but for what features explain.",
            "The baseline can be played in every round; where it could not, a decision's reason says so.",
        ]
        mean = spec.get("baseline_mean")
        found.append("The baseline's mean is learned." if mean is None else f"The baseline earns {mean:.6g} on average.")
    if rollout["estimate"] is not None:
        found += [
            "Every reward is within the declared range, and a decision without a reward is as good as one with it.",
            "The difference between policy and baseline is bounded at all times at once, "
            f"each side with error {rollout['estimate']['error']:.3g}.",
        ]
    if spec.get("default_reward") is not None:
        found.append(f"A decision without a reward when its window closes has earned {spec['default_reward']:.6g}.")
    return [*found, "Each decision was carried out as it was answered, and each reward was reported once and truly."]

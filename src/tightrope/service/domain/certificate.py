"""The certificate: what an experiment promises, what it rests on, and how it stands, bound to the head of the log by a signature."""

import hashlib
import json
from typing import Any

from .history import History
from .signatures import agrees, signature
from .times import timestamp

KIND = "tightrope certificate 1"


def certificate(standing: dict[str, Any], history: History, key: bytes, issued: int) -> dict[str, Any]:
    """A certificate of how an experiment stands. standing: of the live experiment, see `commands.standing`; history: up to the same event.
    key: signs it. issued: microseconds since 1970."""
    holdings, spec = standing["holdings"], standing["spec"]
    budget = None
    if holdings is not None:
        budget = {
            "bound": holdings["budget_bound"],
            "lowest_bound": min(bound for bound in (holdings["budget_bound"], history.lowest_budget) if bound is not None),
            "over_time": [[point.decisions, point.budget] for point in history.curve() if point.budget is not None],
            "alpha": holdings["alpha"], "delta": holdings["delta"], "sigma": holdings["sigma"],
        }  # fmt: skip
    body = {
        "kind": KIND,
        "experiment": standing["name"],
        "issued": timestamp(issued),
        "log": {"events": standing["seq"], "digest": standing["digest"], "time": timestamp(history.time)},
        "policy": spec["policy"],
        "baseline": spec.get("baseline"),
        "baseline_mean": spec.get("baseline_mean"),
        "budget": budget,
        "open": {"decisions": standing["open"], "charged": charge(holdings)},
        "decisions": history.decisions,
        "cancelled": history.cancelled,
        "baseline_share": history.baseline_decisions / history.decisions if history.decisions else None,
        "mode": standing["rollout"]["mode"],
        "modes": [mode | {"time": timestamp(mode["time"])} for mode in history.modes],
        "estimate": standing["rollout"]["estimate"],
        "promise": promise(holdings, spec),
        "assumptions": assumptions(holdings, spec, standing["rollout"], history.cancelled),
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
    errors = []
    if hashlib.sha256(text).hexdigest() != given.get("sha256"):
        errors.append("Its digest is not that of its content: it was changed.")
    if not agrees(key, text, given["hmac_sha256"]):
        errors.append("Its signature is not that of this database's service.")
    return errors


def charge(holdings: dict[str, Any] | None) -> str:
    """What open decisions count for, in words."""
    if holdings is None:
        return "Nothing: this policy keeps no budget."
    open, charged = holdings["open"], holdings["open"]["charged"]
    how = "as whatever is worst for the policy" if holdings["learned"] else "as having earned its mean"
    if holdings["sets"]:
        return f"The rewards of {open['arms']} arms are open: those of the policy's sets count as nothing, a set of the baseline {how}."
    if charged != charged:
        return f"{open['decisions']} open decisions of the policy are bounded together with all others by the regression's confidence set."
    if charged == 0.0:
        own, others = open["decisions"], open["baseline"]
        return f"{own} open decisions of the policy count as having earned nothing, {others} of the baseline {how}."
    return f"{open['decisions']} open decisions of the policy count as having earned at least {charged:.6g}."


def promise(holdings: dict[str, Any] | None, spec: dict[str, Any]) -> str:
    """What is promised, in a sentence, and what it does not cover."""
    if holdings is None:
        return "None: the policy keeps no budget. Create the experiment with a baseline and alpha for a promise."
    alpha, delta, others = holdings["alpha"], holdings["delta"], unguarded(spec)
    where = rounds(holdings["checkpoint"], holdings["min_gap"])
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


def assumptions(holdings: dict[str, Any] | None, spec: dict[str, Any], rollout: dict[str, Any], cancelled: int) -> list[str]:
    """What the certificate's numbers rest on, in words. cancelled: decisions."""
    sentences = [] if holdings is None else guarantees(holdings, spec)
    if rollout["estimate"] is not None:
        sentences += [
            "Every reward is within the declared range, and a decision without a reward is as good as one with it.",
            "The difference between policy and baseline is bounded at all times at once, "
            f"each side with error {rollout['estimate']['error']:.3g}.",
        ]
    if spec.get("default_reward") is not None:
        sentences.append(f"A decision without a reward when its window closes has earned {spec['default_reward']:.6g}.")
    if cancelled:
        sentences.append(
            f"{cancelled} cancelled decision{'s' if cancelled > 1 else ''} count for nothing: none was shown, and whether one is cancelled "
            "does not depend on its arm or its reward."
        )
    return [*sentences, "Each decision was carried out as it was answered, and each reward was reported once and truly."]


def guarantees(holdings: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    """What the budget rests on; docs/explanation/conservative-guarantee.md says why."""
    sentences = [
        f"Rewards are at least 0, and their noise is sub-Gaussian with scale sigma = {holdings['sigma']:.6g} "
        "(1/2 is enough for any reward between 0 and 1).",
    ]
    if holdings["freedman"]:
        sentences.append("The reward of an arm differs from what it earns on average by at most 1.")
    if not holdings["sets"]:
        sentences.append("What an arm earns on average is between 0 and 1.")
    if holdings["norms"] is None:
        sentences.append("What an arm earns on average does not change during the experiment.")
        if holdings["learned"]:
            sentences.append("Rewards are at most 1.")
    else:
        coefficients, longest = holdings["norms"]
        sentences.append(
            "What an arm earns on average is a linear function of its features, which does not change during the experiment; the norm of "
            f"its coefficients is at most {coefficients:.6g} (theta_bound), that of features at most {longest:.6g} (arm_bound)."
        )
    if holdings["lower"] or (holdings["norms"] is not None and spec.get("apply") != "in order"):
        sentences.append("When a reward arrives, and whether it does, does not depend on what it is.")
    elif holdings["norms"] is not None and spec.get("default_reward") is None:
        sentences.append("Whether a reward arrives does not depend on what it is.")
    sentences.append("The baseline can be played in every round; where it could not, a decision's reason says so.")
    if holdings["baseline_mean"] is not None:
        sentences.append(f"The baseline earns {holdings['baseline_mean']:.6g} on average, or what a round said that it earns.")
    else:
        sentences.append(
            "The baseline's mean is learned." if holdings["learned"] else "A round's baseline earns on average what the round said."
        )
    return sentences

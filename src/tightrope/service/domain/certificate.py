"""The certificate: what an experiment promises, what it rests on, and how it stands, bound to the head of the log by a signature."""

import hashlib
import json

from ...core.types import JsonObject
from .assumptions import CONTRADICTED, Assumption, assumptions
from .history import History
from .segments import promised_bounds
from .signatures import fingerprint, public_key, sign, signed_with
from .times import timestamp

KIND = "tightrope certificate 1"
BELOW_ZERO = (
    "A bound below 0 does not say that the promise was broken: at that time the log alone could not show that it was kept, because rewards "
    "that had just come were bad ones, or the baseline's mean was not known well yet."
)


def certificate(standing: JsonObject, history: History, key: bytes, issued: int) -> JsonObject:
    """A certificate of an experiment. standing: of the live one, see `commands.describe_standing`; history: up to the same event.
    key: the private one that signs it. issued: microseconds since 1970."""
    holdings, spec = standing["holdings"], standing["spec"]
    budget = None
    assumed = assumptions(holdings, history, standing["rollout"])
    if holdings is not None:
        budget = {
            "bound": holdings["budget_bound"],
            "bound_if_cancelled_were_shown": bound_if_shown(holdings, history),
            "lowest_bound": min(bound for bound in (holdings["budget_bound"], history.lowest_budget) if bound is not None),
            **({"lowest_bound_means": BELOW_ZERO} if holdings["budget_bound"] < 0 or (history.lowest_budget or 0.0) < 0 else {}),
            "over_time": [[point.decisions, point.budget] for point in history.curve() if point.budget is not None],
            **({"segments": promised_bounds(standing)} if "segments" in holdings else {}),
            "alpha": holdings["alpha"], "delta": holdings["delta"], "sigma": holdings["sigma"],
            "rewards": holdings["rewards"], "failure": holdings["failure"],
        }  # fmt: skip
    body = {
        "kind": KIND,
        "experiment": standing["name"],
        "issued": timestamp(issued),
        "log": {"events": standing["seq"], "digest": standing["digest"], "time": timestamp(history.time)},
        "policy": standing["policy"],
        "baseline": spec.get("baseline"),
        "baseline_mean": spec.get("baseline_mean", spec.get("baseline_means")),
        "budget": budget,
        "open": {"decisions": standing["open"], "charged": charge(holdings)},
        "decisions": history.decisions,
        "cancelled": history.cancelled,
        "baseline_share": history.baseline_decisions / history.decisions if history.decisions else None,
        "mode": standing["rollout"]["mode"],
        "modes": [mode | {"time": timestamp(mode["time"])} for mode in history.modes],
        "estimate": standing["rollout"]["estimate"],
        "clipped": history.observed.clipped,
        "promise": promise(holdings, spec, assumed),
        "assumptions": [one._asdict() for one in assumed],
        "public_key": fingerprint(public_key(key)),
    }
    text = canonical(body)
    return body | {"sha256": hashlib.sha256(text).hexdigest(), "ed25519": sign(key, text)}


def canonical(body: JsonObject) -> bytes:
    """The text that is signed: names in order, no spaces, numbers as Python writes them."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read(text: str) -> JsonObject:
    """A certificate from a file. Raises ValueError where it is not JSON, or where a name stands twice, of which readers may take either."""

    def once(pairs: list[tuple[str, object]]) -> JsonObject:
        items = dict(pairs)
        if len(items) < len(pairs):
            raise ValueError("a name stands twice.")
        return items

    certificate = json.loads(text, object_pairs_hook=once)
    if not isinstance(certificate, dict):
        raise ValueError("it is not an object.")
    return certificate


def check(certificate: JsonObject, public: bytes) -> list[str]:
    """The errors of a certificate; none: it is one of this service, and nothing of it was changed. public: the service's key in PEM."""
    if certificate.get("kind") != KIND or not isinstance(certificate.get("ed25519"), str):
        return ["It is not a certificate of this kind."]
    body = {name: value for name, value in certificate.items() if name not in ("sha256", "ed25519")}
    text = canonical(body)
    errors = []
    if hashlib.sha256(text).hexdigest() != certificate.get("sha256"):
        errors.append("Its digest is not that of its content: it was changed.")
    if body.get("public_key") != fingerprint(public):
        errors.append(f"It names another public key than this one, whose fingerprint is {fingerprint(public)}.")
    elif not signed_with(public, text, certificate["ed25519"]):
        errors.append("Its signature is not by the private key that belongs to this public one.")
    return errors


def charge(holdings: JsonObject | None) -> str:
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


def bound_if_shown(holdings: JsonObject, history: History) -> float:
    """The lower bound of the budget if every cancelled decision was shown after all and earned nothing."""
    spec = history.spec
    most = history.reward_range[1] * (len(spec.baseline) if spec is not None and isinstance(spec.baseline, list) else 1)
    would_earn = history.cancelled_means + history.cancelled_unknown * most  # a baseline earns at most the most that there can be
    return float(holdings["budget_bound"] - (1.0 - holdings["alpha"]) * would_earn)


def promise(holdings: JsonObject | None, spec: JsonObject, assumed: list[Assumption]) -> str:
    """The promise, in sentences, with what it does not cover and whether the log contradicts an assumption of it."""
    broken = [one for one in assumed if one.verdict == CONTRADICTED]
    said = promised(holdings, spec)
    if holdings is None or not broken:
        return said
    return f"{said} But the log contradicts what this rests on, so do not rely on it: " + " ".join(one.why for one in broken)


def promised(holdings: JsonObject | None, spec: JsonObject) -> str:
    if holdings is None:
        return "None: the policy keeps no budget. Create the experiment with a baseline and alpha for a promise."
    alpha, delta, others = holdings["alpha"], holdings["failure"], unguarded(spec)
    where = rounds(holdings["checkpoint"], holdings["min_gap"])
    if others:
        where = ("whenever" if where == EVERY else f"{where}, where") + " the policy itself has played an arm other than the baseline,"
    by = spec.get("promise_by")
    whose = "of all decisions so far" if by is None else f"of the decisions so far in every {by} by itself, and in other together,"
    sure = (
        f"With probability at least {1 - delta:.6g}, {where} the expected reward {whose} is at least "
        f"{1 - alpha:.6g} times what the baseline alone would have earned{'' if by is None else ' there'}."
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


def unguarded(spec: JsonObject) -> list[str]:
    production = (spec.get("rollout") or {}).get("production") or {}
    return [arm for arm in production if arm != spec.get("baseline")]

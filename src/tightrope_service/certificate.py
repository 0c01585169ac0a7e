"""The certificate: what an experiment promises, what it rests on, and how it stands, bound to the
head of the log by a signature."""

import hashlib
import json
import math
from operator import itemgetter
from typing import Literal, NamedTuple, get_args

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from tightrope.extend import bounds_of

from . import JsonObject, events
from .errors import once_each, timestamp
from .events import baselines_of
from .history import (
    ASSUMING,
    BARS,
    OBSERVATION_ERROR,
    History,
    SegmentHistory,
    at_worst,
    promised_bounds,
    told_by,
    winner,
)
from .spec import ExperimentSpec

# The assumptions behind a certificate's numbers, in words, each with what the log of the experiment
# says about it.


HOLDS, AGREES, CONTRADICTED, NO_EVIDENCE = "holds", "agrees", "contradicted", "unseen"
ROUNDING = 1.0 + 1e-9


class Assumption(NamedTuple):
    """says: what is assumed. verdict: "holds" (the service sees to it), "agrees" (the log shows
    nothing against it), "contradicted" (the log shows that it is wrong), "unseen" (no log can show
    it). why: a sentence."""

    says: str
    verdict: str
    why: str


def unseen(says: str, why: str = "No log can show this.") -> Assumption:
    return Assumption(says, NO_EVIDENCE, why)


def assumptions(
    holdings: JsonObject | None, history: History, rollout: JsonObject
) -> list[Assumption]:
    told = assumed_of(history, holdings)
    if rollout["estimate"] is not None:
        ranged = in_range(history.spec, history)
        own = told[history.metric]
        own += [
            *([] if ranged in own else [ranged]),
            whether_it_comes("A decision without a reward is as good as one with it.", history),
            Assumption(
                "The difference between policy and baseline is bounded at all times at once, "
                f"each side with error {rollout['estimate']['error']:.3g}.",
                HOLDS,
                "The service computes it so.",
            ),
        ]
    for metric, premises in told.items():
        premises += values_are_true(history.about(metric), holdings, rollout)
    return [
        *joined(told),
        *([cancellations(history)] if history.cancelled else ()),
        unseen(
            "Each decision was carried out as it was answered, and each reward was reported once "
            "and truly."
        ),
    ]


def assumed_of(history: History, holdings: JsonObject | None) -> dict[str | None, list[Assumption]]:
    told: dict[str | None, list[Assumption]] = {
        metric: [] for metric in (history.metric, *history.others)
    }
    for report in told_by(holdings):
        premises, one = told[report["metric"]], history.about(report["metric"])
        premises += [each for each in guarantees(report, one.spec, one) if each not in premises]
    return told


def joined(told: dict[str | None, list[Assumption]]) -> list[Assumption]:
    """The assumptions about all metrics, each once, with the names of those that it is about where
    it is not about all of them."""
    metrics: dict[Assumption, list[str]] = {}
    for metric, premises in told.items():
        for one in premises:
            metrics.setdefault(one, []).append(metric or "")
    return [
        one if len(names) == len(told) else one._replace(says=f"{', '.join(names)}: {one.says}")
        for one, names in metrics.items()
    ]


def values_are_true(
    history: History, holdings: JsonObject | None, rollout: JsonObject
) -> list[Assumption]:
    spec, observations, premises = history.spec, history.observed, []
    if spec.default is not None:
        premises.append(default_is_earned(holdings, rollout, spec, history))
    if observations.clipped:
        low, high = history.reward_range
        says = (
            f"A reward outside [{low:g}, {high:g}] is worth as much as the end that is nearer to "
            "it."
        )
        premises.append(
            unseen(
                says,
                f"{plural(observations.clipped, 'decision')} had such a reward, which was clipped.",
            )
        )
    return premises


def plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def guarantees(holdings: JsonObject, spec: ExperimentSpec, history: History) -> list[Assumption]:
    """The assumptions behind the budget; docs/explanation/conservative-guarantee.md says why."""
    premises, (least, most) = [], holdings["rewards"]
    if (
        not holdings["bernoulli"] or holdings["norms"] is not None
    ):  # the ellipsoid rests on the noise
        premises.append(noise(holdings["sigma"], least, spec, history))
    if holdings["bernoulli"]:
        premises.append(in_range(spec, history))
        if holdings["sets"]:
            premises.append(
                unseen(
                    "Rewards of the arms of a set depend on each other by what they earn on "
                    "average alone."
                )
            )
    else:
        if holdings["freedman"]:
            premises.append(deviations(most - least, spec, history))
        if not holdings["sets"]:
            premises.append(means_in_range(least, most, spec, history))
    if holdings["estimates"] and holdings["norms"] is None:
        where = "" if spec.by is None else f" in a {spec.by}"
        premises.append(
            steady(
                f"What an arm earns on average{where} does not change during the experiment.",
                history,
            )
        )
        if holdings["learned"] and not holdings["bernoulli"]:
            premises.append(at_most(most, spec, history))
    elif holdings["estimates"]:  # else the bound asks nothing of the arms
        coefficients, longest = holdings["norms"]
        premises.append(linear(coefficients, longest, history))
    if holdings["lower"] or (holdings["norms"] is not None and spec.apply != "in order"):
        premises.append(delays(history))
    elif holdings["norms"] is not None and spec.default is None:
        premises.append(
            whether_it_comes("Whether a reward arrives does not depend on what it is.", history)
        )
    mean = (
        baseline_mean(holdings, spec, history)
        if spec.by is None
        else means_by_segment(spec, history)
    )
    return [*premises, masks(history), baseline_is_there(history), mean]


def mean_bounds(history: History) -> dict[str, tuple[float, float]]:
    """By arm, bounds on what it earns on average that hold at all times and for all arms at once;
    none where arms have no one mean."""
    bounds = history.observed.mean_bounds() if history.comparable else {}
    return {id: history.in_units(*shares) for id, shares in bounds.items()}


# Rewards ------------------------------------------------------------------------------------------


def seen_range(history: History) -> str:
    if not history.rewards:
        return "There is no reward yet."
    observations = history.observed
    return (
        f"The {plural(history.rewards, 'reward')} of the log are from {observations.lowest:.6g} "
        f"to {observations.highest:.6g}."
    )


def noise(sigma: float, least: float, spec: ExperimentSpec, history: History) -> Assumption:
    says = (
        f"Rewards are at least {least:g}, and their noise is sub-Gaussian with scale sigma = "
        f"{sigma:.6g} (1/2 is enough for any reward between 0 and 1)."
    )
    observations, declared = history.observed, spec.reward_range
    if observations.lowest < least:
        return Assumption(says, CONTRADICTED, f"The log has a reward of {observations.lowest:.6g}.")
    if (
        declared is not None
        and declared[0] >= least
        and sigma * ROUNDING >= (declared[1] - declared[0]) / 2
    ):
        return Assumption(
            says,
            HOLDS,
            f"Rewards outside [{declared[0]:g}, {declared[1]:g}] are not learned, and half of "
            "that is at most sigma.",
        )
    low, high = history.reward_range
    for where, observed in history.alike.items() if history.comparable else ():
        for arm, variance in observed.least_variance().items():
            if (high - low) ** 2 * variance > sigma**2 * ROUNDING:
                return Assumption(
                    says,
                    CONTRADICTED,
                    f"The rewards of arm {arm!r}{where} vary by more than sigma = {sigma:.6g} "
                    "allows.",
                )
    return Assumption(says, AGREES, seen_range(history))


def deviations(span: float, spec: ExperimentSpec, history: History) -> Assumption:
    says, observations, declared = (
        f"The reward of an arm differs from what it earns on average by at most {span:g}.",
        history.observed,
        spec.reward_range,
    )
    if declared is not None and declared[1] - declared[0] <= span * ROUNDING:
        return Assumption(
            says, HOLDS, f"Rewards outside [{declared[0]:g}, {declared[1]:g}] are not learned."
        )
    for arm, (least, most) in mean_bounds(history).items():
        if (
            max(history.arms[arm].highest - most, least - history.arms[arm].lowest)
            > span * ROUNDING
        ):
            return Assumption(
                says,
                CONTRADICTED,
                f"A reward of arm {arm!r} is further from its mean than {span:g}.",
            )
    return (
        Assumption(says, AGREES, seen_range(history))
        if observations.highest - observations.lowest <= span * ROUNDING
        else unseen(says, seen_range(history))
    )


def means_in_range(low: float, high: float, spec: ExperimentSpec, history: History) -> Assumption:
    says, declared = (
        f"What an arm earns on average is between {low:g} and {high:g}.",
        spec.reward_range,
    )
    if declared is not None and declared[0] >= low and declared[1] <= high:
        return Assumption(
            says, HOLDS, f"Rewards outside [{declared[0]:g}, {declared[1]:g}] are not learned."
        )
    for arm, (least, most) in mean_bounds(history).items():
        if least > high or most < low:
            return Assumption(
                says,
                CONTRADICTED,
                f"Arm {arm!r} earns between {least:.6g} and {most:.6g} on average.",
            )
    return Assumption(says, AGREES, seen_range(history))


def at_most(high: float, spec: ExperimentSpec, history: History) -> Assumption:
    says, declared = f"Rewards are at most {high:g}.", spec.reward_range
    if history.observed.highest > high:
        return Assumption(
            says, CONTRADICTED, f"The log has a reward of {history.observed.highest:.6g}."
        )
    if declared is not None and declared[1] <= high:
        return Assumption(
            says, HOLDS, f"Rewards outside [{declared[0]:g}, {declared[1]:g}] are not learned."
        )
    return Assumption(says, AGREES, seen_range(history))


def in_range(spec: ExperimentSpec, history: History) -> Assumption:
    says = "Every reward is within the declared range."
    if history.outside:
        return Assumption(
            says, CONTRADICTED, f"{plural(history.outside, 'reward')} of the log are outside."
        )
    return Assumption(says, HOLDS if spec.reward_range is not None else AGREES, seen_range(history))


# Time and delays ----------------------------------------------------------------------------------


def steady(says: str, history: History) -> Assumption:
    if not history.comparable:
        return unseen(
            says, "What an arm earns depends on the round here, so that the log does not show it."
        )
    for where, observed in history.alike.items():
        drift = observed.drift()
        if drift is not None:
            arm, (more, least, less, most) = drift
            least, most = history.in_units(least, most)
            values = (
                f"at least {least:.4g} in decisions from {more} on, at most {most:.4g} in those "
                f"from {less} on"
            )
            return Assumption(says, CONTRADICTED, f"Arm {arm!r} earned{where} {values}.")
    return Assumption(
        says, AGREES, "Stretches of the log, compared arm by arm, do not surely differ."
    )


def delays(history: History) -> Assumption:
    says = "When a reward arrives, and whether it does, does not depend on what it is."
    for where, observed in history.alike.items() if history.comparable else ():
        contrast = observed.telling_delays()
        if contrast is not None:
            arm, (more, least, less, most) = contrast
            least, most = history.in_units(least, most)
            values = (
                f"at least {least:.4g} on average where they took {more}, at most {most:.4g} "
                f"where {less}"
            )
            return Assumption(
                says,
                CONTRADICTED,
                f"Rewards of arm {arm!r}{where} are {values} (upper ends of {', '.join(BARS)}).",
            )
    return whether_it_comes(says, history)


def whether_it_comes(says: str, history: History) -> Assumption:
    missing = history.observed.without_reward
    if not missing:
        return Assumption(says, AGREES, "Every decision that has ended has a reward.")
    return unseen(
        says,
        f"{plural(missing, 'decision')} ended without a reward; nobody knows what those would "
        "have been.",
    )


def default_is_earned(
    holdings: JsonObject | None, rollout: JsonObject, spec: ExperimentSpec, history: History
) -> Assumption:
    """The assumption about the default reward, against the rewards that came too late.

    Too much is wrong for every arm. Too little is wrong where the baseline's mean is learned from
    it, or the policy is compared with it: else it only makes the bound lower.
    """
    assert spec.default is not None
    says = f"A decision without a reward when its window closes has earned {spec.default:.6g}."
    low, high = history.reward_range
    taken = min(max((spec.default - low) / (high - low), 0.0), 1.0)
    late = {
        f"arm {arm!r}": (arm, observations.late)
        for arm, observations in history.observed.arms.items()
        if observations.late.rounds
    }
    own = baselines_of({}, spec.baseline)
    compared = rollout["estimate"] is not None or any(one["learned"] for one in told_by(holdings))
    bounds = bounds_of(
        [sequence for _, sequence in late.values()], OBSERVATION_ERROR / max(len(late), 1)
    )
    for (name, (arm, sequence)), (least, most) in zip(late.items(), bounds, strict=True):
        least, most = history.in_units(least, most)
        rewards = f"{plural(sequence.rounds, 'reward')} of {name} that came later"
        if most < low + (high - low) * taken:
            return Assumption(says, CONTRADICTED, f"{rewards} are at most {most:.4g} on average.")
        if least > low + (high - low) * taken and compared and (arm in own or not own):
            return Assumption(says, CONTRADICTED, f"{rewards} are at least {least:.4g} on average.")
    return unseen(
        says,
        f"{plural(history.expired, 'window')} closed without a reward; "
        f"{plural(history.late, 'reward')} came later.",
    )


def cancellations(history: History) -> Assumption:
    one = history.cancelled == 1
    says = (
        f"{plural(history.cancelled, 'cancelled decision')} {'counts' if one else 'count'} for "
        "nothing: none was shown, and whether one is cancelled does not depend on its arm or its "
        "reward."
    )
    for where, observed in history.alike.items():
        uneven = observed.uneven_cancellation()
        if uneven is not None:
            more, least, less, most = uneven
            return Assumption(
                says,
                CONTRADICTED,
                f"Of arm {more!r}{where} at least {least:.1%} are cancelled, of arm {less!r} at "
                f"most {most:.1%}.",
            )
        if observed.late_cancellation():
            return Assumption(
                says,
                CONTRADICTED,
                f"Most cancellations{where} come later than most rewards, when a reward may be "
                "known.",
            )
    share = history.cancelled / max(history.decisions, 1)
    return unseen(
        says,
        f"They are {share:.1%} of all decisions, and no arm surely has a larger share of them "
        "than another.",
    )


# The baseline and features ------------------------------------------------------------------------


def linear(coefficients: float, longest: float, history: History) -> Assumption:
    says = (
        "What an arm earns on average is a linear function of its features, which does not change "
        f"during the experiment; the norm of its coefficients is at most {coefficients:.6g} "
        f"(theta_bound), that of features at most {longest:.6g} (arm_bound)."
    )
    spec = history.spec
    fixed = (math.hypot(*arm.features) for arm in spec.arms or () if arm.features is not None)
    norm = max(history.observed.longest, *fixed, 0.0)
    if norm > longest * ROUNDING:
        return Assumption(says, CONTRADICTED, f"The log has features of norm {norm:.6g}.")
    drift = steady("", history) if history.comparable else None
    if drift is not None and drift.verdict == CONTRADICTED:
        return Assumption(says, CONTRADICTED, drift.why)
    return unseen(
        says,
        f"The longest features have the norm {norm:.6g}; whether what they explain is linear is "
        "not checked.",
    )


def masks(history: History) -> Assumption:
    says = "Which arms may be played in a decision does not depend on what they would earn."
    contrast = history.telling_masks()
    if contrast is not None:
        arm, where, (more, least, less, most) = contrast
        least, most = history.in_units(least, most)
        more, less = (
            f"where {mask} may not be played" if mask else "where every arm may be played"
            for mask in (more, less)
        )
        return Assumption(
            says,
            CONTRADICTED,
            f"Arm {arm!r} earns{where} at least {least:.4g} {more}, at most {most:.4g} {less}.",
        )
    if not history.observed.limited:
        return Assumption(says, HOLDS, "No decision has left an arm out.")
    return unseen(says, f"For {plural(history.observed.limited, 'decision')} arms were left out.")


def baseline_is_there(history: History) -> Assumption:
    says = (
        "The baseline can be played in every round; where it could not, a decision's reason says "
        "so."
    )
    missing = history.observed.without_baseline
    if missing:
        return Assumption(says, CONTRADICTED, f"It was not eligible in {plural(missing, 'round')}.")
    return Assumption(says, HOLDS, "It was eligible in every round of the log.")


def baseline_mean(holdings: JsonObject, spec: ExperimentSpec, history: History) -> Assumption:
    stated = holdings["baseline_mean"]
    if stated is None:
        if holdings["learned"]:
            return Assumption(
                "The baseline's mean is learned.", HOLDS, "Its rewards are data like any other."
            )
        return unseen("A round's baseline earns on average what the round said.")
    says = f"The baseline earns {stated:.6g} on average, or what a round said that it earns."
    if not isinstance(spec.baseline, str) or not history.comparable:
        return unseen(
            says,
            "The baseline is not one arm with one mean here, so that the log does not show what "
            "it earns.",
        )
    bounds = mean_bounds(history).get(spec.baseline)
    if bounds is None:
        return unseen(says, "The log has no reward of the baseline to compare it with.")
    least, most = bounds
    verdict = AGREES if least <= stated <= most else CONTRADICTED
    return Assumption(says, verdict, f"By the log it earns between {least:.6g} and {most:.6g}.")


def means_by_segment(spec: ExperimentSpec, history: History) -> Assumption:
    by, values, stated = str(spec.by), spec.values or [], spec.known_means
    if stated is None:
        return Assumption(
            f"The baseline's mean is learned in every {by} by itself.",
            HOLDS,
            "Its rewards are data like any other.",
        )
    means = dict(zip(values, stated, strict=True))
    says = (
        f"The baseline earns on average, by {by}: "
        f"{', '.join(f'{value} {means[value]:.6g}' for value in values)}."
    )
    bounds: dict[str, tuple[float, float]] = {}
    if history.comparable:
        for value in values:
            least, most = open_mean_bounds(
                history.segments[by][value], str(spec.baseline), OBSERVATION_ERROR / len(values)
            )
            bounds |= {value: history.in_units(least, most)} if least > 0.0 or most < 1.0 else {}
    if not bounds:
        return unseen(says, "The log has no reward of the baseline to compare them with.")
    for value, (least, most) in bounds.items():
        if not least <= means[value] <= most:
            return Assumption(
                says,
                CONTRADICTED,
                f"By the log it earns between {least:.6g} and {most:.6g} in {by} {value}.",
            )
    intervals = ", ".join(
        f"{value} {least:.6g} to {most:.6g}" for value, (least, most) in bounds.items()
    )
    return Assumption(says, AGREES, f"By the log it earns: {intervals}.")


def open_mean_bounds(segment: SegmentHistory, arm: str, error: float) -> tuple[float, float]:
    """Bounds on the mean of an arm in a segment, scaled to [0, 1], whatever its open decisions will
    bring: what comes first may be what comes quickly."""
    arm_history = segment.arms.get(arm)
    if arm_history is None or not arm_history.rewards:
        return 0.0, 1.0
    return bounds_of([at_worst(arm_history.mean, arm_history.open)], error)[0]


# Signatures by a private key, so that others check them with the public one.


def public_key(private: bytes) -> bytes:
    return (
        Ed25519PrivateKey.from_private_bytes(private)
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )


def fingerprint(public: bytes) -> str:
    """SHA-256 of a public key in DER, which people compare. Raises ValueError where it is none."""
    return hashlib.sha256(
        read_public(public).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    ).hexdigest()


def read_public(public: bytes) -> Ed25519PublicKey:
    try:
        key = load_pem_public_key(public)
    except Exception:  # ValueError, UnsupportedAlgorithm, and others for what OpenSSL cannot read
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError(
            "public_key is not a public key for Ed25519 in PEM; give the text that GET "
            "/v1/public-key answers."
        )
    return key


KIND = "tightrope certificate 1"
BELOW_ZERO = (
    "A bound below 0 does not say that the promise was broken: at that time the log alone could "
    "not show that it was kept, because rewards that had just come were bad ones, or the "
    "baseline's mean was not known well yet."
)


def certificate(standing: JsonObject, history: History, key: bytes, issued: int) -> JsonObject:
    """A certificate of an experiment. standing: of the live one, see `commands.describe_standing`;
    history: up to the same event.
    key: the private one that signs it. issued: microseconds since 1970."""
    holdings, spec = standing["holdings"], standing["spec"]
    budget = None
    assumed = assumptions(holdings, history, standing["rollout"])
    if holdings is not None:
        each = budgets(holdings, history)
        segments = promised_bounds(standing, history)
        budget = {
            **min(each, key=itemgetter("bound")),
            **({"segments": segments} if segments else {}),
            "failure": holdings["failure"],
            **({"promises": each} if len(each) > 1 else {}),
        }
    body = {
        "kind": KIND,
        "experiment": standing["name"],
        "issued": timestamp(issued),
        "log": {
            "events": standing["seq"],
            "digest": standing["digest"],
            "time": timestamp(history.time),
        },
        "policy": standing["policy"],
        "baseline": spec.get("baseline"),
        "baseline_mean": spec.get("baseline_mean", spec.get("baseline_means")),
        "budget": budget,
        "open": {"decisions": standing["open"], "charged": charge(holdings)},
        "decisions": history.decisions,
        "cancelled": history.cancelled,
        "baseline_share": history.baseline_decisions / history.decisions
        if history.decisions
        else None,
        "mode": standing["rollout"]["mode"],
        "modes": [mode | {"time": timestamp(mode["time"])} for mode in history.modes],
        "estimate": standing["rollout"]["estimate"],
        "clipped": history.observed.clipped,
        "promise": promise(holdings, spec, assumed),
        "assumptions": [one._asdict() for one in assumed],
        "public_key": fingerprint(public_key(key)),
    }
    text = canonical(body)
    return body | {
        "sha256": hashlib.sha256(text).hexdigest(),
        "ed25519": Ed25519PrivateKey.from_private_bytes(key).sign(text).hex(),
    }


def budgets(holdings: JsonObject, history: History) -> list[JsonObject]:
    """The budget of each promise: now, at its lowest, and over time that of all about its
    metric."""
    found = []
    for told in told_by(holdings):
        metric, one = told["metric"], history.about(told["metric"])
        lowest = min(
            told["budget_bound"], math.inf if one.lowest_budget is None else one.lowest_budget
        )
        found.append(
            {
                "promise": told["clause"],
                "metric": metric or None,
                "bound": told["budget_bound"],
                "bound_if_cancelled_were_shown": bound_if_shown(told, one),
                "lowest_bound": lowest,
                **({"lowest_bound_means": BELOW_ZERO} if lowest < 0 else {}),
                "over_time": [
                    [point.decisions, point.budget]
                    for point in one.curve()
                    if point.budget is not None
                ],
                **{name: told[name] for name in ("alpha", "delta", "sigma", "rewards", "failure")},
            }
        )
    return found


def canonical(body: JsonObject) -> bytes:
    """The text that is signed: names in order, no spaces, numbers as Python writes them."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read(text: str) -> JsonObject:
    """A certificate from a file. Raises ValueError where it is not JSON, or where a name stands
    twice, of which readers may take either."""
    certificate = once_each(text)
    if not isinstance(certificate, dict):
        raise ValueError("it is not an object.")
    return certificate


def check(certificate: JsonObject, public: bytes) -> list[str]:
    """The errors of a certificate; none: it is one of this service, and nothing of it was changed.
    public: the service's key in PEM."""
    if certificate.get("kind") != KIND or not isinstance(certificate.get("ed25519"), str):
        return ["It is not a certificate of this kind."]
    body = {name: value for name, value in certificate.items() if name not in ("sha256", "ed25519")}
    text = canonical(body)
    errors = []
    if hashlib.sha256(text).hexdigest() != certificate.get("sha256"):
        errors.append("Its digest is not that of its content: it was changed.")
    if body.get("public_key") != fingerprint(public):
        errors.append(
            "It names another public key than this one, whose fingerprint is "
            f"{fingerprint(public)}."
        )
    else:
        try:
            read_public(public).verify(bytes.fromhex(certificate["ed25519"]), text)
        except (InvalidSignature, ValueError):
            errors.append(
                "Its signature is not by the private key that belongs to this public one."
            )
    return errors


def charge(holdings: JsonObject | None) -> str:
    if holdings is None:
        return "Nothing: this policy keeps no budget."
    open, charged = holdings["open"], holdings["open"]["charged"]
    how = (
        "as whatever is worst for the policy"
        if holdings["learned"]
        else "as having earned its mean"
    )
    if holdings["sets"]:
        return (
            f"The rewards of {open['arms']} arms are open: those of the policy's sets count as "
            f"nothing, a set of the baseline {how}."
        )
    if charged != charged:
        return (
            f"{open['decisions']} open decisions of the policy are bounded together with all "
            "others by the regression's confidence set."
        )
    if charged == 0.0:
        own, others = open["decisions"], open["baseline"]
        return (
            f"{own} open decisions of the policy count as having earned nothing, {others} of the "
            f"baseline {how}."
        )
    return (
        f"{open['decisions']} open decisions of the policy count as having earned at least "
        f"{charged:.6g}."
    )


def bound_if_shown(told: JsonObject, history: History) -> float:
    """The lower bound of a budget if every cancelled decision was shown after all and had the worst
    of what there can be, or nothing. A baseline whose mean is not known has the best."""
    baseline, sense, (kappa, omega, _) = history.spec.baseline, told["sense"], told["line"]
    worst, best = sorted(sense * end for end in history.reward_range)
    best *= len(baseline) if isinstance(baseline, list) else 1
    would_have = sense * history.cancelled_means + history.cancelled_unknown * best
    shown = history.cancelled_others * (min(worst, 0.0) - omega)
    return float(told["budget_bound"] + shown - kappa * would_have)


def promise(holdings: JsonObject | None, spec: JsonObject, assumed: list[Assumption]) -> str:
    """The promise, in sentences, with what it does not cover and whether the log contradicts an
    assumption of it."""
    broken = [one for one in assumed if one.verdict == CONTRADICTED]
    said = promised(holdings, spec)
    if holdings is None or not broken:
        return said
    return f"{said} But the log contradicts what this rests on, so do not rely on it: " + " ".join(
        one.why for one in broken
    )


def promised(holdings: JsonObject | None, spec: JsonObject) -> str:
    if holdings is None:
        return (
            "None: the policy keeps no budget. Create the experiment with a baseline and alpha "
            "for a promise."
        )
    production = (spec.get("rollout") or {}).get("production") or {}
    others = [arm for arm in production if arm != spec.get("baseline")]
    where = rounds(holdings["checkpoint"], holdings["min_gap"])
    if others:
        where = (
            "whenever" if where == EVERY else f"{where}, where"
        ) + " the policy itself has played an arm other than the baseline,"
    clauses = [one["clause"] for one in told_by(holdings)]
    sure = f"With probability at least {1 - holdings['failure']:.6g}, "
    if len(clauses) == 1:
        sure += f"{where} {clauses[0]}."
    else:
        listed = "; ".join(f"({k}) {clause}" for k, clause in enumerate(clauses, 1))
        sure += f"all of this holds at once, {where}: {listed}. {SPENT}"
    if not others:
        return sure
    return (
        f"{sure} The promise covers what the policy decides. What production plays besides the "
        f"baseline ({', '.join(others)}; rollout.production) is counted but not guarded: while it "
        "is served the reward may be less."
    )


SPENT = (
    "An allowance may be used for good: none of this says that a metric will not be as much worse "
    "as is allowed."
)
EVERY = "in every round"


def rounds(checkpoint: list[int], min_gap: int) -> str:
    """When the promise holds. checkpoint: [-T] for every T-th round, else those that were listed;
    after the last one it holds always."""
    if checkpoint[0] == -1 and min_gap <= 0:
        return EVERY
    if min_gap > 0:
        return f"at every checkpoint, of which two are at least {min_gap} rounds apart,"
    if checkpoint[0] < 0:
        return f"at checkpoints, after every {-checkpoint[0]} decisions,"
    listed = ", ".join(map(str, checkpoint[:10])) + (
        f", .., {checkpoint[-1]}" if len(checkpoint) > 10 else ""
    )
    return f"at checkpoints, after {listed} decisions and always after the last of them,"


# Notices: what webhooks tell of an experiment. Some follow from an event of the log, others from a
# look at all of it.


NoticeKind = Literal["mode.changed", "promise.at_risk", "winner.known", "experiment.stopped"]
NOTICE_KINDS: tuple[str, ...] = get_args(NoticeKind)


STOPPED = {
    "paused": "It was paused: it decides no more until it is resumed.",
    "archived": "It was archived: it has ended for good.",
}


class Notice(NamedTuple):
    """Something to tell. seq, time: of the event behind which it is so. what: a sentence. data: the
    same for programs."""

    kind: NoticeKind
    seq: int
    time: int
    what: str
    data: JsonObject


def of_event(event: object, seq: int, time: int) -> Notice | None:
    if isinstance(event, events.ModeChanged):
        why = event.why.rstrip(".")
        return Notice(
            "mode.changed",
            seq,
            time,
            f"The mode changed from {event.before} to {event.mode}, by "
            f"{event.by}{f': {why}' if why else ''}.",
            {name: getattr(event, name) for name in ("mode", "before", "share", "by", "why")},
        )
    if isinstance(event, events.Paused | events.Archived):
        return Notice("experiment.stopped", seq, time, STOPPED[event.kind], {"status": event.kind})
    return None


def of_bound(metric: str, bound: float, least: float, seq: int, time: int) -> Notice:
    what = f"the budget of {metric}" if metric else "the budget"
    return Notice(
        "promise.at_risk",
        seq,
        time,
        f"The lower bound of {what}, {bound:.4g}, fell below {least:g}.",
        {"because": "budget", "bound": bound, "least": least}
        | ({"metric": metric} if metric else {}),
    )


def contradictions(standing: JsonObject, history: History) -> list[Assumption]:
    """The assumptions that the log contradicts. standing: see `commands.describe_standing`."""
    return [
        one
        for one in assumptions(standing["holdings"], history, standing["rollout"])
        if one.verdict == CONTRADICTED
    ]


def contradicted(standing: JsonObject, history: History) -> dict[str, Notice]:
    return {
        one.says: Notice(
            "promise.at_risk",
            history.seq,
            history.time,
            f"The log contradicts what the promise rests on: {one.says} {one.why}",
            {"because": "assumption", "assumption": one.says, "why": one.why},
        )
        for one in (contradictions(standing, history) if standing["holdings"] is not None else ())
    }


def known_winner(standing: JsonObject, history: History) -> dict[str, Notice]:
    """The arm that is known to be the best: by the stopping rule of an identification policy, else
    by the intervals of the arms."""
    identified, arm = standing["identified"], None
    if identified is not None:
        arm = str(identified["arm"]) if identified["status"] == "certified" else None
    elif (intervals := history.intervals()) is not None:
        arm = winner(history, dict(zip(history.arms, intervals, strict=True)))
    if arm is None:
        return {}
    assuming = f", {ASSUMING}" if history.observed.limited else ""
    return {
        arm: Notice(
            "winner.known",
            history.seq,
            history.time,
            f"It is known that {arm} is the best arm{assuming}.",
            {"arm": arm},
        )
    }

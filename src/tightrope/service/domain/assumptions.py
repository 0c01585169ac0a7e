"""The assumptions behind a certificate's numbers, in words, each with what the log of the experiment says about it."""

import math
from typing import NamedTuple

from ...core.types import JsonObject
from ...evaluation.estimators import bounds_of
from .history import History, SegmentHistory
from .observations import BARS, ERROR, at_worst
from .rounds import baselines_of
from .spec import ExperimentSpec

HOLDS, AGREES, CONTRADICTED, NO_EVIDENCE = "holds", "agrees", "contradicted", "unseen"
ROUNDING = 1.0 + 1e-9


class Assumption(NamedTuple):
    """says: what is assumed. verdict: "holds" (the service sees to it), "agrees" (the log shows nothing against it), "contradicted" (the
    log shows that it is wrong), "unseen" (no log can show it). why: a sentence."""

    says: str
    verdict: str
    why: str


def unseen(says: str, why: str = "No log can show this.") -> Assumption:
    return Assumption(says, NO_EVIDENCE, why)


def assumptions(holdings: JsonObject | None, history: History, rollout: JsonObject) -> list[Assumption]:
    spec, observations = history.spec, history.observed
    assert spec is not None
    premises = [] if holdings is None else guarantees(holdings, spec, history)
    if rollout["estimate"] is not None:
        premises += [
            *([] if in_range(spec, history) in premises else [in_range(spec, history)]),
            every_reward_comes(spec, history),
            Assumption(
                "The difference between policy and baseline is bounded at all times at once, "
                f"each side with error {rollout['estimate']['error']:.3g}.",
                HOLDS, "The service computes it so.",
            ),
        ]  # fmt: skip
    if spec.default_reward is not None:
        premises.append(default_is_earned(holdings, rollout, spec, history))
    if observations.clipped:
        low, high = history.reward_range
        says = f"A reward outside [{low:g}, {high:g}] is worth as much as the end that is nearer to it."
        premises.append(unseen(says, f"{plural(observations.clipped, 'decision')} had such a reward, which was clipped."))
    if history.cancelled:
        premises.append(cancellations(history))
    return [*premises, unseen("Each decision was carried out as it was answered, and each reward was reported once and truly.")]


def plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def guarantees(holdings: JsonObject, spec: ExperimentSpec, history: History) -> list[Assumption]:
    """The assumptions behind the budget; docs/explanation/conservative-guarantee.md says why."""
    premises, (least, most) = [], holdings["rewards"]
    if not holdings["bernoulli"] or holdings["norms"] is not None:  # the ellipsoid rests on the noise
        premises.append(noise(holdings["sigma"], least, spec, history))
    if holdings["bernoulli"]:
        premises.append(in_range(spec, history))
        if holdings["sets"]:
            premises.append(unseen("Rewards of the arms of a set depend on each other by what they earn on average alone."))
    else:
        if holdings["freedman"]:
            premises.append(deviations(most - least, spec, history))
        if not holdings["sets"]:
            premises.append(means_in_range(least, most, spec, history))
    if not holdings["estimates"]:
        pass  # the bound asks nothing of the arms
    elif holdings["norms"] is None:
        where = "" if spec.promise_by is None else f" in a {spec.promise_by}"
        premises.append(steady(f"What an arm earns on average{where} does not change during the experiment.", history))
        if holdings["learned"] and not holdings["bernoulli"]:
            premises.append(at_most(most, spec, history))
    else:
        coefficients, longest = holdings["norms"]
        premises.append(linear(coefficients, longest, history))
    if holdings["lower"] or (holdings["norms"] is not None and spec.apply != "in order"):
        premises.append(delays(history))
    elif holdings["norms"] is not None and spec.default_reward is None:
        premises.append(whether_it_comes("Whether a reward arrives does not depend on what it is.", history))
    premises.append(masks(history))
    premises.append(baseline_is_there(history))
    premises.append(baseline_mean(holdings, spec, history) if spec.promise_by is None else means_by_segment(spec, history))
    return premises


def mean_bounds(history: History) -> dict[str, tuple[float, float]]:
    """By arm, bounds on what it earns on average that hold at all times and for all arms at once; none where arms have no one mean."""
    bounds = history.observed.mean_bounds() if history.comparable else {}
    return {id: history.in_units(*shares) for id, shares in bounds.items()}


# Rewards -------------------------------------------------------------------------------------------------------------------


def seen_range(history: History) -> str:
    observations = history.observed
    if not history.rewards:
        return "There is no reward yet."
    return f"The {plural(history.rewards, 'reward')} of the log are from {observations.lowest:.6g} to {observations.highest:.6g}."


def noise(sigma: float, least: float, spec: ExperimentSpec, history: History) -> Assumption:
    says = (
        f"Rewards are at least {least:g}, and their noise is sub-Gaussian with scale sigma = {sigma:.6g} "
        "(1/2 is enough for any reward between 0 and 1)."
    )
    observations, declared = history.observed, spec.reward_range
    if observations.lowest < least:
        return Assumption(says, CONTRADICTED, f"The log has a reward of {observations.lowest:.6g}.")
    if declared is not None and declared[0] >= least and sigma * ROUNDING >= (declared[1] - declared[0]) / 2:
        return Assumption(
            says, HOLDS, f"Rewards outside [{declared[0]:g}, {declared[1]:g}] are not learned, and half of that is at most sigma."
        )
    low, high = history.reward_range
    for where, observed in history.alike.items() if history.comparable else ():
        for arm, variance in observed.least_variance().items():
            if (high - low) ** 2 * variance > sigma**2 * ROUNDING:
                return Assumption(says, CONTRADICTED, f"The rewards of arm {arm!r}{where} vary by more than sigma = {sigma:.6g} allows.")
    return Assumption(says, AGREES, seen_range(history))


def deviations(span: float, spec: ExperimentSpec, history: History) -> Assumption:
    says, observations, declared = (
        f"The reward of an arm differs from what it earns on average by at most {span:g}.",
        history.observed,
        spec.reward_range,
    )
    if declared is not None and declared[1] - declared[0] <= span * ROUNDING:
        return Assumption(says, HOLDS, f"Rewards outside [{declared[0]:g}, {declared[1]:g}] are not learned.")
    for arm, (least, most) in mean_bounds(history).items():
        if max(history.arms[arm].highest - most, least - history.arms[arm].lowest) > span * ROUNDING:
            return Assumption(says, CONTRADICTED, f"A reward of arm {arm!r} is further from its mean than {span:g}.")
    return (
        Assumption(says, AGREES, seen_range(history))
        if observations.highest - observations.lowest <= span * ROUNDING
        else unseen(says, seen_range(history))
    )


def means_in_range(low: float, high: float, spec: ExperimentSpec, history: History) -> Assumption:
    says, declared = f"What an arm earns on average is between {low:g} and {high:g}.", spec.reward_range
    if declared is not None and declared[0] >= low and declared[1] <= high:
        return Assumption(says, HOLDS, f"Rewards outside [{declared[0]:g}, {declared[1]:g}] are not learned.")
    for arm, (least, most) in mean_bounds(history).items():
        if least > high or most < low:
            return Assumption(says, CONTRADICTED, f"Arm {arm!r} earns between {least:.6g} and {most:.6g} on average.")
    return Assumption(says, AGREES, seen_range(history))


def at_most(high: float, spec: ExperimentSpec, history: History) -> Assumption:
    says, declared = f"Rewards are at most {high:g}.", spec.reward_range
    if history.observed.highest > high:
        return Assumption(says, CONTRADICTED, f"The log has a reward of {history.observed.highest:.6g}.")
    if declared is not None and declared[1] <= high:
        return Assumption(says, HOLDS, f"Rewards outside [{declared[0]:g}, {declared[1]:g}] are not learned.")
    return Assumption(says, AGREES, seen_range(history))


def in_range(spec: ExperimentSpec, history: History) -> Assumption:
    says = "Every reward is within the declared range."
    if history.outside:
        return Assumption(says, CONTRADICTED, f"{plural(history.outside, 'reward')} of the log are outside.")
    return Assumption(says, HOLDS if spec.reward_range is not None else AGREES, seen_range(history))


# Time and delays -----------------------------------------------------------------------------------------------------------


def steady(says: str, history: History) -> Assumption:
    if not history.comparable:
        return unseen(says, "What an arm earns depends on the round here, so that the log does not show it.")
    for where, observed in history.alike.items():
        drift = observed.drift()
        if drift is not None:
            arm, (more, least, less, most) = drift
            least, most = history.in_units(least, most)
            values = f"at least {least:.4g} in decisions from {more} on, at most {most:.4g} in those from {less} on"
            return Assumption(says, CONTRADICTED, f"Arm {arm!r} earned{where} {values}.")
    return Assumption(says, AGREES, "Stretches of the log, compared arm by arm, do not surely differ.")


def delays(history: History) -> Assumption:
    says = "When a reward arrives, and whether it does, does not depend on what it is."
    for where, observed in history.alike.items() if history.comparable else ():
        contrast = observed.telling_delays()
        if contrast is not None:
            arm, (more, least, less, most) = contrast
            least, most = history.in_units(least, most)
            values = f"at least {least:.4g} on average where they took {more}, at most {most:.4g} where {less}"
            return Assumption(says, CONTRADICTED, f"Rewards of arm {arm!r}{where} are {values} (upper ends of {', '.join(BARS)}).")
    return whether_it_comes(says, history)


def whether_it_comes(says: str, history: History) -> Assumption:
    missing = history.observed.without_reward
    if not missing:
        return Assumption(says, AGREES, "Every decision that has ended has a reward.")
    return unseen(says, f"{plural(missing, 'decision')} ended without a reward; nobody knows what those would have been.")


def default_is_earned(holdings: JsonObject | None, rollout: JsonObject, spec: ExperimentSpec, history: History) -> Assumption:
    """The assumption about the default reward, against the rewards that came too late.

    Too much is wrong for every arm. Too little is wrong where the baseline's mean is learned from it, or the policy is compared with it:
    else it only makes the bound lower.
    """
    assert spec.default_reward is not None
    says = f"A decision without a reward when its window closes has earned {spec.default_reward:.6g}."
    low, high = history.reward_range
    taken = min(max((spec.default_reward - low) / (high - low), 0.0), 1.0)
    late = {f"arm {arm!r}": (arm, observations.late) for arm, observations in history.observed.arms.items() if observations.late.rounds}
    own = baselines_of({}, spec.baseline)
    compared = rollout["estimate"] is not None or (holdings is not None and holdings["learned"])
    bounds = bounds_of([sequence for _, sequence in late.values()], ERROR / max(len(late), 1))
    for (name, (arm, sequence)), (least, most) in zip(late.items(), bounds, strict=True):
        least, most = history.in_units(least, most)
        rewards = f"{plural(sequence.rounds, 'reward')} of {name} that came later"
        if most < low + (high - low) * taken:
            return Assumption(says, CONTRADICTED, f"{rewards} are at most {most:.4g} on average.")
        if least > low + (high - low) * taken and compared and (arm in own or not own):
            return Assumption(says, CONTRADICTED, f"{rewards} are at least {least:.4g} on average.")
    return unseen(says, f"{plural(history.expired, 'window')} closed without a reward; {plural(history.late, 'reward')} came later.")


def every_reward_comes(spec: ExperimentSpec, history: History) -> Assumption:
    return whether_it_comes("A decision without a reward is as good as one with it.", history)


def cancellations(history: History) -> Assumption:
    one = history.cancelled == 1
    says = (
        f"{plural(history.cancelled, 'cancelled decision')} {'counts' if one else 'count'} for nothing: none was shown, and whether one is "
        "cancelled does not depend on its arm or its reward."
    )
    for where, observed in history.alike.items():
        uneven = observed.uneven_cancellation()
        if uneven is not None:
            more, least, less, most = uneven
            return Assumption(
                says, CONTRADICTED, f"Of arm {more!r}{where} at least {least:.1%} are cancelled, of arm {less!r} at most {most:.1%}."
            )
        if observed.late_cancellation():
            return Assumption(says, CONTRADICTED, f"Most cancellations{where} come later than most rewards, when a reward may be known.")
    share = history.cancelled / max(history.decisions, 1)
    return unseen(says, f"They are {share:.1%} of all decisions, and no arm surely has a larger share of them than another.")


# The baseline and features -------------------------------------------------------------------------------------------------


def linear(coefficients: float, longest: float, history: History) -> Assumption:
    says = (
        "What an arm earns on average is a linear function of its features, which does not change during the experiment; the norm of "
        f"its coefficients is at most {coefficients:.6g} (theta_bound), that of features at most {longest:.6g} (arm_bound)."
    )
    spec = history.spec
    assert spec is not None
    fixed = (math.hypot(*arm.features) for arm in spec.arms or () if arm.features is not None)
    norm = max(history.observed.longest, *fixed, 0.0)
    if norm > longest * ROUNDING:
        return Assumption(says, CONTRADICTED, f"The log has features of norm {norm:.6g}.")
    drift = steady("", history) if history.comparable else None
    if drift is not None and drift.verdict == CONTRADICTED:
        return Assumption(says, CONTRADICTED, drift.why)
    return unseen(says, f"The longest features have the norm {norm:.6g}; whether what they explain is linear is not checked.")


def masks(history: History) -> Assumption:
    """Nobody leaves arms out because of what they, or the others, would earn."""
    says = "Which arms may be played in a decision does not depend on what they would earn."
    contrast = history.telling_masks()
    if contrast is not None:
        arm, where, (more, least, less, most) = contrast
        least, most = history.in_units(least, most)
        more, less = (f"where {mask} may not be played" if mask else "where every arm may be played" for mask in (more, less))
        return Assumption(says, CONTRADICTED, f"Arm {arm!r} earns{where} at least {least:.4g} {more}, at most {most:.4g} {less}.")
    if not history.observed.limited:
        return Assumption(says, HOLDS, "No decision has left an arm out.")
    return unseen(says, f"For {plural(history.observed.limited, 'decision')} arms were left out.")


def baseline_is_there(history: History) -> Assumption:
    says = "The baseline can be played in every round; where it could not, a decision's reason says so."
    missing = history.observed.without_baseline
    if missing:
        return Assumption(says, CONTRADICTED, f"It was not eligible in {plural(missing, 'round')}.")
    return Assumption(says, HOLDS, "It was eligible in every round of the log.")


def baseline_mean(holdings: JsonObject, spec: ExperimentSpec, history: History) -> Assumption:
    stated = holdings["baseline_mean"]
    if stated is None:
        if holdings["learned"]:
            return Assumption("The baseline's mean is learned.", HOLDS, "Its rewards are data like any other.")
        return unseen("A round's baseline earns on average what the round said.")
    says = f"The baseline earns {stated:.6g} on average, or what a round said that it earns."
    if not isinstance(spec.baseline, str) or not history.comparable:
        return unseen(says, "The baseline is not one arm with one mean here, so that the log does not show what it earns.")
    bounds = mean_bounds(history).get(spec.baseline)
    if bounds is None:
        return unseen(says, "The log has no reward of the baseline to compare it with.")
    least, most = bounds
    if not least <= stated <= most:
        return Assumption(says, CONTRADICTED, f"By the log it earns between {least:.6g} and {most:.6g}.")
    return Assumption(says, AGREES, f"By the log it earns between {least:.6g} and {most:.6g}.")


def means_by_segment(spec: ExperimentSpec, history: History) -> Assumption:
    by, values, stated = str(spec.promise_by), spec.promised_values or [], spec.baseline_means
    if stated is None and spec.baseline_mean is None:
        return Assumption(f"The baseline's mean is learned in every {by} by itself.", HOLDS, "Its rewards are data like any other.")
    means = {value: float(spec.baseline_mean or 0.0) for value in values} if stated is None else stated
    says = f"The baseline earns on average, by {by}: {', '.join(f'{value} {means[value]:.6g}' for value in values)}."
    bounds: dict[str, tuple[float, float]] = {}
    if history.comparable:
        for value in values:
            least, most = open_mean_bounds(history.segments[by][value], str(spec.baseline), ERROR / len(values))
            bounds |= {value: history.in_units(least, most)} if least > 0.0 or most < 1.0 else {}
    if not bounds:
        return unseen(says, "The log has no reward of the baseline to compare them with.")
    for value, (least, most) in bounds.items():
        if not least <= means[value] <= most:
            return Assumption(says, CONTRADICTED, f"By the log it earns between {least:.6g} and {most:.6g} in {by} {value}.")
    intervals = ", ".join(f"{value} {least:.6g} to {most:.6g}" for value, (least, most) in bounds.items())
    return Assumption(says, AGREES, f"By the log it earns: {intervals}.")


def open_mean_bounds(segment: SegmentHistory, arm: str, error: float) -> tuple[float, float]:
    """Bounds on the mean of an arm in a segment, scaled to [0, 1], whatever its open decisions will bring: what comes first may be what
    comes quickly."""
    arm_history = segment.arms.get(arm)
    if arm_history is None or not arm_history.rewards:
        return 0.0, 1.0
    return bounds_of([at_worst(arm_history.mean, arm_history.open)], error)[0]

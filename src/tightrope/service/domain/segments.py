"""Segments: results by country, device or whatever a spec names, from the history of the log.

The policy is one for all of them. Intervals hold for all arms in all segments at once, so that looking at many segments finds no
difference that is only chance more often than the error says.
"""

from ...core.types import JsonObject
from .errors import Refused
from .history import ERROR, OPEN_AT_WORST, ArmHistory, History
from .spec import OTHER, ExperimentSpec

INTERVALS = (
    f"All intervals hold at all times, for all arms and segments at once, with probability {100 * (1 - ERROR):g} %; {OPEN_AT_WORST}. Where "
    "those of two arms overlap, the one that leads in a segment may lead by chance: of many segments some always do. The policy is one for "
    "all segments."
)


def note_of(spec: ExperimentSpec | None) -> str:
    if spec is None or not (spec.alpha is not None or spec.keeps_budget):
        return INTERVALS
    if spec.promise_by is None:
        return f"{INTERVALS} Its promise is about all decisions together, not about each segment."
    return f"{INTERVALS} It keeps a promise in every {spec.promise_by} by itself, and in other."


def segment_values(segments: dict[str, list[str]], texts: dict[str, str] | None, experiment: str) -> dict[str, str]:
    """The value of every segment of a decision: what the request says where the spec knows it, else "other". Refused where the request
    names a segment that there is not."""
    said = texts or {}
    unknown = next((name for name in said if name not in segments), None)
    if unknown is not None:
        raise Refused(
            422, f"segments has {unknown!r}, which experiment {experiment!r} does not have; it has {', '.join(segments)}.", "segments"
        )
    return {name: said[name] if said.get(name) in values else OTHER for name, values in segments.items()}


def promised_bounds(standing: JsonObject) -> list[JsonObject]:
    """The lower bound of each budget, where the values of a segment have a promise each. standing: see `commands.describe_standing`."""
    holdings, name = standing["holdings"], standing["spec"].get("promise_by")
    if holdings is None or "segments" not in holdings:
        return []
    values = [*standing["spec"]["segments"][name], OTHER]
    return [{"segment": name, "value": value, "bound": bound} for value, bound in zip(values, holdings["segments"], strict=True)]


def segment_report(history: History) -> JsonObject:
    """Counts of every segment, and of every arm in each of them with its mean, interval and difference from the baseline."""
    counts: list[JsonObject] = []
    places: list[tuple[str, str, str, ArmHistory | None]] = []
    for name, values in history.segments.items():
        for value, segment in values.items():
            counts.append({
                "segment": name, "value": value, "decisions": segment.decisions, "rewards": segment.rewards,
                "open": segment.open, "cancelled": segment.cancelled,
            })  # fmt: skip
            places += [(name, value, id, segment.arms.get(id)) for id in history.arms]
    intervals = history.intervals_of([arm for *_, arm in places])
    bounds = [
        pair if history.comparable and arm is not None and arm.rewards else None for (*_, arm), pair in zip(places, intervals, strict=True)
    ]
    compared = history.telling_masks() is None
    baseline = None if history.spec is None else history.spec.baseline
    cells = {(name, value, id): (arm, pair) for (name, value, id, arm), pair in zip(places, bounds, strict=True)}
    rows = []
    for (name, value, id), (arm, pair) in cells.items():
        if arm is None:
            continue
        low, high = pair or (None, None)
        base, base_pair = cells.get((name, value, str(baseline)), (None, None)) if id != baseline else (None, None)
        lift = None
        if compared and base is not None and base.rewards and arm.rewards and pair is not None and base_pair is not None:
            gap = arm.total / arm.rewards - base.total / base.rewards
            lift = {"value": gap, "low": pair[0] - base_pair[1], "high": pair[1] - base_pair[0]}
        rows.append({
            "segment": name, "value": value, "arm": id, "decisions": arm.plays, "rewards": arm.rewards,
            "mean": arm.total / arm.rewards if arm.rewards else None, "low": low, "high": high, "lift": lift,
        })  # fmt: skip
    return {"error": ERROR, "note": note_of(history.spec), "segments": counts, "arms": rows}

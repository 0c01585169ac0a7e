"""The form that creates an experiment, and the spec beside it: the fields are a view of the spec, which is what is sent."""

import json
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from ...core.types import JsonObject
from ..domain.errors import Refused, not_valid
from ..domain.requests import ArmsRequest
from ..domain.spec import ExperimentSpec
from ..domain.strict import RepeatedName, once_each

Spec = JsonObject
M = TypeVar("M", bound=BaseModel)
FOR_EVER = "for ever"  # a window of null
SPEC_FIELDS = ("name", "policy", "baseline", "baseline_mean", "alpha", "window", "default_reward")  # fields of the spec itself
FIELDS = (*SPEC_FIELDS, "arms", "lowest", "highest", "mode", "share")
BEGIN: Spec = {"name": "", "policy": "BetaThompson", "arms": [], "window": "7d"}  # of an empty form
PLACES = {"rewards": "lowest", "rollout": "mode", "rollout.share": "share"}  # fields that the API calls otherwise


class Draft(NamedTuple):
    """A form as it is shown. fields: texts by name. spec: text, which need not be JSON. was: the spec that the fields and the text last
    agreed on."""

    fields: dict[str, str]
    spec: str
    was: str


def text_of(spec: Spec) -> str:
    """The spec for people."""
    return json.dumps(spec, indent=2, ensure_ascii=False)


def spec_of(text: str) -> Spec:
    """The spec of a text. Refused with 422 where it is no JSON object."""
    try:
        spec = once_each(text)
    except RepeatedName as error:
        raise Refused(422, f"spec: {error}", "spec") from None
    except (ValueError, RecursionError) as error:
        where = f": {error.msg} at line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refused(422, f'spec is not JSON{where}; it must be an object such as {{"name": ..}}.', "spec") from None
    if not isinstance(spec, dict):
        raise Refused(422, 'spec must be a JSON object such as {"name": ..}.', "spec")
    return spec


def draft_of(spec: Spec) -> Draft:
    """The form of a spec."""
    text = text_of(spec)
    return Draft(fields_of(spec), text, text)


def draft_sent(form: Mapping[str, str]) -> Draft:
    """The form as it was typed."""
    texts = {name: form.get(name, "").replace("\r\n", "\n").strip() for name in (*FIELDS, "spec", "was")}
    return Draft({name: texts[name] for name in FIELDS}, texts["spec"], texts["was"])


# Fields of a spec ----------------------------------------------------------------------------------------------------------


def fields_of(spec: Spec) -> dict[str, str]:
    """The texts of the fields. What the form has no field for is in the spec alone."""
    policy, arms, rewards, rollout = spec.get("policy"), spec.get("arms"), spec.get("rewards"), spec.get("rollout")
    fields = {name: word(spec.get(name)) for name in SPEC_FIELDS}
    fields["policy"] = word(policy.get("policy") if isinstance(policy, dict) else policy)
    if "window" in spec and spec["window"] is None:
        fields["window"] = FOR_EVER
    ends = rewards if isinstance(rewards, list) and len(rewards) == 2 else [None, None]
    fields |= {"arms": "\n".join(map(line, arms)) if isinstance(arms, list) else "", "lowest": word(ends[0]), "highest": word(ends[1])}
    started, share = (rollout.get("mode", "apprentice"), rollout.get("share")) if isinstance(rollout, dict) else (None, None)
    percent = share * 100.0 if isinstance(share, int | float) and not isinstance(share, bool) else None
    return fields | {"mode": word(started), "share": word(share) if percent is None else f"{percent:.10g}"}


def word(value: object) -> str:
    """A value in a field."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def line(arm: object) -> str:
    """An arm in the field of arms: its id, or JSON where there is more to it."""
    if isinstance(arm, dict) and arm.keys() == {"id"} and isinstance(arm["id"], str) and arm["id"] and not arm["id"].startswith("{"):
        return arm["id"]
    return json.dumps(arm, ensure_ascii=False)


def arms_of(text: str) -> list[JsonObject]:
    """Arms of lines, each an id or JSON."""
    arms: list[JsonObject] = []
    for one in filter(None, map(str.strip, text.split("\n"))):
        try:
            arms.append(json.loads(one) if one.startswith("{") else {"id": one})
        except (ValueError, RecursionError):
            raise Refused(422, f"arms has the line {one[:100]!r}, which begins like JSON and is not; give an id a line.", "arms") from None
    return arms


def with_fields(spec: Spec, fields: Mapping[str, str]) -> Spec:
    """The spec with those fields that say something else than it does."""
    texts = fields_of(spec)
    changed = {name: text for name, text in fields.items() if text != texts[name]}
    for name in (name for name in SPEC_FIELDS if name in changed):
        spec = put(spec, name, plain_value(name, changed[name]))
    if "arms" in changed:
        spec = put(spec, "arms", arms_of(changed["arms"]) or None)
    if changed.keys() & {"lowest", "highest"}:
        low, high = number(fields["lowest"]), number(fields["highest"])
        spec = put(spec, "rewards", None if low is None and high is None else [low, high])
    if changed.keys() & {"mode", "share"}:
        spec = put(spec, "rollout", rollout_with(spec.get("rollout"), fields))
    return spec


def put(spec: Spec, name: str, value: object) -> Spec:
    """The spec with a field, or without it (None). One that says the same is left as it is."""
    if value is None:
        return {field: one for field, one in spec.items() if field != name}
    if name == "window" and value == FOR_EVER:
        value = None
    return spec if name in spec and spec[name] == value else spec | {name: value}


def plain_value(name: str, text: str) -> float | str | None:
    """The value of a field of the spec itself: a number where it looks like one, unless it is a name. None: the field is empty."""
    return text or None if name in ("name", "policy", "baseline") else number(text)


def number(text: str) -> float | str | None:
    """A number; the text itself where it is none, which the API then refuses in its own words. None: there is nothing."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and abs(value) < 2**53 and text.lstrip("+-").isdigit() else value


def rollout_with(rollout: object, fields: Mapping[str, str]) -> Spec | None:
    """How the experiment begins. None: the policy decides from the first round on."""
    if not fields["mode"]:
        return None
    begun = dict(rollout) if isinstance(rollout, dict) else {}
    if begun.get("mode", "apprentice") != fields["mode"] or not isinstance(rollout, dict):
        begun["mode"] = fields["mode"]
    percent = number(fields["share"])
    share = round(percent / 100.0, 12) if isinstance(percent, int | float) else percent
    return put(begun, "share", share)


# Agreement of both ---------------------------------------------------------------------------------------------------------


def agreed(draft: Draft) -> Spec:
    """The spec of a form in which one of both was edited. Refused with 422 where both were, and say different things."""
    spec = spec_of(draft.spec)
    merged = with_fields(spec, draft.fields)
    if merged == spec:
        return spec
    before = spec_of(draft.was) if draft.was else {}
    if draft.spec == draft.was:
        return merged
    if with_fields(before, draft.fields) == before:
        return spec
    differing = next(name for name in FIELDS if with_fields(spec, {**fields_of(spec), name: draft.fields[name]}) != spec)
    raise Refused(
        422, f"{differing} is one thing in the form and another in the spec, and both were edited; press one of the two buttons between "
        "them to say which of both holds.", differing,
    )  # fmt: skip


def checked(spec: Spec) -> ExperimentSpec:
    """The spec as the API reads it. Raises Refused with its sentence."""
    return read_as(ExperimentSpec, spec)


def arms_request(text: str) -> ArmsRequest:
    """New arms, a line each. Raises Refused with the API's sentence."""
    return read_as(ArmsRequest, {"arms": arms_of(text)})


def read_as(model: type[M], value: Spec) -> M:
    """A value as the API reads it. Raises Refused with its sentence."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise not_valid(error.errors(include_url=False, include_input=False)) from None


def place_of(field: str | None) -> str:
    """The field of the form that a refusal is about; the spec where the form has none for it."""
    if field is None:
        return "spec"
    first, last = field.partition(".")[0], field.rpartition(".")[2]
    return next((name for name in (PLACES.get(field), PLACES.get(first), first, last) if name in FIELDS), "spec")

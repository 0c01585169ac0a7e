"""Requests of clients about decisions, rewards and arms."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from . import JsonObject
from .certificate import NoticeKind
from .errors import Addressable, Number, Refused, Strict, not_valid
from .events import Reward
from .spec import ArmId, Arms, Mode, RawRow, Row, Share

MOST_ITEMS = 10_000  # items of a batch

TEXT = r"^[^\x00]*$"  # no database takes NUL: a whole group of commands would fail
Text = Annotated[str, Field(min_length=1, max_length=200, pattern=TEXT)]
DecisionId = Annotated[Text, Field(description="Your own, so that a retry is safe; else made.")]


def _form(value: object) -> str:
    """In which form features were sent: numbers, or raw values by name; for all arms, or for
    each."""
    if isinstance(value, dict):
        first: object = next(iter(value.values()), [])
        return (
            "raw rows by id"
            if isinstance(first, dict)
            else "by id"
            if isinstance(first, list)
            else "raw row"
        )
    if isinstance(value, list) and value and not isinstance(value[0], list):
        return "raw rows" if isinstance(value[0], dict) else "one row"
    return "rows"


Shown = Annotated[
    Annotated[Row, Tag("one row")]
    | Annotated[list[Row], Field(min_length=1, max_length=100_000), Tag("rows")]
    | Annotated[dict[ArmId, Row], Field(min_length=1, max_length=100_000), Tag("by id")]
    | Annotated[RawRow, Tag("raw row")]
    | Annotated[list[RawRow], Field(min_length=1, max_length=100_000), Tag("raw rows")]
    | Annotated[
        dict[ArmId, RawRow], Field(min_length=1, max_length=100_000), Tag("raw rows by id")
    ],
    Discriminator(_form),
]
Listed = Annotated[list[ArmId], Field(max_length=100_000)]


class DecisionRequest(Strict):
    """A question which arm to play."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {},
                {"id": "visit-8124", "excluded": ["12.90"], "subject": "user-77"},
                {"context": {"country": "de", "age": 31}},
            ]
        }
    )

    id: Annotated[DecisionId, Addressable] | None = None
    context: Shown | None = Field(
        default=None,
        description="Features where they change with every round: a row for "
        "every arm, "
        "[[..], ..] "
        "in their order or "
        "{id: [..]}; or one "
        "row, [..], that all arms are shown, such as a customer's. Only a "
        "regression for "
        "each arm "
        "tells arms apart by "
        "it, so send it from "
        "the first decision of the experiment on. Where the spec has features, "
        "a row is "
        "values by "
        'name, {"country": '
        '"de", "age": 31}; '
        "null, or left out: missing.",
    )
    eligible: Listed | None = Field(
        default=None, description="Ids of the arms that may be played; default all that are active."
    )
    excluded: Listed | None = Field(default=None, description="Ids of arms that may not.")
    baseline: ArmId | None = Field(
        default=None, description="This round's baseline, where every round has its own."
    )
    baseline_mean: Number | None = Field(default=None, description="Its known mean reward.")
    deferred: bool = Field(
        default=False, description="Counts only once it is activated; forgotten if it never is."
    )
    segments: (
        Annotated[
            dict[Annotated[str, Field(max_length=50)], Text], Field(min_length=1, max_length=5)
        ]
        | None
    ) = Field(
        default=None,
        description="The decision's segments, by the names of the spec; what is left out or not "
        "in the spec is other.",
    )
    subject: Text | None = Field(
        default=None, description="Whose data this is; `erase` blanks by it. A pseudonym will do."
    )

    def question(self) -> JsonObject:
        """The fields that a repeated request must have again: all but the id, without defaults."""
        if self.model_fields_set <= {"id"}:
            return {}
        return self.model_dump(exclude_defaults=True, exclude={"id"})


ByName = Annotated[dict[ArmId, Number], Field(min_length=1, max_length=100_000)]


class RewardRequest(Strict):
    """The reward of a decision."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"decision_id": "visit-8124", "value": 1.0}]}
    )

    decision_id: DecisionId
    value: Number | ByName | None = Field(
        default=None, description="One number; of a set, one for each arm by its id."
    )
    values: ByName | None = Field(
        default=None, description="In place of value, numbers by metric, as far as they are known."
    )
    reward_id: Text | None = Field(
        default=None, description="Your id of this reward, if you have one."
    )

    @property
    def given(self) -> Reward:
        given = self.value if self.values is None else self.values
        assert given is not None
        return given

    @model_validator(mode="after")
    def is_one(self) -> "RewardRequest":
        if (self.value is None) == (self.values is None):
            which = "are both given" if self.value is not None else "are both missing"
            raise ValueError(f"value and values {which}; give one of them.")
        return self


class BatchRequest(Strict):
    """Items that are answered one by one."""

    ITEMS: ClassVar[tuple[str, type[Strict]]]  # the field that lists them, and what each is

    def __len__(self) -> int:
        return len(getattr(self, self.ITEMS[0]))

    @classmethod
    def read(cls, text: bytes) -> Self:
        """The batch of a request. An item that is not valid becomes the `Refused` that it would be
        alone; a batch that is none raises ValidationError."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            field, model = cls.ITEMS
            items = _items(text, field)
            if not items:
                raise
            read: JsonObject = {field: [_alone(model, item) for item in items]}
            return cls.model_construct(**read)


_JSON: TypeAdapter[Any] = TypeAdapter(Any)


def _items(text: bytes, field: str) -> list[object]:
    try:
        batch = _JSON.validate_json(text)
    except ValidationError:
        return []
    items = batch[field] if isinstance(batch, dict) and batch.keys() == {field} else None
    return items if isinstance(items, list) and len(items) <= MOST_ITEMS else []


def _alone(model: type[Strict], item: object) -> Strict | Refused:
    try:
        return model.model_validate(item)
    except ValidationError as error:
        return invalid_request(error)


def invalid_request(error: ValidationError) -> Refused:
    return not_valid(error.errors(include_url=False, include_input=False, include_context=False))


class DecisionBatch(BatchRequest):
    """Up to 10,000 questions, answered in one commit."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"decisions": [{"id": "a"}, {"id": "b"}]}]}
    )

    ITEMS = ("decisions", DecisionRequest)

    decisions: Annotated[list[DecisionRequest], Field(min_length=1, max_length=MOST_ITEMS)]


class RewardBatch(BatchRequest):
    """Up to 10,000 rewards, taken in by one commit."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"rewards": [{"decision_id": "a", "value": 1.0}]}]}
    )

    ITEMS = ("rewards", RewardRequest)

    rewards: Annotated[list[RewardRequest], Field(min_length=1, max_length=MOST_ITEMS)]


class ArmsRequest(Strict):
    """New arms; everything learned stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"arms": [{"id": "13.90"}]}]})

    arms: Annotated[Arms, Field(max_length=MOST_ITEMS)]


class ArmChange(Strict):
    """The new status of an arm."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "retired"}]})

    status: Literal["active", "masked", "retired"] = Field(
        description="masked: not played for now; retired: not played any more. Late rewards are "
        "still taken in, and active restores it."
    )


class EraseRequest(Strict):
    """Whose data is to be erased."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"subject": "user-77"}]})

    subject: Text


Estimator = Literal["ips", "clipped-ips", "snips", "dm", "dr", "switch-dr", "aipw"]
BASELINE = "What it would replace: an arm; default the experiment's baseline."
LOWEST, HIGHEST, ALPHA = (
    "Lowest reward that there can be.",
    "Highest reward that there can be.",
    "Error of the bounds.",
)


class EvaluationRequest(Strict):
    """A policy to be judged on the log: `policy` or `session`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"policy": {"policy": "LinTS", "width": 2.0}, "method": "simulate"},
                {"policy": {"probabilities": [0.5, 0.3, 0.2]}, "estimator": "ips"},
                {"policy": {"arm": "12.90"}},
            ]
        }
    )

    policy: JsonObject | None = Field(
        default=None,
        description="As in a policy file of `tightrope evaluate`: "
        '{"policy": name, '
        "and its "
        "parameters}, which "
        "learns while it plays; "
        '{"probabilities": one for every arm, or "uniform"}; or {"arm": id}.',
    )
    session: str | None = Field(
        default=None,
        description="What Session.save wrote, in base64: judged at its present state.",
        max_length=16 * 2**20,
    )
    method: Literal["replay", "simulate"] | None = Field(
        default=None,
        description="For a policy that learns. replay: the rounds in which it would have played "
        "what was played, where arms were drawn uniformly. simulate: worlds fitted to the log, "
        "which may be any.",
    )
    baseline: ArmId | None = Field(None, description=BASELINE)
    estimator: Estimator = "dr"
    lowest: Number = Field(0.0, description=LOWEST)
    highest: Number = Field(1.0, description=HIGHEST)
    alpha: Annotated[float, Field(gt=0, lt=1, description=ALPHA)] = 0.05
    bootstraps: Annotated[
        int, Field(ge=20, le=1000, description="Fitted worlds of `simulate`.")
    ] = 200
    seed: Annotated[
        int, Field(ge=0, le=2**53, description="Of the policy's choices and of the worlds.")
    ] = 0

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.policy is None) == (self.session is None):
            raise ValueError(
                "policy and session are two ways to say what is judged; give one of them."
            )
        return self


class WebhookRequest(Strict):
    """Who is to be told of what."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "url": "https://hooks.example.com/tightrope",
                    "events": ["winner.known"],
                    "experiments": ["shop-*"],
                }
            ]
        }
    )

    url: Annotated[str, Field(min_length=1, max_length=2000, pattern=TEXT)] = Field(
        description="Where messages are sent by POST: https, to a public address unless the "
        "operator allows others."
    )
    events: Annotated[list[NoticeKind], Field(min_length=1, max_length=10)] | None = Field(
        None, description="null: all kinds."
    )
    experiments: (
        Annotated[list[Annotated[str, Field(max_length=100)]], Field(min_length=1, max_length=100)]
        | None
    ) = Field(
        None,
        description="Names and patterns of experiments, such as shop-*; null: all that the key is "
        "for.",
    )
    note: Annotated[str, Field(max_length=200, pattern=TEXT)] = Field(
        "", description="Whose it is."
    )


class ModeChange(Strict):
    """The mode from now on. A command also lets the rules work again after a return."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"mode": "capped", "share": 0.2, "why": "looks good in shadow"}]
        }
    )

    mode: Mode
    share: Share | None = Field(
        None,
        description="Of the decisions that are the policy's in mode capped; default: as before.",
    )
    why: Annotated[str, Field(max_length=500)] = Field(
        "", description="For those who read the log."
    )

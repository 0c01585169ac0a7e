"""Answers of the service, as OpenAPI shows them. Fast routes write the JSON directly; a test holds
them to these models."""

import importlib.resources
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tightrope.core.types import JsonObject

HERE = "tightrope_service"
EXAMPLES: JsonObject = json.loads(
    importlib.resources.files(HERE).joinpath("examples.json").read_text("utf-8")
)


def add_example(schema: JsonObject, model: type[BaseModel]) -> None:
    if model.__name__ in EXAMPLES:
        schema["examples"] = [EXAMPLES[model.__name__]]


class Answer(BaseModel):
    model_config = ConfigDict(json_schema_extra=add_example)


class ArmAnswer(Answer):
    """An arm and whether it is played."""

    id: str
    status: Literal["active", "masked", "retired"]


class ArmsAnswer(Answer):
    """All arms, also retired ones."""

    arms: list[ArmAnswer]


class ExperimentAnswer(Answer):
    """An experiment and how far it has come. spec: as it was given. policy: with every parameter
    that it plays by. seq, digest: of the last event of its log."""

    name: str
    status: Literal["running", "paused", "archived"]
    mode: Literal["apprentice", "shadow", "capped", "full"]
    spec: JsonObject
    policy: JsonObject
    arms: list[ArmAnswer]
    decisions: int
    rewards: int
    open: int
    seq: int
    digest: str


class CompilingAnswer(Answer):
    """An experiment that begins as soon as its policy is compiled."""

    name: str
    status: Literal["compiling"]
    message: str


class ListedExperiment(Answer):
    """An experiment in the list."""

    name: str
    seq: int
    owner: str | None


class ExperimentsAnswer(Answer):
    """All experiments."""

    experiments: list[ListedExperiment]


class DecisionAnswer(Answer):
    """A decision. arm: an id, or those of a set. draws: how many random draws the propensity was
    sampled by; null: it is exact. event: its place in the log. policy_version: rewards that the
    policy had learned."""

    id: str
    arm: str | int | list[str] | list[int]
    propensity: float | list[float]
    propensity_se: float | list[float]
    draws: int | None
    reason: str
    event: int
    policy_version: int
    expires_at: str | None


class RewardAnswer(Answer):
    """learned: False where the same reward was taken in before. event: where the log has it."""

    decision_id: str
    learned: bool
    event: int


class ActivationAnswer(Answer):
    """A deferred decision that counts now."""

    id: str
    expires_at: str | None


class CancellationAnswer(Answer):
    """A decision that never was."""

    id: str
    cancelled: Literal[True]


class BatchItem(Answer):
    """One item of a batch: its answer, or its error."""

    status: int
    answer: JsonObject | None = None
    error: JsonObject | None = None


class BatchAnswer(Answer):
    """Answers in the order of the items; status as if each had been sent alone."""

    results: list[BatchItem]


class StateAnswer(ExperimentAnswer):
    """A state. fingerprint: SHA-256 over every bit that decides what comes next."""

    time: str
    fingerprint: str


class ExplanationAnswer(Answer):
    """Lists have one number per arm, in the order of `arms`; null: nothing is known. event: the
    decision's."""

    arms: list[str]
    decision: str | None
    event: int | None
    explanation: JsonObject


class RecommendationAnswer(Answer):
    """gap_bound: with probability 1 - delta the arm is at most that much worse than the best.
    error: estimated chance that it is worse by more than epsilon. samples_remaining: a forecast;
    samples_range: its lowest and highest. null: nothing is known yet."""

    arm: str
    status: Literal["certified", "not certified yet"]
    gap_bound: float | None
    error: float | None
    samples_remaining: float | None
    samples_range: list[float | None]


class LogLine(Answer):
    """An event."""

    seq: int
    kind: str
    time: str
    decision: str | None
    body: JsonObject
    body_digest: str
    digest: str


class LogAnswer(Answer):
    """A part of the log."""

    events: list[LogLine]
    next: int | None


class EvaluationAnswer(Answer):
    """The result of `tr.evaluate`; see its reference for the rest."""

    model_config = ConfigDict(extra="allow")

    policy: str
    estimator: str
    value: float | None
    se: float | None
    interval: list[float | None]
    verdict: str


class AuditLine(Answer):
    """Somebody changed something. key: its number in `tightrope keys list`; null: none was needed,
    as on the command line. note: whose key it is. experiment: null where it was not about one.
    detail: what was done; `event` in it is the event of the log that says so."""

    id: int
    time: str
    key: int | None
    note: str
    experiment: str | None
    action: str
    detail: JsonObject


class AuditAnswer(Answer):
    """A part of the audit trail."""

    entries: list[AuditLine]
    next: int | None


class SegmentCounts(Answer):
    """Decisions of one segment. rewards: of single arms."""

    segment: str
    value: str
    decisions: int
    rewards: int
    open: int
    cancelled: int


class Lift(Answer):
    """A difference of means, and its bounds."""

    value: float
    low: float
    high: float


class SegmentArm(Answer):
    """An arm in one segment. low, high: of its mean; null where arms have no one mean, or there is
    no reward. lift: its mean less that of the baseline in the same segment."""

    segment: str
    value: str
    arm: str
    decisions: int
    rewards: int
    mean: float | None
    low: float | None
    high: float | None
    lift: Lift | None


class SegmentPromise(Answer):
    """A value of `promise_by`, which has a promise of its own. bound: its budget is at least
    that."""

    segment: str
    value: str
    bound: float


class SegmentsAnswer(Answer):
    """Results by segment, as of an event. error: of all intervals together. note: how to read them.
    promises: of `promise_by`."""

    event: int
    error: float
    note: str
    segments: list[SegmentCounts]
    arms: list[SegmentArm]
    promises: list[SegmentPromise]


class WebhookAnswer(Answer):
    """A webhook. experiments: names and patterns; null: all. waiting, failed: messages that are
    still to be delivered, and that are not any more. secret: shown once, to who creates it."""

    id: int
    url: str
    events: list[str]
    experiments: list[str] | None
    note: str
    created: str
    waiting: int
    failed: int


class NewWebhookAnswer(WebhookAnswer):
    """A webhook that was made, and its secret, which is shown only now."""

    secret: str


class WebhooksAnswer(Answer):
    """All webhooks that the key is for."""

    webhooks: list[WebhookAnswer]


class DeliveryLine(Answer):
    """A message. id: the receiver's `webhook-id`. next_attempt: while it waits. error: of the last
    attempt."""

    id: str
    experiment: str
    type: str
    created: str
    status: Literal["waiting", "delivered", "failed"]
    attempts: int
    next_attempt: str | None
    error: str | None


class DeliveriesAnswer(Answer):
    """The last messages of a webhook, the newest first."""

    deliveries: list[DeliveryLine]


class RetryAnswer(Answer):
    """retried: how many failed messages wait again."""

    retried: int


class ErasureAnswer(Answer):
    """erased: how many events were blanked. event: where the log says so. rewritten: whether
    SQLite's file was written anew, which takes copies out of its unused bytes; false where nothing
    was blanked, where it is owed, and for PostgreSQL. owed: whether it is still to be done, as the
    file has more than 16 MiB: once a day up to 128 MiB, or by `tightrope log rewrite`."""

    erased: int
    event: int | None
    rewritten: bool
    owed: bool


class OpenItem(Answer):
    """A decision that waits for its reward, or, deferred, to be activated."""

    id: str
    expires_at: str | None
    deferred: bool


class OpenAnswer(Answer):
    """Open decisions. total: how many there are."""

    open: list[OpenItem]
    total: int


class RolloutAnswer(Answer):
    """mode: what is served. share: of the policy's choices. held: it was sent back, and rules wait
    for a command. estimate: what the policy and the baseline earn, in modes that can tell."""

    mode: Literal["apprentice", "shadow", "capped", "full"]
    share: float
    held: bool
    rewards_in_mode: int
    rules: JsonObject
    least_budget: float | None
    budget_bound: float | None
    estimate: JsonObject | None


class AssumptionAnswer(Answer):
    """An assumption, and what the log says about it. holds: the service sees to it. agrees: the log
    shows nothing against it. contradicted: the log shows that it is wrong. unseen: no log can show
    it."""

    says: str
    verdict: Literal["holds", "agrees", "contradicted", "unseen"]
    why: str


class CertificateAnswer(Answer):
    """public_key: SHA-256 of the key (in DER) that GET /v1/public-key answers. sha256, ed25519:
    digest and signature of all other fields as JSON with names in order and without spaces.
    `tightrope certificate FILE` checks both, and the log's head."""

    model_config = ConfigDict(extra="allow")

    kind: str
    experiment: str
    issued: str
    log: JsonObject
    budget: JsonObject | None
    promise: str
    assumptions: list[AssumptionAnswer]
    public_key: str
    sha256: str
    ed25519: str

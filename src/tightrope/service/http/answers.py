"""Answers of the service, as OpenAPI shows them. Fast routes write the JSON directly; a test holds them to these models."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ...core.types import JsonObject


def example(**data: Any) -> ConfigDict:
    """A model's example."""
    return ConfigDict(json_schema_extra={"examples": [data]})


D1 = "7aabe52e7fb5a4e4a71dbf004dbcf7c2c821b452aa28456e346a5ce15f0388ad"  # digests of the examples
D2 = "008acd548af1048d5eb87d62923d3159ea259f5dc046aafba7cd5dd9112b7ad3"
EXPERIMENT: JsonObject = {
    "name": "checkout-price", "status": "running", "mode": "shadow",
    "spec": {
        "name": "checkout-price", "policy": "BetaThompson", "arms": [{"id": "9.90"}, {"id": "11.90"}], "baseline": "9.90",
        "baseline_mean": 0.12, "alpha": 0.05, "guarantee": {"sigma": 0.5}, "rollout": {"mode": "shadow"}, "window": 604800.0,
    },
    "policy": {"policy": "Safe", "baseline": 0, "baseline_mean": 0.12, "alpha": 0.05, "delta": 0.01, "sigma": 0.5,
               "inner": {"policy": "BetaThompson", "a": 1.0, "b": 1.0, "forget": 1.0}},
    "arms": [{"id": "9.90", "status": "active"}, {"id": "11.90", "status": "active"}],
    "decisions": 3, "rewards": 2, "open": 1, "seq": 6, "digest": D1,
}  # fmt: skip
ESTIMATE: JsonObject = {
    "verdict": "not enough overlap: effective sample size 3 of 3; wait, or raise the share.", "rounds": 3, "waiting": 0,
    "effective_sample_size": 3.0, "error": 0.0125, "policy": None, "baseline": None, "difference": None,
}  # fmt: skip


class ArmAnswer(BaseModel):
    """An arm and whether it is played."""

    model_config = example(id="11.90", status="masked")

    id: str
    status: Literal["active", "masked", "retired"]


class ArmsAnswer(BaseModel):
    """All arms, also retired ones."""

    model_config = example(arms=EXPERIMENT["arms"])

    arms: list[ArmAnswer]


class ExperimentAnswer(BaseModel):
    """An experiment and how far it has come. spec: as it was given. policy: with every parameter that it plays by. seq, digest: of the last
    event of its log."""

    model_config = example(**EXPERIMENT)

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


class CompilingAnswer(BaseModel):
    """An experiment that begins as soon as its policy is compiled."""

    model_config = example(name="checkout-price", status="compiling", message="UGapE is being compiled, once on this machine, ...")

    name: str
    status: Literal["compiling"]
    message: str


class ListedExperiment(BaseModel):
    """An experiment in the list."""

    name: str
    seq: int
    owner: str | None


class ExperimentsAnswer(BaseModel):
    """All experiments."""

    model_config = example(experiments=[{"name": "checkout-price", "seq": 6, "owner": "7f3a90c1d2"}])

    experiments: list[ListedExperiment]


class DecisionAnswer(BaseModel):
    """A decision. arm: an id, or those of a set. draws: how many random draws the propensity was sampled by; null: it is exact. event: its
    place in the log. policy_version: rewards that the policy had learned."""

    model_config = example(
        id="visit-8124", arm="11.90", propensity=0.82, propensity_se=0.004, draws=500,
        reason="11.90: drawn by the policy with probability 0.82", event=41, policy_version=17, expires_at="2026-07-01T12:00:00.000000Z",
    )  # fmt: skip

    id: str
    arm: str | int | list[str] | list[int]
    propensity: float | list[float]
    propensity_se: float | list[float]
    draws: int | None
    reason: str
    event: int
    policy_version: int
    expires_at: str | None


class RewardAnswer(BaseModel):
    """learned: False where the same reward was taken in before. event: where the log has it."""

    model_config = example(decision_id="visit-8124", learned=True, event=42)

    decision_id: str
    learned: bool
    event: int


class ActivationAnswer(BaseModel):
    """A deferred decision that counts now."""

    model_config = example(id="visit-8124", expires_at="2026-07-01T12:00:00.000000Z")

    id: str
    expires_at: str | None


class CancellationAnswer(BaseModel):
    """A decision that never was."""

    model_config = example(id="visit-8124", cancelled=True)

    id: str
    cancelled: Literal[True]


class BatchItem(BaseModel):
    """One item of a batch: its answer, or its error."""

    status: int
    answer: JsonObject | None = None
    error: JsonObject | None = None


class BatchAnswer(BaseModel):
    """Answers in the order of the items; status as if each had been sent alone."""

    model_config = example(results=[
        {"status": 200, "answer": {"decision_id": "visit-8124", "learned": True, "event": 42}},
        {"status": 422, "error": {"code": "invalid", "message": "decision_id: Field required.", "field": "decision_id"}},
    ])  # fmt: skip

    results: list[BatchItem]


class StateAnswer(ExperimentAnswer):
    """A state. fingerprint: SHA-256 over every bit that decides what comes next."""

    model_config = example(**EXPERIMENT, time="2026-07-01T12:00:00.000000Z", fingerprint=D2)

    time: str
    fingerprint: str


class ExplanationAnswer(BaseModel):
    """Lists have one number per arm, in the order of `arms`; null: nothing is known. event: the decision's."""

    model_config = example(
        arms=["9.90", "11.90"], decision="visit-8124", event=41,
        explanation={"mean": [0.4, 0.5], "width": [0.2, None], "lower": [0.07, 0.0], "upper": [0.81, None], "index": [0.4, 0.5],
                     "probability": [0.4, 0.6]},
    )  # fmt: skip

    arms: list[str]
    decision: str | None
    event: int | None
    explanation: JsonObject


class RecommendationAnswer(BaseModel):
    """gap_bound: with probability 1 - delta the arm is at most that much worse than the best. error: estimated chance that it is worse by
    more than epsilon. samples_remaining: a forecast; samples_range: its lowest and highest. null: nothing is known yet."""

    model_config = example(
        arm="11.90", status="not certified yet", gap_bound=0.08, error=0.21, samples_remaining=1840.0, samples_range=[910.0, 3400.0]
    )

    arm: str
    status: Literal["certified", "not certified yet"]
    gap_bound: float | None
    error: float | None
    samples_remaining: float | None
    samples_range: list[float | None]


class LogLine(BaseModel):
    """An event."""

    seq: int
    kind: str
    time: str
    decision: str | None
    body: JsonObject
    body_digest: str
    digest: str


class LogAnswer(BaseModel):
    """A part of the log."""

    model_config = example(
        events=[{"seq": 42, "kind": "rewarded", "time": "2026-07-01T12:00:00.000000Z", "decision": "visit-8124", "body": {"value": 1.0},
                 "body_digest": D1, "digest": D2}],
        next=43,
    )  # fmt: skip

    events: list[LogLine]
    next: int | None


class EvaluationAnswer(BaseModel):
    """The result of `tr.evaluate`; see its reference for the rest."""

    model_config = ConfigDict(extra="allow") | example(
        policy="11.90", estimator="dr", value=0.131, se=0.008, interval=[0.098, 0.164],
        verdict="undecided",
    )  # fmt: skip

    policy: str
    estimator: str
    value: float | None
    se: float | None
    interval: list[float | None]
    verdict: str


class AuditLine(BaseModel):
    """Somebody changed something. key: its number in `tightrope keys list`; null: none was needed, as on the command line. note: whose key
    it is. experiment: null where it was not about one. detail: what was done; `event` in it is the event of the log that says so."""

    id: int
    time: str
    key: int | None
    note: str
    experiment: str | None
    action: str
    detail: JsonObject


class AuditAnswer(BaseModel):
    """A part of the audit trail."""

    model_config = example(
        entries=[{"id": 7, "time": "2026-07-01T12:00:00.000000Z", "key": 2, "note": "team shop", "experiment": "checkout-price",
                  "action": "pause", "detail": {"event": 43}}],
        next=8,
    )  # fmt: skip

    entries: list[AuditLine]
    next: int | None


class SegmentCounts(BaseModel):
    """Decisions of one segment. rewards: of single arms."""

    segment: str
    value: str
    decisions: int
    rewards: int
    open: int
    cancelled: int


class Lift(BaseModel):
    """A difference of means, and its bounds."""

    value: float
    low: float
    high: float


class SegmentArm(BaseModel):
    """An arm in one segment. low, high: of its mean; null where arms have no one mean, or there is no reward. lift: its mean less that of
    the baseline in the same segment."""

    segment: str
    value: str
    arm: str
    decisions: int
    rewards: int
    mean: float | None
    low: float | None
    high: float | None
    lift: Lift | None


class SegmentPromise(BaseModel):
    """A value of `promise_by`, which has a promise of its own. bound: its budget is at least that."""

    segment: str
    value: str
    bound: float


class SegmentsAnswer(BaseModel):
    """Results by segment, as of an event. error: of all intervals together. note: how to read them. promises: of `promise_by`."""

    model_config = example(
        event=4127, error=0.05, note="All intervals hold at all times, for all arms and segments at once, with probability 95 %.",
        segments=[{"segment": "country", "value": "de", "decisions": 1502, "rewards": 1499, "open": 2, "cancelled": 1}],
        arms=[{"segment": "country", "value": "de", "arm": "11.90", "decisions": 702, "rewards": 700, "mean": 0.14, "low": 0.1,
               "high": 0.19, "lift": {"value": 0.03, "low": -0.04, "high": 0.1}}],
        promises=[{"segment": "country", "value": "de", "bound": 4.1}],
    )  # fmt: skip

    event: int
    error: float
    note: str
    segments: list[SegmentCounts]
    arms: list[SegmentArm]
    promises: list[SegmentPromise]


class WebhookAnswer(BaseModel):
    """A webhook. experiments: names and patterns; null: all. waiting, failed: messages that are still to be delivered, and that are not any
    more. secret: shown once, to who creates it."""

    model_config = example(
        id=1, url="https://hooks.example.com/tightrope", events=["winner.known"], experiments=["shop-*"], note="team shop",
        created="2026-07-01T12:00:00.000000Z", waiting=0, failed=0,
    )  # fmt: skip

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

    model_config = example(
        id=1, url="https://hooks.example.com/tightrope", events=["winner.known"], experiments=["shop-*"], note="team shop",
        created="2026-07-01T12:00:00.000000Z", waiting=0, failed=0, secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    )  # fmt: skip

    secret: str


class WebhooksAnswer(BaseModel):
    """All webhooks that the key is for."""

    model_config = example(webhooks=[{
        "id": 1, "url": "https://hooks.example.com/tightrope", "events": ["winner.known"], "experiments": ["shop-*"], "note": "",
        "created": "2026-07-01T12:00:00.000000Z", "waiting": 0, "failed": 1,
    }])  # fmt: skip

    webhooks: list[WebhookAnswer]


class DeliveryLine(BaseModel):
    """A message. id: the receiver's `webhook-id`. next_attempt: while it waits. error: of the last attempt."""

    id: str
    experiment: str
    type: str
    created: str
    status: Literal["waiting", "delivered", "failed"]
    attempts: int
    next_attempt: str | None
    error: str | None


class DeliveriesAnswer(BaseModel):
    """The last messages of a webhook, the newest first."""

    model_config = example(deliveries=[{
        "id": "msg_8f14e45fceea167a5a36dedd4bea2543", "experiment": "checkout-price", "type": "winner.known",
        "created": "2026-07-01T12:00:00.000000Z", "status": "waiting", "attempts": 2, "next_attempt": "2026-07-01T12:00:15.000000Z",
        "error": "status 500",
    }])  # fmt: skip

    deliveries: list[DeliveryLine]


class RetryAnswer(BaseModel):
    """retried: how many failed messages wait again."""

    model_config = example(retried=3)

    retried: int


class ErasureAnswer(BaseModel):
    """erased: how many events were blanked. event: where the log says so. rewritten: whether SQLite's file was written anew, which takes
    copies out of its unused bytes; false where nothing was blanked, where it is owed, and for PostgreSQL. owed: whether it is still to be
    done, as the file has more than 16 MiB: once a day up to 128 MiB, or by `tightrope log rewrite`."""

    model_config = example(erased=2, event=43, rewritten=True, owed=False)

    erased: int
    event: int | None
    rewritten: bool
    owed: bool


class OpenItem(BaseModel):
    """A decision that waits for its reward, or, deferred, to be activated."""

    id: str
    expires_at: str | None
    deferred: bool


class OpenAnswer(BaseModel):
    """Open decisions. total: how many there are."""

    model_config = example(open=[{"id": "visit-8124", "expires_at": "2026-07-01T12:00:00.000000Z", "deferred": False}], total=1)

    open: list[OpenItem]
    total: int


class RolloutAnswer(BaseModel):
    """mode: what is served. share: of the policy's choices. held: it was sent back, and rules wait for a command. estimate: what the policy
    and the baseline earn, in modes that can tell."""

    model_config = example(
        mode="shadow", share=0.0, held=False, rewards_in_mode=3, rules={}, least_budget=-1.0, budget_bound=0.018, estimate=ESTIMATE
    )

    mode: Literal["apprentice", "shadow", "capped", "full"]
    share: float
    held: bool
    rewards_in_mode: int
    rules: JsonObject
    least_budget: float | None
    budget_bound: float | None
    estimate: JsonObject | None


class AssumptionAnswer(BaseModel):
    """An assumption, and what the log says about it. holds: the service sees to it. agrees: the log shows nothing against it. contradicted:
    the log shows that it is wrong. unseen: no log can show it."""

    says: str
    verdict: Literal["holds", "agrees", "contradicted", "unseen"]
    why: str


class CertificateAnswer(BaseModel):
    """public_key: SHA-256 of the key (in DER) that GET /v1/public-key answers. sha256, ed25519: digest and signature of all other fields as
    JSON with names in order and without spaces. `tightrope certificate FILE` checks both, and the log's head."""

    model_config = ConfigDict(extra="allow") | example(
        kind="tightrope certificate 1", experiment="checkout-price", issued="2026-07-01T12:00:00.000000Z",
        log={"events": 7, "digest": D2, "time": "2026-07-01T11:59:00.000000Z"},
        budget={"bound": 0.018, "bound_if_cancelled_were_shown": 0.018, "lowest_bound": 0.0,
                "over_time": [[1, 0.0], [3, 0.018]], "alpha": 0.05, "delta": 0.01, "sigma": 0.5,
                "rewards": [0.0, 1.0], "failure": 0.01},
        promise="With probability at least 0.99, in every round the expected reward of all decisions so far is at least 0.95 times what "
        "the baseline alone would have earned.",
        assumptions=[{"says": "What an arm earns on average does not change during the experiment.", "verdict": "agrees",
                      "why": "Stretches of the log, compared arm by arm, do not surely differ."}],
        public_key=D1, sha256=D1, ed25519=D1 + D2,
    )  # fmt: skip

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

"""What the service answers, as OpenAPI shows it. Hot paths write the JSON directly; a test holds them to these models."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


def example(**data: Any) -> ConfigDict:
    """A model's example."""
    return ConfigDict(json_schema_extra={"examples": [data]})


class ArmAnswer(BaseModel):
    """An arm and whether it is played."""

    id: str
    status: Literal["active", "masked", "retired"]


class ArmsAnswer(BaseModel):
    """All arms, also retired ones."""

    arms: list[ArmAnswer]


class ExperimentAnswer(BaseModel):
    """An experiment and how far it has come. seq, digest: of the last event of its log."""

    name: str
    status: Literal["running", "paused", "archived"]
    mode: Literal["apprentice", "shadow", "capped", "full"]
    spec: dict[str, Any]
    arms: list[ArmAnswer]
    decisions: int
    rewards: int
    open: int
    seq: int
    digest: str


class ListedExperiment(BaseModel):
    """An experiment in the list."""

    name: str
    seq: int
    owner: str | None


class ExperimentsAnswer(BaseModel):
    """All experiments."""

    experiments: list[ListedExperiment]


class DecisionAnswer(BaseModel):
    """A decision. arm: an id, or those of a set. event: its place in the log. policy_version: rewards that the policy had learned."""

    model_config = example(
        id="visit-8124", arm="11.90", propensity=0.82, propensity_se=0.0, reason="11.90: drawn by the policy with probability 0.82",
        event=41, policy_version=17, expires_at="2026-07-01T12:00:00.000000Z",
    )  # fmt: skip

    id: str
    arm: str | int | list[str] | list[int]
    propensity: float | list[float]
    propensity_se: float | list[float]
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

    id: str
    expires_at: str | None


class CancellationAnswer(BaseModel):
    """A decision that never was."""

    id: str
    cancelled: Literal[True]


class BatchItem(BaseModel):
    """One item of a batch: its answer, or its error."""

    status: int
    answer: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class BatchAnswer(BaseModel):
    """Answers in the order of the items; status as if each had been sent alone."""

    results: list[BatchItem]


class StateAnswer(ExperimentAnswer):
    """A state. fingerprint: SHA-256 over every bit that decides what comes next."""

    time: str
    fingerprint: str


class ExplanationAnswer(BaseModel):
    """Lists have one number per arm, in the order of `arms`; null: nothing is known. event: the decision's."""

    arms: list[str]
    decision: str | None
    event: int | None
    explanation: dict[str, Any]


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
    body: dict[str, Any]
    body_digest: str
    digest: str


class LogAnswer(BaseModel):
    """A part of the log."""

    events: list[LogLine]
    next: int | None


class EvaluationAnswer(BaseModel):
    """What `tr.evaluate` found; see its reference for the rest."""

    model_config = ConfigDict(extra="allow")

    policy: str
    estimator: str
    value: float | None
    se: float | None
    interval: list[float | None]
    verdict: str


class ErasureAnswer(BaseModel):
    """erased: how many events were blanked. event: where the log says so."""

    erased: int
    event: int | None


class OpenDecision(BaseModel):
    """A decision that waits for its reward, or, deferred, to be activated."""

    id: str
    expires_at: str | None
    deferred: bool


class OpenAnswer(BaseModel):
    """Open decisions. total: how many there are."""

    open: list[OpenDecision]
    total: int


class RolloutAnswer(BaseModel):
    """mode: what is served. share: of the policy's choices. held: it was sent back, and rules wait for a command. estimate: what the policy
    and the baseline earn, in modes that can tell."""

    mode: Literal["apprentice", "shadow", "capped", "full"]
    share: float
    held: bool
    rewards_in_mode: int
    rules: dict[str, Any]
    least_budget: float
    budget_bound: float | None
    estimate: dict[str, Any] | None


class CertificateAnswer(BaseModel):
    """sha256: of the canonical JSON of all other fields but hmac_sha256. `tightrope certificate FILE` checks both, and the log's head."""

    model_config = ConfigDict(extra="allow")

    kind: str
    experiment: str
    issued: str
    log: dict[str, Any]
    budget: dict[str, Any] | None
    promise: str
    assumptions: list[str]
    sha256: str
    hmac_sha256: str

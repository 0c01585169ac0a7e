"""The HTTP interface: decisions, experiments, readings, rollout, segments, audit, health,
webhooks."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import AwareDatetime, BaseModel
from sqlalchemy.engine import Connection

from tightrope import Session
from tightrope.core.files import plain

from . import JsonObject, commands, log, new_id, outbox
from .certificate import NOTICE_KINDS, public_key
from .commands import issue
from .database import AT_ONCE
from .errors import Refused, invalid, microseconds, timestamp, unknown_experiment
from .events import Decided
from .history import promised_bounds, segment_report
from .http import (
    ArmKey,
    DecisionKey,
    FastRoute,
    Name,
    Served,
    Who,
    answer,
    described,
    needs,
    replies,
)
from .keys import Key, check_pattern, covered
from .log import ExperimentJournal
from .outbox import (
    RETRY_PERIOD,
    Webhook,
    checked_addresses,
    networks_of,
    parts_of,
    shown_secret,
)
from .recovery import before_decision, fingerprint, rebuild
from .requests import (
    ALPHA,
    BASELINE,
    HIGHEST,
    LOWEST,
    TEXT,
    ArmChange,
    ArmsRequest,
    DecisionBatch,
    DecisionRequest,
    EraseRequest,
    Estimator,
    EvaluationRequest,
    ModeChange,
    RewardBatch,
    RewardRequest,
    WebhookRequest,
)
from .service import Service, judge_apart
from .settings import metrics
from .spec import ExperimentSpec
from .transfer import rewrite_owed

if TYPE_CHECKING:
    from tightrope.logs import Log

decisions_router = APIRouter(
    prefix="/v1/experiments/{name}",
    tags=["decisions"],
    route_class=FastRoute,
    dependencies=[needs("decide")],
)


@decisions_router.post("/decisions", responses=replies("DecisionAnswer", 404, 409, 410))
async def decide(name: Name, request: DecisionRequest, service: Served) -> Response:
    """Which arm to play. The same id and body again gets the same answer; another body is refused
    (409)."""
    id = request.id or new_id()
    return answer(
        await service.ask(
            name, lambda at: commands.decide(at, id, request), () if request.id is None else (id,)
        )
    )


@decisions_router.post("/decisions:batch", responses=replies("BatchAnswer", 404))
async def decide_batch(name: Name, batch: DecisionBatch, service: Served) -> Response:
    """Up to 10,000 decisions, each with its own answer or error. They are made in parts, between
    which others are served."""
    items = [
        (None, one) if isinstance(one, Refused) else (one.id, (one.id or new_id(), one))
        for one in batch.decisions
    ]
    return answer(
        await service.ask(name, commands.Each(items, lambda at, one: commands.decide(at, *one)))
    )


@decisions_router.post(
    "/decisions/{id:path}/activate", responses=replies("ActivationAnswer", 404, 409, 410)
)
async def activate(name: Name, id: DecisionKey, service: Served) -> Response:
    """A deferred decision was shown: it counts, and its window begins."""
    return answer(await service.ask(name, lambda at: commands.activate(at, id), (id,)))


@decisions_router.delete("/decisions/{id:path}", responses=replies("CancellationAnswer", 404, 409))
async def cancel(name: Name, id: DecisionKey, service: Served) -> Response:
    """It was never shown: the policy is as if it had not been decided."""
    return answer(await service.ask(name, lambda at: commands.cancel(at, id), (id,)))


@decisions_router.post("/rewards", responses=replies("RewardAnswer", 404, 409, 410))
async def reward(name: Name, request: RewardRequest, service: Served) -> Response:
    """The reward of a decision. The same again changes nothing; another value is refused (409);
    after the window it is too late (410)."""
    return answer(
        await service.ask(name, lambda at: commands.reward(at, request), (request.decision_id,))
    )


@decisions_router.post("/rewards:batch", responses=replies("BatchAnswer", 404))
async def reward_batch(name: Name, batch: RewardBatch, service: Served) -> Response:
    """Up to 10,000 rewards, each with its own answer or error. They are taken in in parts, between
    which others are served."""
    items = [
        (None, one) if isinstance(one, Refused) else (one.decision_id, one) for one in batch.rewards
    ]
    return answer(await service.ask(name, commands.Each(items, commands.reward)))


# Experiments and their arms.


experiments_router = APIRouter(prefix="/v1/experiments", tags=["experiments"])


@experiments_router.post(
    "",
    status_code=201,
    dependencies=[needs("admin")],
    responses=replies("ExperimentAnswer", 409, success=201)
    | {
        200: described("ExperimentAnswer", "It existed with the same spec."),
        202: described(
            "CompilingAnswer",
            "Its policy is being compiled, then it begins; send the same again to know.",
        ),
    },
)
async def create_experiment(
    spec: ExperimentSpec, request: Request, service: Served, who: Who
) -> Response:
    """Create an experiment. The same name and spec again changes nothing (200); another spec is
    refused (409).

    The first experiment of a rare kind on a machine is answered by 202 while its policy is
    compiled, for up to a minute or two. It begins when that is done.
    """
    request.state.key.check(spec.name)
    created = await commands.create_soon(service, spec, who)
    if created is None:
        policy = spec.described_policy["policy"]
        return answer(
            {
                "name": spec.name,
                "status": "compiling",
                "message": f"{policy} is being compiled, once on this machine, which may take two "
                "minutes; send the same request again to know.",
            },
            202,
        )
    new, described = created
    return answer(described, 201 if new else 200)


@experiments_router.get("", dependencies=[needs("read")], responses=replies("ExperimentsAnswer"))
async def list_experiments(request: Request, service: Served) -> Response:
    """All experiments that the key is for."""
    return answer(
        {"experiments": await asyncio.to_thread(covered, service.database, request.state.key)}
    )


@experiments_router.get(
    "/{name}", dependencies=[needs("read")], responses=replies("ExperimentAnswer", 404)
)
async def read_experiment(name: Name, service: Served) -> Response:
    """One experiment: spec, arms, counts."""
    return answer(await service.ask(name, commands.describe))


@experiments_router.post(
    "/{name}/pause", dependencies=[needs("admin")], responses=replies("ExperimentAnswer", 404, 409)
)
async def pause_experiment(name: Name, service: Served, who: Who) -> Response:
    """Decide no more for now. Rewards are still taken in and windows still close."""
    return answer(
        await service.ask(
            name, lambda transaction: commands.change_status(transaction, "pause"), author=who
        )
    )


@experiments_router.post(
    "/{name}/resume", dependencies=[needs("admin")], responses=replies("ExperimentAnswer", 404, 409)
)
async def resume_experiment(name: Name, service: Served, who: Who) -> Response:
    """Decide again."""
    return answer(
        await service.ask(
            name, lambda transaction: commands.change_status(transaction, "resume"), author=who
        )
    )


@experiments_router.post(
    "/{name}/archive",
    dependencies=[needs("admin")],
    responses=replies("ExperimentAnswer", 404, 409),
)
async def archive_experiment(name: Name, service: Served, who: Who) -> Response:
    """End the experiment for good; it can still be read."""
    return answer(
        await service.ask(
            name, lambda transaction: commands.change_status(transaction, "archive"), author=who
        )
    )


@experiments_router.post(
    "/{name}/arms",
    status_code=201,
    dependencies=[needs("admin")],
    responses=replies("ArmsAnswer", 404, 409, success=201),
)
async def add_arms(name: Name, request: ArmsRequest, service: Served, who: Who) -> Response:
    """Add arms; nothing learned is lost and nothing is drawn again. So many that a decision would
    take too long are refused (422)."""
    return answer(await commands.add_arms_in_time(service, name, request, who), 201)


@experiments_router.patch(
    "/{name}/arms/{arm}", dependencies=[needs("admin")], responses=replies("ArmAnswer", 404, 409)
)
async def change_arm(
    name: Name, arm: ArmKey, change: ArmChange, service: Served, who: Who
) -> Response:
    """Retire, mask or restore an arm."""
    return answer(
        await service.ask(
            name, lambda transaction: commands.change_arm(transaction, arm, change), author=who
        )
    )


@experiments_router.get(
    "/{name}/open", dependencies=[needs("read")], responses=replies("OpenAnswer", 404)
)
async def list_open(name: Name, service: Served) -> Response:
    """Decisions that wait for rewards, the first to expire first; at most 10,000."""
    return answer(await service.ask(name, commands.list_open))


# Reading: the state of now or of any event before, explanations, the log, and what another policy
# would have earned.


T = TypeVar("T")

reading_router = APIRouter(prefix="/v1/experiments/{name}", tags=["reading"])
SCRUBS, SCRUB_PAUSE = 100, 0.1  # attempts, seconds

Seq = Annotated[
    int | None, Query(ge=1, le=2**62, description="As it was after this event; default: now.")
]


async def read_beside(service: Service, name: str, read: Callable[[Connection, int], T]) -> T:
    """Read the database beside the writer. Raises Refused where there is no such experiment, or the
    library has a sentence."""

    def work() -> T:
        with service.database.read() as connection:
            row = log.row_of(connection, name)
            if row is None:
                raise unknown_experiment(name)
            try:
                return read(connection, row)
            except ValueError as error:
                raise invalid(error) from None

    return await service.in_thread("reading", work)


async def of_session(
    service: Service, name: str, read: Callable[[Session], T]
) -> tuple[Sequence[str], T]:
    """Names of an experiment's arms, and what a view of its session says. Raises Refused with the
    library's sentence."""
    view = await service.ask(name, commands.session_view)
    try:
        return view.names or (), await service.in_thread("reading", read, view)
    except ValueError as error:
        raise invalid(error) from None


def past(connection: Connection, row: int, name: str, seq: int) -> ExperimentJournal:
    journal = rebuild(connection, row, name, seq)
    if journal.experiment.seq != seq:
        raise Refused(
            404,
            f"seq = {seq} is not in the log, which ends with event {journal.experiment.seq}.",
            "seq",
        )
    return journal


@reading_router.get("/state", dependencies=[needs("read")], responses=replies("StateAnswer", 404))
async def state(name: Name, service: Served, seq: Seq = None) -> Response:
    """Counts and the fingerprint of every bit that decides what comes next, now or after an event
    of the past."""
    if seq is None:
        return answer(
            await service.ask(name, lambda transaction: state_answer(transaction.owned.journal))
        )
    return answer(
        await read_beside(
            service, name, lambda connection, row: state_answer(past(connection, row, name, seq))
        )
    )


def state_answer(journal: ExperimentJournal) -> JsonObject:
    return commands.summary(journal) | {
        "time": timestamp(journal.experiment.time),
        "fingerprint": fingerprint(journal).hex(),
    }


@reading_router.get(
    "/explain", dependencies=[needs("read")], responses=replies("ExplanationAnswer", 404)
)
async def explain(
    name: Name,
    service: Served,
    decision: Annotated[
        str | None,
        Query(
            max_length=200,
            pattern=TEXT,
            description="Explain this one: its own round, the state just before.",
        ),
    ] = None,
) -> Response:
    """Why: per arm mean, width, lower, upper, index and probability, and what the policy's family
    adds."""
    if decision is None:
        by = await service.ask(name, commands.segment_of_promises)
        if by is not None:
            raise Refused(
                422,
                f"decision is missing; every {by} has a promise of its own, so name the decision "
                "to explain.",
                "decision",
            )
        names, explanation = await of_session(service, name, Session.explain)
        return answer(
            {
                "arms": list(names),
                "decision": None,
                "event": None,
                "explanation": plain(explanation),
            }
        )

    def read(connection: Connection, row: int) -> JsonObject:
        before = before_decision(connection, row, name, decision)
        if before is None:
            raise Refused(
                404,
                f"decision = {decision!r} is not a decision of experiment {name!r}.",
                "decision",
            )
        (experiment, entry), event = before, before[1].event
        assert isinstance(event, Decided)
        context, eligible, names = experiment.round(event.asked)
        return {
            "arms": list(names or experiment.session.names or ()),
            "decision": decision,
            "event": entry.seq,
            "explanation": plain(experiment.session.explain(context, eligible)),
        }

    return answer(await read_beside(service, name, read))


@reading_router.get(
    "/recommendation", dependencies=[needs("read")], responses=replies("RecommendationAnswer", 404)
)
async def recommend(name: Name, service: Served) -> Response:
    """The arm that an identification policy names as the best, how sure that is, and how many
    samples it still needs."""
    names, recommendation = await of_session(service, name, Session.recommend)
    return answer(plain(recommendation) | {"arm": names[recommendation["arm"]]})


@reading_router.get("/log", dependencies=[needs("read")], responses=replies("LogAnswer", 404))
async def read_log(
    name: Name,
    service: Served,
    first: Annotated[
        int, Query(alias="from", ge=1, le=2**62, description="Number of the first event.")
    ] = 1,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """Events in their order, with the digests that chain them. next: where to go on; null at the
    end."""

    def read(connection: Connection, row: int) -> JsonObject:
        entries = list(log.read(connection, row, first - 1, first - 1 + limit))
        return {
            "events": [
                {
                    "seq": e.seq,
                    "kind": e.kind,
                    "time": timestamp(e.time),
                    "decision": e.decision,
                    "body": e.body,
                    "body_digest": e.body_digest.hex(),
                    "digest": e.digest.hex(),
                }
                for e in entries
            ],
            "next": entries[-1].seq + 1 if len(entries) == limit else None,
        }

    return answer(await read_beside(service, name, read))


class EvaluationQuery(BaseModel):
    """The parameters of an evaluation."""

    arm: Annotated[
        str,
        Query(max_length=200, description='The policy that always plays this arm, or "logged".'),
    ]
    baseline: Annotated[str | None, Query(max_length=200, description=BASELINE)] = None
    estimator: Estimator = "dr"
    lowest: Annotated[float, Query(allow_inf_nan=False, description=LOWEST)] = 0.0
    highest: Annotated[float, Query(allow_inf_nan=False, description=HIGHEST)] = 1.0
    alpha: Annotated[float, Query(gt=0, lt=1, description=ALPHA)] = 0.05


@reading_router.get(
    "/evaluate", dependencies=[needs("read")], responses=replies("EvaluationAnswer", 404)
)
async def evaluate(
    name: Name, service: Served, query: Annotated[EvaluationQuery, Query()]
) -> Response:
    """The estimated reward of always playing an arm, from the decisions of the log and their
    propensities, with bounds that hold at all times."""
    from tightrope import evaluate as judge

    def read(connection: Connection, row: int) -> JsonObject:
        table, baseline = log_to_judge(connection, row, name, query)
        return judge(
            table, query.arm, baseline=baseline, estimator=query.estimator, alpha=query.alpha
        ).record()

    return answer(await read_beside(service, name, read))


@reading_router.post(
    "/evaluate", dependencies=[needs("read")], responses=replies("EvaluationAnswer", 404)
)
async def evaluate_policy(name: Name, request: EvaluationRequest, service: Served) -> Response:
    """The estimated reward of any policy: one that learns while it plays, probabilities, an arm, or
    a saved session. It is judged in a process of its own, one request after the other, for two
    minutes at most."""
    table, baseline = await read_beside(
        service, name, lambda connection, row: log_to_judge(connection, row, name, request)
    )
    return answer(await service.in_thread("judging", judge_apart, table, request, baseline))


def log_to_judge(
    connection: Connection, row: int, name: str, query: EvaluationQuery | EvaluationRequest
) -> "tuple[Log, str | None]":
    from .transfer import as_log

    spec = rebuild(connection, row, name, 1).experiment.spec
    return as_log(connection, row, name, (query.lowest, query.highest)), (
        query.baseline or (spec.baseline if isinstance(spec.baseline, str) else None)
    )


@reading_router.post(
    "/erase", dependencies=[needs("admin")], responses=replies("ErasureAnswer", 404, 409)
)
async def erase_subject(name: Name, request: EraseRequest, service: Served, who: Who) -> Response:
    """Blank what the log knows of a subject; digests stay, so that the chain still holds. Answered
    when no row and no write-ahead log of SQLite has it any more. Unused bytes of the file may have
    (`owed`), until it is written anew: at once where that is quick, else once a day or by
    `tightrope log rewrite`. Where a long read holds it fast, 503: the same request again goes on
    from there."""
    erased = await service.ask(name, commands.Erasure(request.subject), author=who)
    for _ in range(SCRUBS):
        outcome = await service.in_thread("scrubbing", rewrite_owed, service.database, AT_ONCE)
        if outcome is not None:
            return answer(erased | dict(zip(("rewritten", "owed"), outcome, strict=True)))
        await asyncio.sleep(SCRUB_PAUSE)
    raise Refused(
        503,
        "The data is erased, but the file could not be written anew, or somebody reads old "
        "copies; send the same request again.",
        retry_after=5,
    )


# The rollout of a policy: its mode, what is known of it, and the certificate.


rollout_router = APIRouter(prefix="/v1/experiments/{name}", tags=["rollout"])
public_router = APIRouter(tags=["rollout"])


@rollout_router.get("/mode", dependencies=[needs("read")], responses=replies("RolloutAnswer", 404))
async def read_mode(name: Name, service: Served) -> Response:
    """The mode, the rules by which it will change, and what the policy and the baseline earn as far
    as the log can tell."""
    return answer(await service.ask(name, commands.describe_rollout))


@rollout_router.post(
    "/mode", dependencies=[needs("admin")], responses=replies("RolloutAnswer", 404, 409)
)
async def change_mode(name: Name, change: ModeChange, service: Served, who: Who) -> Response:
    """Go on to another mode, or back. After an automatic return this also lets the rules work
    again."""
    return answer(
        await service.ask(
            name, lambda transaction: commands.change_mode(transaction, change), author=who
        )
    )


@rollout_router.get(
    "/certificate", dependencies=[needs("read")], responses=replies("CertificateAnswer", 404)
)
async def read_certificate(name: Name, service: Served) -> Response:
    """The experiment's promise, its assumptions and its present state, signed and bound to the head
    of the log."""
    return answer(await issue(service, name))


@public_router.get("/v1/public-key", responses=replies(None))
async def read_public_key(service: Served) -> Response:
    """The key that checks certificates of this service, in PEM. Whoever is shown a certificate may
    ask for it: it needs no key."""
    return Response(public_key(service.private_key), media_type="text/plain")


# Results by segment.


segments_router = APIRouter(prefix="/v1/experiments/{name}", tags=["reading"])


@segments_router.get(
    "/segments", dependencies=[needs("read")], responses=replies("SegmentsAnswer", 404, 409)
)
async def read_segments(name: Name, service: Served) -> Response:
    """The mean reward of every arm in every segment of the spec, with intervals that hold for all
    at once; also the budget of each value that has a promise of its own."""
    standing = await service.ask(name, commands.describe_standing)
    if "segments" not in standing["spec"]:
        raise Refused(
            409,
            f"experiment = {name!r} has no segments; create one with segments in its spec.",
            "experiment",
        )
    return answer(
        await service.read_history(
            name,
            standing["seq"],
            lambda history: {
                "event": history.seq,
                **segment_report(history),
                "promises": promised_bounds(standing, history),
            },
        )
    )


# Who changed what.


audit_router = APIRouter(prefix="/v1/audit", tags=["audit"])
Which = Annotated[
    str | None, Query(max_length=100, pattern=TEXT, description="Of this experiment only.")
]
Since = Annotated[
    AwareDatetime | None,
    Query(description="Not from before this time, such as 2026-07-01T00:00:00Z."),
]


@audit_router.get("", dependencies=[needs("admin")], responses=replies("AuditAnswer"))
async def read_audit(
    request: Request,
    service: Served,
    experiment: Which = None,
    since: Since = None,
    first: Annotated[
        int, Query(alias="from", ge=1, le=2**31 - 1, description="Number of the first row.")
    ] = 1,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """Who changed what, in order: all but decisions and rewards. A key for some experiments is
    shown what was done to these. next: where to go on; null at the end."""
    key = request.state.key
    if experiment is not None:
        key.check(experiment)

    def work() -> list[JsonObject]:
        last = log.last_settled(service.database)
        with service.database.read() as connection:
            covered_rows = (
                row
                for row in log.read_audit(
                    connection,
                    first,
                    experiment,
                    None if since is None else microseconds(since),
                    last,
                )
                if key.experiments is None
                or (row.experiment is not None and key.covers(row.experiment))
            )
            return [row.to_dict() for row in itertools.islice(covered_rows, limit)]

    entries = await service.in_thread("reading", work)
    return answer(
        {"entries": entries, "next": entries[-1]["id"] + 1 if len(entries) == limit else None}
    )


# Whether the service lives, whether it is ready, and how it is doing.


health_router = APIRouter(tags=["health"])


@health_router.get("/healthz", responses=replies("Health"))
async def healthz() -> Response:
    """The process answers."""
    return answer({"status": "ok"})


@health_router.get("/readyz", responses=replies("Health"))
async def readyz(service: Served) -> Response:
    """Decisions can be made: all logs are read, the writer works and the last commit succeeded."""
    if service.closing or not service.writer.is_alive():
        raise Refused(503, "The service is shutting down.", retry_after=1)
    if not service.writer.replayed:
        raise Refused(503, "The logs of the experiments are still being read.", retry_after=1)
    if service.writer.failing is not None:
        raise Refused(503, f"The last commit failed ({service.writer.failing}).", retry_after=1)
    return answer({"status": "ok"})


@health_router.get("/metrics", responses=replies(None))
async def show_metrics(service: Served) -> Response:
    """Metrics for Prometheus."""
    metrics().open.clear()  # experiments that another process has taken over
    for name, owned in list(service.writer.owned.items()):
        metrics().open.labels(name).set(len(owned.experiment.open))
    return Response(generate_latest(metrics().registry), media_type=CONTENT_TYPE_LATEST)


# Webhooks: who is told what happens in experiments.


webhooks_router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="Number of the webhook.")]
MOST_WEBHOOKS = 100


async def with_webhook(
    request: Request,
    service: Service,
    id: int,
    work: Callable[[Connection, Webhook], T],
    writes: bool = False,
) -> T:
    """The value of a function of a webhook, in one transaction. Refused where there is none, or the
    key is not for it."""
    key: Key = request.state.key

    def within() -> T:
        with service.database.write() if writes else service.database.read() as connection:
            hook = outbox.webhook_of(connection, id)
            if hook is None and key.experiments is not None:
                key.check("*")  # whether there is one is not told
            if hook is None:
                raise Refused(
                    404, f"webhook = {id} does not exist; GET /v1/webhooks lists all.", "webhook"
                )
            key.check_scope(hook.experiments or ("*",))  # all that it is told of
            return work(connection, hook)

    return await service.in_thread("names", within)


@webhooks_router.post(
    "",
    status_code=201,
    dependencies=[needs("admin")],
    responses=replies("NewWebhookAnswer", 409, success=201),
)
async def create_webhook(webhook: WebhookRequest, request: Request, service: Served) -> Response:
    """Tell an address what happens from now on. The answer has the secret that messages are signed
    with; it is shown only this once."""
    key: Key = request.state.key
    try:
        for pattern in webhook.experiments or ():
            check_pattern(pattern)
    except ValueError as error:
        raise invalid(error) from None
    scope = key.check_scope(webhook.experiments)
    scheme, host, port, _ = parts_of(webhook.url)
    networks = networks_of(service.settings.webhook_networks)

    def work() -> Webhook:
        try:
            checked_addresses(scheme, host, port, networks)
        except (OSError, UnicodeError):  # nobody knows the name, or it can be none
            raise Refused(
                422,
                f"url = {host!r} is not a name that leads anywhere; give one that exists.",
                "url",
            ) from None
        now = service.settings.clock()
        with service.database.write() as connection:
            if len(outbox.all_webhooks(connection)) >= MOST_WEBHOOKS:
                raise Refused(
                    409,
                    f"There are {MOST_WEBHOOKS} webhooks already, which is the limit; remove one "
                    "first.",
                )
            hook = outbox.create(
                connection,
                now,
                webhook.url,
                tuple(webhook.events or NOTICE_KINDS),
                scope,
                webhook.note,
            )
            log.note(
                connection,
                now,
                key.author,
                None,
                "create webhook",
                {
                    "webhook": hook.id,
                    "host": host,
                    "events": list(hook.events),
                    "experiments": None if scope is None else list(scope),
                },
            )
        return hook

    hook = await service.in_thread("names", work)
    return answer(outbox.described(hook, {}) | {"secret": shown_secret(hook.secret)}, 201)


@webhooks_router.get("", dependencies=[needs("admin")], responses=replies("WebhooksAnswer"))
async def list_webhooks(request: Request, service: Served) -> Response:
    """All webhooks that the key is for."""

    def work() -> list[JsonObject]:
        with service.database.read() as connection:
            counts = outbox.counts(connection)
            return [
                outbox.described(hook, counts)
                for hook in outbox.all_webhooks(connection)
                if request.state.key.covers_all(hook.experiments)
            ]

    return answer({"webhooks": await service.in_thread("reading", work)})


@webhooks_router.get(
    "/{webhook}", dependencies=[needs("admin")], responses=replies("WebhookAnswer", 404)
)
async def read_webhook(webhook: Number, request: Request, service: Served) -> Response:
    """One webhook."""
    return answer(
        await with_webhook(
            request, service, webhook, lambda at, hook: outbox.described(hook, outbox.counts(at))
        )
    )


@webhooks_router.delete(
    "/{webhook}",
    status_code=204,
    dependencies=[needs("admin")],
    responses=replies(None, 404, success=204),
)
async def remove_webhook(webhook: Number, request: Request, service: Served) -> Response:
    """Tell it nothing any more. Its messages go with it."""

    def work(connection: Connection, hook: Webhook) -> None:
        outbox.remove(connection, hook.id)
        log.note(
            connection,
            service.settings.clock(),
            request.state.key.author,
            None,
            "remove webhook",
            {"webhook": hook.id},
        )

    await with_webhook(request, service, webhook, work, writes=True)
    return Response(status_code=204)


@webhooks_router.get(
    "/{webhook}/deliveries",
    dependencies=[needs("admin")],
    responses=replies("DeliveriesAnswer", 404),
)
async def list_deliveries(
    webhook: Number,
    request: Request,
    service: Served,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The last messages, the newest first, and what became of them. They are kept for 30 days."""
    listed = await with_webhook(
        request, service, webhook, lambda at, hook: outbox.last_deliveries(at, hook.id, limit)
    )
    return answer(
        {
            "deliveries": [
                {
                    "id": one.message,
                    "experiment": one.experiment,
                    "type": one.event,
                    "created": timestamp(one.created),
                    "status": one.status,
                    "attempts": one.attempts,
                    "next_attempt": timestamp(one.due)
                    if one.status == outbox.WAITING_STATUS
                    else None,
                    "error": one.error,
                }
                for one in listed
            ]
        }
    )


@webhooks_router.post(
    "/{webhook}/retry", dependencies=[needs("admin")], responses=replies("RetryAnswer", 404)
)
async def retry_deliveries(webhook: Number, request: Request, service: Served) -> Response:
    """Try messages that have failed for another day."""
    now = service.settings.clock()
    return answer(
        {
            "retried": await with_webhook(
                request,
                service,
                webhook,
                lambda at, hook: outbox.retry(at, hook.id, now, now + RETRY_PERIOD),
                writes=True,
            )
        }
    )

"""Reading: the state of now or of any event before, explanations, the log, and what another policy would have earned."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel
from sqlalchemy.engine import Connection

from ...core.files import plain
from ...core.types import JsonObject
from ..domain.errors import Refused, invalid, unknown_experiment
from ..domain.events import Decided
from ..domain.requests import ALPHA, BASELINE, HIGHEST, LOWEST, TEXT, EraseRequest, Estimator, EvaluationRequest
from ..domain.times import timestamp
from ..log import store
from ..log.database import AT_ONCE
from ..log.erasure import rewrite_owed
from ..log.journal import ExperimentJournal
from ..log.recovery import before_decision, rebuild
from ..log.snapshots import fingerprint
from ..runtime import commands
from ..runtime.judging import judge_apart
from ..runtime.service import Service
from .answers import ErasureAnswer, EvaluationAnswer, ExplanationAnswer, LogAnswer, RecommendationAnswer, StateAnswer
from .common import Name, Served, Who, answer, needs, replies

if TYPE_CHECKING:
    from ...logs import Log

T = TypeVar("T")

router = APIRouter(prefix="/v1/experiments/{name}", tags=["reading"])
SCRUBS, SCRUB_PAUSE = 100, 0.1  # attempts, seconds

Seq = Annotated[int | None, Query(ge=1, le=2**62, description="As it was after this event; default: now.")]


async def read_beside(service: Service, name: str, read: Callable[[Connection, int], T]) -> T:
    """Read the database beside the writer. Raises Refused where there is no such experiment, or the library has a sentence."""

    def work() -> T:
        with service.database.read() as connection:
            row = store.row_of(connection, name)
            if row is None:
                raise unknown_experiment(name)
            try:
                return read(connection, row)
            except ValueError as error:
                raise invalid(error) from None

    return await service.in_thread("reading", work)


def past(connection: Connection, row: int, name: str, seq: int) -> ExperimentJournal:
    """The experiment after an event of the past."""
    journal = rebuild(connection, row, name, seq)
    if journal.experiment.seq != seq:
        raise Refused(404, f"seq = {seq} is not in the log, which ends with event {journal.experiment.seq}.", "seq")
    return journal


@router.get("/state", dependencies=[needs("read")], responses=replies(StateAnswer, 404))
async def state(name: Name, service: Served, seq: Seq = None) -> Response:
    """Counts and the fingerprint of every bit that decides what comes next, now or after an event of the past."""
    if seq is None:
        return answer(await service.ask(name, lambda transaction: state_answer(transaction.owned.journal)))
    return answer(await read_beside(service, name, lambda connection, row: state_answer(past(connection, row, name, seq))))


def state_answer(journal: ExperimentJournal) -> JsonObject:
    return commands.summary(journal) | {"time": timestamp(journal.experiment.time), "fingerprint": fingerprint(journal).hex()}


@router.get("/explain", dependencies=[needs("read")], responses=replies(ExplanationAnswer, 404))
async def explain(
    name: Name, service: Served,
    decision: Annotated[
        str | None, Query(max_length=200, pattern=TEXT, description="Explain this one: its own round, the state just before.")
    ] = None,
) -> Response:  # fmt: skip
    """Why: per arm mean, width, lower, upper, index and probability, and what the policy's family adds."""
    if decision is None:
        by = (await service.ask(name, commands.describe))["spec"].get("promise_by")
        if by is not None:
            raise Refused(422, f"decision is missing; every {by} has a promise of its own, so name the decision to explain.", "decision")
        view = await service.ask(name, commands.session_view)
        try:
            explanation = await service.in_thread("reading", view.explain)
        except ValueError as error:
            raise invalid(error) from None
        return answer({"arms": list(view.names or ()), "decision": None, "event": None, "explanation": plain(explanation)})

    def read(connection: Connection, row: int) -> JsonObject:
        before = before_decision(connection, row, name, decision)
        if before is None:
            raise Refused(404, f"decision = {decision!r} is not a decision of experiment {name!r}.", "decision")
        (experiment, entry), event = before, before[1].event
        assert isinstance(event, Decided)
        context, eligible, names = experiment.round(event.asked)
        explanation = experiment.session.explain(context, eligible)
        return {
            "arms": list(names or experiment.session.names or ()),
            "decision": decision,
            "event": entry.seq,
            "explanation": plain(explanation),
        }

    return answer(await read_beside(service, name, read))


@router.get("/recommendation", dependencies=[needs("read")], responses=replies(RecommendationAnswer, 404))
async def recommend(name: Name, service: Served) -> Response:
    """The arm that an identification policy names as the best, how sure that is, and how many samples it still needs."""
    view = await service.ask(name, commands.session_view)
    try:
        recommendation = await service.in_thread("reading", view.recommend)
    except ValueError as error:
        raise invalid(error) from None
    return answer(plain(recommendation) | {"arm": (view.names or ())[recommendation["arm"]]})


@router.get("/log", dependencies=[needs("read")], responses=replies(LogAnswer, 404))
async def read_log(
    name: Name, service: Served,
    first: Annotated[int, Query(alias="from", ge=1, le=2**62, description="Number of the first event.")] = 1,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:  # fmt: skip
    """Events in their order, with the digests that chain them. next: where to go on; null at the end."""

    def read(connection: Connection, row: int) -> JsonObject:
        entries = list(store.read(connection, row, first - 1, first - 1 + limit))
        lines = [
            {"seq": e.seq, "kind": e.kind, "time": timestamp(e.time), "decision": e.decision, "body": e.body,
             "body_digest": e.body_digest.hex(), "digest": e.digest.hex()}
            for e in entries
        ]  # fmt: skip
        return {"events": lines, "next": entries[-1].seq + 1 if len(entries) == limit else None}

    return answer(await read_beside(service, name, read))


class EvaluationQuery(BaseModel):
    """The parameters of an evaluation."""

    arm: Annotated[str, Query(max_length=200, description='The policy that always plays this arm, or "logged".')]
    baseline: Annotated[str | None, Query(max_length=200, description=BASELINE)] = None
    estimator: Estimator = "dr"
    lowest: Annotated[float, Query(allow_inf_nan=False, description=LOWEST)] = 0.0
    highest: Annotated[float, Query(allow_inf_nan=False, description=HIGHEST)] = 1.0
    alpha: Annotated[float, Query(gt=0, lt=1, description=ALPHA)] = 0.05


@router.get("/evaluate", dependencies=[needs("read")], responses=replies(EvaluationAnswer, 404))
async def evaluate(name: Name, service: Served, query: Annotated[EvaluationQuery, Query()]) -> Response:
    """The estimated reward of always playing an arm, from the decisions of the log and their propensities, with bounds that hold at all
    times."""
    from ...evaluation.evaluate import evaluate as judge

    def read(connection: Connection, row: int) -> JsonObject:
        table, baseline = log_to_judge(connection, row, name, query)
        return judge(table, query.arm, baseline=baseline, estimator=query.estimator, alpha=query.alpha).record()

    return answer(await read_beside(service, name, read))


@router.post("/evaluate", dependencies=[needs("read")], responses=replies(EvaluationAnswer, 404))
async def evaluate_policy(name: Name, request: EvaluationRequest, service: Served) -> Response:
    """The estimated reward of any policy: one that learns while it plays, probabilities, an arm, or a saved session. It is judged in a
    process of its own, one request after the other, for two minutes at most."""
    table, baseline = await read_beside(service, name, lambda connection, row: log_to_judge(connection, row, name, request))
    return answer(await service.in_thread("judging", judge_apart, table, request, baseline))


def log_to_judge(connection: Connection, row: int, name: str, query: EvaluationQuery | EvaluationRequest) -> "tuple[Log, str | None]":
    """The decisions of the log, and the arm that a policy would replace."""
    from ..log.export import as_log

    spec = rebuild(connection, row, name, 1).experiment.spec
    baseline = query.baseline or (spec.baseline if isinstance(spec.baseline, str) else None)
    return as_log(connection, row, name, (query.lowest, query.highest)), baseline


@router.post("/erase", dependencies=[needs("admin")], responses=replies(ErasureAnswer, 404, 409))
async def erase_subject(name: Name, request: EraseRequest, service: Served, who: Who) -> Response:
    """Blank what the log knows of a subject; digests stay, so that the chain still holds. Answered when no row and no write-ahead log of
    SQLite has it any more. Unused bytes of the file may have (`owed`), until it is written anew: at once where that is quick, else once
    a day or by `tightrope log rewrite`. Where a long read holds it fast, 503: the same request again goes on from there."""
    erased = await service.ask(name, commands.Erasure(request.subject), author=who)
    for _ in range(SCRUBS):
        outcome = await service.in_thread("scrubbing", rewrite_owed, service.database, AT_ONCE)
        if outcome is not None:
            return answer(erased | dict(zip(("rewritten", "owed"), outcome, strict=True)))
        await asyncio.sleep(SCRUB_PAUSE)
    raise Refused(
        503, "The data is erased, but the file could not be written anew, or somebody reads old copies; send the same request again.",
        retry_after=5,
    )  # fmt: skip

"""Reading: the state of now or of any event before, explanations, the log, and what another policy would have earned."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel
from sqlalchemy.engine import Connection

from ...files import plain
from .. import operations
from ..answers import ErasureAnswer, EvaluationAnswer, ExplanationAnswer, LogAnswer, RecommendationAnswer, StateAnswer
from ..errors import Refused, invalid, unknown_experiment
from ..experiment import Experiment
from ..office import Office
from ..recovery import rebuild
from ..requests import TEXT, EraseRequest
from ..snapshots import fingerprint
from ..store import events as log
from ..store.tables import experiments
from .common import Name, Served, answer, needs, replies

router = APIRouter(prefix="/v1/experiments/{name}", tags=["reading"])

Seq = Annotated[int | None, Query(ge=1, le=2**62, description="As it was after this event; default: now.")]


async def in_thread(office: Office, name: str, read: Callable[[Connection, int], Any]) -> Any:
    """Read the database beside the writer. Raises Refused where there is no such experiment, or the library has a sentence."""

    def work() -> Any:
        with office.database.read() as connection:
            row = connection.execute(sa.select(experiments.c.id).where(experiments.c.name == name)).scalar_one_or_none()
            if row is None:
                raise unknown_experiment(name)
            try:
                return read(connection, row)
            except ValueError as error:
                raise invalid(error) from None

    return await office.apart("reading", work)


def past(connection: Connection, row: int, name: str, seq: int) -> Experiment:
    """The experiment after an event of the past."""
    live = rebuild(connection, row, name, seq)
    if live.seq != seq:
        raise Refused(404, f"seq = {seq} is not in the log, which ends with event {live.seq}.", "seq")
    return live


@router.get("/state", dependencies=[needs("read")], responses=replies(StateAnswer, 404))
async def state(name: Name, office: Served, seq: Seq = None) -> Response:
    """Counts and the fingerprint of every bit that decides what comes next, now or after an event of the past."""
    if seq is None:
        return answer(await office.ask(name, lambda desk: told(desk.live)))
    return answer(await in_thread(office, name, lambda connection, row: told(past(connection, row, name, seq))))


def told(live: Experiment) -> dict[str, Any]:
    """A state as the service shows it."""
    return live.summary() | {"time": operations.stamp(live.time), "fingerprint": fingerprint(live).hex()}


@router.get("/explain", dependencies=[needs("read")], responses=replies(ExplanationAnswer, 404))
async def explain(
    name: Name, office: Served,
    decision: Annotated[
        str | None, Query(max_length=200, pattern=TEXT, description="Explain this one: its own round, the state just before.")
    ] = None,
) -> Response:  # fmt: skip
    """Why: per arm mean, width, lower, upper, index and probability, and what the policy's family adds."""
    if decision is None:
        view = await office.ask(name, operations.glimpse)
        try:
            found = await office.apart("reading", view.explain)
        except ValueError as error:
            raise invalid(error) from None
        return answer({"arms": list(view.names or ()), "decision": None, "event": None, "explanation": plain(found)})

    def read(connection: Connection, row: int) -> dict[str, Any]:
        made = operations.decided(log.about(connection, row, [decision]))
        if made is None:
            raise Refused(404, f"decision = {decision!r} is not a decision of experiment {name!r}.", "decision")
        live = rebuild(connection, row, name, made.seq - 1)
        context, eligible, names = live.round(made.body.get("asked", {}))
        found = live.session.explain(context, eligible)
        return {"arms": list(names or live.session.names or ()), "decision": decision, "event": made.seq, "explanation": plain(found)}

    return answer(await in_thread(office, name, read))


@router.get("/recommendation", dependencies=[needs("read")], responses=replies(RecommendationAnswer, 404))
async def recommend(name: Name, office: Served) -> Response:
    """The arm that an identification policy names as the best, how sure that is, and how many samples it still needs."""
    view = await office.ask(name, operations.glimpse)
    try:
        found = await office.apart("reading", view.recommend)
    except ValueError as error:
        raise invalid(error) from None
    return answer(plain(found) | {"arm": (view.names or ())[found["arm"]]})


@router.get("/log", dependencies=[needs("read")], responses=replies(LogAnswer, 404))
async def read_log(
    name: Name, office: Served,
    first: Annotated[int, Query(alias="from", ge=1, le=2**62, description="Number of the first event.")] = 1,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:  # fmt: skip
    """Events in their order, with the digests that chain them. next: where to go on; null at the end."""

    def read(connection: Connection, row: int) -> dict[str, Any]:
        found = list(log.read(connection, row, first - 1, first - 1 + limit))
        lines = [
            {"seq": e.seq, "kind": e.kind, "time": operations.stamp(e.time), "decision": e.key, "body": e.body,
             "body_digest": e.body_digest.hex(), "digest": e.digest.hex()}
            for e in found
        ]  # fmt: skip
        return {"events": lines, "next": found[-1].seq + 1 if len(found) == limit else None}

    return answer(await in_thread(office, name, read))


class EvaluationQuery(BaseModel):
    """What is to be judged."""

    arm: Annotated[str, Query(max_length=200, description='The policy that always plays this arm, or "logged".')]
    baseline: Annotated[
        str | None, Query(max_length=200, description="What it would replace: an arm; default the experiment's baseline.")
    ] = None
    estimator: Literal["ips", "clipped-ips", "snips", "dm", "dr", "switch-dr", "aipw"] = "dr"
    lowest: Annotated[float, Query(allow_inf_nan=False, description="Lowest reward that there can be.")] = 0.0
    highest: Annotated[float, Query(allow_inf_nan=False, description="Highest reward that there can be.")] = 1.0
    alpha: Annotated[float, Query(gt=0, lt=1, description="Error of the bounds.")] = 0.05


@router.get("/evaluate", dependencies=[needs("read")], responses=replies(EvaluationAnswer, 404))
async def evaluate(name: Name, office: Served, asked: Annotated[EvaluationQuery, Query()]) -> Response:
    """What always playing an arm would have earned, from the decisions of the log and their propensities, with bounds that hold at all
    times."""
    from ...inference.evaluation import evaluate as judge
    from ..export import as_log

    def read(connection: Connection, row: int) -> dict[str, Any]:
        spec = rebuild(connection, row, name, 1).spec
        baseline = asked.baseline or (spec.baseline if isinstance(spec.baseline, str) else None)
        found = as_log(connection, row, name, (asked.lowest, asked.highest))
        return judge(found, asked.arm, baseline=baseline, estimator=asked.estimator, alpha=asked.alpha).record()

    return answer(await in_thread(office, name, read))


@router.post("/erase", dependencies=[needs("admin")], responses=replies(ErasureAnswer, 404, 409))
async def erase_subject(name: Name, request: EraseRequest, office: Served) -> Response:
    """Blank what the log knows of a subject; digests stay, so that the chain still holds."""
    from ..erase import erase

    return answer(await office.ask(name, lambda desk: erase(desk, request.subject)))

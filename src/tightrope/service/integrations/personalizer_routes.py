"""Azure Personalizer's three calls."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from ..decision_ids import new_id
from ..domain.errors import Refused, invalid
from ..domain.requests import TEXT, RewardRequest
from ..domain.spec import ExperimentSpec
from ..http.common import DecisionKey, Served, answer, needs, replies
from ..runtime import commands
from .personalizer import RankAnswer, RankRequest, RewardValue, decision_request

router = APIRouter(tags=["personalizer"], dependencies=[needs("decide")])

Asked = Annotated[str, Query(max_length=100, pattern=TEXT, description="The experiment: one with a dimension and without arms.")]
DEFAULT = "personalizer"


async def allowed(request: Request, experiment: Asked = DEFAULT) -> str:
    """The experiment, if the key is for it."""
    request.state.key.check(experiment)
    return experiment


Which = Annotated[str, Depends(allowed)]


@router.post("/rank", status_code=201, responses=replies(RankAnswer, 404, 409, 410, success=201))
async def rank(request: RankRequest, service: Served, experiment: Which) -> Response:
    """Which action to show. The same event and body again gets the same answer."""
    id = request.eventId or new_id()
    spec = await spec_of(service, experiment)
    if spec.arms is not None or spec.dimension is None:
        raise Refused(
            409, f"experiment = {experiment!r} has arms of its own; /rank needs one with a dimension and without arms.", "experiment"
        )
    try:
        # Not in the writer's thread: all others wait for it.
        question = await asyncio.to_thread(decision_request, request, spec.dimension, request.eventId)
    except ValueError as error:
        raise invalid(error) from None
    named = () if request.eventId is None else (id,)
    decision = await service.ask(experiment, lambda at: commands.decide(at, id, question), named)
    first = {"id": decision["arm"], "probability": decision["propensity"]}
    rest = [{"id": action.id, "probability": None} for action in request.actions if action.id != decision["arm"]]
    return answer({"ranking": [first, *rest], "eventId": id, "rewardActionId": decision["arm"]}, 201)


async def spec_of(service: Served, experiment: str) -> ExperimentSpec:
    """An experiment's spec, which never changes."""
    owned = service.writer.owned.get(experiment)
    spec: ExperimentSpec = await service.ask(experiment, lambda at: at.experiment.spec) if owned is None else owned.experiment.spec
    return spec


@router.post("/events/{id}/reward", status_code=204, responses=replies(None, 404, 409, 410, success=204))
async def reward_event(id: DecisionKey, value: RewardValue, service: Served, experiment: Which) -> Response:
    """The reward of an event."""
    request = RewardRequest(decision_id=id, value=value.value)
    await service.ask(experiment, lambda at: commands.reward(at, request), (id,))
    return Response(status_code=204)


@router.post("/events/{id}/activate", status_code=204, responses=replies(None, 404, 409, 410, success=204))
async def activate_event(id: DecisionKey, service: Served, experiment: Which) -> Response:
    """A deferred event was shown."""
    await service.ask(experiment, lambda at: commands.activate(at, id), (id,))
    return Response(status_code=204)

"""Azure Personalizer's three calls."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response

from .. import operations
from ..errors import Refused, invalid
from ..personalizer import RankAnswer, RankRequest, RewardValue, asked
from ..requests import TEXT, RewardRequest
from ..spec import ExperimentSpec
from .common import DecisionKey, Served, answer, needs, replies

router = APIRouter(tags=["personalizer"], dependencies=[needs("decide")])

Which = Annotated[str, Query(max_length=100, pattern=TEXT, description="The experiment: one with a dimension and without arms.")]
DEFAULT = "personalizer"


@router.post("/rank", status_code=201, responses=replies(RankAnswer, 404, 409, success=201))
async def rank(request: RankRequest, office: Served, experiment: Which = DEFAULT) -> Response:
    """Which action to show. The same event and body again gets the same answer."""
    id = request.eventId or operations.new_id()
    spec = await spec_of(office, experiment)
    if spec.arms is not None or spec.dimension is None:
        raise Refused(
            409, f"experiment = {experiment!r} has arms of its own; /rank needs one with a dimension and without arms.", "experiment"
        )
    try:
        question = await asyncio.to_thread(asked, request, spec.dimension, request.eventId)  # not in the writer's: all others wait for it
    except ValueError as error:
        raise invalid(error) from None
    named = () if request.eventId is None else (id,)
    made = await office.ask(experiment, lambda desk: operations.decide(desk, id, question), named)
    first = {"id": made["arm"], "probability": made["propensity"]}
    rest = [{"id": action.id, "probability": None} for action in request.actions if action.id != made["arm"]]
    return answer({"ranking": [first, *rest], "eventId": id, "rewardActionId": made["arm"]}, 201)


async def spec_of(office: Served, experiment: str) -> ExperimentSpec:
    """An experiment's spec, which never changes."""
    held = office.writer.held.get(experiment)
    spec: ExperimentSpec = await office.ask(experiment, lambda desk: desk.live.spec) if held is None else held.live.spec
    return spec


@router.post("/events/{id}/reward", status_code=204, responses=replies(None, 404, 409, 410, success=204))
async def reward_event(id: DecisionKey, value: RewardValue, office: Served, experiment: Which = DEFAULT) -> Response:
    """What came of an event."""
    request = RewardRequest(decision_id=id, value=value.value)
    await office.ask(experiment, lambda desk: operations.reward(desk, request), (id,))
    return Response(status_code=204)


@router.post("/events/{id}/activate", status_code=204, responses=replies(None, 404, 409, 410, success=204))
async def activate_event(id: DecisionKey, office: Served, experiment: Which = DEFAULT) -> Response:
    """A deferred event was shown."""
    await office.ask(experiment, lambda desk: operations.activate(desk, id), (id,))
    return Response(status_code=204)

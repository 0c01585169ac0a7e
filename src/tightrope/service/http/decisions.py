"""Decisions and rewards, one by one or in batches."""

from fastapi import APIRouter, Response

from ..decision_ids import new_id
from ..domain.errors import Refused
from ..domain.requests import DecisionBatch, DecisionRequest, RewardBatch, RewardRequest
from ..runtime import commands
from .answers import ActivationAnswer, BatchAnswer, CancellationAnswer, DecisionAnswer, RewardAnswer
from .common import DecisionKey, Name, Served, answer, needs, replies
from .fast_routes import FastRoute

router = APIRouter(prefix="/v1/experiments/{name}", tags=["decisions"], route_class=FastRoute, dependencies=[needs("decide")])


@router.post("/decisions", responses=replies(DecisionAnswer, 404, 409, 410))
async def decide(name: Name, request: DecisionRequest, service: Served) -> Response:
    """Which arm to play. The same id and body again gets the same answer; another body is refused (409)."""
    id = request.id or new_id()
    named = () if request.id is None else (id,)
    return answer(await service.ask(name, lambda at: commands.decide(at, id, request), named))


@router.post("/decisions:batch", responses=replies(BatchAnswer, 404))
async def decide_batch(name: Name, batch: DecisionBatch, service: Served) -> Response:
    """Up to 10,000 decisions, each with its own answer or error. They are made in parts, between which others are served."""
    items = [(None, one) if isinstance(one, Refused) else (one.id, (one.id or new_id(), one)) for one in batch.decisions]
    return answer(await service.ask(name, commands.Each(items, lambda at, one: commands.decide(at, *one))))


@router.post("/decisions/{id:path}/activate", responses=replies(ActivationAnswer, 404, 409, 410))
async def activate(name: Name, id: DecisionKey, service: Served) -> Response:
    """A deferred decision was shown: it counts, and its window begins."""
    return answer(await service.ask(name, lambda at: commands.activate(at, id), (id,)))


@router.delete("/decisions/{id:path}", responses=replies(CancellationAnswer, 404, 409))
async def cancel(name: Name, id: DecisionKey, service: Served) -> Response:
    """It was never shown: the policy is as if it had not been decided."""
    return answer(await service.ask(name, lambda at: commands.cancel(at, id), (id,)))


@router.post("/rewards", responses=replies(RewardAnswer, 404, 409, 410))
async def reward(name: Name, request: RewardRequest, service: Served) -> Response:
    """The reward of a decision. The same again changes nothing; another value is refused (409); after the window it is too late (410)."""
    return answer(await service.ask(name, lambda at: commands.reward(at, request), (request.decision_id,)))


@router.post("/rewards:batch", responses=replies(BatchAnswer, 404))
async def reward_batch(name: Name, batch: RewardBatch, service: Served) -> Response:
    """Up to 10,000 rewards, each with its own answer or error. They are taken in in parts, between which others are served."""
    items = [(None, one) if isinstance(one, Refused) else (one.decision_id, one) for one in batch.rewards]
    return answer(await service.ask(name, commands.Each(items, commands.reward)))

"""Decisions and rewards, one by one or in batches."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import APIRouter, Response

from ..decision_ids import new_id
from ..domain.errors import Refused
from ..domain.requests import DecisionBatch, DecisionRequest, RewardBatch, RewardRequest
from ..runtime import commands
from ..runtime.writer import Transaction
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
    """Up to 10,000 decisions in one commit, each with its own answer or error."""
    asked = [one if isinstance(one, Refused) else (one.id or new_id(), one) for one in batch.decisions]
    named = [one.id for one in batch.decisions if not isinstance(one, Refused) and one.id is not None]
    return answer(await service.ask(name, lambda at: each(at, asked, lambda one: commands.decide(at, *one)), named))


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
    """What came of a decision. The same again changes nothing; another value is refused (409); after the window it is too late (410)."""
    return answer(await service.ask(name, lambda at: commands.reward(at, request), (request.decision_id,)))


@router.post("/rewards:batch", responses=replies(BatchAnswer, 404))
async def reward_batch(name: Name, batch: RewardBatch, service: Served) -> Response:
    """Up to 10,000 rewards in one commit, each with its own answer or error."""
    named = [one.decision_id for one in batch.rewards if not isinstance(one, Refused)]
    return answer(await service.ask(name, lambda at: each(at, batch.rewards, lambda one: commands.reward(at, one)), named))


def each(transaction: Transaction, items: Sequence[Any], do: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """The items of a batch, each done or refused by itself; some were refused when they were read."""
    results: list[dict[str, Any]] = []
    for item in items:
        try:
            if isinstance(item, Refused):
                raise item
            results.append({"status": 200, "answer": do(item)})
        except Refused as error:
            results.append({"status": error.status, **error.body()})
    return {"results": results}

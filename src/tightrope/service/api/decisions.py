"""Decisions and rewards, one by one or in batches."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import APIRouter, Response

from .. import operations
from ..answers import ActivationAnswer, BatchAnswer, CancellationAnswer, DecisionAnswer, RewardAnswer
from ..errors import Refused
from ..requests import DecisionBatch, DecisionRequest, RewardBatch, RewardRequest
from ..writer import Desk
from .common import DecisionKey, Name, Served, answer, needs, replies
from .hot import HotRoute

router = APIRouter(prefix="/v1/experiments/{name}", tags=["decisions"], route_class=HotRoute, dependencies=[needs("decide")])


@router.post("/decisions", responses=replies(DecisionAnswer, 404, 409))
async def decide(name: Name, request: DecisionRequest, office: Served) -> Response:
    """Which arm to play. The same id and body again gets the same answer; another body is refused (409)."""
    id = request.id or operations.new_id()
    named = () if request.id is None else (id,)
    return answer(await office.ask(name, lambda desk: operations.decide(desk, id, request), named))


@router.post("/decisions:batch", responses=replies(BatchAnswer, 404))
async def decide_batch(name: Name, batch: DecisionBatch, office: Served) -> Response:
    """Up to 10,000 decisions in one commit, each with its own answer or error."""
    asked = [one if isinstance(one, Refused) else (one.id or operations.new_id(), one) for one in batch.decisions]
    named = [one.id for one in batch.decisions if not isinstance(one, Refused) and one.id is not None]
    return answer(await office.ask(name, lambda desk: each(desk, asked, lambda one: operations.decide(desk, *one)), named))


@router.post("/decisions/{id:path}/activate", responses=replies(ActivationAnswer, 404, 409, 410))
async def activate(name: Name, id: DecisionKey, office: Served) -> Response:
    """A deferred decision was shown: it counts, and its window begins."""
    return answer(await office.ask(name, lambda desk: operations.activate(desk, id), (id,)))


@router.delete("/decisions/{id:path}", responses=replies(CancellationAnswer, 404, 409))
async def cancel(name: Name, id: DecisionKey, office: Served) -> Response:
    """It was never shown: the policy is as if it had not been decided."""
    return answer(await office.ask(name, lambda desk: operations.cancel(desk, id), (id,)))


@router.post("/rewards", responses=replies(RewardAnswer, 404, 409, 410))
async def reward(name: Name, request: RewardRequest, office: Served) -> Response:
    """What came of a decision. The same again changes nothing; another value is refused (409); after the window it is too late (410)."""
    return answer(await office.ask(name, lambda desk: operations.reward(desk, request), (request.decision_id,)))


@router.post("/rewards:batch", responses=replies(BatchAnswer, 404))
async def reward_batch(name: Name, batch: RewardBatch, office: Served) -> Response:
    """Up to 10,000 rewards in one commit, each with its own answer or error."""
    named = [one.decision_id for one in batch.rewards if not isinstance(one, Refused)]
    return answer(await office.ask(name, lambda desk: each(desk, batch.rewards, lambda one: operations.reward(desk, one)), named))


def each(desk: Desk, items: Sequence[Any], do: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
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

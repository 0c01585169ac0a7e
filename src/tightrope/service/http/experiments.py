"""Experiments and their arms."""

import asyncio

import sqlalchemy as sa
from fastapi import APIRouter, Request, Response

from ..domain.requests import ArmChange, ArmsRequest
from ..domain.spec import ExperimentSpec
from ..log.tables import experiments as table
from ..runtime import changes, commands
from .answers import ArmAnswer, ArmsAnswer, CompilingAnswer, ExperimentAnswer, ExperimentsAnswer, OpenAnswer
from .common import ArmKey, Name, Served, Who, answer, needs, replies

router = APIRouter(prefix="/v1/experiments", tags=["experiments"])


@router.post(
    "",
    status_code=201,
    dependencies=[needs("admin")],
    responses=replies(ExperimentAnswer, 409, success=201)
    | {
        200: {"model": ExperimentAnswer, "description": "It existed with the same spec."},
        202: {"model": CompilingAnswer, "description": "Its policy is being compiled, then it begins; send the same again to know."},
    },
)
async def create_experiment(spec: ExperimentSpec, request: Request, service: Served, who: Who) -> Response:
    """Create an experiment. The same name and spec again changes nothing (200); another spec is refused (409).

    The first experiment of a rare kind on a machine is answered by 202 while its policy is compiled, for up to a minute or two. It begins
    when that is done.
    """
    request.state.key.check(spec.name)
    created = await changes.create_soon(service, spec, who)
    if created is None:
        policy = spec.described_policy["policy"]
        waiting = f"{policy} is being compiled, once on this machine, which may take two minutes; send the same request again to know."
        return answer({"name": spec.name, "status": "compiling", "message": waiting}, 202)
    new, described = created
    return answer(described, 201 if new else 200)


@router.get("", dependencies=[needs("read")], responses=replies(ExperimentsAnswer))
async def list_experiments(request: Request, service: Served) -> Response:
    """All experiments that the key is for."""

    def read() -> list[dict[str, object]]:
        with service.database.read() as connection:
            rows = connection.execute(sa.select(table.c.name, table.c.seq, table.c.owner).order_by(table.c.name))
            return [dict(row._mapping) for row in rows if request.state.key.covers(row.name)]

    return answer({"experiments": await asyncio.to_thread(read)})


@router.get("/{name}", dependencies=[needs("read")], responses=replies(ExperimentAnswer, 404))
async def read_experiment(name: Name, service: Served) -> Response:
    """One experiment: spec, arms, counts."""
    return answer(await service.ask(name, commands.describe))


@router.post("/{name}/pause", dependencies=[needs("admin")], responses=replies(ExperimentAnswer, 404, 409))
async def pause_experiment(name: Name, service: Served, who: Who) -> Response:
    """Decide no more for now. Rewards are still taken in and windows still close."""
    return answer(await service.ask(name, lambda transaction: commands.change_status(transaction, "pause"), author=who))


@router.post("/{name}/resume", dependencies=[needs("admin")], responses=replies(ExperimentAnswer, 404, 409))
async def resume_experiment(name: Name, service: Served, who: Who) -> Response:
    """Decide again."""
    return answer(await service.ask(name, lambda transaction: commands.change_status(transaction, "resume"), author=who))


@router.post("/{name}/archive", dependencies=[needs("admin")], responses=replies(ExperimentAnswer, 404, 409))
async def archive_experiment(name: Name, service: Served, who: Who) -> Response:
    """End the experiment for good; it can still be read."""
    return answer(await service.ask(name, lambda transaction: commands.change_status(transaction, "archive"), author=who))


@router.post("/{name}/arms", status_code=201, dependencies=[needs("admin")], responses=replies(ArmsAnswer, 404, 409, success=201))
async def add_arms(name: Name, request: ArmsRequest, service: Served, who: Who) -> Response:
    """Add arms; nothing learned is lost and nothing is drawn again. So many that a decision would take too long are refused (422)."""
    return answer(await changes.add_arms(service, name, request, who), 201)


@router.patch("/{name}/arms/{arm}", dependencies=[needs("admin")], responses=replies(ArmAnswer, 404, 409))
async def change_arm(name: Name, arm: ArmKey, change: ArmChange, service: Served, who: Who) -> Response:
    """Retire, mask or restore an arm."""
    return answer(await service.ask(name, lambda transaction: commands.change_arm(transaction, arm, change), author=who))


@router.get("/{name}/open", dependencies=[needs("read")], responses=replies(OpenAnswer, 404))
async def list_open(name: Name, service: Served) -> Response:
    """Decisions that wait for rewards, the first to expire first; at most 10,000."""
    return answer(await service.ask(name, commands.list_open))

"""Changes that are tried beside the writer before they are made: a new experiment, and arms that come later."""

from ...core.types import JsonObject
from ..domain.errors import invalid
from ..domain.requests import ArmsRequest
from ..domain.spec import ExperimentSpec
from ..log.audit import Author
from . import commands
from .service import Service
from .warm_up import check_growth, warm_up


async def create_experiment(service: Service, spec: ExperimentSpec, author: Author) -> tuple[bool, JsonObject]:
    """The experiment of a spec, compiled before it begins, and whether it is new. Raises Refused."""
    try:
        await service.in_thread("warm-up", warm_up, spec, service.settings)
    except ValueError as error:
        raise invalid(error, [arm.id for arm in spec.arms or ()]) from None
    answer: tuple[bool, JsonObject] = await service.ask(
        spec.name, lambda transaction: commands.create(transaction, spec), spec=spec, author=author
    )
    return answer


async def add_arms(service: Service, name: str, request: ArmsRequest, author: Author) -> JsonObject:
    """All arms, also the new ones. Raises Refused where they are too many to decide in time."""
    spec, more = await service.ask(name, lambda at: (at.experiment.spec, commands.added_arms(at.experiment)))
    ids = {arm.id for arm in (*(spec.arms or ()), *more)}
    try:
        await service.in_thread("warm-up", check_growth, spec, [*more, *(arm for arm in request.arms if arm.id not in ids)])
    except ValueError as error:
        raise invalid(error, [arm.id for arm in (*(spec.arms or ()), *more, *request.arms)]) from None
    arms: JsonObject = await service.ask(name, lambda transaction: commands.add_arms(transaction, request), author=author)
    return arms

"""Changes that are tried beside the writer before they are made: a new experiment, and arms that come later."""

import asyncio
import gc
import time

from ...core.types import JsonObject
from ..domain.errors import invalid
from ..domain.requests import ArmsRequest
from ..domain.spec import ExperimentSpec
from ..log.audit import Author
from . import commands
from .service import Service
from .warm_up import check_growth, common_specs, grows_large, warm_up

SOON = 3.0  # seconds that whoever creates an experiment waits in silence


async def compile_common(service: Service) -> None:
    """Compile what experiments of the common kinds need, in a thread for which no new experiment waits, and say when that is done."""
    began = time.monotonic()
    for spec in common_specs():
        work = asyncio.ensure_future(service.in_thread("start", warm_up, spec))
        while not (await asyncio.wait([work], timeout=SOON))[0]:
            print(f"Compiling {spec.described_policy['policy']}, once on a machine: {time.monotonic() - began:.0f} s", flush=True)
        await work
    print(f"Ready after {time.monotonic() - began:.0f} s", flush=True)
    gc.collect()
    gc.freeze()  # what is loaded stays, and a look through all of it would halt every answer


async def create_soon(service: Service, spec: ExperimentSpec, author: Author) -> tuple[bool, JsonObject] | None:
    """The same as `create_experiment`; None where the policy has yet to be compiled. The experiment then begins without the caller."""
    text = spec.model_dump_json()
    work = service.creating.get(text)
    if work is None:
        work = service.creating[text] = asyncio.ensure_future(create_experiment(service, spec, author))
        work.add_done_callback(lambda done: (service.creating.pop(text), done.cancelled() or done.exception()))
    await asyncio.wait([work], timeout=SOON if service.settings.own_process else None)
    return work.result() if work.done() else None


async def create_experiment(service: Service, spec: ExperimentSpec, author: Author) -> tuple[bool, JsonObject]:
    """The experiment of a spec, compiled before it begins, and whether it is new. Raises Refused."""
    try:
        await service.in_thread("warm-up", warm_up, spec)
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
    more += [arm for arm in request.arms if arm.id not in ids]
    try:
        if grows_large(spec, more):  # a few arms need not wait for what is being compiled
            await service.in_thread("warm-up", check_growth, spec, more)
    except ValueError as error:
        raise invalid(error, [arm.id for arm in (*(spec.arms or ()), *more)]) from None
    arms: JsonObject = await service.ask(name, lambda transaction: commands.add_arms(transaction, request), author=author)
    return arms

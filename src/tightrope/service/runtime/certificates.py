"""Issuing certificates: the writer says how the experiment stands, the log tells its history up to that event."""

from ...core.types import JsonObject
from ..domain.certificate import certificate
from . import commands
from .service import Service


async def issue(service: Service, name: str) -> JsonObject:
    standing = await service.ask(name, commands.describe_standing)

    def work() -> JsonObject:
        lock, history = service.histories.until(name, standing["seq"])
        with lock:
            if history.seq == standing["seq"]:
                return certificate(standing, history, service.private_key, service.settings.clock())
        history = service.histories.exactly(name, standing["seq"])
        return certificate(standing, history, service.private_key, service.settings.clock())

    issued: JsonObject = await service.in_thread("reading", work)
    return issued

"""Issuing certificates: the writer says how the experiment stands, the log tells the story up to that event."""

from typing import Any

from . import operations
from .certificate import certificate
from .office import Office


async def issue(office: Office, name: str) -> dict[str, Any]:
    """The certificate of an experiment as of its last event."""
    told = await office.ask(name, operations.standing)

    def work() -> dict[str, Any]:
        lock, story = office.stories.until(name, told["seq"])
        with lock:
            if story.seq == told["seq"]:
                return certificate(told, story, office.secret, office.settings.clock())
        return certificate(told, office.stories.fresh(name, told["seq"]), office.secret, office.settings.clock())

    found: dict[str, Any] = await office.apart("reading", work)
    return found

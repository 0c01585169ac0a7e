"""Who changed what."""

import itertools
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import AwareDatetime

from ...core.types import JsonObject
from ..domain.requests import TEXT
from ..domain.times import microseconds
from ..log import audit
from .answers import AuditAnswer
from .common import Served, answer, needs, replies

router = APIRouter(prefix="/v1/audit", tags=["audit"])
Which = Annotated[str | None, Query(max_length=100, pattern=TEXT, description="Of this experiment only.")]
Since = Annotated[AwareDatetime | None, Query(description="Not from before this time, such as 2026-07-01T00:00:00Z.")]


@router.get("", dependencies=[needs("admin")], responses=replies(AuditAnswer))
async def read_audit(
    request: Request, service: Served, experiment: Which = None, since: Since = None,
    first: Annotated[int, Query(alias="from", ge=1, le=2**31 - 1, description="Number of the first row.")] = 1,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:  # fmt: skip
    """Who changed what, in order: all but decisions and rewards. A key for some experiments is shown what was done to these. next: where to
    go on; null at the end."""
    key = request.state.key
    if experiment is not None:
        key.check(experiment)

    def work() -> list[JsonObject]:
        last = audit.last_settled(service.database)
        with service.database.read() as connection:
            rows = audit.read(connection, first, experiment, None if since is None else microseconds(since), last)
            covered_rows = (row for row in rows if key.experiments is None or (row.experiment is not None and key.covers(row.experiment)))
            return [row.to_dict() for row in itertools.islice(covered_rows, limit)]

    entries = await service.in_thread("reading", work)
    return answer({"entries": entries, "next": entries[-1]["id"] + 1 if len(entries) == limit else None})

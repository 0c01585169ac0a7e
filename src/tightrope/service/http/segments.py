"""Results by segment."""

from fastapi import APIRouter, Response

from ...core.types import JsonObject
from ..domain.errors import Refused
from ..domain.segments import promised_bounds, segment_report
from ..runtime import commands
from .answers import SegmentsAnswer
from .common import Name, Served, answer, needs, replies

router = APIRouter(prefix="/v1/experiments/{name}", tags=["reading"])


@router.get("/segments", dependencies=[needs("read")], responses=replies(SegmentsAnswer, 404, 409))
async def read_segments(name: Name, service: Served) -> Response:
    """The mean reward of every arm in every segment of the spec, with intervals that hold for all at once; where there is promise_by, also
    the budget of each value."""
    standing = await service.ask(name, commands.describe_standing)
    if "segments" not in standing["spec"]:
        raise Refused(409, f"experiment = {name!r} has no segments; create one with segments in its spec.", "experiment")

    def work() -> JsonObject:
        lock, history = service.histories.until(name, standing["seq"])
        with lock:
            return {"event": history.seq, **segment_report(history), "promises": promised_bounds(standing)}

    return answer(await service.in_thread("reading", work))
